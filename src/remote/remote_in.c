/* remote_in.c - the output of a server on an executor, see remote_internal.h
 *
 * Output, exit and close of a process share one sequence of numbers without gaps. These events are
 * pushed, not always in order, and events that were pushed into a broken connection are lost. So an
 * event that comes before its turn is kept, within limits, and process/read fetches the missing
 * events: the executor retains the newest output. If the executor does not retain missing output
 * any more, the server is ended, because a stream with a gap is useless.
 */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "remote/remote_internal.h"

#define ROUNDS_MAX 100 /* reads in a row that bring nothing new, or never bring all */
#define AGAIN_MS   20  /* between reads that bring nothing new */

struct early {
	struct ring in;
	struct event event; /* its bytes follow this struct */
};

static void remote_in_take(struct remote *r, const struct event *ev);
static void remote_in_settle(struct remote *r);

static bool remote_in_is_over(const struct remote *r)
{
	return r->state == REMOTE_DONE || r->state == REMOTE_WAITING;
}

/* --- events before their turn --- */

/* Remove and return the first early event, or NULL. */
static struct early *next_early(struct remote *r)
{
	struct ring *first = ring_first(&r->in.early);
	struct early *e = first ? CONTAINER_OF(first, struct early, in) : NULL;

	if (!e)
		return NULL;
	ring_remove(&e->in);
	r->in.early_count--;
	r->in.early_bytes -= e->event.len;
	return e;
}

void remote_in_done(struct remote *r)
{
	for (struct early *e; (e = next_early(r)) != NULL;)
		free(e);
	rpc_drop(&r->env->rpc, &r->in.read);
	loop_timer_stop(r->env->loop, &r->in.retry);
}

/* Returns the event behind which seq belongs; NULL: seq is in the list already. */
static struct ring *remote_in_place_of(struct remote *r, uint64_t seq)
{
	struct ring *at = r->in.early.prev;

	while (at != &r->in.early && CONTAINER_OF(at, struct early, in)->event.seq > seq)
		at = at->prev;
	if (at != &r->in.early && CONTAINER_OF(at, struct early, in)->event.seq == seq)
		return NULL;
	return at;
}

static void keep(struct remote *r, const struct event *ev)
{
	struct ring *at = remote_in_place_of(r, ev->seq);
	struct early *e;

	if (!at)
		return;
	if (r->in.early_count == REMOTE_EARLY || ev->len > REMOTE_EARLY_BYTES - r->in.early_bytes ||
	    !(e = mem_try(sizeof(*e) + ev->len))) {
		r->in.again = true; /* process/read fetches the event later */
		return;
	}
	*e = (struct early){ .event = *ev };
	if (ev->bytes) {
		e->event.bytes = (char *)(e + 1);
		memcpy(e + 1, ev->bytes, ev->len);
	}
	e->in.prev = at;
	e->in.next = at->next;
	at->next->prev = &e->in;
	at->next = &e->in;
	r->in.early_count++;
	r->in.early_bytes += ev->len;
}

/* Handle the early events whose turn has come. Returns false if r may have been freed. */
static bool drain(struct remote *r)
{
	const struct ring *first;

	while ((first = ring_first(&r->in.early)) != NULL &&
	       CONTAINER_OF(first, struct early, in)->event.seq <= r->in.last + 1) {
		struct early *e = next_early(r);
		bool due = e->event.seq > r->in.last;
		bool last = due && e->event.kind == EVENT_CLOSED;

		if (due)
			remote_in_take(r, &e->event);
		free(e);
		if (last)
			return false;
	}
	return true;
}

/* --- events in their turn --- */

/* With EVENT_CLOSED r may be freed by this call. */
static void remote_in_take(struct remote *r, const struct event *ev)
{
	const struct link_events *to = r->link.ev;
	/* an end that was reported, or a start that was never reported (doubt_start) */
	bool silent = r->told || r->end.refused;

	assert(ev->seq == r->in.last + 1);
	r->in.last = ev->seq;
	switch (ev->kind) {
	case EVENT_STDOUT:
		if (!silent && ev->len)
			to->on_bytes(r->link.ctx, ev->bytes, ev->len);
		break;
	case EVENT_STDERR:
		if (!silent && ev->len)
			to->on_stderr(r->link.ctx, ev->bytes, ev->len);
		break;
	case EVENT_EXITED:
		if (!r->exited)
			remote_exited(r, ev->exit_code);
		break;
	case EVENT_CLOSED:
		remote_closed(r, ev->bytes, ev->len);
		break;
	default:
		break;
	}
}

