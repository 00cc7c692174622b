/* json.c - what is JSON, where it is not, and what the pieces of it are. */
#include "base/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../t.h"
#include "base/auto.h"
#include "base/emit.h"
#include "json_dump.h"
#include "json_gen.h"
#include "json_vectors.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Check a copy that ends where the text ends: reading past it is seen by the sanitizers. */
static int check(const char *text, size_t len, unsigned flags, struct json_fault *fault)
{
	AUTO(mem_drop) char *copy = malloc(len ? len : 1);
	struct json v = JSON_NONE;
	int r;

	OK(copy != NULL);
	memcpy(copy, text, len);
	*fault = (struct json_fault){ 0 };
	r = json_check(copy, len, flags, &v, fault);
	if (r == 0)
		OK(v.at >= copy && v.at + v.len <= copy + len && v.len > 0);
	else
		OK(v.at == NULL && fault->reason && fault->offset <= len);
	return r;
}

static void expect_bad(const struct bad *b, unsigned flags)
{
	struct json_fault fault;
	int r = check(b->text, b->len, flags, &fault);

	if (r == 0)
		FAIL("%s is taken", b->text);
	if (r != -EBADMSG || fault.offset != b->offset || strcmp(fault.reason, b->reason) != 0)
		FAIL("%s: %s at %zu, not %s at %zu", b->text, fault.reason, fault.offset, b->reason,
		     b->offset);
}

static struct json parse(const char *text)
{
	struct json_fault fault;
	struct json v;

	if (json_check(text, strlen(text), JSON_RELAXED, &v, &fault) < 0)
		FAIL("%s: %s at %zu", text, fault.reason, fault.offset);
	return v;
}

TEST(json_accepts_valid_json)
{
	for (size_t i = 0; i < COUNT(good); i++) {
		struct json_fault fault;

		if (check(good[i].text, good[i].len, 0, &fault) < 0)
			FAIL("%s: %s at %zu", good[i].text, fault.reason, fault.offset);
		EQ(check(good[i].text, good[i].len, JSON_RELAXED, &fault), 0);
	}
}

TEST(json_refuses_invalid_json_and_says_where)
{
	for (size_t i = 0; i < COUNT(bad); i++)
		expect_bad(&bad[i], 0);
}

/* Wherever in a run of eight a string does something. */
TEST(json_sees_every_byte_of_a_string)
{
	char text[64];
	struct json_fault fault;

	for (size_t len = 1; len < 40; len++) {
		for (size_t at = 0; at < len; at++) {
			for (unsigned c = 0; c < 256; c++) {
				bool plain = c >= 0x20 && c < 0x80 && c != '"' && c != '\\';

				memset(text, 'x', sizeof(text));
				text[0] = text[len + 1] = '"';
				text[1 + at] = (char)c;
				if (plain) {
					EQ(check(text, len + 2, 0, &fault), 0);
					continue;
				}
				EQ(check(text, len + 2, 0, &fault), -EBADMSG);
				if (c == '\\' && at + 1 == len)
					EQ(fault.offset, len + 2); /* it takes the quote away */
				else
					EQ(fault.offset, 1 + at + (c == '"' || c == '\\'));
			}
		}
	}
}

TEST(json_limits_the_depth)
{
	static char text[2 * JSON_DEPTH + 16];
	struct json_fault fault;

	for (int extra = 0; extra < 2; extra++) {
		size_t depth = JSON_DEPTH + (size_t)extra;

		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		EQ(check(text, 2 * depth, 0, &fault), extra ? -E2BIG : 0);
		if (extra)
			EQ(fault.offset, JSON_DEPTH);
	}
	memset(text, '[', sizeof(text));
	EQ(check(text, sizeof(text), 0, &fault), -E2BIG);
	STREQ(fault.reason, "nested too deep");
	EQ(check(text, 100, 0, &fault), -EBADMSG);
}

