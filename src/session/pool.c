/* pool.c - see pool.h */
#include "session/pool.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/trace.h"
#include "session/ask.h"
#include "session/attach.h"
#include "session/call.h"
#include "session/gate.h"
#include "session/limits.h"
#include "session/replay.h"
#include "session/rest.h"
#include "session/server.h"
#include "session/session.h"

#define BLOCKED_MS     250 /* how often a server that waits for a limit is looked at */
#define BACKOFF_MIN_MS 250
#define BACKOFF_MAX_MS 30000
#define FAILURES_MAX   5
#define STEADY_US      (10 * 1000000LL) /* ready for so long: reset the failures */
#define STABLE_US      (60 * 1000000LL) /* ready for so long: reset the back-off */

/* --- the queue of servers that wait to start --- */

static void pool_on_turn(struct loop_timer *t);

void pool_look(struct killick *k)
{
	/* the timer may be set for a later look, because a limit is reached */
	if (!ring_is_empty(&k->pool.queue) && k->pool.starting < k->pool.starting_max &&
	    (!k->pool.turn.slot || k->pool.blocked))
		loop_timer_set(k->loop, &k->pool.turn, 0, pool_on_turn);
}

/* Start one server per turn, because the start of a process takes a while and other threads need
 * the lock. */
static void pool_on_turn(struct loop_timer *t)
{
	struct killick *k = CONTAINER_OF(t, struct killick, pool.turn);

	k->pool.blocked = false;
	RING_EACH(r, &k->pool.queue) {
		struct server *sv = CONTAINER_OF(r, struct server, in_queue);

		if (k->pool.starting >= k->pool.starting_max)
			return; /* pool_count looks again */
		if (limits_allow(sv)) {
			k->pool.blocked = false;
			ring_remove(r);
			server_place(sv);
			pool_look(k);
			return;
		}
		k->pool.blocked = true;
	}
	if (k->pool.blocked)
		loop_timer_set(k->loop, &k->pool.turn, BLOCKED_MS, pool_on_turn);
}

void pool_init(struct pool *p, unsigned starting_max)
{
	assert(starting_max > 0);
	*p = (struct pool){ .starting_max = starting_max };
	ring_init(&p->servers);
	ring_init(&p->queue);
}

void pool_enqueue(struct killick *k, struct server *sv)
{
	assert(sv->state == KILLICK_IDLE);
	ring_add(&k->pool.queue, &sv->in_queue);
	pool_look(k);
}

void pool_dequeue(struct killick *k, struct server *sv)
{
	(void)k;
	ring_remove(&sv->in_queue);
}

void pool_count(struct killick *k, int change)
{
	assert(change > 0 ? k->pool.starting < k->pool.starting_max : k->pool.starting > 0);
	k->pool.starting += (unsigned)change;
	pool_look(k);
}

void pool_done(struct killick *k)
{
	assert(ring_is_empty(&k->pool.servers) && ring_is_empty(&k->pool.queue));
	assert(k->pool.starting == 0);
	loop_timer_stop(k->loop, &k->pool.turn);
}

/* --- failures and back-off --- */

int64_t server_backoff_ms(const struct server *sv)
{
	int64_t due_us = sv->started_us + sv->backoff_ms * 1000LL, now_us = loop_now_us();

	return sv->starts && due_us > now_us ? (due_us - now_us + 999) / 1000 : 0;
}

void server_count_failure(struct server *sv)
{
	int64_t ready_for_us = sv->ready_us ? loop_now_us() - sv->ready_us : 0;

	if (ready_for_us >= STEADY_US)
		sv->failures = 0;
	if (ready_for_us >= STABLE_US)
		sv->backoff_ms = 0;
	sv->backoff_ms = sv->backoff_ms ? 2 * sv->backoff_ms : BACKOFF_MIN_MS;
	if (sv->backoff_ms > BACKOFF_MAX_MS)
		sv->backoff_ms = BACKOFF_MAX_MS;
	if (++sv->failures < FAILURES_MAX)
		return;
	sv->broken = true;
	server_error_broken(sv);
}

