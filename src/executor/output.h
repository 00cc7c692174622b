/* output.h - the output of a process: kept for clients that ask again, numbered without gaps.
 *
 * One counter per process, from 1, is shared by pieces of output ("chunks"), the exit and the end
 * ("closed", which is the last). All of them are pushed in that order. At most WIRE_RETAIN_BYTES
 * and WIRE_RETAIN_CHUNKS are kept, and the oldest chunks are dropped first; but never a chunk that
 * was not pushed yet, or that is among the last WIRE_PUSHED_BYTES that were pushed: these may still
 * be on their way. The process is not read while output_is_full. A chunk that was neither pushed
 * nor read may still grow. A process without output costs no memory here.
 *
 * Life: zero -> output_add ... -> output_exited -> output_closed -> output_done.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum stream { STREAM_STDOUT, STREAM_STDERR, STREAM_PTY };

struct output_chunk { /* its place in `bytes` */
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
/* So much output waits to be pushed that the process should not be read. */
bool output_is_full(const struct output *o);
/* The process may be read again. */
bool output_has_room(const struct output *o);

enum output_event { OUTPUT_NONE, OUTPUT_PIECE, OUTPUT_EXITED, OUTPUT_CLOSED };
/* The next event to push; out is filled in (for the last two only seq). */
enum output_event output_next(const struct output *o, struct output_piece *out);
/* The event of output_next was pushed. */
void output_pushed(struct output *o);

/* The first kept chunk after seq; false: there is none. */
bool output_after(const struct output *o, uint64_t seq, struct output_piece *out);
/* A client has read all chunks: they do not grow any more. */
void output_tell(struct output *o);
/* Memory is short: free chunks that were pushed up to this number, and unused memory. False:
 * nothing could be freed. */
bool output_shed(struct output *o, uint64_t seq);
/* The memory that the output takes, in bytes. */
size_t output_memory(const struct output *o);
/* No more output will come: shrink the memory to the chunks that are kept. */
void output_trim(struct output *o);
void output_done(struct output *o);
