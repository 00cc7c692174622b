/* json.c - see json.h; the check itself is in json_check.c.
 *
 * All functions walk over texts that were checked, strict or relaxed. For a text that was not
 * checked the results are wrong, but nothing is read outside of the text.
 */
#include "json.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_internal.h"
#include "json_scan.h"
#include "mem.h"

enum json_type json_type(struct json v)
{
	if (!v.at || !v.len)
		return JSON_ABSENT;
	switch (*v.at) {
	case 'n':
		return JSON_NULL;
	case 't':
	case 'f':
		return JSON_BOOL;
	case '"':
		return JSON_STRING;
	case '[':
		return JSON_ARRAY;
	case '{':
		return JSON_OBJECT;
	default:
		return JSON_NUMBER;
	}
}

unsigned json_line(const char *text, const char *at)
{
	unsigned line = 1;

	while ((text = memchr(text, '\n', (size_t)(at - text))) != NULL) {
		line++;
		text++;
	}
	return line;
}

static const char *skip_space(const char *p, const char *end)
{
	while (p < end) {
		const char *behind;

		if ((unsigned char)*p > ' ' && *p != '/')
			return p;
		behind = *p == '/' ? json_comment(p, end) : p + 1;
		if (!behind || behind == p)
			return p;
		p = behind;
	}
	return p;
}

/* p points to the opening quote. */
static const char *skip_string(const char *p, const char *end)
{
	for (p++; (p = json_find_quote(p, end)) < end; p += 2) {
		if (*p == '"')
			return p + 1;
		if (end - p < 2)
			break;
	}
	return end;
}

/* p points to the opening bracket. */
static const char *skip_container(const char *p, const char *end)
{
	size_t depth = 0;

	while (p < end) {
		const char *behind;

		switch (*p) {
		case '"':
			p = skip_string(p, end);
			break;
		case '{':
		case '[':
			depth++;
			p++;
			break;
		case '}':
		case ']':
			p++;
			if (--depth == 0)
				return p;
			break;
		case '/':
			behind = json_comment(p, end);
			p = behind && behind > p ? behind : p + 1;
			break;
		default:
			p++;
		}
	}
	return end;
}

static const char *skip_value(const char *p, const char *end)
{
	if (p == end)
		return p;
	if (*p == '"')
		return skip_string(p, end);
	if (*p == '{' || *p == '[')
		return skip_container(p, end);
	while (p < end && (unsigned char)*p > ' ' && *p != ',' && *p != '}' && *p != ']' &&
	       *p != '/')
		p++;
	return p;
}

struct json_iter json_iter(struct json v)
{
	enum json_type type = json_type(v);
	struct json_iter it = { .object = type == JSON_OBJECT };

	if (type == JSON_OBJECT || type == JSON_ARRAY) {
		it.p = v.at + 1;
		it.end = v.at + v.len;
	}
	return it;
}

bool json_each(struct json_iter *it)
{
	const char *p, *begin;

	if (it->p == it->end) /* also true for a value that is no container */
		return false;
	p = skip_space(it->p, it->end);
	if (p < it->end && *p == ',')
		p = skip_space(p + 1, it->end);
	it->p = it->end;
	if (p == it->end || *p == '}' || *p == ']')
		return false;
	it->key = JSON_NONE;
	if (it->object) {
		begin = p;
		p = skip_value(p, it->end);
		it->key = (struct json){ begin, (size_t)(p - begin) };
		p = skip_space(p, it->end);
		if (p < it->end && *p == ':')
			p++;
		p = skip_space(p, it->end);
	}
	begin = p;
	p = begin == it->known.at ? begin + it->known.len : skip_value(p, it->end);
	it->value = (struct json){ begin, (size_t)(p - begin) };
	it->p = p;
	return p > begin;
}

size_t json_count(struct json v)
{
	struct json_iter it = json_iter(v);
	size_t count = 0;

	while (json_each(&it))
		count++;
	return count;
}

