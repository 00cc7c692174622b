/* desk_notes.c - notifications of the servers to the client (without a face: to the program, see
 * desk_events) and of the client to the servers, and log levels.
 *
 * A legacy client chooses one level for its session: each server that has log messages gets the
 * level, now or when it next runs. A modern client names a level in each request: before the
 * request is passed on, the server gets the most verbose level that was wanted so far. The face
 * drops log messages that no request wants.
 */
#include <assert.h>
#include <string.h>

#include "base/auto.h"
#include "base/emit.h"
#include "hub/desk_internal.h"
#include "session/pool.h"
#include "session/replay.h"
#include "session/server.h"

#define NOTES_MS 50 /* changes of lists within this time are reported once */

static const char *const notes_levels[] = {
	"debug",    "info",  "notice",   [NOTES_WARNING] = "warning", [NOTES_ERROR] = "error",
	"critical", "alert", "emergency"
};
#define LEVELS ((int)(sizeof(notes_levels) / sizeof(notes_levels[0])))

static int notes_level_of(struct json name)
{
	for (int i = 0; i < LEVELS; i++)
		if (json_is(name, notes_levels[i]))
			return i;
	return -1;
}

/* Can a notification be sent to the client, or to the program? */
static bool notes_are_heard(const struct desk *d)
{
	return d->state == DESK_OPEN && (d->face ? !d->face_over : d->ev->on_note != NULL);
}

/* l NULL: of all servers. */
static void notes_send(struct desk *d, const struct lease *l, enum killick_event_kind kind,
		       struct json params)
{
	if (d->face)
		face_note(d->face, NULL, kind, params);
	else
		d->ev->on_note(d->ctx, l ? lease_name(l) : NULL, face_note_method(kind), params);
}

/* --- changes of lists --- */

static void notes_on_time(struct loop_timer *t)
{
	static const enum killick_event_kind kinds[] = { KILLICK_EVENT_TOOLS,
							 KILLICK_EVENT_RESOURCES,
							 KILLICK_EVENT_PROMPTS };
	struct desk *d = CONTAINER_OF(t, struct desk, news);
	unsigned changed = d->changed;

	d->changed = 0;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (changed & (1u << kinds[i]))
			notes_send(d, NULL, kinds[i], JSON_NONE);
}

static void notes_changed(struct desk *d, enum killick_event_kind kind)
{
	if (!notes_are_heard(d))
		return;
	d->changed |= 1u << kind;
	if (!d->news.slot)
		loop_timer_set(d->k->loop, &d->news, NOTES_MS, notes_on_time);
}

void notes_all_changed(struct desk *d)
{
	notes_changed(d, KILLICK_EVENT_TOOLS);
	if (d->can & OFFER_RESOURCES)
		notes_changed(d, KILLICK_EVENT_RESOURCES);
	if (d->can & OFFER_PROMPTS)
		notes_changed(d, KILLICK_EVENT_PROMPTS);
}

/* --- from the servers --- */

/* The request of the client that a message of this server belongs to; NULL: none, or several. */
static struct face_request *notes_request(const struct desk *d, const struct lease *l)
{
	struct face_request *one = NULL;

	RING_EACH(r, &d->errands) {
		const struct errand *e = CONTAINER_OF(r, struct errand, in_desk);

		if (!e->rq || e->f.lease != l)
			continue;
		if (one)
			return NULL;
		one = e->rq;
	}
	return one;
}

static void notes_pass_log(struct desk *d, const struct lease *l, struct json params)
{
	int level = notes_level_of(json_get(params, "level"));

	if (d->face && face_era(d->face) == ERA_MODERN)
		face_note(d->face, notes_request(d, l), KILLICK_EVENT_LOG, params);
	else if (d->level < 0 || level < 0 || level >= d->level)
		notes_send(d, l, KILLICK_EVENT_LOG, params);
}

void desk_on_note(void *ctx, struct lease *l, enum killick_event_kind kind, struct json params)
{
	struct desk *d = ctx;
	struct backend *b = backend_of(d, l);

	if (d->state != DESK_OPEN)
		return;
	if (kind == KILLICK_EVENT_TOOLS)
		b->tools = false;
	else if (kind == KILLICK_EVENT_PROMPTS)
		b->prompts = false;
	if (kind == KILLICK_EVENT_RESOURCES) {
		backend_list_set(&b->resources, JSON_NONE);
		backend_list_set(&b->templates, JSON_NONE);
	}
	if (!notes_are_heard(d))
		return;
	if (kind == KILLICK_EVENT_LOG)
		notes_pass_log(d, l, params);
	else if (kind == KILLICK_EVENT_UPDATED)
		notes_send(d, l, kind, params);
	else
		notes_changed(d, kind);
}

void desk_on_other(void *ctx, struct lease *l, const char *method, struct json params)
{
	struct desk *d = ctx;
	struct backend *b = backend_of(d, l);
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);

	if (!notes_are_heard(d))
		return;
	if ((b->can & OFFER_TASKS) && tasks_are_wrapped(d) && tasks_wrap(b, params, &text))
		params = (struct json){ text.data, text.len };
	if (d->face)
		face_notify(d->face, method, params);
	else
		d->ev->on_note(d->ctx, lease_name(l), method, params);
}

