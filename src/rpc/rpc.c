/* rpc.c - see rpc.h */
#include "rpc/rpc.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rpc/reply.h"

#define NEVER INT64_MAX
#define LONGEST_MS                                                                                 \
	(INT64_C(10) * 365 * 24 * 3600 * 1000) /* 10 years; a longer timeout means never */
#define LATE_MAX 1024 /* of late answers that are expected; the oldest is forgotten first */
/* How much memory of the send buffer is kept between messages. Calls with some ten KiB of arguments
 * then do not allocate and free memory each time. */
#define LINE_KEPT (128 << 10)

/* --- requests on the wire --- */

struct rpc_request *rpc_find(const struct rpc *rpc, uint64_t id)
{
	struct hash_node *n = hash_find(&rpc->wire, id);

	return n ? CONTAINER_OF(n, struct rpc_request, wire) : NULL;
}

struct rpc_request *rpc_find_only(const struct rpc *rpc)
{
	struct rpc_request *only = NULL;

	for (struct ring *n = rpc->open.next; n != &rpc->open; n = n->next) {
		struct rpc_request *rq = CONTAINER_OF(n, struct rpc_request, node);

		if (!rpc_id(rq) || rq->standing)
			continue;
		if (only)
			return NULL;
		only = rq;
	}
	return only;
}

void rpc_drop(struct rpc *rpc, struct rpc_request *rq)
{
	if (rpc_id(rq))
		hash_remove(&rpc->wire, &rq->wire);
}

void rpc_lose(struct rpc *rpc, struct rpc_request *rq, const char *why)
{
	rpc_drop(rpc, rq);
	rq->handler->on_lost(rq, why);
}

void rpc_deliver(struct rpc *rpc, struct rpc_request *rq, const struct message *m)
{
	hash_remove(&rpc->wire, &rq->wire);
	rq->handler->on_answer(rq, m);
}

/* Remove the oldest withdrawn request from `late`, and store its tag in `dropped`. */
static void rpc_drop_late(struct rpc *rpc)
{
	struct rpc_late *to = rpc->dropped;

	_Static_assert(RPC_DROPPED == 2, "of two tags");
	if (to[1].tag == rpc->late[0].tag ||
	    (to[0].tag != rpc->late[0].tag && to[1].at_us < to[0].at_us))
		to++;
	*to = rpc->late[0];
	memmove(rpc->late, rpc->late + 1, --rpc->late_count * sizeof(*rpc->late));
}

uint64_t rpc_withdraw(struct rpc *rpc, struct rpc_request *rq, void *tag)
{
	uint64_t id = rpc_id(rq);

	hash_remove(&rpc->wire, &rq->wire);
	if (rpc->late_count == LATE_MAX)
		rpc_drop_late(rpc);
	if (rpc->late_count == rpc->late_room) {
		rpc->late_room = rpc->late_room ? 2 * rpc->late_room : 8;
		rpc->late = mem_grow(rpc->late, rpc->late_room, sizeof(*rpc->late));
	}
	rpc->late[rpc->late_count++] =
		(struct rpc_late){ .id = id, .tag = tag, .at_us = loop_now_us() };
	return id;
}

/* Remove the id from the list of late answers that are expected. Returns false if it is not in the
 * list. */
static bool rpc_take_late(struct rpc *rpc, uint64_t id)
{
	for (size_t i = 0; i < rpc->late_count; i++) {
		if (rpc->late[i].id != id)
			continue;
		rpc->late_count--;
		memmove(&rpc->late[i], &rpc->late[i + 1],
			(rpc->late_count - i) * sizeof(*rpc->late));
		return true;
	}
	return false;
}

/* --- deadlines --- */

static void rpc_on_time(struct loop_timer *t);

static void rpc_set_timer(struct rpc *rpc, int64_t deadline_us, int64_t delay_ms)
{
	if (deadline_us >= rpc->due_us || rpc->stopped)
		return;
	rpc->due_us = deadline_us;
	loop_timer_set(rpc->is.loop, &rpc->timer, delay_ms, rpc_on_time);
}

static struct rpc_request *rpc_first_expired(struct rpc *rpc, int64_t now, int64_t *out_next)
{
	int64_t next = NEVER;

	for (struct ring *n = rpc->open.next; n != &rpc->open; n = n->next) {
		struct rpc_request *rq = CONTAINER_OF(n, struct rpc_request, node);

		if (rq->deadline_us <= now)
			return rq;
		if (rq->deadline_us < next)
			next = rq->deadline_us;
	}
	*out_next = next;
	return NULL;
}

