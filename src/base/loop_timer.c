/* loop_timer.c - timers, and tasks for the end of a turn; see loop.h */
#include <assert.h>

#include "base/loop_internal.h"
#include "base/mem.h"

/* --- timers: a binary heap; each timer stores its index --- */

static void heap_put(struct loop *l, size_t slot, struct loop_timer *t)
{
	l->heap[slot] = t;
	t->slot = slot;
}

static void heap_up(struct loop *l, size_t slot, struct loop_timer *t)
{
	for (; slot > 1 && l->heap[slot / 2]->due_us > t->due_us; slot /= 2)
		heap_put(l, slot, l->heap[slot / 2]);
	heap_put(l, slot, t);
}

static void heap_down(struct loop *l, size_t slot, struct loop_timer *t)
{
	size_t child;

	while ((child = 2 * slot) <= l->heap_count) {
		if (child < l->heap_count && l->heap[child + 1]->due_us < l->heap[child]->due_us)
			child++;
		if (l->heap[child]->due_us >= t->due_us)
			break;
		heap_put(l, slot, l->heap[child]);
		slot = child;
	}
	heap_put(l, slot, t);
}

void loop_timer_stop(struct loop *l, struct loop_timer *t)
{
	struct loop_timer *last;
	size_t slot = t->slot;

	if (!slot)
		return;
	assert(l->heap[slot] == t);
	last = l->heap[l->heap_count--];
	t->slot = 0;
	if (last == t)
		return;
	if (slot > 1 && l->heap[slot / 2]->due_us > last->due_us)
		heap_up(l, slot, last);
	else
		heap_down(l, slot, last);
}

void loop_timer_set(struct loop *l, struct loop_timer *t, int64_t delay_ms,
		    void (*on_time)(struct loop_timer *t))
{
	assert(delay_ms >= 0);
	loop_timer_stop(l, t);
	if (l->heap_count + 2 > l->heap_room) {
		l->heap_room = l->heap_room ? 2 * l->heap_room : 16;
		l->heap = mem_grow(l->heap, l->heap_room, sizeof(*l->heap));
	}
	t->on_time = on_time;
	t->due_us = loop_now_us() + delay_ms * 1000;
	heap_up(l, ++l->heap_count, t);
	if (l->seat == SEAT_OWN && t->due_us < l->seat_until_us)
		loop_kick(l);
	else if (t->due_us < l->own.until_us)
		cond_signal(&l->own.woken);
}

bool loop_run_timers(struct loop *l)
{
	int64_t now;
	bool any = false;

	if (!l->heap_count)
		return false;
	now = loop_now_us();
	while (l->heap_count && l->heap[1]->due_us <= now) {
		struct loop_timer *t = l->heap[1];

		loop_timer_stop(l, t);
		t->on_time(t);
		any = true;
	}
	return any;
}

int64_t loop_first_timer(const struct loop *l)
{
	return l->heap_count ? l->heap[1]->due_us : NEVER;
}

/* --- tasks --- */

bool loop_later(struct loop *l, struct loop_task *t, void (*fn)(struct loop_task *t))
{
	/* while a turn runs handlers, only its thread has the lock */
	if (!l->turning && !loop_is_mine(l) && !(l->batching && thread_is_self(&l->batcher)))
		return false;
	if (ring_is_in(&t->in_loop))
		return true;
	t->fn = fn;
	ring_add(&l->tasks, &t->in_loop);
	return true;
}

void loop_task_stop(struct loop_task *t)
{
	ring_remove(&t->in_loop);
}

void loop_run_tasks(struct loop *l)
{
	struct ring *first;

	while ((first = ring_first(&l->tasks)) != NULL) {
		struct loop_task *t = CONTAINER_OF(first, struct loop_task, in_loop);

		loop_task_stop(t);
		t->fn(t);
	}
}

/* A batch that ends in time leaves the timer running: setting the timer for each batch would wake
 * our thread each time. The tasks run right after the timers. */
static void loop_on_batch_late(struct loop_timer *t)
{
	struct loop *l = CONTAINER_OF(t, struct loop, late);

	if (l->batching && l->batch_us + LOOP_BATCH_MS * 1000 > loop_now_us())
		loop_timer_set(l, t, LOOP_BATCH_MS, loop_on_batch_late);
	else
		l->batching = false;
}

void loop_batch_begin(struct loop *l)
{
	assert(!l->batching);
	l->batching = true;
	l->batcher = thread_self();
	l->batch_us = loop_now_us();
	if (!l->late.slot)
		loop_timer_set(l, &l->late, LOOP_BATCH_MS, loop_on_batch_late);
}

void loop_batch_end(struct loop *l)
{
	l->batching = false;
	loop_run_tasks(l);
}
