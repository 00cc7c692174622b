/* forward.c - see forward.h */
#include "session/forward.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "session/call.h"
#include "session/runtime.h"
#include "session/replay.h"
#include "session/server.h"
#include "session/session.h"
#include "session/survey.h"

#define LONGEST_MS (INT64_C(10) * 365 * 24 * 3600 * 1000) /* a longer timeout means no limit */
#define KEPT_MAX   (64u << 20) /* bytes of the requests of one lease that wait */

/* --- the end --- */

/* The forward does not wait any more. */
static void forward_stop_waiting(struct forward *f)
{
	parked_leave(&f->parked);
	if (f->state == FORWARD_QUEUED)
		gate_forget(&f->entry);
	loop_timer_stop(f->loop, &f->timer);
}

static void forward_release(struct forward *f)
{
	f->lease->kept -= f->kept;
	f->kept = 0;
	client_forward_done(&f->fw);
	free(f->op_name);
	f->op_name = NULL;
	f->state = FORWARD_OVER;
}

/* Call on_done, which may free the forward. */
static void forward_report(struct forward *f, const struct forward_done *d)
{
	forward_release(f);
	if (!f->cancelled)
		f->on_done(f, d);
}

static void forward_on_later(struct loop_timer *t)
{
	struct forward *f = CONTAINER_OF(t, struct forward, timer);
	AUTO(mem_drop) char *text = f->text;
	struct message m = { .kind = MESSAGE_RESULT };
	struct forward_done d = { .code = f->code, .era = f->from, .text = text };

	f->text = NULL;
	if (f->code == KILLICK_OK) {
		m.result = (struct json){ text, strlen(text) };
		d.line = &m;
		d.text = NULL;
	}
	forward_report(f, &d);
}

/* End the forward from the loop. The lease is not used any more. */
static void forward_later(struct forward *f, int code, const char *text, size_t len)
{
	f->state = FORWARD_LATER;
	f->code = code;
	f->text = mem_text(text, len);
	loop_timer_set(f->loop, &f->timer, 0, forward_on_later);
}

static void forward_refuse(struct forward *f, int code, const char *text)
{
	forward_later(f, code, text, strlen(text));
}

static void forward_tally(struct forward *f, bool ok)
{
	struct lease *l = f->lease;
	const struct killick *k = l->session->k;

	tally_add(&l->server->tally, &l->tally,
		  &(struct tally_note){ .session = l->session->number,
					.label = l->session->label,
					.name = f->tool,
					.began_us = f->began_us,
					.ended_us = loop_read_clock(f->loop),
					.ok = ok });
	if (k->watcher)
		k->watcher->on_call(k->watcher_ctx, l->server, tally_recent(&l->server->tally, 0));
}

/* End a forward that waits, now. */
static void forward_fail(struct forward *f, int code, const char *text)
{
	struct forward_done d = { .code = code, .text = text };

	assert(f->state == FORWARD_PARKED || f->state == FORWARD_QUEUED);
	forward_stop_waiting(f);
	forward_tally(f, false);
	lease_count(f->lease, -1);
	forward_report(f, &d);
}

/* --- results of the client --- */

static int forward_code_of(const struct forward *f, const struct client_result *r)
{
	const struct server *sv = f->lease->server;

	if (r->over)
		return r->code;
	/* the owner did not cancel the forward: the connection is lost, or the lease leaves */
	if (r->code == KILLICK_ERR_CANCELLED && sv->lost)
		return KILLICK_ERR_LOST;
	if (r->code == KILLICK_ERR_CANCELLED && f->lease->state >= LEASE_LEFT)
		return KILLICK_ERR_CLOSED;
	if (r->code == KILLICK_ERR_BUSY && sv->link->disowned)
		return KILLICK_ERR_SYSTEM;
	return r->code;
}

