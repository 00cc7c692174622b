/* refresh.c - replaces the servers of a session, one by one and without a gap.
 *
 * Servers are compared by name. A server with the same fingerprint, era and sharing stays; it takes
 * over the settings that need no restart. A changed server is started beside the old server and
 * replaces it in the table when the new server is ready or failed; until then calls go to the old
 * server. A running server whose new definition has an error stays as it is, with a warning. Leases
 * on servers that the config no longer names leave at once. The refresh is over when
 * the new servers that the session waits for are settled, and every old tree is proved gone. A
 * refresh waits for the refresh before it; a close does not wait for a refresh.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "session/event.h"
#include "session/pool.h"
#include "session/session.h"

/* Give back a lease that is no longer in the table. */
static void dismiss(struct killick_session *s, struct lease *l, struct job *j)
{
	names_remove(&s->names, lease_name(l));
	names_settle(&s->names);
	l->listed = false;
	lease_leave(l, ENDING_REFRESH, s->drain_ms, j);
}

static bool refresh_keeps(struct lease *const *table, size_t count, const struct lease *l)
{
	for (size_t i = 0; i < count; i++)
		if (table[i] == l)
			return true;
	return false;
}

static void refresh_begin_one(struct killick_session *s, struct job *j, size_t i,
			      struct lease **table)
{
	struct config_server *cs = &j->config.servers[i];
	struct lease *old = session_find(s, cs->name);

	if (old && lease_fits(old, cs)) {
		lease_adjust(old, cs);
		table[i] = old;
	} else if (old && cs->refused && old->server && old->state == LEASE_HELD) {
		event_warning(s, NULL, cs->problem);
		table[i] = old;
	} else if (old) {
		j->fresh[i] = lease_new(s, cs);
		table[i] = old; /* until the new server is ready or failed */
	} else {
		table[i] = lease_new(s, cs);
	}
	table[i]->listed = true;
}

static void refresh_begin(struct killick_session *s, struct job *j)
{
	size_t count = j->config.count, old_count = s->count;
	struct lease **table = mem_grow(NULL, count, sizeof(struct lease *)), **old = s->table;

	j->begun = true;
	j->began_us = loop_now_us();
	s->max_servers = j->config.max_servers;
	s->max_memory = j->config.max_memory;
	pool_look(s->k);
	j->fresh = mem_grow(NULL, count, sizeof(struct lease *));
	memset(j->fresh, 0, count * sizeof(struct lease *));
	for (size_t i = 0; i < count; i++)
		refresh_begin_one(s, j, i, table);
	/* Requests of a lease end when the lease is given back, and a sink may route them to
	 * another server at once: the session has its new table by then. */
	s->table = table;
	s->count = count;
	for (size_t i = 0; i < old_count; i++)
		if (!refresh_keeps(table, count, old[i]))
			dismiss(s, old[i], j);
	free(old);
	for (size_t i = 0; i < j->config.warning_count; i++)
		event_warning(s, NULL, j->config.warnings[i].text);
}

/* Put the new leases whose servers are ready or failed into the table. True: no new lease is
 * left. */
static bool swap(struct killick_session *s, struct job *j)
{
	bool all = true;

	for (size_t i = 0; i < s->count; i++) {
		struct lease *l = j->fresh[i], *old = s->table[i];

		if (l && l->settled) {
			j->fresh[i] = NULL;
			s->table[i] = l;
			l->listed = true;
			old->replaced = true;
			dismiss(s, old, j);
		} else if (l) {
			all = false;
		}
	}
	return all;
}

static bool is_waiting_for(const struct killick_session *s, const struct job *j)
{
	RING_EACH(r, &s->leases)
		if (CONTAINER_OF(r, struct lease, in_session)->job == j)
			return true;
	return false;
}

void refresh_advance(struct killick_session *s, struct job *j)
{
	const struct lease *failed;

	assert(j->kind == JOB_REFRESH && s->state == SESSION_OPEN);
	if (!j->begun)
		refresh_begin(s, j);
	if (!swap(s, j) || !session_is_settled(s) || is_waiting_for(s, j))
		return;
	failed = session_failed(s);
	if (failed)
		session_blame(failed, &j->error);
	job_finish(j);
	session_poke(s); /* another refresh may wait */
}

void refresh_abandon(struct killick_session *s, struct job *j)
{
	(void)s; /* begin_close gives back all leases, also the new ones */
	error_set(&j->error, KILLICK_ERR_CLOSED,
		  "the session was closed before the refresh was done");
	job_finish(j);
}

int session_refresh(struct killick_session *s, struct config *c, struct job **out,
		    struct killick_error *e)
{
	struct job *j;

	if (s->state == SESSION_OPENING)
		return error_set(e, KILLICK_ERR_USAGE, "the session is not open yet");
	if (s->state != SESSION_OPEN)
		return error_set(e, KILLICK_ERR_CLOSED, "the session is closed");
	j = job_new(s, JOB_REFRESH);
	j->config = *c;
	*c = (struct config){ .count = 0 };
	ring_add(&s->jobs, &j->in_session);
	session_poke(s);
	*out = j;
	return 0;
}
