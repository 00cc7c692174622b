/* face_park.c - modern clients: requests that wait for input.
 *
 * A modern client gets no requests. While a server of the legacy era waits for the answer to an
 * ask, the client's request is answered with a result that lists the asks, and is parked. The
 * client sends the request again, under a new id, with the answers and with the `requestState` of
 * that result. The state names the parked request and is sealed: a state that the face did not
 * write, or that comes with another method or other params, is refused.
 *
 *	requests -> face_park_show -> parked -> face_park_resume -> requests
 *	                              parked -> 10 min -> on_cancelled
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/sha256.h"
#include "mcp/face_internal.h"

#define STATE_MARK "killick-input." /* states without this mark are those of modern servers */

struct face_seal {
	char text[128]; /* unquoted */
};

static const unsigned char *face_seal_key(void)
{
	static unsigned char key[SHA256_SIZE];
	static bool made;

	if (!made)
		random_fill(key, sizeof(key));
	made = true;
	return key;
}

static void face_seal(const struct face_request *rq, const struct face_park *p, uint64_t digest,
		      struct face_seal *out)
{
	char text[256];
	unsigned char mac[SHA256_SIZE];
	int n = snprintf(text, sizeof(text), "%" PRIx64 ".%" PRIu64 ".%u.%" PRId64 ".%s.%" PRIx64,
			 rq->face->nonce, p->serial, p->round, p->until_us, rq->row->name, digest);
	int at;

	assert(n > 0 && (size_t)n < sizeof(text));
	sha256_hmac(face_seal_key(), text, (size_t)n, mac);
	at = snprintf(out->text, sizeof(out->text), STATE_MARK "%" PRIu64 ".%u.", p->serial,
		      p->round);
	for (size_t i = 0; i < sizeof(mac); i++)
		at += snprintf(out->text + at, sizeof(out->text) - (size_t)at, "%02x", mac[i]);
}

/* The time does not depend on where the texts differ. */
static bool face_seal_is(const char *a, const char *b)
{
	size_t len = strlen(a);
	unsigned char differs = 0;

	if (strlen(b) != len)
		return false;
	for (size_t i = 0; i < len; i++)
		differs |= (unsigned char)(a[i] ^ b[i]);
	return !differs;
}

/* --- parking --- */

static void face_on_park_time(struct loop_timer *t)
{
	struct face *f = CONTAINER_OF(t, struct face, park_timer);
	int64_t now = loop_now_us();

	for (struct ring *n; (n = ring_first(&f->parked)) != NULL;) {
		struct face_request *rq = CONTAINER_OF(n, struct face_request, in_face);

		if (rq->park->until_us > now) {
			loop_timer_set(f->loop, t, (rq->park->until_us - now + 999) / 1000,
				       face_on_park_time);
			return;
		}
		face_abandon(rq);
	}
}

static void face_park(struct face_request *rq)
{
	struct face *f = rq->face;

	face_unset_id(rq);
	if (rq->level >= 0)
		f->loggers--;
	rq->level = -1;
	ring_remove(&rq->in_face);
	ring_add(&f->parked, &rq->in_face);
	if (!f->park_timer.slot)
		loop_timer_set(f->loop, &f->park_timer, FACE_PARKED_MS, face_on_park_time);
	face_check_end(f);
}

void face_park_show(struct face_request *rq)
{
	struct face *f = rq->face;
	struct face_park *p = rq->park;
	struct face_seal seal;
	char key[32];
	struct buf *b = face_begin(f);
	struct emit j;

	if (!b)
		return;
	if (!p->serial)
		p->serial = ++f->last_serial;
	p->round++;
	p->until_us = loop_now_us() + FACE_PARKED_MS * INT64_C(1000);
	face_seal(rq, p, rq->digest, &seal);
	message_result(&j, b, false, rq->id);
	emit_open(&j, "result", '{');
	emit_str(&j, "resultType", "input_required");
	emit_open(&j, "inputRequests", '{');
	RING_EACH(n, &p->asks) {
		struct face_ask *a = CONTAINER_OF(n, struct face_ask, in_request);

		/* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): see ring_first */
		snprintf(key, sizeof(key), "ask-%" PRIu64, a->number);
		emit_open(&j, key, '{');
		emit_str(&j, "method", ask_method(a->kind));
		if (a->params)
			emit_json(&j, "params", a->params, strlen(a->params));
		emit_close(&j);
		a->shown = true;
	}
	emit_close(&j);
	emit_str(&j, "requestState", seal.text);
	emit_members(&j, f->meta_member, f->meta_len - 1);
	message_end(&j);
	face_commit(f);
	p->parked = true;
	face_park(rq);
}