void notes_log(struct desk *d, enum notes_level level, const char *text)
{
	AUTO(buf_done) struct buf b = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_INIT(&b);

	if (!d->face || d->face_over || d->state != DESK_OPEN || !(d->can & OFFER_LOGGING) ||
	    (int)level < d->level)
		return;
	emit_open(&j, NULL, '{');
	emit_str(&j, "level", notes_levels[level]);
	emit_str(&j, "logger", "killick");
	emit_text(&j, "data", text, strlen(text));
	emit_close(&j);
	emit_end(&j);
	face_note(d->face, NULL, KILLICK_EVENT_LOG, (struct json){ b.data, b.len });
}

/* Warnings may come in the middle of a change: a log message only writes to the face. The text may
 * name resources and calls of any session, so clients that share the server do not get it. */
void desk_on_warning(void *ctx, struct lease *l, const char *text)
{
	if (l && l->server && l->server->shared)
		return;
	notes_log(ctx, NOTES_WARNING, text);
}

/* --- from the client --- */

void desk_on_notification(void *ctx, const struct message *m)
{
	struct desk *d = ctx;
	struct lease *only = d->state == DESK_OPEN ? desk_only(d) : NULL;
	AUTO(mem_drop) char *method = NULL;
	size_t at = 0;

	if (d->state != DESK_OPEN || !json_string(m->method, &method))
		return;
	if (strcmp(method, "notifications/roots/list_changed") == 0) {
		for (struct lease *l = desk_each(d, &at); l; l = desk_each(d, &at))
			if (l->server->state == KILLICK_READY)
				client_roots_changed(l->server->client);
	} else if (only && only->server->state == KILLICK_READY) {
		client_notify(only->server->client, method, m->params);
	}
}

/* A modern client listens to changes of a resource, or stops. */
bool desk_on_watch(void *ctx, const char *uri, bool on)
{
	struct desk *d = ctx;

	if (d->state != DESK_OPEN)
		return false;
	errand_begin(errand_new_watch(d, uri, on)); /* errand_free calls face_watched */
	return true;
}

/* --- levels --- */

static void notes_on_level(struct forward *f, const struct forward_done *done)
{
	struct errand *e = CONTAINER_OF(f, struct errand, f);

	f->lease = NULL;
	errand_finish(e, done);
}

/* The level that the server has, or gets when it next runs; -1: none. */
static int notes_level_sent(const struct lease *l)
{
	for (int i = 0; l->level && i < LEVELS; i++)
		if (strcmp(l->level, notes_levels[i]) == 0)
			return i;
	return -1;
}

/* Send the level when the server next runs. */
static void notes_tell_later(struct lease *l, int level)
{
	replay_note(l,
		    &(struct client_call){ .op = KILLICK_LOG_LEVEL, .name = notes_levels[level] });
}

/* Send the level to one server, without an answer to the client. */
static void notes_tell(struct desk *d, struct lease *l, int level)
{
	struct errand *e = errand_new(d, FACE_LEVEL);

	e->silent = true;
	e->f = (struct forward){ .lease = l, .on_done = notes_on_level };
	forward_begin_op(&e->f, KILLICK_LOG_LEVEL, notes_levels[level]);
}

void notes_want_level(struct desk *d, struct lease *l, int level)
{
	const struct backend *b = backend_of(d, l);

	assert(level >= 0 && level < LEVELS);
	if (b->known && !(b->can & OFFER_LOGGING))
		return;
	if (notes_level_sent(l) < 0 || level < notes_level_sent(l))
		notes_tell(d, l, level);
}

void notes_meet(struct desk *d, struct lease *l)
{
	if (d->level < 0 || !(backend_of(d, l)->can & OFFER_LOGGING))
		return;
	if (l->server->state == KILLICK_READY)
		notes_tell(d, l, d->level);
	else
		notes_tell_later(l, d->level);
}

static void notes_on_levels(struct errand *e, struct gather *g)
{
	(void)g;
	errand_answer_result(e, (struct json){ "{}", 2 });
}

/* Servers that run get the level now, the others when they next run (replay.h). */
void notes_level_errand(struct errand *e)
{
	struct desk *d = e->desk;
	int level = notes_level_of(errand_name(e));
	size_t at = 0;

	if (level < 0) {
		errand_fail(e, RPC_BAD_PARAMS,
			    "unknown log level; use debug, info, notice, warning, error, critical, "
			    "alert or emergency");
		return;
	}
	d->level = level;
	for (struct lease *l = desk_each(d, &at); l; l = desk_each(d, &at))
		if (l->server->state != KILLICK_READY && (backend_of(d, l)->can & OFFER_LOGGING))
			notes_tell_later(l, level);
	gather_begin(e, &(struct gather_spec){ .op = KILLICK_LOG_LEVEL,
					       .can = OFFER_LOGGING,
					       .name = notes_levels[level],
					       .straight = desk_only(d),
					       .running = true,
					       .on_all = notes_on_levels });
}
