/* environment_talk.c - the messages on a connection to an executor, see environment_internal.h */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/trace.h"
#include "remote/environment_internal.h"
#include "remote/remote.h"
#include "rpc/reply.h"

#define BEAT_MIN_MS    100
#define SESSION_ID_MAX 256
#define KEEP           (256u << 10) /* bytes of the decode buffer that are kept between messages */
#define LEASE_MAX_MS   (24 * 3600 * 1000)

int64_t environment_error_code(const struct message *m)
{
	int64_t code = 0;

	json_int(json_get(m->error, "code"), &code);
	return code;
}

void environment_error_text(const struct message *m, char out[ENVIRONMENT_TEXT])
{
	if (!json_string_into(json_get(m->error, "message"), out, ENVIRONMENT_TEXT) || !*out)
		snprintf(out, ENVIRONMENT_TEXT, "no reason given");
	for (char *p = out; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = ' ';
}

/* --- sending --- */

static bool environment_talk_begin(struct environment *env, struct emit *j, struct rpc_request *rq,
				   const char *method, const struct rpc_handler *h)
{
	rq->handler = h;
	return rpc_begin(&env->rpc, rq, method, j) == 0;
}

bool environment_begin(struct environment *env, struct emit *j, struct rpc_request *rq,
		       const char *method, const struct rpc_handler *h)
{
	return env->state == ENVIRONMENT_ATTACHED && environment_talk_begin(env, j, rq, method, h);
}

void environment_commit(struct environment *env, struct emit *j)
{
	int r = rpc_send(&env->rpc, NULL, j);

	env->sent_us = loop_now_us();
	if (r < 0)
		environment_drop(env, CLOSE_LOST, r, "the executor does not read");
}

bool environment_has_room(const struct environment *env)
{
	return env->state == ENVIRONMENT_ATTACHED && channel_unsent(env->channel) < CHANNEL_HIGH;
}

static void notify(struct environment *env, const char *method)
{
	struct emit j;

	if (rpc_begin(&env->rpc, NULL, method, &j) == 0)
		environment_commit(env, &j);
}

/* --- heartbeat --- */

static void environment_ignore(struct rpc_request *rq, const struct message *m)
{
	(void)rq;
	(void)m;
}

const struct rpc_handler environment_ignores = { .on_answer = environment_ignore };

/* Send something that the executor answers. An executor other than killick's may handle its
 * requests one after the other, and one of them may wait for a server that does not read; its
 * WebSocket still answers a ping. */
static void probe(struct environment *env)
{
	struct emit j;

	env->probe_us = env->sent_us = loop_now_us();
	if (!env->killick) {
		channel_ping(env->channel);
		return;
	}
	rpc_drop(&env->rpc, &env->probe);
	if (environment_begin(env, &j, &env->probe, "environment/status", &environment_ignores))
		environment_commit(env, &j);
}

/* A third of the lease, but no faster than BEAT_MIN_MS: an executor may offer a lease of 0. */
static int64_t beat_ms(const struct environment *env)
{
	int64_t third = env->lease_ms / 3;

	if (third > WIRE_HEARTBEAT_MS)
		return WIRE_HEARTBEAT_MS;
	return third > BEAT_MIN_MS ? third : BEAT_MIN_MS;
}

static void on_beat(struct loop_timer *t)
{
	struct environment *env = CONTAINER_OF(t, struct environment, beat);
	const int64_t period = beat_ms(env) * 1000;
	int64_t now = loop_now_us(), heard = channel_heard_us(env->channel), next;

	if (env->probe_us && (heard >= env->probe_us || env->paused))
		env->probe_us = 0;
	if (env->probe_us && now - env->probe_us >= period) {
		environment_drop(env, CLOSE_LOST, -ETIMEDOUT, "no message for %lld s",
				 (long long)((now - heard) / 1000000));
		return;
	}
	if (!env->probe_us && (now - env->sent_us >= period || now - heard >= period))
		probe(env);
	if (env->state != ENVIRONMENT_ATTACHED)
		return;
	next = env->probe_us ? env->probe_us : env->sent_us < heard ? env->sent_us : heard;
	next = (next + period - now + 999) / 1000;
	loop_timer_set(env->loop, t, next < 1 ? 1 : next, on_beat);
}

void environment_beat(struct environment *env)
{
	env->probe_us = 0;
	if (env->killick || channel_can_ping(env->channel))
		loop_timer_set(env->loop, &env->beat, beat_ms(env), on_beat);
}

/* --- greeting --- */

/* Returns what is wrong with the greeting, or NULL. */
static const char *read_greeting(struct environment *env, struct json result)
{
	AUTO(mem_drop) char *id = NULL;
	struct json killick = json_get(result, "killick");
	bool ours = json_type(killick) == JSON_OBJECT;

	if (!json_string(json_get(result, "sessionId"), &id) || !*id || strlen(id) > SESSION_ID_MAX)
		return "the executor's answer has no session";
	if (env->recovering && strcmp(id, env->session_id) != 0)
		return "the executor did not resume the session";
	if (env->recovering && ours != env->killick) /* links treat the two kinds differently */
		return "a different executor answered, which does not have the session";
	env->killick = ours;
	if (!json_int(json_get(killick, "leaseMs"), &env->lease_ms) || env->lease_ms < 0 ||
	    env->lease_ms > LEASE_MAX_MS)
		env->lease_ms = WIRE_LEASE_MS;
	free(env->session_id);
	env->session_id = id;
	id = NULL;
	return NULL;
}

static void on_greeted(struct rpc_request *p, const struct message *m)
{
	struct environment *env = CONTAINER_OF(p, struct environment, greeting);
	char text[ENVIRONMENT_TEXT];
	const char *wrong;

	if (m->kind == MESSAGE_ERROR) {
		environment_error_text(m, text);
		environment_drop(env,
				 environment_error_code(m) == RPC_STILL_ATTACHED ? CLOSE_LOST
										 : CLOSE_FATAL,
				 -ECONNABORTED, "the executor refused the session: %s", text);
		return;
	}
	wrong = read_greeting(env, m->result);
	if (wrong) {
		environment_drop(env, CLOSE_FATAL, -EPROTO, "%s", wrong);
		return;
	}
	notify(env, "initialized");
	if (env->state == ENVIRONMENT_GREETING)
		environment_attach(env);
}

static const struct rpc_handler greeting_handler = { .on_answer = on_greeted };

void environment_greet(struct environment *env)
{
	struct emit j;

	if (!environment_talk_begin(env, &j, &env->greeting, "initialize", &greeting_handler))
		return;
	/* If this request arrives but its answer is lost, the lease of the executor begins again
	 * now. */
	if (env->recovering)
		env->lost_us = loop_now_us();
	emit_str(&j, "clientName", "killick");
	emit_str(&j, "resumeSessionId", env->recovering ? env->session_id : NULL);
	emit_int(&j, "heartbeatMs", WIRE_HEARTBEAT_MS);
	if (env->label)
		emit_str(&j, "label", env->label);
	environment_commit(env, &j);
}

/* --- messages --- */

static void malformed(struct environment *env, const char *what, const char *reason)
{
	environment_drop(env, CLOSE_FATAL, -EPROTO, "%s: %s", what, reason);
}

static void on_push(void *ctx, const struct reply *r, struct json params)
{
	struct environment *env = ctx;
	const char *wrong = remote_push(env, (enum remote_push)r->method->flags, params);

	buf_reset(&env->decoded, KEEP);
	if (wrong)
		malformed(env, "the executor sent an invalid notification", wrong);
}

static bool environment_admit(void *ctx, const struct reply *r, const struct message *m)
{
	const struct environment *env = ctx;

	if (m->kind == MESSAGE_REQUEST)
		reply_error(r, RPC_UNKNOWN_METHOD, "killick does not answer requests");
	/* notifications that are missed now are fetched later */
	return m->kind == MESSAGE_NOTIFICATION && env->state == ENVIRONMENT_ATTACHED;
}

/* Only an answer to a request that was dropped (RPC_TWICE) is harmless. */
static void environment_on_odd(void *ctx, const struct rpc_odd *odd)
{
	struct environment *env = ctx;
	char text[ENVIRONMENT_TEXT];

	if (odd->kind == RPC_TWICE)
		return;
	if (odd->kind == RPC_UNSENT) {
		environment_drop(env, CLOSE_LOST, odd->error, "the executor does not read");
	} else if (odd->kind == RPC_BROKEN) {
		malformed(env, "the executor sent an invalid message", odd->reason);
	} else if (!odd->m->ours && odd->m->kind == MESSAGE_ERROR) {
		environment_error_text(odd->m, text);
		malformed(env, "the executor could not read a message", text);
	} else {
		malformed(env, "the executor sent an invalid answer", "no such request");
	}
}

static struct buf *environment_begin_message(void *ctx)
{
	struct environment *env = ctx;

	return env->channel ? channel_begin(env->channel) : NULL;
}

static int environment_send_message(void *ctx, struct buf *b)
{
	struct environment *env = ctx;

	(void)b; /* the buffer belongs to the channel */
	return channel_commit(env->channel);
}

void environment_talk_init(struct environment *env)
{
	static const struct rpc_transport transport = { environment_begin_message,
							environment_send_message };
	static const struct rpc_method notifications[] = {
		{ "process/output", PUSH_OUTPUT, on_push },
		{ "process/exited", PUSH_EXITED, on_push },
		{ "process/closed", PUSH_CLOSED, on_push },
		{ NULL, 0, NULL },
	};
	static const struct rpc_role role = { .notifications = notifications,
					      .admit = environment_admit,
					      .on_odd = environment_on_odd };

	rpc_init(&env->rpc, &(struct rpc_spec){ .loop = env->loop,
						.transport = &transport,
						.transport_ctx = env,
						.role = &role,
						.ctx = env,
						.bare = true });
}

/* Is this a line before the first message, which is skipped? */
static bool environment_skip(struct environment *env, const char *text, size_t len)
{
	struct environment_skipped *s = &env->skipped;
	const char *reason;
	struct message m;

	if (s->over || message_parse_bare(text, len, &m, &reason) == 0) {
		s->over = true;
		return false;
	}
	s->lines++;
	s->bytes += len;
	len = len < sizeof(s->last) ? len : sizeof(s->last) - 1;
	for (size_t i = 0; i < len; i++) /* clean, because the line goes to logs and terminals */
		s->last[i] = text[i] >= ' ' && text[i] < 127 ? text[i] : '?';
	s->last[len] = '\0';
	TRACE(TRACE_ENVIRONMENT, "%s: skip '%s', which is no message (%s)", env->name, s->last,
	      reason);
	if (s->lines > ENVIRONMENT_SKIP_LINES || s->bytes > ENVIRONMENT_SKIP_BYTES)
		environment_drop(env, CLOSE_FATAL, -EPROTO, "no message within its first %u lines",
				 s->lines);
	return true;
}

void environment_tell_skipped(struct environment *env, const struct link *l)
{
	struct environment_skipped *s = &env->skipped;
	char text[320];
	int len;

	if (!s->lines)
		return;
	len = snprintf(text, sizeof(text),
		       "killick: skipped %u line%s that %s printed before its first message; the "
		       "last: '%s'\n",
		       s->lines, s->lines == 1 ? "" : "s", env->title, s->last);
	s->lines = 0;
	l->ev->on_stderr(l->ctx, text, (size_t)len);
}

void environment_hear(struct environment *env, const char *text, size_t len)
{
	if (env->state != ENVIRONMENT_GREETING && env->state != ENVIRONMENT_ATTACHED)
		return;
	if (!environment_skip(env, text, len))
		rpc_feed(&env->rpc, text, len);
}
