/* desk.c - see desk.h
 *
 *	waiting -> opening -> open -> closing -> closed
 *	   (the client's first message)
 *
 * To close, the desk ends its requests, closes the session and closes the face; when both are
 * closed, on_closed is called from the loop. Events of the session may come in the middle of a
 * change, so handlers of events only store what changed, and desk_on_turn does the work.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/emit.h"
#include "base/mem.h"
#include "base/trace.h"
#include "hub/desk_internal.h"
#include "net/channel.h"
#include "os/fd.h"
#include "session/pool.h"
#include "session/runtime.h"
#include "session/server.h"

#define LABEL_MAX    63 /* the limit of `killick run --session` */
#define SCRATCH_KEEP 1024

static void desk_on_turn(struct loop_timer *t);

void desk_poke(struct desk *d)
{
	if (!d->turn.slot)
		loop_timer_set(d->k->loop, &d->turn, 0, desk_on_turn);
}

static void desk_go(struct desk *d, enum desk_state to, const char *why)
{
	static const char *const names[] = {
		[DESK_WAITING] = "waiting", [DESK_OPENING] = "opening", [DESK_OPEN] = "open",
		[DESK_CLOSING] = "closing", [DESK_CLOSED] = "closed",
	};

	assert(to > d->state);
	TRACE(TRACE_SESSION, "desk %s: %s -> %s (%s)", d->tag ? d->tag : "-", names[d->state],
	      names[to], why);
	d->state = to;
}

/* --- open --- */

static void desk_tell(struct desk *d, const struct killick_error *e)
{
	if (d->told)
		return;
	d->told = true;
	d->ev->on_open(d->ctx, e);
}

/* The session is there and its servers are ready, failed, or known from the catalogue. */
static void desk_opened(struct desk *d)
{
	const struct killick_error good = { .code = KILLICK_OK };
	size_t at = 0;

	for (struct lease *l = desk_each(d, &at); l; l = desk_each(d, &at))
		offer_look(d, l);
	if (d->face && offer_is_void(d, &d->error)) {
		face_refuse(d->face, RPC_INTERNAL, d->error.text);
		desk_tell(d, &d->error);
		desk_close(d, d->error.text);
		return;
	}
	desk_go(d, DESK_OPEN, "settled");
	offer_make(d);
	desk_tell(d, &good);
	offer_log_failures(d);
	asks_show(d);
}

static void desk_on_session(struct job *j)
{
	struct desk *d = j->ctx;

	if (!j->error.code) {
		d->held = true;
		d->settled = true;
	} else if (d->state < DESK_CLOSING) {
		d->session = NULL; /* it is closed already, and frees itself */
		d->error = j->error;
		d->settled = true;
	}
	desk_poke(d);
}

static const struct session_sink desk_sink = {
	.on_note = desk_on_note,
	.on_other = desk_on_other,
	.on_ask = desk_on_ask,
	.on_ask_over = desk_on_ask_over,
	.on_state = desk_on_state,
	.on_warning = desk_on_warning,
};

static void desk_begin(struct desk *d)
{
	struct session_spec spec = {
		.o = KILLICK_SESSION_OPTIONS(.label = d->tag, .wait = d->wait,
					     .grace_ms = d->grace_ms,
					     .features = d->answers
								 ? d->answers
								 : (unsigned)KILLICK_NO_FEATURES),
		.sink = &desk_sink,
		.sink_ctx = d,
		.lazy = true,
		.modern = d->face && face_era(d->face) == ERA_MODERN,
		.owners = { d->owners[0], d->owners[1] },
		.file_owner = d->file_owner,
	};
	struct job *j;

	desk_go(d, DESK_OPENING, d->face ? "hello" : "open");
	j = session_begin(d->k, &spec, &d->config);
	d->session = j->session;
	j->on_finished = desk_on_session;
	j->ctx = d;
}

static void desk_on_hello(void *ctx, const struct face_hello *h)
{
	struct desk *d = ctx;

	if (d->state != DESK_WAITING)
		return;
	d->answers = h->answers;
	if (h->info.at)
		d->client = mem_try_text(h->info.at, h->info.len);
	d->last_us = loop_now_us();
	desk_begin(d);
}

/* --- back pressure --- */

