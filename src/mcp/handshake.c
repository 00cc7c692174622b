/* handshake.c - finds the era of the server.
 *
 * Legacy servers need initialize. Modern servers need no handshake; server/discover asks for their
 * facts. With ERA_AUTO server/discover is the probe: a server that answers is modern; a server that
 * refuses or stays silent gets initialize in the same process. A server that starts slowly is
 * silent, too, so the probe stays open, and its answer counts if it comes before the answer to
 * initialize.
 */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/client_internal.h"

#define LEGACY_OFFER "2025-11-25"
#define MODERN_OFFER "2026-07-28"
#define MAX_TRIES    3 /* versions that are tried; limits what the server can demand */

static void withdraw(struct client *c, struct rpc_request *rq)
{
	if (rpc_id(rq))
		rpc_withdraw(&c->rpc, rq, NULL);
	rpc_close(rq);
}

/* MCP does not allow a client to cancel initialize, so an open request is withdrawn without a
 * notification. */
void handshake_done(struct client *c)
{
	withdraw(c, &c->discover);
	withdraw(c, &c->initialize);
}

void handshake_answered(struct client *c, struct rpc_request *rq)
{
	c->answered = true;
	rpc_close(rq);
}

const char *handshake_choose(const char *const *ours, struct json theirs)
{
	for (; *ours; ours++) {
		struct json_iter it = json_iter(theirs);

		while (json_each(&it))
			if (json_is(it.value, *ours))
				return *ours;
	}
	return NULL;
}

static void conclude_failed(struct client *c)
{
	handshake_done(c);
	client_go(c, CLIENT_FAILED, c->error.text);
	c->ev->on_ready(c->ctx, &c->error);
}

void handshake_fail(struct client *c, const char *fmt, ...)
{
	va_list ap;

	if (c->state >= CLIENT_READY)
		return;
	if (c->found) {
		handshake_ready(c, ERA_MODERN, c->found);
		return;
	}
	va_start(ap, fmt);
	c->error.code = -EPROTO;
	vsnprintf(c->error.text, sizeof(c->error.text), fmt, ap);
	va_end(ap);
	if (rpc_id(&c->discover) && c->state == CLIENT_INITIALIZING)
		return; /* server/discover may still be answered */
	conclude_failed(c);
}

/* For failures inside client_new, and for failures that are not caused by an answer of the
 * server. */
static void fail_later(struct client *c, int error)
{
	handshake_done(c);
	err_set(&c->error, error,
		error == -EPIPE     ? "its stdin is closed"
		: error == -ESTALE  ? LINK_DISOWNED
		: error == -ENOBUFS ? "it does not read"
				    : "our greeting is longer than message_limit allows");
	client_go(c, CLIENT_FAILED, c->error.text);
	c->ready_due = true;
	call_set_later(c);
}

static void use_version(struct client *c, enum client_era era, const char *version)
{
	c->era = era;
	c->version = version;
	free(c->meta);
	c->meta = era == ERA_MODERN ? params_meta(c) : NULL;
}

static void start_waiting(struct client *c)
{
	struct ring *next;

	for (struct ring *n = c->rpc.open.next; n != &c->rpc.open; n = next) {
		struct rpc_request *rq = CONTAINER_OF(n, struct rpc_request, node);

		next = n->next; /* call_start removes only this call from the ring */
		if (rq->handler == &call_handler)
			call_start(CONTAINER_OF(rq, struct client_call, rq));
	}
}

void handshake_ready(struct client *c, enum client_era era, const char *version)
{
	assert(c->state < CLIENT_READY);
	handshake_done(c);
	use_version(c, era, version);
	c->rpc.batches = era == ERA_LEGACY && strcmp(version, "2025-03-26") == 0;
	if (era == ERA_LEGACY) {
		int r = rpc_notify(&c->rpc, "notifications/initialized", JSON_NONE);

		if (r < 0) {
			fail_later(c, r);
			return;
		}
	}
	client_go(c, CLIENT_READY, version);
	start_waiting(c);
	if (era == ERA_MODERN && listen_has(c))
		listen_changed(c);
	c->ev->on_ready(c->ctx, NULL);
}