/* Returns a sentence that names the server. */
static const char *forward_explain(const struct forward *f, const struct client_result *r, int code,
				   char *text, size_t size)
{
	bool by_default = !r->over && code == KILLICK_ERR_TIMEOUT && f->timeout_ms == 0;

	if (code == KILLICK_ERR_LOST)
		return f->lease->server->error.text;
	if (r->over && code == KILLICK_ERR_EXITED && f->lease->server->blamed) {
		server_error_of_call(f->lease, f->tool, text, size);
		return text;
	}
	if (r->over || code == KILLICK_ERR_CLOSED)
		return r->text;
	if (code == KILLICK_ERR_TIMEOUT && f->lease->server->lost)
		snprintf(text, size, "%s; the request timed out before the connection was resumed",
			 f->lease->server->error.text);
	else
		snprintf(text, size, "server '%s': %s%s", lease_name(f->lease),
			 r->text ? r->text : killick_code_name(code),
			 by_default ? "; raise toolTimeoutSec if it needs longer" : "");
	return text;
}

/* The answer to an op as a message; out: memory for a list of tools. */
static int forward_op_answer(struct forward *f, const struct client_result *r, struct message *m,
			     struct buf *out)
{
	*m = (struct message){ .kind = r->code < 0 ? MESSAGE_ERROR : MESSAGE_RESULT };
	if (r->code < 0)
		m->error = r->json;
	else
		m->result = r->json;
	if (r->code == KILLICK_OK)
		survey_note_list(f->lease->server, f->kind, r->json);
	if (f->kind != KILLICK_TOOLS || r->code < 0)
		return 0;
	tools_keep(f->lease, r, f->drops);
	if (tools_of_one(f->lease, r->json, out) < 0)
		return KILLICK_ERR_SYSTEM;
	if (out->len)
		m->result = (struct json){ out->data, out->len };
	return 0;
}

static void forward_park(struct forward *f, const char *op_name);

/* A server that ends because of the probe is started again at once. Requests that were not written
 * yet wait for that start. */
static bool forward_waits_again(const struct forward *f)
{
	return f->lease->server->again && f->lease->state == LEASE_HELD && !f->cancelled;
}

static void forward_on_done(struct client_call *op, const struct client_result *r)
{
	struct forward *f = CONTAINER_OF(op, struct forward, op);
	struct lease *l = f->lease;
	AUTO(buf_done) struct buf list = BUF_INIT(r->json.len);
	struct forward_done d = { .code = r->code, .line = r->line };
	struct client_facts facts;
	struct message m;
	char text[600];

	assert(f->state == FORWARD_SENT);
	if (r->over && !op->last_id && forward_waits_again(f)) {
		gate_leave(l);
		forward_park(f, f->op_name);
		return;
	}
	client_facts(l->server->client, &facts);
	d.era = facts.era;
	if (f->is_op && (r->code == KILLICK_OK || r->code == KILLICK_ERR_ANSWER)) {
		d.line = &m;
		if (forward_op_answer(f, r, &m, &list) < 0) {
			d = (struct forward_done){ .code = KILLICK_ERR_SYSTEM };
			snprintf(text, sizeof(text),
				 "server '%s': there is no memory for the list of tools",
				 lease_name(l));
			d.text = text;
		}
	} else if (!d.line) {
		d.code = forward_code_of(f, r);
		d.text = forward_explain(f, r, d.code, text, sizeof(text));
	}
	forward_tally(f, d.code == KILLICK_OK);
	if (d.line)
		lease_note_answer(l);
	else if (r->over && l->server->blamed)
		lease_note_crash(l, f->tool);
	if (r->code < 0)
		replay_refused(l, op);
	if (f->cancelled)
		gate_leave_later(l);
	else
		gate_leave(l);
	lease_count(l, -1);
	if (r->code == KILLICK_ERR_BUSY)
		server_check(l->server);
	forward_report(f, &d); /* neither f nor l may be used below */
}

static void forward_on_report(struct client_call *op, struct json params)
{
	struct forward *f = CONTAINER_OF(op, struct forward, op);

	f->on_progress(f, params);
}

/* --- the beginning --- */

/* Milliseconds that are left; -1: no limit. The clock was read lately. */
static int64_t forward_left_ms(const struct forward *f)
{
	int64_t left_ms;

	if (f->limit_ms < 0 || !f->began_us)
		return f->limit_ms;
	left_ms = f->limit_ms - (loop_last_reading(f->loop) - f->began_us) / 1000;
	return left_ms > 1 ? left_ms : 1;
}

