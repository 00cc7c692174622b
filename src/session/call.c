/* call.c - see call.h */
#include "session/call.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/pack.h"
#include "session/event.h"
#include "session/pool.h"
#include "session/replay.h"
#include "session/server.h"
#include "session/session.h"

#define LONGEST_MS (INT64_C(10) * 365 * 24 * 3600 * 1000) /* a longer timeout means no limit */

/* --- the end of a call --- */

void call_free(struct killick_call *c)
{
	struct killick *k = c->session->k;

	for (size_t i = 0; i < c->part_count; i++)
		killick_result_free(c->parts[i].result);
	if (c->parts != &c->one)
		free(c->parts);
	assert(!parked_is_in(&c->parked));
	loop_timer_stop(k->loop, &c->timer);
	ring_remove(&c->in_session);
	killick_result_free(c->result);
	session_unpin(c->session);
	free(c->own);
	spare_give(&k->calls, c);
}

void call_free_if_forgotten(struct killick_call *c)
{
	if (c->over && !c->held && c->progress == 0 && (c->told || !c->rq.on_done))
		call_free(c);
}

static void result_run(struct outbox_item *i)
{
	struct killick_call *c = CONTAINER_OF(i, struct killick_call, item);
	struct killick_result *r = c->result;

	c->result = NULL;
	c->rq.on_done(c->rq.ctx, r);
}

static void result_told(struct outbox_item *i)
{
	struct killick_call *c = CONTAINER_OF(i, struct killick_call, item);

	c->told = true;
	call_free_if_forgotten(c);
}

/* Store the result of the call and pass it to the host. May free the call. */
static void call_complete(struct killick_call *c, struct killick_result *r)
{
	static const struct outbox_kind kind = { NULL, result_run, result_told };

	assert(!c->over && !c->result && c->parts_left == 0);
	c->over = true;
	c->result = r;
	if (c->rq.on_done) {
		c->item.kind = &kind;
		outbox_put(&c->session->k->outbox, &c->item);
	} else if (c->waiter) {
		waiter_tell(c->session->k, c->waiter);
	} else {
		call_free_if_forgotten(c);
	}
}

static void finish_with(struct killick_call *c, int code, const char *server, const char *text)
{
	call_complete(c, result_new(&(struct result_spec){
				 .code = code, .server = server, .error = text }));
}

/* --- results of the client --- */

static int call_code_of(const struct part *p, const struct client_result *r)
{
	if (r->over)
		return r->code;
	/* the host did not cancel the call: the lease leaves, or the connection is lost */
	if (r->code == KILLICK_ERR_CANCELLED && !p->call->cancelled)
		return p->lease->server->lost ? KILLICK_ERR_LOST : KILLICK_ERR_CLOSED;
	if (r->code == KILLICK_ERR_BUSY && p->lease->server->link->disowned)
		return KILLICK_ERR_SYSTEM;
	return r->code;
}

/* Returns a sentence that names the server. Texts about a lost connection, an ended server or a
 * closed session are complete already. */
static const char *call_explain(const struct part *p, const struct client_result *r, char *text,
				size_t size)
{
	const char *reason = r->text ? r->text : killick_code_name(call_code_of(p, r));
	bool by_default = !r->over && r->code == KILLICK_ERR_TIMEOUT && p->call->rq.timeout_ms == 0;

	if (call_code_of(p, r) == KILLICK_ERR_LOST)
		return p->lease->server->error.text;
	if (r->over && r->code == KILLICK_ERR_EXITED && p->lease->server->blamed) {
		server_error_of_call(p->lease, p->call->tool, text, size);
		return text;
	}
	if (r->over || (r->code == KILLICK_ERR_CANCELLED && !p->call->cancelled))
		return reason;
	if (r->code == KILLICK_ERR_TIMEOUT && p->lease->server->lost)
		snprintf(text, size, "%s; the request timed out before the connection was resumed",
			 p->lease->server->error.text);
	else
		snprintf(text, size, "server '%s': %s%s", lease_name(p->lease), reason,
			 by_default ? "; raise toolTimeoutSec if it needs longer" : "");
	return text;
}

/* Make the result for the host from the list of tools of one server. */
static struct killick_result *result_of_tools(struct lease *l, struct json all)
{
	AUTO(buf_done) struct buf list = BUF_INIT(all.len); /* never longer than the list */
	struct result_spec spec = { .code = KILLICK_OK, .server = lease_name(l), .json = all };

