/* frame.c - the same lines however the bytes are cut. */
#include "base/frame.h"

#include <stdlib.h>
#include <string.h>

#include "../t.h"
#include "base/auto.h"

struct seen {
	struct buf text; /* each line in brackets, '!' for one too long, '@' for a NUL */
	struct frame *frame;
	const char *borrowed, *borrowed_end; /* lines must lie here; NULL: wherever */
	int halt_at;                         /* stop at this line, from 1 */
	int lines;
};

static void on_line(void *ctx, const char *line, size_t len)
{
	struct seen *s = ctx;

	if (s->borrowed)
		OK(line >= s->borrowed && line + len <= s->borrowed_end);
	OK(buf_adds(&s->text, "[") == 0);
	for (size_t i = 0; i < len; i++)
		OK(buf_add(&s->text, line[i] ? &line[i] : "@", 1) == 0);
	OK(buf_adds(&s->text, "]") == 0);
	if (++s->lines == s->halt_at)
		frame_halt(s->frame);
}

static void on_too_long(void *ctx)
{
	struct seen *s = ctx;

	OK(buf_adds(&s->text, "!") == 0);
}

static const struct frame_events events = { on_line, on_too_long };

/* Feed a copy that ends where it ends. */
static void feed(struct frame *f, struct seen *s, const char *bytes, size_t len)
{
	AUTO(mem_drop) char *copy = malloc(len ? len : 1);

	OK(copy != NULL);
	memcpy(copy, bytes, len);
	frame_feed(f, copy, len, &events, s);
}

/* What comes of bytes fed in two pieces; the second begins at cut. */
static const char *lines_cut(const char *bytes, size_t len, size_t cut, size_t limit)
{
	static struct seen s;
	struct frame f = FRAME_INIT(limit);

	s.text.max = BUF_ANY_SIZE;
	s.text.len = 0;
	OK(buf_add(&s.text, "", 0) == 0);
	feed(&f, &s, bytes, cut);
	feed(&f, &s, bytes + cut, len - cut);
	OK(buf_addf(&s.text, "%zu", frame_pending(&f)) == 0);
	frame_done(&f);
	frame_done(&f);
	return s.text.data;
}

static const char *lines(const char *text, size_t limit)
{
	return lines_cut(text, strlen(text), 0, limit);
}

TEST(frame_finds_lines)
{
	STREQ(lines("", 100), "0");
	STREQ(lines("a\n", 100), "[a]0");
	STREQ(lines("a\nbc\n\nd", 100), "[a][bc]1");
	STREQ(lines("a\r\nb\rc\r\n\r\n\n\r\r\n", 100), "[a][b\rc][\r]0");
}

TEST(frame_drops_a_line_that_is_too_long)
{
	STREQ(lines("abcd\nabcde\nabcd\n", 4), "[abcd]![abcd]0");
	STREQ(lines("abcde", 4), "!0");
	STREQ(lines("abcdefghijklmnop\r\nx\n", 4), "![x]0");
	STREQ(lines("abcd\r\nabc\r\n", 4), "![abc]0"); /* its CR is counted */
	STREQ(lines("a\n\n", 0), "!0");
}

TEST(frame_accepts_nul)
{
	STREQ(lines_cut("a\0b\nc\n", 6, 2, 100), "[a@b][c]0");
}

TEST(frame_hands_on_whole_lines_without_a_copy)
{
	static const char bytes[] = "one\ntwo\r\nthree\nfo";
	struct frame f = FRAME_INIT(100);
	struct seen s = { .text = BUF_INIT(1000),
			  .borrowed = bytes,
			  .borrowed_end = bytes + sizeof(bytes) };

	frame_feed(&f, bytes, sizeof(bytes) - 1, &events, &s);
	STREQ(s.text.data, "[one][two][three]");
	EQ(frame_pending(&f), 2);
	s.borrowed = NULL;
	frame_feed(&f, "ur\n", 3, &events, &s);
	STREQ(s.text.data, "[one][two][three][four]");
	frame_done(&f);
	buf_done(&s.text);
}

