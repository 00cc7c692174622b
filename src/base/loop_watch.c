/* loop_watch.c - watched descriptors, and descriptors that the host has closed; see loop.h */
#include <assert.h>

#include "base/loop_internal.h"
#include "base/mem.h"
#include "os/thread.h"

/* --- watches --- */

static uint32_t find_slot(struct loop *l)
{
	uint32_t i = l->free_hint;

	while (i < l->slot_count && l->slots[i].watch)
		i++;
	if (i == l->slot_count) {
		l->slot_count = l->slot_count ? 2 * l->slot_count : 16;
		l->slots = mem_grow(l->slots, l->slot_count, sizeof(*l->slots));
		for (uint32_t k = i; k < l->slot_count; k++)
			l->slots[k] = (struct slot){ .uses = l->cookie };
	}
	l->free_hint = i + 1;
	return i;
}

static uint64_t loop_watch_data(const struct loop *l, const struct loop_watch *w)
{
	return (uint64_t)l->slots[w->slot].uses << 32 | w->slot;
}

static int loop_watch_add(struct loop *l, const struct loop_watch *w)
{
	return poller_add(l->poller, w->fd, w->events, loop_watch_data(l, w));
}

static int loop_watch_renew(struct loop *l, const struct loop_watch *w)
{
	return poller_change(l->poller, w->fd, w->events, loop_watch_data(l, w));
}

static void release_slot(struct loop *l, uint32_t slot)
{
	l->slots[slot].watch = NULL;
	l->slots[slot].uses++;
	if (slot < l->free_hint)
		l->free_hint = slot;
}

int loop_watch(struct loop *l, struct loop_watch *w, int fd, uint32_t events,
	       void (*on_ready)(struct loop_watch *w, uint32_t events))
{
	int r;

	assert(fd >= 0 && events);
	*w = (struct loop_watch){ .fd = fd,
				  .events = events,
				  .slot = find_slot(l),
				  .on_ready = on_ready,
				  .id = own_of(fd) };
	l->slots[w->slot].watch = w;
	r = loop_watch_add(l, w);
	if (r < 0) {
		release_slot(l, w->slot);
		w->fd = -1;
	}
	return r;
}

int loop_watch_change(struct loop *l, struct loop_watch *w, uint32_t events)
{
	assert(w->fd >= 0 && events && l->slots[w->slot].watch == w);
	if (w->events == events)
		return 0;
	w->events = events;
	return loop_watch_renew(l, w);
}

void loop_watch_stop(struct loop *l, struct loop_watch *w)
{
	if (w->fd < 0)
		return;
	assert(l->slots[w->slot].watch == w);
	if (l->hot == w)
		l->hot = NULL;
	poller_remove(l->poller, w->fd);
	release_slot(l, w->slot);
	w->fd = -1;
}

void loop_expect(struct loop *l, struct loop_watch *w)
{
	l->hot = w && w->fd >= 0 && w->on_guess ? w : NULL;
}

bool loop_run_watch(struct loop *l, const struct poller_event *ev)
{
	uint64_t data = poller_event_data(ev);
	uint32_t slot = (uint32_t)data, uses = (uint32_t)(data >> 32);
	struct loop_watch *w = slot < l->slot_count ? l->slots[slot].watch : NULL;

	if (!w || l->slots[slot].uses != uses)
		return false;
	if (w->on_guess)
		l->hot = w;
	w->on_ready(w, poller_event_events(ev));
	return true;
}

static void on_woken(struct loop_watch *w, uint32_t events)
{
	(void)events;
	bell_hush(&CONTAINER_OF(w, struct loop, wake)->bell);
}

/* --- descriptors that the host has closed --- */

static void loop_on_lost(struct loop_timer *t)
{
	struct loop *l = CONTAINER_OF(t, struct loop, lost);

	for (uint32_t i = 0; i < l->slot_count; i++) {
		struct loop_watch *w = l->slots[i].watch;

		if (!w || !w->lost)
			continue;
		w->lost = false;
		w->on_ready(w, POLLER_ERR | POLLER_HUP);
	}
}

static void loop_watch_anew(struct loop *l, struct loop_watch *w)
{
	w->lost = !loop_watch_is_ours(w) || loop_watch_add(l, w) < 0;
	if (w->lost && !l->lost.slot)
		loop_timer_set(l, &l->lost, 0, loop_on_lost);
}

int loop_make_descriptors(struct loop *l)
{
	int r = bell_init(&l->bell);

	if (r < 0)
		return r;
	l->poller = r = poller_open();
	if (r >= 0)
		r = loop_watch(l, &l->wake, l->bell.out, POLLER_IN, on_woken);
	if (r == 0)
		return 0;
	fd_drop(&l->poller);
	bell_done(&l->bell);
	return r;
}

static void loop_man(struct loop *l)
{
	if (l->unmanned)
		l->unmanned = thread_start(&l->thread, THREAD_OURS, "killick", loop_thread, l) < 0;
}

/* The driver waits in a poller that nothing can wake any more. */
static void loop_leave_driver(struct loop *l)
{
	enum loop_seat who = l->seat;

	loop_seat_go(l, SEAT_FREE);
	l->strays++;
	if (who == SEAT_OWN) {
		thread_detach(&l->thread);
		l->unmanned = true;
	} else if (who == SEAT_LENT) {
		l->lender->on_lost(l->lender->ctx);
	}
}

static bool loop_is_whole(struct loop *l)
{
	/* our bell is registered in our poller only */
	return l->poller >= 0 && bell_is_ours(&l->bell) && loop_watch_renew(l, &l->wake) == 0;
}

/* The old poller is not closed, because its number may belong to the host by now. */
void loop_repair(struct loop *l)
{
	if (l->repairing)
		return;
	l->repairing = true;
	l->generation++;
	if (l->wake.fd >= 0)
		release_slot(l, l->wake.slot);
	l->wake.fd = -1;
	bell_done(&l->bell);
	l->poller = -1;
	l->host_joined = false;
	l->hot = NULL;
	if (l->seat != SEAT_FREE)
		loop_leave_driver(l);
	if (loop_make_descriptors(l) == 0)
		for (uint32_t i = 0; i < l->slot_count; i++)
			if (l->slots[i].watch && l->slots[i].watch != &l->wake)
				loop_watch_anew(l, l->slots[i].watch);
	loop_man(l);
	cond_broadcast(&l->news);
	l->repairing = false;
}

void loop_check(struct loop *l)
{
	if (!loop_is_whole(l))
		loop_repair(l);
}

unsigned loop_strays(const struct loop *l)
{
	return l->strays;
}
