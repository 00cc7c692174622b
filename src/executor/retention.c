/* retention.c - see retention.h */
#include "executor/retention.h"

#include <assert.h>

#include "executor/executor_internal.h"
#include "executor/owner.h"
#include "executor/process.h"
#include "wire/wire.h"

#define ARRIVED_MS 30000 /* then a push has arrived: TCP gives up after 20 s without an ACK */
#define AGAIN_MS   20
#define SPARE      (4u << 20) /* bytes that are freed at once, so that searches are rare */
#define SAY_US     10000000   /* between two lines about it in the log */

static struct retention *retention_of(const struct process *p)
{
	return &p->owner->executor->retention;
}

void retention_init(struct retention *t, struct loop *loop, size_t limit)
{
	*t = (struct retention){ .loop = loop, .limit = limit };
	ring_init(&t->pushed);
	ring_init(&t->starved);
}

void retention_done(struct retention *t)
{
	assert(!t->bytes && ring_is_empty(&t->pushed) && ring_is_empty(&t->starved));
	loop_timer_stop(t->loop, &t->again);
}

void retention_count(struct process *p)
{
	struct retention *t = retention_of(p);
	size_t now = output_memory(&p->output);

	assert(t->bytes >= p->retained.bytes);
	t->bytes = t->bytes - p->retained.bytes + now;
	p->retained.bytes = now;
}

/* The distance between the marks is chosen so that the oldest mark covers all output that may still
 * be on its way. */
void retention_pushed(struct process *p, size_t len)
{
	struct retained *d = &p->retained;
	struct retention_mark *newest = &d->marks[RETENTION_MARKS - 1];

	p->owner->pushed_bytes += len;
	d->last = (struct retention_mark){ p->owner->pushed_bytes, p->output.pushed_seq };
	d->last_us = loop_now_us();
	if (d->last.at - newest->at >= WIRE_PUSHED_BYTES / (RETENTION_MARKS - 1)) {
		for (int i = 0; i + 1 < RETENTION_MARKS; i++)
			d->marks[i] = d->marks[i + 1];
		*newest = d->last;
	}
	ring_remove(&d->in_pushed);
	ring_add(&retention_of(p)->pushed, &d->in_pushed);
}

/* --- freeing output --- */

static bool retention_has_arrived(const struct process *p, const struct retention_mark *m)
{
	return p->owner->pushed_bytes - m->at >= WIRE_PUSHED_BYTES;
}

/* Returns the last sequence number whose output is not on its way to the owner any more; 0:
 * none. */
static uint64_t retention_arrived(const struct process *p)
{
	const struct retained *d = &p->retained;
	bool long_ago = loop_now_us() - d->last_us >= (int64_t)ARRIVED_MS * 1000;

	if (p->missed) /* its owner is about to read it again */
		return 0;
	if ((p->owner->connection && long_ago) || retention_has_arrived(p, &d->last))
		return d->last.seq;
	for (int i = RETENTION_MARKS; i-- > 0;)
		if (retention_has_arrived(p, &d->marks[i]))
			return d->marks[i].seq;
	return 0;
}

/* Free output to make room for `more` bytes. Returns true if there is room. */
static bool retention_make_room(struct retention *t, size_t more)
{
	size_t enough = t->limit - (t->limit / 8 < SPARE ? t->limit / 8 : SPARE);
	bool any = false;

	if (t->bytes + more <= t->limit)
		return true;
	if (loop_now_us() - t->vain_us < (int64_t)AGAIN_MS * 1000)
		return false;
	RING_EACH(at, &t->pushed) {
		struct process *p = CONTAINER_OF(at, struct process, retained.in_pushed);

		if (output_shed(&p->output, retention_arrived(p))) {
			any = true;
			retention_count(p);
		}
		if (p->output.kept == p->output.unpushed)
			ring_remove(&p->retained.in_pushed);
		if (t->bytes + more <= enough)
			break;
	}
	if (!any)
		t->vain_us = loop_now_us();
	return t->bytes + more <= t->limit;
}

/* --- waiting --- */

static void retention_on_again(struct loop_timer *timer);

static void retention_wait(struct retention *t)
{
	if (!ring_is_empty(&t->starved) && !t->again.slot)
		loop_timer_set(t->loop, &t->again, AGAIN_MS, retention_on_again);
}

/* Resume as many starved processes as have room for one chunk each; at least one, if there is any
 * room. */
static void retention_on_again(struct loop_timer *timer)
{
	struct retention *t = CONTAINER_OF(timer, struct retention, again);
	struct ring *first;
	size_t bytes;

	retention_make_room(t, WIRE_CHUNK_MAX);
	for (bytes = t->bytes; bytes <= t->limit && (first = ring_first(&t->starved)) != NULL;
	     bytes += WIRE_CHUNK_MAX) {
		ring_remove(first);
		process_read_on(CONTAINER_OF(first, struct process, retained.in_starved));
	}
	retention_wait(t);
}

static void retention_say(struct retention *t)
{
	int64_t now = loop_now_us();

	if (t->said_us && now - t->said_us < SAY_US)
		return;
	t->said_us = now;
	executor_log(CONTAINER_OF(t, struct executor, retention),
		     "event=short-of-memory output=%zu limit=%zu option=--max-output", t->bytes,
		     t->limit);
}

void retention_check(struct process *p)
{
	struct retention *t = retention_of(p);

	if (ring_is_in(&p->retained.in_starved) || retention_make_room(t, 0))
		return;
	ring_add(&t->starved, &p->retained.in_starved);
	retention_say(t);
	retention_wait(t);
}

void retention_forget(struct process *p)
{
	retention_count(p);
	assert(!p->retained.bytes);
	ring_remove(&p->retained.in_pushed);
	ring_remove(&p->retained.in_starved);
}
