/* client.c - see client.h */
#include "mcp/client.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/trace.h"
#include "mcp/client_internal.h"

#define FACT_MAX (1 << 20) /* bytes of info, capabilities or instructions that are kept */

/* --- owners --- */

static struct party *party_find(const struct client *c, const void *key)
{
	if (c->last_owner && c->last_owner->key == key)
		return c->last_owner;
	for (struct ring *n = c->owners.next; n != &c->owners; n = n->next) {
		struct party *o = CONTAINER_OF(n, struct party, node);

		if (o->key == key)
			return o;
	}
	return NULL;
}

struct party *party_get(struct client *c, void *key)
{
	struct party *o = party_find(c, key);

	if (!o) {
		o = mem_grow(NULL, 1, sizeof(*o));
		*o = (struct party){ .key = key, .level = LEVEL_NONE };
		ring_init(&o->calls);
		ring_add(&c->owners, &o->node);
	}
	c->last_owner = o;
	return o;
}

static void party_free(struct party *o)
{
	assert(ring_is_empty(&o->calls) && o->open == 0 && o->wire == 0);
	ring_remove(&o->node);
	free(o);
}

/* The server may still send messages about requests of this owner. Such messages belong to no owner
 * from now on. */
static void orphan_late(struct client *c, const struct party *o)
{
	for (size_t i = 0; i < c->rpc.late_count; i++)
		if (c->rpc.late[i].tag == o)
			c->rpc.late[i].tag = c;
	for (size_t i = 0; i < RPC_DROPPED; i++)
		if (c->rpc.dropped[i].tag == o)
			c->rpc.dropped[i].tag = c;
}

static void party_abandon(struct party *o, const char *reason, const char *text)
{
	while (!ring_is_empty(&o->calls))
		call_abandon(CONTAINER_OF(o->calls.next, struct client_call, of_owner),
			     KILLICK_ERR_CANCELLED, reason, text);
}

/* The first call of the owner that does not wait; NULL: none. */
static struct client_call *party_first_to_lose(struct party *o)
{
	RING_EACH(r, &o->calls) {
		struct client_call *call = CONTAINER_OF(r, struct client_call, of_owner);

		if (!call->waits)
			return call;
	}
	return NULL;
}

void client_lose(struct client *c, void *key)
{
	struct party *o = party_find(c, key);
	struct client_call *call;

	/* A handler may make new calls, which stay, and may call client_forget. */
	for (unsigned left = o ? o->open : 0; left > 0; left--) {
		o = party_find(c, key);
		call = o ? party_first_to_lose(o) : NULL;
		if (!call)
			return;
		client_cancel(call);
	}
}

void client_forget(struct client *c, void *key, const char *why)
{
	struct party *o = party_find(c, key);

	if (!o)
		return;
	/* A handler may call again for the same owner; that call creates a new party. */
	c->last_owner = NULL;
	c->left = true;
	ring_remove(&o->node);
	o->level = LEVEL_NONE;
	ask_forget(c, o, why);
	party_abandon(o, "the client has left", why);
	subscriptions_forget(c, o);
	handles_forget(c, o);
	orphan_late(c, o);
	party_free(o);
	if (c->state == CLIENT_READY)
		level_forget(c);
}

unsigned client_in_flight(const struct client *c, const void *key)
{
	const struct party *o = key ? party_find(c, key) : NULL;

	return key ? (o ? o->open : 0) : c->open;
}

/* --- facts --- */

static void keep_json(struct client *c, char **at, struct json v, const char *what)
{
	free(*at);
	*at = NULL;
	if (v.len > FACT_MAX)
		odd_warn(c, ODD_FACTS, "the server's %s has %zu bytes and is not kept", what,
			 v.len);
	else if (json_type(v) == JSON_OBJECT)
		*at = mem_try_text(v.at, v.len);
}

static bool has(struct json capability, const char *flag)
{
	bool on = false;

	return json_bool(json_get(capability, flag), &on) && on;
}

static unsigned read_can(struct json v, const char *version)
{
	struct json tools = json_get(v, "tools"), prompts = json_get(v, "prompts");
	struct json resources = json_get(v, "resources");
	unsigned can = 0;

	if (json_type(tools) == JSON_OBJECT)
		can |= CAN_TOOLS | (has(tools, "listChanged") ? CAN_TOOLS_CHANGE : 0);
	if (json_type(prompts) == JSON_OBJECT)
		can |= CAN_PROMPTS | (has(prompts, "listChanged") ? CAN_PROMPTS_CHANGE : 0);
	if (json_type(resources) == JSON_OBJECT)
		can |= CAN_RESOURCES | (has(resources, "listChanged") ? CAN_RESOURCES_CHANGE : 0) |
		       (has(resources, "subscribe") ? CAN_SUBSCRIBE : 0);
	/* the first revision had completion, but no capability for it */
	if (json_type(json_get(v, "completions")) == JSON_OBJECT ||
	    strcmp(version, "2024-11-05") == 0)
		can |= CAN_COMPLETE;
	if (json_type(json_get(v, "logging")) == JSON_OBJECT)
		can |= CAN_LOG;
	if (json_get(json_get(v, "extensions"), META("tasks")).at)
		can |= CAN_TASKS;
	return can;
}

