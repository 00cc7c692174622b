/* talk_end.c - errors and the end of a talk; see talk.h */
#include <stdarg.h>
#include <string.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/strings.h"
#include "base/text.h"
#include "talk.h"
#include "talk_config.h"
#include "word.h"

enum { TAIL_LINES = 8 };

void talk_say(struct talk *t, const char *fmt, ...)
{
	va_list ap;
	char text[8192];

	bar_clear(&t->bar);
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	cli_say(t->verb, "%s", text);
}

void talk_fail(struct talk *t, int status)
{
	if (!t->exit_status)
		t->exit_status = status;
}

int talk_exit_of(int code)
{
	switch ((enum killick_code)code) {
	case KILLICK_OK:
		return EXIT_SUCCESS;
	case KILLICK_ERR_NO_SERVER:
	case KILLICK_ERR_USAGE:
		return EXIT_USAGE;
	case KILLICK_ERR_CONFIG:
		return EXIT_CONFIG;
	case KILLICK_ERR_ANSWER:
		return EXIT_REFUSED;
	case KILLICK_ERR_TIMEOUT:
		return EXIT_TRY_AGAIN;
	case KILLICK_ERR_CANCELLED:
		return EXIT_SIGNAL + 2;
	case KILLICK_ERR_START:
	case KILLICK_ERR_EXITED:
	case KILLICK_ERR_CLOSED:
	case KILLICK_ERR_PROTOCOL:
	case KILLICK_ERR_BUSY:
	case KILLICK_ERR_SYSTEM:
	case KILLICK_ERR_LOST:
		return EXIT_UNAVAILABLE;
	case KILLICK_ERR_FORKED:
		break;
	}
	return EXIT_BUG;
}

/* Print the last lines of a server's stderr. With --verbose these lines were printed already. */
static void show_tail(const struct talk *t, const char *tail)
{
	const char *p = tail + strlen(tail);
	int lines = 0;
	char line[512];

	if (t->verbose || !*tail)
		return;
	while (p > tail && lines < TAIL_LINES) {
		if (p > tail && p[-1] == '\n')
			p--;
		while (p > tail && p[-1] != '\n')
			p--;
		lines++;
	}
	fputs("  its last lines on stderr:\n", stderr);
	while (*p) {
		size_t n = strcspn(p, "\n");

		text_clean(p, n, line, sizeof(line));
		fprintf(stderr, "    %s\n", line);
		p += n + (p[n] == '\n');
	}
}

/* Print the next step for a server that failed; `why` is that of its status. */
static void show_next(const struct talk *t, const char *server, const char *why)
{
	AUTO(buf_done) struct buf words = BUF_INIT(BUF_ANY_SIZE);

	if (strcmp(why, "timeout") == 0)
		fputs("  to wait longer: give '--timeout TIME', such as 5m\n", stderr);
	if (t->verbose)
		return;
	if (t->source) {
		buf_adds(&words, " --config");
		word_add_quoted(&words, t->source);
		buf_adds(&words, " --server");
		word_add_quoted(&words, server);
		fprintf(stderr, "  to see more: killick status --verbose%s\n", words.data);
	} else {
		fputs("  to see more: give '--verbose', or run the command by hand\n", stderr);
	}
}

/* When a server could not be started at all, the keeper prints the reason on stderr. Returns this
 * reason, which an error of the library has only in part; NULL: there is no such reason. */
static const char *keepers_reason(const struct killick_server_status *sv)
{
	static const char name[] = "killick: ";

	if (strcmp(sv->why, "start") != 0 || strncmp(sv->stderr_tail, name, strlen(name)) != 0)
		return NULL;
	return sv->stderr_tail + strlen(name);
}

/* Returns the name of a server for messages: a command has no name in a config, so its program is
 * used. */
static const char *talk_name(const struct talk *t, const char *server)
{
	const char *program = t->words.command ? t->words.command[0] : NULL;
	const char *name = program ? path_name(program, PATH_NATIVE) : NULL;

	return !program || !*server ? server : *name ? name : program;
}

/* Print a sentence about a server, with the server's name in front if the sentence does not contain
 * it. */
static void say_sentence(struct talk *t, const char *server, const char *sentence, size_t len)
{
	char text[4096], quoted[256];

	text_clean(sentence, len, text, sizeof(text));
	snprintf(quoted, sizeof(quoted), "'%.200s'", server);
	if (*server && !strstr(text, quoted))
		talk_say(t, "%s: %s", talk_name(t, server), text);
	else
		talk_say(t, "%s", text);
}

/* Print why a server failed, and the last lines of its stderr. A command has no name in a config,
 * so the sentence is written with the name of its program. */