/* What a level is must be known again when the levels above it are gone. */
TEST(json_remembers_every_level)
{
	for (int round = 0; round < 200; round++) {
		AUTO(buf_done) struct buf b = BUF_INIT(100000);
		char kinds[JSON_DEPTH];
		struct json_fault fault;
		size_t wrong = (size_t)(t_random() % JSON_DEPTH);

		for (size_t i = 0; i < JSON_DEPTH; i++) {
			kinds[i] = t_random() % 2 ? '{' : '[';
			OK(buf_adds(&b, kinds[i] == '{' ? "{\"a\":" : "[") == 0);
		}
		OK(buf_adds(&b, "1") == 0);
		for (size_t i = JSON_DEPTH; i-- > 0;)
			OK(buf_adds(&b, kinds[i] == '{' ? "}" : "]") == 0);
		EQ(check(b.data, b.len, 0, &fault), 0);
		b.data[b.len - 1 - wrong] ^= '}' ^ ']';
		EQ(check(b.data, b.len, 0, &fault), -EBADMSG);
		EQ(fault.offset, b.len - 1 - wrong);
	}
}

TEST(json_relaxed_takes_comments_and_trailing_commas)
{
	static const char *const texts[] = {
		"\xef\xbb\xbf{}",
		"\xef\xbb\xbf // x\n 1",
		"// only\n// comments\n1// more",
		"/**/1/***/",
		"/* * / ** // */[/*]*/1/*,*/,/**/2//]\n,/**/]//",
		"{/**/\"a\"/*:*/:/*2*/1/**/,// {\n}",
		"[1,]",
		"[[1,],]",
		"{\"a\":1,}",
		"{\"a\":{\"b\":[],},\n}",
		"// ends without a newline: not\n1 // ends",
	};
	static const struct bad refused[] = {
		{ T("[,]"), 1, "a value is expected" },
		{ T("{,}"), 1, "a key in quotes is expected" },
		{ T("[1,,]"), 3, "a value is expected" },
		{ T("{\"a\":1,,}"), 7, "a key in quotes is expected" },
		{ T("{\"a\":,}"), 5, "a value is expected" },
		{ T("1,"), 1, "something follows the value" },
		{ T("[1,}"), 3, "a value is expected" },
		{ T("[1 /* 2]"), 3, "a comment is not closed" },
		{ T("/*"), 0, "a comment is not closed" },
		{ T("/*/"), 0, "a comment is not closed" },
		{ T("1 /"), 2, "something follows the value" },
		{ T("[1/2]"), 2, "',' or ']' is expected" },
		{ T("/ / 1"), 0, "a value is expected" },
		{ T("# x\n1"), 0, "a value is expected" },
		{ T("1\xef\xbb\xbf"), 1, "something follows the value" },
		{ T("{a:1}"), 1, "a key in quotes is expected" },
		{ T("'a'"), 0, "a value is expected" },
		{ T("[+1]"), 1, "a value is expected" },
	};
	struct json_fault fault;

	for (size_t i = 0; i < COUNT(texts); i++) {
		EQ(check(texts[i], strlen(texts[i]), JSON_RELAXED, &fault), 0);
		EQ(check(texts[i], strlen(texts[i]), 0, &fault), -EBADMSG);
	}
	for (size_t i = 0; i < COUNT(refused); i++)
		expect_bad(&refused[i], JSON_RELAXED);
}

static const char *dump(struct json v)
{
	static struct buf b = BUF_INIT(BUF_ANY_SIZE);

	buf_reset(&b, SIZE_MAX);
	json_dump(&b, v, false);
	return b.data;
}

TEST(json_values_know_their_text)
{
	struct json v =
		parse("// a\n { \"a\" : [1, 2 /* ] */, {} ] /**/, \"b\": \"x\\\"]\", } // }");

	EQ(v.len, strlen("{ \"a\" : [1, 2 /* ] */, {} ] /**/, \"b\": \"x\\\"]\", }"));
	EQ(json_type(v), JSON_OBJECT);
	EQ(json_count(v), 2);
	EQ(json_count(json_get(v, "a")), 3);
	OK(strncmp(json_get(v, "a").at, "[1, 2 /* ] */, {} ]", json_get(v, "a").len) == 0);
	OK(json_is(json_get(v, "b"), "x\"]"));
	EQ(json_find(v, "a.1").len, 1);
	EQ(json_find(v, "a.1").at[0], '2');
	EQ(json_type(json_find(v, "a.2")), JSON_OBJECT);
}

