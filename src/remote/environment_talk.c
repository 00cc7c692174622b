/* environment_talk.c - what is said on a connection to an executor, see environment_internal.h */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "remote/environment_internal.h"
#include "remote/remote.h"

#define BEAT_MIN_MS    100
#define SESSION_ID_MAX 256
#define KEEP           (256u << 10) /* bytes of memory for output that stay for the next time */
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

static bool begin(struct environment *env, struct emit *j, struct pending *p, const char *method,
		  void (*on_answer)(struct pending *p, const struct message *m))
{
	struct buf *b = channel_begin(env->channel);

	if (!b)
		return false;
	pending_add(&env->pendings, p, on_answer);
	wire_request(b, j, p->id, method);
	return true;
}

bool environment_begin(struct environment *env, struct emit *j, struct pending *p,
		       const char *method,
		       void (*on_answer)(struct pending *p, const struct message *m))
{
	return env->state == ENVIRONMENT_ATTACHED && begin(env, j, p, method, on_answer);
}

void environment_commit(struct environment *env, struct emit *j)
{
	int r = wire_end(j);

	if (r == 0)
		r = channel_commit(env->channel);
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
	struct buf *b = channel_begin(env->channel);
	struct emit j;

	if (!b)
		return;
	wire_notification(b, &j, method);
	environment_commit(env, &j);
}

static void refuse(struct environment *env, struct json id)
{
	struct buf *b = channel_begin(env->channel);

	if (!b)
		return;
	wire_error(b, id, WIRE_UNKNOWN_METHOD, "killick does not answer requests");
	if (channel_commit(env->channel) < 0)
		environment_drop(env, CLOSE_LOST, -ENOBUFS, "the executor does not read");
}

/* --- heartbeat --- */

static void on_probed(struct pending *p, const struct message *m)
{
	(void)p; /* that it was heard is all we want to know */
	(void)m;
}

/* Have something said. An executor that is not ours may handle one request after the other, and one
 * of them may wait for a server that does not read: its WebSocket answers nevertheless. */
static void probe(struct environment *env)
{
	struct emit j;

	env->probe_us = env->sent_us = loop_now_us();
	if (!env->killick) {
		channel_ping(env->channel);
		return;
	}
	pending_drop(&env->pendings, &env->probe);
	if (environment_begin(env, &j, &env->probe, "environment/status", on_probed))
		environment_commit(env, &j);
}

/* Well within the lease, but not as often as an executor could make us with a lease of nothing. */
static int64_t beat_ms(const struct environment *env)
{
	int64_t third = env->lease_ms / 3;

	if (third > WIRE_HEARTBEAT_MS)
		return WIRE_HEARTBEAT_MS;
	return third > BEAT_MIN_MS ? third : BEAT_MIN_MS;
}

static void on_beat(struct loop_timer *t)
{
	struct environment *env = RING_OF(t, struct environment, beat);
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

/* What is wrong with it, or NULL. */
static const char *read_greeting(struct environment *env, struct json result)
{
	AUTO(mem_drop) char *id = NULL;
	struct json killick = json_get(result, "killick");
	bool ours = json_type(killick) == JSON_OBJECT;

	if (!json_string(json_get(result, "sessionId"), &id) || !*id || strlen(id) > SESSION_ID_MAX)
		return "the executor's answer has no session";
	if (env->recovering && strcmp(id, env->session_id) != 0)
		return "the executor did not resume the session";
	if (env->recovering && ours != env->killick) /* what was started needs the same care */
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

static void on_greeted(struct pending *p, const struct message *m)
{
	struct environment *env = RING_OF(p, struct environment, greeting);
	char text[ENVIRONMENT_TEXT];
	const char *wrong;

	if (m->kind == MESSAGE_ERROR) {
		environment_error_text(m, text);
		environment_drop(env,
				 environment_error_code(m) == WIRE_STILL_ATTACHED ? CLOSE_LOST
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

void environment_greet(struct environment *env)
{
	struct emit j;

	if (!begin(env, &j, &env->greeting, "initialize", on_greeted))
		return;
	/* If it hears this but we do not hear it, its lease begins anew. */
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

static void take_notification(struct environment *env, const struct message *m)
{
	const char *wrong = NULL;

	if (env->state != ENVIRONMENT_ATTACHED) /* what is missed now is fetched later */
		return;
	if (json_is(m->method, "process/output"))
		wrong = remote_push(env, PUSH_OUTPUT, m->params);
	else if (json_is(m->method, "process/exited"))
		wrong = remote_push(env, PUSH_EXITED, m->params);
	else if (json_is(m->method, "process/closed"))
		wrong = remote_push(env, PUSH_CLOSED, m->params);
	buf_reset(&env->decoded, KEEP);
	if (wrong)
		malformed(env, "the executor sent an invalid notification", wrong);
}

static void take_answer(struct environment *env, const struct message *m)
{
	struct pending *p = m->ours ? pending_take(&env->pendings, m->number) : NULL;
	char text[ENVIRONMENT_TEXT];

	if (p) {
		p->on_answer(p, m);
	} else if (!m->ours && m->kind == MESSAGE_ERROR) {
		environment_error_text(m, text);
		malformed(env, "the executor could not read a message", text);
	} else if (!m->ours || m->number > env->pendings.last_id) {
		malformed(env, "the executor sent an invalid answer", "no such request");
	}
}

void environment_hear(struct environment *env, const char *text, size_t len)
{
	const char *reason = "";
	struct message m;

	if (env->state != ENVIRONMENT_GREETING && env->state != ENVIRONMENT_ATTACHED)
		return;
	if (message_parse_bare(text, len, &m, &reason) < 0) {
		malformed(env, "the executor sent an invalid message", reason);
		return;
	}
	switch (m.kind) {
	case MESSAGE_REQUEST:
		refuse(env, m.id);
		break;
	case MESSAGE_NOTIFICATION:
		take_notification(env, &m);
		break;
	case MESSAGE_RESULT:
	case MESSAGE_ERROR:
		take_answer(env, &m);
		break;
	case MESSAGE_BATCH: /* message_parse_bare knows none */
	default:
		break;
	}
}
