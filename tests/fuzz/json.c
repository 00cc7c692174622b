/* json.c - the check against a reader that is too simple to be wrong, and the accessors on what
 * comes of it. */
#include <assert.h>
#include <errno.h>
#include <stdbool.h>

#include "base/emit.h"
#include "base/json.h"
#include "fuzz.h"

/* RFC 8259 read aloud: one byte at a time, one function per rule. NULL: it does not match. */
static const char *simple_value(const char *p, const char *end, int depth);

static const char *simple_space(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
		p++;
	return p;
}

static const char *simple_char(const char *p, const char *end, char c)
{
	return p && p < end && *p == c ? p + 1 : NULL;
}

static const char *simple_digits(const char *p, const char *end)
{
	const char *begin = p;

	while (p && p < end && *p >= '0' && *p <= '9')
		p++;
	return p > begin ? p : NULL;
}

static const char *simple_number(const char *p, const char *end)
{
	if (p < end && *p == '-')
		p++;
	if (p < end && *p == '0')
		p++;
	else
		p = simple_digits(p, end);
	if (p && p < end && *p == '.')
		p = simple_digits(p + 1, end);
	if (p && p < end && (*p == 'e' || *p == 'E')) {
		p++;
		if (p < end && (*p == '+' || *p == '-'))
			p++;
		p = simple_digits(p, end);
	}
	return p;
}

/* The code point is computed and judged, not the bytes. */
static const char *simple_utf8(const char *p, const char *end)
{
	static const unsigned long least[] = { 0, 0x80, 0x800, 0x10000 };
	unsigned char c = (unsigned char)*p++;
	int more = c < 0x80 ? 0 : c < 0xc0 ? -1 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf8 ? 3 : -1;
	unsigned long v = more > 0 ? c & (0x3fu >> more) : c;

	if (more < 0)
		return NULL;
	for (int i = 0; i < more; i++) {
		if (p == end || ((unsigned char)*p & 0xc0) != 0x80)
			return NULL;
		v = v << 6 | ((unsigned char)*p++ & 0x3f);
	}
	return v < least[more] || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff) ? NULL : p;
}

static const char *simple_string(const char *p, const char *end)
{
	p = simple_char(p, end, '"');
	while (p && p < end && *p != '"') {
		if (*p == '\\') {
			p++;
			if (p == end || !strchr("\"\\/bfnrtu", *p) || !*p)
				return NULL;
			if (*p == 'u') {
				if (end - p < 5)
					return NULL;
				for (int i = 1; i <= 4; i++)
					if (!p[i] || !strchr("0123456789abcdefABCDEF", p[i]))
						return NULL;
				p += 4;
			}
			p++;
		} else if ((unsigned char)*p < 0x20) {
			return NULL;
		} else {
			p = simple_utf8(p, end);
		}
	}
	return p ? simple_char(p, end, '"') : NULL;
}

static const char *simple_items(const char *p, const char *end, int depth, char closer)
{
	p = simple_space(p, end);
	if (p < end && *p == closer)
		return p + 1;
	for (;;) {
		if (closer == '}') {
			p = simple_string(simple_space(p, end), end);
			p = p ? simple_char(simple_space(p, end), end, ':') : NULL;
		}
		p = p ? simple_value(simple_space(p, end), end, depth) : NULL;
		p = p ? simple_space(p, end) : NULL;
		if (!p || p == end || (*p != ',' && *p != closer))
			return NULL;
		if (*p++ == closer)
			return p;
	}
}

static const char *simple_value(const char *p, const char *end, int depth)
{
	static const char *const words[] = { "true", "false", "null" };

	if (p == end || depth > JSON_DEPTH)
		return NULL;
	for (size_t i = 0; i < 3; i++)
		if ((size_t)(end - p) >= strlen(words[i]) &&
		    memcmp(p, words[i], strlen(words[i])) == 0)
			return p + strlen(words[i]);
	if (*p == '"')
		return simple_string(p, end);
	if (*p == '{' || *p == '[')
		return depth == JSON_DEPTH
			       ? NULL
			       : simple_items(p + 1, end, depth + 1, *p == '{' ? '}' : ']');
	return simple_number(p, end);
}