static void desk_tell_leases(struct desk *d)
{
	if (!d->session)
		return;
	RING_EACH(r, &d->session->leases) {
		struct lease *l = CONTAINER_OF(r, struct lease, in_session);

		l->full = d->holds > 0;
		l->stalled = l->full && d->stalled;
		l->slow &= l->full;
		if (l->server)
			server_look_full(l->server);
	}
}

void desk_hold(struct desk *d, bool full)
{
	assert(full || d->holds > 0);
	d->holds += full ? 1 : -1u;
	d->stalled = d->stalled && d->holds > 0;
	desk_tell_leases(d);
}

bool desk_stalls(struct desk *d, int64_t stalled_ms)
{
	d->stalled = stalled_ms >= DESK_STALLED_MS;
	desk_tell_leases(d); /* other sessions may have begun to wait, or wait no longer */
	return stalled_ms >= d->stall_ms;
}

void desk_stall_text(int64_t stalled_ms, char *out, size_t size)
{
	snprintf(out, size,
		 "the client read nothing for %.1f s while more than %u MiB of answers waited for "
		 "it",
		 (double)stalled_ms / 1000, (CHANNEL_FULL / 2) >> 20);
}

static void desk_on_stall(struct loop_timer *t)
{
	struct desk *d = CONTAINER_OF(t, struct desk, stall);
	int64_t stalled_ms = face_stalled_ms(d->face);
	char why[160];

	if (!desk_stalls(d, stalled_ms)) {
		loop_timer_set(d->k->loop, t, DESK_LOOK_MS, desk_on_stall);
		return;
	}
	desk_stall_text(stalled_ms, why, sizeof(why));
	d->cut = true;
	face_cut(d->face, why);
}

static void desk_on_full(void *ctx, bool full)
{
	struct desk *d = ctx;

	if (full == d->full)
		return;
	d->full = full;
	desk_hold(d, full);
	if (full)
		loop_timer_set(d->k->loop, &d->stall, 0, desk_on_stall);
	else
		loop_timer_stop(d->k->loop, &d->stall);
}

static void desk_on_face_closed(void *ctx, const char *why)
{
	struct desk *d = ctx;

	d->face_over = true;
	desk_on_full(d, false);
	desk_close(d, why);
	desk_poke(d);
}

static const struct face_events desk_face_events = {
	.on_hello = desk_on_hello,
	.on_request = desk_on_request,
	.on_cancelled = desk_on_cancelled,
	.on_notification = desk_on_notification,
	.on_watch = desk_on_watch,
	.on_full = desk_on_full,
	.on_closed = desk_on_face_closed,
};

static int desk_check(const struct desk_spec *spec, struct err *e)
{
	if (spec->k->state != RUNTIME_OPEN)
		return err_set(e, -EPIPE, "the hub is ending");
	if (spec->tag && (strlen(spec->tag) > LABEL_MAX || !config_is_printable(spec->tag)))
		return err_set(e, -EINVAL, "the tag is not one printable line of at most %d bytes",
			       LABEL_MAX);
	return 0;
}

static struct desk *desk_new(const struct desk_spec *spec, const struct desk_events *ev, void *ctx)
{
	struct desk *d = mem_grow(NULL, 1, sizeof(*d));

	*d = (struct desk){
		.k = spec->k,
		.ev = ev,
		.ctx = ctx,
		.state = DESK_WAITING,
		.config = *spec->config,
		.tag = spec->tag && *spec->tag ? mem_dup(spec->tag) : NULL,
		.answers = spec->answers,
		.wait = spec->in < 0 ? (enum killick_wait_for)spec->wait : KILLICK_WAIT_SETTLED,
		.grace_ms = spec->grace_ms,
		.owners = { spec->owners[0], spec->owners[1] },
		.stall_ms = spec->stall_ms ? spec->stall_ms : DESK_STALL_MS,
		.file_owner = spec->file_owner,
		.prompts = NAMES_INIT,
		.level = -1,
		.scratch = BUF_INIT(BUF_ANY_SIZE),
		.last_us = loop_now_us(),
	};
	*spec->config = (struct config){ .count = 0 };
	ring_init(&d->backends);
	ring_init(&d->errands);
	ring_init(&d->waiting);
	ring_init(&d->asks);
	ring_init(&d->watches);
	return d;
}

