/* frame.h - lines out of bytes.
 *
 * One message per line, LF or CRLF. A line that is whole in what was fed is handed on from there,
 * without a copy; only one that is split is collected. A line longer than the limit (its CR is
 * counted) is dropped up to its newline and told once, as soon as it is known; what follows is read
 * as usual. So is a split line for which there is no memory. Empty lines are nothing. How the bytes
 * are cut into calls makes no difference. Threads: one at a time.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct frame {
	struct buf part; /* of a line that was split; max: the limit of a line */
	bool skipping;   /* in a line that is too long */
	bool no_memory;  /* of the last such line: it was not the limit, but the memory */
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
/* Hand on nothing more, now and in later calls: the bytes are of no interest any more. */
void frame_halt(struct frame *f);
/* Bytes of a line that has not ended, as far as they are kept. */
size_t frame_pending(const struct frame *f);
void frame_done(struct frame *f);
