/* remote_out.c - the input of a server on an executor, see remote_internal.h
 *
 * Bytes stay in the queue until their process/write was answered, so that they can be sent again
 * under the same writeId after a loss: the executor knows which writes it has accepted. Several
 * writes are in flight only if the executor is killick's, which handles writes in order; another
 * executor may not.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "remote/remote_internal.h"

#define KEEP     (16u << 10) /* bytes of the empty queue's memory that are kept */
#define RETRY_MS 50          /* after the answer that the process is still starting */

static size_t remote_out_waiting(const struct remote_out *out)
{
	return out->queue.len - out->sent;
}

static struct remote_chunk *remote_out_chunk_at(struct remote_out *out, unsigned i)
{
	return &out->chunks[(out->first + i) % REMOTE_WRITES];
}

static void remote_out_forget(struct remote *r)
{
	struct remote_out *out = &r->out;

	for (unsigned i = 0; i < out->count; i++)
		rpc_drop(&r->env->rpc, &remote_out_chunk_at(out, i)->rq);
	out->first_id += out->count;
	out->count = 0;
	out->gone = out->sent = 0;
	loop_timer_stop(r->env->loop, &out->retry);
}

void remote_out_close(struct remote *r)
{
	r->out.closed = true;
	r->out.full = false;
	remote_out_forget(r);
	buf_reset(&r->out.queue, 0);
}

void remote_out_done(struct remote *r)
{
	remote_out_close(r);
	buf_done(&r->out.queue);
}

/* Nothing reads the server's stdin any more. A caller that waits for on_room gets the error from
 * its next write. */
static void refuse_more(struct remote *r)
{
	bool full = r->out.full;

	remote_out_close(r);
	if (full && !r->told && r->link.ev->on_room)
		r->link.ev->on_room(r->link.ctx);
}

static void send_again(struct remote *r);

static void remote_out_on_retry(struct loop_timer *t)
{
	send_again(CONTAINER_OF(t, struct remote, out.retry));
}

static void on_written(struct rpc_request *p, const struct message *m)
{
	struct remote_chunk *c = CONTAINER_OF(p, struct remote_chunk, rq);
	struct remote *r = c->remote;
	struct remote_out *out = &r->out;
	struct json status = json_get(m->result, "status");

	if (json_is(status, "starting")) {
		loop_timer_set(r->env->loop, &out->retry, RETRY_MS, remote_out_on_retry);
		return;
	}
	if (!json_is(status, "accepted")) {
		refuse_more(r);
		return;
	}
	c->accepted = true;
	for (; out->count && remote_out_chunk_at(out, 0)->accepted; out->count--) {
		out->gone += remote_out_chunk_at(out, 0)->len;
		out->first = (out->first + 1) % REMOTE_WRITES;
		out->first_id++;
	}
	if (out->gone == out->queue.len) {
		buf_reset(&out->queue, KEEP);
		out->gone = out->sent = 0;
	}
	remote_pump(r);
}

static const struct rpc_handler write_handler = { .on_answer = on_written };

/* Returns false if the chunk cannot be sent now. */
static bool send_chunk(struct remote *r, unsigned i, size_t at)
{
	struct remote_chunk *c = remote_out_chunk_at(&r->out, i);
	char write_id[24];
	struct emit j;

	if (!environment_begin(r->env, &j, &c->rq, "process/write", &write_handler))
		return false;
	snprintf(write_id, sizeof(write_id), "%llu", (unsigned long long)r->out.first_id + i);
	emit_str(&j, "processId", r->id);
	emit_str(&j, "writeId", write_id);
	wire_chunk(&j, "chunk", r->out.queue.data + at, c->len);
	environment_commit(r->env, &j);
	return true;
}

static void send_again(struct remote *r)
{
	struct remote_out *out = &r->out;
	size_t at = out->gone;

	for (unsigned i = 0; i < out->count; i++) {
		struct remote_chunk *c = remote_out_chunk_at(out, i);

		if (!c->accepted && !rpc_id(&c->rq) && !send_chunk(r, i, at))
			return;
		at += c->len;
	}
}

void remote_out_lost(struct remote *r)
{
	loop_timer_stop(r->env->loop, &r->out.retry);
}

void remote_out_resume(struct remote *r)
{
	send_again(r);
	remote_pump(r);
}

static bool may_send(const struct remote *r)
{
	const struct remote_out *out = &r->out;
	bool started =
		r->state == REMOTE_RUNNING || (r->state == REMOTE_STARTING && r->env->killick);

	return started && !r->lost && !out->closed && environment_has_room(r->env) &&
	       out->count < (r->env->killick ? REMOTE_WRITES : 1) &&
	       out->sent - out->gone < REMOTE_WRITE_BYTES;
}

void remote_pump(struct remote *r)
{
	struct remote_out *out = &r->out;

	while (remote_out_waiting(out) && may_send(r)) {
		struct remote_chunk *c = remote_out_chunk_at(out, out->count);
		size_t len = REMOTE_WRITE_BYTES - (out->sent - out->gone);

		if (len > REMOTE_WRITE_MAX)
			len = REMOTE_WRITE_MAX;
		if (len > remote_out_waiting(out))
			len = remote_out_waiting(out);
		*c = (struct remote_chunk){ .remote = r, .len = len };
		out->count++;
		if (!send_chunk(r, out->count - 1, out->sent)) {
			out->count--;
			break;
		}
		out->sent += len;
	}
	if (out->full && !remote_out_waiting(out)) {
		out->full = false;
		if (!r->told && r->link.ev->on_room)
			r->link.ev->on_room(r->link.ctx);
	}
}

int remote_write(struct link *link, const char *bytes, size_t len)
{
	struct remote *r = CONTAINER_OF(link, struct remote, link);
	struct remote_out *out = &r->out;

	if (out->closed)
		return -EPIPE;
	if (remote_out_waiting(out) > out->limit || len > out->limit - remote_out_waiting(out))
		return -ENOBUFS;
	if (out->gone > out->queue.len / 2) { /* each byte is moved at most once */
		buf_drop(&out->queue, out->gone);
		out->sent -= out->gone;
		out->gone = 0;
	}
	if (buf_add(&out->queue, bytes, len) < 0)
		return -ENOBUFS;
	out->full = false; /* on_room is not called from inside remote_write */
	remote_pump(r);
	out->full = remote_out_waiting(out) > 0;
	return 0;
}

/* Bytes that the executor has not acknowledged yet. */
size_t remote_unwritten(const struct link *link)
{
	const struct remote *r = (const struct remote *)(const void *)link;

	return r->out.queue.len - r->out.gone;
}
