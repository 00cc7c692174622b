/* emit.c - see emit.h */
#include "emit.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/json_scan.h"
#include "base/utf8.h"

/* Returns how many bytes of text can be copied without escapes. Only whole blocks are examined. */
static size_t plain_len(const char *text, size_t len)
{
	size_t i = 0;

	for (; len - i >= JSON_BLOCK; i += JSON_BLOCK) {
		uint64_t bits = json_escaped(text + i);

		if (bits && (unsigned char)text[i + (size_t)__builtin_ctzll(bits)] >= 0x80)
			bits &= ~json_characters(text + i, (unsigned)__builtin_ctzll(bits));
		if (bits)
			return i + (size_t)__builtin_ctzll(bits);
	}
	return i;
}

/* Returns the escape of the character of n bytes at text, or NULL when the character needs none. n
 * is 0 for a byte that is not UTF-8. */
static const char *escape_of(const char *text, size_t n, char out[8])
{
	const unsigned char *s = (const unsigned char *)text;

	if (n == 0)
		return "\\ufffd";
	if (*s == '"')
		return "\\\"";
	if (*s == '\\')
		return "\\\\";
	if (*s >= 0x20 && *s != 0x7f)
		return NULL;
	snprintf(out, 8, "\\u%04x", *s);
	return out;
}

/* Is there a byte in w that is below 0x20, above 0x7e, a quote or a backslash? */
static bool has_special(uint64_t w)
{
	const uint64_t ones = UINT64_MAX / 255;
	uint64_t quote = w ^ ones * '"', backslash = w ^ ones * '\\', del = w ^ ones * 0x7f;

	return (w | ((w - ones * 0x20) & ~w) | ((quote - ones) & ~quote) |
		((backslash - ones) & ~backslash) | ((del - ones) & ~del)) &
	       ones * 0x80;
}

static uint64_t load_word(const char *s)
{
	uint64_t w;

	memcpy(&w, s, sizeof(w));
	return w;
}

/* Load 1 to 7 bytes into a word. Some bytes are loaded twice; the unused bytes become spaces. */
static uint64_t load_short(const char *s, size_t len)
{
	const unsigned char *u = (const unsigned char *)s;
	uint32_t head, tail;

	if (len < sizeof(head))
		return UINT64_C(0x2020202020000000) | u[0] | (uint64_t)u[len / 2] << 8 |
		       (uint64_t)u[len - 1] << 16;
	memcpy(&head, s, sizeof(head));
	memcpy(&tail, s + len - sizeof(tail), sizeof(tail));
	return head | (uint64_t)tail << 32;
}

/* Is the text ASCII that needs no escapes? */
static bool emit_is_plain(const char *s, size_t len)
{
	const char *last;

	if (len < sizeof(uint64_t))
		return !len || !has_special(load_short(s, len));
	for (last = s + len - sizeof(uint64_t); s < last; s += sizeof(uint64_t))
		if (has_special(load_word(s)))
			return false;
	return !has_special(load_word(last));
}

/* Add a text of any length and content, with escapes where necessary. */
static int quote_text(struct buf *b, const char *text, size_t len)
{
	size_t before = b->len, run = 0;
	int r = buf_add(b, "\"", 1);

	for (size_t i = plain_len(text, len); i < len && r == 0;) {
		size_t n = utf8_len(text + i, len - i);
		char numbered[8];
		const char *escape = escape_of(text + i, n, numbered);

		i += n ? n : 1;
		if (escape) {
			r = buf_add(b, text + run, i - (n ? n : 1) - run);
			if (r == 0)
				r = buf_adds(b, escape);
			run = i;
		}
		if (escape || n > 1)
			i += plain_len(text + i, len - i);
	}
	if (r == 0)
		r = buf_add(b, text + run, len - run);
	if (r == 0)
		r = buf_add(b, "\"", 1);
	if (r < 0 && b->data) {
		b->len = before;
		b->data[before] = '\0';
	}
	return r;
}

/* Add a short text without special characters, its quotes, and with is_key a colon, in one step.
 * Returns false, with nothing added, when the text is long or needs escapes, or when the buffer is
 * full. */
static inline bool quote_plain(struct buf *b, const char *text, size_t len, bool is_key)
{
	char *to;

	if (len >= JSON_BLOCK || !emit_is_plain(text, len) ||
	    !(to = buf_extend(b, len + 2 + is_key)))
		return false;
	to[0] = '"';
	memcpy(to + 1, text, len);
	to[len + 1] = '"';
	if (is_key)
		to[len + 2] = ':';
	return true;
}

