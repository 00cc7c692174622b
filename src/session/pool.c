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
#define PAUSE_MIN_MS   1000
#define PAUSE_MAX_MS   60000
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

static int64_t pool_ms_until(int64_t due_us)
{
	int64_t now_us = loop_now_us();

	return due_us > now_us ? (due_us - now_us + 999) / 1000 : 0;
}

unsigned pool_pause_ms(unsigned failures)
{
	unsigned ms = PAUSE_MIN_MS;

	if (failures < FAILURES_MAX)
		return 0;
	for (; failures > FAILURES_MAX && ms < PAUSE_MAX_MS; failures--)
		ms *= 2;
	return ms < PAUSE_MAX_MS ? ms : PAUSE_MAX_MS;
}

/* Milliseconds until the next attempt is allowed. */
static int64_t pool_pause_left(unsigned failures, int64_t failed_us)
{
	return failures < FAILURES_MAX
		       ? 0
		       : pool_ms_until(failed_us + pool_pause_ms(failures) * 1000LL);
}

bool server_failed_often(const struct server *sv)
{
	return sv->failures >= FAILURES_MAX;
}

int64_t server_backoff_ms(const struct server *sv)
{
	if (server_failed_often(sv))
		return pool_pause_left(sv->failures, sv->failed_us);
	return sv->starts ? pool_ms_until(sv->started_us + sv->backoff_ms * 1000LL) : 0;
}

void server_count_failure(struct server *sv)
{
	int64_t ready_for_us = sv->ready_us ? loop_now_us() - sv->ready_us : 0;

	if (ready_for_us >= STEADY_US)
		sv->failures = 0;
	if (ready_for_us >= STABLE_US)
		sv->backoff_ms = 0;
	if (sv->blamed) { /* the sessions that caused the failure wait, not the server */
		if (sv->backoff_ms < BACKOFF_MIN_MS)
			sv->backoff_ms = BACKOFF_MIN_MS;
		return;
	}
	sv->backoff_ms = sv->backoff_ms ? 2 * sv->backoff_ms : BACKOFF_MIN_MS;
	if (sv->backoff_ms > BACKOFF_MAX_MS)
		sv->backoff_ms = BACKOFF_MAX_MS;
	sv->failures++;
	sv->failed_us = loop_now_us();
	if (server_failed_often(sv))
		server_error_often(sv);
}

/* Requests of the session that the server has; the library's own requests do not count. */
static unsigned lease_open_calls(const struct lease *l)
{
	return l->session->sink ? l->gate.in_flight : l->in_flight;
}

void server_blame(struct server *sv)
{
	unsigned suspects = 0;
	int64_t now_us = loop_now_us();

	assert(sv->client && !sv->failed_client);
	if (!sv->ready_us)
		return;
	sv->open_calls = 0;
	RING_EACH(r, &sv->leases) {
		struct lease *l = CONTAINER_OF(r, struct lease, on_server);
		unsigned open = lease_open_calls(l);

		sv->open_calls += open;
		suspects += open > 0;
	}
	sv->blamed = suspects > 0;
	RING_EACH(r, &sv->leases) {
		struct lease *l = CONTAINER_OF(r, struct lease, on_server);
		bool counts = lease_open_calls(l) > 0 && (suspects == 1 || !l->answered);

		l->answered = false;
		if (!counts)
			continue;
		if (l->crashes < FAILURES_MAX && now_us - l->crashed_us >= STEADY_US)
			l->crashes = 0;
		l->crashes++;
		l->crashed_us = now_us;
	}
}

void lease_note_answer(struct lease *l)
{
	l->answered = true;
	if (l->crashes >= FAILURES_MAX) /* this was the trial */
		l->crashes = 0;
	l->server->failures = 0;
}

void lease_note_crash(struct lease *l, const char *tool)
{
	snprintf(l->crash_tool, sizeof(l->crash_tool), "%s", tool);
}

int lease_refuses(const struct lease *l, struct killick_error *e)
{
	int64_t left_ms = pool_pause_left(l->crashes, l->crashed_us);
	const char *label = l->session->label;
	char when[80] = "when its open call has ended", whose[100] = "this session";

	if (l->crashes < FAILURES_MAX || (left_ms == 0 && l->in_flight == 0))
		return 0;
	if (left_ms > 0)
		snprintf(when, sizeof(when), "in %lld s", (long long)(left_ms + 999) / 1000);
	if (label)
		snprintf(whose, sizeof(whose), "session '%.80s'", label);
	return error_set(
		e, KILLICK_ERR_EXITED,
		"server '%s' ended %u times in a row during calls of %s, the last time "
		"during call '%s'; one call is accepted %s%s%s%s",
		lease_name(l), l->crashes, whose, *l->crash_tool ? l->crash_tool : "request", when,
		l->session->k->watcher ? ", or after 'killick hub restart " : "",
		l->session->k->watcher ? lease_name(l) : "", l->session->k->watcher ? "'" : "");
}

void server_forgive_sessions(struct server *sv)
{
	RING_EACH(r, &sv->leases)
		CONTAINER_OF(r, struct lease, on_server)->crashes = 0;
}

void server_await_way(struct server *sv)
{
	sv->tried = false;
	if (sv->backoff_ms < BACKOFF_MIN_MS)
		sv->backoff_ms = BACKOFF_MIN_MS;
}

int server_refuses(const struct server *sv, struct killick_error *e)
{
	if (sv->state == KILLICK_GONE && server_failed_often(sv) && server_backoff_ms(sv) > 0)
		return error_set(e, sv->error.code, "%s", sv->error.text);
	if (sv->restart == RESTART_NEVER && sv->tried && sv->state == KILLICK_GONE)
		return error_set(e, sv->error.code, "%s (\"restart\" in its config is \"never\")",
				 sv->error.text);
	return 0;
}

void server_forgive(struct server *sv)
{
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
	l->crashes = 0;
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
	attach_hide_owners(l, sv);
	parked_fail(&sv->parked, l, KILLICK_ERR_CLOSED, left_text(l));
	gate_fail(sv, l, KILLICK_ERR_CLOSED, left_text(l));
	sv->holders--;
	server_look_full(sv);
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
		if (parts[i].lease == l && !parts[i].op.waits)
			client_cancel(&parts[i].op);
	c->held = held;
	call_free_if_forgotten(c);
}

bool lease_waits_for_resume(const struct lease *l, enum killick_op op, const char *tool)
{
	const struct config_server *cs = lease_config(l);

	if (!cs->place || cs->lost_calls != CONFIG_LOST_AUTO)
		return cs->place && cs->lost_calls == CONFIG_LOST_WAIT;
	if (op == KILLICK_CALL)
		return tool && names_is_repeatable(&l->session->names, lease_name(l), tool);
	return op != KILLICK_RAW;
}

void lease_lose(struct lease *l)
{
	assert(l->server->lost);
	if (l->session->sink) { /* its receivers may close the session */
		struct server *sv = l->server;

		client_lose(sv->client, l);
		if (lease_config(l)->lost_calls != CONFIG_LOST_WAIT) /* these were not sent yet */
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
