/* face_notes.c - notifications to the client. */
#include <string.h>

#include "mcp/face_internal.h"

#define PUT(b, literal) buf_add(b, literal, sizeof(literal) - 1)

void face_notify(struct face *f, const char *method, struct json params)
{
	if (f->state == FACE_READY && channel_unsent(f->channel) <= FACE_UNSENT_MAX)
		rpc_notify(&f->rpc, method, params);
}

/* --- progress --- */

/* Has the object this member twice, or twice but for upper and lower case? The client could read
 * another value than this program. */
static bool face_is_twice(struct json object, const char *name)
{
	struct json_iter it = json_iter(object);
	unsigned count = 0;

	while (json_each(&it))
		count += json_key_is(it.key, name) || json_folds(it.key, name);
	return count > 1;
}

void face_progress(struct face_request *rq, struct json params)
{
	struct json token = json_get(params, "progressToken");
	struct buf *b;
	double progress;

	if (!rq->progress_token.at || !token.at || face_is_twice(params, "progressToken") ||
	    !json_double(json_get(params, "progress"), &progress) ||
	    (rq->reported && progress <= rq->progress))
		return;
	b = face_begin(rq->face);
	if (!b)
		return;
	rq->reported = true;
	rq->progress = progress;
	PUT(b, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":");
	buf_add(b, params.at, (size_t)(token.at - params.at));
	buf_add(b, rq->progress_token.at, rq->progress_token.len);
	buf_add(b, token.at + token.len, (size_t)(params.at + params.len - token.at - token.len));
	PUT(b, "}");
	face_commit(rq->face);
}

/* --- log messages --- */

static bool face_wants_log(const struct face_request *rq, int level)
{
	return rq->id.at && rq->level >= 0 && level >= rq->level;
}

/* Does the client want this message? On behalf of rq, or of any request (NULL). */
static bool face_hears_log(const struct face *f, const struct face_request *rq, struct json params)
{
	int level;

	if (rq ? rq->era == ERA_LEGACY : f->initialized)
		return true;
	if (!f->loggers)
		return false;
	level = level_of(json_get(params, "level"));
	if (rq)
		return face_wants_log(rq, level);
	for (const struct ring *n = f->requests.next; n != &f->requests; n = n->next)
		if (face_wants_log(CONTAINER_OF(n, struct face_request, in_face), level))
			return true;
	return false;
}

/* --- changes --- */

static const struct {
	const char *method;
	unsigned can;
} face_notes[] = {
	[KILLICK_EVENT_LOG] = { "notifications/message", 0 },
	[KILLICK_EVENT_TOOLS] = { "notifications/tools/list_changed", CAN_TOOLS_CHANGE },
	[KILLICK_EVENT_RESOURCES] = { "notifications/resources/list_changed",
				      CAN_RESOURCES_CHANGE },
	[KILLICK_EVENT_PROMPTS] = { "notifications/prompts/list_changed", CAN_PROMPTS_CHANGE },
	[KILLICK_EVENT_UPDATED] = { "notifications/resources/updated", CAN_SUBSCRIBE },
};

const char *face_note_method(enum killick_event_kind kind)
{
	return kind < sizeof(face_notes) / sizeof(face_notes[0]) ? face_notes[kind].method : NULL;
}

void face_note(struct face *f, struct face_request *rq, enum killick_event_kind kind,
	       struct json params)
{
	const char *method = face_note_method(kind);

	if (!method || f->state != FACE_READY)
		return;
	if (kind == KILLICK_EVENT_LOG) {
		if (face_hears_log(f, rq, params))
			face_notify(f, method, params);
		return;
	}
	if (f->initialized)
		face_notify(f, method, params);
	face_listen_note(f, method, face_notes[kind].can, params);
}
