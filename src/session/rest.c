/* rest.c - see rest.h */
#include "session/rest.h"

#include <assert.h>

#include "session/limits.h"
#include "session/pool.h"
#include "session/runtime.h"
#include "session/server.h"

bool server_keeps_state(const struct server *sv)
{
	if (sv->stateful != CONFIG_STATE_RULE)
		return sv->stateful == CONFIG_STATEFUL;
	return sv->verdict.state != SHARE_STATE_NONE;
}

bool server_is_busy(const struct server *sv)
{
	RING_EACH(r, &sv->leases)
		if (CONTAINER_OF(r, struct lease, on_server)->in_flight > 0)
			return true;
	return false;
}

bool server_is_watched(const struct server *sv)
{
	if (sv->client && (client_has_tasks(sv->client) || client_has_asks(sv->client)))
		return true;
	RING_EACH(r, &sv->leases)
		if (CONTAINER_OF(r, struct lease, on_server)->watched)
			return true;
	return false;
}

int64_t server_idle_ms(const struct server *sv)
{
	return server_is_busy(sv) || !sv->used_us ? 0 : (loop_now_us() - sv->used_us) / 1000;
}

static void rest_on_time(struct loop_timer *t)
{
	struct server *sv = CONTAINER_OF(t, struct server, rest);
	int64_t left_ms = sv->rest_ms - server_idle_ms(sv);

	if (sv->state != KILLICK_READY || !sv->rest_ms)
		return;
	if (left_ms > 0)
		loop_timer_set(sv->k->loop, &sv->rest, left_ms, rest_on_time);
	else if (server_is_watched(sv) || server_keeps_state(sv) || sv->lost || sv->active == 0 ||
		 client_in_flight(sv->client, NULL) > 0)
		loop_timer_set(sv->k->loop, &sv->rest, sv->rest_ms, rest_on_time);
	else
		rest_begin(sv);
}

void rest_arm(struct server *sv)
{
	assert(sv->state == KILLICK_READY);
	if (sv->used_us < sv->ready_us)
		sv->used_us = sv->ready_us;
	if (sv->rest_ms)
		loop_timer_set(sv->k->loop, &sv->rest, sv->rest_ms, rest_on_time);
	else
		loop_timer_stop(sv->k->loop, &sv->rest);
}

void rest_note_use(struct server *sv)
{
	sv->used_us = loop_now_us();
	if (sv->k->pool.blocked)
		pool_look(sv->k);
}

/* The list of tools cannot change while the server rests. */
static void rest_keep_tools(struct server *sv)
{
	const struct catalogue_entry *e = catalogue_get(&sv->k->catalogue, sv->key, sv->stamp);

	if (toolcache_get(&sv->tools).at)
		sv->tools.until_us = INT64_MAX;
	else if (e && e->lists[CATALOGUE_TOOLS].at)
		toolcache_put(&sv->tools, e->lists[CATALOGUE_TOOLS], TOOLCACHE_UNTIL_CHANGED,
			      sv->tools.drops);
}

void rest_begin(struct server *sv)
{
	assert(sv->state == KILLICK_READY && !server_is_busy(sv));
	rest_keep_tools(sv);
	if (sv->k->watcher) { /* `killick hub status` shows what the rest saves */
		unsigned long long memory;
		unsigned processes;

		server_memory(sv, &memory, &processes);
	}
	sv->ordered = ENDING_REST;
	server_step(sv, EV_ORDER);
}
