/* input.c - see input.h */
#include "executor/input.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "wire/wire.h"

#define IDS_MIN    16u
#define TAKE_BYTES (256u << 10)
#define HELD_COST  512u /* bytes that count for a write beside its own, which may be none */

struct held { /* a write that waits */
	struct ring in_input;
	struct answer *answer;
	size_t len, given;
	char *bytes; /* a block of its own, or behind this struct */
};

void input_init(struct input *in)
{
	*in = (struct input){ .broken = false };
	ring_init(&in->held);
}

/* --- ids --- */

/* Most clients use the ids "1", "2", ... Such an id is stored as its number; other ids are stored
 * as hashes with the highest bit set. */
static uint64_t id_value(const char *id, bool *out_number)
{
	uint64_t n = 0, h = 0xcbf29ce484222325u;
	size_t i = 0;

	for (; id[i] >= '0' && id[i] <= '9' && i < 18; i++)
		n = 10 * n + (uint64_t)(id[i] - '0');
	*out_number = i > 0 && !id[i] && (id[0] != '0' || i == 1);
	if (*out_number)
		return n;
	for (i = 0; id[i]; i++) {
		h = (h ^ (unsigned char)id[i]) * 0x100000001b3u;
		h ^= h >> 29;
	}
	return h | 1ull << 63;
}

static bool id_is_known(const struct input *in, uint64_t value, bool number)
{
	if (number && value > in->highest)
		return false;
	for (uint32_t i = 0; i < in->ids_count; i++)
		if (in->ids[i] == value)
			return true;
	return false;
}

static void id_remember(struct input *in, uint64_t value, bool number)
{
	if (number && value > in->highest)
		in->highest = value;
	if (in->ids_count == in->ids_cap && in->ids_cap < WIRE_WRITE_IDS) {
		in->ids_cap = in->ids_cap ? 2 * in->ids_cap : IDS_MIN;
		in->ids = mem_grow(in->ids, in->ids_cap, sizeof(*in->ids));
		in->ids_next = in->ids_count;
	}
	assert(in->ids_next < in->ids_cap);
	in->ids[in->ids_next] = value;
	in->ids_next = (in->ids_next + 1) % WIRE_WRITE_IDS;
	if (in->ids_count < in->ids_cap)
		in->ids_count++;
}

/* --- writing --- */

static void accept(const struct reply *r)
{
	struct emit j;

	if (!reply_begin(r, &j))
		return;
	emit_str(&j, "status", "accepted");
	reply_end(r, &j);
}

static void input_refuse(const struct reply *r)
{
	reply_error(r, RPC_INTERNAL, "failed to write to process stdin");
}

/* Give the link as many bytes as it should hold. Returns -EPIPE if nothing reads the pipe any
 * more. */
static int give(struct link *l, const char *bytes, size_t len, size_t *given)
{
	while (*given < len) {
		size_t waits = link_unwritten(l), n = len - *given;
		int r;

		if (waits >= INPUT_LINK_BYTES)
			return 0;
		if (n > INPUT_LINK_BYTES - waits)
			n = INPUT_LINK_BYTES - waits;
		r = link_write(l, bytes + *given, n);
		if (r < 0)
			return r == -ENOBUFS ? 0 : r;
		*given += n;
		assert(*given <= len);
	}
	return 0;
}

static void input_let_go(struct input *in, struct held *h, size_t *owner_bytes)
{
	assert(in->held_bytes >= h->len + HELD_COST && *owner_bytes >= h->len + HELD_COST);
	in->held_bytes -= h->len + HELD_COST;
	*owner_bytes -= h->len + HELD_COST;
	ring_remove(&h->in_input);
	answer_free(h->answer);
	if (h->bytes != (char *)(h + 1))
		free(h->bytes);
	free(h);
}

