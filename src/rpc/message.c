/* message.c - see message.h */
#include "message.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/emit.h"

struct parts { /* the message while its members come in */
	struct message m;
	struct json version;
};

#define KNOWN(name, member)                                                                        \
	{                                                                                          \
		name, sizeof(name) - 1, offsetof(struct parts, member)                             \
	}
static const struct known {
	const char *name;
	size_t len, offset;
} known[] = {
	KNOWN("jsonrpc", version), KNOWN("id", m.id),         KNOWN("method", m.method),
	KNOWN("params", m.params), KNOWN("result", m.result), KNOWN("error", m.error),
};
#define KNOWN_COUNT (sizeof(known) / sizeof(known[0]))

/* The one of the known keys that this is, if any. */
static const struct known *find_known(struct json key)
{
	for (const struct known *k = known; k < known + KNOWN_COUNT; k++)
		if (key.len == k->len + 2 && memcmp(key.at + 1, k->name, k->len) == 0)
			return k;
	if (!memchr(key.at, '\\', key.len))
		return NULL;
	for (const struct known *k = known; k < known + KNOWN_COUNT; k++)
		if (json_is(key, k->name))
			return k;
	return NULL;
}

static void take_member(void *ctx, struct json key, struct json value)
{
	const struct known *k = find_known(key);

	if (k)
		*(struct json *)((char *)ctx + k->offset) = value;
}

/* Is this an id that we wrote, and which? */
static bool read_number(struct json id, uint64_t *out_number)
{
	const char *p = id.at, *end = id.at + id.len;
	uint64_t n = 0;

	if (*p == '"') {
		p++;
		end--;
	}
	if (p == end || (*p == '0' && end - p > 1))
		return false;
	for (; p < end; p++) {
		if (*p < '0' || *p > '9' || __builtin_mul_overflow(n, 10u, &n) ||
		    __builtin_add_overflow(n, (unsigned)(*p - '0'), &n))
			return false;
	}
	*out_number = n;
	return true;
}

static int refuse(const char **reason, const char *why)
{
	*reason = why;
	return -EPROTO;
}

static void drop_null(struct json *v)
{
	if (json_type(*v) == JSON_NULL)
		*v = JSON_NONE;
}

static int classify_call(struct message *m, const char **reason)
{
	enum json_type params = json_type(m->params);

	if (json_type(m->method) != JSON_STRING)
		return refuse(reason, "the method is no string");
	if (params != JSON_ABSENT && params != JSON_OBJECT && params != JSON_ARRAY)
		return refuse(reason, "params is neither an object nor an array");
	m->kind = m->id.at ? MESSAGE_REQUEST : MESSAGE_NOTIFICATION;
	m->result = m->error = JSON_NONE;
	return 0;
}

static int classify_answer(struct message *m, const char **reason)
{
	m->params = JSON_NONE;
	if (m->error.at) {
		m->kind = MESSAGE_ERROR;
		m->result = JSON_NONE;
	} else if (!m->result.at) {
		return refuse(reason, "neither a method nor a result nor an error");
	} else if (!m->id.at) {
		return refuse(reason, "a result without an id");
	} else {
		m->kind = MESSAGE_RESULT;
	}
	if (m->id.at)
		m->ours = read_number(m->id, &m->number);
	return 0;
}

/* All members are in. */
static int classify(struct parts *p, struct message *out, const char **reason)
{
	struct message *m = &p->m;
	enum json_type id;
	int r;

	drop_null(&m->id);
	drop_null(&m->method);
	drop_null(&m->params);
	drop_null(&m->error);
	id = json_type(m->id);
	if (id != JSON_ABSENT && id != JSON_STRING && id != JSON_NUMBER)
		return refuse(reason, "the id is neither a string nor a number");
	r = m->method.at ? classify_call(m, reason) : classify_answer(m, reason);
	if (r == 0)
		*out = *m;
	return r;
}

static int classify_versioned(struct parts *p, struct message *out, const char **reason)
{
	if (!json_is(p->version, "2.0"))
		return refuse(reason, "jsonrpc is not \"2.0\"");
	return classify(p, out, reason);
}

static int read_members(const char *line, size_t len, struct parts *p, const char **reason)
{
	struct json_fault fault;
	int r;

	if (len >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) {
		line += 3;
		len -= 3;
	}
	r = json_check_members(line, len, 0, take_member, p, &p->m.whole, &fault);
	if (r < 0)
		*reason = fault.reason;
	return r;
}

