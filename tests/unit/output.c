/* output.c - what is kept of a process's output, against a plain list of all of it. */
#include "executor/output.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "wire/wire.h"
#include "t.h"

#define EVENTS 40000

static struct model { /* all that ever happened */
	struct {
		enum output_event what;
		enum stream stream;
		size_t len;
		unsigned char first; /* bytes count up from here */
	} event[EVENTS];
	uint64_t count, pushed;
	size_t bytes; /* ever */
} model;

static void matches(const struct output_piece *p)
{
	unsigned char c = model.event[p->seq].first;

	OK(p->seq <= model.count);
	EQ(model.event[p->seq].what, OUTPUT_PIECE);
	EQ(p->len, model.event[p->seq].len);
	EQ(p->stream, model.event[p->seq].stream);
	for (size_t i = 0; i < p->len; i++, c++)
		if ((unsigned char)p->bytes[i] != c)
			FAIL("byte %zu of %zu", i, p->len);
}

/* The output may put it into chunks as it likes; look what it did. */
static void add(struct output *o, enum stream s, size_t len)
{
	static char bytes[300000];
	unsigned char c = (unsigned char)model.bytes;
	uint64_t before = o->last_seq, old = model.count;
	struct output_piece p;
	size_t seen = 0;

	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)(c + i);
	output_add(o, s, bytes, len);
	if (old && before && output_after(o, before - 1, &p) && p.seq == before &&
	    p.len > model.event[before].len) { /* it grew: nobody had heard of it */
		OK(before > model.pushed);
		seen = p.len - model.event[before].len;
		model.event[before].len = p.len;
	}
	for (uint64_t seq = before; output_after(o, seq, &p); seq = p.seq) {
		EQ(p.seq, seq + 1);
		OK(p.len <= WIRE_CHUNK_MAX);
		model.event[p.seq].what = OUTPUT_PIECE;
		model.event[p.seq].stream = s;
		model.event[p.seq].len = p.len;
		model.event[p.seq].first = (unsigned char)(c + seen);
		seen += p.len;
	}
	model.bytes += len;
	model.count = o->last_seq;
	EQ(seen, len);
}

static void push(struct output *o)
{
	struct output_piece p;
	enum output_event what = output_next(o, &p);

	EQ(what == OUTPUT_NONE, model.pushed == model.count);
	if (what == OUTPUT_NONE)
		return;
	EQ(p.seq, model.pushed + 1);
	EQ(what, model.event[p.seq].what);
	if (what == OUTPUT_PIECE)
		matches(&p);
	output_pushed(o);
	model.pushed++;
}

/* From a random place on: what is kept has no gap, and is the end of it all. */
static void read_some(struct output *o, uint64_t after)
{
	struct output_piece p;
	uint64_t last = 0;
	size_t bytes = 0;

	for (uint64_t seq = after; output_after(o, seq, &p); seq = p.seq) {
		matches(&p);
		OK(!last || p.seq == last + 1 ||
		   (p.seq == last + 2 && model.event[last + 1].what == OUTPUT_EXITED));
		last = p.seq;
		bytes += p.len;
	}
	if (!after)
		EQ(bytes, o->kept);
}

static void play(struct output *o, unsigned steps, size_t largest)
{
	for (unsigned i = 0; i < steps && model.count < EVENTS - 20; i++) {
		uint64_t dice = t_random() % 16;

		if (dice < 8)
			add(o, t_random() % 3 ? STREAM_STDOUT : STREAM_STDERR,
			    1 + t_random() % largest);
		else if (dice < 14)
			push(o);
		else if (dice == 14)
			read_some(o, model.count ? t_random() % model.count : 0);
		else if (t_random() % 4 == 0)
			output_tell(o);
		while (output_is_full(o))
			push(o);
		OK(o->kept <= WIRE_RETAIN_BYTES + largest + WIRE_CHUNK_MAX);
		OK(o->cap <= 2 * WIRE_RETAIN_BYTES);
	}
}

static void end(struct output *o)
{
	model.event[++model.count].what = OUTPUT_CLOSED;
	output_closed(o);
	while (model.pushed < model.count)
		push(o);
	push(o);
	output_trim(o);
	EQ(o->cap, o->kept);
	read_some(o, 0);
	output_done(o);
	output_done(o);
}

TEST(small_pieces)
{
	struct output o = { .cap = 0 };

	play(&o, 3000, 100);
	model.event[++model.count].what = OUTPUT_EXITED;
	output_exited(&o);
	play(&o, 300, 100);
	end(&o);
}

TEST(large_pieces)
{
	struct output o = { .cap = 0 };

	play(&o, 1500, 200000);
	model.event[++model.count].what = OUTPUT_EXITED;
	output_exited(&o);
	end(&o);
}

TEST(what_was_not_pushed_is_never_lost)
{
	struct output o = { .cap = 0 };

	for (int i = 0; i < 40; i++) /* more than is kept: the last bytes of its pipes */
		add(&o, STREAM_STDOUT, 50000);
	OK(o.kept == 40 * 50000);
	model.event[++model.count].what = OUTPUT_EXITED;
	output_exited(&o);
	end(&o);
}

TEST(output_without_chunks)
{
	struct output o = { .cap = 0 };
	struct output_piece p;

	EQ(output_next(&o, &p), OUTPUT_NONE);
	OK(!output_after(&o, 0, &p));
	OK(!o.bytes && !o.chunks);
	output_exited(&o);
	output_closed(&o);
	output_trim(&o);
	OK(!output_after(&o, 0, &p));
	output_done(&o);
}
