/* status.c - functions of killick.h: the status of a session's servers, as one block of memory. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/emit.h"
#include "base/mem.h"
#include "base/pack.h"
#include "session/pool.h"
#include "session/server.h"
#include "session/session.h"

static void pack_facts(struct pack *p, const struct server *sv, struct killick_server_status *out)
{
	struct client_facts facts = { .protocol = NULL };
	bool known = sv && sv->client && sv->ready_us;

	if (known)
		client_facts(sv->client, &facts);
	out->era = pack_text(p, known ? (facts.era == ERA_MODERN ? "modern" : "legacy") : "");
	out->protocol = pack_text(p, facts.protocol);
	out->info = pack_text(p, facts.info);
	out->capabilities = pack_text(p, facts.capabilities);
	out->instructions = pack_text(p, facts.instructions);
}

/* Pack the error of a server and its parts. */
static void pack_error(struct pack *p, const struct lease *l, struct killick_server_status *out)
{
	const struct config_server *cs = lease_config(l);
	const struct server *sv = l->server;
	const char *text = sv ? sv->error.text : l->error;
	size_t at = sv ? sv->reason_at : 0;

	if (!sv && text && cs->problem && strcmp(text, cs->problem) == 0)
		at = cs->reason_at;
	out->error = pack_text(p, text);
	out->reason = pack_text(p, text ? text + at : NULL);
	out->quoted = sv ? sv->quoted : 0;
	out->why = pack_text(p, sv && sv->has_ended ? ending_why_name(sv->ending.why) : "");
}

static void pack_tail(struct pack *p, const struct server *sv, struct killick_server_status *out)
{
	char text[TAIL_SIZE + 1] = "";

	if (sv)
		tail_text(&sv->tail, text);
	out->stderr_tail = pack_text(p, text);
}

static void pack_server(struct pack *p, const struct lease *l, struct killick_server_status *out)
{
	const struct config_server *cs = lease_config(l);
	const struct server *sv = l->server;

	*out = (struct killick_server_status){
		.name = pack_text(p, cs->name),
		.state = lease_server_state(l),
		.required = cs->required,
		.shared = sv ? sv->shared : cs->share == CONFIG_SHARE_IDENTICAL,
		.pid = sv && sv->link ? sv->pid : 0,
		.level = pack_text(p, sv && sv->link ? sv->level : ""),
		.tools = l->tools,
		.restarts = sv ? server_restarts(sv) : 0,
		.in_flight = l->in_flight,
		.bytes_in = sv ? sv->bytes_in : 0,
		.bytes_out = sv ? sv->bytes_out + (sv->link ? sv->link->written : 0) : 0,
		.environment = pack_text(p, cs->recipe.environment),
		.code = lease_code(l),
		.settled = l->settled,
		.calls = l->tally.calls,
		.errors = l->tally.errors,
		.p50_ms = sv ? tally_quantile(&sv->tally, 0.5) : 0,
		.p99_ms = sv ? tally_quantile(&sv->tally, 0.99) : 0,
	};
	pack_facts(p, sv, out);
	pack_error(p, l, out);
	pack_tail(p, sv, out);
}

int killick_session_status(struct killick_session *s, struct killick_status **out,
			   struct killick_error *e)
{
	struct killick_server_status *list, unused;
	const struct killick_server_status **index;
	struct pack p = { .base = NULL };
	struct killick_status *st;
	int r;

	if (!s || !out)
		return error_set(e, KILLICK_ERR_USAGE, "s and out must not be NULL");
	r = runtime_enter(s->k, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < s->count; i++)
		pack_server(&p, s->table[i], &unused);
	st = mem_grow(NULL, sizeof(*st) + s->count * (sizeof(*list) + sizeof(*index)) + p.used, 1);
	list = (struct killick_server_status *)(st + 1);
	index = (const struct killick_server_status **)(list + s->count);
	*st = (struct killick_status){ .count = s->count, .servers = index };
	p = (struct pack){ .base = (char *)(index + s->count) };
	for (size_t i = 0; i < s->count; i++) {
		pack_server(&p, s->table[i], &list[i]);
		index[i] = &list[i];
	}
	runtime_leave(s->k);
	*out = st;
	return 0;
}

static void emit_json_or_null(struct emit *j, const char *key, const char *json)
{
	if (*json)
		emit_raw(j, key, json, strlen(json));
	else
		emit_null(j, key);
}

static void emit_server(struct emit *j, const struct killick_server_status *sv)
{
	emit_open(j, NULL, '{');
	emit_str(j, "server", sv->name);
	emit_str(j, "state",
		 sv->state == KILLICK_GONE && *sv->error ? "failed"
							 : killick_state_name(sv->state));
	emit_bool(j, "required", sv->required);
	emit_bool(j, "shared", sv->shared);
	emit_str(j, "environment", sv->environment);
	emit_int(j, "pid", sv->pid);
	emit_str(j, "level", sv->level);
	emit_str(j, "era", sv->era);
	emit_str(j, "protocol", sv->protocol);
	emit_json_or_null(j, "info", sv->info);
	emit_json_or_null(j, "capabilities", sv->capabilities);
	emit_str(j, "instructions", sv->instructions);
	if (sv->tools >= 0)
		emit_int(j, "tools", sv->tools);
	else
		emit_null(j, "tools");
	emit_int(j, "restarts", sv->restarts);
	emit_int(j, "in_flight", sv->in_flight);
	emit_int(j, "bytes_in", (long long)sv->bytes_in);
	emit_int(j, "bytes_out", (long long)sv->bytes_out);
	emit_int(j, "calls", (long long)sv->calls);
	emit_int(j, "errors", (long long)sv->errors);
	emit_ms(j, "p50_ms", sv->p50_ms);
	emit_ms(j, "p99_ms", sv->p99_ms);
	emit_str(j, "error", sv->error);
	if (sv->code)
		emit_str(j, "code", killick_code_name(sv->code));
	else
		emit_null(j, "code");
	emit_bool(j, "settled", sv->settled);
	emit_str(j, "why", sv->why);
	emit_str(j, "stderr_tail", sv->stderr_tail);
	emit_close(j);
}

char *killick_status_json(const struct killick_status *st)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_LINES(&text);

	if (!st)
		return NULL;
	emit_open(&j, NULL, '[');
	for (size_t i = 0; i < st->count; i++)
		emit_server(&j, st->servers[i]);
	emit_close(&j);
	return emit_end(&j) == 0 ? buf_take(&text) : NULL;
}

void killick_status_free(struct killick_status *st)
{
	free(st);
}