void remote_event(struct remote *r, const struct event *ev)
{
	if (remote_in_is_over(r) || ev->seq <= r->in.last)
		return;
	if (r->state == REMOTE_STARTING || ev->seq != r->in.last + 1) {
		keep(r, ev);
		if (r->state != REMOTE_STARTING && !rpc_id(&r->in.read))
			remote_read(r);
		return;
	}
	remote_in_take(r, ev);
	if (ev->kind == EVENT_CLOSED || (r->in.early_count && !drain(r)))
		return;
	/* The pushed events continue where the last read ended, so there is no gap. Waiting for a
	 * read without news would take for ever with a server that writes all the time. */
	if (r->in.resyncing && r->in.rounds && !r->in.early_count)
		remote_in_settle(r);
}

void remote_in_begin(struct remote *r)
{
	bool more = r->in.again;

	r->in.again = false;
	if (drain(r) && (more || r->in.early_count))
		remote_read(r);
}

/* --- process/read --- */

struct reading { /* the result of process/read */
	struct json chunks;
	int64_t next;
	bool exited, closed;
	int64_t exit_code;
	struct json report;
};

static const char *read_event(struct environment *env, struct json stream, struct json chunk,
			      struct event *ev)
{
	buf_reset(&env->decoded, BUF_ANY_SIZE);
	if (json_is(stream, "stdout") || json_is(stream, "pty"))
		ev->kind = EVENT_STDOUT;
	else if (json_is(stream, "stderr"))
		ev->kind = EVENT_STDERR;
	else
		return "its stream is not known";
	if (json_type(chunk) != JSON_STRING ||
	    base64_decode(&env->decoded, chunk.at + 1, chunk.len - 2) < 0)
		return "its chunk is not base64";
	ev->bytes = env->decoded.data;
	ev->len = env->decoded.len;
	return NULL;
}

static bool read_seq(struct json v, uint64_t *out)
{
	int64_t n;

	if (!json_int(v, &n) || n < 1 || n == INT64_MAX)
		return false;
	*out = (uint64_t)n;
	return true;
}

static bool read_result(struct json result, struct reading *out)
{
	*out = (struct reading){ .chunks = json_get(result, "chunks"),
				 .exit_code = -1,
				 .report = json_get(result, "report") };
	json_bool(json_get(result, "exited"), &out->exited);
	json_bool(json_get(result, "closed"), &out->closed);
	json_int(json_get(result, "exitCode"), &out->exit_code);
	return json_type(out->chunks) == JSON_ARRAY &&
	       json_int(json_get(result, "nextSeq"), &out->next) && out->next >= 1;
}

static int remote_in_exit_code_of(int64_t code)
{
	return code < INT_MIN || code > INT_MAX ? -1 : (int)code;
}

/* The exit has a sequence number, but it is not a chunk. */
static void take_exit(struct remote *r, const struct reading *reading)
{
	struct event ev = { .seq = r->in.last + 1,
			    .kind = EVENT_EXITED,
			    .exit_code = remote_in_exit_code_of(reading->exit_code) };

	remote_in_take(r, &ev);
}

enum progress { FOUND_NOTHING, FOUND_MORE, FOUND_LOSS, FOUND_NONSENSE, FOUND_END };

static enum progress take_chunks(struct remote *r, const struct reading *reading)
{
	struct json_iter it = json_iter(reading->chunks);
	enum progress found = FOUND_NOTHING;

	while (json_each(&it)) {
		struct event ev = { .seq = 0 };

		if (!read_seq(json_get(it.value, "seq"), &ev.seq) ||
		    read_event(r->env, json_get(it.value, "stream"), json_get(it.value, "chunk"),
			       &ev))
			return FOUND_NONSENSE;
		if (!drain(r))
			return FOUND_END;
		if (ev.seq <= r->in.last)
			continue;
		if (ev.seq == r->in.last + 2 && reading->exited && !r->exited)
			take_exit(r, reading);
		if (ev.seq != r->in.last + 1)
			return FOUND_LOSS;
		remote_in_take(r, &ev);
		found = FOUND_MORE;
	}
	return drain(r) ? found : FOUND_END;
}

/* Handle the events that are not chunks: exit and close. */
static enum progress take_rest(struct remote *r, const struct reading *reading)
{
	bool exit_due = reading->exited && !r->exited;
	uint64_t next = (uint64_t)reading->next;
	uint64_t missing = next > r->in.last + 1 ? next - 1 - r->in.last : 0;
	uint64_t known = (uint64_t)exit_due + reading->closed;
	struct event end = { .kind = EVENT_CLOSED,
			     .bytes = reading->report.at,
			     .len = reading->report.len };

	if (missing > known)
		return FOUND_LOSS;
	if (missing < known) /* the result was cut; there is more */
		return reading->closed ? FOUND_MORE : FOUND_NOTHING;
	if (exit_due)
		take_exit(r, reading);
	if (!reading->closed)
		return FOUND_NOTHING;
	end.seq = r->in.last + 1;
	remote_in_take(r, &end);
	return FOUND_END;
}

static void remote_in_on_again(struct loop_timer *t)
{
	remote_read(CONTAINER_OF(t, struct remote, in.retry));
}

