/* line.c - fixed memory: cut, never overflowed, always JSON. */
#include "keeper/linux/line_fd.h"

#include <string.h>
#include <unistd.h>

#include "../t.h"

TEST(line_adds_and_formats)
{
	struct line l;

	line_init(&l);
	line_add(&l, "a=%d", 7);
	line_add(&l, " b=%s", "x");
	STREQ(l.text, "a=7 b=x");
	EQ(l.len, 7);
	OK(!l.cut);
}

TEST(line_is_cut_at_its_size_and_says_so)
{
	static struct line l;

	line_init(&l);
	for (size_t i = 0; i < sizeof(l.text) - 1; i++)
		line_add(&l, "x");
	OK(!l.cut);
	EQ(l.len, sizeof(l.text) - 1);
	line_add(&l, "y");
	OK(l.cut);
	EQ(l.len, sizeof(l.text) - 1);
	EQ(l.text[l.len], 0);
	line_add(&l, "z");
	EQ(l.len, sizeof(l.text) - 1);
}

static const char *json(const char *s)
{
	static struct line l;

	line_init(&l);
	line_json(&l, s);
	return l.text;
}

TEST(line_json_escapes_what_must_be)
{
	STREQ(json(NULL), "null");
	STREQ(json(""), "\"\"");
	STREQ(json("a\"b\\c"), "\"a\\\"b\\\\c\"");
	STREQ(json("a\nb\tc\x7f"), "\"a\\u000ab\\u0009c\\u007f\"");
	STREQ(json("gr\xc3\xbc\xc3\x9f \xe2\x9a\x93 \xf0\x9f\x9a\xa2"),
	      "\"gr\xc3\xbc\xc3\x9f \xe2\x9a\x93 \xf0\x9f\x9a\xa2\"");
}

TEST(line_json_replaces_what_is_not_utf8)
{
	STREQ(json("a\xff"
		   "b"),
	      "\"a\\ufffdb\"");
	STREQ(json("\xc3"), "\"\\ufffd\"");                       /* cut off */
	STREQ(json("\xc0\xaf"), "\"\\ufffd\\ufffd\"");            /* overlong */
	STREQ(json("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\""); /* a surrogate */
	STREQ(json("\xf4\x90\x80\x80"),
	      "\"\\ufffd\\ufffd\\ufffd\\ufffd\""); /* past the last code point */
}

TEST(line_flatten_makes_one_line)
{
	struct line l;

	line_init(&l);
	line_add(&l, "a\nb\r\tc\x1b[31m");
	line_flatten(&l);
	STREQ(l.text, "a b  c [31m");
}

TEST(line_write_writes_all)
{
	struct line l;
	char got[16] = "";
	int fds[2];

	line_init(&l);
	line_add(&l, "whole\n");
	OK(pipe(fds) == 0);
	EQ(line_write(&l, fds[1]), 0);
	EQ(read(fds[0], got, sizeof(got)), 6);
	STREQ(got, "whole\n");
	close(fds[0]);
	close(fds[1]);
	OK(line_write(&l, -1) < 0);
}
