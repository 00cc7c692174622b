/* face_listen.c - subscriptions/listen: a request that stays open, and brings notifications of
 * changes.
 *
 * The first notification of a stream names what was accepted. It is sent when the servers have
 * answered, because the client expects every change from then on, but after FACE_LISTEN_MS at the
 * latest. Each notification has the id of the stream's request. The face counts how many streams
 * watch a resource, and calls on_watch for the first stream and for the last.
 */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "mcp/face_internal.h"

#define LISTEN_CHANGES                                                                             \
	(CAN_TOOLS_CHANGE | CAN_PROMPTS_CHANGE | CAN_RESOURCES_CHANGE | CAN_SUBSCRIBE)

static const struct {
	const char *key;
	unsigned can;
} face_filters[] = {
	{ "toolsListChanged", CAN_TOOLS_CHANGE },
	{ "promptsListChanged", CAN_PROMPTS_CHANGE },
	{ "resourcesListChanged", CAN_RESOURCES_CHANGE },
};
#define FILTER_COUNT (sizeof(face_filters) / sizeof(face_filters[0]))

/* --- resources --- */

static uint64_t face_watch_key(const struct face *f, const char *uri)
{
	return face_digest(f->seed, uri, strlen(uri) + 1);
}

static struct face_watch *face_watch_find(const struct face *f, const char *uri)
{
	struct hash_node *n = hash_find(&f->watches, face_watch_key(f, uri));

	for (; n; n = hash_next(n)) {
		struct face_watch *w = CONTAINER_OF(n, struct face_watch, by_uri);

		if (strcmp(w->uri, uri) == 0)
			return w;
	}
	return NULL;
}

static struct face_watch *face_watch_add(struct face *f, const char *uri)
{
	struct face_watch *w = face_watch_find(f, uri);
	size_t len = strlen(uri) + 1;

	f->watch_count++;
	if (w) {
		w->count++;
		return w;
	}
	w = mem_grow(NULL, 1, sizeof(*w) + len);
	*w = (struct face_watch){ .count = 1, .pending = true };
	memcpy(w->uri, uri, len);
	hash_add(&f->watches, &w->by_uri, face_watch_key(f, uri));
	if (!f->ev->on_watch(f->ctx, w->uri, true)) /* may call face_watched */
		w->pending = false;
	return w;
}

static void face_watch_drop(struct face *f, struct face_watch *w)
{
	f->watch_count--;
	if (--w->count)
		return;
	hash_remove(&f->watches, &w->by_uri);
	f->ev->on_watch(f->ctx, w->uri, false);
	free(w);
}

static void face_add_watches(struct face *f, struct face_stream *s, struct json uris)
{
	struct json_iter it = json_iter(uris);

	s->watches = mem_grow(NULL, json_count(uris) + 1, sizeof(struct face_watch *));
	while (json_each(&it)) {
		AUTO(mem_drop) char *uri = NULL;

		if (json_string(it.value, &uri))
			s->watches[s->count++] = face_watch_add(f, uri);
	}
}

/* --- a stream --- */

static void face_put_subscription(struct emit *j, const struct face_request *rq)
{
	emit_open(j, "_meta", '{');
	emit_raw(j, META("subscriptionId"), rq->id.at, rq->id.len);
	emit_close(j);
}

static void face_acknowledge(struct face_request *rq)
{
	struct face_stream *s = rq->listen;
	struct emit j;

	if (s->acknowledged)
		return;
	s->acknowledged = true;
	if (rpc_begin(&rq->face->rpc, NULL, "notifications/subscriptions/acknowledged", &j) < 0)
		return;
	face_put_subscription(&j, rq);
	emit_open(&j, "notifications", '{');
	for (size_t i = 0; i < FILTER_COUNT; i++)
		if (s->can & face_filters[i].can)
			emit_bool(&j, face_filters[i].key, true);
	if (s->can & CAN_SUBSCRIBE) {
		emit_open(&j, "resourceSubscriptions", '[');
		for (size_t i = 0; i < s->count; i++)
			emit_text(&j, NULL, s->watches[i]->uri, strlen(s->watches[i]->uri));
		emit_close(&j);
	}
	emit_close(&j);
	rpc_send(&rq->face->rpc, NULL, &j);
}

static bool face_stream_is_pending(const struct face_stream *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->watches[i]->pending)
			return true;
	return false;
}

static void face_on_listen_time(struct loop_timer *t)
{
	struct face *f = CONTAINER_OF(t, struct face, listen_timer);

	RING_EACH(n, &f->streams)
		face_acknowledge(CONTAINER_OF(n, struct face_request, in_face));
}

