/* emit.c - see emit.h */
#include "emit.h"

#include <assert.h>
#include <string.h>

/* Bytes of the UTF-8 character at s, or 0 when there is none. */
static size_t utf8_len(const unsigned char *s)
{
	size_t n = s[0] < 0x80   ? 1
		   : s[0] < 0xc2 ? 0
		   : s[0] < 0xe0 ? 2
		   : s[0] < 0xf0 ? 3
		   : s[0] < 0xf5 ? 4
				 : 0;

	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

static void quoted(FILE *out, const char *value)
{
	const unsigned char *s = (const unsigned char *)value;

	fputc('"', out);
	while (*s) {
		size_t n = utf8_len(s);

		if (n == 0)
			fputs("\\ufffd", out);
		else if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else if (*s < 0x20 || *s == 0x7f)
			fprintf(out, "\\u%04x", *s);
		else
			fwrite(s, 1, n, out);
		s += n ? n : 1;
	}
	fputc('"', out);
}

static void lead(struct emit *j, const char *key)
{
	bool in_object = j->depth && j->kind[j->depth - 1] == '{';

	assert(in_object == (key != NULL));
	if (j->filled)
		fputc(',', j->out);
	if (j->depth == 1 && j->kind[0] == '[')
		fputc('\n', j->out);
	j->filled = true;
	if (key) {
		quoted(j->out, key);
		fputc(':', j->out);
	}
}

void emit_open(struct emit *j, const char *key, char kind)
{
	assert(kind == '{' || kind == '[');
	assert(j->depth < sizeof(j->kind));
	lead(j, key);
	fputc(kind, j->out);
	j->kind[j->depth++] = kind;
	j->filled = false;
}

void emit_close(struct emit *j)
{
	assert(j->depth > 0);
	j->depth--;
	if (j->depth == 0 && j->kind[0] == '[' && j->filled)
		fputc('\n', j->out);
	fputc(j->kind[j->depth] == '{' ? '}' : ']', j->out);
	j->filled = true;
}

void emit_str(struct emit *j, const char *key, const char *value)
{
	if (!value || !*value) {
		emit_null(j, key);
		return;
	}
	lead(j, key);
	quoted(j->out, value);
}

void emit_int(struct emit *j, const char *key, long long value)
{
	lead(j, key);
	fprintf(j->out, "%lld", value);
}

void emit_bool(struct emit *j, const char *key, bool value)
{
	lead(j, key);
	fputs(value ? "true" : "false", j->out);
}

void emit_null(struct emit *j, const char *key)
{
	lead(j, key);
	fputs("null", j->out);
}

void emit_end(struct emit *j)
{
	assert(j->depth == 0 && j->filled);
	fputc('\n', j->out);
	j->filled = false;
}