static void desk_close_fds(const struct desk_spec *spec)
{
	int in = spec->in, out = spec->out == spec->in ? -1 : spec->out;

	fd_drop(&in);
	fd_drop(&out);
}

int desk_open(const struct desk_spec *spec, const struct desk_events *ev, void *ctx,
	      struct desk **out, struct err *e)
{
	struct desk *d;
	int r = desk_check(spec, e);

	if (r < 0) {
		desk_close_fds(spec);
		return r;
	}
	d = desk_new(spec, ev, ctx);
	if (spec->in < 0) {
		desk_begin(d);
		*out = d;
		return 0;
	}
	r = face_new(d->k->loop, spec->in, spec->out, d->k->message_limit, &desk_face_events, d,
		     &d->face, e);
	if (r < 0) {
		d->state = DESK_CLOSED;
		desk_free(d);
		return r;
	}
	*out = d;
	return 0;
}

/* --- refresh --- */

struct desk_refresh {
	struct desk *desk;
	desk_refreshed_fn done;
	void *ctx;
};

static void desk_on_refreshed(struct job *j)
{
	struct desk_refresh *r = j->ctx;
	struct desk *d = r->desk;
	struct killick_report *report = j->report;

	j->report = NULL;
	r->done(r->ctx, report, &j->error);
	free(r);
	if (d->state != DESK_OPEN)
		return;
	d->refreshed = true;
	desk_poke(d);
}

void desk_refresh(struct desk *d, struct config *config, desk_refreshed_fn done, void *ctx)
{
	struct killick_error e = { .code = KILLICK_OK };
	struct desk_refresh *r;
	struct job *j = NULL;

	if (d->state != DESK_OPEN)
		error_set(&e, KILLICK_ERR_CLOSED, "the session is not open");
	else
		session_refresh(d->session, config, &j, &e);
	if (e.code) {
		config_done(config);
		done(ctx, NULL, &e);
		return;
	}
	assert(j);
	r = mem_grow(NULL, 1, sizeof(*r));
	*r = (struct desk_refresh){ .desk = d, .done = done, .ctx = ctx };
	j->on_finished = desk_on_refreshed;
	j->ctx = r;
}

/* --- close --- */

/* Write which servers of the session other sessions keep. */
static char *desk_kept(const struct desk *d)
{
	struct buf text = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_INIT(&text);

	emit_open(&j, NULL, '[');
	for (size_t i = 0; i < d->session->count; i++) {
		const struct lease *l = d->session->table[i];

		if (l->state != LEASE_HELD || !l->server || l->server->holders < 2)
			continue;
		emit_open(&j, NULL, '{');
		emit_str(&j, "server", lease_name(l));
		emit_int(&j, "sessions", l->server->holders - 1);
		emit_close(&j);
	}
	emit_close(&j);
	emit_end(&j);
	return buf_take(&text);
}

static void desk_on_session_closed(struct job *j)
{
	struct desk *d = j->ctx;

	d->report = j->report;
	j->report = NULL;
	if (d->held)
		session_release(d->session);
	d->session = NULL;
	desk_poke(d);
}

void desk_close(struct desk *d, const char *why)
{
	struct job *j;

	if (d->state >= DESK_CLOSING)
		return;
	desk_go(d, DESK_CLOSING, why);
	d->why = mem_dup(why);
	errands_end(d, why);
	asks_drop(d, NULL);
	watches_drop(d, NULL);
	loop_timer_stop(d->k->loop, &d->news);
	if (d->session) {
		d->kept = desk_kept(d);
		j = job_new(d->session, JOB_CLOSE);
		j->on_finished = desk_on_session_closed;
		j->ctx = d;
		session_close(d->session, j);
	}
	if (d->face && !d->face_over)
		face_close(d->face);
	desk_poke(d);
}

static void desk_finish(struct desk *d)
{
	struct killick_report *report = d->report;

	if (d->session || (d->face && !d->face_over))
		return;
	desk_go(d, DESK_CLOSED, d->why);
	if (d->face)
		face_free(d->face);
	d->face = NULL;
	d->report = NULL;
	if (!d->error.code)
		error_set(&d->error, KILLICK_ERR_CLOSED,
			  "the session was closed before it was open: %s", d->why);
	desk_tell(d, &d->error);
	d->ev->on_closed(d->ctx, report, d->kept ? d->kept : "[]", d->why);
}