	if (tools_of_one(l, all, &list) < 0) {
		spec = (struct result_spec){ .code = KILLICK_ERR_SYSTEM,
					     .server = lease_name(l),
					     .error = "there is no memory for the list of tools" };
		return result_new(&spec);
	}
	if (list.len)
		spec.json = (struct json){ list.data, list.len };
	return result_new(&spec);
}

/* Make the result for the host from the result of the client. */
static struct killick_result *translate(struct part *p, const struct client_result *r)
{
	char text[600];
	struct result_spec spec = { .code = call_code_of(p, r),
				    .server = lease_name(p->lease),
				    .json = r->json };

	if (spec.code < 0) {
		spec.error = call_explain(p, r, text, sizeof(text));
		return result_new(&spec);
	}
	if (p->call->rq.op != KILLICK_TOOLS)
		return result_new(&spec);
	tools_keep(p->lease, r, p->drops);
	return result_of_tools(p->lease, r->json);
}

static void warn_of_failures(struct killick_call *c)
{
	for (size_t i = 0; i < c->part_count; i++) {
		const struct killick_result *r = c->parts[i].result;

		if (killick_result_code(r) < 0)
			event_warning(c->session,
				      session_find(c->session, killick_result_server(r)),
				      killick_result_error(r));
	}
}

/* All servers have answered. The list has the tools of the servers that succeeded; a warning names
 * each failed server. The call fails if it was cancelled, or if no server succeeded and at least
 * one failure is not an error answer (KILLICK_ERR_ANSWER). */
static void finish_all(struct killick_call *c)
{
	AUTO(buf_done) struct buf all = BUF_INIT(4 * c->session->k->message_limit);
	const struct killick_result *failure = NULL;
	struct result_spec spec = { .code = KILLICK_OK };
	size_t good = 0;

	for (size_t i = 0; i < c->part_count; i++) {
		const struct killick_result *r = c->parts[i].result;

		if (killick_result_code(r) == 0)
			good++;
		else if (!failure || killick_result_code(failure) == KILLICK_ERR_ANSWER)
			failure = r;
	}
	if (failure &&
	    (c->cancelled || (good == 0 && killick_result_code(failure) != KILLICK_ERR_ANSWER))) {
		finish_with(c, killick_result_code(failure), killick_result_server(failure),
			    killick_result_error(failure));
	} else if (tools_of_all(c->session, c->parts, c->part_count, &all) < 0) {
		finish_with(c, KILLICK_ERR_PROTOCOL, NULL,
			    "the lists of tools are too long, or there is no memory for them");
	} else {
		warn_of_failures(c);
		spec.json = (struct json){ all.data, all.len };
		call_complete(c, result_new(&spec));
	}
}

static void call_tally(const struct part *p, bool ok)
{
	struct lease *l = p->lease;

	tally_add(&l->server->tally, &l->tally,
		  &(struct tally_note){ .session = l->session->number,
					.label = l->session->label,
					.name = "", /* only the hub shows the last calls */
					.began_us = p->began_us,
					.ended_us = loop_now_us(),
					.ok = ok });
}

static void call_on_done(struct client_call *op, const struct client_result *r)
{
	struct part *p = CONTAINER_OF(op, struct part, op);
	struct killick_call *c = p->call;
	struct lease *l = p->lease;
	struct killick_result *result = translate(p, r);

	assert(c->parts_left > 0 && !p->result);
	call_tally(p, r->code == KILLICK_OK);
	p->lease = NULL;
	if (r->code == KILLICK_OK || r->code == KILLICK_ERR_ANSWER)
		lease_note_answer(l);
	else if (r->over && l->server->blamed)
		lease_note_crash(l, c->tool);
	if (r->code < 0)
		replay_refused(l, op);
	lease_count(l, -1);
	if (r->code == KILLICK_ERR_BUSY)
		server_check(l->server);
	c->parts_left--;
	if (c->parts == &c->one) {
		call_complete(c, result);
		return;
	}
	p->result = result;
	if (c->parts_left == 0)
		finish_all(c);
}

/* --- the beginning of a call --- */