/* All missing events have arrived. */
static void remote_in_settle(struct remote *r)
{
	r->in.rounds = 0;
	if (!r->in.resyncing)
		return;
	r->in.resyncing = false;
	if (!r->told && r->link.ev->on_back)
		r->link.ev->on_back(r->link.ctx);
}

static void read_on(struct remote *r, enum progress found)
{
	bool again = r->in.again || r->in.early_count || (r->in.resyncing && found == FOUND_MORE);

	r->in.again = false;
	if (!again) {
		remote_in_settle(r);
	} else if (r->in.rounds++ == ROUNDS_MAX) {
		remote_break(r, "its executor does not send the output of the server");
	} else if (found == FOUND_MORE) {
		remote_read(r);
	} else {
		loop_timer_set(r->env->loop, &r->in.retry, AGAIN_MS, remote_in_on_again);
	}
}

static void on_read(struct rpc_request *p, const struct message *m)
{
	struct remote *r = CONTAINER_OF(p, struct remote, in.read);
	struct environment *env = r->env;
	struct reading reading;
	enum progress found;

	if (m->kind == MESSAGE_ERROR) {
		if (environment_error_code(m) == RPC_UNKNOWN_METHOD && !r->denied)
			remote_break(r, "its executor cannot send the output of the server");
		else
			remote_vanished(r);
		return;
	}
	found = read_result(m->result, &reading) ? take_chunks(r, &reading) : FOUND_NONSENSE;
	if (found == FOUND_MORE || found == FOUND_NOTHING) {
		enum progress rest = take_rest(r, &reading);

		if (rest != FOUND_NOTHING)
			found = rest;
	}
	buf_reset(&env->decoded, WIRE_CHUNK_MAX);
	if (found == FOUND_NONSENSE)
		environment_drop(env, CLOSE_FATAL, -EPROTO,
				 "its answer to process/read is not valid");
	else if (found == FOUND_LOSS)
		remote_break(r, "its executor has lost output of the server");
	else if (found != FOUND_END && r->state == REMOTE_RUNNING)
		read_on(r, found);
}

static const struct rpc_handler read_handler = { .on_answer = on_read };

void remote_read(struct remote *r)
{
	struct emit j;

	if (rpc_id(&r->in.read)) {
		r->in.again = true;
		return;
	}
	loop_timer_stop(r->env->loop, &r->in.retry);
	if (!environment_begin(r->env, &j, &r->in.read, "process/read", &read_handler))
		return;
	emit_str(&j, "processId", r->id);
	emit_int(&j, "afterSeq", (long long)r->in.last);
	emit_null(&j, "maxBytes");
	emit_int(&j, "waitMs", 0);
	environment_commit(r->env, &j);
}

/* --- notifications --- */

struct push { /* members of the params */
	struct json process, seq, stream, chunk, exit_code, report;
};

static struct push read_push(struct json params)
{
	struct json_iter it = json_iter(params);
	struct push p = { .process = JSON_NONE };

	while (json_each(&it)) {
		if (json_is(it.key, "processId"))
			p.process = it.value;
		else if (json_is(it.key, "seq"))
			p.seq = it.value;
		else if (json_is(it.key, "stream"))
			p.stream = it.value;
		else if (json_is(it.key, "chunk"))
			p.chunk = it.value;
		else if (json_is(it.key, "exitCode"))
			p.exit_code = it.value;
		else if (json_is(it.key, "report"))
			p.report = it.value;
	}
	return p;
}

static struct remote *remote_in_find(struct environment *env, struct json id)
{
	RING_EACH(at, &env->remotes) {
		struct remote *r = remote_of(at);
		size_t len = strlen(r->id);

		/* our ids have no characters that an executor might escape */
		if (id.len == len + 2 && memcmp(id.at + 1, r->id, len) == 0)
			return r;
	}
	return NULL;
}

const char *remote_push(struct environment *env, enum remote_push kind, struct json params)
{
	struct push p = read_push(params);
	struct event ev = { .kind = EVENT_EXITED, .exit_code = -1 };
	const char *wrong = NULL;
	struct remote *r;
	int64_t code;

	if (json_type(p.process) != JSON_STRING)
		return "it has no processId";
	r = remote_in_find(env, p.process);
	if (!r) /* the process has ended for us */
		return NULL;
	if (!read_seq(p.seq, &ev.seq))
		return "it has no seq";
	if (kind == PUSH_OUTPUT) {
		wrong = read_event(env, p.stream, p.chunk, &ev);
	} else if (kind == PUSH_EXITED) {
		if (json_int(p.exit_code, &code))
			ev.exit_code = remote_in_exit_code_of(code);
	} else {
		ev.kind = EVENT_CLOSED;
		ev.bytes = p.report.at;
		ev.len = p.report.len;
	}
	if (!wrong)
		remote_event(r, &ev);
	return wrong;
}
