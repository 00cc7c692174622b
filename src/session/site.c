/* site.c - see site.h */
#include "session/site.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "os/env.h"
#include "os/spawn.h"
#include "remote/environment.h"
#include "session/runtime.h"

#define GUARD_MS 15000 /* longer than the budgets of its channel and of its program's keeper */

static void site_on_freed(void *ctx)
{
	struct site *s = ctx;
	struct killick *k = s->k;

	assert(s->leaving);
	loop_timer_stop(k->loop, &s->timer);
	ring_remove(&s->in_runtime);
	free(s);
	loop_notify(k->loop); /* killick_close may wait for this site */
}

static void site_on_late(struct loop_timer *t)
{
	struct site *s = CONTAINER_OF(t, struct site, timer);

	s->given_up = true;
	loop_notify(s->k->loop);
}

static void on_unused(struct loop_timer *t)
{
	struct site *s = CONTAINER_OF(t, struct site, timer);

	assert(s->users == 0 && !s->leaving && environment_users(s->env) == 0);
	s->leaving = true;
	loop_timer_set(s->k->loop, &s->timer, GUARD_MS, site_on_late);
	environment_free(s->env, site_on_freed, s); /* site_on_freed is called later */
	s->env = NULL;
}

static struct site *site_find(struct killick *k, const struct config_place *p)
{
	RING_EACH(r, &k->sites) {
		struct site *s = CONTAINER_OF(r, struct site, in_runtime);

		if (!s->leaving && strcmp(s->fingerprint, p->fingerprint) == 0)
			return s;
	}
	return NULL;
}

/* Write the label of this runtime for the logs and lists of the executor, which puts "killick" in
 * front. */
static void site_label(const struct killick *k, char *out, size_t size)
{
	bool named = strcmp(k->client_name, "killick") != 0;
	char host[65];

	env_host_name(host, sizeof(host));
	snprintf(out, size, "%.40s%spid %d on %s", named ? k->client_name : "", named ? ", " : "",
		 spawn_own_pid(), host);
}

static struct site *site_new(struct killick *k, const struct config_place *p)
{
	struct site *s = mem_grow(NULL, 1, sizeof(*s));
	char who[160];
	const struct environment_spec spec = {
		.name = p->name,
		.url = p->url,
		.program = p->program,
		.program_env = p->program_env,
		.token = p->token,
		.ca_file = p->ca_file,
		.keeper = k->keeper,
		.label = who,
	};

	assert(!p->problem && !p->url == !!p->program);
	site_label(k, who, sizeof(who));
	*s = (struct site){ .k = k };
	memcpy(s->fingerprint, p->fingerprint, sizeof(s->fingerprint));
	s->env = environment_new(k->loop, &spec);
	ring_add(&k->sites, &s->in_runtime);
	return s;
}

struct site *site_use(struct killick *k, const struct config_place *p)
{
	struct site *s = site_find(k, p);

	if (!s)
		s = site_new(k, p);
	site_use_again(s);
	return s;
}

void site_use_again(struct site *s)
{
	assert(!s->leaving);
	s->users++;
	loop_timer_stop(s->k->loop, &s->timer);
}

void site_leave(struct site *s)
{
	assert(s->users > 0);
	if (--s->users == 0)
		loop_timer_set(s->k->loop, &s->timer, 0, on_unused);
}

bool sites_are_leaving(const struct killick *k)
{
	RING_EACH(r, &k->sites) {
		const struct site *s = CONTAINER_OF(r, struct site, in_runtime);

		if (s->users == 0 && !s->given_up)
			return true;
	}
	return false;
}

bool sites_are_left(const struct killick *k)
{
	RING_EACH(r, &k->sites)
		if (!CONTAINER_OF(r, struct site, in_runtime)->given_up)
			return false;
	return true;
}
