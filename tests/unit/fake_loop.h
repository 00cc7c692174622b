/* fake_loop.h - a loop of the test: a clock that stands still, and handlers that run only inside
 * world_turn.
 *
 * Included once per program: it has the loop's functions in it, so that loop.c is not linked.
 */
#pragma once

#include <assert.h>
#include <poll.h>
#include <stdbool.h>

#include "base/loop.h"
#include "base/ring.h"
#include "fake_clock.h"

#define FAKE_WATCHES 64
#include "fake_watches.h"

static struct ring fake_tasks;

bool loop_has_process(const struct loop *l)
{
	(void)l;
	return false;
}

void loop_expect(struct loop *l, struct loop_watch *w)
{
	(void)l;
	(void)w;
}

bool loop_later(struct loop *l, struct loop_task *t, void (*fn)(struct loop_task *t))
{
	(void)l;
	t->fn = fn;
	if (!fake_tasks.next)
		ring_init(&fake_tasks);
	if (!ring_is_in(&t->in_loop))
		ring_add(&fake_tasks, &t->in_loop);
	return true;
}

void loop_task_stop(struct loop_task *t)
{
	ring_remove(&t->in_loop);
}

char *loop_scratch(struct loop *l, size_t *out_size)
{
	static char scratch[64 << 10];

	(void)l;
	*out_size = sizeof(scratch);
	return scratch;
}

bool loop_is_mine(const struct loop *l)
{
	(void)l;
	return true;
}

void loop_check(struct loop *l)
{
	(void)l;
}

int64_t loop_last_reading(const struct loop *l)
{
	(void)l;
	return fake_now_us;
}

static bool fake_run_watches(void)
{
	bool ran = false;

	for (size_t i = 0; i < FAKE_WATCHES; i++) {
		struct loop_watch *w = fake_watches[i];
		struct pollfd p = { .fd = w ? w->fd : -1 };
		uint32_t events;

		if (!w)
			continue;
		p.events = (short)((w->events & POLLER_IN ? POLLIN : 0) |
				   (w->events & POLLER_OUT ? POLLOUT : 0));
		if (poll(&p, 1, 0) <= 0)
			continue;
		events = (p.revents & POLLIN ? POLLER_IN : 0) |
			 (p.revents & POLLOUT ? POLLER_OUT : 0) |
			 (p.revents & POLLERR ? POLLER_ERR : 0) |
			 (p.revents & POLLHUP ? POLLER_HUP : 0);
		w->on_ready(w, events);
		ran = true;
	}
	return ran;
}

static bool fake_run_tasks(void)
{
	bool ran = false;

	if (!fake_tasks.next)
		ring_init(&fake_tasks);
	for (struct ring *n; (n = ring_first(&fake_tasks)) != NULL; ran = true) {
		struct loop_task *t = CONTAINER_OF(n, struct loop_task, in_loop);

		ring_remove(n);
		t->fn(t);
	}
	return ran;
}

/* Run handlers until none is due. */
static inline void world_turn(void)
{
	bool ran = true;

	for (int i = 0; ran; i++) {
		assert(i < 100000);
		ran = fake_run_watches();
		ran |= fake_run_tasks();
		ran |= fake_fire(fake_now_us);
	}
}