static unsigned hex4(const char *p)
{
	unsigned v = 0;

	for (int i = 0; i < 4; i++) {
		char c = p[i];

		v = v << 4 | (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	return v;
}

static size_t to_utf8(unsigned c, char out[4])
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* Decode \uXXXX at p, or two of them that form a surrogate pair. *out_len is how many bytes were
 * read. */
static unsigned unicode_escape(const char *p, const char *end, size_t *out_len)
{
	unsigned c, low;

	*out_len = 2;
	if (end - p < 6)
		return 0xfffd;
	*out_len = 6;
	c = hex4(p + 2);
	if (c >= 0xd800 && c < 0xdc00 && end - p >= 12 && p[6] == '\\' && p[7] == 'u') {
		low = hex4(p + 8);
		if (low >= 0xdc00 && low < 0xe000) {
			*out_len = 12;
			return 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		}
	}
	return c == 0 || (c >= 0xd800 && c < 0xe000) ? 0xfffd : c;
}

/* Decode the escape at p. Returns its length in the text. */
static size_t json_unescape(const char *p, const char *end, char out[4], size_t *out_len)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	const char *found;
	size_t len = 2;

	if (end - p < 2) {
		*out_len = 0;
		return 1;
	}
	if (p[1] == 'u') {
		*out_len = to_utf8(unicode_escape(p, end, &len), out);
		return len;
	}
	found = memchr(from, p[1], sizeof(from) - 1);
	out[0] = found ? to[found - from] : p[1];
	*out_len = 1;
	return len;
}

/* Find the text between the quotes of a string. */
static bool inside(struct json v, const char **out_p, const char **out_end)
{
	if (json_type(v) != JSON_STRING || v.len < 2)
		return false;
	*out_p = v.at + 1;
	*out_end = v.at + v.len - 1;
	return true;
}

/* Does v, decoded, equal the len bytes at s? */
static bool is_text(struct json v, const char *s, size_t len)
{
	const char *p, *end;

	if (!inside(v, &p, &end))
		return false;
	while (p < end) {
		char c[4];
		size_t n;

		if (*p == '\\') {
			p += json_unescape(p, end, c, &n);
		} else {
			const char *stop = memchr(p, '\\', (size_t)(end - p));

			n = (size_t)((stop ? stop : end) - p);
			if (n > len || memcmp(p, s, n) != 0)
				return false;
			s += n;
			len -= n;
			p += n;
			continue;
		}
		if (n > len || memcmp(c, s, n) != 0)
			return false;
		s += n;
		len -= n;
	}
	return len == 0;
}

bool json_is(struct json v, const char *s)
{
	return is_text(v, s, strlen(s));
}

static struct json get(struct json v, const char *key, size_t len)
{
	struct json_iter it = json_iter(v);
	struct json found = JSON_NONE;

	if (!it.object)
		return found;
	while (json_each(&it))
		if (is_text(it.key, key, len))
			found = it.value;
	return found;
}

struct json json_get(struct json v, const char *key)
{
	return get(v, key, strlen(key));
}

static struct json item(struct json v, const char *digits, size_t len)
{
	struct json_iter it = json_iter(v);
	size_t index = 0;

	for (size_t i = 0; i < len; i++) {
		if (digits[i] < '0' || digits[i] > '9' || index > SIZE_MAX / 100)
			return JSON_NONE;
		index = index * 10 + (size_t)(digits[i] - '0');
	}
	while (len && json_each(&it))
		if (index-- == 0)
			return it.value;
	return JSON_NONE;
}

struct json json_find(struct json v, const char *path)
{
	for (;;) {
		size_t len = strcspn(path, ".");

		v = json_type(v) == JSON_ARRAY ? item(v, path, len) : get(v, path, len);
		if (!path[len])
			return v;
		path += len + 1;
	}
}

/* Decode into `size` bytes, NUL included. Stops before the first character that does not fit. */
static void json_decode(const char *p, const char *end, char *out, size_t size)
{
	size_t o = 0;

	assert(size > 0);
	while (p < end) {
		char c[4];
		size_t n, step;

		if (*p == '\\') {
			step = json_unescape(p, end, c, &n);
			if (n >= size - o)
				break;
			memcpy(out + o, c, n);
		} else {
			const char *stop = memchr(p, '\\', (size_t)(end - p));

			n = step = (size_t)((stop ? stop : end) - p);
			if (n >= size - o) {
				n = size - o - 1;
				while (n > 0 && (p[n] & 0xc0) == 0x80)
					n--;
				step = (size_t)(end - p);
			}
			memcpy(out + o, p, n);
		}
		o += n;
		p += step;
	}
	out[o] = '\0';
}

static char json_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The lower case of the character at *p, which moves on; 0: no ASCII letter, digit or sign. */
static char json_fold_one(const char **p)
{
	static const struct {
		const char *character;
		char as;
	} others[] = {
		{ "\xc5\xbf", 's' },     /* U+017F, long s */
		{ "\xe2\x84\xaa", 'k' }, /* U+212A, Kelvin */
		{ "\xc4\xb0", 'i' },     /* U+0130, I with a dot */
		{ "\xc4\xb1", 'i' },     /* U+0131, i without a dot */
	};
	unsigned char c = (unsigned char)**p;

	for (size_t i = 0; c >= 0x80 && i < sizeof(others) / sizeof(others[0]); i++) {
		size_t len = strlen(others[i].character);

		if (strncmp(*p, others[i].character, len) != 0)
			continue;
		*p += len;
		return others[i].as;
	}
	++*p;
	return c < 0x80 ? json_lower((char)c) : 0;
}

bool json_folds(struct json v, const char *s)
{
	char text[JSON_FOLD_MAX];
	const char *p;

	if (json_type(v) != JSON_STRING)
		return false;
	for (p = v.at + 1;
	     *p != '\\' && (unsigned char)*p < 0x80 && *s && json_lower(*p) == json_lower(*s); p++)
		s++;
	if (*p != '\\' && (unsigned char)*p < 0x80) /* the quote at the end, or another letter */
		return !*s && p == v.at + v.len - 1;
	/* the rest has other characters, or escapes: six bytes for each character at most */
	v = (struct json){ p - 1, (size_t)(v.at + v.len - p) + 1 };
	if (v.len > 6 * strlen(s) + 2)
		return false;
	json_decode(p, v.at + v.len - 1, text, sizeof(text));
	for (p = text; *p && *s && json_fold_one(&p) == json_lower(*s);)
		s++;
	return !*p && !*s;
}

bool json_string(struct json v, char **out)
{
	const char *p, *end;
	char *text;
	size_t size;

	if (!inside(v, &p, &end))
		return false;
	size = (size_t)(end - p) + 1; /* an escape is never shorter than its character */
	text = mem_try(size);
	if (!text)
		return false;
	json_decode(p, end, text, size);
	*out = text;
	return true;
}

bool json_string_into(struct json v, char *out, size_t size)
{
	const char *p, *end;

	if (!inside(v, &p, &end))
		return false;
	json_decode(p, end, out, size);
	return true;
}

bool json_int(struct json v, int64_t *out)
{
	const char *p = v.at, *end;
	bool minus;
	int64_t n = 0;

	if (json_type(v) != JSON_NUMBER)
		return false;
	end = p + v.len;
	minus = *p == '-';
	for (p += minus; p < end && *p >= '0' && *p <= '9'; p++) {
		int digit = *p - '0';

		/* Count downwards, because -INT64_MIN does not fit into an int64_t. */
		if (__builtin_mul_overflow(n, 10, &n) || __builtin_sub_overflow(n, digit, &n))
			return false;
	}
	if (p < end && *p == '.') {
		for (p++; p < end && *p == '0'; p++)
			;
	}
	if (p < end || (!minus && n == INT64_MIN))
		return false;
	*out = minus ? n : -n;
	return true;
}

/* strtod expects the decimal point of the host's locale, so the text for strtod has only digits and
 * an exponent. */
bool json_double(struct json v, double *out)
{
	enum { DIGITS = 40 };
	static const int64_t exponent_max = 1000000000000; /* no text has so many digits */
	char text[DIGITS + 32];
	const char *p = v.at, *end;
	bool point = false, rest = false;
	int64_t exponent = 0, written = 0;
	size_t n = 0;

	if (json_type(v) != JSON_NUMBER)
		return false;
	end = p + v.len;
	if (*p == '-')
		text[n++] = *p++;
	for (; p < end && (*p | 0x20) != 'e'; p++) {
		if (*p == '.') {
			point = true;
			continue;
		}
		exponent -= point;
		if (n >= DIGITS) {
			exponent++;
			rest |= *p != '0'; /* the digits from here on only decide the rounding */
		} else if (*p != '0' || (n > 0 && text[n - 1] != '-')) {
			text[n++] = *p;
		}
	}
	if (rest) {
		text[n++] = '1';
		exponent--;
	}
	if (end - p >= 2) { /* p is at the 'e' */
		bool minus = *++p == '-';

		for (p += *p == '-' || *p == '+'; p < end && *p >= '0' && *p <= '9'; p++)
			if (written < exponent_max)
				written = written * 10 + (*p - '0');
		exponent += minus ? -written : written;
	}
	if (n == 0 || text[n - 1] == '-')
		text[n++] = '0';
	snprintf(text + n, sizeof(text) - n, "e%lld", (long long)exponent);
	*out = strtod(text, NULL);
	return true;
}

bool json_bool(struct json v, bool *out)
{
	if (json_type(v) != JSON_BOOL)
		return false;
	*out = *v.at == 't';
	return true;
}
