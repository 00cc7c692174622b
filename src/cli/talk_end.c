/* talk_end.c - errors and the end of a talk; see talk.h */
#include <stdarg.h>
#include <string.h>

#include "base/auto.h"
#include "base/strings.h"
#include "base/text.h"
#include "talk.h"
#include "talk_config.h"

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

/* Print the next step for a server that failed with this error. */
static void show_next(const struct talk *t, const char *server, const char *error)
{
	if (strstr(error, "startupTimeoutSec"))
		fputs("  to wait longer: give '--timeout TIME', such as 5m\n", stderr);
	if (t->verbose)
		return;
	if (t->source)
		fprintf(stderr,
			"  to see more: killick status --verbose --config '%s' --server '%s'\n",
			t->source, server);
	else
		fputs("  to see more: give '--verbose', or run the command by hand\n", stderr);
}

/* When a server could not be started at all, the keeper prints the reason on stderr, and the
 * library quotes a part of this reason. Returns the start of the quote in the sentence, and sets
 * *out_whole to the full reason; NULL: no quote. */
static const char *quoted_at(const char *sentence, const char *tail, const char **out_whole)
{
	static const char name[] = "killick: ";
	char begin[40];

	if (strncmp(tail, name, strlen(name)) != 0)
		return NULL;
	*out_whole = tail + strlen(name);
	snprintf(begin, sizeof(begin), "%s", *out_whole);
	return strstr(sentence, begin);
}

/* Returns the name of a server for messages: a command has no name in a config, so its program is
 * used. */
static const char *talk_name(const struct talk *t, const char *server)
{
	const char *program = t->words.command ? t->words.command[0] : NULL;
	const char *slash = program ? strrchr(program, '/') : NULL;

	return !program || !*server ? server : slash && slash[1] ? slash + 1 : program;
}

/* Returns the rest of a sentence that begins with the name of the server, as the library writes it;
 * NULL: the sentence has another beginning. */
static const char *talk_after_name(const char *sentence, const char *server)
{
	char begin[256];

	snprintf(begin, sizeof(begin), "server '%.200s' ", server);
	return strncmp(sentence, begin, strlen(begin)) == 0 ? sentence + strlen(begin) : NULL;
}

/* Print a sentence of the library about a server, and the last lines of its stderr. The server's
 * name is put in front if the sentence does not contain it. */
static void say_about(struct talk *t, const char *server, const char *sentence, const char *tail)
{
	const char *uncut = "";
	const char *quote = quoted_at(sentence, tail, &uncut);
	const char *ending = strstr(sentence, "; its stderr ends with: ");
	const char *cut = quote ? quote : ending;
	size_t len = cut && !t->verbose ? (size_t)(cut - sentence) : strlen(sentence);
	char text[4096], quoted[256];
	const char *rest;
	AUTO(mem_drop) char *whole = NULL;

	if (asprintf(&whole, "%.*s%s", (int)len, sentence, quote && !t->verbose ? uncut : "") < 0)
		abort();
	text_clean(whole, strlen(whole), text, sizeof(text));
	snprintf(quoted, sizeof(quoted), "'%.200s'", server);
	rest = talk_after_name(text, server);
	if (t->words.command && rest)
		talk_say(t, "'%.200s' %s", talk_name(t, server), rest);
	else if (*server && !strstr(text, quoted))
		talk_say(t, "%s: %s", talk_name(t, server), text);
	else
		talk_say(t, "%s", text);
	if (!quote)
		show_tail(t, tail);
}

void talk_missing(struct talk *t, const struct killick_server_status *sv)
{
	const char *error = *sv->error ? sv->error : killick_state_name(sv->state);
	char named[1024];

	talk_fail(t, sv->code == KILLICK_ERR_CONFIG ? EXIT_CONFIG : EXIT_UNAVAILABLE);
	if (sv->state == KILLICK_REMOTE && (t->warnings || t->verbose))
		return; /* the warning of the library has the same sentence, with file and line */
	if (sv->state == KILLICK_DISABLED) {
		say_about(t, sv->name, "the server is disabled in the config", "");
		return;
	}
	error = talk_config_say(t, error, named, sizeof(named));
	say_about(t, sv->name, error, sv->stderr_tail);
	if (sv->state != KILLICK_REMOTE && sv->code != KILLICK_ERR_CONFIG)
		show_next(t, sv->name, error);
}

/* May the stderr of the server explain this failure? */
static bool is_servers_fault(int code)
{
	return code == KILLICK_ERR_START || code == KILLICK_ERR_EXITED ||
	       code == KILLICK_ERR_PROTOCOL || code == KILLICK_ERR_BUSY ||
	       code == KILLICK_ERR_TIMEOUT;
}

void talk_refused(struct talk *t, const struct killick_result *r)
{
	const char *server = killick_result_server(r), *tail = "";
	struct killick_status *now = NULL;
	int code = killick_result_code(r);

	server = server ? server : "";
	talk_fail(t, talk_exit_of(code));
	if (is_servers_fault(code) && killick_status(t->s, &now) == 0)
		for (size_t i = 0; i < now->count; i++)
			if (strcmp(now->servers[i]->name, server) == 0)
				tail = now->servers[i]->stderr_tail;
	say_about(t, server, killick_result_error(r), tail);
	killick_status_free(now);
	if (is_servers_fault(code) && *server)
		show_next(t, server, killick_result_error(r));
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
	if (t->k && killick_close(t->k, &report) == 0 && report) {
		/* deliver stderr lines that arrived after the last answer */
		while (killick_dispatch(t->k) > 0)
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
