/* sinks.h - sessions with a sink, and requests that are passed on, driven as the hub drives them:
 * in the loop, with its lock. Included once per program.
 *
 *	enter -> open_session -> send_line, await_sent ... -> close_session -> leave
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "config/config.h"
#include "lab.h"
#include "session/forward.h"
#include "session/server.h"
#include "session/session.h"
#include "session/sink.h"

extern char **environ;

/* --- a session with a sink --- */

struct party_of_test { /* one session and all it got */
	struct killick *k;
	struct killick_session *s;
	struct lease *l;
	bool opened, closed;
	struct killick_report *report;
	unsigned notes, others, asks, overs, states, warnings;
	enum killick_event_kind note;
	char text[512], method[64];
	uint64_t ask;
	bool refuses;
};

static inline void test_on_note(void *ctx, struct lease *l, enum killick_event_kind kind,
				struct json params)
{
	struct party_of_test *p = ctx;

	OK(l == p->l);
	p->notes++;
	p->note = kind;
	snprintf(p->text, sizeof(p->text), "%.*s", (int)params.len, params.at ? params.at : "");
}

static inline void test_on_other(void *ctx, struct lease *l, const char *method, struct json params)
{
	struct party_of_test *p = ctx;

	OK(l == p->l);
	(void)params;
	p->others++;
	snprintf(p->method, sizeof(p->method), "%s", method);
}

static inline bool test_on_ask(void *ctx, struct lease *l, uint64_t ask, const char *method,
			       struct json params)
{
	struct party_of_test *p = ctx;

	OK(l == p->l);
	(void)params;
	p->asks++;
	p->ask = ask;
	snprintf(p->method, sizeof(p->method), "%s", method);
	return !p->refuses;
}

static inline void test_on_ask_over(void *ctx, struct lease *l, uint64_t ask)
{
	struct party_of_test *p = ctx;

	OK(l == p->l && ask == p->ask);
	p->overs++;
}

static inline void test_on_state(void *ctx, struct lease *l)
{
	struct party_of_test *p = ctx;

	(void)l;
	p->states++;
}

static inline void test_on_warning(void *ctx, struct lease *l, const char *text)
{
	struct party_of_test *p = ctx;

	(void)l;
	p->warnings++;
	t_note("warning: %s", text);
}

static const struct session_sink test_sink = {
	.on_note = test_on_note,
	.on_other = test_on_other,
	.on_ask = test_on_ask,
	.on_ask_over = test_on_ask_over,
	.on_state = test_on_state,
	.on_warning = test_on_warning,
};

static inline void wait_until(struct killick *k, bool (*done)(void *ctx), void *ctx)
{
	if (!loop_wait(k->loop, done, ctx, loop_now_us() + LAB_MS * INT64_C(1000)))
		FAIL("the awaited event did not come");
}

static inline bool is_true(void *flag)
{
	return *(bool *)flag;
}

static inline void test_on_opened(struct job *j)
{
	struct party_of_test *p = j->ctx;

	if (j->error.code)
		FAIL("the session could not be opened: %s", j->error.text);
	p->opened = true;
}

static inline void test_on_closed(struct job *j)
{
	struct party_of_test *p = j->ctx;

	p->report = j->report;
	j->report = NULL;
	p->closed = true;
}

/* Takes the lock. */
static inline struct killick *enter(void)
{
	struct killick *k = LAB();

	loop_lock(k->loop);
	return k;
}

static inline void leave(struct killick *k)
{
	loop_unlock(k->loop);
	lab_close(k);
}

static inline void begin_session(struct party_of_test *p, struct killick *k,
				 const struct lab_server *list, unsigned features)
{
	char *text = lab_config(list);
	struct session_spec spec = {
		.o = KILLICK_SESSION_OPTIONS(.features = features ? features : KILLICK_NO_FEATURES,
					     .label = "test"),
		.sink = &test_sink,
		.sink_ctx = p,
	};
	struct config c;
	struct err e = ERR_INIT;
	struct job *j;

	*p = (struct party_of_test){ .k = k };
	if (config_parse(text, strlen(text), &(struct config_source){ .environ_ = environ }, &c,
			 &e) < 0)
		FAIL("%s", e.text);
	free(text);
	j = session_begin(k, &spec, &c);
	config_done(&c);
	j->on_finished = test_on_opened;
	j->ctx = p;
	p->s = j->session;
	p->l = p->s->table[0];
}

