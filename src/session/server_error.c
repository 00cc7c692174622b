/* server_error.c - why a server is not ready or last ended: one sentence and its parts; see
 * server.h
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "session/pool.h"
#include "session/server.h"
#include "session/session.h"

#define LAST_LINES 3 /* lines of stderr that an error text repeats */

void server_error_clear(struct server *sv)
{
	sv->error = (struct killick_error){ .code = 0 };
	sv->reason_at = sv->quoted = 0;
}

void server_error_set(struct server *sv, int code, const char *fmt, ...)
{
	va_list ap;

	server_error_clear(sv);
	sv->error.code = code;
	va_start(ap, fmt);
	vsnprintf(sv->error.text, sizeof(sv->error.text), fmt, ap);
	va_end(ap);
}

void server_error_of(struct server *sv, int code, const char *fmt, ...)
{
	size_t len;
	va_list ap;

	server_error_set(sv, code, "server '%s' ", sv->recipe.name);
	len = sv->reason_at = strlen(sv->error.text);
	va_start(ap, fmt);
	vsnprintf(sv->error.text + len, sizeof(sv->error.text) - len, fmt, ap);
	va_end(ap);
}

void server_error_quote_stderr(struct server *sv)
{
	char *text = sv->error.text;
	size_t used = strlen(text);
	char lines[256], reason[160];

	tail_last(&sv->tail, LAST_LINES, lines, sizeof(lines));
	if (!*lines || sv->mixed)
		return;
	/* npm and others end with lines about their logs: the reason is above them */
	tail_reason(&sv->tail, LAST_LINES, reason, sizeof(reason));
	snprintf(text + used, sizeof(sv->error.text) - used, "; its stderr %s%s%sends with: %s",
		 *reason ? "says: " : "", reason, *reason ? "; it " : "", lines);
	sv->quoted = strlen(text) - used;
}

void server_error_unquote(struct server *sv)
{
	sv->error.text[strlen(sv->error.text) - sv->quoted] = '\0';
	sv->quoted = 0;
}

void server_error_often(struct server *sv)
{
	struct killick_error last = sv->error;
	size_t own = strlen(last.text) - sv->quoted, used, len;

	server_error_of(sv, KILLICK_ERR_START,
			"failed %u times in a row; the first request after a pause of %u s starts "
			"it again; last error: ",
			sv->failures, pool_pause_ms(sv->failures) / 1000);
	used = strlen(sv->error.text);
	snprintf(sv->error.text + used, sizeof(sv->error.text) - used, "%s", last.text);
	len = strlen(sv->error.text);
	sv->quoted = len > used + own ? len - used - own : 0;
}

void server_error_of_call(const struct lease *l, const char *tool, char *out, size_t size)
{
	const struct server *sv = l->server;
	const char *text = sv->error.text, *label = l->session->label;
	size_t own = strlen(text) - sv->quoted;
	char calls[60] = "during call '", of[100] = "";

	if (sv->open_calls > 1)
		snprintf(calls, sizeof(calls), "with %u calls in flight, among them '",
			 sv->open_calls);
	if (label)
		snprintf(of, sizeof(of), " of session '%.80s'", label);
	snprintf(out, size, "%.*s %s%s'%s%s", (int)own, text, calls, *tool ? tool : "request", of,
		 text + own);
}

void server_error_not_started(struct server *sv, const char *why)
{
	server_error_of(sv, KILLICK_ERR_START, "could not be started: %.*s",
			(int)strcspn(why, "\n"), why);
}

void server_error_quiet(struct server *sv)
{
	server_error_of(sv, KILLICK_ERR_START,
			"showed no sign of life for %.3g s while it started: no output, no CPU "
			"time, no input or output of its processes; run its command by hand, or "
			"set startupTimeoutSec in its config if it needs longer",
			(double)sv->idle_ms / 1000);
}

void server_error_slow(struct server *sv)
{
	server_error_of(sv, KILLICK_ERR_START,
			"did not complete its handshake within %.3g s; raise startupTimeoutSec in "
			"its config if it needs longer",
			(double)sv->startup_ms / 1000);
}

void server_error_limit(struct server *sv, const char *limit)
{
	server_error_of(sv, KILLICK_ERR_BUSY,
			"was not started within %.3g s, because of %s, and no other server could "
			"rest; end sessions that are not needed, or raise the limit",
			(double)sv->startup_ms / 1000, limit);
}

void server_error_closed(struct server *sv)
{
	int code = sv->ready_us ? KILLICK_ERR_EXITED : KILLICK_ERR_START;

	if (sv->link->disowned)
		server_error_set(sv, code, "server '%s': " LINK_DISOWNED, sv->recipe.name);
	else if (sv->stop == STOP_EXITED)
		server_error_of(sv, code,
				"exited, and its keeper did not report how; the machine may be "
				"overloaded");
	else
		server_error_of(sv, code, "closed its %s and kept running; it was ended",
				sv->deaf ? "stdin" : "stdout");
}
