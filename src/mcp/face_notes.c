/* face_notes.c - notifications to the client. */
#include <string.h>

#include "mcp/face_internal.h"

#define PUT(b, literal) buf_add(b, literal, sizeof(literal) - 1)

void face_notify(struct face *f, const char *method, struct json params)
{
	if (f->state == FACE_READY)
		rpc_notify(&f->rpc, method, params);
}

/* --- progress --- */

void face_progress(struct face_request *rq, struct json params)
{
	struct json token = json_get(params, "progressToken");
	struct buf *b;
	double progress;

	if (!rq->progress_token.at || !token.at ||
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

static const char *face_note_method(enum killick_event_kind kind, unsigned *out_can)
{
	switch (kind) {
	case KILLICK_EVENT_LOG:
		return "notifications/message";
	case KILLICK_EVENT_TOOLS:
		*out_can = CAN_TOOLS_CHANGE;
		return "notifications/tools/list_changed";
	case KILLICK_EVENT_RESOURCES:
		*out_can = CAN_RESOURCES_CHANGE;
		return "notifications/resources/list_changed";
	case KILLICK_EVENT_PROMPTS:
		*out_can = CAN_PROMPTS_CHANGE;
		return "notifications/prompts/list_changed";
	case KILLICK_EVENT_UPDATED:
		*out_can = CAN_SUBSCRIBE;
		return "notifications/resources/updated";
	case KILLICK_EVENT_STATE:
	case KILLICK_EVENT_STDERR:
	case KILLICK_EVENT_WARNING:
	default:
		return NULL;
	}
}

void face_note(struct face *f, struct face_request *rq, enum killick_event_kind kind,
	       struct json params)
{
	unsigned can = 0;
	const char *method = face_note_method(kind, &can);

	if (!method || f->state != FACE_READY)
		return;
	if (kind == KILLICK_EVENT_LOG) {
		if (face_hears_log(f, rq, params))
			face_notify(f, method, params);
		return;
	}
	if (f->initialized)
		face_notify(f, method, params);
	face_listen_note(f, method, can, params);
}
