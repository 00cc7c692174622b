/* server_use.c - how leases and calls use a server: see server.h. */
#include <assert.h>
#include <errno.h>

#include "session/pool.h"
#include "session/runtime.h"
#include "session/server.h"
#include "session/site.h"

int server_use(struct server *sv, struct killick_error *e)
{
	int r = server_refuses(sv, e);

	assert(sv->active > 0);
	if (r == 0 && sv->lost && sv->state == KILLICK_READY)
		r = error_set(e, KILLICK_ERR_LOST, "%s", sv->error.text);
	if (r == 0)
		server_step(sv, EV_USE);
	return r;
}

bool server_has_client(const struct server *sv)
{
	return sv->client && !sv->failed_client && sv->state != KILLICK_STOPPING;
}

bool server_has_list(const struct server *sv)
{
	return sv->state == KILLICK_READY ||
	       (sv->state == KILLICK_RESTING && toolcache_get(&sv->tools).at);
}

void server_check(struct server *sv)
{
	int r = server_has_client(sv) ? link_write(sv->link, "", 0) : 0;

	if (r != -EPIPE && r != -ESTALE)
		return;
	sv->deaf = true;
	server_step(sv, EV_EOF);
}

/* An executor has one connection for all its servers: a pause of one server holds up all. */
static struct server_pauses *server_pauses(struct server *sv)
{
	return sv->site ? &sv->site->pauses : &sv->pauses;
}

int64_t server_held_us(struct server *sv)
{
	const struct server_pauses *p = server_pauses(sv);

	return p->sum_us + (p->count ? loop_now_us() - p->since_us : 0);
}

/* For how long pauses have held up the answers to other sessions than that of `than`; -1: no other
 * session waits for an answer of this server. */
static int64_t server_holds_up_us(struct server *sv, const struct lease *than)
{
	int64_t longest_us = -1, now_us = server_held_us(sv);

	RING_EACH(r, &sv->leases) {
		const struct lease *l = CONTAINER_OF(r, struct lease, on_server);

		if (l->session != than->session && (l->gate.in_flight || l->gate.queued) &&
		    now_us - l->gate.held_us > longest_us)
			longest_us = now_us - l->gate.held_us;
	}
	return longest_us;
}

static int64_t server_holds_up_all_us(struct server *sv, const struct lease *than)
{
	int64_t longest_us = -1;

	if (!sv->site)
		return server_holds_up_us(sv, than);
	RING_EACH(r, &sv->k->pool.servers) {
		struct server *other = CONTAINER_OF(r, struct server, in_pool);
		int64_t us = other->site == sv->site ? server_holds_up_us(other, than) : -1;

		longest_us = us > longest_us ? us : longest_us;
	}
	return longest_us;
}

static bool server_must_wait(struct server *sv, struct lease *l)
{
	int64_t others_us;

	if (!l->full || l->state >= LEASE_LEFT || (sv->holders > 1 && !l->gate.in_flight))
		return false;
	others_us = server_holds_up_all_us(sv, l);
	l->slow |= l->stalled || others_us >= SERVER_HOLD_MS * 1000;
	return !l->slow || others_us < 0;
}

void server_look_full(struct server *sv)
{
	struct server_pauses *p = server_pauses(sv);
	/* a server that starts or ends must be heard */
	bool may = sv->link && (sv->state == KILLICK_READY || sv->state == KILLICK_DRAINING);
	bool pause = false;

	RING_EACH(r, &sv->leases)
		pause |= may && server_must_wait(sv, CONTAINER_OF(r, struct lease, on_server));
	if (pause == sv->paused)
		return;
	sv->paused = pause;
	p->sum_us = server_held_us(sv);
	p->since_us = loop_now_us();
	p->count += pause ? 1 : -1u;
	if (sv->link)
		link_pause(sv->link, pause);
}

void server_unleased(struct server *sv)
{
	assert(sv->active == 0);
	if (sv->holders == 0)
		server_step(sv, EV_LEFT);
	else if (sv->state == KILLICK_READY) /* in other states there is nothing to drain */
		server_step(sv, EV_LEAVING);
}

void server_place(struct server *sv)
{
	server_step(sv, EV_PLACE);
}