int message_parse_bare(const char *line, size_t len, struct message *out, const char **reason)
{
	struct parts p = { .m = { .ours = false } };
	int r = read_members(line, len, &p, reason);

	if (r < 0)
		return r;
	return *p.m.whole.at == '{' ? classify(&p, out, reason) : refuse(reason, "not an object");
}

int message_parse(const char *line, size_t len, struct message *out, const char **reason)
{
	struct parts p = { .m = { .ours = false } };
	struct json_iter it;
	int r = read_members(line, len, &p, reason);

	if (r < 0)
		return r;
	if (*p.m.whole.at == '{')
		return classify_versioned(&p, out, reason);
	if (*p.m.whole.at != '[')
		return refuse(reason, "not an object");
	it = json_iter(p.m.whole);
	if (!json_each(&it))
		return refuse(reason, "an empty batch");
	p.m.kind = MESSAGE_BATCH;
	*out = p.m;
	return 0;
}

int message_of(struct json v, struct message *out, const char **reason)
{
	struct parts p = { .m = { .whole = v } };
	struct json_iter it = json_iter(v);

	if (json_type(v) != JSON_OBJECT)
		return refuse(reason, "not an object");
	while (json_each(&it))
		take_member(&p, it.key, it.value);
	return classify_versioned(&p, out, reason);
}

/* Add JSON text to a line. Newlines in it are space between tokens: in a string they are escaped.
 */
static int add_json(struct buf *b, const char *text, size_t len)
{
	size_t before = b->len;
	int r = buf_add(b, text, len);
	char *p, *end;

	if (r < 0)
		return r;
	end = b->data + b->len;
	for (p = b->data + before; (p = memchr(p, '\n', (size_t)(end - p))) != NULL; p++)
		*p = ' ';
	for (p = b->data + before; (p = memchr(p, '\r', (size_t)(end - p))) != NULL; p++)
		*p = ' ';
	return 0;
}

static int add_number(struct buf *b, uint64_t n)
{
	char digits[20], *p = digits + sizeof(digits);

	do {
		*--p = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	return buf_add(b, p, (size_t)(digits + sizeof(digits) - p));
}

/* The method and what follows it. */
static int add_call(struct buf *b, const char *method, const char *params, size_t params_len)
{
	int r = buf_adds(b, "\"method\":");

	if (r == 0)
		r = emit_quoted(b, method, strlen(method));
	if (r == 0 && params)
		r = buf_adds(b, ",\"params\":");
	if (r == 0 && params)
		r = add_json(b, params, params_len);
	return r;
}

static int add_id(struct buf *b, struct json id)
{
	int r = buf_adds(b, "{\"jsonrpc\":\"2.0\",\"id\":");

	if (r == 0)
		r = id.at ? buf_add(b, id.at, id.len) : buf_adds(b, "null");
	return r;
}

/* The end of the line; or of the attempt, when r says that there is no room. */
static int end_message(struct buf *b, size_t before, int r)
{
	if (r == 0)
		r = buf_add(b, "}\n", 2);
	if (r < 0 && b->data) {
		b->len = before;
		b->data[before] = '\0';
	}
	return r;
}

int message_request(struct buf *b, uint64_t id, const char *method, const char *params,
		    size_t params_len)
{
	size_t before = b->len;
	int r = buf_adds(b, "{\"jsonrpc\":\"2.0\",\"id\":");

	if (r == 0)
		r = add_number(b, id);
	if (r == 0)
		r = buf_add(b, ",", 1);
	if (r == 0)
		r = add_call(b, method, params, params_len);
	return end_message(b, before, r);
}

int message_notification(struct buf *b, const char *method, const char *params, size_t params_len)
{
	size_t before = b->len;
	int r = buf_adds(b, "{\"jsonrpc\":\"2.0\",");

	if (r == 0)
		r = add_call(b, method, params, params_len);
	return end_message(b, before, r);
}

int message_result(struct buf *b, struct json id, const char *result, size_t result_len)
{
	size_t before = b->len;
	int r = add_id(b, id);

	if (r == 0)
		r = buf_adds(b, ",\"result\":");
	if (r == 0)
		r = result ? add_json(b, result, result_len) : buf_adds(b, "{}");
	return end_message(b, before, r);
}

int message_error(struct buf *b, struct json id, int code, const char *text)
{
	size_t before = b->len;
	int r = add_id(b, id);

	if (r == 0)
		r = buf_addf(b, ",\"error\":{\"code\":%d,\"message\":", code);
	if (r == 0)
		r = emit_quoted(b, text, strlen(text));
	if (r == 0)
		r = buf_add(b, "}", 1);
	return end_message(b, before, r);
}