static void say_failure(struct talk *t, const struct killick_server_status *sv)
{
	const char *keepers = t->verbose ? NULL : keepers_reason(sv);
	size_t cut = t->verbose ? 0 : sv->quoted;
	bool parts = strlen(sv->reason) < strlen(sv->error);
	const char *kind = t->words.command ? "" : "server ";
	char text[4096];

	if (keepers) {
		text_clean(keepers, strlen(keepers), text, sizeof(text));
		talk_say(t, "%s'%.200s' could not be started: %s", kind, talk_name(t, sv->name),
			 text);
		return;
	}
	if (parts) {
		text_clean(sv->reason, strlen(sv->reason) - cut, text, sizeof(text));
		talk_say(t, "%s'%.200s' %s", kind, talk_name(t, sv->name), text);
	} else {
		say_sentence(t, sv->name, sv->error, strlen(sv->error) - cut);
	}
	show_tail(t, sv->stderr_tail);
}

void talk_missing(struct talk *t, const struct killick_server_status *sv)
{
	struct killick_server_status shown = *sv;
	const char *other = NULL;
	char named[1024];

	talk_fail(t, sv->code == KILLICK_ERR_CONFIG ? EXIT_CONFIG : EXIT_UNAVAILABLE);
	if (sv->state == KILLICK_REMOTE && (t->warnings || t->verbose))
		return; /* the warning of the library has the same sentence, with file and line */
	if (sv->state == KILLICK_DISABLED)
		other = "the server is disabled in the config";
	else if (!*sv->error)
		other = killick_state_name(sv->state);
	else if (talk_config_say(t, sv->error, named, sizeof(named)) == named)
		other = named;
	if (other) {
		shown.error = shown.reason = other;
		shown.quoted = 0;
	}
	if (sv->state == KILLICK_DISABLED)
		shown.stderr_tail = "";
	say_failure(t, &shown);
	if (sv->state != KILLICK_DISABLED && sv->state != KILLICK_REMOTE &&
	    sv->code != KILLICK_ERR_CONFIG)
		show_next(t, sv->name, sv->why);
}

/* May the stderr of the server explain this failure? */
static bool is_servers_fault(int code)
{
	return code == KILLICK_ERR_START || code == KILLICK_ERR_EXITED ||
	       code == KILLICK_ERR_PROTOCOL || code == KILLICK_ERR_BUSY ||
	       code == KILLICK_ERR_TIMEOUT;
}

/* Returns the server's row in the status, or NULL. */
static const struct killick_server_status *talk_find(const struct killick_status *st,
						     const char *server)
{
	for (size_t i = 0; st && i < st->count; i++)
		if (strcmp(st->servers[i]->name, server) == 0)
			return st->servers[i];
	return NULL;
}

void talk_refused(struct talk *t, const struct killick_result *r)
{
	const char *server = killick_result_server(r), *error = killick_result_error(r);
	const struct killick_server_status *sv = NULL;
	struct killick_status *now = NULL;
	int code = killick_result_code(r);

	server = server ? server : "";
	talk_fail(t, talk_exit_of(code));
	if (is_servers_fault(code) && killick_session_status(t->s, &now, NULL) == 0)
		sv = talk_find(now, server);
	if (sv && strcmp(sv->error, error) == 0) {
		say_failure(t, sv);
	} else {
		say_sentence(t, server, error, strlen(error));
		show_tail(t, sv ? sv->stderr_tail : "");
	}
	if (is_servers_fault(code) && *server)
		show_next(t, server, sv ? sv->why : "");
	killick_status_free(now);
}

static void show_endings(struct talk *t, const struct killick_report *r)
{
	for (size_t i = 0; i < r->count; i++) {
		const struct killick_ending *e = r->endings[i];

		if (e->survivors) {
			talk_say(t, "%s: %d process%s could not be ended; %s", e->server,
				 e->survivors, e->survivors == 1 ? "" : "es",
				 *e->text ? e->text : "'killick ps' names them");
			talk_fail(t, EXIT_TRY_AGAIN);
		} else if (strcmp(e->proof, "lease") == 0) {
			talk_say(t, "%s: %s", e->server, e->text);
			talk_fail(t, EXIT_TRY_AGAIN);
		} else if (t->verbose && e->pid) {
			talk_say(t, "%s: ended (%s, step %s, %.0f ms, proof %s%s%s)", e->server,
				 e->why, e->step, e->stop_ms, e->proof, *e->text ? "; " : "",
				 e->text);
		}
	}
}

int talk_close(struct talk *t)
{
	struct killick_report *report = NULL;

	/* flush the output before waiting for the servers to end */
	t->exit_status = cli_finish(t->verb, t->exit_status);
	talk_release(t); /* nothing is left to cancel, so a signal may end the program */
	if (t->k && killick_close(t->k, &report, NULL) == 0 && report) {
		/* deliver stderr lines that arrived after the last answer */
		while (killick_dispatch(t->k, NULL) > 0)
			;
		show_endings(t, report);
	}
	killick_report_free(report);
	killick_status_free(t->status);
	killick_session_free(t->s);
	killick_free(t->k);
	talk_config_done(t);
	strings_free(t->env);
	free(t->chosen);
	t->env = NULL;
	t->chosen = NULL;
	t->status = NULL;
	t->s = NULL;
	t->k = NULL;
	return t->exit_status;
}
