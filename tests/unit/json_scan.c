/* json_scan.c - the scanners against a reader that goes byte by byte, and the check at the edge of
 * memory: behind the last byte of each text there is a page that cannot be read. */
#include "base/json_scan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../t.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/emit.h"
#include "base/json.h"

/* Bytes that do something in a string, and their neighbours. */
static const char odd_bytes[] = "\"\\\"\\ux0/b\x1f\x20\x7f\x01\x80\xbf\xc1\xc2\xc3\xdf\xe0\xe1\x9f"
				"\xa0\xed\xee\xef\xf0\xf1\x8f\x90\xf4\xf5\xff";

/* Pieces that are right, of each kind. */
static const char *const pieces[] = {
	"a",
	"plain text that is longer than a word",
	"\\n",
	"\\\\",
	"\\\"",
	"\\u00e4",
	"\xc3\xa4",
	"\xe2\x9a\x93",
	"\xed\x9f\xbf",
	"\xe0\xa0\x80",
	"\xf0\x9f\x9a\xa2",
	"\xf4\x8f\xbf\xbf",
	"\xd0\xb6\xd0\xb6\xd0\xb6\xd0\xb6\xd0\xb6\xd0\xb6\xd0\xb6\xd0\xb6\xd0\xb6",
};
#define PIECES (sizeof(pieces) / sizeof(pieces[0]))

enum { EDGE_LEN = 4096 };

/* Memory of EDGE_LEN bytes with a page before and a page behind that cannot be touched. */
static char *edge_new(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t len = (EDGE_LEN + page - 1) / page * page;
	char *all = mmap(NULL, len + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	OK(all != MAP_FAILED);
	OK(mprotect(all + page, len, PROT_READ | PROT_WRITE) == 0);
	return all + page + len - EDGE_LEN;
}

/* Bytes of the character at p, 0 if it is none: the code point is computed and judged. */
static size_t reference_character(const unsigned char *p, size_t len)
{
	static const unsigned long least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc0 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	unsigned long v = n < 2 ? p[0] : p[0] & (0x7fu >> n);

	if (n == 0 || n > len || p[0] >= 0xf8)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		v = v << 6 | (p[i] & 0x3f);
	}
	return v < least[n] || v > 0x10ffff || (v >= 0xd800 && v < 0xe000) ? 0 : n;
}

static uint64_t reference_bits(const char *p, const char *set, bool controls)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < JSON_BLOCK; i++) {
		unsigned char c = (unsigned char)p[i];

		if ((c && strchr(set, c)) || (controls && (c < 0x20 || c >= 0x80)))
			bits |= 1ull << i;
	}
	return bits;
}

static uint64_t reference_characters(const char *p, size_t from)
{
	uint64_t bits = 0;

	for (size_t i = from; i < JSON_BLOCK;) {
		size_t n = reference_character((const unsigned char *)p + i, JSON_BLOCK - i);

		if (n == 0)
			return bits;
		for (size_t k = 0; n > 1 && k < n; k++)
			bits |= 1ull << (i + k);
		i += n;
	}
	return bits;
}

/* Fill len bytes; `broken` of 16 are any byte that is odd. */
static void fill(char *p, size_t len, unsigned broken)
{
	size_t i = 0;

	while (i < len) {
		const char *piece = pieces[t_random() % PIECES];
		size_t n = strlen(piece);

		if (t_random() % 16 < broken) {
			p[i++] = odd_bytes[t_random() % (sizeof(odd_bytes) - 1)];
			continue;
		}
		if (n > len - i)
			n = len - i;
		memcpy(p + i, piece, n);
		i += n;
	}
}

static void expect_bits(const char *p)
{
	uint64_t special = reference_bits(p, "\"\\", true),
		 quotes = reference_bits(p, "\"\\", false);
	uint64_t escaped = reference_bits(p, "\"\\\x7f", true);

	EQ(json_special_words(p), special);
	EQ(json_special(p), special);
	EQ(json_quotes_words(p), quotes);
	EQ(json_quotes(p), quotes);
	EQ(json_escaped_words(p), escaped);
	EQ(json_escaped(p), escaped);
	for (unsigned from = 0; from < JSON_BLOCK; from += 1 + (unsigned)(t_random() % 8)) {
		uint64_t characters = reference_characters(p, from);

		EQ(json_characters_words(p, from), characters);
		EQ(json_characters(p, from), characters);
	}
}

TEST(json_scanners_see_what_a_reader_of_bytes_sees)
{
	char *edge = edge_new();

	for (int round = 0; round < 400; round++)
		for (size_t shift = 0; shift < JSON_BLOCK; shift++) {
			char *p = edge + EDGE_LEN - JSON_BLOCK - shift;

			fill(p, JSON_BLOCK, (unsigned)round % 5);
			expect_bits(p);
		}
}

TEST(json_scanners_know_every_byte_at_every_place)
{
	char *p = edge_new() + EDGE_LEN - JSON_BLOCK;

	for (unsigned at = 0; at < JSON_BLOCK; at++)
		for (unsigned c = 0; c < 256; c++) {
			memset(p, 'x', JSON_BLOCK);
			p[at] = (char)c;
			expect_bits(p);
		}
}

/* All leads with all second bytes, also where the block cuts them. */
TEST(json_scanners_know_every_pair_of_bytes_beyond_ascii)
{
	static const unsigned char places[] = { 0, 1, 15, 16, 30, 59, 60, 61, 62 };
	char *p = edge_new() + EDGE_LEN - JSON_BLOCK;

	for (size_t i = 0; i < sizeof(places); i++)
		for (unsigned a = 0x80; a < 256; a++)
			for (unsigned b = 0x70; b < 256; b++) {
				size_t at = places[i];

				memset(p, 'x', JSON_BLOCK);
				memset(p + at, 0x80, JSON_BLOCK - at < 4 ? JSON_BLOCK - at : 4);
				p[at] = (char)a;
				p[at + 1] = (char)b;
				EQ(json_characters(p, 0), reference_characters(p, 0));
				EQ(json_characters_words(p, 0), reference_characters(p, 0));
			}
}

