/* owner.c - see owner.h */
#include "executor/owner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/random.h"
#include "base/trace.h"
#include "executor/connection.h"
#include "executor/executor_internal.h"
#include "executor/files.h"
#include "executor/process.h"

#define IDLE_AWAY_MAX 1024 /* owners that are away and have no process */
#define SILENT_MS     2000 /* of silence; then another connection may take over */
#define LOST_GRACE_MS 500  /* between SIGTERM and SIGKILL, when the owner is gone */
#define PATIENCE_MS   2000 /* for a returned owner to ask for missed output */

/* An owner has no state variable: its state follows from its members. */
static const char *owner_state_name(const struct owner *o)
{
	return o->ended ? "ended" : o->connection ? "attached" : "away";
}

static void owner_trace(const struct owner *o, const char *from, const char *why)
{
	TRACE(TRACE_EXECUTOR, "owner %u client=%s: %s -> %s (%s)", o->number, o->client, from,
	      owner_state_name(o), why);
}

static void make_id(char out[OWNER_ID_SIZE])
{
	unsigned char b[16];

	/* a client that knows the id gets the processes: the id must not be guessed */
	random_fill(b, sizeof(b));
	b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
	b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
	snprintf(out, OWNER_ID_SIZE,
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
		 b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
		 b[15]);
}

struct owner *owner_new(struct executor *x, struct json client, struct json label)
{
	struct owner *o = mem_grow(NULL, 1, sizeof(*o));
	size_t used;

	*o = (struct owner){ .executor = x,
			     .number = ++x->last_number,
			     .files = files_share_new() };
	make_id(o->id);
	json_string_into(client, o->client, sizeof(o->client));
	used = strlen(o->client);
	if (json_type(label) == JSON_STRING && used + 2 < sizeof(o->client)) {
		o->client[used++] = ' ';
		json_string_into(label, o->client + used, sizeof(o->client) - used);
	}
	ring_init(&o->processes);
	ring_init(&o->due);
	ring_init(&o->closed);
	ring_add(&x->owners, &o->in_executor);
	return o;
}

struct owner *owner_find(struct executor *x, struct json id)
{
	RING_EACH(at, &x->owners) {
		struct owner *o = CONTAINER_OF(at, struct owner, in_executor);

		if (!o->ended && json_is(id, o->id))
			return o;
	}
	return NULL;
}

static void stop_counting(struct owner *o)
{
	assert(!o->idle_away || o->executor->idle_away > 0);
	if (o->idle_away)
		o->executor->idle_away--;
	o->idle_away = false;
}

/* The owner did not ask for the output that it missed. */
static void on_patience(struct loop_timer *t)
{
	struct owner *o = CONTAINER_OF(t, struct owner, patience);

	assert(o->connection);
	RING_EACH(at, &o->processes)
		process_caught_up(CONTAINER_OF(at, struct process, in_owner));
	owner_push(o); /* after the loop, because a push may free another process */
}

void owner_attach(struct owner *o, struct connection *c)
{
	assert(!o->connection && !o->ended && !c->owner);
	stop_counting(o);
	loop_timer_stop(o->executor->loop, &o->lease);
	o->connection = c;
	c->owner = o;
	owner_trace(o, "away", "initialize");
	RING_EACH(at, &o->processes)
		process_resume(CONTAINER_OF(at, struct process, in_owner));
	if (!ring_is_empty(&o->processes))
		loop_timer_set(o->executor->loop, &o->patience, PATIENCE_MS, on_patience);
}

bool owner_yields(struct owner *o)
{
	struct connection *c = o->connection;
	int64_t silent_us = loop_now_us() - channel_heard_us(c->channel);
	bool ended = c->state == CONNECTION_ENDED || c->mute;

	assert(c->owner == o);
	if (c->last || (!ended && silent_us < (int64_t)SILENT_MS * 1000))
		return false;
	connection_drop(c, "another connection resumed the session");
	owner_detach(o, loop_now_us());
	return true;
}

