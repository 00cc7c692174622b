/* outbox.c - see outbox.h */
#include "session/outbox.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

int outbox_init(struct outbox *o, bool for_host, struct err *e)
{
	*o = (struct outbox){ .fd = -1 };
	o->last = &o->first;
	if (for_host) {
		o->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (o->fd < 0)
			return err_set(e, -errno, "cannot make an eventfd: %s", strerror(errno));
	}
	return 0;
}

void outbox_done(struct outbox *o)
{
	assert(!o->first && !o->busy);
	if (o->fd >= 0)
		close(o->fd);
}

void outbox_put(struct outbox *o, struct outbox_item *i)
{
	bool was_empty = !o->first;
	uint64_t one = 1;

	assert(i->kind && !i->next && o->last != &i->next);
	assert(!i->kind->is_wanted == !i->subject);
	*o->last = i;
	o->last = &i->next;
	__atomic_store_n(&o->any, true, __ATOMIC_RELEASE);
	if (o->fd >= 0) {
		if (was_empty)
			(void)!write(o->fd, &one, sizeof(one));
	} else if (was_empty && !loop_is_mine(o->loop)) {
		loop_wake(o->loop);
	}
}

bool outbox_is_mine(const struct outbox *o)
{
	return o->busy && pthread_equal(o->who, pthread_self());
}

struct quiet {
	const struct outbox *o;
	const void *subject;
};

static bool is_quiet(void *ctx)
{
	const struct quiet *q = ctx;

	return !q->o->busy || q->o->subject != q->subject;
}

void outbox_quiet(struct outbox *o, const void *subject)
{
	if (!outbox_is_mine(o) && !is_quiet(&(struct quiet){ o, subject }))
		loop_wait(o->loop, is_quiet, &(struct quiet){ o, subject }, INT64_MAX);
}

static bool is_flushed(void *ctx)
{
	const struct outbox *o = ctx;

	return !o->busy && !o->first;
}

void outbox_flush(struct outbox *o)
{
	assert(!outbox_is_mine(o) && o->fd < 0);
	loop_wait(o->loop, is_flushed, o, INT64_MAX);
}

static bool begin_item(struct outbox *o, struct outbox_item *i)
{
	bool wanted;

	loop_lock(o->loop);
	wanted = i->kind->is_wanted(i);
	if (wanted)
		o->subject = i->subject;
	loop_unlock(o->loop);
	return wanted;
}

static void end_item(struct outbox *o)
{
	loop_lock(o->loop);
	o->subject = NULL;
	loop_notify(o->loop);
	loop_unlock(o->loop);
}

static void run_item(struct outbox *o, struct outbox_item *i)
{
	if (!i->kind->is_wanted) {
		i->kind->run(i);
	} else if (begin_item(o, i)) {
		i->kind->run(i);
		end_item(o);
	}
}

/* All that waits now; later ones wait for the next turn, so that callbacks which cause callbacks do
 * not keep the loop from its work. */
static struct outbox_item *take_all(struct outbox *o)
{
	struct outbox_item *list = o->first;
	uint64_t count;

	if (o->fd >= 0)
		(void)!read(o->fd, &count, sizeof(count));
	o->first = NULL;
	o->last = &o->first;
	__atomic_store_n(&o->any, false, __ATOMIC_RELEASE);
	return list;
}

int outbox_run(struct outbox *o)
{
	struct outbox_item *list, *next;
	int count = 0;

	/* Asked every turn, mostly in vain; who puts an item afterwards makes the loop turn again.
	 */
	if (!__atomic_load_n(&o->any, __ATOMIC_ACQUIRE))
		return 0;
	loop_lock(o->loop);
	if (o->busy || !o->first) {
		loop_unlock(o->loop);
		return 0;
	}
	list = take_all(o);
	o->busy = true;
	o->who = pthread_self();
	loop_unlock(o->loop);
	for (struct outbox_item *i = list; i; i = i->next, count++)
		run_item(o, i);
	loop_lock(o->loop);
	for (struct outbox_item *i = list; i; i = next) {
		next = i->next;
		i->next = NULL;
		i->kind->done(i);
	}
	o->busy = false;
	if (o->first && o->fd < 0)
		loop_wake(o->loop);
	loop_notify(o->loop);
	loop_unlock(o->loop);
	return count;
}
