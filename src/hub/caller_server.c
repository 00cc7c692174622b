/* caller_server.c - the list of servers in the control API: see hub_internal.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tail.h"
#include "hub/hub_internal.h"
#include "keeper/conceal.h"
#include "session/attach.h"
#include "session/catalogue.h"
#include "session/limits.h"
#include "session/pool.h"
#include "session/rest.h"
#include "session/runtime.h"
#include "session/server.h"
#include "session/session.h"
#include "session/tally.h"

/* The memory that the server would need in addition without sharing and rest. */
static unsigned long long caller_saved(const struct server *sv)
{
	unsigned others = sv->holders > 1 ? sv->holders - 1 : 0;

	return sv->state == KILLICK_RESTING ? sv->holders * sv->last_memory
					    : others * sv->last_memory;
}

void caller_totals(struct hub *h, struct hub_totals *out)
{
	*out = (struct hub_totals){ .servers = 0 };
	RING_EACH(r, &h->k->pool.servers) {
		struct server *sv = CONTAINER_OF(r, struct server, in_pool);
		unsigned long long memory;
		unsigned processes;

		server_memory(sv, &memory, &processes);
		out->memory += memory;
		out->processes += processes;
		out->saved += caller_saved(sv);
		out->servers++;
		out->running += sv->link != NULL;
		out->resting += sv->state == KILLICK_RESTING;
	}
}

const char *caller_server_state(const struct server *sv)
{
	return sv->state == KILLICK_GONE && sv->error.code ? "failed"
							   : killick_state_name(sv->state);
}

static void caller_emit_facts(struct emit *j, const struct server *sv)
{
	struct client_facts facts = { .protocol = NULL };
	bool known = sv->client && sv->ready_us;

	if (known)
		client_facts(sv->client, &facts);
	emit_str(j, "level", sv->link ? sv->level : "");
	emit_str(j, "era", known ? (facts.era == ERA_MODERN ? "modern" : "legacy") : "");
	emit_str(j, "protocol", facts.protocol);
}

static void caller_emit_holders(struct hub *h, struct emit *j, const struct server *sv)
{
	emit_open(j, "sessions", '[');
	RING_EACH(r, &sv->leases) {
		const struct lease *l = CONTAINER_OF(r, struct lease, on_server);
		const struct hub_session *s = hub_session_of(h, l->session);
		char id[16];

		if (!s)
			continue;
		snprintf(id, sizeof(id), "s%u", s->number);
		emit_str(j, NULL, id);
	}
	emit_close(j);
}

/* The time since then; null: never. */
static void caller_emit_since(struct emit *j, const char *key, int64_t then_us)
{
	if (then_us)
		emit_int(j, key, (loop_now_us() - then_us) / 1000);
	else
		emit_null(j, key);
}

static void caller_emit_sharing(struct emit *j, const struct server *sv)
{
	char difference[240], id[16] = "";
	const struct server *other = server_difference(sv, difference, sizeof(difference));

	if (other)
		snprintf(id, sizeof(id), "v%u", other->number);
	emit_bool(j, "shared", sv->shared);
	emit_str(j, "why", sv->verdict.why);
	emit_str(j, "difference", difference);
	emit_str(j, "differsFrom", id);
}

static void caller_emit_counts(struct emit *j, const struct server *sv)
{
	const struct tally *t = &sv->tally;

	emit_int(j, "inFlight", sv->gate.in_flight);
	emit_int(j, "queued", sv->gate.queued);
	emit_int(j, "calls", (long long)t->calls);
	emit_int(j, "errors", (long long)t->errors);
	emit_ms(j, "p50Ms", tally_quantile(t, 0.5));
	emit_ms(j, "p99Ms", tally_quantile(t, 0.99));
	caller_emit_since(j, "lastCallMs", t->last_us);
}

void caller_emit_call(struct hub *h, struct emit *j, const struct tally_call *call)
{
	char id[16] = "";

	RING_EACH(r, &h->sessions) {
		const struct hub_session *s = CONTAINER_OF(r, struct hub_session, in_hub);
		const struct killick_session *ks = s->desk ? desk_session(s->desk) : NULL;

		if (ks && ks->number == call->session)
			snprintf(id, sizeof(id), "s%u", s->number);
	}
	emit_str(j, "session", id);
	emit_str(j, "tool", call->name);
	emit_ms(j, "ms", call->ms);
	emit_bool(j, "ok", call->ok);
}

/* Write the tools that the server listed, with their cost: a token is about four bytes. */
static void caller_emit_tools(struct emit *j, const struct server *sv)
{
	struct ring *first = ring_first(&sv->leases);
	const struct catalogue_entry *e =
		first ? lease_catalogue(CONTAINER_OF(first, struct lease, on_server)) : NULL;
	struct json tools = e ? json_get(e->lists[CATALOGUE_TOOLS], "tools") : JSON_NONE;
	struct json_iter it = json_iter(tools);

	emit_open(j, "tools", '[');
	while (tools.at && json_each(&it)) {
		struct json name = json_get(it.value, "name");

		if (!name.at)
			continue;
		emit_open(j, NULL, '{');
		emit_json(j, "name", name.at, name.len);
		emit_int(j, "bytes", (long long)it.value.len);
		emit_int(j, "tokens", (long long)(it.value.len + 3) / 4);
		emit_close(j);
	}
	emit_close(j);
}

