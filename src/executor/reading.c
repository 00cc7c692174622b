/* reading.c - see reading.h */
#include "executor/reading.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "executor/connection.h"
#include "executor/executor_internal.h"
#include "executor/owner.h"
#include "executor/params.h"
#include "executor/process.h"
#include "wire/wire.h"

#define WAIT_MAX_MS 3600000u

struct reading {
	struct ring in_process;
	struct ring in_connection; /* while it waits for room */
	struct process *process;
	struct answer *answer;
	struct loop_timer deadline;
	uint64_t after, max_bytes;
};
#define NO_LIMIT UINT64_MAX

static void reading_free(struct reading *g)
{
	loop_timer_stop(g->process->owner->executor->loop, &g->deadline);
	ring_remove(&g->in_process);
	ring_remove(&g->in_connection);
	answer_free(g->answer);
	free(g);
}

static void on_gone(void *ctx)
{
	reading_free(ctx);
}

/* Has an event happened after `after`, or can no event happen any more? */
static bool is_ready(const struct process *p, uint64_t after)
{
	return p->output.last_seq > after || p->state >= PROCESS_CLOSED;
}

/* Write the chunks after `after`. maxBytes counts decoded bytes, and does not hold back the first
 * chunk. Returns nextSeq. */
static uint64_t write_chunks(struct process *p, uint64_t after, uint64_t max_bytes, struct emit *j)
{
	struct output_piece piece;
	uint64_t next = p->output.last_seq + 1, bytes = 0, seq = after;

	emit_open(j, "chunks", '[');
	while (output_after(&p->output, seq, &piece)) {
		if (bytes && piece.len > max_bytes - bytes)
			break;
		bytes += piece.len;
		seq = piece.seq;
		emit_open(j, NULL, '{');
		emit_int(j, "seq", (long long)piece.seq);
		emit_str(j, "stream", stream_name(piece.stream));
		wire_chunk(j, "chunk", piece.bytes, piece.len);
		emit_close(j);
		if (bytes >= max_bytes)
			break;
	}
	emit_close(j);
	return bytes && max_bytes != NO_LIMIT ? seq + 1 : next;
}

static void respond(const struct reply *r, struct process *p, uint64_t after, uint64_t max_bytes)
{
	struct emit j;
	uint64_t next;

	if (!reply_begin(r, &j))
		return;
	next = write_chunks(p, after, max_bytes, &j);
	output_tell(&p->output);
	emit_int(&j, "nextSeq", (long long)next);
	emit_bool(&j, "exited", p->state >= PROCESS_EXITED);
	if (p->state >= PROCESS_EXITED)
		emit_int(&j, "exitCode", p->exit_code);
	else
		emit_null(&j, "exitCode");
	emit_bool(&j, "closed", p->state >= PROCESS_CLOSED);
	emit_null(&j, "failure");
	emit_bool(&j, "sandboxDenied", false);
	if (p->state >= PROCESS_CLOSED && p->report)
		emit_raw(&j, "report", p->report, strlen(p->report));
	reply_end(r, &j);
	if (next > p->output.pushed_seq)
		process_caught_up(p);
}

/* Send the answer, or wait for room. The caller must push afterwards what is due; that may free the
 * process. */
static void reading_finish(struct reading *g)
{
	struct connection *c = connection_of(&g->answer->reply);

	assert(!ring_is_in(&g->in_connection)); /* a reading that waits for room is not due again */
	loop_timer_stop(g->process->owner->executor->loop, &g->deadline);
	if (c && !connection_has_room(c)) {
		ring_add(&c->reads, &g->in_connection);
		return;
	}
	respond(&g->answer->reply, g->process, g->after, g->max_bytes);
	reading_free(g);
}

static void reading_on_deadline(struct loop_timer *t)
{
	struct reading *g = CONTAINER_OF(t, struct reading, deadline);
	struct owner *o = g->process->owner;

	reading_finish(g);
	owner_push(o);
}

static struct reading *reading_hold(struct process *p, const struct reply *r, uint64_t after,
				    uint64_t max_bytes)
{
	struct reading *g = mem_grow(NULL, 1, sizeof(*g));

	*g = (struct reading){ .process = p, .after = after, .max_bytes = max_bytes };
	g->answer = answer_new(r, on_gone, g);
	if (!g->answer) {
		free(g);
		return NULL;
	}
	ring_add(&p->readers, &g->in_process);
	return g;
}

void reading_request(void *connection, const struct reply *r, struct json params)
{
	struct owner *o = ((struct connection *)connection)->owner;
	struct param list[] = { { .name = "processId" },
				{ .name = "afterSeq" },
				{ .name = "maxBytes" },
				{ .name = "waitMs" } };
	uint64_t after = 0, max_bytes = NO_LIMIT, wait_ms = 0;
	char id[PROCESS_ID_MAX + 8];
	struct err e = ERR_INIT;
	struct process *p;
	struct reading *g;
	bool ready;

	if (params_read(params, list, 4, &e) < 0 || param_is(&list[0], JSON_STRING, &e) < 0 ||
	    param_number_if(&list[1], &after, &e) < 0 ||
	    param_number_if(&list[2], &max_bytes, &e) < 0 ||
	    param_number_if(&list[3], &wait_ms, &e) < 0) {
		reply_error(r, e.code, "%s", e.text);
		return;
	}
	p = process_find(o, list[0].value, id);
	if (!p) {
		reply_error(r, RPC_INVALID_REQUEST, "unknown process id %s", id);
		return;
	}
	ready = !wait_ms || is_ready(p, after);
	if (ready && connection_has_room(connection_of(r))) {
		respond(r, p, after, max_bytes);
		owner_push(o);
		return;
	}
	g = reading_hold(p, r, after, max_bytes);
	if (g && ready)
		reading_finish(g);
	else if (g)
		loop_timer_set(o->executor->loop, &g->deadline,
			       (int64_t)(wait_ms < WAIT_MAX_MS ? wait_ms : WAIT_MAX_MS),
			       reading_on_deadline);
}

void reading_wake(struct process *p)
{
	RING_EACH(at, &p->readers) {
		struct reading *g = CONTAINER_OF(at, struct reading, in_process);

		if (!ring_is_in(&g->in_connection) && is_ready(p, g->after))
			reading_finish(g);
	}
}

void reading_forget(struct process *p)
{
	struct ring *first;

	while ((first = ring_first(&p->readers)) != NULL) {
		struct reading *g = CONTAINER_OF(first, struct reading, in_process);

		reply_error(&g->answer->reply, RPC_INVALID_REQUEST, "unknown process id %s", p->id);
		reading_free(g);
	}
}

void reading_room(struct connection *c)
{
	struct ring *first;

	while (connection_has_room(c) && (first = ring_first(&c->reads)) != NULL) {
		struct reading *g = CONTAINER_OF(first, struct reading, in_connection);

		ring_remove(&g->in_connection);
		reading_finish(g);
	}
}
