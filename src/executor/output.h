/* output.h - what a process has said: kept for those who ask again, numbered without a gap.
 *
 * One counter per process, from 1, is shared by pieces of output ("chunks"), the exit and the end
 * ("closed", which is the last). They are pushed in that order. At most WIRE_RETAIN_BYTES and
 * WIRE_RETAIN_CHUNKS are kept, and the oldest give way; but never one that was not pushed yet, or
 * that was among the last WIRE_PUSHED_BYTES that were: these may still be on their way. Who makes
 * output stops when output_is_full says so. A chunk that nobody was told of yet may still
 * grow. A process that says nothing costs nothing here.
 *
 * Life: zero -> output_add ... -> output_exited -> output_closed -> output_done.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum stream { STREAM_STDOUT, STREAM_STDERR, STREAM_PTY };

struct output_chunk { /* where it lies */
	uint32_t offset;
	uint32_t len : 30, stream : 2;
};

struct output {
	char *bytes; /* a circle, in which every chunk lies in one piece */
	uint32_t cap;
	struct output_chunk *chunks; /* a circle, too; its size is a power of two */
	uint32_t chunks_cap;
	uint64_t oldest, count; /* of chunks: the first that is kept; how many there ever were */
	uint64_t told;          /* chunks before this one were pushed or read */
	uint64_t last_seq, pushed_seq, exited_seq, closed_seq; /* the last two: 0: not yet */
	size_t kept, unpushed;                                 /* bytes */
};

struct output_piece { /* borrowed */
	uint64_t seq;
	enum stream stream;
	const char *bytes;
	size_t len;
};

const char *stream_name(enum stream s);

void output_add(struct output *o, enum stream s, const char *bytes, size_t len);
void output_exited(struct output *o);
void output_closed(struct output *o);
/* So much waits to be pushed that no more should be made. */
bool output_is_full(const struct output *o);
/* And now again. */
bool output_has_room(const struct output *o);

enum output_event { OUTPUT_NONE, OUTPUT_PIECE, OUTPUT_EXITED, OUTPUT_CLOSED };
/* What is to be pushed next; out is filled in (of the last two only seq). */
enum output_event output_next(const struct output *o, struct output_piece *out);
/* It was. */
void output_pushed(struct output *o);

/* The first kept chunk after seq; false: there is none. */
bool output_after(const struct output *o, uint64_t seq, struct output_piece *out);
/* Somebody read what there is. */
void output_tell(struct output *o);
/* Memory is short: let go of what was pushed up to this number, and of memory that nothing is kept
 * in. False: nothing could go. */
bool output_shed(struct output *o, uint64_t seq);
/* What it costs, in bytes. */
size_t output_memory(const struct output *o);
/* No more will come: hold no more memory than what is kept needs. */
void output_trim(struct output *o);
void output_done(struct output *o);
