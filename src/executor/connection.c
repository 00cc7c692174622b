/* connection.c - see connection.h */
#include "executor/connection.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/trace.h"
#include "executor/executor_internal.h"
#include "executor/census.h"
#include "executor/orders.h"
#include "executor/owner.h"
#include "executor/params.h"
#include "executor/process.h"
#include "executor/reading.h"
#include "executor/scan.h"
#include "wire/wire.h"

/* --- sending --- */

bool connection_has_room(const struct connection *c)
{
	return c->state == CONNECTION_READY && !c->mute &&
	       channel_unsent(c->channel) < CHANNEL_HIGH;
}

static struct buf *connection_begin(void *ctx)
{
	struct connection *c = ctx;
	struct buf *b = NULL;

	if (c->state != CONNECTION_ENDED && !c->mute)
		b = channel_begin(c->channel);
	c->mute = !b;
	return b;
}

/* A connection whose peer does not read is dropped. */
static int connection_send(void *ctx, struct buf *b)
{
	struct connection *c = ctx;
	int r = channel_commit(c->channel);

	(void)b; /* the buffer belongs to the channel */
	if (r == -EPIPE)
		c->mute = true;
	else if (r < 0)
		connection_drop(c, "the client does not read");
	return r;
}

const char *const connection_state_names[] = {
	[CONNECTION_FRESH] = "fresh",
	[CONNECTION_GREETED] = "greeted",
	[CONNECTION_READY] = "ready",
	[CONNECTION_ENDED] = "ended",
};

static void connection_go(struct connection *c, enum connection_state to, const char *why)
{
	assert(to >= c->state);
	TRACE(TRACE_EXECUTOR, "connection %u peer=%s owner=%u: %s -> %s (%s)", c->number,
	      channel_peer(c->channel), c->owner ? c->owner->number : 0,
	      connection_state_names[c->state], connection_state_names[to], why);
	c->state = to;
}

void connection_drop(struct connection *c, const char *why)
{
	if (c->state == CONNECTION_ENDED)
		return;
	executor_log(c->executor, "event=drop client=%s peer=%s why=%s",
		     executor_quote(c->owner ? c->owner->client : ""),
		     executor_quote(channel_peer(c->channel)), executor_quote(why));
	connection_go(c, CONNECTION_ENDED, why);
	if (!c->closed)
		channel_close(c->channel, true);
}

void connection_finish(struct connection *c)
{
	if (c->state == CONNECTION_ENDED)
		return;
	connection_go(c, CONNECTION_ENDED, "finished");
	if (!c->closed)
		channel_close(c->channel, false);
}

/* --- silence --- */

/* Does silence mean that the other side is gone? A WebSocket answers pings. On pipes and unix
 * sockets the kernel reports the end, unless they are the last part of a longer way (ssh, for
 * example); then the client promises a heartbeat. */
bool connection_is_heard(const struct connection *c)
{
	return c->heartbeat || channel_can_ping(c->channel);
}

static void on_silence(struct loop_timer *t);

static void listen_on(struct connection *c, int64_t silent_ms)
{
	int64_t third = c->executor->o.lease_ms / 3 + 1;

	loop_timer_set(c->executor->loop, &c->silence,
		       silent_ms < third ? third - silent_ms : third, on_silence);
}

static void on_silence(struct loop_timer *t)
{
	struct connection *c = CONTAINER_OF(t, struct connection, silence);
	int64_t lease_ms = c->executor->o.lease_ms;
	int64_t silent_ms = (loop_now_us() - channel_heard_us(c->channel)) / 1000;

	if (!connection_is_heard(c))
		return;
	if (silent_ms >= lease_ms) {
		c->lost = true;
		connection_drop(c, "timed out: no message within the lease");
		return;
	}
	if (silent_ms >= lease_ms / 3)
		channel_ping(c->channel);
	listen_on(c, silent_ms);
}

/* --- the handshake --- */