void desk_free(struct desk *d)
{
	assert(d->state == DESK_CLOSED && ring_is_empty(&d->errands) && ring_is_empty(&d->asks));
	loop_timer_stop(d->k->loop, &d->turn);
	loop_timer_stop(d->k->loop, &d->news);
	loop_timer_stop(d->k->loop, &d->stall);
	backends_free(d);
	watches_drop(d, NULL);
	names_done(&d->prompts);
	spare_done(&d->spare);
	buf_done(&d->scratch);
	config_done(&d->config);
	killick_report_free(d->report);
	free(d->tag);
	free(d->client);
	free(d->why);
	free(d->kept);
	free(d);
}

/* --- work that is due --- */

static void desk_settle(struct desk *d)
{
	d->settled = false;
	if (d->session) {
		desk_opened(d);
		return;
	}
	if (d->face)
		face_refuse(d->face, RPC_INTERNAL, d->error.text);
	desk_tell(d, &d->error);
	desk_close(d, d->error.text);
}

/* The state of servers has changed. */
static void desk_look(struct desk *d)
{
	size_t at = 0;

	d->look = false;
	for (struct lease *l = desk_each(d, &at); l; l = desk_each(d, &at))
		offer_look(d, l);
	desk_tell_leases(d); /* a refresh may have made new ones */
	d->ev->on_change(d->ctx);
}

static void desk_take_refresh(struct desk *d)
{
	d->refreshed = false;
	desk_look(d);
	watches_renew(d);
	backends_sweep(d);
	offer_make(d);
	notes_all_changed(d);
}

static void desk_on_turn(struct loop_timer *t)
{
	struct desk *d = CONTAINER_OF(t, struct desk, turn);

	if (d->state == DESK_OPENING && d->settled)
		desk_settle(d);
	if (d->state == DESK_OPEN && d->refreshed)
		desk_take_refresh(d);
	if (d->state == DESK_OPEN && d->look)
		desk_look(d);
	if (d->state == DESK_OPEN)
		desk_begin_waiting(d);
	buf_reset(&d->scratch, SCRATCH_KEEP);
	if (d->state != DESK_CLOSING)
		return;
	errands_end(d, d->why); /* those that came since desk_close */
	desk_finish(d);         /* may free the desk */
}

void desk_on_state(void *ctx, struct lease *l)
{
	struct desk *d = ctx;

	(void)l;
	d->look = true;
	desk_poke(d);
}

/* --- for the list of sessions --- */

struct killick_session *desk_session(const struct desk *d)
{
	return d->session;
}

bool desk_was_cut(const struct desk *d)
{
	return d->cut;
}

unsigned desk_in_flight(const struct desk *d)
{
	return d->in_flight;
}

int64_t desk_idle_ms(const struct desk *d)
{
	return d->in_flight ? 0 : (loop_now_us() - d->last_us) / 1000;
}

static void desk_emit_client(const struct desk *d, struct emit *j)
{
	struct json info = { d->client, d->client ? strlen(d->client) : 0 };
	char name[128] = "", version[64] = "";

	if (!info.at) {
		emit_null(j, "client");
		return;
	}
	json_string_into(json_get(info, "name"), name, sizeof(name));
	json_string_into(json_get(info, "version"), version, sizeof(version));
	emit_open(j, "client", '{');
	emit_str(j, "name", name);
	emit_str(j, "version", version);
	emit_close(j);
}

void desk_emit(const struct desk *d, struct emit *j)
{
	bool met = d->face && d->state > DESK_WAITING;

	desk_emit_client(d, j);
	emit_str(j, "era", !met ? NULL : face_era(d->face) == ERA_MODERN ? "modern" : "legacy");
	emit_str(j, "protocol", met ? face_version(d->face) : NULL);
	emit_int(j, "idleMs", desk_idle_ms(d));
	emit_open(j, "servers", '[');
	for (size_t i = 0; d->session && i < d->session->count; i++) {
		const struct server *sv = d->session->table[i]->server;
		char id[16];

		if (!sv)
			continue;
		snprintf(id, sizeof(id), "v%u", sv->number);
		emit_str(j, NULL, id);
	}
	emit_close(j);
	emit_int(j, "inFlight", d->in_flight);
	emit_int(j, "calls", (long long)d->calls);
	emit_int(j, "errors", (long long)d->errors);
}
