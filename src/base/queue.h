/* queue.h - bytes that wait to be written to a descriptor, in blocks.
 *
 * Bytes are copied once, when they are added, and never moved: a queue that grows to some MiB while
 * a reader is behind costs no more per byte than a short one. Blocks of the usual size are used
 * again. Life: zero -> queue_add ... queue_pieces, queue_drop ... -> queue_done.
 * Threads: one at a time.  Blocking: never.
 */
#pragma once

#include "os/fd.h"

struct queue_block;

struct queue {
	struct queue_block *first, *last;
	struct queue_block *spare; /* one of the usual size; NULL: none */
	size_t len;                /* bytes that wait */
};

void queue_add(struct queue *q, const char *bytes, size_t len);
/* Fill in the first bytes that wait, as at most max pieces. Returns the number of pieces. */
int queue_pieces(const struct queue *q, struct fd_piece *out, int max);
/* Remove the first len bytes. */
void queue_drop(struct queue *q, size_t len);
/* Remove all bytes and free the memory. */
void queue_done(struct queue *q);