static void rpc_on_time(struct loop_timer *t)
{
	struct rpc *rpc = CONTAINER_OF(t, struct rpc, timer);
	int64_t now = loop_now_us(), next = NEVER;

	rpc->due_us = NEVER;
	for (struct rpc_request *rq;
	     !rpc->stopped && (rq = rpc_first_expired(rpc, now, &next)) != NULL;) {
		rq->deadline_us = NEVER; /* on_deadline is called only once */
		rq->handler->on_deadline(rq);
	}
	if (next != NEVER)
		rpc_set_timer(rpc, next, (next - now + 999) / 1000);
}

void rpc_extend(struct rpc *rpc, struct rpc_request *rq, int64_t timeout_ms)
{
	if (timeout_ms < 0 || timeout_ms > LONGEST_MS) {
		rq->deadline_us = NEVER;
		return;
	}
	rq->deadline_us = loop_read_clock(rpc->is.loop) + timeout_ms * 1000;
	rpc_set_timer(rpc, rq->deadline_us, timeout_ms);
}

void rpc_open(struct rpc *rpc, struct rpc_request *rq, const struct rpc_handler *h,
	      int64_t timeout_ms)
{
	assert(!rpc_id(rq));
	rq->handler = h;
	ring_add(&rpc->open, &rq->node);
	rpc_extend(rpc, rq, timeout_ms);
}

void rpc_close(struct rpc_request *rq)
{
	assert(!rpc_id(rq));
	ring_remove(&rq->node);
}

/* --- writing --- */

struct buf *rpc_buffer(struct rpc *rpc)
{
	if (rpc->stopped)
		return NULL;
	if (rpc->is.transport->begin)
		return rpc->is.transport->begin(rpc->is.transport_ctx);
	buf_reset(&rpc->line, LINE_KEPT);
	return &rpc->line;
}

int rpc_commit(struct rpc *rpc, struct buf *b, int built)
{
	int sent;

	if (built < 0 && b == &rpc->line)
		return built;
	/* A transport that has its own buffer is called even when the message could not be built:
	 * it sends nothing when the message is empty. */
	sent = rpc->is.transport->send(rpc->is.transport_ctx, b);
	return built < 0 ? built : sent;
}

static void rpc_number(struct rpc *rpc, struct rpc_request *rq)
{
	assert(rq->handler && !rpc_id(rq));
	hash_add(&rpc->wire, &rq->wire, ++rpc->last_id);
}

int rpc_begin(struct rpc *rpc, struct rpc_request *rq, const char *method, struct emit *j)
{
	struct buf *b = rpc_buffer(rpc);

	if (!b)
		return -EPIPE;
	if (rq) {
		rpc_number(rpc, rq);
		message_request(j, b, rpc->is.bare, rpc_id(rq), method);
	} else {
		message_notification(j, b, rpc->is.bare, method);
	}
	message_params(j);
	return 0;
}

int rpc_send(struct rpc *rpc, struct rpc_request *rq, struct emit *j)
{
	return rpc_send_text(rpc, rq, j->out, message_end(j));
}

int rpc_begin_text(struct rpc *rpc, struct rpc_request *rq, struct buf **out)
{
	struct buf *b = rpc_buffer(rpc);

	if (!b)
		return -EPIPE;
	rpc_number(rpc, rq);
	*out = b;
	return 0;
}

int rpc_send_text(struct rpc *rpc, struct rpc_request *rq, struct buf *b, int built)
{
	int r = rpc_commit(rpc, b, built);

	if (r < 0 && rq)
		rpc_drop(rpc, rq);
	return r;
}

int rpc_notify(struct rpc *rpc, const char *method, struct json params)
{
	struct buf *b = rpc_buffer(rpc);
	struct emit j;

	if (!b)
		return -EPIPE;
	message_notification(&j, b, rpc->is.bare, method);
	if (params.at)
		emit_json(&j, "params", params.at, params.len);
	return rpc_commit(rpc, b, message_end(&j));
}

void rpc_tell_odd(struct rpc *rpc, const struct rpc_odd *odd)
{
	rpc->is.role->on_odd(rpc->is.ctx, odd);
}

/* --- reading --- */

static void rpc_on_message(struct rpc *rpc, const struct message *m);

