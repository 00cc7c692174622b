/* server.c - the life of a server, see server.h
 *
 *	idle --> starting --> handshaking --> ready --> draining --> stopping --> gone
 *	 ^ |        |             |             |          |            ^          |
 *	 | |        +-------------+-------------+----------+------------+          |
 *	 | |        |             |             |          |      we end it        |
 *	 | |        +-------------+-------------+----------+---------------------->+
 *	 | |                                               it ended by itself      |
 *	 | +------------- it never ran, or could not be started ------------------>+
 *	 +--------------------- it is wanted again --------------------------------+
 *	 +--------------- resting <-- it was not used -- stopping
 *
 * One enum (killick_state), one writer (server_go), one switch (server_step). The link, the client,
 * the pool and the timer send events; nothing else changes the state of a server.
 *
 * - idle: waits for its next use, for its back-off to pass (timer), or for its turn to start
 *   (queue).
 * - starting: link_open was called. The client exists already and writes into the pipe, so that the
 *   server does not wait for us. One deadline covers this state and the next. A launcher may have
 *   to download the server, so its tree is checked every second: the start also fails when the
 *   tree shows no sign of life for too long.
 * - handshaking: its process runs. Calls are accepted from `starting` on; the client sends them
 *   after the handshake.
 * - ready: has no deadline. While the connection to the executor of the server is lost (`lost`),
 *   the server stays ready, but every call fails at once until the connection is back. If the
 *   connection does not come back in time, the link ends.
 * - draining: all its sessions are leaving, and some let their calls finish. Each lease has its own
 *   deadline.
 * - stopping: the keeper was told to end the tree, and answers within its budget; if the keeper
 *   does not answer, the timer forces the end. Or the server closed its stdout or stdin: usually it
 *   is about to exit, and its exit status tells the reason, so we wait a moment before we end it
 *   (STOP_LINGER). If its main process is gone then, we wait longer for the keeper's report
 *   (STOP_EXITED): a crash must not look like a server that kept running.
 * - gone: proved. A failure is reported now: to open calls, to the leases, in the status. Then the
 *   server is freed (no lease is left), started again (a call waits, or its config says `now`) or
 *   left alone.
 * - resting: proved, like gone, but this is no failure: the server was not used (rest.h). Its next
 *   use starts it again, without a back-off.
 *
 * A failure is never reported before the proof. So "failed" also means that no process is left.
 *
 * Starting again: not before the back-off has passed since the last start. The back-off is doubled
 * each time until the server was ready for a minute. After five failures in a row, without ten
 * seconds of being ready and without an answer, requests fail at once until a pause has passed; the
 * first request afterwards starts the server, and a further failure doubles the pause (pool.c). An
 * end during requests is no failure of the server but of the sessions that made the requests: these
 * sessions have the pause, and the others use the restarted server. A server that ends while it is
 * probed for its era probably ended because of the probe: it is started again at once,
 * without a probe. A server that does not speak the remembered era is started again at once, with a
 * probe.
 */
#include "session/server.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/trace.h"
#include "os/spawn.h"
#include "session/ask.h"
#include "session/attach.h"
#include "session/parked.h"
#include "session/pool.h"
#include "session/relay.h"
#include "session/runtime.h"
#include "session/limits.h"
#include "session/order.h"
#include "session/replay.h"
#include "session/rest.h"
#include "session/survey.h"

#define STATE(state, event) ((unsigned)(state) << 8 | (unsigned)(event))

#define LINGER_MS 500   /* between EOF and the exit that usually follows EOF */
#define EXITED_MS 10000 /* between the exit and the report of a keeper on a busy machine */
#define GUARD_MS  10000 /* added to the budget of the keeper */

enum { NO_DEADLINE = -1, SAME_DEADLINE = -2 };

static void on_time(struct loop_timer *t)
{
	server_step(CONTAINER_OF(t, struct server, timer), EV_TIME);
}