enum { CLIENT_NAME, RESUME, HEARTBEAT, LABEL, MEMBERS };

static void greet(struct connection *c, const struct reply *r)
{
	struct executor *x = c->executor;
	struct emit j;

	if (!reply_begin(r, &j))
		return;
	emit_str(&j, "sessionId", c->owner->id);
	emit_raw(&j, "environmentInfo", x->info, strlen(x->info));
	emit_open(&j, "killick", '{');
	emit_str(&j, "version", KILLICK_VERSION);
	emit_int(&j, "leaseMs", x->o.lease_ms);
	emit_str(&j, "instance", x->instance);
	emit_close(&j);
	reply_end(r, &j);
}

/* Returns the owner with this session id. NULL: refused, and the reply was sent. */
static struct owner *resume(struct connection *c, const struct reply *r, struct json id)
{
	struct owner *o = owner_find(c->executor, id);
	char text[128];

	json_string_into(id, text, sizeof(text));
	if (!o)
		reply_error(r, RPC_INVALID_REQUEST, "unknown session id %s", text);
	else if (o->connection && !owner_yields(o))
		reply_error(r, RPC_STILL_ATTACHED,
			    "session %s is already attached to another connection", text);
	else
		return o;
	return NULL;
}

/* A connection that is let in does not count as a greeting any more. Returns false if it was
 * refused; the reply was sent then. */
static bool let_in(struct connection *c, const struct reply *r, bool resumes)
{
	if (!channel_let_in(c->channel, resumes)) {
		reply_error(r, RPC_INVALID_REQUEST,
			    "too many owners are connected; try again later, or start the executor "
			    "with a larger --max-connections");
		executor_log(c->executor, "event=full peer=%s",
			     executor_quote(channel_peer(c->channel)));
		connection_finish(c);
		return false;
	}
	loop_timer_stop(c->executor->loop, &c->greeting);
	channel_set_limit(c->channel, WIRE_MESSAGE_MAX);
	return true;
}

static void connection_on_greeting_late(struct loop_timer *t)
{
	connection_drop(CONTAINER_OF(t, struct connection, greeting),
			"timed out before initialize");
}

static void on_initialize(void *ctx, const struct reply *r, struct json params)
{
	struct connection *c = ctx;
	struct param p[MEMBERS] = { [CLIENT_NAME] = { .name = "clientName" },
				    [RESUME] = { .name = "resumeSessionId" },
				    [HEARTBEAT] = { .name = "heartbeatMs" },
				    [LABEL] = { .name = "label" } };
	struct err e = ERR_INIT;
	uint64_t heartbeat_ms = 0;
	struct owner *o;

	if (c->state != CONNECTION_FRESH || c->executor->closing) {
		reply_error(r, RPC_INVALID_REQUEST, "%s",
			    c->executor->closing
				    ? "the executor is ending"
				    : "initialize may only be sent once per connection");
		return;
	}
	if (params_read(params, p, MEMBERS, &e) < 0 ||
	    param_is(&p[CLIENT_NAME], JSON_STRING, &e) < 0 ||
	    (p[RESUME].value.at && param_is(&p[RESUME], JSON_STRING, &e) < 0) ||
	    param_number_if(&p[HEARTBEAT], &heartbeat_ms, &e) < 0) {
		reply_error(r, e.code, "%s", e.text);
		return;
	}
	o = p[RESUME].value.at ? resume(c, r, p[RESUME].value) : NULL;
	if ((p[RESUME].value.at && !o) || !let_in(c, r, o != NULL))
		return;
	if (!o)
		o = owner_new(c->executor, p[CLIENT_NAME].value, p[LABEL].value);
	owner_attach(o, c);
	connection_go(c, CONNECTION_GREETED, p[RESUME].value.at ? "resumed" : "initialize");
	c->heartbeat = heartbeat_ms > 0;
	if (connection_is_heard(c) && !c->silence.slot)
		listen_on(c, 0);
	executor_log(c->executor, "event=%s client=%s peer=%s",
		     p[RESUME].value.at ? "resumed" : "attached", executor_quote(o->client),
		     executor_quote(channel_peer(c->channel)));
	greet(c, r);
}

