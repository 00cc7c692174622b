/* buf.c - bytes in, the same bytes out, never more than the limit; and the JSON writer on top of
 * them. */
#include "base/buf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../t.h"
#include "base/auto.h"
#include "base/emit.h"
#include "base/json.h"

TEST(buf_adds_bytes_and_ends_in_a_nul)
{
	AUTO(buf_done) struct buf b = BUF_INIT(100);

	EQ(buf_add(&b, "ab\0c", 4), 0);
	EQ(buf_adds(&b, "de"), 0);
	EQ(buf_addf(&b, "%d-%s", 7, "x"), 0);
	EQ(b.len, 9);
	OK(memcmp(b.data, "ab\0cde7-x", 10) == 0);
}

TEST(buf_refuses_to_grow_past_its_limit)
{
	AUTO(buf_done) struct buf b = BUF_INIT(4);

	EQ(buf_add(&b, "abcd", 4), 0);
	EQ(buf_add(&b, "e", 1), -EMSGSIZE);
	EQ(buf_adds(&b, "e"), -EMSGSIZE);
	EQ(buf_addf(&b, "%d", 1), -EMSGSIZE);
	EQ(buf_reserve(&b, 1), -EMSGSIZE);
	EQ(buf_add(&b, "", 0), 0);
	EQ(b.len, 4); /* a failed add leaves the buffer as it was */
	STREQ(b.data, "abcd");
	OK(b.cap <= 5);
}

/* There may be room for the bytes but not by the limit. */
TEST(buf_formats_nothing_past_its_limit)
{
	AUTO(buf_done) struct buf b = BUF_INIT(200);

	EQ(buf_adds(&b, "abc"), 0);
	b.max = 5;
	EQ(buf_addf(&b, "%s", "1234567890"), -EMSGSIZE);
	STREQ(b.data, "abc");
}

TEST(buf_without_a_limit_grows)
{
	AUTO(buf_done) struct buf b = BUF_INIT(SIZE_MAX), none = BUF_INIT(0);

	EQ(buf_reserve(&b, SIZE_MAX), -EMSGSIZE);
	EQ(buf_adds(&b, "x"), 0);
	EQ(buf_reserve(&b, SIZE_MAX - 1), -EMSGSIZE);
	EQ(buf_reserve(&b, SIZE_MAX / 2), -EMSGSIZE);
	EQ(buf_add(&none, "", 0), 0);
	STREQ(none.data, "");
	EQ(buf_adds(&none, "x"), -EMSGSIZE);
}

TEST(buf_formats_text_longer_than_its_capacity)
{
	AUTO(buf_done) struct buf b = BUF_INIT(10000);

	for (int i = 0; i < 100; i++)
		EQ(buf_addf(&b, "%060d", i), 0);
	EQ(b.len, 6000);
	EQ(b.data[5999], '9');
	EQ(b.data[6000], 0);
}

TEST(buf_reserved_room_can_be_filled)
{
	AUTO(buf_done) struct buf b = BUF_INIT(1000);

	EQ(buf_reserve(&b, 1000), 0);
	memset(b.data, 'x', 1000);
	b.len = 1000;
	EQ(buf_add(&b, "", 0), 0);
	EQ(strlen(b.data), 1000);
}

TEST(buf_drops_from_its_front)
{
	AUTO(buf_done) struct buf b = BUF_INIT(100);

	buf_drop(&b, 0);
	EQ(buf_adds(&b, "abcdef"), 0);
	buf_drop(&b, 2);
	STREQ(b.data, "cdef");
	buf_drop(&b, 0);
	EQ(b.len, 4);
	buf_drop(&b, 4);
	STREQ(b.data, "");
	EQ(buf_adds(&b, "again"), 0);
	STREQ(b.data, "again");
}

TEST(an_empty_buf_is_an_empty_string)
{
	AUTO(buf_done) struct buf b = BUF_INIT(100);

	STREQ(b.data, "");
	EQ(buf_addf(&b, "%0200d", 1), -EMSGSIZE);
	STREQ(b.data, "");
	EQ(buf_adds(&b, "abc"), 0);
	buf_done(&b);
	STREQ(b.data, "");
	buf_reset(&b, 0);
	STREQ(b.data, "");
	EQ(buf_adds(&b, "abc"), 0); /* can be used again */
	STREQ(b.data, "abc");
}

TEST(buf_reset_keeps_little)
{
	AUTO(buf_done) struct buf b = BUF_INIT(100000);

	EQ(buf_adds(&b, "abc"), 0);
	buf_reset(&b, 1024);
	EQ(b.len, 0);
	OK(b.data != buf_empty && b.cap);
	STREQ(b.data, "");
	EQ(buf_reserve(&b, 50000), 0);
	buf_reset(&b, 1024);
	OK(b.data == buf_empty && !b.cap);
	EQ(b.max, 100000);
}