/* Pass the forward to the client; the gate has counted it. op_name is borrowed. */
static void forward_send(struct forward *f, const char *op_name)
{
	struct lease *l = f->lease;
	struct gate *gate = &l->server->gate;
	int64_t left_ms = forward_left_ms(f);

	if (f->timer.slot)
		loop_timer_stop(f->loop, &f->timer);
	f->state = FORWARD_SENT;
	f->op = (struct client_call){
		.op = f->is_op ? f->kind : KILLICK_RAW,
		.name = op_name,
		.forward = f->is_op ? NULL : &f->fw,
		.owner = l,
		.timeout_ms = left_ms,
		.progress_extends = !f->is_op,
		.waits = f->waits,
		.on_done = forward_on_done,
	};
	f->drops = l->server->tools.drops;
	replay_note(l, &f->op);
	client_call(l->server->client, &f->op);
	if (!f->began_us) /* client_call has read the clock for its deadline */
		f->began_us = left_ms >= 0 ? loop_last_reading(f->loop) : loop_read_clock(f->loop);
	memcpy(gate->tool, f->tool, sizeof(gate->tool));
	gate->sent_us = loop_last_reading(f->loop);
}

/* How long the forward may still wait behind the forward that was sent last; -1: any time. */
static int64_t forward_turn_ms(const struct forward *f)
{
	const struct gate *gate = &f->lease->server->gate;
	int64_t from_us = gate->sent_us > f->began_us ? gate->sent_us : f->began_us;
	int64_t left_ms = GATE_WAIT_MS - (loop_read_clock(f->loop) - from_us) / 1000;

	if (f->state != FORWARD_QUEUED || !gate->asks)
		return -1;
	return left_ms > 0 ? left_ms : 0;
}

static void forward_set_deadline(struct forward *f);

static void forward_on_deadline(struct loop_timer *t)
{
	struct forward *f = CONTAINER_OF(t, struct forward, timer);
	const struct gate *gate = &f->lease->server->gate;
	int64_t now_us = loop_read_clock(f->loop), turn_ms = forward_turn_ms(f);
	char text[400];

	if (f->limit_ms < 0 || now_us - f->began_us < f->limit_ms * 1000) {
		if (turn_ms != 0) {
			forward_set_deadline(f);
			return;
		}
		snprintf(text, sizeof(text),
			 "server '%s' gets one call at a time, because it asks its clients, and "
			 "call '%s' has run for %lld s; wait for the end of that call, or set "
			 "\"share\" to \"never\" or maxInstances to a larger number in the config "
			 "of the server",
			 lease_name(f->lease), gate->tool,
			 (long long)((now_us - gate->sent_us) / 1000000));
		forward_fail(f, KILLICK_ERR_BUSY, text);
		return;
	}
	if (f->state == FORWARD_PARKED)
		snprintf(text, sizeof(text),
			 "server '%s' did not run, and was not started again within %lld ms",
			 lease_name(f->lease), (long long)f->limit_ms);
	else
		snprintf(text, sizeof(text),
			 "server '%s' was busy with other requests for %lld ms; %u requests of "
			 "this session wait in the queue",
			 lease_name(f->lease), (long long)f->limit_ms, f->lease->gate.queued);
	forward_fail(f, KILLICK_ERR_TIMEOUT, text);
}

/* The forward waits: fail it at its own deadline, or when it has waited too long for its turn. */
static void forward_set_deadline(struct forward *f)
{
	int64_t turn_ms = forward_turn_ms(f), left_ms = forward_left_ms(f);

	if (turn_ms >= 0 && (left_ms < 0 || turn_ms < left_ms))
		left_ms = turn_ms;
	if (left_ms >= 0)
		loop_timer_set(f->loop, &f->timer, left_ms, forward_on_deadline);
}

/* Is there room for a copy of the request? One client must not take the memory of the hub. */
static bool forward_may_keep(const struct forward *f)
{
	return f->is_op || f->kept || f->lease->kept + f->fw.m.whole.len <= KEPT_MAX;
}

/* The texts of the request belong to the caller of forward_begin: copy them. The deadline runs. */
static void forward_keep(struct forward *f, const char *op_name)
{
	if (f->is_op) {
		if (op_name != f->op_name)
			f->op_name = mem_dup(op_name);
	} else if (!f->kept) {
		client_forward_keep(&f->fw);
		f->kept = f->fw.m.whole.len;
		f->lease->kept += f->kept;
	}
	if (!f->began_us)
		f->began_us = loop_read_clock(f->loop);
	forward_set_deadline(f);
}

