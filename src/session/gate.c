/* gate.c - see gate.h */
#include "session/gate.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "session/pool.h"
#include "session/runtime.h"
#include "session/server.h"
#include "session/session.h"

/* --- servers that ask --- */

static bool gate_remembers(const struct gate_memory *m, const char *fingerprint)
{
	for (size_t i = 0; i < m->count; i++)
		if (strcmp(m->list[i], fingerprint) == 0)
			return true;
	return false;
}

void gate_asked(struct server *sv)
{
	struct gate_memory *m = &sv->k->askers;

	sv->gate.asks = true;
	if (gate_remembers(m, sv->fingerprint))
		return;
	if (m->count == m->room) {
		m->room = m->room ? 2 * m->room : 8;
		m->list = mem_grow(m->list, m->room, sizeof(*m->list));
	}
	m->list[m->count++] = mem_dup(sv->fingerprint);
}

void gate_memory_done(struct gate_memory *m)
{
	for (size_t i = 0; i < m->count; i++)
		free(m->list[i]);
	free(m->list);
	*m = (struct gate_memory){ .count = 0 };
}

/* --- limits --- */

static unsigned gate_limit(const struct server *sv)
{
	return sv->gate.asks && sv->holders > 1 ? 1 : GATE_SERVER_MAX;
}

static bool gate_has_room(const struct lease *l)
{
	bool one = l->server->gate.asks && l->session->modern;

	return l->gate.in_flight < (one ? 1 : GATE_LEASE_MAX) &&
	       l->server->gate.in_flight < gate_limit(l->server);
}

static void gate_count(struct lease *l, int change)
{
	assert(change > 0 || (l->gate.in_flight > 0 && l->server->gate.in_flight > 0));
	if (change < 0 || (!l->gate.in_flight && !l->gate.queued))
		l->gate.held_us = server_held_us(l->server);
	l->gate.in_flight += (unsigned)change;
	l->server->gate.in_flight += (unsigned)change;
	if (l->full || l->server->paused)
		server_look_full(l->server);
}

bool gate_enter(struct lease *l)
{
	if (l->gate.queued || !gate_has_room(l))
		return false;
	gate_count(l, 1);
	return true;
}

/* --- queues --- */

void gate_init(struct gate *g, const struct killick *k, const char *fingerprint)
{
	*g = (struct gate){ .asks = gate_remembers(&k->askers, fingerprint) };
	ring_init(&g->turns);
}

void gate_done(struct gate *g, const struct killick *k)
{
	assert(!g->queued);
	loop_timer_stop(k->loop, &g->run);
}

void gate_init_lease(struct gate_lease *g)
{
	*g = (struct gate_lease){ .queued = 0 };
	ring_init(&g->queue);
}

static struct gate_entry *gate_entry_of(struct ring *n)
{
	return CONTAINER_OF(n, struct gate_entry, node);
}

bool gate_wait(struct gate_entry *e)
{
	struct lease *l = e->lease;

	if (l->gate.queued >= GATE_QUEUE_MAX)
		return false;
	if (!l->gate.in_flight && !l->gate.queued)
		l->gate.held_us = server_held_us(l->server);
	ring_add(&l->gate.queue, &e->node);
	if (l->gate.queued++ == 0)
		ring_add(&l->server->gate.turns, &l->gate.in_turns);
	l->server->gate.queued++;
	return true;
}

void gate_forget(struct gate_entry *e)
{
	struct lease *l = e->lease;

	if (!ring_is_in(&e->node))
		return;
	ring_remove(&e->node);
	if (!l) /* gate_fail has counted the entry already */
		return;
	assert(l->gate.queued > 0 && l->server->gate.queued > 0);
	l->server->gate.queued--;
	if (--l->gate.queued == 0)
		ring_remove(&l->gate.in_turns);
}

/* The next lease in turn that may have one more forward in flight; NULL: none. */
static struct lease *gate_next(struct server *sv)
{
	RING_EACH(n, &sv->gate.turns) {
		struct gate_lease *g = CONTAINER_OF(n, struct gate_lease, in_turns);
		struct lease *l = CONTAINER_OF(g, struct lease, gate);

		if (gate_has_room(l))
			return l;
	}
	return NULL;
}

void gate_run(struct server *sv)
{
	struct lease *l;

	while (server_has_client(sv) && !sv->lost && (l = gate_next(sv)) != NULL) {
		struct gate_entry *e;

		assert(!ring_is_empty(&l->gate.queue)); /* a lease in turn has a queue */
		e = gate_entry_of(l->gate.queue.next);
		gate_forget(e);
		if (l->gate.queued) { /* the other leases come first now */
			ring_remove(&l->gate.in_turns);
			ring_add(&sv->gate.turns, &l->gate.in_turns);
		}
		gate_count(l, 1);
		e->go(e);
	}
}

void gate_leave(struct lease *l)
{
	gate_count(l, -1);
	if (l->server->gate.queued)
		gate_run(l->server);
}

static void gate_on_run(struct loop_timer *t)
{
	struct gate *g = CONTAINER_OF(t, struct gate, run);

	gate_run(CONTAINER_OF(g, struct server, gate));
}

void gate_leave_later(struct lease *l)
{
	struct server *sv = l->server;

	gate_count(l, -1);
	if (sv->gate.queued)
		loop_timer_set(sv->k->loop, &sv->gate.run, 0, gate_on_run);
}

void gate_fail(struct server *sv, struct lease *l, int code, const char *text)
{
	struct ring chosen;

	if (!sv->gate.queued)
		return;
	/* `fail` may forget other chosen entries, and may queue new ones */
	ring_init(&chosen);
	RING_EACH(n, &sv->gate.turns) {
		struct gate_lease *g = CONTAINER_OF(n, struct gate_lease, in_turns);

		if (l && g != &l->gate)
			continue;
		RING_EACH(m, &g->queue) {
			gate_forget(gate_entry_of(m));
			gate_entry_of(m)->lease = NULL;
			ring_add(&chosen, m);
		}
	}
	for (struct ring *n; (n = ring_first(&chosen)) != NULL;) {
		ring_remove(n);
		gate_entry_of(n)->fail(gate_entry_of(n), code, text);
	}
}
