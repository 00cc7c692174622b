/* runtime.c - functions of killick.h: a runtime, from killick_open to killick_free. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "killick/killick.h"
#include "api/sized.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/trace.h"
#include "os/poller.h"
#include "session/runtime.h"
#include "session/session.h"
#include "session/site.h"

#define STARTING_MAX  16
#define SITES_US      1000000 /* how long killick_free waits for given-up sites to end */
#define CATALOGUE_US  1000000 /* for the last changes; its folder may hang */
#define CALLBACK_US   5000000 /* how long killick_free waits for a callback that runs */
#define MESSAGE_LIMIT (64u << 20)
#define MESSAGE_MAX   (BUF_ANY_SIZE / 8) /* some buffers hold several messages */

static char *runtime_copy_text(const char *text, const char *otherwise)
{
	if (!text)
		text = otherwise;
	return mem_text(text, strlen(text));
}

static void runtime_destroy(struct killick *k)
{
	catalogue_done(&k->catalogue);
	eras_done(&k->eras);
	gate_memory_done(&k->askers);
	endings_done(&k->endings);
	outbox_done(&k->outbox);
	free(k->keeper);
	free(k->client_name);
	free(k->client_version);
	spare_done(&k->calls);
	origin_done(&k->origin);
	free(k);
}

static int runtime_open_loop(struct killick *k, struct err *e)
{
	int r = loop_open(&k->loop, NULL, NULL, e);

	if (r < 0 || k->outbox.fd < 0)
		return r;
	r = loop_host_open(k->loop, &k->outbox.bell);
	if (r < 0) {
		err_set(e, r, "cannot make a descriptor for the host's loop: %s%s", strerror(-r),
			err_next(r));
		loop_close(k->loop);
	}
	return r;
}

int killick_open(const struct killick_options *options, struct killick **out,
		 struct killick_error *e)
{
	static const struct sized_name name = { "killick_options", "KILLICK_OPTIONS" };
	struct killick_options o = KILLICK_OPTIONS();
	struct err why = ERR_INIT;
	struct killick *k;
	char *keeper = NULL;

	trace_init();
	if (!out)
		return error_set(e, KILLICK_ERR_USAGE,
				 "out is NULL: it must point to the place for the runtime");
	if (options && sized_read(&o, sizeof(o), options, &name, e) < 0)
		return KILLICK_ERR_USAGE;
	if (link_keeper_path(o.keeper, &keeper, &why) < 0)
		return error_set(e, KILLICK_ERR_SYSTEM, "%s", why.text);
	k = mem_grow(NULL, 1, sizeof(*k));
	*k = (struct killick){
		.keeper = keeper,
		.client_name = runtime_copy_text(o.client_name, "killick"),
		.client_version = runtime_copy_text(o.client_version, KILLICK_VERSION),
		.message_limit = o.message_limit ? o.message_limit : MESSAGE_LIMIT,
		.pulls = o.dispatch == KILLICK_DISPATCH_PULL,
	};
	if (k->message_limit > MESSAGE_MAX)
		k->message_limit = MESSAGE_MAX;
	origin_init(&k->origin);
	ring_init(&k->sessions);
	ring_init(&k->sites);
	pool_init(&k->pool, o.starting ? o.starting : STARTING_MAX);
	eras_init(&k->eras, o.cache_dir);
	catalogue_init(&k->catalogue, o.cache_dir);
	if (outbox_init(&k->outbox, o.dispatch != KILLICK_DISPATCH_THREAD, &why) < 0 ||
	    runtime_open_loop(k, &why) < 0) {
		runtime_destroy(k);
		return error_set(e, KILLICK_ERR_SYSTEM, "%s", why.text);
	}
	k->outbox.loop = k->loop;
	k->outbox.origin = &k->origin;
	*out = k;
	return 0;
}

int killick_fd(const struct killick *k)
{
	/* where pollers do not nest (Windows), hosts wait for killick_handle */
	return k && POLLER_NESTS ? loop_host_fd(k->loop) : -1;
}

int killick_dispatch(struct killick *k, struct killick_error *e)
{
	int ran;

	if (!k || k->outbox.fd < 0 || k->pulls)
		return error_set(e, KILLICK_ERR_USAGE,
				 k ? "the runtime was not opened with KILLICK_DISPATCH_HOST"
				   : "k is NULL: give the runtime");
	ran = origin_is_here(&k->origin) ? outbox_run(&k->outbox) : -1;
	return ran < 0 ? error_set(e, KILLICK_ERR_FORKED, "%s", RUNTIME_FORKED) : ran;
}