static bool simple_is_json(const char *p, size_t len)
{
	const char *end = p + len;

	p = simple_value(simple_space(p, end), end, 0);
	return p && simple_space(p, end) == end;
}

/* What every value of a text promises, if the text was checked. */
static void use_string(struct json v, bool checked)
{
	struct buf b = BUF_INIT(BUF_ANY_SIZE);
	struct json_fault fault;
	struct json again;
	char *text, small[8];

	if (!json_string(v, &text))
		return;
	assert(strlen(text) <= v.len);
	assert(json_string_into(v, small, sizeof(small)));
	assert(strlen(small) < sizeof(small));
	if (checked) { /* else a NUL may stand in it */
		assert(strncmp(text, small, strlen(small)) == 0);
		assert(json_is(v, text));
		assert(emit_quoted(&b, text, strlen(text)) == 0);
		assert(json_check(b.data, b.len, 0, &again, &fault) == 0);
		assert(json_is(again, text));
	}
	free(text);
	buf_done(&b);
}

static void use(struct json v, bool checked, int depth)
{
	int levels = checked ? 20 : 3; /* each is walked by all above it */
	struct json_iter it = json_iter(v);
	size_t count = 0;
	int64_t n;
	double d;
	bool b;

	use_string(v, checked);
	if (json_int(v, &n) && checked)
		assert(json_double(v, &d) && d == (double)n);
	json_double(v, &d);
	json_bool(v, &b);
	json_find(v, "a.0.id");
	while (depth < levels && json_each(&it)) {
		count++;
		assert(it.value.at >= v.at && it.value.at + it.value.len <= v.at + v.len);
		if (it.object)
			use(it.key, checked, depth + 1);
		use(it.value, checked, depth + 1);
	}
	if (depth < levels)
		assert(count == json_count(v));
}

struct seen { /* the members of an object, and of the next object inside it */
	struct json_iter outer, inner;
	bool inside;
};

static void see(void *ctx, unsigned depth, struct json key, struct json value)
{
	struct seen *seen = ctx;
	struct json_iter next = seen->outer, *it = depth == 1 ? &seen->outer : &seen->inner;
	bool more;

	if (depth == 2 && !seen->inside) {
		assert(json_each(&next));
		seen->inner = json_iter(next.value);
	}
	more = json_each(it);
	assert(more && it->key.at == key.at && it->key.len == key.len);
	assert(it->value.at == value.at && it->value.len == value.len);
	if (depth == 1 && json_type(value) == JSON_OBJECT)
		assert(seen->inside ? !json_each(&seen->inner) : !json_count(value));
	if (depth == 1) { /* the same step with the end of the value known */
		next.known = value;
		assert(json_each(&next) && next.value.len == value.len && next.p == it->p);
	}
	seen->inside = depth == 2;
}

static void try(const char *text, size_t len, unsigned flags)
{
	struct json_fault fault, before;
	struct json v, same;
	int r = json_check(text, len, flags, &v, &fault);

	assert(r == 0 || r == -EBADMSG || r == -E2BIG);
	if (!flags)
		assert((r == 0) == simple_is_json(text, len));
	if (r < 0) {
		assert(fault.offset <= len && fault.reason);
		/* up to there it could have been JSON */
		r = json_check(text, fault.offset, flags, &v, &before);
		assert(r == 0 || before.offset == fault.offset);
		if (len)
			use((struct json){ text, len }, false, 0); /* nonsense, but nothing else */
		return;
	}
	use(v, true, 0);
	assert(json_check(v.at, v.len, flags, &same, &fault) == 0);
	assert(same.at == v.at && same.len == v.len);
	if (json_type(v) == JSON_OBJECT) {
		struct seen seen = { .outer = json_iter(v) };

		assert(json_check_members(text, len, flags, see, &seen, &same, &fault) == 0);
		assert(!json_each(&seen.outer));
	}
	if (!flags)
		assert(json_check(text, len, JSON_RELAXED, &same, &fault) == 0 && same.at == v.at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size ? size : 1); /* no NUL behind it: nobody may look for one */

	assert(text);
	if (size)
		memcpy(text, data, size);
	try(text, size, 0);
	try(text, size, JSON_RELAXED);
	free(text);
	return 0;
}