TEST(json_types)
{
	EQ(json_type(JSON_NONE), JSON_ABSENT);
	EQ(json_type(parse("null")), JSON_NULL);
	EQ(json_type(parse("true")), JSON_BOOL);
	EQ(json_type(parse("false")), JSON_BOOL);
	EQ(json_type(parse("-1")), JSON_NUMBER);
	EQ(json_type(parse("7")), JSON_NUMBER);
	EQ(json_type(parse("\"\"")), JSON_STRING);
	EQ(json_type(parse("[]")), JSON_ARRAY);
	EQ(json_type(parse("{}")), JSON_OBJECT);
}

TEST(json_of_the_wrong_type_is_nothing)
{
	struct json list[] = { JSON_NONE,   parse("1"),  parse("\"1\""), parse("null"),
			       parse("[]"), parse("{}"), parse("true") };

	for (size_t i = 0; i < COUNT(list); i++) {
		struct json v = list[i];
		enum json_type type = json_type(v);
		struct json_iter it = json_iter(v);
		char *text, small[4];
		int64_t n;
		double d;
		bool b;

		OK(!json_each(&it));
		OK(!json_each(&it));
		OK(!json_get(v, "a").at);
		OK(!json_find(v, "a.b.0").at);
		EQ(json_count(v), 0);
		EQ(json_int(v, &n), type == JSON_NUMBER);
		EQ(json_double(v, &d), type == JSON_NUMBER);
		EQ(json_bool(v, &b), type == JSON_BOOL);
		EQ(json_is(v, "1"), type == JSON_STRING);
		EQ(json_string_into(v, small, sizeof(small)), type == JSON_STRING);
		if (type != JSON_STRING)
			OK(!json_string(v, &text));
	}
}

TEST(json_lines)
{
	const char *text = "1\n\n4\r\n6";

	EQ(json_line(text, text), 1);
	EQ(json_line(text, text + 1), 1);
	EQ(json_line(text, text + 2), 2);
	EQ(json_line(text, text + 3), 3);
	EQ(json_line(text, text + 6), 4);
}

TEST(json_last_of_duplicate_keys_counts)
{
	struct json v = parse("{\"a\":1,\"b\":2,\"\\u0061\":3}");
	struct json_iter it = json_iter(v);

	EQ(*json_get(v, "a").at, '3');
	OK(json_each(&it) && json_is(it.key, "a") && *it.value.at == '1');
	OK(json_each(&it) && json_is(it.key, "b"));
	OK(json_each(&it) && json_is(it.key, "a") && it.key.len == 8);
	OK(!json_each(&it));
}

TEST(json_finds_by_path)
{
	struct json v = parse("{\"a\":[{\"b\":1},[\"x\",\"y\"]],\"\":{\"0\":5},\"a.b\":6}");

	EQ(*json_find(v, "a.0.b").at, '1');
	OK(json_is(json_find(v, "a.1.1"), "y"));
	EQ(*json_find(v, ".0").at, '5');
	OK(!json_find(v, "a.2").at);
	OK(!json_find(v, "a.1.2").at);
	OK(!json_find(v, "a.x").at);
	OK(!json_find(v, "a.").at);
	OK(!json_find(v, "a.99999999999999999999999").at);
	OK(!json_find(v, "a.-1").at);
	OK(!json_find(v, "nope.0.b").at);
	EQ(*json_get(v, "a.b").at, '6');
}

TEST(json_strings_are_decoded)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "\"\"", "" },
		{ "\"a\\\"\\\\\\/\\b\\f\\n\\r\\tz\"", "a\"\\/\b\f\n\r\tz" },
		{ "\"\\u0041\\u00e4\\u2693\"", "A\xc3\xa4\xe2\x9a\x93" },
		{ "\"\\ud83d\\udea2\\uD83D\\uDEA2\"", "\xf0\x9f\x9a\xa2\xf0\x9f\x9a\xa2" },
		{ "\"\\ud800\\udc00\\udbff\\udfff\"", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf" },
		{ "\"\\ud83d\"", "\xef\xbf\xbd" },
		{ "\"\\ud83dx\"", "\xef\xbf\xbdx" },
		{ "\"\\ud83d\\n\"", "\xef\xbf\xbd\n" },
		{ "\"\\ud83d\\ud83d\\udea2\"", "\xef\xbf\xbd\xf0\x9f\x9a\xa2" },
		{ "\"\\udea2\\ud83d\"", "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\"a\\u0000b\"", "a\xef\xbf\xbd"
				   "b" },
		{ "\"\\u007f\\u0080\\u07ff\\u0800\\uffff\"",
		  "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		AUTO(mem_drop) char *text = NULL;
		struct json v = parse(cases[i].text);

		OK(json_string(v, &text));
		STREQ(text, cases[i].want);
		OK(json_is(v, cases[i].want));
		OK(!json_is(v, "something else"));
	}
	OK(!json_is(parse("\"abc\""), "ab"));
	OK(!json_is(parse("\"abc\""), "abcd"));
	OK(!json_is(parse("\"ab\\n\""), "ab"));
	OK(!json_is(parse("\"ab\\n\""), "ab\r"));
}