static void forward_go(struct gate_entry *e)
{
	struct forward *f = CONTAINER_OF(e, struct forward, entry);

	forward_send(f, f->op_name);
}

static void forward_fail_entry(struct gate_entry *e, int code, const char *text)
{
	struct forward *f = CONTAINER_OF(e, struct forward, entry);

	if (forward_waits_again(f))
		forward_park(f, f->op_name);
	else
		forward_fail(f, code, text);
}

/* The client takes requests: send the forward, or let it wait for its turn. False: the queue is
 * full. */
static bool forward_pass(struct forward *f, const char *op_name)
{
	if (f->is_op && f->lease->server->state != KILLICK_READY && op_name != f->op_name) {
		f->op_name = mem_dup(op_name); /* see forward_waits_again */
		op_name = f->op_name;
	}
	if (gate_enter(f->lease)) {
		forward_send(f, op_name);
		return true;
	}
	f->entry = (struct gate_entry){ .lease = f->lease,
					.go = forward_go,
					.fail = forward_fail_entry };
	if (!forward_may_keep(f) || !gate_wait(&f->entry))
		return false;
	f->state = FORWARD_QUEUED;
	forward_keep(f, op_name);
	return true;
}

static void forward_say_full(const struct forward *f, char *text, size_t size)
{
	snprintf(text, size,
		 "server '%s': %d requests or %u MiB of this session wait already, which is the "
		 "limit; wait for answers before you send more",
		 lease_name(f->lease), GATE_QUEUE_MAX, KEPT_MAX >> 20);
}

static void forward_unpark(struct parked *p)
{
	struct forward *f = CONTAINER_OF(p, struct forward, parked);
	char text[300];

	parked_leave(p);
	loop_read_clock(f->loop);
	if (forward_pass(f, f->op_name))
		return;
	/* host code must not run here */
	loop_timer_stop(f->loop, &f->timer);
	lease_count(f->lease, -1);
	forward_say_full(f, text, sizeof(text));
	forward_refuse(f, KILLICK_ERR_BUSY, text);
}

static void forward_fail_parked(struct parked *p, int code, const char *text)
{
	forward_fail(CONTAINER_OF(p, struct forward, parked), code, text);
}

static void forward_park(struct forward *f, const char *op_name)
{
	f->parked = (struct parked){ .lease = f->lease,
				     .begin = forward_unpark,
				     .fail = forward_fail_parked };
	ring_add(&f->lease->server->parked, &f->parked.node);
	f->state = FORWARD_PARKED;
	forward_keep(f, op_name);
}

/* The list of tools may be known. True: the forward ends from the loop. */
static bool forward_answer_from_cache(struct forward *f)
{
	struct lease *l = f->lease;
	AUTO(buf_done) struct buf list = BUF_INIT(BUF_ANY_SIZE);
	struct json all = JSON_NONE;
	struct client_facts facts;

	if (f->kind == KILLICK_TOOLS && l->server->state == KILLICK_READY)
		all = toolcache_get(&l->server->tools);
	if (!all.at)
		return false;
	if (tools_of_one(l, all, &list) < 0)
		return false;
	client_facts(l->server->client, &facts);
	f->from = facts.era;
	forward_later(f, KILLICK_OK, list.len ? list.data : all.at, list.len ? list.len : all.len);
	return true;
}

static void forward_start(struct forward *f, const char *tool, const char *op_name)
{
	struct lease *l = f->lease;
	struct killick_error e;
	char text[300];

	assert(f->on_done);
	f->limit_ms = f->timeout_ms ? f->timeout_ms : lease_config(l)->tool_ms;
	if (f->limit_ms > LONGEST_MS)
		f->limit_ms = -1;
	if (l->state != LEASE_HELD) {
		forward_refuse(f, KILLICK_ERR_CLOSED, "the session was closed");
		return;
	}
	if (route_use(l, tool, &e) < 0) {
		forward_refuse(f, e.code, e.text);
		return;
	}
	if (f->is_op && forward_answer_from_cache(f))
		return;
	lease_count(l, 1);
	if (!server_has_client(l->server) && forward_may_keep(f)) {
		forward_park(f, op_name);
	} else if (!server_has_client(l->server) || !forward_pass(f, op_name)) {
		lease_count(l, -1);
		forward_say_full(f, text, sizeof(text));
		forward_refuse(f, KILLICK_ERR_BUSY, text);
	}
}