/* The states that may follow each state, as bits. */
static const unsigned followers[] = {
	[KILLICK_IDLE] = 1 << KILLICK_STARTING | 1 << KILLICK_GONE,
	[KILLICK_STARTING] = 1 << KILLICK_HANDSHAKING | 1 << KILLICK_STOPPING | 1 << KILLICK_GONE,
	[KILLICK_HANDSHAKING] = 1 << KILLICK_READY | 1 << KILLICK_STOPPING | 1 << KILLICK_GONE,
	[KILLICK_READY] = 1 << KILLICK_DRAINING | 1 << KILLICK_STOPPING | 1 << KILLICK_GONE,
	[KILLICK_DRAINING] = 1 << KILLICK_STOPPING | 1 << KILLICK_GONE,
	[KILLICK_STOPPING] = 1 << KILLICK_GONE | 1 << KILLICK_RESTING,
	[KILLICK_GONE] = 1 << KILLICK_IDLE,
	[KILLICK_RESTING] = 1 << KILLICK_IDLE | 1 << KILLICK_GONE,
};

static const char *const server_event_names[] = {
	[EV_USE] = "use",         [EV_PLACE] = "place",     [EV_STARTED] = "started",
	[EV_SHOOK] = "handshake", [EV_REFUSED] = "refused", [EV_EOF] = "eof",
	[EV_LOST] = "lost",       [EV_BACK] = "back",       [EV_ENDED] = "ended",
	[EV_LEAVING] = "leaving", [EV_LEFT] = "left",       [EV_TIME] = "time",
	[EV_ORDER] = "order",
};

static bool is_starting(enum killick_state state)
{
	return state == KILLICK_STARTING || state == KILLICK_HANDSHAKING;
}

static void server_go(struct server *sv, enum killick_state to, int64_t deadline_ms)
{
	bool was_starting = is_starting(sv->state);

	assert(followers[sv->state] & 1u << to);
	assert(!ring_is_in(&sv->in_queue));
	TRACE(TRACE_SERVER, "%u %s link=%s tree=%s: %s -> %s (%s%s%s)", sv->number, sv->recipe.name,
	      sv->link_id, sv->tree, killick_state_name(sv->state), killick_state_name(to),
	      server_event_names[sv->event], sv->error.code ? ": " : "",
	      sv->error.code ? sv->error.text : "");
	sv->state = to;
	if (is_starting(to) != was_starting)
		pool_count(sv->k, was_starting ? -1 : 1);
	if (deadline_ms >= 0)
		loop_timer_set(sv->k->loop, &sv->timer, deadline_ms, on_time);
	else if (deadline_ms == NO_DEADLINE)
		loop_timer_stop(sv->k->loop, &sv->timer);
	relay_state(sv);
	if (sv->k->watcher)
		sv->k->watcher->on_state(sv->k->watcher_ctx, sv);
}

/* --- start --- */

static void server_want(struct server *sv)
{
	int64_t wait_ms = server_backoff_ms(sv);

	if (sv->state == KILLICK_GONE || sv->state == KILLICK_RESTING)
		server_go(sv, KILLICK_IDLE, NO_DEADLINE);
	assert(sv->state == KILLICK_IDLE && !sv->link && !sv->client);
	if (ring_is_in(&sv->in_queue) || sv->timer.slot || sv->awaits)
		return;
	if (wait_ms > 0)
		loop_timer_set(sv->k->loop, &sv->timer, wait_ms, on_time);
	else
		pool_enqueue(sv->k, sv);
}

static void server_gone(struct server *sv);

static void server_start(struct server *sv)
{
	struct err e = ERR_INIT;
	int opened;

	assert(!sv->link && !sv->client && sv->holders > 0);
	sv->pid = 0;
	sv->level[0] = sv->link_id[0] = sv->tree[0] = '\0';
	sv->ready_us = sv->stop_us = 0;
	sv->wakes += sv->why == ENDING_REST;
	sv->why = ENDING_NOT_YET;
	sv->failed_client = sv->deaf = sv->lost = sv->blamed = false;
	sv->has_ended = sv->over_limit = false;
	sv->mixed = sv->holders > 1;
	toolcache_drop(&sv->tools); /* kept while the server rested */
	survey_prepare(sv);
	sv->started_us = loop_now_us();
	sv->starts++;
	sv->tried = true;
	tail_done(&sv->tail);
	opened = server_open_link(sv, &e);
	if (opened < 0) {
		server_error_not_started(sv, e.text);
		sv->lost = opened == -ENOTCONN;
		if (sv->lost)
			sv->error.code = KILLICK_ERR_LOST;
		server_go(sv, KILLICK_GONE, NO_DEADLINE);
		server_gone(sv);
		return;
	}
	memcpy(sv->link_id, sv->link->id, sizeof(sv->link_id));
	relay_stderr_open(sv);
	sv->alive_us = sv->started_us;
	server_go(sv, KILLICK_STARTING, server_start_wait_ms(sv));
	server_open_client(sv);
	replay_begin(sv);
	RING_EACH(r, &sv->parked)
		parked_of(r)->begin(parked_of(r));
	assert(ring_is_empty(&sv->parked));
}

