/* spec.c - see spec.h */
#include "executor/spec.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/emit.h"
#include "base/mem.h"
#include "base/strings.h"
#include "executor/envpolicy.h"
#include "executor/input.h"
#include "executor/params.h"
#include "executor/process.h"
#include "executor/sandbox.h"
#include "rpc/message.h"
#include "wire/wire.h"

#define ARGV_SHOWN    512          /* bytes of the command line, as JSON, that are kept */
#define ARGV_MAX      (256u << 10) /* words; Linux accepts hardly more */
#define LABEL_MAX     (OPTION_LABEL_SIZE - 1)
#define LINGER_MAX_MS 3600000u
#define GRACE_MS      2000

enum {
	PROCESS_ID,
	ARGV,
	CWD,
	ENV,
	TTY,
	PIPE_STDIN,
	LINGER,
	ARG0,
	ENV_POLICY,
	SANDBOX,
	MANAGED,
	NETWORK,
	NAME,
	SESSION,
	CONTAIN,
	LIMITS, /* one member for each limit */
	MEMBERS = LIMITS + LIMIT_COUNT
};

static const char *const names[LIMITS] = {
	[PROCESS_ID] = "processId",
	[ARGV] = "argv",
	[CWD] = "cwd",
	[ENV] = "env",
	[TTY] = "tty",
	[PIPE_STDIN] = "pipeStdin",
	[LINGER] = "lingerMs",
	[ARG0] = "arg0",
	[ENV_POLICY] = "envPolicy",
	[SANDBOX] = "sandbox",
	[MANAGED] = "enforceManagedNetwork",
	[NETWORK] = "networkProxy",
	[NAME] = "name",
	[SESSION] = "session",
	[CONTAIN] = "contain",
};

static int spec_read_argv(struct spec *s, const struct param *p, struct err *e)
{
	struct buf shown = BUF_INIT(ARGV_SHOWN);
	struct emit j = EMIT_INIT(&shown);
	struct json_iter it = json_iter(p->value);
	char **argv;
	size_t n = 0;

	if (param_is(p, JSON_ARRAY, e) < 0)
		return e->code;
	if (json_count(p->value) > ARGV_MAX)
		return err_set(e, RPC_BAD_PARAMS, "argv has more than %u words", ARGV_MAX);
	argv = s->recipe.argv = mem_grow(NULL, json_count(p->value) + 1, sizeof(*argv));
	argv[0] = NULL;
	emit_open(&j, NULL, '[');
	while (json_each(&it)) {
		struct param word = { "argv", it.value };

		if (param_text(&word, &argv[n], e) < 0) {
			buf_done(&shown);
			return e->code;
		}
		emit_text(&j, NULL, argv[n], strlen(argv[n]));
		argv[++n] = NULL;
	}
	emit_close(&j);
	if (emit_end(&j) < 0) { /* too long: the program's name is enough */
		assert(n > 0);
		buf_reset(&shown, 0);
		if (emit_quoted(&shown, argv[0], strlen(argv[0])) < 0)
			buf_adds(&shown, "\"\"");
		s->argv_json = mem_grow(NULL, shown.len + 8, 1);
		memcpy(s->argv_json, "[", 1);
		memcpy(s->argv_json + 1, shown.data, shown.len);
		memcpy(s->argv_json + 1 + shown.len, ",\"..\"]", 7);
		buf_done(&shown);
	} else {
		s->argv_json = mem_text(shown.data, shown.len);
		buf_done(&shown);
	}
	return n ? 0 : err_set(e, RPC_BAD_PARAMS, "argv must not be empty");
}

/* A text that the keeper accepts as a name: one short printable line. */
static char *spec_label(struct json v, const char *otherwise)
{
	char *text = NULL;
	size_t len;

	if (!json_string(v, &text) || !*text) {
		free(text);
		text = mem_dup(otherwise);
	}
	len = strlen(text);
	if (len > LABEL_MAX)
		for (len = LABEL_MAX; len && ((unsigned char)text[len] & 0xc0) == 0x80;)
			len--;
	text[len] = '\0';
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 127)
			*p = '_';
	return text;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* A limit is a number; a size may also be a text such as "512M". */
static int spec_read_limit(struct spec *s, enum limit which, const struct param *p, struct err *e)
{
	uint64_t number = 0;
	char text[32];

	if (recipe_limits[which].kind != OPTION_SIZE || json_type(p->value) != JSON_STRING) {
		if (param_number_if(p, &number, e) < 0)
			return e->code;
		s->recipe.limits[which] = number;
		return 0;
	}
	json_string_into(p->value, text, sizeof(text));
	if (option_size(text, &s->recipe.limits[which]) < 0)
		return err_set(e, RPC_BAD_PARAMS, "%s '%s' is not a size such as 512M", p->name,
			       text);
	return 0;
}