/* --- requests --- */

/* Flags of a method: its family, and when it may be called. */
enum { EXEC, FILESYSTEM, INFO, STATUS, FAMILY = 0xf };
enum { ANY_TIME = 0x10, AT_THE_END = 0x20 };

static void on_file(void *ctx, const struct reply *r, struct json params)
{
	struct connection *c = ctx;
	AUTO(fsop_done) struct fsop op;
	struct err e = ERR_INIT;

	if (fsop_read(&op, r->method->name, params, &c->executor->o, &e) < 0)
		reply_error(r, e.code, "%s", e.text);
	else
		files_add(&c->files, c->owner->files, r, &op);
}

static void on_info(void *ctx, const struct reply *r, struct json params)
{
	const struct connection *c = ctx;
	struct err e = ERR_INIT;

	if (params_none(params, &e) < 0)
		reply_error(r, e.code, "%s", e.text);
	else
		reply_json(r, c->executor->info, strlen(c->executor->info));
}

static void on_status(void *ctx, const struct reply *r, struct json params)
{
	struct err e = ERR_INIT;
	struct emit j;

	(void)ctx;
	if (params_none(params, &e) < 0) {
		reply_error(r, e.code, "%s", e.text);
		return;
	}
	if (!reply_begin(r, &j))
		return;
	emit_str(&j, "status", "ready");
	reply_end(r, &j);
}

static const struct rpc_method requests[] = {
	{ "process/write", EXEC, orders_write },
	{ "process/start", EXEC, process_start },
	{ "process/terminate", EXEC | AT_THE_END, orders_terminate },
	{ "process/read", EXEC, reading_request },
	{ "process/signal", EXEC, orders_signal },
	{ "process/list", EXEC, census_request },
	{ "fs/getMetadata", FILESYSTEM, on_file },
	{ "fs/readFile", FILESYSTEM, on_file },
	{ "fs/canonicalize", FILESYSTEM, on_file },
	{ "fs/walk", FILESYSTEM, on_file },
	{ "fs/writeFile", FILESYSTEM, on_file },
	{ "fs/createDirectory", FILESYSTEM, on_file },
	{ "fs/remove", FILESYSTEM, on_file },
	{ "environment/info", INFO, on_info },
	{ "environment/status", STATUS, on_status },
	{ "initialize", ANY_TIME, on_initialize },
	{ NULL, 0, NULL },
};

/* May the client call this method now? False: the error reply was sent. */
static bool may_call(struct connection *c, const struct reply *r, const char *name)
{
	static const char *const families[] = { [EXEC] = "exec",
						[FILESYSTEM] = "filesystem",
						[INFO] = "environment info",
						[STATUS] = "environment status" };
	unsigned flags = r->method ? r->method->flags : 0;

	if (!r->method)
		reply_error(r, RPC_UNKNOWN_METHOD, "exec-server stub does not implement `%s` yet",
			    name);
	else if (flags & ANY_TIME)
		return true;
	else if (c->state != CONNECTION_READY)
		reply_error(r, RPC_INVALID_REQUEST, "client must %s before using %s methods",
			    c->state == CONNECTION_FRESH ? "call initialize" : "send initialized",
			    families[flags & FAMILY]);
	else if (c->executor->closing && !(flags & AT_THE_END))
		reply_error(r, RPC_INVALID_REQUEST, "the executor is ending");
	else
		return true;
	return false;
}

static void refuse_long_id(const struct reply *r)
{
	reply_error(r, RPC_INVALID_REQUEST, "the id is longer than %d bytes", SCAN_ID_MAX);
}