/* With the lock: begin to close every session. */
static void runtime_begin_close(struct killick *k)
{
	runtime_go(k, RUNTIME_CLOSING, "close");
	RING_EACH(r, &k->sessions) {
		struct killick_session *s = CONTAINER_OF(r, struct killick_session, in_runtime);
		struct job *j;

		if (s->state == SESSION_CLOSED)
			continue;
		j = job_new(s, JOB_CLOSE);
		j->for_runtime = true;
		session_close(s, j);
	}
}

/* Are all sessions closed and all sites ended? A site may have started a program to connect to its
 * environment, and this process has to end, too. */
static bool is_all_closed(void *ctx)
{
	const struct killick *k = ctx;

	return k->open_sessions == 0 && !sites_are_leaving(k);
}

static bool is_closed(void *ctx)
{
	return ((struct killick *)ctx)->state == RUNTIME_CLOSED;
}

/* Have all threads of the host left the library, except those that can never be woken, and is every
 * site freed or given up? An abandoned link to an executor ends in bounded time, and its site ends
 * after the link. */
static bool is_left_by_all(void *ctx)
{
	const struct killick *k = ctx;

	return k->inside <= loop_strays(k->loop) && sites_are_left(k);
}

static bool has_no_site(void *ctx)
{
	return ring_is_empty(&((struct killick *)ctx)->sites);
}

int killick_close(struct killick *k, struct killick_report **out_report, struct killick_error *e)
{
	struct endings none = { .count = 0 };
	int64_t began_us = loop_now_us();
	bool first;
	int r;

	if (!k)
		return error_set(e, KILLICK_ERR_USAGE, "k is NULL: give the runtime");
	r = runtime_enter_blocking(k, e);
	if (r < 0)
		return r;
	first = k->state == RUNTIME_OPEN;
	if (first)
		runtime_begin_close(k);
	runtime_wait(k, first ? is_all_closed : is_closed, k, INT64_MAX);
	assert(!first || (ring_is_empty(&k->pool.servers) && k->pool.starting == 0));
	runtime_go(k, RUNTIME_CLOSED, "every session is closed");
	loop_notify(k->loop);
	if (out_report)
		*out_report = report_new(first ? &k->endings : &none, began_us);
	runtime_save(k);
	runtime_leave(k);
	return 0;
}

/* Every session is closed and no callback is left: stop the threads, free the memory. */
static void runtime_free(void *ctx)
{
	struct killick *k = ctx;

	outbox_stop(&k->outbox);
	loop_lock(k->loop);
	loop_wait(k->loop, is_left_by_all, k, INT64_MAX);
	loop_wait(k->loop, has_no_site, k, loop_now_us() + SITES_US);
	/* The memory must stay if a keeper does not answer, because a late answer needs the loop;
	 * or if a thread of the host never returns, because the host has closed the descriptors
	 * that the thread waits for. */
	if (!has_no_site(k) || k->inside > 0) {
		loop_unlock(k->loop);
		return;
	}
	RING_EACH(r, &k->sessions)
		session_free(CONTAINER_OF(r, struct killick_session, in_runtime));
	pool_done(k);
	catalogue_flush(&k->catalogue);
	loop_wait(k->loop, catalogue_is_saved, &k->catalogue, loop_now_us() + CATALOGUE_US);
	catalogue_done(&k->catalogue); /* before the loop, which has its timer */
	if (k->workers)
		workers_free(k->workers);
	runtime_save(k);
	loop_unlock(k->loop);
	loop_close(k->loop);
	runtime_destroy(k);
}

static bool runtime_is_idle(void *ctx)
{
	return outbox_is_idle(&((struct killick *)ctx)->outbox);
}

/* With the lock: wait until no callback runs or waits. False: one callback has run for
 * CALLBACK_US. */
static bool runtime_drain(struct killick *k)
{
	uint64_t before;
	bool idle;

	do {
		before = k->outbox.ran;
		idle = runtime_wait_for_callbacks(k, runtime_is_idle, k,
						  loop_now_us() + CALLBACK_US);
	} while (!idle && k->outbox.ran != before);
	return idle;
}

void killick_free(struct killick *k)
{
	bool idle;

	/* In a callback killick_close fails, because it would wait for the end of this callback.
	 * The host must not call killick_free there; the memory is leaked then. */
	if (!k || killick_close(k, NULL, NULL) < 0)
		return;
	while (k->outbox.fd >= 0 && outbox_run(&k->outbox) > 0)
		;
	loop_lock(k->loop);
	idle = runtime_drain(k);
	if (!idle)
		outbox_abandon(&k->outbox, runtime_free, k);
	loop_unlock(k->loop);
	if (idle)
		runtime_free(k);
}
