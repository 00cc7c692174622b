/* peer.c - see peer.h */
#include "rpc/peer.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define NEVER       INT64_MAX
#define LONGEST_MS  (INT64_C(10) * 365 * 24 * 3600 * 1000) /* more than that is never */
#define FIRST_COUNT 16   /* buckets to begin with; a power of two */
#define LATE_MAX    1024 /* more late answers than that become answers to nothing */
/* Of the buffer for writing, between messages: enough that calls with some ten KiB of arguments do
 * not make the heap grow and shrink with each of them. */
#define LINE_KEPT    (128 << 10)
#define ODD_FIRST    3 /* warnings of a kind before they become rare */
#define EXCERPT_SIZE 81

void peer_ring_add(struct peer_node *ring, struct peer_node *n)
{
	n->prev = ring->prev;
	n->next = ring;
	ring->prev->next = n;
	ring->prev = n;
}

void peer_ring_remove(struct peer_node *ring, struct peer_node *n)
{
	assert(n != ring);
	n->prev->next = n->next;
	n->next->prev = n->prev;
	peer_ring_init(n);
}

/* --- warnings --- */

static bool is_power_of_ten(uint64_t n)
{
	while (n >= 10 && n % 10 == 0)
		n /= 10;
	return n == 1;
}

void peer_warn(struct peer *p, unsigned kind, const char *fmt, ...)
{
	char text[320];
	uint64_t count;
	va_list ap;
	int n;

	assert(kind < PEER_ODDITIES);
	count = ++p->odd[kind];
	if (p->stopped || (count > ODD_FIRST && !is_power_of_ten(count)))
		return;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text) - 40, fmt, ap);
	va_end(ap);
	assert(n >= 0);
	if (count > ODD_FIRST)
		snprintf(text + strlen(text), 40, " (%llu times by now)",
			 (unsigned long long)count);
	p->ev->on_warning(p->ctx, text);
}

/* The beginning of a line in print. */
static const char *excerpt(const char *line, size_t len, char out[EXCERPT_SIZE])
{
	size_t n = len < EXCERPT_SIZE - 1 ? len : EXCERPT_SIZE - 1;

	for (size_t i = 0; i < n; i++)
		out[i] = line[i] >= ' ' && line[i] < 0x7f ? line[i] : '?';
	out[n] = '\0';
	return out;
}

/* --- the table of what is on the wire --- */

static struct peer_request **bucket_of(const struct peer *p, uint64_t id)
{
	return &p->buckets[id & (p->bucket_count - 1)];
}

/* Ids are counted up, so they spread evenly by themselves. */
static void grow_table(struct peer *p)
{
	size_t old_count = p->bucket_count, count = old_count ? 2 * old_count : FIRST_COUNT;
	struct peer_request **old = p->buckets;

	p->buckets = mem_grow(NULL, count, sizeof(struct peer_request *));
	p->bucket_count = count;
	memset(p->buckets, 0, count * sizeof(struct peer_request *));
	for (size_t i = 0; i < old_count; i++) {
		for (struct peer_request *rq = old[i], *next; rq; rq = next) {
			struct peer_request **bucket = bucket_of(p, rq->id);

			next = rq->chain;
			rq->chain = *bucket;
			*bucket = rq;
		}
	}
	free(old);
}

struct peer_request *peer_find(const struct peer *p, uint64_t id)
{
	struct peer_request *rq = p->bucket_count ? *bucket_of(p, id) : NULL;

	while (rq && rq->id != id)
		rq = rq->chain;
	return rq;
}

static void take_off_wire(struct peer *p, struct peer_request *rq)
{
	struct peer_request **at;

	assert(rq->id && p->on_wire > 0);
	for (at = bucket_of(p, rq->id); *at != rq; at = &(*at)->chain)
		assert(*at);
	*at = rq->chain;
	rq->chain = NULL;
	rq->id = 0;
	p->on_wire--;
}

