/* limits.c - see limits.h */
#include "session/limits.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "link/memory.h"
#include "session/pool.h"
#include "session/rest.h"
#include "session/runtime.h"
#include "session/server.h"
#include "session/session.h"

#define MEASURE_US 1000000

/* --- memory --- */

static void limits_measure(struct killick *k)
{
	struct memory_tree *trees = NULL;
	struct server **servers = NULL;
	size_t count = 0;
	int64_t now_us = loop_now_us();

	if (k->pool.measured_us && now_us - k->pool.measured_us < MEASURE_US)
		return;
	k->pool.measured_us = now_us;
	RING_EACH(r, &k->pool.servers) {
		struct server *sv = CONTAINER_OF(r, struct server, in_pool);
		struct memory_tree t = { .bytes = 0 };

		sv->memory = 0;
		sv->processes = 0;
		if (!sv->link || !link_pids(sv->link, &t.keeper, &t.server))
			continue;
		trees = mem_grow(trees, count + 1, sizeof(*trees));
		servers = mem_grow(servers, count + 1, sizeof(struct server *));
		trees[count] = t;
		servers[count++] = sv;
	}
	if (count && memory_read(trees, count) == 0)
		for (size_t i = 0; i < count; i++) {
			servers[i]->memory = servers[i]->last_memory = trees[i].bytes;
			servers[i]->processes = trees[i].processes;
		}
	free(trees);
	free(servers);
}

void server_memory(struct server *sv, unsigned long long *out_bytes, unsigned *out_processes)
{
	limits_measure(sv->k);
	*out_bytes = sv->link ? sv->memory : 0;
	*out_processes = sv->link ? sv->processes : 0;
}

/* --- limits --- */

/* A set of servers that has a limit. */
struct limits_scope {
	struct killick *k;
	const struct killick_session *session; /* its servers; NULL: not limited to a session */
	const struct server *like;             /* servers with its fingerprint; NULL: all */
	unsigned max_servers;
	unsigned long long max_memory;
	const char *owner; /* "of the session" */
};

static bool limits_is_in(const struct limits_scope *sc, const struct server *sv)
{
	if (sc->like)
		return strcmp(sc->like->fingerprint, sv->fingerprint) == 0;
	if (!sc->session)
		return true;
	RING_EACH(r, &sv->leases)
		if (CONTAINER_OF(r, struct lease, on_server)->session == sc->session)
			return true;
	return false;
}

/* Is the limit of the scope reached? out gets the name of the limit, unless out is NULL. */
static bool limits_is_reached(const struct limits_scope *sc, char *out, size_t size)
{
	unsigned long long memory = 0;
	unsigned count = 0;

	if (!sc->max_servers && !sc->max_memory)
		return false;
	if (sc->max_memory)
		limits_measure(sc->k);
	RING_EACH(r, &sc->k->pool.servers) {
		const struct server *sv = CONTAINER_OF(r, struct server, in_pool);

		if (!sv->link || !limits_is_in(sc, sv))
			continue;
		count++;
		memory += sv->memory;
	}
	if (sc->max_servers && count >= sc->max_servers) {
		if (out)
			snprintf(out, size, "maxServers (%u) %s", sc->max_servers, sc->owner);
		return true;
	}
	if (!sc->max_memory || memory < sc->max_memory)
		return false;
	if (out)
		snprintf(out, size, "maxMemory (%llu bytes; %llu are used) %s", sc->max_memory,
			 memory, sc->owner);
	return true;
}

/* Let the least recently used server of the scope rest. Nothing is done while a server of the scope
 * is being ended. */
static void limits_make_room(const struct limits_scope *sc)
{
	struct server *oldest = NULL;

	RING_EACH(r, &sc->k->pool.servers) {
		struct server *sv = CONTAINER_OF(r, struct server, in_pool);

		if (!limits_is_in(sc, sv))
			continue;
		if (sv->state == KILLICK_STOPPING)
			return;
		if (sv->state != KILLICK_READY || sv->active == 0 || sv->lost ||
		    server_is_busy(sv) || server_is_watched(sv) || server_keeps_state(sv))
			continue;
		if (!oldest || sv->used_us < oldest->used_us)
			oldest = sv;
	}
	if (oldest)
		rest_begin(oldest);
}

/* Find the first scope of the server whose limit is reached. */
static bool limits_find(struct server *sv, struct limits_scope *out)
{
	struct killick *k = sv->k;

	*out = (struct limits_scope){ .k = k,
				      .max_servers = k->pool.max_servers,
				      .max_memory = k->pool.max_memory,
				      .owner = "of all sessions" };
	if (limits_is_reached(out, NULL, 0))
		return true;
	*out = (struct limits_scope){
		.k = k, .like = sv, .max_memory = sv->max_memory, .owner = "of the server"
	};
	if (limits_is_reached(out, NULL, 0))
		return true;
	RING_EACH(r, &sv->leases) {
		const struct killick_session *s = CONTAINER_OF(r, struct lease, on_server)->session;

		*out = (struct limits_scope){ .k = k,
					      .session = s,
					      .max_servers = s->max_servers,
					      .max_memory = s->max_memory,
					      .owner = "of the session" };
		if (limits_is_reached(out, NULL, 0))
			return true;
	}
	return false;
}

void limits_set(struct killick *k, unsigned max_servers, unsigned long long max_memory)
{
	k->pool.max_servers = max_servers;
	k->pool.max_memory = max_memory;
	pool_look(k);
}

bool limits_allow(struct server *sv)
{
	struct limits_scope sc;

	assert(ring_is_in(&sv->in_queue));
	if (!limits_find(sv, &sc))
		return true;
	server_begin_wait(sv);
	limits_make_room(&sc);
	return false;
}

const char *limits_name(struct server *sv, char *out, size_t size)
{
	struct limits_scope sc;

	if (!limits_find(sv, &sc) || !limits_is_reached(&sc, out, size))
		snprintf(out, size, "a limit"); /* there is room since a moment ago */
	return out;
}