static void server_ready(struct server *sv)
{
	struct client_facts facts;

	client_facts(sv->client, &facts);
	sv->doubted = false;
	server_error_clear(sv); /* of an earlier process */
	if (sv->era == CONFIG_AUTO)
		eras_put(&sv->k->eras, sv->fingerprint, facts.era);
	server_go(sv, KILLICK_READY, NO_DEADLINE);
	RING_EACH(r, &sv->leases)
		lease_settle(CONTAINER_OF(r, struct lease, on_server), false);
	server_look_full(sv);
	survey_begin(sv);
	rest_arm(sv);
	orders_on_ready(sv);
}

/* --- end --- */

static void fail_client(struct server *sv, int code, const char *text)
{
	assert(code < 0 || !sv->client || sv->failed_client);
	if (!sv->client || sv->failed_client)
		return;
	sv->failed_client = true;
	gate_fail(sv, NULL, code, text);
	client_fail(sv->client, code, text);
}

static void server_halt(struct server *sv, enum ending_why why, enum link_stop how)
{
	assert(sv->link && !sv->why);
	sv->why = why;
	sv->stop = STOP_ASKED;
	sv->stop_us = loop_now_us();
	if (sv->state != KILLICK_STOPPING)
		server_go(sv, KILLICK_STOPPING, 2 * (int64_t)sv->recipe.grace_ms + GUARD_MS);
	else
		loop_timer_set(sv->k->loop, &sv->timer, 2 * (int64_t)sv->recipe.grace_ms + GUARD_MS,
			       on_time);
	server_look_full(sv); /* a server whose output is not read cannot exit by itself */
	link_stop(sv->link, how);
}

static void server_too_quiet(struct server *sv)
{
	server_error_quiet(sv);
	server_halt(sv, ENDING_TIMEOUT, LINK_STOP_TERM);
}

static void server_too_slow(struct server *sv)
{
	server_error_slow(sv);
	server_halt(sv, ENDING_TIMEOUT, LINK_STOP_TERM);
}

/* The timer of a start: the deadline has passed, or the tree is checked once more. */
static void server_check_start(struct server *sv)
{
	int64_t now_us = loop_now_us();

	if (now_us >= sv->started_us + sv->startup_ms * 1000) {
		server_too_slow(sv);
		return;
	}
	if (sv->idle_ms && server_is_alive(sv))
		sv->alive_us = now_us;
	if (sv->idle_ms && now_us >= sv->alive_us + sv->idle_ms * 1000)
		server_too_quiet(sv);
	else
		loop_timer_set(sv->k->loop, &sv->timer, server_start_wait_ms(sv), on_time);
}

static void server_linger(struct server *sv)
{
	sv->stop = STOP_LINGER;
	server_go(sv, KILLICK_STOPPING, LINGER_MS);
}

/* The connection to the executor is lost: end the open calls that do not wait for the resume
 * (lease_waits_for_resume). The server itself may keep running; its link delivers the output of the
 * server when the connection is back. */
static void server_lost(struct server *sv)
{
	sv->lost = true;
	toolcache_drop(&sv->tools); /* a change of the list may be missed meanwhile */
	relay_warning(sv, sv->error.text);
	RING_EACH(r, &sv->leases)
		lease_lose(CONTAINER_OF(r, struct lease, on_server));
}

static void server_back(struct server *sv)
{
	char text[160];

	if (!sv->lost)
		return;
	sv->lost = false;
	server_error_clear(sv);
	snprintf(text, sizeof(text), "server '%s': the connection is back", sv->recipe.name);
	relay_warning(sv, text);
	gate_run(sv); /* forwards that waited in the queue */
}

