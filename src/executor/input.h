/* input.h - what a process is told: writes in their order, each once.
 *
 * A write is accepted when the link took all of it. The link holds INPUT_LINK_BYTES; what does not
 * fit waits here, and its answer with it: nothing else does. A write that was heard of before (its
 * writeId is among the last WIRE_WRITE_IDS) is accepted when the first one is, and written once.
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
	uint64_t highest; /* of the ids that are numbers: above it all are new */
};

struct input_write { /* borrowed, but memory of many bytes may be taken out of the buffer */
	const char *id;
	struct buf *bytes;
};

struct input_limits {
	size_t process;      /* bytes that may wait for one process, */
	size_t owner;        /* for all of its owner, */
	size_t *owner_bytes; /* and do so */
};

void input_init(struct input *in);
/* Write or hold, and answer. */
void input_write(struct input *in, struct link *l, const struct input_write *w,
		 const struct input_limits *limits, const struct reply *r);
/* The link has room again. */
void input_flush(struct input *in, struct link *l, size_t *owner_bytes);
/* Nothing more can be written: whoever waits hears it. */
void input_break(struct input *in, size_t *owner_bytes);
void input_done(struct input *in);
