/* frame.h - splits a stream of bytes into lines.
 *
 * One message per line, LF or CRLF. A line that is complete in the bytes of one call is handed on
 * without a copy; only a split line is copied and collected. A line longer than the limit (its CR
 * counts) is dropped up to its newline and reported once, as soon as its length is known to be too
 * long; the next lines are read as usual. A split line for which there is no memory is dropped in
 * the same way. Empty lines are ignored. The result does not depend on how the bytes are divided
 * into calls. Threads: one at a time.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct frame {
	struct buf part; /* the collected part of a split line; max: the limit of a line */
	bool skipping;   /* inside a line that is dropped */
	bool no_memory;  /* the last dropped line was within the limit, but there was no memory */
	bool halted;
};
#define FRAME_INIT(limit)                                                                          \
	{                                                                                          \
		.part = BUF_INIT(limit)                                                            \
	}

struct frame_events {
	void (*on_line)(void *ctx, const char *line, size_t len); /* without its end; borrowed */
	void (*on_too_long)(void *ctx);
};

/* Handlers may not call frame_feed or frame_done on the same frame; they may ask to stop with
 * frame_halt. */
void frame_feed(struct frame *f, const char *bytes, size_t len, const struct frame_events *ev,
		void *ctx);
/* Report nothing more, in this call and in later calls: the caller needs no more lines. */
void frame_halt(struct frame *f);
/* The number of bytes that are kept of a line that has not ended. */
size_t frame_pending(const struct frame *f);
void frame_done(struct frame *f);