uint64_t peer_assign(struct peer *p, struct peer_request *rq)
{
	struct peer_request **bucket;

	assert(rq->handler && rq->id == 0);
	if (p->on_wire >= p->bucket_count)
		grow_table(p);
	rq->id = ++p->last_id;
	bucket = bucket_of(p, rq->id);
	rq->chain = *bucket;
	*bucket = rq;
	p->on_wire++;
	return rq->id;
}

void peer_unassign(struct peer *p, struct peer_request *rq)
{
	take_off_wire(p, rq);
}

uint64_t peer_withdraw(struct peer *p, struct peer_request *rq, void *tag)
{
	uint64_t id = rq->id;

	take_off_wire(p, rq);
	if (p->late_count == LATE_MAX)
		memmove(p->late, p->late + 1, --p->late_count * sizeof(*p->late));
	if (p->late_count == p->late_room) {
		p->late_room = p->late_room ? 2 * p->late_room : 8;
		p->late = mem_grow(p->late, p->late_room, sizeof(*p->late));
	}
	p->late[p->late_count++] =
		(struct peer_late){ .id = id, .tag = tag, .at_us = loop_now_us() };
	return id;
}

/* Was that answer expected to come late? It is no longer. */
static bool is_late(struct peer *p, uint64_t id)
{
	for (size_t i = 0; i < p->late_count; i++) {
		if (p->late[i].id != id)
			continue;
		p->late_count--;
		memmove(&p->late[i], &p->late[i + 1], (p->late_count - i) * sizeof(*p->late));
		return true;
	}
	return false;
}

/* --- deadlines --- */

static void on_time(struct loop_timer *t);

static void set_timer(struct peer *p, int64_t deadline_us, int64_t delay_ms)
{
	if (deadline_us >= p->due_us || p->stopped)
		return;
	p->due_us = deadline_us;
	loop_timer_set(p->loop, &p->timer, delay_ms, on_time);
}

static struct peer_request *first_expired(struct peer *p, int64_t now, int64_t *out_next)
{
	int64_t next = NEVER;

	for (struct peer_node *n = p->open.next; n != &p->open; n = n->next) {
		struct peer_request *rq = PEER_OF(n, struct peer_request, node);

		if (rq->deadline_us <= now)
			return rq;
		if (rq->deadline_us < next)
			next = rq->deadline_us;
	}
	*out_next = next;
	return NULL;
}

static void on_time(struct loop_timer *t)
{
	struct peer *p = PEER_OF(t, struct peer, timer);
	int64_t now = loop_now_us(), next = NEVER;

	p->due_us = NEVER;
	for (struct peer_request *rq; !p->stopped && (rq = first_expired(p, now, &next)) != NULL;) {
		rq->deadline_us = NEVER; /* told once, whatever the handler does */
		rq->handler->on_deadline(rq);
	}
	if (next != NEVER)
		set_timer(p, next, (next - now + 999) / 1000);
}

void peer_extend(struct peer *p, struct peer_request *rq, int64_t timeout_ms)
{
	if (timeout_ms < 0 || timeout_ms > LONGEST_MS) {
		rq->deadline_us = NEVER;
		return;
	}
	rq->deadline_us = loop_read_clock(p->loop) + timeout_ms * 1000;
	set_timer(p, rq->deadline_us, timeout_ms);
}

void peer_open(struct peer *p, struct peer_request *rq, const struct peer_handler *h,
	       int64_t timeout_ms)
{
	assert(!rq->handler && rq->id == 0);
	rq->handler = h;
	peer_ring_add(&p->open, &rq->node);
	peer_extend(p, rq, timeout_ms);
}

void peer_close(struct peer *p, struct peer_request *rq)
{
	assert(rq->handler && rq->id == 0);
	rq->handler = NULL;
	peer_ring_remove(&p->open, &rq->node);
}

/* --- writing --- */

struct buf *peer_line(struct peer *p)
{
	buf_reset(&p->line, LINE_KEPT);
	return &p->line;
}

int peer_send(struct peer *p)
{
	assert(p->line.len > 0 && p->line.data[p->line.len - 1] == '\n');
	return p->stopped ? -EPIPE : link_write(p->link, p->line.data, p->line.len);
}

