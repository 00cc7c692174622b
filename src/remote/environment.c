/* environment.c - the connection to an executor, see environment.h
 *
 *	idle -> connecting -> greeting -> attached
 *	 ^          |            |           |
 *	 |          +------------+-----------+-> closing -> idle, or lost
 *	 |                                                          |
 *	 +----- not within WIRE_RECOVERY_MS --- connecting ... <----+ every WIRE_RETRY_MS
 *
 * One enum, one writer (environment_go). Only on_closed reports the end of the channel: code that
 * closes the channel stores the reason (enum environment_close), and on_closed acts on it, from the
 * loop. So no event is reported from inside a link_ function. A new channel is made only after the
 * old one has closed: there is never more than one program, and never more than one socket.
 *
 * While `recovering`, the session is to be resumed. Otherwise a connection that cannot be made ends
 * all links that wait for it.
 */
#include "remote/environment.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/strings.h"
#include "base/trace.h"
#include "remote/environment_internal.h"
#include "remote/lists.h"
#include "remote/remote.h"

#define SEND_LIMIT       (32u << 20) /* unsent bytes; input waits from CHANNEL_HIGH on */
#define IDLE_MS          1000        /* after which an unused connection is closed */
#define RETRY_CONNECT_MS 3000        /* timeout of one attempt to reconnect */
#define PROGRAM_GRACE_MS 2000
/* A channel that connects has a timeout of its own and a better error text, so this timer must be
 * later. */
#define CONNECT_LATE_MS (WIRE_CONNECT_MS + 1000)

static const struct channel_events channel_events;

const char *const environment_state_names[] = {
	[ENVIRONMENT_IDLE] = "idle",         [ENVIRONMENT_CONNECTING] = "connecting",
	[ENVIRONMENT_GREETING] = "greeting", [ENVIRONMENT_ATTACHED] = "attached",
	[ENVIRONMENT_LOST] = "lost",         [ENVIRONMENT_CLOSING] = "closing",
};

static void environment_go(struct environment *env, enum environment_state to, const char *why)
{
	static const unsigned followers[] = {
		[ENVIRONMENT_IDLE] = 1 << ENVIRONMENT_CONNECTING,
		[ENVIRONMENT_CONNECTING] = 1 << ENVIRONMENT_GREETING | 1 << ENVIRONMENT_CLOSING |
					   1 << ENVIRONMENT_LOST | 1 << ENVIRONMENT_IDLE,
		[ENVIRONMENT_GREETING] = 1 << ENVIRONMENT_ATTACHED | 1 << ENVIRONMENT_CLOSING |
					 1 << ENVIRONMENT_LOST | 1 << ENVIRONMENT_IDLE,
		[ENVIRONMENT_ATTACHED] =
			1 << ENVIRONMENT_CLOSING | 1 << ENVIRONMENT_LOST | 1 << ENVIRONMENT_IDLE,
		[ENVIRONMENT_LOST] = 1 << ENVIRONMENT_CONNECTING | 1 << ENVIRONMENT_IDLE,
		[ENVIRONMENT_CLOSING] = 1 << ENVIRONMENT_LOST | 1 << ENVIRONMENT_IDLE,
	};

	assert(followers[env->state] & 1u << to);
	TRACE(TRACE_ENVIRONMENT, "%s: %s -> %s (%s)", env->name,
	      environment_state_names[env->state], environment_state_names[to], why);
	env->state = to;
	loop_timer_stop(env->loop, &env->timer);
	if (to != ENVIRONMENT_ATTACHED)
		loop_timer_stop(env->loop, &env->beat);
}

bool environment_is_attached(const struct environment *env)
{
	return env->state == ENVIRONMENT_ATTACHED;
}

bool environment_is_lost(const struct environment *env)
{
	return env->recovering ||
	       (env->state == ENVIRONMENT_CLOSING && env->closing_as != CLOSE_WANTED);
}

int environment_lease_left(const struct environment *env)
{
	int64_t since = env->lost_us ? env->lost_us : loop_now_us();
	int64_t left = since + env->lease_ms * 1000 - loop_now_us();

	return left < 1000000 ? 1 : (int)((left + 999999) / 1000000);
}

