/* caller_hub.c - the methods hub.* of the control API */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "hub/hub_internal.h"
#include "os/spawn.h"

void caller_on_ping(void *ctx, const struct reply *r, struct json params)
{
	struct emit j;

	(void)ctx;
	(void)params;
	if (reply_begin(r, &j))
		reply_end(r, &j);
}

void caller_on_status(void *ctx, const struct reply *r, struct json params)
{
	struct caller *c = ctx;
	struct hub *h = c->hub;
	struct hub_totals t;
	unsigned sessions = 0;
	struct emit j;

	(void)params;
	RING_EACH(n, &h->sessions)
		sessions++;
	caller_totals(h, &t);
	if (!reply_begin(r, &j))
		return;
	emit_int(&j, "pid", spawn_own_pid());
	emit_str(&j, "version", KILLICK_VERSION);
	emit_int(&j, "protocol", HUB_PROTOCOL);
	emit_int(&j, "uptimeMs", (loop_now_us() - h->started_us) / 1000);
	emit_str(&j, "socket", h->socket);
	emit_int(&j, "sessions", sessions);
	emit_int(&j, "servers", t.servers);
	emit_int(&j, "running", t.running);
	emit_int(&j, "resting", t.resting);
	emit_int(&j, "processes", t.processes);
	emit_int(&j, "memory", (long long)t.memory);
	emit_int(&j, "savedMemory", (long long)t.saved);
	emit_int(&j, "calls", (long long)h->calls);
	reply_end(r, &j);
}

/* Write an array; its elements are JSON already, with commas between them. */
static void caller_emit_list(struct emit *j, const char *key, const struct buf *elements)
{
	AUTO(buf_done) struct buf all = BUF_INIT(BUF_ANY_SIZE);

	buf_addf(&all, "[%s]", elements->data);
	emit_json(j, key, all.data, all.len);
}

/* --- shutdown --- */

static void caller_on_shutdowner_gone(void *ctx)
{
	hub_wait_free(ctx);
}

void caller_on_shutdown(void *ctx, const struct reply *r, struct json params)
{
	struct caller *c = ctx;

	(void)params;
	if (hub_wait_new(NULL, &c->hub->shutdowns, r, caller_on_shutdowner_gone))
		hub_end(c->hub, "the hub was stopped");
}

void caller_hub_closed(struct hub *h)
{
	struct emit j;

	for (struct ring *n; (n = ring_first(&h->shutdowns));) {
		struct hub_wait *w = CONTAINER_OF(n, struct hub_wait, in_session);
		const struct reply *r = &w->answer->reply;

		if (reply_begin(r, &j)) {
			caller_emit_list(&j, "ended", &h->ended);
			emit_int(&j, "survivors", h->survivors);
			emit_bool(&j, "proved", !h->unproved);
			reply_end(r, &j);
		}
		hub_wait_free(w);
	}
}

/* --- reload --- */

struct reload {
	struct answer *answer; /* NULL: no caller waits */
	struct buf done;       /* JSON objects with commas between them */
	unsigned left;
};

struct reload_part {
	struct hub_wait wait; /* of the session: holds its lease; answer is NULL */
	struct reload *whole;
};

static void reload_on_gone(void *ctx)
{
	struct reload *all = ctx;

	answer_free(all->answer);
	all->answer = NULL;
}

static void reload_settle(struct reload *all)
{
	struct emit j;

	if (all->left)
		return;
	if (all->answer && reply_begin(&all->answer->reply, &j)) {
		caller_emit_list(&j, "sessions", &all->done);
		reply_end(&all->answer->reply, &j);
	}
	if (all->answer)
		answer_free(all->answer);
	buf_done(&all->done);
	free(all);
}

static void reload_note(struct reload *all, const struct hub_session *s,
			const struct killick_report *report, const char *error)
{
	struct emit j;

	buf_adds(&all->done, all->done.len ? "," : "");
	j = (struct emit)EMIT_INIT(&all->done);
	emit_open(&j, NULL, '{');
	hub_session_emit_names(&j, s);
	hub_report_emit(&j, report);
	if (error && *error)
		emit_str(&j, "error", error);
	emit_close(&j);
	emit_end(&j);
}

static void reload_on_refreshed(void *ctx, struct killick_report *report,
				const struct killick_error *e)
{
	struct reload_part *part = CONTAINER_OF(ctx, struct reload_part, wait);
	struct reload *all = part->whole;

	reload_note(all, part->wait.session, report, e ? e->text : NULL);
	killick_report_free(report);
	ring_remove(&part->wait.in_session);
	free(part);
	all->left--;
	reload_settle(all);
}

static void reload_session(struct reload *all, struct hub_session *s)
{
	struct reload_part *part = mem_grow(NULL, 1, sizeof(*part));

	*part = (struct reload_part){ .wait = { .session = s }, .whole = all };
	ring_add(&s->refreshes, &part->wait.in_session);
	all->left++;
	hub_session_refresh(s, &part->wait, &s->source, reload_on_refreshed);
}

void caller_on_reload(void *ctx, const struct reply *r, struct json params)
{
	struct caller *c = ctx;
	struct reload *all = mem_grow(NULL, 1, sizeof(*all));

	(void)params;
	*all = (struct reload){ .done = BUF_INIT(BUF_ANY_SIZE), .left = 1 };
	all->answer = answer_new(r, reload_on_gone, all);
	RING_EACH(n, &c->hub->sessions) {
		struct hub_session *s = CONTAINER_OF(n, struct hub_session, in_hub);

		if (s->source.file && s->opened && !s->closing)
			reload_session(all, s);
	}
	all->left--;
	reload_settle(all);
}
