/* json_check.c - is a text JSON? One pass, no recursion, no memory but a bit per level.
 *
 * Every message passes here whole, so the common case comes first everywhere: strings in runs of
 * eight bytes, no space between tokens, no escapes. A function that reads something takes the place
 * where it begins and returns the place behind it, or NULL when walk.fault is set.
 */
#include "json.h"

#include <assert.h>
#include <errno.h>

#include "json_internal.h"

struct walk {
	const char *text, *end;
	bool relaxed;
	unsigned depth;
	uint64_t objects[JSON_DEPTH / 64]; /* bit per level: an object, else an array */
	struct json_fault fault;
	int error;
	json_member_fn fn; /* NULL: nobody asks for the members */
	void *ctx;
	struct json key;   /* of the member of the outermost object that is being read */
	const char *value; /* and where its value begins */
};

static_assert(JSON_DEPTH % 64 == 0, "the stack is made of words");

__attribute__((cold, noinline)) static const char *fault(struct walk *w, const char *at,
							 const char *reason)
{
	w->fault.offset = (size_t)(at - w->text);
	w->fault.reason = reason;
	w->error = -EBADMSG;
	return NULL;
}

const char *json_comment(const char *p, const char *end)
{
	if (end - p < 2 || p[0] != '/' || (p[1] != '/' && p[1] != '*'))
		return p;
	if (p[1] == '/') {
		p = memchr(p, '\n', (size_t)(end - p));
		return p ? p + 1 : end;
	}
	p = memmem(p + 2, (size_t)(end - p - 2), "*/", 2);
	return p ? p + 2 : NULL;
}