/* A long request, which a thread has parsed. */
static void handle_scanned(struct connection *c, struct scan *s)
{
	struct reply r = { &c->rpc, scan_id(s), requests };

	while (r.method->name && strcmp(s->method, r.method->name) != 0)
		r.method++;
	if (!r.method->name)
		r.method = NULL;
	if (!s->id_len)
		refuse_long_id(&r);
	else if (!may_call(c, &r, s->method))
		return;
	else if (s->result == SCAN_OTHER)
		reply_error(&r, RPC_INVALID_REQUEST, "a message for %s has at most %u bytes",
			    r.method->name, SCAN_BYTES);
	else if (s->e.code)
		reply_error(&r, s->e.code, "%s", s->e.text);
	else if (s->result == SCAN_WRITE)
		orders_do_write(c->owner, &r, &s->write, &s->bytes);
	else if (s->result == SCAN_FILE)
		files_add(&c->files, c->owner->files, &r, &s->file);
	else
		process_start_as(c->owner, &r, &s->spec);
}

static void connection_on_initialized(void *ctx, const struct reply *r, struct json params)
{
	struct connection *c = ctx;

	(void)r;
	(void)params;
	connection_go(c, CONNECTION_READY, "initialized");
	owner_push(c->owner);
}

static bool connection_admit(void *ctx, const struct reply *r, const struct message *m)
{
	struct connection *c = ctx;
	char name[128] = "";

	if (m->kind == MESSAGE_NOTIFICATION) {
		if (!r->method || c->state == CONNECTION_FRESH)
			connection_drop(c, "unexpected notification");
		return c->state == CONNECTION_GREETED;
	}
	if (m->id.len > SCAN_ID_MAX) {
		refuse_long_id(r);
		return false;
	}
	if (!r->method)
		json_string_into(m->method, name, sizeof(name));
	return may_call(c, r, name);
}

/* --- events of the channel --- */

static void refuse_broken(struct connection *c, const char *reason)
{
	struct reply nobody = { &c->rpc, JSON_NONE, NULL };

	reply_error(&nobody, RPC_INVALID_REQUEST,
		    "failed to parse JSON-RPC message from exec-server client: %s", reason);
}

static void connection_on_odd(void *ctx, const struct rpc_odd *odd)
{
	struct connection *c = ctx;

	if (odd->kind == RPC_BROKEN)
		refuse_broken(c, odd->reason);
	else if (odd->kind != RPC_UNSENT) /* connection_send has handled that kind */
		connection_drop(c, "an answer without a request");
}

/* Have a thread parse a long message; the connection is not read until the thread is done. */
static void begin_scan(struct connection *c, const char *text, size_t len)
{
	c->scan = scan_begin(c, channel_take(c->channel, text, len), len);
	channel_pause(c->channel, true);
}

static void connection_on_message(void *ctx, const char *text, size_t len)
{
	struct connection *c = ctx;

	if (c->state == CONNECTION_ENDED)
		return;
	if (c->scan) {
		buf_add(&c->later, &len, sizeof(len));
		buf_add(&c->later, text, len);
	} else if (len > SCAN_BYTES) {
		begin_scan(c, text, len);
	} else {
		rpc_feed(&c->rpc, text, len);
	}
}

/* Handle the messages that came while a long one was parsed, up to the next long one. */
static void hear_later(struct connection *c)
{
	AUTO(buf_done) struct buf all = c->later;

	c->later = (struct buf)BUF_INIT(BUF_ANY_SIZE);
	for (size_t at = 0, len; at < all.len; at += len) {
		memcpy(&len, all.data + at, sizeof(len));
		at += sizeof(len);
		connection_on_message(c, all.data + at, len);
	}
}

static void end_connection(struct connection *c, const struct err *why);