void server_await_way(struct server *sv)
{
	sv->tried = false;
	if (sv->backoff_ms < BACKOFF_MIN_MS)
		sv->backoff_ms = BACKOFF_MIN_MS;
}

int server_refuses(const struct server *sv, struct killick_error *e)
{
	if (sv->broken)
		return error_set(e, sv->error.code, "%s", sv->error.text);
	if (sv->restart == RESTART_NEVER && sv->tried && sv->state == KILLICK_GONE)
		return error_set(e, sv->error.code, "%s (\"restart\" in its config is \"never\")",
				 sv->error.text);
	return 0;
}

void server_forgive(struct server *sv)
{
	sv->broken = false;
	sv->failures = 0;
	sv->backoff_ms = 0;
	sv->tried = false;
}

/* --- leases --- */

const struct config_server *lease_config(const struct lease *l)
{
	assert(l->config.count == 1);
	return l->config.servers;
}

const char *lease_name(const struct lease *l)
{
	return lease_config(l)->name;
}

enum killick_state lease_server_state(const struct lease *l)
{
	if (l->server)
		return l->server->state;
	if (lease_config(l)->remote)
		return KILLICK_REMOTE;
	return lease_config(l)->disabled ? KILLICK_DISABLED : KILLICK_GONE;
}

int lease_code(const struct lease *l)
{
	if (l->server)
		return l->server->error.code;
	if (!l->error)
		return KILLICK_OK;
	if (lease_config(l)->remote)
		return KILLICK_ERR_NO_SERVER;
	return lease_config(l)->refused ? KILLICK_ERR_CONFIG : KILLICK_ERR_START;
}

/* Move cs into the config of the lease. */
static void take_config(struct lease *l, struct config_server *cs)
{
	struct config_server *own = mem_grow(NULL, 1, sizeof(*own));

	*own = *cs;
	*cs = (struct config_server){ .name = NULL };
	config_done(&l->config);
	l->config = (struct config){ .servers = own, .count = 1 };
}

static void pool_refuse(struct lease *l, const char *text)
{
	l->error = mem_dup(text);
	l->settled = l->failed = true;
}

struct lease *lease_new(struct killick_session *s, struct config_server *cs)
{
	struct lease *l = mem_grow(NULL, 1, sizeof(*l));

	*l = (struct lease){ .session = s, .tools = -1 };
	take_config(l, cs);
	ring_init(&l->asks);
	gate_init_lease(&l->gate);
	ring_add(&s->leases, &l->in_session);
	cs = l->config.servers;
	if (cs->disabled) {
		l->settled = true;
		l->error = cs->remote ? mem_dup(cs->problem) : NULL;
	} else if (cs->problem) {
		pool_refuse(l, cs->problem);
	} else {
		attach_lease(l);
	}
	return l;
}

bool lease_fits(const struct lease *l, const struct config_server *cs)
{
	return l->state == LEASE_HELD && l->server && !cs->disabled && !cs->problem &&
	       server_is(l->server, cs, l->session->features);
}

void lease_adjust(struct lease *l, struct config_server *cs)
{
	assert(lease_fits(l, cs) && strcmp(lease_name(l), cs->name) == 0);
	take_config(l, cs);
	server_adjust(l->server, lease_config(l));
	l->settled = l->server->state == KILLICK_READY;
	server_forgive(l->server);
	attach_start(l);
}

void lease_settle(struct lease *l, bool failed)
{
	l->settled = true;
	l->failed = failed;
	session_poke(l->session);
}

const char *const lease_state_names[] = {
	[LEASE_HELD] = "held",
	[LEASE_LEAVING] = "leaving",
	[LEASE_LEFT] = "left",
	[LEASE_OVER] = "over",
};

static void lease_go(struct lease *l, enum lease_state to)
{
	assert(to > l->state);
	TRACE(TRACE_SESSION, "%u %s lease %s server=%u: %s -> %s (%s)", l->session->number,
	      l->session->label ? l->session->label : "-", lease_name(l),
	      l->server ? l->server->number : 0, lease_state_names[l->state], lease_state_names[to],
	      ending_why_name(l->why));
	l->state = to;
}

