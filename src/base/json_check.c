/* json_check.c - checks whether a text is JSON: one pass, no recursion, one bit of memory per
 * level.
 *
 * Every byte of every message is checked here, so the common case always comes first: no space
 * between tokens, few escapes. A function that reads something takes the place where it begins and
 * returns the place behind it, or NULL when walk.fault is set.
 *
 * Strings are found by blocks of 64 bytes (json_scan.h): walk.special has a bit for each byte of
 * the block that is no plain character of a string. The end of a string is then the lowest bit
 * behind its beginning, and one look serves all strings of the block. A block never reaches behind
 * the text: the last one ends where the text ends, and a text that is shorter than a block is
 * copied.
 */
#include "json.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "json_internal.h"
#include "json_scan.h"

struct walk {
	const char *text, *end;
	const char *block; /* the byte that belongs to bit 0 of `special` */
	uint64_t special;  /* bit set: the byte is no plain character of a string */
	const char *bytes; /* of the block; `small` when the text is shorter than a block */
	unsigned told;     /* members up to this depth are passed to fn; 0: there is no fn */
	bool relaxed;
	int error;
	json_member_fn fn;
	void *ctx;
	/* by depth: the key of the member that is being read, and where its value begins */
	struct json key[JSON_MEMBERS_DEPTH + 1];
	const char *value[JSON_MEMBERS_DEPTH + 1];
	struct json_fault fault;
	uint64_t outer[JSON_DEPTH / 64]; /* levels.bits before each 64th level was pushed */
	char small[JSON_BLOCK];
};

/* The open containers. Not in struct walk, so that they stay in registers. */
struct levels {
	uint64_t bits; /* 1 for an object, 0 for an array; bit 0 is the innermost */
	unsigned depth;
};

static_assert(JSON_DEPTH % 64 == 0, "the levels are saved in words");

/* Inlined into the loop of value(): a call would cost as much as a short string. */
#define HOT       static inline __attribute__((always_inline))
#define LIKELY(x) __builtin_expect(!!(x), 1)

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

static inline bool is_at(const struct walk *w, const char *p, char c)
{
	return LIKELY(p < w->end) && *p == c;
}

static inline const char *space(struct walk *w, const char *p)
{
	if (p < w->end && (unsigned char)*p > ' ' && *p != '/')
		return p;
	return long_space(w, p);
}

/* Scan a text that is shorter than a block. The zeros behind the text count as special. */
static void look_small(struct walk *w)
{
	memset(w->small, 0, sizeof(w->small));
	memcpy(w->small, w->text, (size_t)(w->end - w->text));
	w->block = w->text;
	w->bytes = w->small;
	w->special = json_special(w->bytes);
}

/* Scan the block that begins at p, or the last block of the text when fewer bytes follow. The text
 * is at least as long as a block. */
static inline void json_check_look(struct walk *w, const char *p)
{
	w->block = w->end - p >= JSON_BLOCK ? p : w->end - JSON_BLOCK;
	w->bytes = w->block;
	w->special = json_special(w->bytes);
}

/* p is at a character beyond ASCII. Step over that character. If another one follows, clear the
 * bits of all of them in the block at once. */
static inline const char *beyond_ascii(struct walk *w, const char *p)
{
	size_t n = utf8_len(p, (size_t)(w->end - p));

	if (!n)
		return fault(w, p, "a character is not UTF-8");
	p += n;
	if (p < w->end && (unsigned char)*p >= 0x80 && p - w->block < JSON_BLOCK)
		w->special &= ~json_characters(w->bytes, (unsigned)(p - w->block));
	return p;
}

/* What a character means in an escape. */
enum escape_kind {
	ESCAPE_PLAIN = 1,   /* may follow a backslash */
	ESCAPE_SPECIAL = 2, /* may follow a backslash, and is a special byte itself */
	ESCAPE_CODE = 4,    /* four hexadecimal digits follow */
	ESCAPE_DIGIT = 8,   /* a hexadecimal digit */
};

static const unsigned char escape_kinds[256] = {
	['"'] = ESCAPE_SPECIAL,
	['\\'] = ESCAPE_SPECIAL,
	['/'] = ESCAPE_PLAIN,
	['b'] = ESCAPE_PLAIN | ESCAPE_DIGIT,
	['f'] = ESCAPE_PLAIN | ESCAPE_DIGIT,
	['n'] = ESCAPE_PLAIN,
	['r'] = ESCAPE_PLAIN,
	['t'] = ESCAPE_PLAIN,
	['u'] = ESCAPE_CODE,
	['0' ... '9'] = ESCAPE_DIGIT,
	['a'] = ESCAPE_DIGIT,
	['c' ... 'e'] = ESCAPE_DIGIT,
	['A' ... 'F'] = ESCAPE_DIGIT,
};

static inline unsigned escape_kind(char c)
{
	return escape_kinds[(unsigned char)c];
}

static inline bool is_code(const char *p)
{
	return escape_kind(p[0]) & escape_kind(p[1]) & escape_kind(p[2]) & escape_kind(p[3]) &
	       ESCAPE_DIGIT;
}