TEST(json_find_quote_stops_at_the_first_one)
{
	char *edge = edge_new();

	for (size_t len = 0; len <= 200; len++)
		for (size_t at = 0; at <= len; at++) {
			char *p = edge + EDGE_LEN - len;

			memset(p, at % 3 ? 'x' : 0xa2, len); /* 0xa2 is '"' with the high bit */
			if (at < len)
				p[at] = at % 2 ? '"' : '\\';
			OK(json_find_quote(p, p + len) == p + at);
		}
}

/* Where a string of len bytes is wrong by RFC 8259, its quotes included: its length if it is cut,
 * SIZE_MAX if nothing is wrong. *out_end: behind its closing quote. */
static size_t reference_string(const char *p, size_t len, size_t *out_end)
{
	size_t i = 1;

	while (i < len && p[i] != '"') {
		unsigned char c = (unsigned char)p[i];
		size_t n = reference_character((const unsigned char *)p + i, len - i);

		if (c < 0x20 || n == 0)
			return i;
		i += n;
		if (c != '\\')
			continue;
		if (i == len || !p[i] || !strchr("\"\\/bfnrtu", p[i]))
			return i;
		if (p[i++] == 'u')
			for (size_t stop = i + 4; i < stop; i++)
				if (i == len || !p[i] || !strchr("0123456789abcdefABCDEF", p[i]))
					return i;
	}
	*out_end = i + 1;
	return i < len ? SIZE_MAX : len;
}

static void expect_string(const char *p, size_t len)
{
	size_t end = 0, fault_at = reference_string(p, len, &end);
	struct json_fault fault;
	struct json v;
	int r = json_check(p, len, 0, &v, &fault);

	while (fault_at == SIZE_MAX && end < len && p[end] == ' ')
		end++;
	if (fault_at == SIZE_MAX && end < len) /* it ends early: the rest is too much */
		fault_at = end;
	if (fault_at == SIZE_MAX) {
		if (r < 0)
			FAIL("%.*s: %s at %zu", (int)len, p, fault.reason, fault.offset);
		OK(v.at == p && v.len <= len);
		return;
	}
	EQ(r, -EBADMSG);
	EQ(fault.offset, fault_at);
}

TEST(json_check_reads_no_byte_behind_the_text)
{
	char *edge = edge_new();

	for (size_t len = 1; len <= 100; len++)
		for (size_t shift = 0; shift < JSON_BLOCK; shift++)
			for (unsigned broken = 0; broken < 3; broken++) {
				char *p = edge + EDGE_LEN - len;

				if (broken == 1 && shift + len <= EDGE_LEN)
					p -= shift; /* any alignment; else at the edge */
				fill(p, len, broken);
				p[0] = '"';
				if (broken != 2 || shift % 2)
					p[len - 1] = '"';
				expect_string(p, len);
			}
}

/* Strings in a text, at every distance to its end and to its blocks. */
TEST(json_check_finds_strings_across_blocks)
{
	char *edge = edge_new();

	for (int round = 0; round < 20000; round++) {
		size_t before = t_random() % 150, len = t_random() % 200, behind = t_random() % 100;
		size_t all = 1 + before + 2 + len + behind + 1, end;
		char *p = edge + (round % 2 ? EDGE_LEN - all : 0), *s = p + 1 + before;
		struct json_fault fault;
		struct json v;
		int r;

		p[0] = '[';
		memset(p + 1, t_random() % 2 ? ' ' : '\n', before);
		fill(s + 1, len, round % 4 == 0);
		s[0] = s[len + 1] = '"';
		memset(s + len + 2, ' ', behind);
		p[all - 1] = ']';
		r = json_check(p, all, 0, &v, &fault);
		if (reference_string(s, len + 2, &end) != SIZE_MAX || end != len + 2)
			EQ(r, -EBADMSG);
		else
			EQ(r, 0);
	}
}

/* What emit_quoted did when it went byte by byte. */
static void reference_quoted(struct buf *b, const char *text, size_t len)
{
	OK(buf_adds(b, "\"") == 0);
	for (size_t i = 0; i < len;) {
		size_t n = reference_character((const unsigned char *)text + i, len - i);
		unsigned char c = (unsigned char)text[i];

		if (n == 0)
			OK(buf_adds(b, "\\ufffd") == 0);
		else if (c == '"' || c == '\\')
			OK(buf_addf(b, "\\%c", c) == 0);
		else if (c < 0x20 || c == 0x7f)
			OK(buf_addf(b, "\\u%04x", c) == 0);
		else
			OK(buf_add(b, text + i, n) == 0);
		i += n ? n : 1;
	}
	OK(buf_adds(b, "\"") == 0);
}

TEST(json_writer_escapes_what_a_writer_of_bytes_escapes)
{
	char *edge = edge_new();

	for (size_t len = 0; len <= 300; len++)
		for (unsigned broken = 0; broken < 12; broken++) {
			AUTO(buf_done) struct buf got = BUF_INIT(BUF_ANY_SIZE);
			AUTO(buf_done) struct buf want = BUF_INIT(BUF_ANY_SIZE);
			char *p = edge + EDGE_LEN - len;

			fill(p, len, broken % 4);
			EQ(emit_quoted(&got, p, len), 0);
			reference_quoted(&want, p, len);
			STREQ(got.data, want.data);
		}
}