/* Pass a part to its client. */
static void begin_part(struct killick_call *c, struct part *p, struct lease *l, int64_t timeout_ms)
{
	assert(server_has_client(l->server) && l->state == LEASE_HELD);
	if (c->rq.op == KILLICK_CALL || c->rq.op == KILLICK_RAW)
		snprintf(c->tool, sizeof(c->tool), "%s", c->rq.name);
	p->drops = l->server->tools.drops;
	p->began_us = loop_now_us();
	p->op = (struct client_call){
		.op = c->rq.op,
		.name = c->rq.name,
		.args = c->args,
		.meta = c->meta,
		.owner = l,
		.timeout_ms = timeout_ms,
		.progress_extends = c->rq.progress_extends,
		.waits = lease_waits_for_resume(l, c->rq.op, c->rq.name),
		.on_progress = c->rq.on_progress ? event_progress : NULL,
		.on_done = call_on_done,
	};
	replay_note(l, &p->op);
	client_call(l->server->client, &p->op);
}

static int64_t timeout_of(const struct killick_call *c, const struct lease *l)
{
	int64_t ms = c->rq.timeout_ms ? c->rq.timeout_ms : lease_config(l)->tool_ms;

	return ms <= LONGEST_MS ? ms : -1;
}

static void unpark(struct killick_call *c)
{
	parked_leave(&c->parked);
	loop_timer_stop(c->session->k->loop, &c->timer);
}

/* The server runs: pass the call to the client. */
static void call_unpark(struct parked *p)
{
	struct killick_call *c = CONTAINER_OF(p, struct killick_call, parked);
	int64_t left_ms = c->timeout_ms < 0 ? -1 : (c->timer.due_us - loop_now_us()) / 1000;

	unpark(c);
	begin_part(c, &c->one, c->one.lease, c->timeout_ms < 0 ? -1 : left_ms > 1 ? left_ms : 1);
}

/* The server will not run: end the call. */
static void call_fail_parked(struct parked *p, int code, const char *text)
{
	struct killick_call *c = CONTAINER_OF(p, struct killick_call, parked);
	struct lease *l = c->one.lease;

	unpark(c);
	c->one.lease = NULL;
	c->parts_left = 0;
	lease_count(l, -1);
	finish_with(c, code, lease_name(l), text);
}

static void on_parked_too_long(struct loop_timer *t)
{
	struct killick_call *c = CONTAINER_OF(t, struct killick_call, timer);
	char text[300];

	snprintf(text, sizeof(text),
		 "server '%s' did not run, and was not started again within %lld ms",
		 lease_name(c->one.lease), (long long)c->timeout_ms);
	call_fail_parked(&c->parked, KILLICK_ERR_TIMEOUT, text);
}

/* The server does not run: copy the strings of the request, and keep the call until the server runs
 * or the call times out. */
static void park(struct killick_call *c, struct lease *l)
{
	struct pack p = { .base = NULL };

	for (int pass = 0; pass < 2; pass++) {
		const char *name = c->rq.name ? pack_text(&p, c->rq.name) : NULL;
		const char *args = c->args.at ? pack_bytes(&p, c->args.at, c->args.len) : NULL;
		const char *meta = c->meta.at ? pack_bytes(&p, c->meta.at, c->meta.len) : NULL;

		if (pass == 0) {
			c->own = mem_grow(NULL, p.used + 1, 1);
			p = (struct pack){ .base = c->own };
		} else {
			c->rq.name = name;
			c->args.at = args;
			c->meta.at = meta;
		}
	}
	c->timeout_ms = timeout_of(c, l);
	if (c->timeout_ms >= 0)
		loop_timer_set(l->session->k->loop, &c->timer, c->timeout_ms, on_parked_too_long);
	c->parked = (struct parked){ .lease = l, .begin = call_unpark, .fail = call_fail_parked };
	ring_add(&l->server->parked, &c->parked.node);
}

/* Returns the cached list of tools as a result; NULL: the server must be asked. */
static struct killick_result *answer_from_cache(const struct killick_call *c, struct lease *l)
{
	struct json list = JSON_NONE;

	/* a resting server is not asked: its list has not changed */
	if (c->rq.op == KILLICK_TOOLS && server_has_list(l->server) &&
	    (!c->rq.refresh || l->server->state == KILLICK_RESTING))
		list = toolcache_get(&l->server->tools);
	return list.at ? result_of_tools(l, list) : NULL;
}