static const char *long_space(struct walk *w, const char *p)
{
	for (;;) {
		const char *behind;

		while (p < w->end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
			p++;
		if (p == w->end || *p != '/' || !w->relaxed)
			return p;
		behind = json_comment(p, w->end);
		if (!behind)
			return fault(w, p, "a comment is not closed");
		if (behind == p)
			return p;
		p = behind;
	}
}

static inline const char *space(struct walk *w, const char *p)
{
	if (p < w->end && (unsigned char)*p > ' ' && *p != '/')
		return p;
	return long_space(w, p);
}

static inline bool is_tail(char c)
{
	return (c & 0xc0) == 0x80;
}

/* Characters beyond ASCII, as many as there are. Overlong forms, surrogates and what is beyond
 * U+10FFFF are no UTF-8. */
static const char *utf8(struct walk *w, const char *p)
{
	static const char broken[] = "a character is not UTF-8";

	while (p < w->end && (unsigned char)*p >= 0x80) {
		unsigned char c = (unsigned char)*p;
		unsigned v;

		if (c < 0xe0) {
			if (c < 0xc2 || w->end - p < 2 || !is_tail(p[1]))
				return fault(w, p, broken);
			p += 2;
		} else if (c < 0xf0) {
			if (w->end - p < 3 || !is_tail(p[1]) || !is_tail(p[2]))
				return fault(w, p, broken);
			v = (c & 0xfu) << 6 | (p[1] & 0x3fu); /* its upper ten bits */
			if (v < 0x800 >> 6 || (v >= 0xd800 >> 6 && v < 0xe000 >> 6))
				return fault(w, p, broken);
			p += 3;
		} else {
			if (c > 0xf4 || w->end - p < 4 || !is_tail(p[1]) || !is_tail(p[2]) ||
			    !is_tail(p[3]))
				return fault(w, p, broken);
			v = (c & 0x7u) << 6 | (p[1] & 0x3fu); /* its upper nine bits */
			if (v < 0x10000 >> 12 || v > 0x10ffff >> 12)
				return fault(w, p, broken);
			p += 4;
		}
	}
	return p;
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

static const char *escape(struct walk *w, const char *p)
{
	static const char ends[] = "a string is not closed";

	if (++p == w->end)
		return fault(w, p, ends);
	switch (*p) {
	case '"':
	case '\\':
	case '/':
	case 'b':
	case 'f':
	case 'n':
	case 'r':
	case 't':
		return p + 1;
	case 'u':
		for (int i = 0; i < 4; i++) {
			if (++p == w->end)
				return fault(w, p, ends);
			if (!is_hex(*p))
				return fault(w, p, "\\u needs four hexadecimal digits");
		}
		return p + 1;
	default:
		return fault(w, p, "no such escape");
	}
}

static inline const char *string(struct walk *w, const char *p)
{
	p++;
	do {
		p = json_run(p, w->end, true);
		if (p == w->end)
			return fault(w, p, "a string is not closed");
		if (*p == '"')
			return p + 1;
		if (*p == '\\')
			p = escape(w, p);
		else if ((unsigned char)*p >= 0x80)
			p = utf8(w, p);
		else
			return fault(w, p, "a control character in a string");
	} while (p);
	return NULL;
}

static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* At least one digit. */
static inline const char *digits(struct walk *w, const char *p, const char *reason)
{
	if (p == w->end || !is_digit(*p))
		return fault(w, p, reason);
	while (p < w->end && is_digit(*p))
		p++;
	return p;
}

static const char *number(struct walk *w, const char *p)
{
	if (*p == '-')
		p++;
	if (p < w->end && *p == '0') {
		p++;
		if (p < w->end && is_digit(*p))
			return fault(w, p, "a number begins with 0");
	} else if (!(p = digits(w, p, "a digit is expected behind '-'"))) {
		return NULL;
	}
	if (p < w->end && *p == '.' &&
	    !(p = digits(w, p + 1, "a digit is expected behind the decimal point")))
		return NULL;
	if (p < w->end && (*p | 0x20) == 'e') {
		p++;
		if (p < w->end && (*p == '+' || *p == '-'))
			p++;
		p = digits(w, p, "a digit is expected in the exponent");
	}
	return p;
}

static const char *literal(struct walk *w, const char *p, const char *word)
{
	for (; *word; word++, p++)
		if (p == w->end || *p != *word)
			return fault(w, p, "true, false or null is misspelt");
	return p;
}

static inline const char *scalar(struct walk *w, const char *p)
{
	switch (*p) {
	case '"':
		return string(w, p);
	case '-':
	case '0' ... '9':
		return number(w, p);
	case 't':
		return literal(w, p, "true");
	case 'f':
		return literal(w, p, "false");
	case 'n':
		return literal(w, p, "null");
	default:
		return fault(w, p, "a value is expected");
	}
}

static inline bool in_object(const struct walk *w)
{
	unsigned top = w->depth - 1;

	return w->depth && (w->objects[top / 64] >> top % 64 & 1);
}

static bool push(struct walk *w, const char *p)
{
	uint64_t bit = 1ull << w->depth % 64, *word = &w->objects[w->depth / 64];

	if (w->depth == JSON_DEPTH) {
		fault(w, p, "nested too deep");
		w->error = -E2BIG;
		return false;
	}
	*word = *p == '{' ? *word | bit : *word & ~bit;
	w->depth++;
	return true;
}

/* A key and its colon, up to its value. */
static inline const char *key(struct walk *w, const char *p)
{
	const char *begin = p;

	if (p == w->end || *p != '"')
		return fault(w, p, "a key in quotes is expected");
	if (!(p = string(w, p)))
		return NULL;
	if (w->depth == 1)
		w->key = (struct json){ begin, (size_t)(p - begin) };
	if (!(p = space(w, p)))
		return NULL;
	if (p == w->end || *p != ':')
		return fault(w, p, "':' is expected behind a key");
	return space(w, p + 1);
}

/* A value has ended at p. Step over the ends of the containers that end with it and the comma
 * behind; returns the beginning of the next item, or the end of the outermost value, when depth is
 * 0. */
static inline const char *ended(struct walk *w, const char *p)
{
	while (w->depth) {
		bool object = in_object(w);
		char closer = object ? '}' : ']';

		if (w->fn && w->depth == 1 && object)
			w->fn(w->ctx, w->key, (struct json){ w->value, (size_t)(p - w->value) });
		if (!(p = space(w, p)))
			return NULL;
		if (p < w->end && *p == ',') {
			if (!(p = space(w, p + 1)))
				return NULL;
			if (!w->relaxed || p == w->end || *p != closer)
				return p;
		}
		if (p == w->end || *p != closer)
			return fault(w, p,
				     object ? "',' or '}' is expected" : "',' or ']' is expected");
		p++;
		w->depth--;
	}
	return p;
}

/* The value at p; returns the place behind it. */
static const char *value(struct walk *w, const char *p)
{
	do {
		if (in_object(w) && !(p = key(w, p)))
			return NULL;
		if (w->depth == 1)
			w->value = p;
		if (p == w->end)
			return fault(w, p, "a value is expected");
		if (*p == '{' || *p == '[') {
			char closer = *p == '{' ? '}' : ']';

			if (!push(w, p) || !(p = space(w, p + 1)))
				return NULL;
			if (p == w->end || *p != closer)
				continue;
			p++;
			w->depth--;
		} else if (!(p = scalar(w, p))) {
			return NULL;
		}
		p = ended(w, p);
	} while (p && w->depth);
	return p;
}

int json_check_members(const char *text, size_t len, unsigned flags, json_member_fn fn, void *ctx,
		       struct json *out, struct json_fault *out_fault)
{
	struct walk w = { .text = len ? text : "", .fn = fn, .ctx = ctx };
	const char *p = w.text, *begin, *behind;

	w.end = w.text + len;
	w.relaxed = flags & JSON_RELAXED;
	if (w.relaxed && len >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
		p += 3;
	begin = space(&w, p);
	behind = begin ? value(&w, begin) : NULL;
	p = behind ? space(&w, behind) : NULL;
	if (p && p < w.end)
		p = fault(&w, p, "something follows the value");
	if (!p) {
		if (out_fault)
			*out_fault = w.fault;
		return w.error;
	}
	*out = (struct json){ begin, (size_t)(behind - begin) };
	return 0;
}

int json_check(const char *text, size_t len, unsigned flags, struct json *out,
	       struct json_fault *out_fault)
{
	return json_check_members(text, len, flags, NULL, NULL, out, out_fault);
}