void face_watched(struct face *f, const char *uri)
{
	struct face_watch *w = face_watch_find(f, uri);

	if (!w || !w->pending)
		return;
	w->pending = false;
	RING_EACH(n, &f->streams) {
		struct face_request *rq = CONTAINER_OF(n, struct face_request, in_face);

		if (rq->listen->opened && !face_stream_is_pending(rq->listen))
			face_acknowledge(rq);
	}
}

void face_listen_open(struct face_request *rq)
{
	struct face *f = rq->face;
	struct json filter = json_get(rq->m.params, "notifications");
	struct json uris = json_get(filter, "resourceSubscriptions");
	struct face_stream *s;
	bool on;

	if (!(f->can & LISTEN_CHANGES)) {
		face_answer_fail(rq, RPC_UNKNOWN_METHOD, "no server reports changes");
		return;
	}
	if (json_type(filter) != JSON_OBJECT) {
		face_answer_fail(rq, RPC_BAD_PARAMS, "params have no object \"notifications\"");
		return;
	}
	if (json_count(uris) > FACE_WATCHES_MAX - f->watch_count) {
		face_answer_fail(rq, RPC_BAD_PARAMS, "more than %d resources are watched",
				 FACE_WATCHES_MAX);
		return;
	}
	s = rq->listen = mem_grow(NULL, 1, sizeof(*s));
	*s = (struct face_stream){ .can = 0 };
	for (size_t i = 0; i < FILTER_COUNT; i++)
		if (json_bool(json_get(filter, face_filters[i].key), &on) && on)
			s->can |= f->can & face_filters[i].can;
	ring_remove(&rq->in_face);
	ring_add(&f->streams, &rq->in_face);
	if (json_type(uris) == JSON_ARRAY && (f->can & CAN_SUBSCRIBE)) {
		s->can |= CAN_SUBSCRIBE;
		face_add_watches(f, s, uris);
	}
	s->opened = true;
	if (!face_stream_is_pending(s))
		face_acknowledge(rq);
	else if (!f->listen_timer.slot)
		loop_timer_set(f->loop, &f->listen_timer, FACE_LISTEN_MS, face_on_listen_time);
}

void face_listen_free(struct face_request *rq)
{
	struct face_stream *s = rq->listen;

	for (size_t i = 0; i < s->count; i++)
		face_watch_drop(rq->face, s->watches[i]);
	free(s->watches);
	free(s);
	rq->listen = NULL;
}

/* --- notifications --- */

/* Is uri the watched resource, or a part of it? */
static bool face_watches(const struct face_stream *s, const char *uri)
{
	for (size_t i = 0; i < s->count; i++)
		if (subscriptions_is_part(uri, s->watches[i]->uri))
			return true;
	return false;
}

static void face_stream_note(struct face_request *rq, const char *method, struct json params)
{
	struct json_iter it = json_iter(params);
	struct emit j;

	face_acknowledge(rq); /* comes first */
	if (rpc_begin(&rq->face->rpc, NULL, method, &j) < 0)
		return;
	face_put_subscription(&j, rq);
	while (json_each(&it))
		if (it.key.at && !json_is(it.key, "_meta"))
			emit_member(&j, it.key, it.value);
	rpc_send(&rq->face->rpc, NULL, &j);
}

void face_listen_note(struct face *f, const char *method, unsigned can, struct json params)
{
	AUTO(mem_drop) char *uri = NULL;

	if (can == CAN_SUBSCRIBE && !json_string(json_get(params, "uri"), &uri))
		return;
	RING_EACH(n, &f->streams) {
		struct face_request *rq = CONTAINER_OF(n, struct face_request, in_face);

		if ((rq->listen->can & can) && (!uri || face_watches(rq->listen, uri)))
			face_stream_note(rq, method, params);
	}
}

/* The specification has both: a result, and notifications/cancelled. */
void face_listen_end_all(struct face *f)
{
	RING_EACH(n, &f->streams) {
		struct face_request *rq = CONTAINER_OF(n, struct face_request, in_face);
		struct buf *b = face_begin(f);
		struct emit j;

		if (!b)
			return;
		message_result(&j, b, false, rq->id);
		emit_open(&j, "result", '{');
		emit_str(&j, "resultType", "complete");
		face_put_subscription(&j, rq);
		message_end(&j);
		face_commit(f);
		if (rpc_begin(&f->rpc, NULL, "notifications/cancelled", &j) < 0)
			return;
		emit_raw(&j, "requestId", rq->id.at, rq->id.len);
		rpc_send(&f->rpc, NULL, &j);
	}
}