static void caller_emit_detail(struct hub *h, struct emit *j, const struct server *sv)
{
	char tail[TAIL_SIZE + 1];
	const struct tally_call *call;

	tail_text(&sv->tail, tail);
	emit_text(j, "stderr", tail, strlen(tail));
	caller_emit_tools(j, sv);
	emit_open(j, "recent", '[');
	for (size_t i = 0; (call = tally_recent(&sv->tally, i)); i++) {
		emit_open(j, NULL, '{');
		emit_int(j, "agoMs", (loop_now_us() - call->at_us) / 1000);
		caller_emit_call(h, j, call);
		emit_close(j);
	}
	emit_close(j);
}

static void caller_emit_tree(struct emit *j, struct server *sv)
{
	unsigned long long memory;
	unsigned processes;

	server_memory(sv, &memory, &processes);
	emit_int(j, "pid", sv->link ? sv->pid : 0);
	if (sv->link && sv->site) { /* not visible from this machine */
		emit_null(j, "processes");
		emit_null(j, "memory");
		return;
	}
	emit_int(j, "processes", processes);
	emit_int(j, "memory", (long long)memory);
}

static void caller_emit_server(struct hub *h, struct emit *j, struct server *sv, bool detail)
{
	struct line command; /* without secrets */
	char id[16];

	snprintf(id, sizeof(id), "v%u", sv->number);
	emit_open(j, NULL, '{');
	emit_str(j, "server", id);
	emit_str(j, "name", sv->recipe.name);
	emit_str(j, "state", caller_server_state(sv));
	emit_str(j, "reason", sv->error.code ? sv->error.text + sv->reason_at : "");
	caller_emit_holders(h, j, sv);
	caller_emit_sharing(j, sv);
	caller_emit_counts(j, sv);
	caller_emit_tree(j, sv);
	emit_int(j, "restarts", server_restarts(sv));
	emit_int(j, "rests", sv->rests);
	caller_emit_facts(j, sv);
	caller_emit_since(j, "ageMs", sv->link ? sv->started_us : 0);
	emit_int(j, "idleMs", server_idle_ms(sv));
	emit_str(j, "environment", sv->recipe.environment);
	line_init(&command);
	if (sv->recipe.argv)
		conceal_command(&command, sv->recipe.argv);
	emit_text(j, "command", command.text, command.len);
	if (detail)
		caller_emit_detail(h, j, sv);
	emit_close(j);
}

/* A server with an error in its config has no id and no process. */
static void caller_emit_refused(struct emit *j, const struct hub_session *s, const struct lease *l)
{
	char id[16];

	snprintf(id, sizeof(id), "s%u", s->number);
	emit_open(j, NULL, '{');
	emit_null(j, "server");
	emit_str(j, "name", lease_name(l));
	emit_str(j, "state", "failed");
	emit_str(j, "reason", l->error);
	emit_open(j, "sessions", '[');
	emit_str(j, NULL, id);
	emit_close(j);
	emit_close(j);
}

static void caller_emit_all_refused(struct hub *h, struct emit *j)
{
	RING_EACH(r, &h->sessions) {
		const struct hub_session *s = CONTAINER_OF(r, struct hub_session, in_hub);
		const struct killick_session *ks = s->desk ? desk_session(s->desk) : NULL;

		for (size_t i = 0; ks && i < ks->count; i++)
			if (!ks->table[i]->server && ks->table[i]->failed)
				caller_emit_refused(j, s, ks->table[i]);
	}
}

void caller_on_servers(void *ctx, const struct reply *r, struct json params)
{
	struct caller *c = ctx;
	struct caller_param p = { .name = "detail", .type = JSON_BOOL };
	struct err e = ERR_INIT;
	struct hub_totals t;
	bool detail = false;
	struct emit j;

	if (caller_params(params, &p, 1, &e) != 0) {
		caller_refuse(r, &e);
		return;
	}
	json_bool(p.value, &detail);
	caller_totals(c->hub, &t);
	if (!reply_begin(r, &j))
		return;
	emit_open(&j, "servers", '[');
	RING_EACH(n, &c->hub->k->pool.servers)
		caller_emit_server(c->hub, &j, CONTAINER_OF(n, struct server, in_pool), detail);
	caller_emit_all_refused(c->hub, &j);
	emit_close(&j);
	emit_int(&j, "memory", (long long)t.memory);
	emit_int(&j, "savedMemory", (long long)t.saved);
	reply_end(r, &j);
}
