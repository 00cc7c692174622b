/* frame.c - see frame.h */
#include "base/frame.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

enum { PART_KEEP = 16 * 1024 }; /* a larger buffer is rare, and is freed after its line */

/* Pass on a complete line; len does not count the newline. */
static void frame_hand_on(const char *line, size_t len, const struct frame_events *ev, void *ctx)
{
	if (len && line[len - 1] == '\r')
		len--;
	if (len)
		ev->on_line(ctx, line, len);
}

static void frame_drop(struct frame *f, int why, const struct frame_events *ev, void *ctx)
{
	f->no_memory = why == -ENOMEM;
	ev->on_too_long(ctx);
}

/* `bytes` are the last part of a line, without its newline. */
static void frame_end_line(struct frame *f, const char *bytes, size_t len,
			   const struct frame_events *ev, void *ctx)
{
	if (f->skipping) {
		f->skipping = false;
	} else if (f->part.len == 0) {
		if (len <= f->part.max)
			frame_hand_on(bytes, len, ev, ctx);
		else
			frame_drop(f, -EMSGSIZE, ev, ctx);
	} else {
		int r = buf_add(&f->part, bytes, len);

		if (r == 0)
			frame_hand_on(f->part.data, f->part.len, ev, ctx);
		else
			frame_drop(f, r, ev, ctx);
		buf_reset(&f->part, PART_KEEP);
	}
}

void frame_feed(struct frame *f, const char *bytes, size_t len, const struct frame_events *ev,
		void *ctx)
{
	while (len && !f->halted) {
		const char *newline = memchr(bytes, '\n', len);
		size_t line = newline ? (size_t)(newline - bytes) : len;
		int r;

		if (newline) {
			frame_end_line(f, bytes, line, ev, ctx);
			bytes += line + 1;
			len -= line + 1;
			continue;
		}
		r = f->skipping ? 0 : buf_add(&f->part, bytes, len);
		if (r < 0) {
			f->skipping = true;
			buf_reset(&f->part, PART_KEEP);
			frame_drop(f, r, ev, ctx);
		}
		return;
	}
}

void frame_halt(struct frame *f)
{
	f->halted = true;
}

size_t frame_pending(const struct frame *f)
{
	return f->part.len;
}

void frame_done(struct frame *f)
{
	buf_done(&f->part);
	f->skipping = false;
}
