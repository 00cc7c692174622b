/* report.c - functions of killick.h: the report of a close or a refresh. */
#include <stdlib.h>
#include <string.h>

#include "killick/killick.h"
#include "base/auto.h"
#include "base/emit.h"
#include "os/status.h"

static void emit_exit(struct emit *j, const struct killick_ending *e)
{
	const char *name = status_signal_name(e->exit_signal);

	if (e->exit_code == -1 && !e->exit_signal) {
		emit_null(j, "exit");
		return;
	}
	emit_open(j, "exit", '{');
	if (name)
		emit_str(j, "signal", name);
	else if (e->exit_signal) /* a real-time signal has no name */
		emit_int(j, "signal", e->exit_signal);
	else
		emit_int(j, "code", e->exit_code);
	emit_close(j);
}

static void emit_words(struct emit *j, const char *key, const char *words)
{
	emit_open(j, key, '[');
	while (*words) {
		size_t len = strcspn(words, ",");

		emit_text(j, NULL, words, len);
		words += len + (words[len] == ',');
	}
	emit_close(j);
}

static void emit_ending(struct emit *j, const struct killick_ending *e)
{
	emit_open(j, NULL, '{');
	emit_str(j, "session", e->session);
	emit_str(j, "server", e->server);
	emit_str(j, "environment", e->environment);
	emit_int(j, "pid", e->pid);
	emit_str(j, "why", e->why);
	emit_str(j, "step", e->step);
	emit_exit(j, e);
	emit_ms(j, "stop_ms", e->stop_ms);
	emit_words(j, "proof", e->proof);
	emit_int(j, "survivors", e->survivors);
	emit_str(j, "text", e->text);
	if (*e->json)
		emit_raw(j, "report", e->json, strlen(e->json));
	else
		emit_null(j, "report");
	emit_close(j);
}

char *killick_report_json(const struct killick_report *r)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_INIT(&text);

	if (!r)
		return NULL;
	emit_open(&j, NULL, '{');
	emit_bool(&j, "proved", r->proved);
	emit_int(&j, "survivors", r->survivors);
	emit_ms(&j, "ms", r->ms);
	emit_open(&j, "endings", '[');
	for (size_t i = 0; i < r->count; i++)
		emit_ending(&j, r->endings[i]);
	emit_close(&j);
	emit_close(&j);
	return emit_end(&j) == 0 ? buf_take(&text) : NULL;
}

void killick_report_free(struct killick_report *r)
{
	free(r);
}