static void send_answer(struct peer *p, int built)
{
	int r = built ? built : peer_send(p);

	if (r < 0)
		peer_warn(p, PEER_UNSENT, "a request of the server could not be answered: %s",
			  r == -ENOBUFS ? "it does not read"
			  : r == -EPIPE ? "its stdin is closed"
					: "the answer is too long");
}

void peer_answer(struct peer *p, struct json id, const char *result, size_t len)
{
	send_answer(p, message_result(peer_line(p), id, result, len));
}

void peer_refuse(struct peer *p, struct json id, int code, const char *text)
{
	send_answer(p, message_error(peer_line(p), id, code, text));
}

/* --- lines that are no message: whose answer were they? --- */

static const char *skip_spaces(const char *s, const char *end)
{
	while (s < end && (*s == ' ' || *s == '\t'))
		s++;
	return s;
}

static const char *skip_text(const char *s, const char *end, const char *text)
{
	size_t len = strlen(text);

	s = skip_spaces(s, end);
	return (size_t)(end - s) >= len && memcmp(s, text, len) == 0 ? s + len : NULL;
}

/* A whole number, and something behind it that shows that it is whole. */
static bool read_number(const char *s, const char *end, uint64_t *out)
{
	uint64_t n = 0;

	if (s < end && *s == '0')
		return false;
	for (; s < end && *s >= '0' && *s <= '9'; s++) {
		if (n > (UINT64_MAX - 9) / 10)
			return false;
		n = 10 * n + (uint64_t)(*s - '0');
	}
	*out = n;
	return n > 0 && s < end && (*s == ',' || *s == '}' || *s == ' ');
}

/* {"jsonrpc":"2.0","id":7,... */
static bool id_in_head(const char *s, size_t len, uint64_t *out)
{
	const char *end = s + len, *next;

	s = skip_text(s, end, "{");
	if (!s)
		return false;
	next = skip_text(s, end, "\"jsonrpc\"");
	next = next ? skip_text(next, end, ":") : NULL;
	next = next ? skip_text(next, end, "\"2.0\"") : NULL;
	next = next ? skip_text(next, end, ",") : s;
	s = next ? next : s;
	s = skip_text(s, end, "\"id\"");
	s = s ? skip_text(s, end, ":") : NULL;
	return s && read_number(skip_spaces(s, end), end, out);
}

/* ...,"id":7} as the last member of the outermost object: one brace, and the line ends. */
static bool id_in_tail(const char *s, size_t len, uint64_t *out)
{
	const char *at = NULL, *end = s + len;

	for (const char *p = s; (p = memmem(p, (size_t)(end - p), "\"id\"", 4)) != NULL; p++)
		at = p;
	if (!at || at == s || at[-1] != ',')
		return false;
	at = skip_text(at + 4, end, ":");
	if (!at)
		return false;
	at = skip_spaces(at, end);
	if (!read_number(at, end, out))
		return false;
	while (at < end && *at >= '0' && *at <= '9')
		at++;
	at = skip_text(at, end, "}");
	if (at && at < end && *at == '\r')
		at++;
	return at && skip_spaces(at, end) == end;
}

static bool guess_id(const struct peer_edges *e, uint64_t *out)
{
	if (id_in_head(e->head, e->head_len, out))
		return true;
	return e->head_len && e->head[0] == '{' && id_in_tail(e->tail, e->tail_len, out);
}

static void spoil(struct peer *p, struct peer_request *rq, const char *why)
{
	take_off_wire(p, rq);
	rq->handler->on_spoiled(rq, why);
}

/* The only request that is on the wire and will be answered. */
static struct peer_request *only_one(struct peer *p)
{
	struct peer_request *only = NULL;

	for (struct peer_node *n = p->open.next; n != &p->open; n = n->next) {
		struct peer_request *rq = PEER_OF(n, struct peer_request, node);

		if (!rq->id || rq->standing)
			continue;
		if (only)
			return NULL;
		only = rq;
	}
	return only;
}

static void add_head(struct peer_edges *e, const char *s, size_t len)
{
	if (len > PEER_EDGE - e->head_len)
		len = PEER_EDGE - e->head_len;
	memcpy(e->head + e->head_len, s, len);
	e->head_len += len;
}

