/* desk_control.c - requests of the control API: the same as those of a client, without a face.
 *
 * The requests begin in the next turn of the loop, so `done` is never called from inside
 * desk_request.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/emit.h"
#include "base/mem.h"
#include "hub/desk_internal.h"
#include "rpc/message.h"

static const struct {
	const char *method;
	enum face_method kind;
	const char *name; /* the member of params that has the name; NULL: none */
} desk_methods[] = {
	{ "tools/call", FACE_CALL, "name" },
	{ "tools/list", FACE_TOOLS, NULL },
	{ "resources/list", FACE_RESOURCES, NULL },
	{ "resources/templates/list", FACE_TEMPLATES, NULL },
	{ "resources/read", FACE_READ, "uri" },
	{ "resources/subscribe", FACE_SUBSCRIBE, "uri" },
	{ "resources/unsubscribe", FACE_UNSUBSCRIBE, "uri" },
	{ "prompts/list", FACE_PROMPTS, NULL },
	{ "prompts/get", FACE_PROMPT, "name" },
	{ "completion/complete", FACE_COMPLETE, NULL },
	{ "logging/setLevel", FACE_LEVEL, "level" },
	{ "tasks/list", FACE_TASKS, NULL },
	{ "tasks/get", FACE_TASK, "taskId" },
	{ "tasks/result", FACE_TASK, "taskId" },
	{ "tasks/cancel", FACE_TASK, "taskId" },
	{ "tasks/update", FACE_TASK, "taskId" },
};

/* Methods of the connection itself. */
static bool desk_is_own_method(const char *method)
{
	static const char *const own[] = { "initialize", "ping", "server/discover",
					   "subscriptions/listen" };

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (strcmp(method, own[i]) == 0)
			return true;
	return strncmp(method, "notifications/", strlen("notifications/")) == 0;
}

/* Write the request as a client would, and read it. */
static int desk_write_request(struct errand *e, const char *method, struct json params)
{
	struct emit j;
	const char *reason;

	message_request(&j, &e->text, false, 1, method);
	if (params.at)
		emit_json(&j, "params", params.at, params.len);
	if (message_end(&j) < 0)
		return -1;
	if (e->text.len && e->text.data[e->text.len - 1] == '\n')
		e->text.data[--e->text.len] = '\0';
	return message_parse(e->text.data, e->text.len, &e->own, &reason);
}

void desk_request(struct desk *d, const char *server, const char *method, struct json params,
		  int64_t timeout_ms, desk_answered_fn done, void *ctx)
{
	struct errand *e = errand_new(d, FACE_OTHER);

	assert(done);
	d->in_flight++;
	d->calls++;
	d->last_us = loop_now_us();
	e->done = done;
	e->ctx = ctx;
	e->server = mem_dup(server);
	e->timeout_ms = timeout_ms;
	ring_remove(&e->in_desk);
	ring_add(&d->waiting, &e->in_desk);
	if (desk_is_own_method(method))
		e->refused = "this method belongs to the connection: the hub sends it itself";
	else if (desk_write_request(e, method, params) < 0)
		e->refused = "the params are not an object, or are too long";
	for (size_t i = 0; i < sizeof(desk_methods) / sizeof(desk_methods[0]); i++) {
		if (strcmp(method, desk_methods[i].method) != 0)
			continue;
		e->kind = desk_methods[i].kind;
		if (desk_methods[i].name)
			e->name = json_get(e->own.params, desk_methods[i].name);
	}
	e->token = json_get(json_get(e->own.params, "_meta"), "progressToken");
	desk_poke(d);
}

void desk_begin_waiting(struct desk *d)
{
	struct ring *first;

	while (d->state == DESK_OPEN && (first = ring_first(&d->waiting))) {
		struct errand *e = CONTAINER_OF(first, struct errand, in_desk);

		ring_remove(first);
		ring_add(&d->errands, first);
		if (e->refused)
			errand_fail(e, RPC_BAD_PARAMS, "%s", e->refused);
		else
			errand_begin(e);
	}
}

static void desk_forget_in(struct ring *list, const void *ctx)
{
	RING_EACH(r, list) {
		struct errand *e = CONTAINER_OF(r, struct errand, in_desk);

		if (e->done && e->ctx == ctx)
			errand_drop(e);
	}
}

void desk_forget(struct desk *d, void *ctx)
{
	desk_forget_in(&d->errands, ctx);
	desk_forget_in(&d->waiting, ctx);
}
