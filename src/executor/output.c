/* output.c - see output.h */
#include "executor/output.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "wire/wire.h"

#define CAP_MIN     512u
#define CAP_MAX     (WIRE_RETAIN_BYTES + 5 * WIRE_CHUNK_MAX) /* or more, if it waits to be pushed */
#define CHUNKS_MIN  8u
#define LEN_MASK    0x3fffffffu
#define FULL_CHUNKS (WIRE_RETAIN_CHUNKS / 2)

const char *stream_name(enum stream s)
{
	static const char *const names[] = { "stdout", "stderr", "pty" };

	return names[s];
}

static struct output_chunk *output_chunk_at(const struct output *o, uint64_t number)
{
	assert(number >= o->oldest && number < o->count);
	return &o->chunks[number & (o->chunks_cap - 1)];
}

/* The exit has a sequence number among those of the chunks. */
static uint64_t seq_of(const struct output *o, uint64_t number)
{
	uint64_t seq = number + 1;

	return o->exited_seq && seq >= o->exited_seq ? seq + 1 : seq;
}

static uint64_t number_of(const struct output *o, uint64_t seq)
{
	return o->exited_seq && seq > o->exited_seq ? seq - 2 : seq - 1;
}

static void move_chunks(struct output *o, uint32_t cap)
{
	struct output_chunk *all = mem_grow(NULL, cap, sizeof(*all));

	for (uint64_t n = o->oldest; n < o->count; n++)
		all[n & (cap - 1)] = *output_chunk_at(o, n);
	free(o->chunks);
	o->chunks = all;
	o->chunks_cap = cap;
}

/* Move the chunks into a block of another size, without gaps between them. */
static void move_bytes(struct output *o, uint32_t cap)
{
	char *bytes = cap ? mem_grow(NULL, cap, 1) : NULL;
	uint32_t at = 0;

	for (uint64_t n = o->oldest; n < o->count; n++) {
		struct output_chunk *c = output_chunk_at(o, n);

		assert(bytes); /* cap is at least o->kept */
		memcpy(bytes + at, o->bytes + c->offset, c->len);
		c->offset = at;
		at += c->len;
	}
	free(o->bytes);
	o->bytes = bytes;
	o->cap = cap;
}

/* Find space for len bytes in one piece: behind the newest chunk, or at the beginning of the
 * block. */
static bool find_room(const struct output *o, size_t len, uint32_t *out_offset)
{
	uint32_t first, last, end;

	assert(o->oldest <= o->count);
	if (o->oldest == o->count) {
		*out_offset = 0;
		return len <= o->cap;
	}
	first = output_chunk_at(o, o->oldest)->offset;
	last = output_chunk_at(o, o->count - 1)->offset;
	end = last + output_chunk_at(o, o->count - 1)->len;
	*out_offset = end;
	if (last < first)
		return first - end >= len;
	if (o->cap - end >= len)
		return true;
	*out_offset = 0;
	return first >= len;
}

static bool has_too_many_chunks(const struct output *o)
{
	return o->count - o->oldest >= WIRE_RETAIN_CHUNKS;
}

static bool drop_oldest(struct output *o)
{
	size_t needed = has_too_many_chunks(o) ? 0 : WIRE_PUSHED_BYTES, len;

	assert(o->kept >= o->unpushed);
	if (o->oldest == o->count)
		return false;
	len = output_chunk_at(o, o->oldest)->len;
	if (o->kept - o->unpushed < needed + len)
		return false;
	o->kept -= len;
	o->oldest++;
	return true;
}

/* Capacity for len more bytes. The free space may be fragmented, so the block grows even if it has
 * enough free bytes. */
static uint32_t cap_for(const struct output *o, size_t len)
{
	uint64_t cap = o->cap ? o->cap : CAP_MIN / 4;

	if (cap < CAP_MAX)
		cap *= cap < WIRE_CHUNK_MAX ? 4 : 2;
	if (cap > CAP_MAX && o->kept + len <= CAP_MAX)
		cap = CAP_MAX;
	while (cap < o->kept + len)
		cap *= 2;
	assert(cap < UINT32_MAX);
	return (uint32_t)cap;
}

static void drop_surplus(struct output *o, size_t len)
{
	while (o->kept + len > WIRE_RETAIN_BYTES || has_too_many_chunks(o))
		if (!drop_oldest(o))
			break;
}

static uint32_t make_room(struct output *o, size_t len)
{
	uint32_t offset;

	drop_surplus(o, len);
	while (!find_room(o, len, &offset))
		if (o->cap < CAP_MAX || !drop_oldest(o))
			move_bytes(o, cap_for(o, len));
	return offset;
}

/* Make the newest chunk longer, if it was neither pushed nor read. Returns how many bytes were
 * added. */