void handshake_discovered(struct client *c, const char *version)
{
	c->found = version;
	if (rpc_id(&c->initialize))
		rpc_extend(&c->rpc, &c->initialize, c->spec->probe_ms);
	else
		handshake_ready(c, ERA_MODERN, version);
}

static void handshake_ask(struct client *c, struct rpc_request *rq, const struct rpc_handler *h,
			  int64_t timeout_ms)
{
	bool discovers = rq == &c->discover;
	struct emit j;
	int r;

	rpc_open(&c->rpc, rq, h, timeout_ms);
	r = rpc_begin(&c->rpc, rq, discovers ? "server/discover" : "initialize", &j);
	if (r == 0) {
		(discovers ? params_discover : params_initialize)(&j, c);
		r = rpc_send(&c->rpc, rq, &j);
	}
	if (r < 0)
		fail_later(c, r);
}

void handshake_initialize(struct client *c, const char *version)
{
	client_go(c, CLIENT_INITIALIZING, version ? version : LEGACY_OFFER);
	use_version(c, ERA_LEGACY, version ? version : LEGACY_OFFER);
	c->tries++;
	handshake_ask(c, &c->initialize, &legacy_initialize_handler, -1);
}

static void discover(struct client *c, const char *version)
{
	client_go(c, CLIENT_PROBING, version);
	use_version(c, ERA_MODERN, version);
	c->tries++;
	handshake_ask(c, &c->discover, &modern_discover_handler,
		      c->spec->era == ERA_AUTO ? c->spec->probe_ms : -1);
}

static void name_versions(struct json versions, char *out, size_t size)
{
	struct json_iter it = json_iter(versions);
	size_t used = 0;
	char word[24];

	for (out[0] = '\0'; used < size && json_each(&it);)
		if (json_string_into(it.value, word, sizeof(word)))
			used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "",
						 word);
}

void handshake_offer(struct client *c, struct json versions)
{
	const char *modern = modern_choose(versions), *legacy = legacy_choose(versions);
	bool may_be_legacy = c->spec->era != ERA_MODERN, may_be_modern = c->spec->era != ERA_LEGACY;
	char names[120];

	name_versions(versions, names, sizeof(names));
	if (c->tries >= MAX_TRIES || c->found)
		handshake_fail(c,
			       "the server refuses every protocol version, also those it names: %s",
			       names);
	else if (modern && may_be_modern && !rpc_is_open(&c->discover))
		discover(c, modern);
	else if (legacy && may_be_legacy)
		handshake_initialize(c, legacy);
	else if (modern)
		handshake_fail(c, "the server speaks only protocol %s; set \"era\" to \"auto\"",
			       names);
	else if (legacy)
		handshake_fail(c, "the server speaks only protocol %s; set \"era\" to \"legacy\"",
			       names);
	else
		handshake_fail(c, "the server speaks only protocol %s, which killick does not",
			       names[0] ? names : "versions it does not name");
}

/* server/discover has failed. If initialize was sent meanwhile, the answer to initialize
 * decides. */
void handshake_not_modern(struct client *c, const char *why)
{
	if (c->state == CLIENT_INITIALIZING && !rpc_is_open(&c->initialize))
		conclude_failed(c); /* initialize was refused as well */
	else if (c->state == CLIENT_PROBING && c->spec->era == ERA_AUTO)
		handshake_initialize(c, NULL);
	else if (c->state == CLIENT_PROBING)
		handshake_fail(c, "the server was asked for server/discover: %s", why);
}

void handshake_begin(struct client *c)
{
	if (c->spec->era == ERA_LEGACY)
		handshake_initialize(c, NULL);
	else
		discover(c, MODERN_OFFER);
}

bool client_is_probing(const struct client *c)
{
	return c->spec->era == ERA_AUTO && !c->answered;
}