/* End owners that are away and have no process until IDLE_AWAY_MAX are left. The owner that has
 * been away longest ends first. */
static void crowd_out(struct executor *x)
{
	RING_EACH(at, &x->owners) {
		struct owner *o = CONTAINER_OF(at, struct owner, in_executor);

		if (x->idle_away <= IDLE_AWAY_MAX)
			return;
		if (o->idle_away)
			owner_end(o, 0);
	}
}

static void on_lease(struct loop_timer *t)
{
	struct owner *o = CONTAINER_OF(t, struct owner, lease);

	assert(!o->connection && !o->ended); /* the lease of an attached owner does not run */
	executor_log(o->executor, "event=lease client=%s ms=%lld", executor_quote(o->client),
		     (long long)((loop_now_us() - o->away_us) / 1000));
	owner_end(o, LOST_GRACE_MS);
}

void owner_detach(struct owner *o, int64_t heard_us)
{
	struct executor *x = o->executor;
	struct connection *c = o->connection;
	int64_t left;

	assert(c && c->owner == o);
	c->owner = NULL;
	o->connection = NULL;
	loop_timer_stop(x->loop, &o->patience);
	o->away_us = heard_us;
	if (o->ended)
		return;
	owner_trace(o, "attached", "its connection ended");
	if (c->last || x->closing) {
		owner_end(o, LOST_GRACE_MS);
		return;
	}
	/* owners that are away are in the order in which they left */
	ring_remove(&o->in_executor);
	ring_add(&x->owners, &o->in_executor);
	left = x->o.lease_ms - (loop_now_us() - heard_us) / 1000;
	loop_timer_set(x->loop, &o->lease, left > 0 ? left : 0, on_lease);
	if (ring_is_empty(&o->processes)) {
		o->idle_away = true;
		x->idle_away++;
		crowd_out(x);
	}
}

int64_t owner_lease_ms(const struct owner *o)
{
	int64_t left;

	if (o->connection)
		return -1;
	left = o->executor->o.lease_ms - (loop_now_us() - o->away_us) / 1000;
	return left > 0 && !o->ended ? left : 0;
}

void owner_end(struct owner *o, unsigned grace_ms)
{
	const char *from = owner_state_name(o);

	if (o->ended)
		return;
	o->ended = true;
	owner_trace(o, from, "its processes are ended");
	stop_counting(o);
	loop_timer_stop(o->executor->loop, &o->lease);
	/* the last call may free the owner; a process whose link is open stays in the ring */
	RING_EACH(at, &o->processes) {
		bool last = at_next == &o->processes;

		process_abandon(CONTAINER_OF(at, struct process, in_owner), grace_ms);
		if (last)
			return;
	}
	owner_settle(o);
}

void owner_settle(struct owner *o)
{
	struct executor *x = o->executor;

	if (!o->ended || o->connection || !ring_is_empty(&o->processes))
		return;
	assert(!o->idle_away && ring_is_empty(&o->due) && ring_is_empty(&o->closed));
	executor_log(x, "event=gone client=%s", executor_quote(o->client));
	ring_remove(&o->in_executor);
	if (o->on_gone)
		o->on_gone(o->on_gone_ctx);
	files_share_leave(o->files);
	free(o);
	executor_settle(x);
}

void owner_due(struct owner *o, struct process *p)
{
	if (!ring_is_in(&p->due))
		ring_add(&o->due, &p->due);
}

void owner_push(struct owner *o)
{
	struct connection *c = o->connection;
	struct ring *first;

	while (c && connection_has_room(c) && (first = ring_first(&o->due)) != NULL) {
		struct process *p = CONTAINER_OF(first, struct process, due);

		ring_remove(&p->due);
		if (process_push(p, c))
			ring_add(&o->due, &p->due);
	}
}