TEST(json_strings_are_cut_at_a_character)
{
	struct json v = parse("\"a\xc3\xa4\\u2693\xf0\x9f\x9a\xa2!\"");
	static const size_t want[] = { 0, 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11 };
	static const char whole[] = "a\xc3\xa4\xe2\x9a\x93\xf0\x9f\x9a\xa2!";

	for (size_t size = 1; size < COUNT(want); size++) {
		AUTO(mem_drop) char *out = malloc(size);

		OK(out && json_string_into(v, out, size));
		EQ(strlen(out), want[size]);
		OK(memcmp(out, whole, want[size]) == 0);
	}
}

TEST(json_integers)
{
	static const struct {
		const char *text;
		bool is;
		int64_t value;
	} cases[] = {
		{ "0", true, 0 },
		{ "-0", true, 0 },
		{ "7", true, 7 },
		{ "-7.0", true, -7 },
		{ "12.000", true, 12 },
		{ "9223372036854775807", true, INT64_MAX },
		{ "-9223372036854775808", true, INT64_MIN },
		{ "9223372036854775808", false, 0 },
		{ "-9223372036854775809", false, 0 },
		{ "99999999999999999999999", false, 0 },
		{ "1.5", false, 0 },
		{ "1.01", false, 0 },
		{ "1e3", false, 0 },
		{ "1.0e0", false, 0 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		int64_t n = 42;

		if (json_int(parse(cases[i].text), &n) != cases[i].is)
			FAIL("%s", cases[i].text);
		EQ(n, cases[i].is ? cases[i].value : 42);
	}
}

TEST(json_doubles)
{
	static const char *const texts[] = {
		"0",
		"0.0",
		"1",
		"-1",
		"0.1",
		"1e-7",
		"123.456e-3",
		"3.141592653589793238462643383279502884197169399375105820974944",
		"1.7976931348623157e308",
		"1e309",
		"-1e309",
		"5e-324",
		"2e-324",
		"1e-400",
		"0e99999999999999999999",
		"1e99999999999999999999",
		"1e-99999999999999999999",
		"9007199254740993",
		"0.000000000000000000000000000000000000000000000000001",
		"100000000000000000000000000000000000000000000000000000000000000000000",
		"123456789012345678901234567890123456789012345678901234567890e-40",
	};

	for (size_t i = 0; i < COUNT(texts); i++) {
		double d = 42, want = strtod(texts[i], NULL);

		OK(json_double(parse(texts[i]), &d));
		if (d != want)
			FAIL("%s: %.17g, not %.17g", texts[i], d, want);
	}
	double zero = 1;
	OK(json_double(parse("-0.0"), &zero) && zero == 0 && signbit(zero));
}

struct seen {
	struct json v;
	size_t count;
	size_t inner; /* members of depth 2 */
	struct json keys[8], values[8];
};

static void see(void *ctx, unsigned depth, struct json key, struct json value)
{
	struct seen *seen = ctx;

	if (depth == 2) {
		seen->inner++;
		return;
	}
	OK(depth == 1);
	OK(seen->count < COUNT(seen->keys));
	seen->keys[seen->count] = key;
	seen->values[seen->count++] = value;
}

TEST(json_members_come_in_the_same_pass)
{
	static const char *const texts[] = {
		"{}",
		"[{\"a\":1}]",
		"\"x\"",
		"{\"a\":1}",
		" { \"a\" : 1 , \"b\" : {\"c\":2,\"d\":[3,{\"e\":4}]} , \"a\":\"}\"} ",
		"{\"x\":[],\"y\":{},\"z\":[[{\"a\":1}]],\"n\":null,\"\":-1.5e3}",
		"/*1*/{/*2*/\"a\"/*3*/:/*4*/1/*5*/,/*6*/\"b\":2/*7*/,/*8*/}/*9*/",
	};

	for (size_t i = 0; i < COUNT(texts); i++) {
		struct seen seen = { .count = 0 };
		struct json_fault fault;
		struct json_iter it;
		size_t n = 0, inner = 0;

		EQ(json_check_members(texts[i], strlen(texts[i]), JSON_RELAXED, see, &seen, &seen.v,
				      &fault),
		   0);
		it = json_iter(seen.v);
		while (it.object && json_each(&it)) {
			OK(n < seen.count);
			OK(it.key.at == seen.keys[n].at && it.key.len == seen.keys[n].len);
			OK(it.value.at == seen.values[n].at && it.value.len == seen.values[n].len);
			inner += json_type(it.value) == JSON_OBJECT ? json_count(it.value) : 0;
			n++;
		}
		EQ(n, seen.count);
		if (it.object)
			EQ(inner, seen.inner);
	}
}

/* --- random texts, and what they must turn out to be: json_gen.h --- */

TEST(json_random_texts_are_what_was_written)
{
	AUTO(gen_done) struct gen g = GEN_INIT;

	for (int i = 0; i < 4000; i++) {
		bool relaxed = i % 2;
		struct json_fault fault;
		struct json v;

		gen_text(&g, relaxed);
		if (json_check(g.text.data, g.text.len, relaxed ? JSON_RELAXED : 0, &v, &fault) < 0)
			FAIL("%s: %s at %zu", g.text.data, fault.reason, fault.offset);
		STREQ(dump(v), g.want.data);
	}
}

/* A text that is cut is not refused before its end: what was there could have gone on. */
TEST(json_faults_of_cut_texts_are_at_the_cut)
{
	AUTO(gen_done) struct gen g = GEN_INIT;

	for (int i = 0; i < 300; i++) {
		gen_text(&g, false);
		for (size_t cut = 0; cut < g.text.len; cut++) {
			struct json_fault fault;

			if (check(g.text.data, cut, 0, &fault) == 0)
				continue; /* 12 of 123, or only space is missing */
			OK(fault.offset <= cut);
			for (size_t k = fault.offset; k < cut; k++)
				OK((unsigned char)g.text.data[k] >= 0x80);
		}
	}
}

/* A fault is where the longest beginning ends that could have been JSON. */
TEST(json_faults_are_at_the_first_wrong_byte)
{
	AUTO(gen_done) struct gen g = GEN_INIT;
	static const char liked[] = "\"\\{}[],:/*u0-.eE \n\x80\xc3\x01tnf";

	for (int i = 0; i < 20000; i++) {
		struct json_fault fault, before;

		gen_text(&g, i % 2);
		g.text.data[t_random() % g.text.len] = liked[t_random() % (sizeof(liked) - 1)];
		if (check(g.text.data, g.text.len, i % 2, &fault) == 0 || fault.offset == 0)
			continue;
		if (check(g.text.data, fault.offset, i % 2, &before) < 0)
			EQ(before.offset, fault.offset);
	}
}

TEST(json_folds_ignores_case)
{
	static const struct {
		const char *text, *name;
		bool folds;
	} rows[] = {
		{ "\"id\"", "id", true },
		{ "\"ID\"", "id", true },
		{ "\"\\u0049D\"", "id", true },
		{ "\"\xc4\xb0"
		  "d\"",
		  "id", true },
		{ "\"\xc4\xb1"
		  "d\"",
		  "id", true },
		{ "\"idx\"", "id", false },
		{ "\"i\"", "id", false },
		{ "\"\"", "id", false },
		{ "\"id\\u0000\"", "id", false },
		{ "\"id\xc3\xa4\"", "id", false },
		{ "7", "id", false },
		{ "\"PARAM\xc5\xbf\"", "params", true },
		{ "\"progressTo\xe2\x84\xaa"
		  "en\"",
		  "progressToken", true },
		{ "\"progress\\u0054o\\u212Aen\"", "progressToken", true },
		{ "\"progressTokem\"", "progressToken", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json_fault fault;
		struct json v;

		EQ(json_check(rows[i].text, strlen(rows[i].text), 0, &v, &fault), 0);
		if (json_folds(v, rows[i].name) != rows[i].folds)
			FAIL("%s and %s", rows[i].text, rows[i].name);
	}
	OK(!json_folds(JSON_NONE, "id"));
}
