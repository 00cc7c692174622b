/* share.c - see share.h */
#include "session/share.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/strings.h"
#include "session/share_words.h"

#define SHARE_NAME_MAX 80 /* bytes of a name in a sentence */

static void share_say(struct share_verdict *v, enum share_answer answer, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void share_say(struct share_verdict *v, enum share_answer answer, const char *fmt, ...)
{
	va_list ap;

	v->answer = answer;
	va_start(ap, fmt);
	vsnprintf(v->why, sizeof(v->why), fmt, ap);
	va_end(ap);
}

/* The text of x-mux.sharing into out; false: the server does not have it. */
static bool share_own_word(struct json capabilities, char *out, size_t size)
{
	struct json mux = json_get(json_get(capabilities, "experimental"), "x-mux");
	struct json word;

	if (!mux.at)
		mux = json_get(capabilities, "x-mux");
	word = json_get(mux, "sharing");
	return json_type(word) == JSON_STRING && json_string_into(word, out, size);
}

struct share_tools {                 /* what the list of tools shows */
	char name[SHARE_NAME_MAX];   /* of the first tool with a word for state; "": none */
	const char *word;            /* the word */
	char writes[SHARE_NAME_MAX]; /* of the first tool that is not marked as read-only */
};

static void share_look(struct json list, struct share_tools *out)
{
	struct json_iter it = json_iter(json_get(list, "tools"));

	*out = (struct share_tools){ .word = NULL };
	while (json_each(&it)) {
		struct json name = json_get(it.value, "name");
		AUTO(mem_drop) char *text = NULL;
		const char *word;
		bool reads = false;

		if (!json_string(name, &text))
			continue;
		word = out->word ? NULL : share_stateful_word(text);
		if (word) {
			out->word = word;
			json_string_into(name, out->name, sizeof(out->name));
		}
		json_bool(json_get(json_get(it.value, "annotations"), "readOnlyHint"), &reads);
		if (!reads && !*out->writes)
			json_string_into(name, out->writes, sizeof(out->writes));
	}
}

/* Lines 2 to 4 of the rule: signs of state. True: the answer is known. */
static bool share_judge_state(const struct share_facts *f, struct json capabilities,
			      const struct share_tools *tools, struct share_verdict *v)
{
	enum share_state known = SHARE_STATE_UNKNOWN;
	const char *package = share_known_package(f->argv, &known);
	char word[32];

	if (share_own_word(capabilities, word, sizeof(word))) {
		bool shared = strcmp(word, "shared") == 0;

		v->state = shared ? SHARE_STATE_NONE : SHARE_STATE_KEPT;
		share_say(v, shared ? SHARE_YES : SHARE_NO,
			  "the server says \"sharing\": \"%s\" in its capabilities", word);
		return true;
	}
	if (known == SHARE_STATE_KEPT) {
		v->state = SHARE_STATE_KEPT;
		share_say(v, SHARE_NO, "%s is known to keep state", package);
		return true;
	}
	if (!f->tools.at && json_get(capabilities, "tools").at) {
		share_say(v, SHARE_UNKNOWN, "its list of tools is not known yet");
		return false;
	}
	v->state = tools->word ? SHARE_STATE_KEPT : SHARE_STATE_NONE;
	if (tools->word)
		share_say(v, SHARE_NO, "tool '%s' looks like state (\"%s\")", tools->name,
			  tools->word);
	return tools->word != NULL;
}

/* Line 5 of the rule. */
static void share_judge_legacy(const struct share_facts *f, const struct share_tools *tools,
			       struct share_verdict *v)
{
	enum share_state known = SHARE_STATE_UNKNOWN;

	share_known_package(f->argv, &known);
	if (f->word != CONFIG_SHARE_AUTO)
		share_say(v, SHARE_NO,
			  "a server of the legacy era is not shared without \"share\" in its "
			  "config, or the option --share");
	else if (f->features & (KILLICK_SAMPLING | KILLICK_ELICITATION | KILLICK_ROOTS))
		share_say(v, SHARE_NO, "the session answers requests of the server");
	else if (f->asked)
		share_say(v, SHARE_NO, "the server has sent a request of its own");
	else if (v->state == SHARE_STATE_UNKNOWN)
		return; /* share_judge_state has explained it */
	else if (*tools->writes && known != SHARE_STATE_NONE)
		share_say(v, SHARE_NO, "tool '%s' is not marked as read-only", tools->writes);
	else if (*tools->writes)
		share_say(v, SHARE_YES, "the server is known to keep no state");
	else
		share_say(v, SHARE_YES, "all its tools are marked as read-only");
}

struct share_verdict share_judge(const struct share_facts *f)
{
	struct share_verdict v = { .answer = SHARE_UNKNOWN };
	struct json capabilities = JSON_NONE;
	struct share_tools tools;
	struct json_fault fault;
	bool known;

	share_look(f->tools, &tools);
	share_say(&v, SHARE_UNKNOWN, "not known before the handshake with the server is complete");
	if (f->capabilities &&
	    json_check(f->capabilities, strlen(f->capabilities), 0, &capabilities, &fault) < 0)
		capabilities = (struct json){ "{}", 2 };
	known = capabilities.at && share_judge_state(f, capabilities, &tools, &v);
	if (f->word == CONFIG_SHARE_NEVER)
		share_say(&v, SHARE_NO, "the config says \"share\": \"never\"");
	else if (f->word == CONFIG_SHARE_IDENTICAL)
		share_say(&v, SHARE_YES, "the config says \"share\": \"identical\"");
	else if (!capabilities.at || known)
		return v;
	else if (f->era == ERA_LEGACY)
		share_judge_legacy(f, &tools, &v);
	else if (v.state == SHARE_STATE_NONE)
		share_say(&v, SHARE_YES,
			  "a server of the modern era whose tools show no sign of state");
	return v;
}

unsigned share_features(unsigned features)
{
	return features & ~(unsigned)(KILLICK_ROOTS | KILLICK_ROOTS_CHANGE);
}

/* --- the key --- */

static bool share_texts_differ(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") != 0;
}

static bool share_argv_differs(char *const *a, char *const *b, char *out, size_t size)
{
	size_t i = 0;

	while (a[i] && b[i] && strcmp(a[i], b[i]) == 0)
		i++;
	if (!a[i] && !b[i])
		return false;
	if (i == 0)
		snprintf(out, size, "the commands differ: %.*s and %.*s", SHARE_NAME_MAX,
			 a[0] ? a[0] : "", SHARE_NAME_MAX, b[0] ? b[0] : "");
	else
		snprintf(out, size, "arguments differ at word %zu", i);
	return true;
}

static bool share_has_name(char *const *list, const char *variable)
{
	size_t len = strcspn(variable, "=");

	while (*list && (strncmp(*list, variable, len) != 0 || (*list)[len] != '='))
		list++;
	return *list != NULL;
}

/* Both lists are sorted by name, and have each name once. */
static bool share_variables_differ(char *const *a, char *const *b, char *out, size_t size)
{
	const char *variable;
	size_t len;
	bool both;

	for (; *a && *b && strcmp(*a, *b) == 0; a++, b++)
		;
	if (!*a && !*b)
		return false;
	variable = *a && (!*b || !share_has_name(b, *a)) ? *a : *b;
	len = strcspn(variable, "=");
	both = *a && *b && strncmp(*a, *b, len + 1) == 0;
	snprintf(out, size, "environment variable %.*s %s",
		 (int)(len < SHARE_NAME_MAX ? len : SHARE_NAME_MAX), variable,
		 both ? "differs" : "is set for one of them only");
	return true;
}

static bool share_limits_differ(const struct recipe *a, const struct recipe *b, char *out,
				size_t size)
{
	for (int i = 0; i < LIMIT_COUNT; i++) {
		if (a->limits[i] == b->limits[i])
			continue;
		snprintf(out, size, "limits.%s differs: %llu and %llu", recipe_limits[i].key,
			 a->limits[i], b->limits[i]);
		return true;
	}
	return false;
}

static bool share_recipes_differ(const struct recipe *a, const struct recipe *b, char *out,
				 size_t size)
{
	static char *const none[] = { NULL };

	if (share_argv_differs(a->argv, b->argv, out, size))
		return true;
	if (share_texts_differ(a->cwd, b->cwd)) {
		snprintf(out, size, "cwd differs: %.*s and %.*s", SHARE_NAME_MAX,
			 a->cwd ? a->cwd : "the default", SHARE_NAME_MAX,
			 b->cwd ? b->cwd : "the default");
		return true;
	}
	if (share_variables_differ(a->envp, b->envp, out, size))
		return true;
	if (share_texts_differ(a->environment, b->environment)) {
		snprintf(out, size, "environment (placement) differs: %s and %s",
			 a->environment ? a->environment : "local",
			 b->environment ? b->environment : "local");
		return true;
	}
	if (share_argv_differs(a->remote_names ? a->remote_names : none,
			       b->remote_names ? b->remote_names : none, out, size)) {
		snprintf(out, size, "variables of the executor differ");
		return true;
	}
	if (share_limits_differ(a, b, out, size))
		return true;
	if (a->contain != b->contain) {
		snprintf(out, size, "level differs: %s and %s", level_name(a->contain),
			 level_name(b->contain));
		return true;
	}
	return false;
}

static void share_name_features(unsigned features, char out[48])
{
	snprintf(out, 48, "%s%s%s%s", features & KILLICK_SAMPLING ? " sampling" : "",
		 features & KILLICK_ELICITATION ? " elicitation" : "",
		 features & KILLICK_ROOTS ? " roots" : "", features ? "" : " none");
}

bool share_difference(const struct share_key *a, const struct share_key *b, char *out, size_t size)
{
	static const char *const eras[] = {
		[CONFIG_LEGACY] = "legacy", [CONFIG_MODERN] = "modern", [CONFIG_AUTO] = "auto"
	};
	char mine[48], other[48];

	assert(size > 0);
	*out = '\0';
	if (share_recipes_differ(a->recipe, b->recipe, out, size))
		return true;
	if (share_texts_differ(a->place, b->place))
		snprintf(out, size, "the definition of environment '%s' differs",
			 a->recipe->environment);
	else if (a->program.device != b->program.device || a->program.inode != b->program.inode)
		snprintf(out, size, "the program file was replaced");
	else if (a->era != b->era)
		snprintf(out, size, "era differs: %s and %s", eras[a->era], eras[b->era]);
	else if (a->features != b->features) {
		share_name_features(a->features, mine);
		share_name_features(b->features, other);
		snprintf(out, size, "features of the client differ:%s and%s", mine, other);
	} else if (a->stateful != b->stateful) {
		snprintf(out, size, "'stateful' of the config differs");
	} else if (a->logs_all != b->logs_all) {
		snprintf(out, size, "'logs' of the config differs");
	}
	return *out != '\0';
}