/* Returns the tool that the request calls; NULL: the request calls no tool. A raw request may call
 * a tool, too. The caller frees *own. */
static const char *tool_of(const struct killick_call *c, char **own)
{
	if (c->rq.op == KILLICK_CALL)
		return c->rq.name;
	if (c->rq.op == KILLICK_RAW && strcmp(c->rq.name, "tools/call") == 0 &&
	    json_string(json_get(c->args, "name"), own))
		return *own;
	return NULL;
}

static void call_begin_one(struct killick_call *c, struct lease *l)
{
	AUTO(mem_drop) char *own = NULL;
	struct killick_result *cached;
	struct killick_error e;

	if (l->server && l->server->state == KILLICK_RESTING && !c->rq.refresh &&
	    (cached = answer_from_cache(c, l))) {
		call_complete(c, cached); /* does not start the server */
	} else if (route_use(l, tool_of(c, &own), &e) < 0) {
		finish_with(c, e.code, lease_name(l), e.text);
	} else if ((cached = answer_from_cache(c, l))) {
		call_complete(c, cached);
	} else {
		c->one = (struct part){ .call = c, .lease = l };
		c->parts_left = 1;
		lease_count(l, 1);
		if (server_has_client(l->server))
			begin_part(c, &c->one, l, timeout_of(c, l));
		else
			park(c, l);
	}
}

/* End a part of a call to several servers; its server was not asked. */
static void finish_part(struct part *p, struct killick_result *r)
{
	p->result = r;
	p->lease = NULL;
	p->call->parts_left--;
}

/* The same for a server that cannot be asked. */
static void fail_part(struct part *p, const struct killick_error *e)
{
	finish_part(p,
		    result_new(&(struct result_spec){
			    .code = e->code, .server = lease_name(p->lease), .error = e->text }));
}

/* Request the list of tools from every server that is ready. */
static void begin_all(struct killick_call *c)
{
	struct killick_session *s = c->session;

	c->parts = mem_grow(NULL, s->count, sizeof(*c->parts));
	c->part_count = 0;
	for (size_t i = 0; i < s->count; i++)
		if (s->table[i]->server && server_has_list(s->table[i]->server))
			c->parts[c->part_count++] =
				(struct part){ .call = c, .lease = s->table[i] };
	c->parts_left = c->part_count;
	for (size_t i = 0; i < c->part_count; i++) {
		struct lease *l = c->parts[i].lease;
		struct killick_result *cached;
		struct killick_error e;

		if (l->server->state == KILLICK_READY && server_use(l->server, &e) < 0) {
			fail_part(&c->parts[i], &e);
			continue;
		}
		cached = answer_from_cache(c, l);
		if (cached) {
			finish_part(&c->parts[i], cached);
			continue;
		}
		lease_count(l, 1);
		begin_part(c, &c->parts[i], l, timeout_of(c, l));
	}
	if (c->parts_left == 0)
		finish_all(c);
}

void call_begin(struct killick_call *c)
{
	const char *server = c->rq.server;
	struct killick_error e;
	struct lease *l;

	assert(c->held || c->rq.on_done); /* so nothing in here frees the call */
	c->rq.server = c->rq.args = c->rq.meta = NULL;
	if (c->session->state == SESSION_OPENING) {
		finish_with(c, KILLICK_ERR_USAGE, server, "the session is not open yet");
	} else if (c->session->state != SESSION_OPEN) {
		finish_with(c, KILLICK_ERR_CLOSED, server, "the session is closed");
	} else if (c->rq.op == KILLICK_TOOLS && !server) {
		begin_all(c);
	} else if ((l = call_route(c, server, &e))) {
		call_begin_one(c, l);
	} else {
		finish_with(c, e.code, server, e.text);
	}
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the caller holds the call, see above */
	if (!c->own) { /* the strings belong to the caller */
		c->rq.name = NULL;
		c->args = c->meta = JSON_NONE;
	}
}

struct killick_call *call_new(struct killick_session *s, const struct killick_request *rq,
			      struct json args, struct json meta)
{
	struct killick_call *c = spare_take(&s->k->calls, sizeof(*c));

	*c = (struct killick_call){
		.session = s,
		.rq = *rq,
		.args = args,
		.meta = meta,
		.parts = &c->one,
		.part_count = 1,
	};
	session_pin(s);
	ring_add(&s->calls, &c->in_session);
	return c;
}