void connection_scanned(struct connection *c, struct scan *s)
{
	assert(c->scan == s);
	c->scan = NULL;
	if (c->state == CONNECTION_ENDED)
		;
	else if (s->result == SCAN_BROKEN)
		refuse_broken(c, s->reason);
	else if (s->result == SCAN_NO_REQUEST)
		connection_drop(c, "a long message that is not a request");
	else
		handle_scanned(c, s);
	scan_free(s);
	hear_later(c);
	if (c->scan)
		return;
	if (c->closed)
		end_connection(c, &c->why);
	else
		channel_pause(c->channel, false);
}

static void connection_on_room(void *ctx)
{
	struct connection *c = ctx;

	reading_room(c);
	files_room(&c->files);
	if (c->owner)
		owner_push(c->owner);
}

static void end_connection(struct connection *c, const struct err *why)
{
	struct executor *x = c->executor;
	struct owner *o = c->owner;
	/* a close by the client counts as a message from the client */
	bool unheard = c->lost || why->code == -ETIMEDOUT;
	int64_t heard_us = unheard ? channel_heard_us(c->channel) : loop_now_us();

	if (c->state != CONNECTION_ENDED)
		connection_go(c, CONNECTION_ENDED, why->text);
	if (o)
		executor_log(x, "event=away client=%s peer=%s why=%s", executor_quote(o->client),
			     executor_quote(channel_peer(c->channel)), executor_quote(why->text));
	loop_timer_stop(x->loop, &c->silence);
	loop_timer_stop(x->loop, &c->greeting);
	files_line_done(&c->files);
	rpc_lost(&c->rpc);
	assert(ring_is_empty(&c->reads));
	ring_remove(&c->in_executor);
	if (o && c->last) { /* its processes must end first */
		o->on_gone = c->on_gone;
		o->on_gone_ctx = c->on_gone_ctx;
		c->on_gone = NULL;
	}
	rpc_done(&c->rpc);
	buf_done(&c->later);
	channel_free(c->channel);
	if (o)
		owner_detach(o, heard_us);
	if (c->on_gone)
		c->on_gone(c->on_gone_ctx);
	free(c);
	executor_settle(x);
}

static void connection_on_closed(void *ctx, const struct err *why)
{
	struct connection *c = ctx;

	if (!c->scan) {
		end_connection(c, why);
		return;
	}
	/* finish the long message first: it may be the last input of a process */
	c->closed = c->mute = true;
	c->why = *why;
}

static void connection_on_open(void *ctx)
{
	(void)ctx;
}

struct connection *connection_new(struct executor *x, struct channel *channel, bool last)
{
	static const struct channel_events events = { .on_open = connection_on_open,
						      .on_message = connection_on_message,
						      .on_room = connection_on_room,
						      .on_closed = connection_on_closed };
	static const struct rpc_transport transport = { connection_begin, connection_send };
	static const struct rpc_method notifications[] = {
		{ "initialized", 0, connection_on_initialized }, { NULL, 0, NULL }
	};
	static const struct rpc_role role = { requests, notifications, connection_admit,
					      connection_on_odd };
	struct connection *c = mem_grow(NULL, 1, sizeof(*c));

	*c = (struct connection){ .executor = x,
				  .number = ++x->last_number,
				  .channel = channel,
				  .last = last,
				  .later = BUF_INIT(BUF_ANY_SIZE) };
	rpc_init(&c->rpc, &(struct rpc_spec){ .loop = x->loop,
					      .transport = &transport,
					      .transport_ctx = c,
					      .role = &role,
					      .ctx = c,
					      .max_answers = x->o.max_requests,
					      .bare = true });
	ring_init(&c->reads);
	files_line_init(&c->files, x->files);
	ring_add(&x->connections, &c->in_executor);
	channel_set_limit(channel, WIRE_GREETING_MAX);
	channel_listen(channel, &events, c);
	if (!last)
		loop_timer_set(x->loop, &c->greeting, WIRE_INITIALIZE_MS,
			       connection_on_greeting_late);
	if (connection_is_heard(c))
		listen_on(c, 0);
	return c;
}
