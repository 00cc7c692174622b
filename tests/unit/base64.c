/* base64.c - the same text as everybody's, whatever the length, and nothing else is taken. */
#include "base/base64.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../t.h"
#include "base/auto.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* A block of exactly that size: a byte too many is seen by whoever looks. */
static char *block(const void *bytes, size_t len)
{
	char *copy = malloc(len ? len : 1);

	OK(copy != NULL);
	if (len)
		memcpy(copy, bytes, len);
	return copy;
}

/* The text of bytes; until the next call. */
static const char *encoded(const void *bytes, size_t len)
{
	static char text[4096];
	AUTO(mem_drop) char *in = block(bytes, len);
	AUTO(mem_drop) char *out = block(text, base64_size(len));

	OK(base64_size(len) < sizeof(text));
	base64_encode(out, in, len);
	memcpy(text, out, base64_size(len));
	text[base64_size(len)] = '\0';
	return text;
}

/* Decode len characters to the end of out. */
static int decode(struct buf *out, const char *text, size_t len)
{
	AUTO(mem_drop) char *in = block(text, len);

	return base64_decode(out, in, len);
}

/* What text stands for, "!" when nothing; until the next call. */
static const char *decoded(const char *text)
{
	static struct buf out = BUF_INIT(4096);

	out.len = 0;
	return decode(&out, text, strlen(text)) == 0 ? out.data : "!";
}

/* RFC 4648, 10. */
TEST(base64_of_the_standard)
{
	static const char *const pairs[][2] = {
		{ "", "" },
		{ "f", "Zg==" },
		{ "fo", "Zm8=" },
		{ "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" },
		{ "fooba", "Zm9vYmE=" },
		{ "foobar", "Zm9vYmFy" },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		STREQ(encoded(pairs[i][0], strlen(pairs[i][0])), pairs[i][1]);
		STREQ(decoded(pairs[i][1]), pairs[i][0]);
	}
}

/* Bit by bit, without a table or a vector. */
static void model(char *out, const unsigned char *bytes, size_t len)
{
	size_t n = 0;

	for (size_t bit = 0; bit < 8 * len; bit += 6) {
		unsigned value = 0;

		for (size_t b = bit; b < bit + 6; b++)
			value = value << 1 | (b < 8 * len && bytes[b / 8] >> (7 - b % 8) & 1);
		out[n++] = letters[value];
	}
	while (n % 4)
		out[n++] = '=';
	out[n] = '\0';
}

TEST(base64_of_every_length)
{
	unsigned char bytes[300];
	char want[sizeof(bytes) * 2];

	for (size_t len = 0; len <= sizeof(bytes); len++) {
		AUTO(buf_done) struct buf out = BUF_INIT(len);

		for (size_t i = 0; i < len; i++)
			bytes[i] = (unsigned char)t_random();
		model(want, bytes, len);
		STREQ(encoded(bytes, len), want);
		EQ(decode(&out, want, strlen(want)), 0);
		EQ(out.len, len);
		OK(memcmp(out.data, bytes, len) == 0);
		EQ(out.data[len], 0);
	}
}

/* Every value at every place of a block, however it is done there. */
TEST(base64_of_every_value)
{
	for (size_t at = 0; at < 100; at++) {
		for (size_t v = 0; v < 64; v++) {
			AUTO(buf_done) struct buf out = BUF_INIT(75);
			char text[101];

			memset(text, letters[63 - v], 100);
			text[at] = letters[v];
			text[100] = '\0';
			EQ(decode(&out, text, 100), 0);
			EQ(out.len, 75);
			STREQ(encoded(out.data, 75), text);
		}
	}
}

TEST(base64_takes_no_other_character)
{
	AUTO(buf_done) struct buf out = BUF_INIT(1000);
	char text[101];

	EQ(buf_adds(&out, "before"), 0);
	memset(text, 'A', 100);
	for (size_t at = 0; at < 100; at++) {
		for (int c = 0; c < 256; c++) {
			bool good = (c && strchr(letters, c)) || (c == '=' && at == 99);

			text[at] = (char)c;
			EQ(decode(&out, text, 100), good ? 0 : -EINVAL);
			if (good)
				out.data[out.len = 6] = '\0';
			EQ(out.len, 6);
			STREQ(out.data, "before");
		}
		text[at] = 'A';
	}
}

TEST(base64_takes_only_what_encode_writes)
{
	static const char *const bad[] = {
		"A",        "AA",   "AAA",   "AAAAA",    "=",         "====",     "A===",
		"=AAA",     "A=AA", "AA=A",  "AAA=AAAA", "AA==AAAA",  "AAAA====", "AAAAA===",
		"AB==",     "AAB=", "/w==A", "/x==",     "//9=",      " AAAA",    "AAAA\n",
		"AAAA\nAA", "AA A", "AAA ",  "AA-_",     "A\xc3\xa4", "Zg",       "Zm8",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		STREQ(decoded(bad[i]), "!");
	STREQ(decoded("/w=="), "\xff");
	STREQ(decoded("//8="), "\xff\xff");
	/* Of the last character before a pad some bits count, of the others none may be set. */
	for (int v = 0; v < 64; v++) {
		char two[] = { 'A', letters[v], '=', '=', '\0' };
		char one[] = { 'A', 'A', letters[v], '=', '\0' };

		EQ(strcmp(decoded(two), "!") != 0, v % 16 == 0);
		EQ(strcmp(decoded(one), "!") != 0, v % 4 == 0);
	}
}

TEST(base64_keeps_the_limit)
{
	AUTO(buf_done) struct buf out = BUF_INIT(7);

	EQ(base64_decode(&out, "", 0), 0);
	EQ(out.len, 0);
	STREQ(out.data, "");
	EQ(base64_decode(&out, "Zm9v", 4), 0);
	EQ(base64_decode(&out, "Zm9vYmE=", 8), -EMSGSIZE);
	STREQ(out.data, "foo");
	EQ(base64_decode(&out, "Zm9vYg==", 8), 0); /* what it needs counts, not what might be */
	STREQ(out.data, "foofoob");
	EQ(base64_decode(&out, "", 0), 0);
	EQ(base64_decode(&out, "Zg==", 4), -EMSGSIZE);
	EQ(out.len, 7);
}

TEST(base64_of_a_stream)
{
	enum { SIZE = 1 << 20 };
	AUTO(mem_drop) char *bytes = malloc(SIZE);
	AUTO(mem_drop) char *text = malloc(base64_size(SIZE));
	AUTO(buf_done) struct buf out = BUF_INIT(4 * SIZE);

	OK(bytes && text);
	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (char)t_random();
	for (size_t at = 0, n; at < SIZE; at += n) {
		n = (size_t)(t_random() % 70000);
		n = n < SIZE - at ? n : SIZE - at;
		base64_encode(text, bytes + at, n);
		EQ(base64_decode(&out, text, base64_size(n)), 0);
	}
	EQ(out.len, SIZE);
	OK(memcmp(out.data, bytes, SIZE) == 0);
}