static void rpc_on_broken(struct rpc *rpc, struct json text, int error, const char *reason)
{
	rpc_tell_odd(rpc,
		     &(struct rpc_odd){
			     .kind = RPC_BROKEN, .text = text, .error = error, .reason = reason });
}

static void rpc_on_batch(struct rpc *rpc, const struct message *batch)
{
	struct json_iter it = json_iter(batch->whole);
	const char *reason;
	struct message m;

	if (!rpc->batches) {
		rpc_tell_odd(rpc, &(struct rpc_odd){ .kind = RPC_BATCH, .m = batch });
		return;
	}
	while (!rpc->stopped && json_each(&it)) {
		int r = message_of(it.value, &m, &reason);

		if (r < 0)
			rpc_on_broken(rpc, it.value, r, reason);
		else
			rpc_on_message(rpc, &m);
	}
}

static void rpc_on_answer(struct rpc *rpc, const struct message *m)
{
	struct rpc_request *rq = m->ours ? rpc_find(rpc, m->number) : NULL;
	struct rpc_odd odd = { .kind = RPC_TWICE, .m = m };

	if (rq) {
		rpc_deliver(rpc, rq, m);
		return;
	}
	if (!m->id.at)
		odd.kind = RPC_NAMELESS;
	else if (!m->ours || m->number == 0 || m->number > rpc->last_id)
		odd.kind = RPC_UNASKED;
	else if (rpc_take_late(rpc, m->number))
		return;
	rpc_tell_odd(rpc, &odd);
}

static const struct rpc_method *rpc_method(const struct rpc_method *table, struct json name)
{
	for (; table && table->name; table++)
		if (json_is(name, table->name))
			return table;
	return NULL;
}

static void rpc_on_call(struct rpc *rpc, const struct message *m)
{
	const struct rpc_role *role = rpc->is.role;
	bool request = m->kind == MESSAGE_REQUEST;
	struct reply r = { .rpc = rpc,
			   .id = m->id,
			   .method = rpc_method(request ? role->requests : role->notifications,
						m->method) };

	if (role->admit && !role->admit(rpc->is.ctx, &r, m))
		return;
	if (r.method)
		r.method->fn(rpc->is.ctx, &r, m->params);
	else if (request)
		reply_error(&r, RPC_UNKNOWN_METHOD, "Method not found");
}

static void rpc_on_message(struct rpc *rpc, const struct message *m)
{
	switch (m->kind) {
	case MESSAGE_REQUEST:
	case MESSAGE_NOTIFICATION:
		rpc_on_call(rpc, m);
		break;
	case MESSAGE_RESULT:
	case MESSAGE_ERROR:
		rpc_on_answer(rpc, m);
		break;
	case MESSAGE_BATCH:
		rpc_on_batch(rpc, m);
		break;
	}
}

void rpc_feed(struct rpc *rpc, const char *text, size_t len)
{
	const char *reason = "";
	struct message m;
	int r;

	if (rpc->stopped)
		return;
	r = rpc->is.bare ? message_parse_bare(text, len, &m, &reason)
			 : message_parse(text, len, &m, &reason);
	if (r < 0)
		rpc_on_broken(rpc, (struct json){ text, len }, r, reason);
	else
		rpc_on_message(rpc, &m);
}

/* --- init and done --- */

void rpc_init(struct rpc *rpc, const struct rpc_spec *spec)
{
	*rpc = (struct rpc){ .is = *spec, .line = BUF_INIT(spec->message_limit), .due_us = NEVER };
	ring_init(&rpc->open);
	ring_init(&rpc->answers);
}

void rpc_stop(struct rpc *rpc)
{
	rpc->stopped = true;
	rpc->due_us = NEVER;
	loop_timer_stop(rpc->is.loop, &rpc->timer);
}

void rpc_lost(struct rpc *rpc)
{
	for (size_t i = 0; i < rpc->wire.cap; i++)
		while (rpc->wire.heads[i])
			hash_remove(&rpc->wire, rpc->wire.heads[i]);
	reply_drop_all(rpc);
}

void rpc_done(struct rpc *rpc)
{
	assert(ring_is_empty(&rpc->open) && rpc->wire.count == 0);
	assert(ring_is_empty(&rpc->answers));
	rpc_stop(rpc);
	buf_done(&rpc->line);
	hash_done(&rpc->wire);
	free(rpc->late);
	rpc->late = NULL;
	rpc->late_count = rpc->late_room = 0;
}