/* All leases have left: end the open calls now, then the tree. */
static void server_left(struct server *sv)
{
	/* Only the last lease is still in the ring; it waits for the ending. */
	struct ring *first = ring_first(&sv->leases);
	const struct lease *last = CONTAINER_OF(first, struct lease, on_server);

	assert(first);
	fail_client(sv, KILLICK_ERR_CLOSED,
		    last->why == ENDING_REFRESH ? "the server was removed or replaced by a refresh"
						: "the session was closed");
	if (!sv->why)
		server_halt(sv, last->why, LINK_STOP_EOF);
}

/* The server is to be ended by an order: open calls end now. */
static void server_obey(struct server *sv)
{
	static const char *const texts[] = {
		[ENDING_REST] = "rests",
		[ENDING_STOP] = "was stopped on request",
		[ENDING_RESTART] = "was restarted on request",
	};
	char text[160];

	assert(sv->ordered >= ENDING_REST);
	snprintf(text, sizeof(text), "server '%s' %s", sv->recipe.name, texts[sv->ordered]);
	if (!sv->why) /* a server that closed its stdout is being ended already */
		server_halt(sv, sv->ordered, LINK_STOP_EOF);
	fail_client(sv, KILLICK_ERR_EXITED, text);
}

/* The keeper did not answer within its budget, nor after SIGKILL. The ending says that the outcome
 * is not known: no exit status, and one survivor. */
static void server_give_up(struct server *sv)
{
	const struct link_end nobody_knows = { .pid = sv->pid,
					       .exit_code = -1,
					       .why = LINK_WHY_KEEPER,
					       .step = LINK_STEP_KILL,
					       .survivors = 1,
					       .report = "" };

	sv->bytes_out += sv->link->written;
	relay_abandon(sv->link, sv->site);
	sv->link = NULL;
	server_note_end(sv, &nobody_knows);
	server_step(sv, EV_ENDED);
}

static bool server_has_exited(const struct server *sv)
{
	int keeper, pid;

	return link_pids(sv->link, &keeper, &pid) && pid > 0 && spawn_is_gone(pid);
}

static void server_escalate(struct server *sv)
{
	switch (sv->stop) {
	case STOP_LINGER:
		if (server_has_exited(sv)) {
			sv->stop = STOP_EXITED;
			loop_timer_set(sv->k->loop, &sv->timer, EXITED_MS, on_time);
			break;
		}
		/* fall through */
	case STOP_EXITED:
		server_error_closed(sv);
		if (!sv->failed_client && !sv->link->disowned)
			server_blame(sv);
		fail_client(sv, sv->error.code, sv->error.text);
		server_halt(sv, ENDING_EXIT, LINK_STOP_EOF);
		break;
	case STOP_ASKED:
		sv->stop = STOP_FORCED;
		loop_timer_set(sv->k->loop, &sv->timer, GUARD_MS, on_time);
		link_stop(sv->link, LINK_STOP_KILL);
		break;
	case STOP_FORCED:
		server_give_up(sv);
		break;
	}
}

/* The server has ended because of an order. This is no failure: the next use starts it again, at
 * once. */
static void server_ordered_end(struct server *sv)
{
	server_error_clear(sv);
	server_forgive(sv);
	if (sv->why != ENDING_REST)
		server_forgive_sessions(sv);
	sv->rests += sv->why == ENDING_REST;
	server_go(sv, sv->why == ENDING_REST ? KILLICK_RESTING : KILLICK_GONE, NO_DEADLINE);
	attach_release(sv, false);
	orders_on_end(sv);
	if (sv->active > 0 && (sv->why == ENDING_RESTART || !ring_is_empty(&sv->parked)))
		server_want(sv);
}