static size_t extend(struct output *o, enum stream s, const char *bytes, size_t len)
{
	struct output_chunk *c;
	uint32_t offset;

	if (o->count == o->told || o->count == o->oldest || seq_of(o, o->count - 1) != o->last_seq)
		return 0;
	c = output_chunk_at(o, o->count - 1);
	if (c->stream != s || c->len == WIRE_CHUNK_MAX)
		return 0;
	if (len > WIRE_CHUNK_MAX - c->len)
		len = WIRE_CHUNK_MAX - c->len;
	drop_surplus(o, len);
	if (!find_room(o, len, &offset) || offset != c->offset + c->len)
		return 0;
	assert(offset + len <= o->cap);
	memcpy(o->bytes + offset, bytes, len);
	c->len = (c->len + (uint32_t)len) & LEN_MASK;
	return len;
}

static size_t output_append(struct output *o, enum stream s, const char *bytes, size_t len)
{
	uint32_t offset;

	if (len > WIRE_CHUNK_MAX)
		len = WIRE_CHUNK_MAX;
	offset = make_room(o, len);
	if (o->count - o->oldest == o->chunks_cap)
		move_chunks(o, o->chunks_cap ? 2 * o->chunks_cap : CHUNKS_MIN);
	assert(offset + len <= o->cap);
	memcpy(o->bytes + offset, bytes, len);
	o->count++;
	o->last_seq++;
	*output_chunk_at(o, o->count - 1) =
		(struct output_chunk){ offset, (uint32_t)len & LEN_MASK, s };
	return len;
}

void output_add(struct output *o, enum stream s, const char *bytes, size_t len)
{
	assert(!o->closed_seq);
	while (len > 0) {
		size_t n = extend(o, s, bytes, len);

		if (n == 0)
			n = output_append(o, s, bytes, len);
		o->kept += n;
		o->unpushed += n;
		bytes += n;
		len -= n;
	}
}

void output_exited(struct output *o)
{
	assert(!o->exited_seq && !o->closed_seq);
	o->exited_seq = ++o->last_seq;
}

void output_closed(struct output *o)
{
	assert(o->exited_seq && !o->closed_seq);
	o->closed_seq = ++o->last_seq;
}

bool output_is_full(const struct output *o)
{
	return o->unpushed >= WIRE_UNPUSHED_BYTES || o->last_seq - o->pushed_seq >= FULL_CHUNKS;
}

bool output_has_room(const struct output *o)
{
	return o->unpushed < WIRE_UNPUSHED_BYTES / 2 &&
	       o->last_seq - o->pushed_seq < FULL_CHUNKS / 2;
}

static void fill(const struct output *o, uint64_t number, struct output_piece *out)
{
	const struct output_chunk *c = output_chunk_at(o, number);

	*out = (struct output_piece){ seq_of(o, number), c->stream, o->bytes + c->offset, c->len };
}

enum output_event output_next(const struct output *o, struct output_piece *out)
{
	out->seq = o->pushed_seq + 1;
	if (out->seq > o->last_seq)
		return OUTPUT_NONE;
	if (out->seq == o->exited_seq)
		return OUTPUT_EXITED;
	if (out->seq == o->closed_seq)
		return OUTPUT_CLOSED;
	fill(o, number_of(o, out->seq), out);
	return OUTPUT_PIECE;
}

void output_pushed(struct output *o)
{
	struct output_piece piece;
	enum output_event what = output_next(o, &piece);

	assert(what != OUTPUT_NONE);
	o->pushed_seq++;
	if (what != OUTPUT_PIECE)
		return;
	o->unpushed -= piece.len;
	if (o->told < number_of(o, piece.seq) + 1)
		o->told = number_of(o, piece.seq) + 1;
}

bool output_after(const struct output *o, uint64_t seq, struct output_piece *out)
{
	uint64_t number;

	if (seq >= o->last_seq)
		return false;
	number = seq + 1 == o->exited_seq ? seq : number_of(o, seq + 1);
	if (number < o->oldest)
		number = o->oldest;
	if (number >= o->count)
		return false;
	fill(o, number, out);
	return true;
}

void output_tell(struct output *o)
{
	o->told = o->count;
}

bool output_shed(struct output *o, uint64_t seq)
{
	size_t before = output_memory(o);

	while (o->oldest < o->count && seq_of(o, o->oldest) <= seq) {
		assert(seq <= o->pushed_seq);
		o->kept -= output_chunk_at(o, o->oldest)->len;
		o->oldest++;
	}
	if (o->cap > 2 * o->kept) /* with less free space the block would soon grow again */
		output_trim(o);
	return output_memory(o) < before;
}

size_t output_memory(const struct output *o)
{
	return o->cap + o->chunks_cap * sizeof(*o->chunks);
}

void output_trim(struct output *o)
{
	uint32_t cap = CHUNKS_MIN;

	while (cap < o->count - o->oldest)
		cap *= 2;
	if (o->chunks_cap > cap)
		move_chunks(o, cap);
	if (o->cap > o->kept)
		move_bytes(o, (uint32_t)o->kept);
}

void output_done(struct output *o)
{
	free(o->bytes);
	free(o->chunks);
	*o = (struct output){ .cap = 0 };
}
