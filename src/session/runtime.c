/* runtime.c - see runtime.h */
#include "session/runtime.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/trace.h"

#define SWEEP_US     10000000
#define FILE_THREADS 256 /* of which hung file systems may keep some */

int error_set(struct killick_error *e, int code, const char *fmt, ...)
{
	va_list ap;

	assert(code < 0);
	if (!e)
		return code;
	e->code = code;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return code;
}

int runtime_enter(struct killick *k, struct killick_error *e)
{
	if (!origin_is_here(&k->origin))
		return error_set(e, KILLICK_ERR_FORKED, "%s", RUNTIME_FORKED);
	loop_lock(k->loop);
	return 0;
}

int runtime_enter_blocking(struct killick *k, struct killick_error *e)
{
	int r = runtime_enter(k, e);

	if (r == 0 && outbox_is_mine(&k->outbox)) {
		loop_unlock(k->loop);
		r = error_set(
			e, KILLICK_ERR_USAGE,
			"a function that waits was called from a callback, where it would block "
			"all other callbacks; use its _start variant");
	}
	return r;
}

void runtime_leave(struct killick *k)
{
	loop_unlock(k->loop);
}

static void runtime_step_out(struct killick *k)
{
	assert(k->inside > 0);
	if (--k->inside == 0 && k->state != RUNTIME_OPEN)
		loop_notify(k->loop);
}

bool runtime_wait(struct killick *k, bool (*done)(void *ctx), void *ctx, int64_t until_us)
{
	bool is_done;

	k->inside++;
	is_done = loop_wait(k->loop, done, ctx, until_us);
	runtime_step_out(k);
	return is_done;
}

bool runtime_wait_for_callbacks(struct killick *k, bool (*done)(void *ctx), void *ctx,
				int64_t until_us)
{
	bool is_done;

	k->outbox.watchers++;
	is_done = runtime_wait(k, done, ctx, until_us);
	k->outbox.watchers--;
	return is_done;
}

struct quiet {
	const struct outbox *outbox;
	const void *subject;
};

static bool runtime_is_quiet(void *ctx)
{
	const struct quiet *q = ctx;

	return outbox_is_quiet(q->outbox, q->subject);
}

bool runtime_quiet(struct killick *k, const void *subject, int64_t until_us)
{
	return outbox_is_quiet(&k->outbox, subject) ||
	       runtime_wait_for_callbacks(k, runtime_is_quiet,
					  &(struct quiet){ &k->outbox, subject }, until_us);
}

int runtime_want(struct killick *k, bool given, struct killick_error *e)
{
	int r = given ? outbox_want(&k->outbox) : 0;

	if (r < 0)
		return error_set(e, KILLICK_ERR_SYSTEM,
				 "cannot start the thread that runs callbacks: %s; use blocking "
				 "calls, or KILLICK_DISPATCH_HOST",
				 strerror(-r));
	return 0;
}

void runtime_attend(struct killick *k)
{
	/* the callback thread drives the loop when its callback returns */
	if (k->outbox.fd >= 0 || !outbox_is_mine(&k->outbox))
		loop_attend(k->loop);
}

void runtime_save(struct killick *k)
{
	if (!eras_is_new(&k->eras))
		return;
	k->inside++;
	loop_unlock(k->loop);
	eras_save(&k->eras, k->loop);
	loop_lock(k->loop);
	runtime_step_out(k);
}

struct workers *runtime_workers(struct killick *k)
{
	if (!k->workers && workers_new(k->loop, FILE_THREADS, &k->workers, NULL) < 0)
		return NULL;
	return k->workers;
}

static bool runtime_is_told(void *ctx)
{
	return ((struct waiter *)ctx)->told;
}

void waiter_wait(struct killick *k, struct waiter *w)
{
	runtime_wait(k, runtime_is_told, w, INT64_MAX);
}

void waiter_tell(struct killick *k, struct waiter *w)
{
	assert(!w->told);
	w->told = true;
	loop_notify(k->loop);
}

bool runtime_sweeps(struct killick *k)
{
	int64_t now_us = loop_now_us();

	if (k->swept_us && now_us - k->swept_us < SWEEP_US)
		return false;
	k->swept_us = now_us;
	return true;
}

const char *const runtime_state_names[] = {
	[RUNTIME_OPEN] = "open",
	[RUNTIME_CLOSING] = "closing",
	[RUNTIME_CLOSED] = "closed",
};

void runtime_go(struct killick *k, enum runtime_state to, const char *why)
{
	if (to == k->state)
		return;
	TRACE(TRACE_SESSION, "runtime: %s -> %s (%s)", runtime_state_names[k->state],
	      runtime_state_names[to], why);
	k->state = to;
}