static inline void open_session(struct party_of_test *p, struct killick *k,
				const struct lab_server *list, unsigned features)
{
	begin_session(p, k, list, features);
	wait_until(k, is_true, &p->opened);
}

static inline void close_session(struct party_of_test *p)
{
	struct job *j = job_new(p->s, JOB_CLOSE);

	j->on_finished = test_on_closed;
	j->ctx = p;
	session_close(p->s, j);
	wait_until(p->k, is_true, &p->closed);
	OK(p->report && p->report->proved && p->report->survivors == 0);
	killick_report_free(p->report);
	session_release(p->s);
}

/* --- forwards --- */

struct sent {
	struct forward f;
	bool done;
	int code;
	char text[600], *line, *result;
	enum client_era era;
	unsigned reports;
	char report[200];
};

static inline void sent_on_done(struct forward *f, const struct forward_done *d)
{
	struct sent *s = CONTAINER_OF(f, struct sent, f);

	OK(!s->done);
	s->done = true;
	s->code = d->code;
	s->era = d->era;
	snprintf(s->text, sizeof(s->text), "%s", d->text ? d->text : "");
	if (!d->line)
		return;
	OK(d->code == KILLICK_OK || d->code == KILLICK_ERR_ANSWER);
	if (d->line->whole.at)
		s->line = mem_text(d->line->whole.at, d->line->whole.len);
	s->result = d->code ? mem_text(d->line->error.at, d->line->error.len)
			    : mem_text(d->line->result.at, d->line->result.len);
}

static inline void sent_on_progress(struct forward *f, struct json params)
{
	struct sent *s = CONTAINER_OF(f, struct sent, f);

	s->reports++;
	snprintf(s->report, sizeof(s->report), "%.*s", (int)params.len, params.at);
}

static inline void sent_done(struct sent *s)
{
	free(s->line);
	free(s->result);
	*s = (struct sent){ .done = false };
}

static inline void send_line(struct sent *s, struct party_of_test *p, const char *line,
			     const struct forward *like)
{
	char *copy = mem_dup(line); /* gone after forward_begin */
	struct message m;
	const char *reason;

	*s = (struct sent){ .f = like ? *like : (struct forward){ .name = NULL } };
	s->f.lease = p->l;
	s->f.m = &m;
	s->f.on_done = sent_on_done;
	s->f.on_progress = sent_on_progress;
	EQ(message_parse(copy, strlen(copy), &m, &reason), 0);
	forward_begin(&s->f);
	OK(!s->done);
	memset(copy, 'x', strlen(copy));
	free(copy);
}

static inline void await_sent(struct sent *s, int code)
{
	wait_until(s->f.lease->session->k, is_true, &s->done);
	if (s->code != code)
		FAIL("%s instead of %s: %s", killick_code_name(s->code), killick_code_name(code),
		     s->text);
}

static inline void send_and_wait(struct sent *s, struct party_of_test *p, const char *line,
				 int code)
{
	send_line(s, p, line, NULL);
	await_sent(s, code);
}

static inline void op_and_wait(struct sent *s, struct party_of_test *p, enum killick_op op,
			       const char *name, int code)
{
	*s = (struct sent){ .f = { .lease = p->l, .on_done = sent_on_done } };
	forward_begin_op(&s->f, op, name);
	OK(!s->done);
	await_sent(s, code);
}

#define CALL(id, tool, args)                                                                       \
	"{\"jsonrpc\":\"2.0\",\"id\":" id                                                          \
	",\"method\":\"tools/call\",\"params\":{\"name\":\"" tool "\",\"arguments\":" args "}}"

static inline void expect_in(const char *text, const char *part)
{
	if (!text || !strstr(text, part))
		FAIL("'%s' does not have '%s'", text ? text : "nothing", part);
}