TEST(frame_halts_for_good)
{
	struct frame f = FRAME_INIT(100);
	struct seen s = { .text = BUF_INIT(1000), .frame = &f, .halt_at = 2 };

	frame_feed(&f, "a\nb\nc\nd", 7, &events, &s);
	frame_feed(&f, "e\nf\n", 4, &events, &s);
	STREQ(s.text.data, "[a][b]");
	frame_done(&f);
	buf_done(&s.text);
}

/* A line that is too long is told when that is known, not when it ends: it may never end. */
TEST(frame_reports_a_long_line_at_once_and_once)
{
	struct frame f = FRAME_INIT(1000);
	struct seen s = { .text = BUF_INIT(1000) };
	char bytes[300];

	memset(bytes, 'x', sizeof(bytes));
	for (int i = 0; i < 3; i++)
		frame_feed(&f, bytes, sizeof(bytes), &events, &s);
	EQ(s.text.len, 0);
	for (int i = 0; i < 1000; i++)
		frame_feed(&f, bytes, sizeof(bytes), &events, &s);
	STREQ(s.text.data, "!");
	EQ(frame_pending(&f), 0);
	frame_feed(&f, "\nok\n", 4, &events, &s);
	STREQ(s.text.data, "![ok]");
	frame_done(&f);
	buf_done(&s.text);
}

TEST(frame_gives_back_the_memory_of_a_long_line)
{
	struct frame f = FRAME_INIT(10000000);
	struct seen s = { .text = BUF_INIT(10000000) };
	static char bytes[100000];

	memset(bytes, 'x', sizeof(bytes));
	for (int i = 0; i < 20; i++)
		frame_feed(&f, bytes, sizeof(bytes), &events, &s);
	OK(f.part.cap >= 2000000);
	frame_feed(&f, "\n", 1, &events, &s);
	EQ(s.lines, 1);
	EQ(s.text.len, 2000002);
	OK(f.part.cap <= 65536);
	frame_done(&f);
	buf_done(&s.text);
}

static size_t random_bytes(char *out, size_t size)
{
	static const char liked[] = "\n\n\r\nab{}\"\0";
	size_t len = (size_t)(t_random() % size);

	for (size_t i = 0; i < len; i++)
		out[i] = liked[t_random() % (sizeof(liked) - 1)];
	return len;
}

TEST(frame_cut_at_every_byte_is_the_same)
{
	for (int round = 0; round < 300; round++) {
		AUTO(mem_drop) char *whole = NULL;
		char bytes[60];
		size_t len = random_bytes(bytes, sizeof(bytes)), limit = (size_t)(t_random() % 12);

		whole = strdup(lines_cut(bytes, len, 0, limit));
		for (size_t cut = 1; cut <= len; cut++)
			STREQ(lines_cut(bytes, len, cut, limit), whole);
	}
}

/* Any number of cuts, and a model that knows nothing of pieces. */
TEST(frame_in_pieces_is_the_same)
{
	for (int round = 0; round < 2000; round++) {
		char bytes[200];
		size_t len = random_bytes(bytes, sizeof(bytes)), limit = (size_t)(t_random() % 20);
		struct frame f = FRAME_INIT(limit);
		struct seen got = { .text = BUF_INIT(10000) }, want = { .text = BUF_INIT(10000) };

		for (size_t at = 0, n; at < len; at += n) {
			n = (size_t)(t_random() % 8);
			n = n < len - at ? n : len - at;
			feed(&f, &got, bytes + at, n);
		}
		for (size_t at = 0, n; at < len; at += n + 1) {
			const char *end = memchr(bytes + at, '\n', len - at);

			n = end ? (size_t)(end - bytes) - at : len - at;
			if (n > limit)
				on_too_long(&want);
			else if (end && n - (n && end[-1] == '\r') > 0)
				on_line(&want, bytes + at, n - (end[-1] == '\r'));
		}
		EQ(got.text.len, want.text.len);
		OK(!got.text.len || memcmp(got.text.data, want.text.data, got.text.len) == 0);
		frame_done(&f);
		buf_done(&got.text);
		buf_done(&want.text);
	}
}