/* The tree is gone: free its client and its link. */
static void server_end(struct server *sv)
{
	bool by_itself = sv->ending.why == ENDING_EXIT || sv->ending.why == ENDING_CRASH;

	if (by_itself && !sv->failed_client)
		server_blame(sv);
	fail_client(sv, sv->error.code, sv->error.text);
	client_free(sv->client);
	sv->client = NULL;
	if (sv->why != ENDING_REST)
		toolcache_drop(&sv->tools);
	if (sv->link) {
		sv->bytes_out += sv->link->written;
		link_free(sv->link);
	}
	sv->link = NULL;
	server_look_full(sv);
	relay_stderr_close(sv);
	RING_EACH(r, &sv->leases)
		asks_orphan(CONTAINER_OF(r, struct lease, on_server));
	loop_timer_stop(sv->k->loop, &sv->rest);
	if (sv->k->pool.blocked)
		pool_look(sv->k);
	if (server_is_ordered(sv) && sv->holders > 0) {
		server_ordered_end(sv);
		return;
	}
	server_go(sv, KILLICK_GONE, NO_DEADLINE);
	server_gone(sv);
}

/* The server is gone. Without leases the server is freed soon. With leases this is a failure:
 * report it, and start the server again if necessary. */
static void server_gone(struct server *sv)
{
	/* not started: no connection, or a limit is reached */
	bool no_way = (sv->lost && !sv->has_ended) || sv->over_limit;
	struct killick_error e = sv->error;

	assert(sv->state == KILLICK_GONE && !sv->link && !sv->client);
	if (sv->holders == 0) {
		loop_timer_set(sv->k->loop, &sv->timer, 0, on_time);
		return;
	}
	if (sv->again) {
		sv->again = false;
		server_error_clear(sv);
		server_go(sv, KILLICK_IDLE, NO_DEADLINE);
		pool_enqueue(sv->k, sv);
		return;
	}
	if (no_way)
		server_await_way(sv);
	else
		server_count_failure(sv);
	RING_EACH(r, &sv->leases)
		lease_settle(CONTAINER_OF(r, struct lease, on_server), true);
	attach_release(sv, true);
	orders_on_failure(sv);
	if (no_way || server_refuses(sv, &e) < 0) {
		if (server_failed_often(sv))
			relay_warning(sv, e.text);
		parked_fail(&sv->parked, NULL, e.code, e.text);
	}
	if (!server_failed_often(sv) && sv->active > 0 &&
	    (sv->restart == RESTART_NOW || !ring_is_empty(&sv->parked)))
		server_want(sv);
}

/* A limit did not let the server start in time. */
static void server_over_limit(struct server *sv)
{
	char limit[120];

	pool_dequeue(sv->k, sv);
	sv->over_limit = true;
	server_error_limit(sv, limits_name(sv, limit, sizeof(limit)));
	server_go(sv, KILLICK_GONE, NO_DEADLINE);
	server_gone(sv);
}

/* The events that change nothing. */
static bool server_ignores(enum killick_state state, enum server_event ev)
{
	switch (STATE(state, ev)) {
	case STATE(KILLICK_STARTING, EV_USE): /* the server runs or is being started */
	case STATE(KILLICK_HANDSHAKING, EV_USE):
	case STATE(KILLICK_READY, EV_USE):
	case STATE(KILLICK_STOPPING, EV_USE):     /* server_gone looks for parked calls */
	case STATE(KILLICK_STOPPING, EV_STARTED): /* too late: the end has begun */
	case STATE(KILLICK_STOPPING, EV_SHOOK):
	case STATE(KILLICK_STOPPING, EV_REFUSED):
	case STATE(KILLICK_STOPPING, EV_EOF):
	case STATE(KILLICK_STOPPING, EV_LOST): /* the deadline of the stop stays valid */
	case STATE(KILLICK_STOPPING, EV_BACK):
		return true;
	default:
		return false;
	}
}

