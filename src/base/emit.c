/* emit.c - see emit.h */
#include "emit.h"

#include <assert.h>
#include <string.h>

#include "base/json_scan.h"
#include "base/utf8.h"

/* How many bytes of text can be copied as they are, looking at whole blocks only. */
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

/* The escape of the character at s, n bytes long; NULL when it stands for itself. */
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

int emit_quoted(struct buf *b, const char *text, size_t len)
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

static void put(struct emit *j, const char *text, size_t len)
{
	if (j->failed == 0)
		j->failed = buf_add(j->out, text, len);
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
	assert(j->depth || !j->filled); /* one value is all there is */
	if (j->filled)
		put(j, ",", 1);
	if (j->lines && j->depth == 1 && j->kind[0] == '[')
		put(j, "\n", 1);
	j->filled = true;
	if (key) {
		put_quoted(j, key, strlen(key));
		put(j, ":", 1);
	}
}

void emit_open(struct emit *j, const char *key, char kind)
{
	assert(kind == '{' || kind == '[');
	assert(j->depth < sizeof(j->kind));
	lead(j, key);
	put(j, &kind, 1);
	j->kind[j->depth++] = kind;
	j->filled = false;
}

void emit_close(struct emit *j)
{
	assert(j->depth > 0);
	j->depth--;
	if (j->lines && j->depth == 0 && j->kind[0] == '[' && j->filled)
		put(j, "\n", 1);
	put(j, j->kind[j->depth] == '{' ? "}" : "]", 1);
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

void emit_int(struct emit *j, const char *key, long long value)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%lld", value);

	emit_raw(j, key, digits, (size_t)n);
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
	put(j, json, len);
}

int emit_end(struct emit *j)
{
	assert(j->depth == 0 && j->filled);
	j->filled = false;
	return j->failed;
}

void emit_print(struct emit *j, FILE *f)
{
	int r = emit_end(j);

	assert(r == 0);
	fwrite(j->out->data, 1, j->out->len, f); /* who owns the stream asks ferror */
	fputc('\n', f);
	buf_reset(j->out, 0);
}