/* --- error texts --- */

/* The executor could not be reached. The title contains the address already. */
static void tell_unreachable(const struct environment *env, struct err *out)
{
	bool nobody = env->why.code == -ECONNREFUSED || env->why.code == -ENOENT;
	const char *next = "";

	if (!env->program) /* the error of a program that did not start has its own next step */
		next = nobody ? "; is `killick exec-server` running there?"
			      : err_next(env->why.code);
	if (env->skipped.lines)
		err_set(out, env->why.code,
			"%s cannot be reached (it printed '%s', which is no message): %s",
			env->title, env->skipped.last, env->why.text);
	else
		err_set(out, env->why.code, "%s cannot be reached: %s%s", env->title, env->why.text,
			next);
}

/* The text for links whose server was running. */
static void tell_over(const struct environment *env, struct err *out)
{
	err_set(out, env->why.code,
		"the connection to %s was lost%s; its executor has ended the server or does so "
		"within %d s (%s)",
		env->title, env->program ? "" : " and could not be resumed",
		environment_lease_left(env), env->why.text);
}

/* --- the end of a connection --- */

static void close_channel(struct environment *env, enum environment_close as, bool now)
{
	assert(env->channel && env->state != ENVIRONMENT_CLOSING);
	env->closing_as = as;
	environment_go(env, ENVIRONMENT_CLOSING, as == CLOSE_WANTED ? "not needed" : env->why.text);
	channel_close(env->channel, now);
}

void environment_drop(struct environment *env, enum environment_close as, int code, const char *fmt,
		      ...)
{
	va_list ap;

	if (env->state == ENVIRONMENT_CLOSING || !env->channel)
		return;
	va_start(ap, fmt);
	env->why.code = code;
	vsnprintf(env->why.text, sizeof(env->why.text), fmt, ap);
	va_end(ap);
	close_channel(env, as, true);
}

static void environment_destroy(struct environment *env)
{
	void (*on_freed)(void *ctx) = env->on_freed;
	void *ctx = env->freed_ctx;

	assert(!env->channel && ring_is_empty(&env->remotes) && ring_is_empty(&env->lists));
	loop_timer_stop(env->loop, &env->timer);
	loop_timer_stop(env->loop, &env->recovery);
	loop_timer_stop(env->loop, &env->beat);
	loop_timer_stop(env->loop, &env->idle);
	strings_free(env->program);
	strings_free(env->program_env);
	free(env->name);
	free(env->token);
	free(env->ca_file);
	free(env->keeper);
	free(env->label);
	free(env->session_id);
	buf_done(&env->decoded);
	rpc_done(&env->rpc);
	free(env);
	if (on_freed)
		on_freed(ctx);
}

static void stop_recovering(struct environment *env)
{
	env->recovering = false;
	loop_timer_stop(env->loop, &env->recovery);
}

/* There is no connection, and the session cannot be resumed: all links and lists end. A handler may
 * open new links meanwhile; these connect again. */
static void end_all(struct environment *env)
{
	struct ring doomed;
	struct err e;

	if (env->session_id)
		tell_over(env, &e);
	else
		tell_unreachable(env, &e);
	stop_recovering(env);
	free(env->session_id);
	env->session_id = NULL;
	rpc_lost(&env->rpc);
	if (env->state != ENVIRONMENT_IDLE)
		environment_go(env, ENVIRONMENT_IDLE, e.text);
	ring_init(&doomed);
	for (struct ring *r; (r = ring_first(&env->remotes)) != NULL;) {
		ring_remove(r);
		ring_add(&doomed, r);
	}
	lists_fail(env, &e);
	for (struct ring *r; (r = ring_first(&doomed)) != NULL;)
		remote_abandon(remote_of(r), e.text);
	env->lost_us = 0;
}

/* --- connecting --- */

static void on_connect_late(struct loop_timer *t)
{
	struct environment *env = CONTAINER_OF(t, struct environment, timer);

	environment_drop(env, CLOSE_LOST, -ETIMEDOUT, "no answer within %d s",
			 CONNECT_LATE_MS / 1000);
}