static int read_contain(struct spec *s, const struct param *p, struct err *e)
{
	for (int i = 0; p->value.at && level_words[i]; i++) {
		if (json_is(p->value, level_words[i])) {
			s->recipe.contain = (enum level)i;
			s->says_contain = true;
		}
	}
	if (!p->value.at || s->says_contain)
		return 0;
	return err_set(e, RPC_BAD_PARAMS, "contain must be " LEVEL_CHOICE);
}

static int spec_read_limits(struct spec *s, const struct param *p, struct err *e)
{
	int r = 0;

	for (int i = 0; r == 0 && i < LIMIT_COUNT; i++)
		r = spec_read_limit(s, (enum limit)i, &p[LIMITS + i], e);
	return r < 0 ? r : read_contain(s, &p[CONTAIN], e);
}

static int read_stdio(struct spec *s, const struct param *p, struct err *e)
{
	bool tty = false, piped = false;
	uint64_t linger = 0;

	if (param_bool(&p[TTY], &tty, e) < 0 || param_bool_if(&p[PIPE_STDIN], &piped, e) < 0)
		return e->code;
	s->recipe.stdio = tty ? STDIO_TERMINAL : piped ? STDIO_PIPES : STDIO_NULL;
	s->says_linger = p[LINGER].value.at != NULL;
	if (param_number_if(&p[LINGER], &linger, e) < 0)
		return e->code;
	if (linger > LINGER_MAX_MS)
		return err_set(e, RPC_BAD_PARAMS, "lingerMs: at most an hour");
	s->recipe.linger_ms = (unsigned)linger;
	return 0;
}

static int refuse_limits(const struct param *p, struct err *e)
{
	bool managed = false;

	if (param_bool_if(&p[MANAGED], &managed, e) < 0)
		return e->code;
	if (managed || p[NETWORK].value.at)
		return err_set(e, RPC_INVALID_REQUEST,
			       "this executor has no managed network: nothing was started");
	return 0;
}

static int read_places(struct spec *s, const struct param *p, struct err *e)
{
	char *cwd = NULL, *arg0 = NULL;

	if (param_is(&p[CWD], JSON_STRING, e) < 0)
		return e->code;
	if (wire_file_path(p[CWD].value, &cwd) < 0)
		return err_set(e, RPC_BAD_PARAMS, "cwd: not a file: URI of an absolute path");
	s->recipe.cwd = cwd;
	if (p[ARG0].value.at && param_text(&p[ARG0], &arg0, e) < 0)
		return e->code;
	s->recipe.arg0 = arg0;
	return 0;
}

static int read_environment(struct spec *s, const struct param *p, char *const *envp, struct err *e)
{
	if (param_is(&p[ENV], JSON_OBJECT, e) < 0)
		return e->code;
	return envpolicy_apply(p[ENV_POLICY].value, p[ENV].value, envp, &s->recipe.envp, e);
}

int spec_read(struct spec *s, struct json params, char *const *envp, struct err *e)
{
	struct param p[MEMBERS] = { 0 };
	int r;

	*s = (struct spec){ .id = NULL };
	for (int i = 0; i < MEMBERS; i++)
		p[i].name = i < LIMITS ? names[i] : recipe_limits[i - LIMITS].key;
	r = params_read(params, p, MEMBERS, e);
	if (r == 0)
		r = param_text(&p[PROCESS_ID], &s->id, e);
	if (r == 0 && strlen(s->id) > PROCESS_ID_MAX)
		r = err_set(e, RPC_BAD_PARAMS, "processId is longer than %d bytes", PROCESS_ID_MAX);
	if (r == 0)
		r = spec_read_argv(s, &p[ARGV], e);
	if (r == 0)
		r = read_places(s, p, e);
	if (r == 0)
		r = read_environment(s, p, envp, e);
	if (r == 0)
		r = read_stdio(s, p, e);
	if (r == 0)
		r = spec_read_limits(s, p, e);
	if (r == 0)
		r = refuse_limits(p, e);
	if (r < 0)
		return r;
	if (p[SANDBOX].value.at) {
		sandbox_read(p[SANDBOX].value, &s->recipe, &s->sandbox, &s->sandbox_error);
		s->says_sandbox = s->sandbox || s->sandbox_error.code;
	}
	s->recipe.name = spec_label(p[NAME].value, last_part(s->recipe.argv[0]));
	s->recipe.session = p[SESSION].value.at ? spec_label(p[SESSION].value, "-") : NULL;
	s->recipe.grace_ms = GRACE_MS;
	s->recipe.write_limit = INPUT_LINK_BYTES;
	return 0;
}

void spec_done(struct spec *s)
{
	recipe_done(&s->recipe);
	free(s->id);
	free(s->argv_json);
	strings_free(s->sandbox);
	*s = (struct spec){ .id = NULL };
}