/* `rest` has the bits of special bytes of a string. Clear the bits of all escapes before the first
 * special byte of another kind. An escape that is wrong, or that reaches into the next block, keeps
 * its bit.
 *
 * The next special byte is found without computing where the last escape ended: the bit of the
 * escape, and that of a quote or backslash behind it, are the lowest ones and are cleared. */
static inline uint64_t skip_escapes(const char *bytes, uint64_t rest)
{
	while (rest) {
		unsigned at = (unsigned)__builtin_ctzll(rest), kind;

		if (bytes[at] != '\\' || at > JSON_BLOCK - 2)
			break;
		kind = escape_kind(bytes[at + 1]);
		if (kind & ESCAPE_SPECIAL)
			rest &= rest - 1;
		else if (!(kind & ESCAPE_PLAIN) &&
			 !(kind & ESCAPE_CODE && at <= JSON_BLOCK - 6 && is_code(bytes + at + 2)))
			break;
		rest &= rest - 1;
	}
	return rest;
}

/* Check an escape byte by byte; used for the escapes that skip_escapes leaves. */
static const char *escape(struct walk *w, const char *p)
{
	static const char ends[] = "a string is not closed";
	unsigned kind;

	if (++p == w->end)
		return fault(w, p, ends);
	kind = escape_kind(*p);
	if (kind & (ESCAPE_PLAIN | ESCAPE_SPECIAL))
		return p + 1;
	if (!(kind & ESCAPE_CODE))
		return fault(w, p, "no such escape");
	for (int i = 0; i < 4; i++) {
		if (++p == w->end)
			return fault(w, p, ends);
		if (!(escape_kind(*p) & ESCAPE_DIGIT))
			return fault(w, p, "\\u needs four hexadecimal digits");
	}
	return p + 1;
}

/* p is at a byte that is neither a plain character of a string nor the closing quote. */
static inline const char *special(struct walk *w, const char *p)
{
	if (p == w->end)
		return fault(w, p, "a string is not closed");
	if ((unsigned char)*p >= 0x80)
		return beyond_ascii(w, p);
	if (*p == '\\')
		return escape(w, p);
	return fault(w, p, "a control character in a string");
}

/* The rest of a string that has special bytes or continues in the next block. */
__attribute__((noinline)) static const char *long_string(struct walk *w, const char *p)
{
	do {
		size_t at = (size_t)(p - w->block);
		uint64_t rest = at < JSON_BLOCK ? w->special & ~0ull << at : 0;

		rest = skip_escapes(w->bytes, rest);
		if (rest) {
			at = (size_t)__builtin_ctzll(rest);
			if (w->bytes[at] == '"')
				return w->block + at + 1;
			p = special(w, w->block + at);
			continue;
		}
		if (at < JSON_BLOCK)
			p = w->block + JSON_BLOCK;
		if (p >= w->end)
			return fault(w, w->end, "a string is not closed");
		json_check_look(w, at < 2 * JSON_BLOCK ? w->block + JSON_BLOCK : p);
	} while (p);
	return NULL;
}

/* p points to the opening quote. */
HOT const char *string(struct walk *w, const char *p)
{
	size_t at = (size_t)(++p - w->block);

	if (LIKELY(at < JSON_BLOCK)) {
		uint64_t rest = w->special >> at;

		if (LIKELY(rest)) {
			at += (unsigned)__builtin_ctzll(rest);
			if (LIKELY(w->bytes[at] == '"'))
				return w->block + at + 1;
		}
	}
	return long_string(w, p);
}

static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Read at least one digit. */
static inline const char *json_check_digits(struct walk *w, const char *p, const char *reason)
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
	} else if (!(p = json_check_digits(w, p, "a digit is expected behind '-'"))) {
		return NULL;
	}
	if (p < w->end && *p == '.' &&
	    !(p = json_check_digits(w, p + 1, "a digit is expected behind the decimal point")))
		return NULL;
	if (p < w->end && (*p | 0x20) == 'e') {
		p++;
		if (p < w->end && (*p == '+' || *p == '-'))
			p++;
		p = json_check_digits(w, p, "a digit is expected in the exponent");
	}
	return p;
}

__attribute__((cold, noinline)) static const char *misspelt(struct walk *w, const char *p,
							    const char *word)
{
	while (p < w->end && *p == *word)
		p++, word++;
	return fault(w, p, "true, false or null is misspelt");
}

static inline const char *literal(struct walk *w, const char *p, const char *word, size_t len)
{
	if ((size_t)(w->end - p) >= len && memcmp(p, word, len) == 0)
		return p + len;
	return misspelt(w, p, word);
}

HOT const char *scalar(struct walk *w, const char *p)
{
	if (p == w->end)
		return fault(w, p, "a value is expected");
	switch (*p) {
	case '-':
	case '0' ... '9':
		return number(w, p);
	case 't':
		return literal(w, p, "true", 4);
	case 'f':
		return literal(w, p, "false", 5);
	case 'n':
		return literal(w, p, "null", 4);
	default:
		return fault(w, p, "a value is expected");
	}
}