void lease_over(struct lease *l, const struct ending *e)
{
	assert(l->state == LEASE_LEFT && l->in_flight == 0 && ring_is_empty(&l->asks));
	assert(l->gate.in_flight == 0 && l->gate.queued == 0);
	lease_go(l, LEASE_OVER);
	l->server = NULL;
	ring_remove(&l->on_server);
	ring_remove(&l->in_session);
	if (e && l->job)
		endings_add(&l->job->endings, l->session->label, lease_name(l), e);
	l->job = NULL;
	session_poke(l->session);
	if (!l->listed)
		lease_free(l);
}

static const char *left_text(const struct lease *l)
{
	return l->why == ENDING_REFRESH ? "the server was removed or replaced by a refresh"
					: "the session was closed";
}

static void lease_part(struct lease *l)
{
	struct server *sv = l->server;

	assert(l->state < LEASE_LEFT);
	if (l->state == LEASE_HELD && sv)
		sv->active--;
	lease_go(l, LEASE_LEFT);
	loop_timer_stop(l->session->k->loop, &l->timer);
	if (!sv) {
		lease_over(l, NULL);
		return;
	}
	parked_fail(&sv->parked, l, KILLICK_ERR_CLOSED, left_text(l));
	gate_fail(sv, l, KILLICK_ERR_CLOSED, left_text(l));
	sv->holders--;
	if (sv->holders == 0)
		attach_release(sv, false);
	if (sv->holders > 0 && sv->client && !sv->failed_client)
		client_forget(sv->client, l, left_text(l));
	asks_orphan(l);
	if (sv->holders > 0) /* other leases keep the server */
		lease_over(l, NULL);
	if (sv->active == 0)
		server_unleased(sv);
}

static void on_drained(struct loop_timer *t)
{
	lease_part(CONTAINER_OF(t, struct lease, timer));
}

void lease_leave(struct lease *l, enum ending_why why, unsigned drain_ms, struct job *job)
{
	struct server *sv = l->server;
	/* the handler of a call that ended with its server may close the session: the other calls
	 * end in this turn of the loop */
	bool ending = sv && sv->failed_client && l->in_flight > 0;

	assert(l->state == LEASE_HELD);
	l->why = why;
	l->job = job;
	if (!ending && (!sv || sv->state != KILLICK_READY || l->in_flight == 0 || drain_ms == 0)) {
		lease_part(l);
		return;
	}
	lease_go(l, LEASE_LEAVING);
	loop_timer_set(l->session->k->loop, &l->timer, ending ? 0 : drain_ms, on_drained);
	if (--sv->active == 0)
		server_unleased(sv);
}

/* Cancel the parts of the call that use this lease. If possible, the server is told of the
 * cancellation. The call could be freed with its last part, so `held` is set meanwhile. */
static void lose_parts(struct killick_call *c, const struct lease *l)
{
	size_t count = c->part_count;
	struct part *parts = c->parts;
	bool held = c->held;

	c->held = true;
	for (size_t i = 0; i < count; i++)
		if (parts[i].lease == l)
			client_cancel(&parts[i].op);
	c->held = held;
	call_free_if_forgotten(c);
}

void lease_lose(struct lease *l)
{
	assert(l->server->lost);
	if (l->session->sink) { /* its receivers may close the session */
		struct server *sv = l->server;

		client_cancel_all(sv->client, l);
		gate_fail(sv, l, KILLICK_ERR_LOST, sv->error.text);
		return;
	}
	RING_EACH(r, &l->session->calls)
		lose_parts(CONTAINER_OF(r, struct killick_call, in_session), l);
}

void lease_count(struct lease *l, int change)
{
	assert(change > 0 || l->in_flight > 0);
	l->in_flight += (unsigned)change;
	if (change < 0 && l->server)
		rest_note_use(l->server);
	if (l->state == LEASE_LEAVING && l->in_flight == 0)
		loop_timer_set(l->session->k->loop, &l->timer, 0, on_drained);
}

void lease_free(struct lease *l)
{
	assert(l->state == LEASE_OVER && !l->server && ring_is_empty(&l->asks) && !l->timer.slot);
	config_done(&l->config);
	free(l->error);
	replay_drop(l);
	free(l);
}