void server_step(struct server *sv, enum server_event ev)
{
	sv->event = ev;
	switch (STATE(sv->state, ev)) {
	case STATE(KILLICK_IDLE, EV_USE):
	case STATE(KILLICK_GONE, EV_USE):
	case STATE(KILLICK_RESTING, EV_USE):
		server_want(sv);
		break;
	case STATE(KILLICK_IDLE, EV_TIME): /* the back-off has passed, or the wait for a limit */
		if (ring_is_in(&sv->in_queue))
			server_over_limit(sv);
		else
			pool_enqueue(sv->k, sv);
		break;
	case STATE(KILLICK_IDLE, EV_PLACE):
		server_start(sv);
		break;
	case STATE(KILLICK_STARTING, EV_STARTED):
		server_go(sv, KILLICK_HANDSHAKING, SAME_DEADLINE);
		if (sv->ready_us)
			server_ready(sv);
		break;
	case STATE(KILLICK_STARTING, EV_SHOOK): /* before the keeper has reported the pid */
		sv->ready_us = loop_now_us();   /* the client sends requests from now on */
		break;
	case STATE(KILLICK_HANDSHAKING, EV_SHOOK):
		sv->ready_us = loop_now_us();
		server_ready(sv);
		break;
	case STATE(KILLICK_STARTING, EV_REFUSED):
	case STATE(KILLICK_HANDSHAKING, EV_REFUSED):
		server_halt(sv, ENDING_HANDSHAKE, LINK_STOP_EOF);
		break;
	case STATE(KILLICK_STARTING, EV_LOST): /* not known how much of the handshake arrived */
	case STATE(KILLICK_HANDSHAKING, EV_LOST):
		sv->lost = true;
		server_halt(sv, ENDING_HANDSHAKE, LINK_STOP_EOF);
		fail_client(sv, sv->error.code, sv->error.text);
		break;
	case STATE(KILLICK_READY, EV_LOST):
	case STATE(KILLICK_DRAINING, EV_LOST):
		server_lost(sv);
		break;
	case STATE(KILLICK_READY, EV_BACK):
	case STATE(KILLICK_DRAINING, EV_BACK):
		server_back(sv);
		break;
	case STATE(KILLICK_STARTING, EV_TIME):
	case STATE(KILLICK_HANDSHAKING, EV_TIME):
		server_check_start(sv);
		break;
	case STATE(KILLICK_READY, EV_LEAVING):
		server_go(sv, KILLICK_DRAINING, NO_DEADLINE);
		break;
	case STATE(KILLICK_IDLE, EV_LEFT):
		pool_dequeue(sv->k, sv);
		server_go(sv, KILLICK_GONE, 0);
		break;
	case STATE(KILLICK_STARTING, EV_LEFT):
	case STATE(KILLICK_HANDSHAKING, EV_LEFT):
	case STATE(KILLICK_READY, EV_LEFT):
	case STATE(KILLICK_DRAINING, EV_LEFT):
	case STATE(KILLICK_STOPPING, EV_LEFT):
		server_left(sv);
		break;
	case STATE(KILLICK_RESTING, EV_LEFT):
		server_go(sv, KILLICK_GONE, 0);
		break;
	case STATE(KILLICK_GONE, EV_LEFT):
		loop_timer_set(sv->k->loop, &sv->timer, 0, on_time);
		break;
	case STATE(KILLICK_STARTING, EV_ORDER):
	case STATE(KILLICK_HANDSHAKING, EV_ORDER):
	case STATE(KILLICK_READY, EV_ORDER):
		server_obey(sv);
		break;
	case STATE(KILLICK_STARTING, EV_EOF):
	case STATE(KILLICK_HANDSHAKING, EV_EOF):
	case STATE(KILLICK_READY, EV_EOF):
	case STATE(KILLICK_DRAINING, EV_EOF):
		server_linger(sv);
		break;
	case STATE(KILLICK_STOPPING, EV_TIME):
		server_escalate(sv);
		break;
	case STATE(KILLICK_STARTING, EV_ENDED):
	case STATE(KILLICK_HANDSHAKING, EV_ENDED):
	case STATE(KILLICK_READY, EV_ENDED):
	case STATE(KILLICK_DRAINING, EV_ENDED):
	case STATE(KILLICK_STOPPING, EV_ENDED):
		server_end(sv);
		break;
	case STATE(KILLICK_GONE, EV_TIME):
		server_free(sv);
		break;
	default:
		assert(server_ignores(sv->state, ev)); /* else the event cannot come here */
	}
}

/* --- for other files --- */

void server_begin_wait(struct server *sv)
{
	assert(sv->state == KILLICK_IDLE && ring_is_in(&sv->in_queue));
	if (!sv->timer.slot)
		loop_timer_set(sv->k->loop, &sv->timer, sv->startup_ms, on_time);
}