static int open_channel(struct environment *env, struct err *e)
{
	const struct recipe program = {
		.keeper = env->keeper,
		.name = env->name,
		.argv = env->program,
		.envp = env->program_env,
		.grace_ms = PROGRAM_GRACE_MS,
		.write_limit = SEND_LIMIT,
	};
	struct channel_target to = {
		.url = &env->url,
		.token = env->token,
		.ca_file = env->ca_file,
		.timeout_ms = env->recovering ? RETRY_CONNECT_MS : WIRE_CONNECT_MS,
		.send_limit = SEND_LIMIT,
	};

	if (env->program)
		return channel_over_program(env->loop, &program, &channel_events, env,
					    &env->channel, e);
	return channel_connect(env->loop, &to, &channel_events, env, &env->channel, e);
}

/* Returns 0, or -errno with the reason in env->why. */
static int connect_now(struct environment *env)
{
	struct err e = ERR_INIT;
	int r = open_channel(env, &e);

	if (r < 0) {
		env->why = e;
		env->why.code = r;
		return r;
	}
	channel_set_limit(env->channel, WIRE_MESSAGE_MAX);
	env->skipped = (struct environment_skipped){ .over = !env->program };
	environment_go(env, ENVIRONMENT_CONNECTING, env->recovering ? "come back" : "needed");
	loop_timer_set(env->loop, &env->timer, CONNECT_LATE_MS, on_connect_late);
	return 0;
}

static void environment_on_retry(struct loop_timer *t);

/* Try again after WIRE_RETRY_MS. */
static void retry(struct environment *env)
{
	if (env->state != ENVIRONMENT_LOST)
		environment_go(env, ENVIRONMENT_LOST, env->why.text);
	loop_timer_set(env->loop, &env->timer, WIRE_RETRY_MS, environment_on_retry);
}

static void environment_on_retry(struct loop_timer *t)
{
	struct environment *env = CONTAINER_OF(t, struct environment, timer);

	if (connect_now(env) < 0)
		retry(env);
}

static void on_recovery_over(struct loop_timer *t)
{
	struct environment *env = CONTAINER_OF(t, struct environment, recovery);

	if (!env->channel)
		end_all(env);
	else if (env->state == ENVIRONMENT_CLOSING)
		env->closing_as = CLOSE_FATAL;
	else
		environment_drop(env, CLOSE_FATAL, -ETIMEDOUT, "no answer for %d s",
				 WIRE_RECOVERY_MS / 1000);
}

/* The connection broke, and the session can be resumed. */
static void begin_recovery(struct environment *env)
{
	struct err e;

	env->recovering = true;
	env->lost_us = loop_now_us();
	err_set(&e, env->why.code, "the connection to %s was lost: %s", env->title, env->why.text);
	loop_timer_set(env->loop, &env->recovery, WIRE_RECOVERY_MS, on_recovery_over);
	retry(env);
	lists_fail(env, &e);
	RING_EACH(r, &env->remotes)
		remote_lose(remote_of(r), e.text);
}

static bool can_be_resumed(const struct environment *env)
{
	return env->session_id && !env->program && !ring_is_empty(&env->remotes);
}

/* The connection was closed because it was not needed. Connect again if it is needed by now. */
static void reopen(struct environment *env)
{
	stop_recovering(env);
	free(env->session_id);
	env->session_id = NULL;
	environment_go(env, ENVIRONMENT_IDLE, "closed");
	if (!ring_is_empty(&env->remotes) || !ring_is_empty(&env->lists))
		if (connect_now(env) < 0)
			end_all(env);
}