/* The name of the tool, or the method, for the tally: without its quotes, cut, escapes as
 * written. */
static void forward_label(struct forward *f, struct json text)
{
	size_t len = text.len >= 2 ? text.len - 2 : 0;

	if (len > sizeof(f->tool) - 1)
		len = sizeof(f->tool) - 1;
	if (len)
		memcpy(f->tool, text.at + 1, len);
	f->tool[len] = '\0';
}

/* The op of a request that is passed on as it is; KILLICK_RAW: it may have any effect. */
static enum killick_op forward_kind_of(const struct message *m)
{
	static const struct {
		const char *method;
		enum killick_op op;
	} known[] = { { "tools/call", KILLICK_CALL },
		      { "resources/read", KILLICK_READ },
		      { "prompts/get", KILLICK_PROMPT },
		      { "completion/complete", KILLICK_COMPLETE } };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (json_is(m->method, known[i].method))
			return known[i].op;
	return KILLICK_RAW;
}

void forward_begin(struct forward *f)
{
	const struct config_server *cs = lease_config(f->lease);
	AUTO(mem_drop) char *tool = NULL;
	int r = client_forward_read(&f->fw, f->m);
	bool calls_tool = json_is(f->m->method, "tools/call");
	struct json name;

	assert(f->state == FORWARD_IDLE);
	f->loop = f->lease->session->k->loop;
	f->fw.era = f->era;
	f->fw.on_report = f->on_progress ? forward_on_report : NULL;
	if (f->name)
		f->fw.name = (struct json){ f->name, strlen(f->name) };
	name = f->name ? f->fw.name : f->fw.old_name;
	forward_label(f, calls_tool && json_type(name) == JSON_STRING ? name : f->m->method);
	if (r < 0) {
		forward_refuse(
			f, KILLICK_ERR_USAGE,
			"a member occurs twice in the request, or twice but for upper and lower "
			"case, so that the server could read another request than this program");
		return;
	}
	if (calls_tool && (cs->enabled_tools || cs->disabled_tools || cs->place))
		json_string(name, &tool);
	f->waits = lease_waits_for_resume(f->lease, forward_kind_of(f->m), tool);
	forward_start(f, tool, NULL);
	f->m = NULL;
	f->name = NULL;
}

void forward_begin_op(struct forward *f, enum killick_op op, const char *name)
{
	static const char *const names[] = {
		[KILLICK_TOOLS] = "tools/list",
		[KILLICK_RESOURCES] = "resources/list",
		[KILLICK_TEMPLATES] = "resources/templates/list",
		[KILLICK_PROMPTS] = "prompts/list",
		[KILLICK_PING] = "ping",
		[KILLICK_LOG_LEVEL] = "logging/setLevel",
		[KILLICK_SUBSCRIBE] = "resources/subscribe",
		[KILLICK_UNSUBSCRIBE] = "resources/unsubscribe",
	};

	assert(f->state == FORWARD_IDLE && op < sizeof(names) / sizeof(names[0]) && names[op]);
	f->loop = f->lease->session->k->loop;
	f->is_op = true;
	f->kind = op;
	f->waits = lease_waits_for_resume(f->lease, op, NULL);
	snprintf(f->tool, sizeof(f->tool), "%s", names[op]);
	forward_start(f, NULL, name);
}

void forward_cancel(struct forward *f)
{
	f->cancelled = true;
	switch (f->state) {
	case FORWARD_IDLE:
	case FORWARD_OVER:
		break;
	case FORWARD_PARKED:
	case FORWARD_QUEUED:
		forward_fail(f, KILLICK_ERR_CANCELLED, "");
		break;
	case FORWARD_SENT:
		client_cancel(&f->op);
		break;
	case FORWARD_LATER:
		loop_timer_stop(f->loop, &f->timer);
		free(f->text);
		f->text = NULL;
		forward_release(f);
		break;
	}
}