void facts_read(struct client *c, const char *version, struct json info, struct json capabilities,
		struct json instructions)
{
	keep_json(c, &c->info, info, "serverInfo");
	keep_json(c, &c->capabilities, capabilities, "list of capabilities");
	c->can = read_can(capabilities, version);
	free(c->instructions);
	c->instructions = NULL;
	if (instructions.len > FACT_MAX)
		odd_warn(c, ODD_FACTS, "the server's instructions have %zu bytes and are not kept",
			 instructions.len);
	else
		json_string(instructions, &c->instructions);
}

void client_facts(const struct client *c, struct client_facts *out)
{
	*out = (struct client_facts){
		.era = c->era,
		.protocol = c->version,
		.info = c->info ? c->info : "{}",
		.capabilities = c->capabilities ? c->capabilities : "{}",
		.instructions = c->instructions ? c->instructions : "",
		.tells_tools = c->can & CAN_TOOLS_CHANGE,
	};
}

/* --- notifications --- */

int client_notify(struct client *c, const char *method, struct json params)
{
	return c->state == CLIENT_READY ? rpc_notify(&c->rpc, method, params) : -EAGAIN;
}

int client_roots_changed(struct client *c)
{
	const unsigned both = KILLICK_ROOTS | KILLICK_ROOTS_CHANGE;
	int r;

	if (c->state != CLIENT_READY || c->era != ERA_LEGACY || (c->spec->answers & both) != both)
		return 0;
	r = client_notify(c, "notifications/roots/list_changed", JSON_NONE);
	return r < 0 ? r : 1;
}

/* --- create and free --- */

static void on_later(struct loop_timer *t)
{
	call_run_later(CONTAINER_OF(t, struct client, later_timer));
}

void call_set_later(struct client *c)
{
	if (!c->later_timer.slot)
		loop_timer_set(c->loop, &c->later_timer, 0, on_later);
}

struct client *client_new(struct loop *loop, struct link *link, const struct client_spec *spec,
			  const struct client_events *ev, void *ctx)
{
	struct client *c = mem_grow(NULL, 1, sizeof(*c));

	*c = (struct client){ .loop = loop,
			      .spec = spec,
			      .ev = ev,
			      .ctx = ctx,
			      .wire_level = LEVEL_NONE,
			      .splice = BUF_INIT(spec->message_limit) };
	lines_init(&c->lines, &c->rpc, link, spec->message_limit);
	rpc_init(&c->rpc, &(struct rpc_spec){ .loop = loop,
					      .transport = &lines_transport,
					      .transport_ctx = &c->lines,
					      .role = &incoming_role,
					      .ctx = c,
					      .message_limit = spec->message_limit });
	ring_init(&c->owners);
	ring_init(&c->later);
	ring_init(&c->telling);
	ring_init(&c->watches);
	ring_init(&c->asks);
	handshake_begin(c);
	return c;
}

const char *const client_state_names[] = {
	[CLIENT_PROBING] = "probing", [CLIENT_INITIALIZING] = "initializing",
	[CLIENT_READY] = "ready",     [CLIENT_FAILED] = "failed",
	[CLIENT_OVER] = "over",
};

void client_go(struct client *c, enum client_state to, const char *why)
{
	assert(to == CLIENT_OVER ? c->state != CLIENT_OVER : c->state < CLIENT_READY);
	TRACE(TRACE_CLIENT, "link=%s tree=%s: %s -> %s (%s)", c->lines.link->id,
	      c->lines.link->tree, client_state_names[c->state], client_state_names[to], why);
	c->state = to;
}

void client_feed(struct client *c, const char *bytes, size_t len)
{
	lines_feed(&c->lines, bytes, len);
}

void client_fail(struct client *c, int code, const char *text)
{
	struct ring *open = &c->rpc.open;
	struct client_result r = { .code = code, .over = true };

	if (c->state == CLIENT_OVER)
		return;
	client_go(c, CLIENT_OVER, text);
	c->over_code = code;
	c->over_text = mem_text(text, strlen(text));
	r.text = c->over_text;
	rpc_stop(&c->rpc);
	handshake_done(c);
	listen_done(c);
	ask_done(c);
	while (!ring_is_empty(open)) {
		struct rpc_request *rq = CONTAINER_OF(open->next, struct rpc_request, node);
		struct client_call *call = CONTAINER_OF(rq, struct client_call, rq);

		assert(rq->handler == &call_handler);
		call_finish(call, &r);
	}
}

void client_free(struct client *c)
{
	assert(c->state == CLIENT_OVER);
	call_run_later(c);
	assert(ring_is_empty(&c->later) && c->open == 0);
	loop_timer_stop(c->loop, &c->later_timer);
	subscriptions_done(c);
	handles_done(c);
	for (struct ring *n; (n = ring_first(&c->owners)) != NULL;)
		party_free(CONTAINER_OF(n, struct party, node));
	rpc_done(&c->rpc);
	lines_done(&c->lines);
	buf_done(&c->splice);
	free(c->meta);
	free(c->info);
	free(c->capabilities);
	free(c->instructions);
	free(c->over_text);
	free(c);
}