int emit_quoted(struct buf *b, const char *text, size_t len)
{
	return quote_plain(b, text, len, false) ? 0 : quote_text(b, text, len);
}

static void put_quoted(struct emit *j, const char *text, size_t len)
{
	if (j->failed == 0)
		j->failed = emit_quoted(j->out, text, len);
}

static void lead(struct emit *j, const char *key)
{
	bool in_object = j->depth && j->kind[j->depth - 1] == '{';

	assert(in_object == (key != NULL));
	assert(j->depth || !j->filled); /* only one value on the top level */
	if (j->filled)
		emit_bytes(j, ",", 1);
	if (j->lines && j->depth == 1 && j->kind[0] == '[')
		emit_bytes(j, "\n", 1);
	j->filled = true;
	if (key && !(j->failed == 0 && quote_plain(j->out, key, strlen(key), true))) {
		put_quoted(j, key, strlen(key));
		emit_bytes(j, ":", 1);
	}
}

void emit_open(struct emit *j, const char *key, char kind)
{
	assert(kind == '{' || kind == '[');
	assert(j->depth < sizeof(j->kind));
	lead(j, key);
	emit_bytes(j, &kind, 1);
	j->kind[j->depth++] = kind;
	j->filled = false;
}

void emit_close(struct emit *j)
{
	assert(j->depth > 0);
	j->depth--;
	if (j->lines && j->depth == 0 && j->kind[0] == '[' && j->filled)
		emit_bytes(j, "\n", 1);
	emit_bytes(j, j->kind[j->depth] == '{' ? "}" : "]", 1);
	j->filled = true;
}

void emit_str(struct emit *j, const char *key, const char *value)
{
	if (!value || !*value)
		emit_null(j, key);
	else
		emit_text(j, key, value, strlen(value));
}

void emit_text(struct emit *j, const char *key, const char *text, size_t len)
{
	lead(j, key);
	put_quoted(j, text, len);
}

void emit_digits(struct emit *j, uint64_t n)
{
	char digits[20], *p = digits + sizeof(digits);

	do {
		*--p = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	emit_bytes(j, p, (size_t)(digits + sizeof(digits) - p));
}

void emit_int(struct emit *j, const char *key, long long value)
{
	lead(j, key);
	if (value < 0)
		emit_bytes(j, "-", 1);
	emit_digits(j, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void emit_ms(struct emit *j, const char *key, double ms)
{
	long long us = (long long)(ms * 1000);
	char text[40];
	int n = snprintf(text, sizeof(text), "%lld.%03lld", us / 1000, us % 1000);

	emit_raw(j, key, text, (size_t)n);
}

void emit_bool(struct emit *j, const char *key, bool value)
{
	emit_raw(j, key, value ? "true" : "false", value ? 4 : 5);
}

void emit_null(struct emit *j, const char *key)
{
	emit_raw(j, key, "null", 4);
}

void emit_raw(struct emit *j, const char *key, const char *json, size_t len)
{
	assert(len > 0);
	lead(j, key);
	emit_bytes(j, json, len);
}

static void replace_by_space(struct buf *b, size_t from, char c)
{
	char *p = b->data + from, *end = b->data + b->len;

	while ((p = memchr(p, c, (size_t)(end - p))) != NULL)
		*p++ = ' ';
}

static void emit_one_line(struct emit *j, const char *json, size_t len)
{
	size_t before = j->out->len;

	emit_bytes(j, json, len);
	if (j->failed)
		return;
	replace_by_space(j->out, before, '\n');
	replace_by_space(j->out, before, '\r');
}

void emit_json(struct emit *j, const char *key, const char *json, size_t len)
{
	lead(j, key);
	emit_one_line(j, json, len);
}

void emit_member(struct emit *j, struct json key, struct json value)
{
	emit_members(j, key.at, key.len);
	emit_bytes(j, ":", 1);
	emit_one_line(j, value.at, value.len);
}

void emit_members(struct emit *j, const char *members, size_t len)
{
	assert(len > 0 && j->depth && j->kind[j->depth - 1] == '{');
	if (j->filled)
		emit_bytes(j, ",", 1);
	j->filled = true;
	emit_bytes(j, members, len);
}

int emit_end(struct emit *j)
{
	assert(j->depth == 0 && j->filled);
	j->filled = false;
	if (j->failed && j->out->data) {
		j->out->len = j->start;
		j->out->data[j->start] = '\0';
	}
	return j->failed;
}

void emit_print(struct emit *j, FILE *f)
{
	int r = emit_end(j);

	assert(r == 0);
	fwrite(j->out->data, 1, j->out->len, f); /* the owner of the stream checks ferror */
	fputc('\n', f);
	buf_reset(j->out, 0);
}
