/* json_gen.h - random JSON texts, each with the dump (json_dump.h) that must come of it. */
#pragma once

#include <stdio.h>

#include "../t.h"
#include "base/auto.h"
#include "json_dump.h"

#define GEN_COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct gen {
	struct buf text, want;
	bool relaxed;
};

static void gen_space(struct gen *g)
{
	static const char *const spaces[] = { " ", "\n", "\t", "\r\n", "        " };
	static const char *const comments[] = { "/**/", "// ]}\",\n", "/* \" ] } // */", "//\n" };

	while (t_random() % 4 == 0) {
		if (g->relaxed && t_random() % 2)
			OK(buf_adds(&g->text, comments[t_random() % GEN_COUNT(comments)]) == 0);
		else
			OK(buf_adds(&g->text, spaces[t_random() % GEN_COUNT(spaces)]) == 0);
	}
}

/* One character in one of its forms. */
static void gen_char(struct gen *g, struct buf *plain)
{
	static const struct {
		const char *utf8, *forms[3];
	} chars[] = {
		{ "a", { "a", "\\u0061", "a" } },
		{ "/", { "/", "\\/", "\\u002f" } },
		{ "\"", { "\\\"", "\\u0022", "\\\"" } },
		{ "\\", { "\\\\", "\\u005C", "\\u005c" } },
		{ "\n", { "\\n", "\\u000a", "\\u000A" } },
		{ "\x7f", { "\x7f", "\\u007f", "\\u007F" } },
		{ "\xc3\xa4", { "\xc3\xa4", "\\u00e4", "\\u00E4" } },
		{ "\xe2\x9a\x93", { "\xe2\x9a\x93", "\\u2693", "\xe2\x9a\x93" } },
		{ "\xf0\x9f\x9a\xa2", { "\xf0\x9f\x9a\xa2", "\\ud83d\\udea2", "\\uD83D\\uDEA2" } },
		{ "0123456789",
		  { "0123456789", "012345678\\u0039",
		    "0123\\u0034"
		    "56789" } },
	};
	size_t i = (size_t)(t_random() % GEN_COUNT(chars));

	OK(buf_adds(plain, chars[i].utf8) == 0);
	OK(buf_adds(&g->text, chars[i].forms[t_random() % 3]) == 0);
}

static void gen_string(struct gen *g)
{
	AUTO(buf_done) struct buf plain = BUF_INIT(BUF_ANY_SIZE);
	size_t count = (size_t)(t_random() % (t_random() % 8 ? 6 : 60));

	OK(buf_add(&plain, "", 0) == 0);
	OK(buf_adds(&g->text, "\"") == 0);
	while (count--)
		gen_char(g, &plain);
	OK(buf_adds(&g->text, "\"") == 0);
	OK(emit_quoted(&g->want, plain.data, plain.len) == 0);
}

static void gen_number(struct gen *g)
{
	char text[80];
	int n = snprintf(text, sizeof(text), "%s%llu", t_random() % 2 ? "-" : "",
			 (unsigned long long)(t_random() >> t_random() % 64));
	double d;

	if (t_random() % 3 == 0)
		n += snprintf(text + n, sizeof(text) - (size_t)n, ".%03llu",
			      (unsigned long long)(t_random() % 1000));
	if (t_random() % 3 == 0)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%c%s%llu",
			      t_random() % 2 ? 'e' : 'E', t_random() % 2 ? "-" : "+",
			      (unsigned long long)(t_random() % 300));
	d = strtod(text, NULL);
	OK(buf_add(&g->text, text, (size_t)n) == 0);
	json_dump_double(&g->want, d);
}

static void gen_value(struct gen *g, unsigned depth)
{
	static const char *const words[] = { "null", "true", "false" };
	unsigned kind = (unsigned)(t_random() % (depth ? 7 : 5));
	bool object = kind == 6;
	size_t count = (size_t)(t_random() % 5);

	if (kind < 3) {
		OK(buf_adds(&g->text, words[kind]) == 0);
		OK(buf_add(&g->want, words[kind], 1) == 0);
	} else if (kind == 3) {
		gen_number(g);
	} else if (kind == 4) {
		gen_string(g);
	} else {
		OK(buf_adds(&g->text, object ? "{" : "[") == 0);
		OK(buf_adds(&g->want, object ? "{" : "[") == 0);
		for (size_t i = 0; i < count; i++) {
			if (i) {
				OK(buf_adds(&g->text, ",") == 0);
				OK(buf_adds(&g->want, ",") == 0);
			}
			gen_space(g);
			if (object) {
				gen_string(g);
				gen_space(g);
				OK(buf_adds(&g->text, ":") == 0);
				OK(buf_adds(&g->want, ":") == 0);
				gen_space(g);
			}
			gen_value(g, depth - 1);
			gen_space(g);
		}
		if (g->relaxed && count && t_random() % 3 == 0)
			OK(buf_adds(&g->text, ",") == 0);
		gen_space(g);
		OK(buf_adds(&g->text, object ? "}" : "]") == 0);
		OK(buf_adds(&g->want, object ? "}" : "]") == 0);
	}
}

static void gen_text(struct gen *g, bool relaxed)
{
	buf_reset(&g->text, SIZE_MAX);
	buf_reset(&g->want, SIZE_MAX);
	g->relaxed = relaxed;
	gen_space(g);
	gen_value(g, 6);
	gen_space(g);
}

#define GEN_INIT                                                                                   \
	{                                                                                          \
		.text = BUF_INIT(BUF_ANY_SIZE), .want = BUF_INIT(BUF_ANY_SIZE)                     \
	}

static void gen_done(struct gen *g)
{
	buf_done(&g->text);
	buf_done(&g->want);
}
