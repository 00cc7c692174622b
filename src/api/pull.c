/* pull.c - functions of killick.h: items in place of callbacks, see pull.h */
#include "api/pull.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/pack.h"
#include "session/session.h"

/* An item and copies of the arguments of the callback, in one block of memory. The texts follow the
 * struct. */
struct pulled {
	struct killick_item item;
	struct killick_event event;
	struct killick_progress progress;
	struct killick_error error;
};

/* State of a thread while it is in killick_next. got: the item that a callback has made. */
static _Thread_local struct {
	bool waits;
	struct pulled *got;
} puller;

/* Make an item. NULL: this thread is not in killick_next, so the host does not fetch the item; or
 * there is no memory for the texts of the server. */
static struct pulled *pulled_new(enum killick_item_kind kind, void *ctx, size_t more)
{
	struct pulled *p;

	if (!puller.waits)
		return NULL;
	p = mem_try(sizeof(*p) + more);
	if (!p)
		return NULL;
	*p = (struct pulled){ .item = { .kind = kind, .ctx = ctx } };
	puller.got = p;
	return p;
}

static void pull_pack_event(struct pack *to, const struct killick_event *ev,
			    struct killick_event *out)
{
	*out = *ev;
	out->server = ev->server ? pack_text(to, ev->server) : NULL;
	out->text = ev->text ? pack_bytes(to, ev->text, ev->text_len) : NULL;
	out->json = ev->json ? pack_bytes(to, ev->json, ev->json_len) : NULL;
}

void pull_on_event(void *ctx, const struct killick_event *ev)
{
	struct pack size = { .base = NULL };
	struct killick_event unused;
	struct pulled *p;

	pull_pack_event(&size, ev, &unused);
	p = pulled_new(KILLICK_ITEM_EVENT, ctx, size.used);
	if (!p)
		return;
	pull_pack_event(&(struct pack){ .base = (char *)(p + 1) }, ev, &p->event);
	p->item.event = &p->event;
}

void pull_on_ask(void *ctx, struct killick_ask *ask)
{
	struct pulled *p = pulled_new(KILLICK_ITEM_ASK, ctx, 0);

	if (p)
		p->item.ask = ask;
	else
		pull_drop_ask(ask);
}

void pull_on_progress(void *ctx, const struct killick_progress *progress)
{
	size_t size = strlen(progress->message) + 1;
	struct pulled *p = pulled_new(KILLICK_ITEM_PROGRESS, ctx, size);

	if (!p)
		return;
	p->progress = *progress;
	p->progress.message = memcpy(p + 1, progress->message, size);
	p->item.progress = &p->progress;
}

void pull_on_done(void *ctx, struct killick_result *r)
{
	struct pulled *p = pulled_new(KILLICK_ITEM_RESULT, ctx, 0);

	if (p)
		p->item.result = r;
	else
		killick_result_free(r);
}

static void pulled_error(struct pulled *p, const struct killick_error *e)
{
	p->error = *e;
	p->item.error = &p->error;
}

void pull_on_opened(void *ctx, struct killick_session *s, const struct killick_error *e)
{
	struct pulled *p = pulled_new(KILLICK_ITEM_OPENED, ctx, 0);

	if (p) {
		p->item.session = s;
		pulled_error(p, e);
	} else if (s && !s->early) {
		killick_session_free(s);
	}
}

void pull_on_ended(void *ctx, struct killick_report *report, const struct killick_error *e)
{
	struct pulled *p = pulled_new(KILLICK_ITEM_ENDED, ctx, 0);

	if (p) {
		p->item.report = report;
		pulled_error(p, e);
	} else {
		killick_report_free(report);
	}
}

/* --- for the host --- */

/* Get the first item that is still wanted; NULL: no item waits. */
static struct killick_item *pull_one(struct killick *k)
{
	struct killick_item *item;

	puller.waits = true;
	while (!puller.got && outbox_run_one(&k->outbox))
		;
	item = puller.got ? &puller.got->item : NULL;
	puller.waits = false;
	puller.got = NULL;
	return item;
}

static bool pull_has_item(void *ctx)
{
	const struct killick *k = ctx;

	return outbox_is_waiting(&k->outbox) ||
	       (k->state == RUNTIME_CLOSED && !k->outbox.first && !k->outbox.busy);
}

/* Wait for an item. Returns 1 if an item came, which another thread may have taken already; 0 after
 * the timeout; else a code. */
static int pull_wait(struct killick *k, int64_t until_us, struct killick_error *e)
{
	int r = runtime_enter_blocking(k, e);

	if (r < 0)
		return r;
	if (!pull_has_item(k))
		r = runtime_wait_for_callbacks(k, pull_has_item, k, until_us);
	else
		r = 1;
	if (r == 1 && !outbox_is_waiting(&k->outbox))
		r = error_set(e, KILLICK_ERR_CLOSED, "the runtime is closed, and no item is left");
	runtime_leave(k);
	return r;
}

int killick_next(struct killick *k, long timeout_ms, struct killick_item **out,
		 struct killick_error *e)
{
	int64_t until_us = INT64_MAX, now_us = loop_now_us();
	int r = 1;

	if (!k || !out)
		return error_set(e, KILLICK_ERR_USAGE, "k and out must not be NULL");
	if (!k->pulls)
		return error_set(e, KILLICK_ERR_USAGE,
				 "the runtime was not opened with KILLICK_DISPATCH_PULL");
	if (timeout_ms < -1)
		return error_set(e, KILLICK_ERR_USAGE,
				 "timeout_ms is %ld: give 0, -1 or a number of milliseconds",
				 timeout_ms);
	if (timeout_ms >= 0 && timeout_ms < (INT64_MAX - now_us) / 1000)
		until_us = now_us + timeout_ms * 1000LL;
	*out = NULL;
	do {
		if (!origin_is_here(&k->origin))
			return error_set(e, KILLICK_ERR_FORKED, "%s", RUNTIME_FORKED);
		*out = pull_one(k);
		if (!*out)
			r = pull_wait(k, until_us, e);
	} while (!*out && r == 1);
	return r;
}

void killick_item_free(struct killick_item *i)
{
	free(i);
}