static void add_tail(struct peer_edges *e, const char *s, size_t len)
{
	size_t kept;

	if (len > PEER_EDGE) {
		s += len - PEER_EDGE;
		len = PEER_EDGE;
	}
	kept = e->tail_len < PEER_EDGE - len ? e->tail_len : PEER_EDGE - len;
	memmove(e->tail, e->tail + (e->tail_len - kept), kept);
	memcpy(e->tail + kept, s, len);
	e->tail_len = kept + len;
}

/* The newline of a line that was too long has come. */
static void long_line_ended(struct peer *p)
{
	struct peer_request *rq;
	uint64_t id;
	char why[80];

	p->edges.open = false;
	rq = guess_id(&p->edges, &id)                                    ? peer_find(p, id)
	     : memmem(p->edges.head, p->edges.head_len, "\"method\"", 8) ? NULL
									 : only_one(p);
	if (p->frame.no_memory)
		snprintf(why, sizeof(why), "there is no memory for its answer");
	else
		snprintf(why, sizeof(why), "its answer is longer than %zu bytes",
			 p->frame.part.max);
	if (rq)
		spoil(p, rq, why);
}

/* The frame tells that a line is too long, not which. Find it in what is being fed, to have its
 * two ends. */
static void on_too_long(void *ctx)
{
	struct peer *p = ctx;

	if (p->stopped)
		return;
	if (p->frame.no_memory)
		peer_warn(p, PEER_TOO_LONG,
			  "there is no memory for a line that the server wrote, which was dropped");
	else
		peer_warn(p, PEER_TOO_LONG,
			  "the server wrote a line of more than %zu bytes, which was dropped",
			  p->frame.part.max);
	while (p->scan < p->chunk_end) {
		const char *start = p->scan;
		const char *newline = memchr(start, '\n', (size_t)(p->chunk_end - start));
		size_t len = (size_t)((newline ? newline : p->chunk_end) - start);
		size_t before = start == p->chunk ? p->chunk_before : 0;

		p->scan = newline ? newline + 1 : p->chunk_end;
		/* without memory it is a line that is split, before or behind this chunk */
		if (before + len <= p->frame.part.max &&
		    !(p->frame.no_memory && (before || !newline)))
			continue;
		if (!before)
			p->edges.head_len = 0;
		add_head(&p->edges, start, len);
		p->edges.tail_len = 0;
		add_tail(&p->edges, start, len);
		p->edges.open = true;
		if (newline)
			long_line_ended(p);
		return;
	}
}

/* --- reading --- */

static void on_message(struct peer *p, const struct message *m);

static void on_bad_line(struct peer *p, const char *line, size_t len, int error, const char *reason)
{
	struct peer_edges edges = { .open = false };
	char shown[EXCERPT_SIZE], why[160];
	struct peer_request *rq = NULL;
	uint64_t id;

	peer_warn(p, error == -EBADMSG ? PEER_NOT_JSON : PEER_NOT_RPC,
		  "the server wrote a line that is no message (%s): %s", reason,
		  excerpt(line, len, shown));
	add_head(&edges, line, len);
	add_tail(&edges, line, len);
	if (guess_id(&edges, &id))
		rq = peer_find(p, id);
	snprintf(why, sizeof(why), "its answer cannot be read: %s", reason);
	if (rq)
		spoil(p, rq, why);
}

static void on_batch(struct peer *p, const struct message *batch)
{
	struct json_iter it = json_iter(batch->whole);
	const char *reason;
	struct message m;

	if (!p->batches) {
		peer_warn(p, PEER_BATCH,
			  "the server wrote a batch, which its protocol version does not have");
		return;
	}
	while (!p->stopped && json_each(&it)) {
		int r = message_of(it.value, &m, &reason);

		if (r < 0)
			on_bad_line(p, it.value.at, it.value.len, r, reason);
		else
			on_message(p, &m);
	}
}

/* An error without an id: the other side could not read what we wrote. With one request on the
 * wire it is clear which. */
