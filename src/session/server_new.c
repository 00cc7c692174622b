/* server_new.c - makes a server from its config, compares both, takes over changed settings, and
 * frees the server. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "os/fd.h"
#include "session/order.h"
#include "session/pool.h"
#include "session/rest.h"
#include "session/runtime.h"
#include "session/server.h"
#include "session/site.h"
#include "session/survey.h"

#define IN_FLIGHT_MAX 4096

struct server *server_new(struct killick *k, const struct config_server *cs, unsigned grace_ms,
			  unsigned answers, const char *label)
{
	struct server *sv = mem_grow(NULL, 1, sizeof(*sv));

	assert(!cs->disabled && !cs->problem && !cs->recipe.environment == !cs->place);
	*sv = (struct server){
		.k = k,
		.number = ++k->last_number,
		.state = KILLICK_IDLE,
		.era = cs->era,
		.answers = answers,
		.shared = cs->share == CONFIG_SHARE_IDENTICAL,
		.word = cs->share,
		.spec = { .name = k->client_name,
			  .version = k->client_version,
			  .answers = answers,
			  .message_limit = k->message_limit,
			  .max_in_flight = IN_FLIGHT_MAX },
	};
	memcpy(sv->fingerprint, cs->fingerprint, sizeof(sv->fingerprint));
	sv->recipe = recipe_copy(&cs->recipe);
	sv->recipe.session = mem_dup(label);
	sv->recipe.grace_ms = grace_ms;
	sv->recipe.keeper = k->keeper;
	sv->recipe.write_limit = k->message_limit;
	if (cs->place)
		sv->site = site_use(k, cs->place);
	server_adjust(sv, cs);
	ring_init(&sv->leases);
	ring_init(&sv->parked);
	ring_init(&sv->orders);
	gate_init(&sv->gate, k, sv->fingerprint);
	ring_add(&k->pool.servers, &sv->in_pool);
	return sv;
}

bool server_has_policy(const struct server *sv, const struct config_server *cs)
{
	return sv->stateful == cs->stateful && sv->logs_all == cs->logs_all;
}

bool server_is(const struct server *sv, const struct config_server *cs, unsigned answers)
{
	/* roots are not declared to a server that sessions of the hub share */
	bool declared =
		sv->answers == answers || (sv->hub && sv->answers == share_features(answers));

	if (sv->hub && sv->holders > 1 && !server_has_policy(sv, cs))
		return false; /* the other sessions keep theirs */
	return sv->word == cs->share && sv->era == cs->era && declared &&
	       strcmp(sv->fingerprint, cs->fingerprint) == 0;
}

void server_adjust(struct server *sv, const struct config_server *cs)
{
	sv->startup_ms = cs->startup_ms;
	sv->idle_ms = cs->idle_ms;
	sv->restart = cs->restart;
	sv->stateful = cs->stateful;
	sv->max_instances = cs->max_instances;
	sv->logs_all = cs->logs_all;
	sv->max_memory = cs->max_memory;
	sv->rest_ms = cs->rest_ms;
	free(sv->stderr_file); /* used at the next start */
	sv->stderr_file = mem_dup(cs->stderr_file);
	if (sv->state != KILLICK_READY)
		return;
	if (!*sv->key) /* nothing was kept of the server until now */
		survey_prepare(sv);
	rest_arm(sv);
}

void server_free(struct server *sv)
{
	assert(sv->state == KILLICK_GONE && sv->holders == 0 && ring_is_empty(&sv->parked));
	assert(!sv->link && !sv->client && !sv->stderr_open);
	RING_EACH(r, &sv->leases) {
		struct lease *l = CONTAINER_OF(r, struct lease, on_server);
		const struct ending never_ran = { .exit_code = -1,
						  .why = l->why,
						  .proof = LINK_PROOF_NEVER };

		lease_over(l, sv->has_ended ? &sv->ending : &never_ran);
	}
	assert(ring_is_empty(&sv->leases));
	orders_on_failure(sv);
	survey_stop(sv);
	loop_timer_stop(sv->k->loop, &sv->timer);
	gate_done(&sv->gate, sv->k);
	assert(!sv->rest.slot && ring_is_empty(&sv->orders));
	ring_remove(&sv->in_pool);
	ending_done(&sv->ending);
	toolcache_drop(&sv->tools); /* kept by a rest */
	tail_done(&sv->tail);
	if (sv->site)
		site_leave(sv->site);
	if (sv->recipe.users)
		fd_close(sv->recipe.users);
	recipe_done(&sv->recipe);
	free(sv->stderr_file);
	free(sv);
}