static void environment_on_closed(void *ctx, const struct err *why)
{
	struct environment *env = ctx;
	bool closing = env->state == ENVIRONMENT_CLOSING;
	enum environment_close as = closing ? env->closing_as : CLOSE_LOST;

	if (!closing)
		env->why = *why; /* a copy: the channel is freed below */
	if (!env->why.code)
		env->why.code = -ECONNRESET; /* closed without an error, but still needed */
	if (!closing && env->why.code == -EACCES)
		as = CLOSE_FATAL; /* the executor would refuse again */
	channel_free(env->channel);
	env->channel = NULL;
	rpc_lost(&env->rpc);
	if (env->freeing) {
		end_all(env);
		environment_destroy(env);
	} else if (as == CLOSE_WANTED) {
		reopen(env);
	} else if (as == CLOSE_FATAL || !can_be_resumed(env)) {
		end_all(env);
	} else if (env->recovering) {
		retry(env);
	} else {
		begin_recovery(env);
	}
}

/* --- attached --- */

void environment_attach(struct environment *env)
{
	bool resumed = env->recovering;

	environment_go(env, ENVIRONMENT_ATTACHED, resumed ? "resumed" : "initialize was answered");
	stop_recovering(env);
	env->lost_us = env->probe_us = 0;
	environment_beat(env);
	if (env->paused)
		channel_pause(env->channel, true);
	lists_send(env);
	RING_EACH(r, &env->remotes) {
		if (resumed && !remote_is_waiting(remote_of(r)))
			remote_resume(remote_of(r));
		else
			remote_attach(remote_of(r));
	}
	environment_review(env);
}

/* --- events of the channel --- */

static void environment_on_greeting_late(struct loop_timer *t)
{
	environment_drop(CONTAINER_OF(t, struct environment, timer), CLOSE_LOST, -ETIMEDOUT,
			 "no answer within %d s", WIRE_INITIALIZE_MS / 1000);
}

static void environment_on_open(void *ctx)
{
	struct environment *env = ctx;

	if (env->state != ENVIRONMENT_CONNECTING)
		return;
	environment_go(env, ENVIRONMENT_GREETING, "the channel is open");
	loop_timer_set(env->loop, &env->timer, WIRE_INITIALIZE_MS, environment_on_greeting_late);
	environment_greet(env);
}

static void environment_on_message(void *ctx, const char *text, size_t len)
{
	environment_hear(ctx, text, len);
}

static void environment_on_room(void *ctx)
{
	struct environment *env = ctx;

	RING_EACH(r, &env->remotes)
		remote_pump(remote_of(r));
}

static const struct channel_events channel_events = {
	.on_open = environment_on_open,
	.on_message = environment_on_message,
	.on_room = environment_on_room,
	.on_closed = environment_on_closed,
};

/* --- users --- */

static void on_idle(struct loop_timer *t)
{
	struct environment *env = CONTAINER_OF(t, struct environment, idle);

	if (env->channel && env->state != ENVIRONMENT_CLOSING)
		close_channel(env, CLOSE_WANTED, false);
}

void environment_review(struct environment *env)
{
	if (env->freeing)
		return;
	if (env->recovering && ring_is_empty(&env->remotes)) { /* nothing to resume */
		if (env->state == ENVIRONMENT_CLOSING) {
			env->closing_as = CLOSE_WANTED;
		} else if (env->channel) {
			close_channel(env, CLOSE_WANTED, true);
		} else {
			stop_recovering(env);
			free(env->session_id);
			env->session_id = NULL;
			environment_go(env, ENVIRONMENT_IDLE, "nothing to come back to");
		}
	}
	if (env->users || !ring_is_empty(&env->remotes))
		loop_timer_stop(env->loop, &env->idle);
	else if (env->channel && env->state != ENVIRONMENT_CLOSING)
		loop_timer_set(env->loop, &env->idle, IDLE_MS, on_idle);
}

size_t environment_users(const struct environment *env)
{
	return env->users;
}

/* Connect if necessary. Returns 0 if the environment can be used now or soon. */
static int make_ready(struct environment *env, struct err *e)
{
	assert(!env->freeing);
	if (env->unusable.code)
		return err_set(e, env->unusable.code, "environment '%s': %s", env->name,
			       env->unusable.text);
	if (environment_is_lost(env))
		return err_set(e, -ENOTCONN,
			       "the connection to %s is lost (%.90s); killick tries to reconnect",
			       env->title, env->why.text);
	if (env->state != ENVIRONMENT_IDLE || connect_now(env) == 0)
		return 0;
	if (e)
		tell_unreachable(env, e);
	return env->why.code;
}

