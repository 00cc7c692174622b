/* frame.c - bytes in pieces: the first byte is the limit, the second chooses the pieces. */
#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/buf.h"
#include "fuzz.h"
#include "base/frame.h"

struct seen {
	struct buf lines; /* each with a newline; "!" and a newline for one that is too long */
	size_t limit;
};

static void on_line(void *ctx, const char *line, size_t len)
{
	struct seen *s = ctx;

	assert(len > 0 && len <= s->limit && !memchr(line, '\n', len));
	if (buf_add(&s->lines, line, len) < 0 || buf_adds(&s->lines, "\n") < 0)
		abort();
}

static void on_too_long(void *ctx)
{
	struct seen *s = ctx;

	assert(buf_adds(&s->lines, "!\n") == 0);
}

static const struct frame_events events = { on_line, on_too_long };

/* Feed all of it in pieces of step bytes, each in a block of its own. */
static void feed(struct seen *s, const uint8_t *data, size_t size, size_t step)
{
	struct frame f = FRAME_INIT(s->limit);

	for (size_t at = 0; at < size; at += step) {
		size_t n = size - at < step ? size - at : step;
		char *piece = malloc(n);

		assert(piece);
		memcpy(piece, data + at, n);
		frame_feed(&f, piece, n, &events, s);
		free(piece);
		assert(frame_pending(&f) <= s->limit);
	}
	frame_done(&f);
}

/* Lines, found without a frame. */
static void model(struct seen *s, const uint8_t *data, size_t size)
{
	const char *p = (const char *)data, *end = p + size;

	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		size_t len = (size_t)((newline ? newline : end) - p);

		if (len > s->limit)
			on_too_long(s);
		else if (newline && len > (p[len - (len > 0)] == '\r'))
			on_line(s, p, len - (p[len - 1] == '\r'));
		p += len + 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen want = { .lines = BUF_INIT(BUF_ANY_SIZE) };

	if (size < 2)
		return 0;
	want.limit = data[0];
	model(&want, data + 2, size - 2);
	for (int whole = 0; whole < 2; whole++) {
		struct seen got = { .lines = BUF_INIT(BUF_ANY_SIZE), .limit = want.limit };

		feed(&got, data + 2, size - 2, whole ? size : 1u + data[1]);
		assert(got.lines.len == want.lines.len);
		assert(!got.lines.len ||
		       memcmp(got.lines.data, want.lines.data, got.lines.len) == 0);
		buf_done(&got.lines);
	}
	buf_done(&want.lines);
	return 0;
}
