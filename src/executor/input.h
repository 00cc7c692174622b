/* input.h - the input of a process: writes in order, each exactly once.
 *
 * A write is accepted when the link took all its bytes. The link holds INPUT_LINK_BYTES; bytes that
 * do not fit wait here, and only the answer to their write waits with them. A repeated write (its
 * writeId is among the last WIRE_WRITE_IDS) is accepted when the first one is, and is written only
 * once.
 *
 * Life: input_init -> input_write, input_flush (there is room) ... -> input_break -> input_done.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/ring.h"
#include "rpc/reply.h"
#include "link/link.h"

#define INPUT_LINK_BYTES (256u << 10)

struct input {
	struct ring held; /* writes that wait, or are done in part */
	size_t held_bytes;
	bool broken;   /* nothing can be written any more */
	uint64_t *ids; /* a circle of hashes of writeIds */
	uint32_t ids_cap, ids_count, ids_next;
	uint64_t highest; /* highest id that is a number: all ids above it are new */
};

struct input_write { /* borrowed, but the memory of a long buffer may be taken */
	const char *id;
	struct buf *bytes;
};

struct input_limits {
	size_t process;      /* bytes that may wait for one process, */
	size_t owner;        /* for all processes of its owner, */
	size_t *owner_bytes; /* and the bytes that do */
};

void input_init(struct input *in);
/* Write the bytes or hold them, and answer the request. */
void input_write(struct input *in, struct link *l, const struct input_write *w,
		 const struct input_limits *limits, const struct reply *r);
/* The link has room again. */
void input_flush(struct input *in, struct link *l, size_t *owner_bytes);
/* Nothing more can be written: answer all writes that wait. */
void input_break(struct input *in, size_t *owner_bytes);
void input_done(struct input *in);
