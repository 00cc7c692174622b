/* server_link.c - opens the link and the client of a server, turns their callbacks into events of
 * the state machine in server.c, and checks the tree while the server starts.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "remote/environment.h"
#include "session/pool.h"
#include "session/relay.h"
#include "session/runtime.h"
#include "session/server.h"
#include "session/session.h"
#include "session/site.h"
#include "session/survey.h"

#define PROBE_MAX_MS 5000
#define LIFE_MS      1000 /* how often a starting tree is checked */

static void server_link_on_started(void *ctx, int pid, const char *level)
{
	struct server *sv = ctx;

	sv->pid = pid;
	memcpy(sv->tree, sv->link->tree, sizeof(sv->tree));
	snprintf(sv->level, sizeof(sv->level), "%s", level);
	server_step(sv, EV_STARTED);
}

static void server_link_on_bytes(void *ctx, const char *bytes, size_t len)
{
	struct server *sv = ctx;

	sv->bytes_in += len;
	if (!sv->failed_client)
		client_feed(sv->client, bytes, len);
}

static void server_link_on_eof(void *ctx)
{
	server_step(ctx, EV_EOF);
}

static void server_link_on_lost(void *ctx, const char *why)
{
	struct server *sv = ctx;

	assert(sv->site);
	if (sv->state != KILLICK_STOPPING)
		server_error_set(sv, sv->ready_us ? KILLICK_ERR_LOST : KILLICK_ERR_START,
				 sv->ready_us ? "server '%s': %s"
					      : "the handshake with server '%s' failed: %s",
				 sv->recipe.name, why);
	server_step(sv, EV_LOST);
}

static void server_link_on_back(void *ctx)
{
	server_step(ctx, EV_BACK);
}

static void server_link_on_ended(void *ctx, const struct link_end *end)
{
	server_note_end(ctx, end);
	server_step(ctx, EV_ENDED);
}

static const struct link_events link_events = {
	.on_started = server_link_on_started,
	.on_bytes = server_link_on_bytes,
	.on_stderr = relay_stderr,
	.on_eof = server_link_on_eof,
	.on_ended = server_link_on_ended,
	.on_lost = server_link_on_lost,
	.on_back = server_link_on_back,
};

static void server_link_on_ready(void *ctx, const struct err *e)
{
	struct server *sv = ctx;

	if (e && sv->state != KILLICK_STOPPING)
		server_error_set(sv, KILLICK_ERR_START, "the handshake with server '%s' failed: %s",
				 sv->recipe.name, e->text);
	server_step(sv, e ? EV_REFUSED : EV_SHOOK);
}

static void server_link_on_note(void *ctx, enum killick_event_kind kind, void *owner,
				struct json params)
{
	survey_on_changed(ctx, kind);
	relay_note(ctx, kind, owner, params);
}

static bool server_link_on_ask(void *ctx, void *owner, uint64_t id, const char *method,
			       struct json params)
{
	server_note_ask(ctx);
	return relay_ask(ctx, owner, id, method, params);
}

static const struct client_events client_events = {
	.on_ready = server_link_on_ready,
	.on_note = server_link_on_note,
	.on_other = relay_other,
	.on_ask = server_link_on_ask,
	.on_ask_over = relay_ask_over,
	.on_warning = relay_odd,
};

/* --- to open the link and the client --- */

int server_open_link(struct server *sv, struct err *e)
{
	struct recipe *r = &sv->recipe;

	r->sweep = !r->environment && runtime_sweeps(sv->k);
	/* a server with an environment is never started on this machine */
	if (!r->environment)
		return link_open(sv->k->loop, r, &link_events, sv, &sv->link, e);
	assert(sv->site);
	return environment_open_link(sv->site->env, r, &link_events, sv, &sv->link, e);
}

static void choose_era(struct server *sv)
{
	static const enum client_era eras[] = {
		[CONFIG_LEGACY] = ERA_LEGACY, [CONFIG_MODERN] = ERA_MODERN, [CONFIG_AUTO] = ERA_AUTO
	};

	sv->spec.era = eras[sv->era];
	sv->assumed =
		sv->era == CONFIG_AUTO && eras_get(&sv->k->eras, sv->fingerprint, &sv->spec.era);
}

/* The first session decides: the servers of the hub are not shared with sessions of a host. */
static enum client_logs choose_logs(const struct server *sv)
{
	struct ring *first = ring_first(&sv->leases);
	const struct lease *l = CONTAINER_OF(first, struct lease, on_server);

	if (!first || !l->session->sink)
		return CLIENT_LOGS_LEVELS;
	return lease_config(l)->logs_all ? CLIENT_LOGS_ALL : CLIENT_LOGS_OWN;
}

void server_open_client(struct server *sv)
{
	choose_era(sv);
	sv->spec.probe_ms = sv->startup_ms / 3 < PROBE_MAX_MS ? sv->startup_ms / 3 : PROBE_MAX_MS;
	sv->spec.logs = choose_logs(sv);
	sv->client = client_new(sv->k->loop, sv->link, &sv->spec, &client_events, sv);
}

/* --- the progress of a start --- */

int64_t server_start_wait_ms(const struct server *sv)
{
	int64_t left_us = sv->started_us + sv->startup_ms * 1000 - loop_now_us();
	int64_t left_ms = left_us > 0 ? (left_us + 999) / 1000 : 0, look_ms = LIFE_MS;

	if (!sv->idle_ms)
		return left_ms;
	if (sv->idle_ms / 4 < look_ms)
		look_ms = sv->idle_ms / 4 + 1;
	return left_ms < look_ms ? left_ms : look_ms;
}

bool server_is_alive(struct server *sv)
{
	unsigned long long life = 0;
	bool known = link_activity(sv->link, &life);

	life += sv->bytes_in + sv->bytes_stderr;
	if (known && life == sv->life)
		return false;
	sv->life = life;
	return true;
}
