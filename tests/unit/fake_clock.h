/* fake_clock.h - a clock that stands still, and the loop's timers on it.
 *
 * Included once per program: it has the loop's functions in it, so that loop.c is not linked.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"

#define FAKE_TIMERS 1024
static int64_t fake_now_us = 1000000;
static struct loop_timer *fake_timers[FAKE_TIMERS];

int64_t loop_now_us(void)
{
	return fake_now_us;
}

int64_t loop_read_clock(struct loop *l)
{
	(void)l;
	return fake_now_us;
}

void loop_timer_stop(struct loop *l, struct loop_timer *t)
{
	(void)l;
	if (t->slot)
		fake_timers[t->slot - 1] = NULL;
	t->slot = 0;
}

void loop_timer_set(struct loop *l, struct loop_timer *t, int64_t delay_ms,
		    void (*on_time)(struct loop_timer *t))
{
	size_t i = 0;

	assert(delay_ms >= 0);
	loop_timer_stop(l, t);
	while (i < FAKE_TIMERS && fake_timers[i])
		i++;
	assert(i < FAKE_TIMERS);
	fake_timers[i] = t;
	t->slot = i + 1;
	t->due_us = fake_now_us + delay_ms * 1000;
	t->on_time = on_time;
}

static inline size_t fake_timer_count(void)
{
	size_t n = 0;

	for (size_t i = 0; i < FAKE_TIMERS; i++)
		n += fake_timers[i] != NULL;
	return n;
}

/* Run the first timer that is due until then, if there is one. */
static inline bool fake_fire(int64_t until_us)
{
	struct loop_timer *first = NULL;

	for (size_t i = 0; i < FAKE_TIMERS; i++)
		if (fake_timers[i] && (!first || fake_timers[i]->due_us < first->due_us))
			first = fake_timers[i];
	if (!first || first->due_us > until_us)
		return false;
	if (first->due_us > fake_now_us)
		fake_now_us = first->due_us;
	loop_timer_stop(NULL, first);
	first->on_time(first);
	return true;
}

/* Let time go by. */
static inline void fake_pass(int64_t ms)
{
	int64_t until = fake_now_us + ms * 1000;
	int fired = 0;

	for (; fake_fire(until); fired++)
		assert(fired < 100000); /* one that fires for ever is seen */
	fake_now_us = until;
}