void input_flush(struct input *in, struct link *l, size_t *owner_bytes)
{
	struct ring *first;

	while ((first = ring_first(&in->held)) != NULL) {
		struct held *h = CONTAINER_OF(first, struct held, in_input);

		if (give(l, h->bytes, h->len, &h->given) < 0) {
			input_break(in, owner_bytes);
			return;
		}
		if (h->given < h->len)
			return;
		accept(&h->answer->reply);
		input_let_go(in, h, owner_bytes);
	}
}

void input_break(struct input *in, size_t *owner_bytes)
{
	struct ring *first;

	in->broken = true;
	while ((first = ring_first(&in->held)) != NULL) {
		struct held *h = CONTAINER_OF(first, struct held, in_input);

		input_refuse(&h->answer->reply);
		input_let_go(in, h, owner_bytes);
	}
}

/* A single write of any length may wait; otherwise it would never be accepted. */
static bool is_too_much(size_t waits, size_t len, size_t limit)
{
	return waits && (waits > limit || len > limit - waits);
}

static bool may_hold(const struct input *in, size_t len, const struct input_limits *limits,
		     const struct reply *r)
{
	if (is_too_much(in->held_bytes, len, limits->process)) {
		reply_error(r, RPC_INVALID_REQUEST,
			    "the process does not read: more than %zu bytes would wait",
			    limits->process);
		return false;
	}
	if (is_too_much(*limits->owner_bytes, len, limits->owner)) {
		reply_error(r, RPC_INVALID_REQUEST,
			    "the processes do not read: more than %zu bytes would wait",
			    limits->owner);
		return false;
	}
	return true;
}

/* Returns false if the write was refused. */
static bool input_hold(struct input *in, struct buf *bytes, size_t len,
		       const struct input_limits *limits, const struct reply *r)
{
	bool take = len > TAKE_BYTES; /* copying would take too long */
	struct answer *a;
	struct held *h;

	if (!may_hold(in, len, limits, r))
		return false;
	a = answer_new(r, NULL, NULL);
	if (!a)
		return false;
	h = mem_grow(NULL, sizeof(*h) + (take ? 0 : len), 1);
	*h = (struct held){ .answer = a, .len = len };
	h->bytes = take ? buf_take(bytes) : (char *)(h + 1);
	if (len && !take)
		memcpy(h->bytes, bytes->data, len);
	ring_add(&in->held, &h->in_input);
	in->held_bytes += len + HELD_COST;
	*limits->owner_bytes += len + HELD_COST;
	return true;
}

/* The usual case: the link takes all bytes. Returns -ENOBUFS if the write must wait. */
static int input_write_now(struct input *in, struct link *l, const char *bytes, size_t len)
{
	if (!ring_is_empty(&in->held))
		return -ENOBUFS;
	if (!len)
		return 0;
	if (len > INPUT_LINK_BYTES || link_unwritten(l) > INPUT_LINK_BYTES - len)
		return -ENOBUFS;
	return link_write(l, bytes, len);
}

void input_write(struct input *in, struct link *l, const struct input_write *w,
		 const struct input_limits *limits, const struct reply *r)
{
	bool number, known;
	uint64_t value = id_value(w->id, &number);
	size_t len;
	int result;

	if (in->broken) {
		input_refuse(r);
		return;
	}
	known = id_is_known(in, value, number);
	len = known ? 0 : w->bytes->len;
	result = input_write_now(in, l, w->bytes->data, len);
	if (result < 0 && result != -ENOBUFS) {
		input_break(in, limits->owner_bytes);
		input_refuse(r);
		return;
	}
	if (result < 0 && !input_hold(in, w->bytes, len, limits, r))
		return;
	if (!known)
		id_remember(in, value, number);
	if (result < 0)
		input_flush(in, l, limits->owner_bytes);
	else
		accept(r);
}

void input_done(struct input *in)
{
	assert(ring_is_empty(&in->held));
	free(in->ids);
	in->ids = NULL;
	in->ids_cap = in->ids_count = in->ids_next = 0;
}