int environment_open_link(struct environment *env, const struct recipe *recipe,
			  const struct link_events *ev, void *ctx, struct link **out, struct err *e)
{
	struct remote_spec remote = { .recipe = recipe, .ev = ev, .ctx = ctx };
	int r = make_ready(env, e);

	if (r == 0)
		r = remote_open(env, &remote, out, e);
	environment_review(env);
	return r;
}

int environment_list(struct environment *env, environment_list_fn done, void *ctx, struct err *e)
{
	int r = make_ready(env, e);

	if (r == 0)
		lists_add(env, done, ctx);
	environment_review(env);
	return r;
}

void environment_end_lists(struct environment *env, const struct err *e)
{
	lists_fail(env, e);
}

void environment_pause(struct environment *env, bool paused)
{
	bool before = env->paused > 0;

	env->paused += paused ? 1 : -1u;
	if (env->channel && before != (env->paused > 0))
		channel_pause(env->channel, !before);
}

/* --- create and free --- */

/* "environment 'far' (ssh user@host ...)", without the options of the program. An environment that
 * is named after its address does not repeat the address. */
static void make_title(struct environment *env, const struct environment_spec *spec)
{
	AUTO(buf_done) struct buf words = BUF_INIT(BUF_ANY_SIZE);

	assert(env->name);
	for (char *const *p = spec->program; p && *p; p++)
		if (**p != '-')
			buf_addf(&words, "%s%s", words.len ? " " : "", *p);
	if (spec->url)
		buf_adds(&words, spec->url);
	if (words.len == 0 || strcmp(words.data, env->name) == 0 ||
	    strncmp(env->name, "ssh:", 4) == 0)
		snprintf(env->title, sizeof(env->title), "environment '%.100s'", env->name);
	else
		snprintf(env->title, sizeof(env->title), "environment '%.63s' (%.70s%s)", env->name,
			 words.data, words.len > 70 ? "..." : "");
}

struct environment *environment_new(struct loop *loop, const struct environment_spec *spec)
{
	struct environment *env = mem_grow(NULL, 1, sizeof(*env));

	assert(!spec->url != !spec->program);
	*env = (struct environment){
		.loop = loop,
		.name = mem_dup(spec->name),
		.token = mem_dup(spec->token),
		.ca_file = mem_dup(spec->ca_file),
		.keeper = mem_dup(spec->keeper),
		.label = mem_dup(spec->label),
		.program = strings_copy(spec->program),
		.program_env = strings_copy(spec->program_env),
		.why = { .code = -ENOTCONN, .text = "it was not connected" },
		.lease_ms = WIRE_LEASE_MS,
		.decoded = BUF_INIT(WIRE_MESSAGE_MAX),
	};
	make_title(env, spec);
	if (spec->url && url_parse(spec->url, URL_CONNECT, &env->url, &env->unusable) < 0 &&
	    !env->unusable.code)
		env->unusable.code = -EINVAL;
	ring_init(&env->remotes);
	ring_init(&env->lists);
	environment_talk_init(env);
	return env;
}

static void on_free_time(struct loop_timer *t)
{
	struct environment *env = CONTAINER_OF(t, struct environment, idle);

	end_all(env);
	environment_destroy(env);
}

void environment_free(struct environment *env, void (*on_freed)(void *ctx), void *ctx)
{
	assert(!env->users && !env->freeing);
	env->freeing = true;
	env->on_freed = on_freed;
	env->freed_ctx = ctx;
	loop_timer_stop(env->loop, &env->idle);
	stop_recovering(env);
	if (!env->channel) {
		loop_timer_stop(env->loop, &env->timer);
		loop_timer_set(env->loop, &env->idle, 0, on_free_time);
	} else if (env->state != ENVIRONMENT_CLOSING) {
		close_channel(env, CLOSE_WANTED, false);
	}
}