static void on_nameless(struct peer *p, const struct message *m)
{
	struct peer_request *rq = only_one(p);
	char shown[EXCERPT_SIZE];

	if (rq) {
		take_off_wire(p, rq);
		rq->handler->on_answer(rq, m);
		return;
	}
	peer_warn(p, PEER_UNKNOWN_ID, "the server answered with an error to no request: %s",
		  excerpt(m->error.at, m->error.len, shown));
}

static void on_answer(struct peer *p, const struct message *m)
{
	struct peer_request *rq = m->ours ? peer_find(p, m->number) : NULL;
	char shown[EXCERPT_SIZE];

	if (rq) {
		take_off_wire(p, rq);
		rq->handler->on_answer(rq, m);
	} else if (json_type(m->id) == JSON_ABSENT || json_type(m->id) == JSON_NULL) {
		on_nameless(p, m);
	} else if (!m->ours || m->number == 0 || m->number > p->last_id) {
		peer_warn(p, PEER_UNKNOWN_ID,
			  "the server answered a request that was never made: id %s",
			  excerpt(m->id.at, m->id.len, shown));
	} else if (!is_late(p, m->number)) {
		peer_warn(p, PEER_TWICE, "the server answered request %llu again",
			  (unsigned long long)m->number);
	}
}

static void on_message(struct peer *p, const struct message *m)
{
	switch (m->kind) {
	case MESSAGE_REQUEST:
		p->ev->on_request(p->ctx, m);
		break;
	case MESSAGE_NOTIFICATION:
		p->ev->on_notification(p->ctx, m);
		break;
	case MESSAGE_RESULT:
	case MESSAGE_ERROR:
		on_answer(p, m);
		break;
	case MESSAGE_BATCH:
		on_batch(p, m);
		break;
	}
}

static void on_line(void *ctx, const char *line, size_t len)
{
	struct peer *p = ctx;
	const char *reason = "";
	struct message m;
	int r;

	if (p->stopped)
		return;
	r = message_parse(line, len, &m, &reason);
	if (r < 0)
		on_bad_line(p, line, len, r, reason);
	else
		on_message(p, &m);
}

/* The rest of a line that is too long. */
static void feed_edges(struct peer *p, const char *bytes, size_t len)
{
	const char *newline = memchr(bytes, '\n', len);

	add_tail(&p->edges, bytes, newline ? (size_t)(newline - bytes) : len);
	if (newline)
		long_line_ended(p);
}

void peer_feed(struct peer *p, const char *bytes, size_t len)
{
	static const struct frame_events ev = { .on_line = on_line, .on_too_long = on_too_long };

	if (p->stopped || len == 0)
		return;
	if (p->edges.open)
		feed_edges(p, bytes, len);
	p->chunk = p->scan = bytes;
	p->chunk_end = bytes + len;
	p->chunk_before = frame_pending(&p->frame);
	if (p->chunk_before) {
		p->edges.head_len = 0;
		add_head(&p->edges, p->frame.part.data, p->chunk_before);
	}
	frame_feed(&p->frame, bytes, len, &ev, p);
	p->chunk = p->scan = p->chunk_end = NULL;
}

/* --- life --- */

void peer_init(struct peer *p, struct loop *loop, struct link *link, size_t message_limit,
	       const struct peer_events *ev, void *ctx)
{
	*p = (struct peer){
		.loop = loop,
		.link = link,
		.ev = ev,
		.ctx = ctx,
		.frame = FRAME_INIT(message_limit),
		.line = BUF_INIT(message_limit),
		.due_us = NEVER,
	};
	peer_ring_init(&p->open);
}

void peer_stop(struct peer *p)
{
	p->stopped = true;
	p->due_us = NEVER;
	frame_halt(&p->frame);
	loop_timer_stop(p->loop, &p->timer);
}

void peer_done(struct peer *p)
{
	assert(peer_ring_is_empty(&p->open) && p->on_wire == 0);
	peer_stop(p);
	frame_done(&p->frame);
	buf_done(&p->line);
	free(p->buckets);
	free(p->late);
	p->buckets = NULL;
	p->late = NULL;
	p->bucket_count = p->late_count = p->late_room = 0;
}