void face_park_free(struct face_request *rq)
{
	assert(ring_is_empty(&rq->park->asks));
	if (rq->park->answered)
		rq->face->stored -= rq->park->stored.len;
	buf_done(&rq->park->stored);
	free(rq->park);
	rq->park = NULL;
}

/* --- the retry --- */

static struct face_request *face_find_parked(struct face *f, const char *state)
{
	uint64_t serial = strtoull(state + sizeof(STATE_MARK) - 1, NULL, 10);

	RING_EACH(n, &f->parked) {
		struct face_request *rq = CONTAINER_OF(n, struct face_request, in_face);

		if (rq->park->serial == serial)
			return rq;
	}
	return NULL;
}

/* The owner has answered while the request was parked. */
static void face_send_stored(struct face_request *rq)
{
	struct face_park *p = rq->park;
	struct buf *b = face_begin(rq->face);

	if (b) {
		buf_add(b, p->stored.data, p->id_at);
		buf_add(b, rq->id.at, rq->id.len);
		buf_add(b, p->stored.data + p->id_at, p->stored.len - p->id_at);
		face_commit(rq->face);
	}
	face_release(rq);
}

/* Move the asks that the client has answered from the request to `to`. */
static void face_take_answers(struct face_request *rq, struct json responses, struct ring *to)
{
	char key[32];

	RING_EACH(n, &rq->park->asks) {
		struct face_ask *a = CONTAINER_OF(n, struct face_ask, in_request);

		snprintf(key, sizeof(key), "ask-%" PRIu64, a->number);
		a->answer = json_get(responses, key);
		if (!a->shown || json_type(a->answer) != JSON_OBJECT)
			continue;
		a->request = NULL;
		ring_remove(&a->in_request);
		ring_add(to, &a->in_request);
	}
}

/* The parked request gets the id, the token and the level of its retry. */
static void face_unpark(struct face_request *rq, struct face_request *retry)
{
	struct face *f = rq->face;

	rq->park->parked = false;
	rq->level = retry->level;
	rq->answers = retry->answers;
	if (rq->level >= 0)
		f->loggers++;
	ring_remove(&rq->in_face);
	ring_add(&f->requests, &rq->in_face);
	face_move_texts(rq, retry);
	face_release(retry);
}

bool face_park_resume(struct face_request *retry, const struct face_params *p)
{
	struct face *f = retry->face;
	struct face_request *rq;
	struct face_seal seal;
	struct ring answered;
	char state[128];

	if (!json_string_into(p->state, state, sizeof(state)) ||
	    strncmp(state, STATE_MARK, sizeof(STATE_MARK) - 1) != 0)
		return false;
	rq = face_find_parked(f, state);
	if (rq)
		face_seal(retry, rq->park, face_digest_params(f, retry->m.params), &seal);
	if (!rq || !face_seal_is(seal.text, state)) {
		face_answer_fail(retry, RPC_BAD_PARAMS,
				 "requestState belongs to no request that waits for input: it was "
				 "used before, is too old, or belongs to other params; send the "
				 "request without it");
		return true;
	}
	ring_init(&answered);
	face_unpark(rq, retry);
	if (rq->park->answered) {
		face_send_stored(rq);
		return true;
	}
	face_take_answers(rq, p->responses, &answered);
	if (!ring_is_empty(&rq->park->asks))
		face_park_show(rq); /* answers are missing, or there are new asks */
	for (struct ring *n; (n = ring_first(&answered)) != NULL;) {
		struct face_ask *a = CONTAINER_OF(n, struct face_ask, in_request);

		face_ask_end(a, a->answer, JSON_NONE);
	}
	return true;
}