static inline bool push(struct walk *w, struct levels *l, const char *p)
{
	if (l->depth % 64 == 0) {
		if (l->depth == JSON_DEPTH) {
			fault(w, p, "nested too deep");
			w->error = -E2BIG;
			return false;
		}
		w->outer[l->depth / 64] = l->bits;
	}
	l->bits = l->bits << 1 | (*p == '{');
	l->depth++;
	return true;
}

static inline void pop(const struct walk *w, struct levels *l)
{
	l->depth--;
	l->bits = l->depth % 64 ? l->bits >> 1 : w->outer[l->depth / 64];
}

static inline bool in_object(const struct levels *l)
{
	return l->bits & 1;
}

/* Read a key and its colon. */
HOT const char *key(struct walk *w, struct levels *l, const char *p)
{
	const char *begin;

	if (!is_at(w, p, '"') && !(p = space(w, p)))
		return NULL;
	if (!is_at(w, p, '"'))
		return fault(w, p, "a key in quotes is expected");
	begin = p;
	if (!(p = string(w, p)))
		return NULL;
	if (l->depth <= w->told)
		w->key[l->depth] = (struct json){ begin, (size_t)(p - begin) };
	if (!is_at(w, p, ':') && !(p = space(w, p)))
		return NULL;
	if (!is_at(w, p, ':'))
		return fault(w, p, "':' is expected behind a key");
	return p + 1;
}

/* No comma follows the value before p, or, in a relaxed text, a trailing comma: the container must
 * end here. Returns the place behind its closing bracket. */
HOT const char *closed(struct walk *w, struct levels *l, const char *p)
{
	if (!is_at(w, p, in_object(l) ? '}' : ']'))
		return fault(w, p,
			     in_object(l) ? "',' or '}' is expected" : "',' or ']' is expected");
	pop(w, l);
	return p + 1;
}

/* A value has ended at p. Step over the closing brackets behind it and the comma behind them.
 * Returns the place behind the comma, or, when depth is 0, the end of the outermost value. */
HOT const char *ended(struct walk *w, struct levels *l, const char *p)
{
	while (l->depth) {
		if (l->depth <= w->told && in_object(l)) {
			const char *begin = w->value[l->depth];

			w->fn(w->ctx, l->depth, w->key[l->depth],
			      (struct json){ begin, (size_t)(p - begin) });
		}
		if (p < w->end && (unsigned char)*p <= '/') { /* no bracket: comma or space */
			if (*p != ',' && !(p = space(w, p)))
				return NULL;
			if (is_at(w, p, ',')) {
				p++;
				if (LIKELY(!w->relaxed))
					return p;
				if (!(p = space(w, p)) || !is_at(w, p, in_object(l) ? '}' : ']'))
					return p;
			}
		}
		if (!(p = closed(w, l, p)))
			return NULL;
	}
	return p;
}

/* p points to the opening bracket of a container. Returns the place of the first item, or the place
 * behind the container when it is empty. */
HOT const char *opened(struct walk *w, struct levels *l, const char *p, bool *out_empty)
{
	char closer = *p == '{' ? '}' : ']';

	*out_empty = false;
	if (!push(w, l, p++) || (!is_at(w, p, '"') && !(p = space(w, p))))
		return NULL;
	if (!is_at(w, p, closer))
		return p;
	*out_empty = true;
	pop(w, l);
	return p + 1;
}

/* Check the value at p. Returns the place behind it. */
static const char *value(struct walk *w, const char *p)
{
	struct levels l = { 0, 0 };

	do {
		bool empty;

		if (in_object(&l) && !(p = key(w, &l, p)))
			return NULL;
		if (!is_at(w, p, '"') && !(p = space(w, p)))
			return NULL;
		if (l.depth <= w->told)
			w->value[l.depth] = p;
		if (is_at(w, p, '"')) {
			p = string(w, p);
		} else if (is_at(w, p, '{') || is_at(w, p, '[')) {
			p = opened(w, &l, p, &empty);
			if (p && !empty)
				continue;
		} else {
			p = scalar(w, p);
		}
		if (p)
			p = ended(w, &l, p);
	} while (p && l.depth);
	return p;
}

int json_check_members(const char *text, size_t len, unsigned flags, json_member_fn fn, void *ctx,
		       struct json *out, struct json_fault *out_fault)
{
	struct walk w; /* not cleared: clearing the arrays would cost as much as a short text */
	const char *p, *begin, *behind;

	w.text = p = len ? text : "";
	w.end = p + len;
	w.relaxed = flags & JSON_RELAXED;
	w.error = 0;
	w.told = fn ? JSON_MEMBERS_DEPTH : 0;
	w.fn = fn;
	w.ctx = ctx;
	if (len >= JSON_BLOCK)
		json_check_look(&w, p);
	else
		look_small(&w);
	if (w.relaxed && len >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
		p += 3;
	begin = space(&w, p);
	behind = begin ? value(&w, begin) : NULL;
	p = behind && behind < w.end ? space(&w, behind) : behind;
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