TEST(buf_takes_and_is_empty)
{
	AUTO(buf_done) struct buf b = BUF_INIT(100);
	AUTO(mem_drop) char *empty = buf_take(&b), *text = NULL, *reserved = NULL;

	STREQ(empty, "");
	EQ(buf_adds(&b, "abc"), 0);
	text = buf_take(&b);
	STREQ(text, "abc");
	OK(b.data == buf_empty && !b.len && !b.cap);
	EQ(buf_reserve(&b, 10), 0);
	reserved = buf_take(&b);
	STREQ(reserved, "");
	buf_done(&b);
	buf_done(&b);
}

/* Any order of adds and drops is a queue of bytes. */
TEST(buf_is_a_queue)
{
	AUTO(buf_done) struct buf b = BUF_INIT(3000);
	static char model[3000];
	size_t len = 0;

	for (int i = 0; i < 20000; i++) {
		char bytes[200];
		size_t n = (size_t)(t_random() % sizeof(bytes));

		if (t_random() % 2) {
			for (size_t k = 0; k < n; k++)
				bytes[k] = (char)t_random();
			int r = buf_add(&b, bytes, n);
			EQ(r, len + n <= sizeof(model) ? 0 : -EMSGSIZE);
			if (r == 0) {
				memcpy(model + len, bytes, n);
				len += n;
			}
		} else {
			n = n < len ? n : len;
			buf_drop(&b, n);
			memmove(model, model + n, len - n);
			len -= n;
		}
		EQ(b.len, len);
		OK(len == 0 || memcmp(b.data, model, len) == 0);
	}
}

TEST(emit_writes_compact_json)
{
	AUTO(buf_done) struct buf b = BUF_INIT(1000);
	struct emit j = EMIT_INIT(&b);

	emit_open(&j, NULL, '[');
	emit_open(&j, NULL, '{');
	emit_str(&j, "none", "");
	emit_text(&j, "empty", "", 0);
	emit_text(&j, "nul", "a\0b", 3);
	emit_raw(&j, "raw", "{\"x\": 1}", 8);
	emit_int(&j, "n", -9223372036854775807ll - 1);
	emit_close(&j);
	emit_bool(&j, NULL, false);
	emit_null(&j, NULL);
	emit_close(&j);
	EQ(emit_end(&j), 0);
	STREQ(b.data, "[{\"none\":null,\"empty\":\"\",\"nul\":\"a\\u0000b\",\"raw\":{\"x\": 1},"
		      "\"n\":-9223372036854775808},false,null]");
}

TEST(emit_says_when_there_was_no_room)
{
	for (size_t max = 0; max < 17; max++) {
		AUTO(buf_done) struct buf b = BUF_INIT(max);
		struct emit j = EMIT_INIT(&b);

		emit_open(&j, NULL, '{');
		emit_str(&j, "a\n", "b");
		emit_close(&j);
		EQ(emit_end(&j), max < 15 ? -EMSGSIZE : 0);
		OK(b.len <= max);
	}
}

TEST(emit_quotes_or_leaves_the_buffer_alone)
{
	AUTO(buf_done) struct buf b = BUF_INIT(12);

	EQ(buf_adds(&b, "12"), 0);
	EQ(emit_quoted(&b, "a\"b\nc", 5), -EMSGSIZE);
	STREQ(b.data, "12");
	EQ(emit_quoted(&b, "a\"b\n", 3), 0);
	STREQ(b.data, "12\"a\\\"b\"");
}

/* A character that is cut off by len is broken, whatever stands behind. */
TEST(emit_does_not_read_behind_a_text)
{
	AUTO(buf_done) struct buf b = BUF_INIT(100);

	EQ(emit_quoted(&b, "x\xe2\x9a\x93", 3), 0);
	STREQ(b.data, "\"x\\ufffd\\ufffd\"");
}

/* Whatever bytes go in, what comes out is JSON, and UTF-8 comes back as it was. */
TEST(emit_quoted_writes_valid_json_for_any_bytes)
{
	for (int i = 0; i < 5000; i++) {
		AUTO(buf_done) struct buf b = BUF_INIT(1000);
		AUTO(mem_drop) char *back = NULL;
		struct json_fault fault;
		struct json v;
		char bytes[40];
		size_t n = (size_t)(t_random() % sizeof(bytes));

		for (size_t k = 0; k < n; k++)
			bytes[k] = (char)(t_random() >> (t_random() % 2 ? 8 : 57));
		EQ(emit_quoted(&b, bytes, n), 0);
		EQ(json_check(b.data, b.len, 0, &v, &fault), 0);
		OK(json_string(v, &back));
		b.len = 0;
		EQ(emit_quoted(&b, back, strlen(back)), 0);
		EQ(json_check(b.data, b.len, 0, &v, &fault), 0);
		OK(json_is(v, back));
	}
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* whose malloc would abort */
TEST(no_memory_for_a_large_buffer_with_a_limit_is_an_error)
{
	struct buf b = BUF_INIT(BUF_ANY_SIZE - 1);

	EQ(buf_adds(&b, "kept"), 0);
	EQ(buf_reserve(&b, (size_t)1 << 60), -ENOMEM);
	STREQ(b.data, "kept");
	EQ(b.len, 4);
	EQ(buf_adds(&b, ", and goes on"), 0);
	STREQ(b.data, "kept, and goes on");
	buf_done(&b);
}
#endif
