/* message.c - see message.h */
#include "message.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

struct parts { /* the message while its members are being read */
	struct message m;
	struct json version;
	struct json longest; /* member inside the member that is being read */
	struct json known;   /* the longest one inside those that are kept */
};

#define IS(name, literal) (memcmp(name, literal, sizeof(literal) - 1) == 0)

/* Returns the field for the member of this name; NULL: the name is unknown. */
static struct json *message_find_place(struct parts *p, const char *name, size_t len)
{
	switch (len) {
	case 2:
		return IS(name, "id") ? &p->m.id : NULL;
	case 5:
		return IS(name, "error") ? &p->m.error : NULL;
	case 6:
		return IS(name, "result")   ? &p->m.result
		       : IS(name, "method") ? &p->m.method
		       : IS(name, "params") ? &p->m.params
					    : NULL;
	case 7:
		return IS(name, "jsonrpc") ? &p->version : NULL;
	default:
		return NULL;
	}
}

static const char *const message_names[] = {
	"jsonrpc", "id", "method", "params", "result", "error"
};

/* Like message_find_place, for a name with escapes. */
static struct json *find_escaped(struct parts *p, struct json key)
{
	for (size_t i = 0; i < sizeof(message_names) / sizeof(message_names[0]); i++)
		if (json_is(key, message_names[i]))
			return message_find_place(p, message_names[i], strlen(message_names[i]));
	return NULL;
}

/* May a reader that ignores case take this name for that of a member of a message? */
static bool message_is_alike(struct json key)
{
	unsigned char first = (unsigned char)key.at[1];

	/* an escape, a byte outside of ASCII, or the first letter of a name */
	if (first != '\\' && first < 0x80 && !strchr("ijmpre", first | 0x20))
		return false;
	for (size_t i = 0; i < sizeof(message_names) / sizeof(message_names[0]); i++)
		if (json_folds(key, message_names[i]))
			return true;
	return false;
}

static void take_member(void *ctx, unsigned depth, struct json key, struct json value)
{
	struct parts *p = ctx;
	struct json *place, longest = p->longest;

	if (depth > 1) {
		if (value.len > p->longest.len)
			p->longest = value;
		return;
	}
	p->longest = JSON_NONE;
	place = message_find_place(p, key.at + 1, key.len - 2);
	if (!place && memchr(key.at, '\\', key.len))
		place = find_escaped(p, key);
	if (!place) {
		p->m.repeated |= message_is_alike(key);
		return;
	}
	if (place->at)
		p->m.repeated = true;
	*place = value;
	if (longest.len > p->known.len)
		p->known = longest;
}

/* Is this an id in the form that we write? *out_number is its number. */
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

static int message_refuse(const char **reason, const char *why)
{
	*reason = why;
	return -EPROTO;
}

static void drop_null(struct json *v)
{
	if (v->at && *v->at == 'n')
		*v = JSON_NONE;
}

static int classify_call(struct message *m, const char **reason)
{
	enum json_type params = json_type(m->params);

	if (json_type(m->method) != JSON_STRING)
		return message_refuse(reason, "the method is no string");
	if (params != JSON_ABSENT && params != JSON_OBJECT && params != JSON_ARRAY)
		return message_refuse(reason, "params is neither an object nor an array");
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
		return message_refuse(reason, "neither a method nor a result nor an error");
	} else if (!m->id.at) {
		return message_refuse(reason, "a result without an id");
	} else {
		m->kind = MESSAGE_RESULT;
	}
	if (m->id.at)
		m->ours = read_number(m->id, &m->number);
	return 0;
}

/* Called after all members were read. */
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
		return message_refuse(reason, "the id is neither a string nor a number");
	r = m->method.at ? classify_call(m, reason) : classify_answer(m, reason);
	if (r == 0)
		*out = *m;
	return r;
}

static int classify_versioned(struct parts *p, struct message *out, const char **reason)
{
	bool plain = p->version.len == 5 && memcmp(p->version.at, "\"2.0\"", 5) == 0;

	if (!plain && !json_is(p->version, "2.0"))
		return message_refuse(reason, "jsonrpc is not \"2.0\"");
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
	if (r < 0) {
		*reason = fault.reason;
		return r;
	}
	if (p->known.at) {
		p->m.known_at = (size_t)(p->known.at - p->m.whole.at);
		p->m.known_len = p->known.len;
	}
	return 0;
}

int message_parse_bare(const char *line, size_t len, struct message *out, const char **reason)
{
	struct parts p = { .m = { .ours = false } };
	int r = read_members(line, len, &p, reason);

	if (r < 0)
		return r;
	return *p.m.whole.at == '{' ? classify(&p, out, reason)
				    : message_refuse(reason, "not an object");
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
		return message_refuse(reason, "not an object");
	it = json_iter(p.m.whole);
	if (!json_each(&it))
		return message_refuse(reason, "an empty batch");
	p.m.kind = MESSAGE_BATCH;
	*out = p.m;
	return 0;
}

int message_of(struct json v, struct message *out, const char **reason)
{
	struct parts p = { .m = { .whole = v } };
	struct json_iter it = json_iter(v);

	if (json_type(v) != JSON_OBJECT)
		return message_refuse(reason, "not an object");
	while (json_each(&it))
		take_member(&p, 1, it.key, it.value);
	return classify_versioned(&p, out, reason);
}

/* --- writing --- */

#define PUT(j, literal) emit_bytes(j, literal, sizeof(literal) - 1)

/* Write the first members of the object. The next member can then be written to j. */
static void message_begin(struct emit *j, struct buf *b, bool bare)
{
	*j = (struct emit){ .out = b, .start = b->len, .depth = 1, .kind = "{" };
	if (bare)
		PUT(j, "{");
	else
		PUT(j, "{\"jsonrpc\":\"2.0\",");
}

static void message_method(struct emit *j, const char *method)
{
	PUT(j, "\"method\":");
	if (j->failed == 0)
		j->failed = emit_quoted(j->out, method, strlen(method));
	j->filled = true;
}

void message_request(struct emit *j, struct buf *b, bool bare, uint64_t id, const char *method)
{
	message_begin(j, b, bare);
	PUT(j, "\"id\":");
	emit_digits(j, id);
	PUT(j, ",");
	message_method(j, method);
}

void message_notification(struct emit *j, struct buf *b, bool bare, const char *method)
{
	message_begin(j, b, bare);
	message_method(j, method);
}

static void message_id(struct emit *j, bool bare, struct json id)
{
	if (id.at)
		emit_raw(j, "id", id.at, id.len);
	else if (bare)
		emit_int(j, "id", -1);
	else
		emit_null(j, "id");
}

void message_result(struct emit *j, struct buf *b, bool bare, struct json id)
{
	message_begin(j, b, bare);
	message_id(j, bare, id);
}

void message_error(struct emit *j, struct buf *b, bool bare, struct json id, int code,
		   const char *text)
{
	message_begin(j, b, bare);
	if (!bare)
		message_id(j, bare, id);
	emit_open(j, "error", '{');
	emit_int(j, "code", code);
	emit_text(j, "message", text, strlen(text));
}

int message_end_error(struct emit *j, bool bare, struct json id)
{
	emit_close(j);
	if (bare)
		message_id(j, bare, id);
	return message_end(j);
}

void message_params(struct emit *j)
{
	assert(j->depth == 1 && j->filled);
	PUT(j, ",\"params\":{");
	j->kind[j->depth++] = '{';
	j->filled = false;
}

int message_end(struct emit *j)
{
	if (j->depth == 2 && j->kind[1] == '{') { /* the usual case: params are an object */
		PUT(j, "}}");
		j->depth = 0;
		j->filled = true;
	}
	while (j->depth)
		emit_close(j);
	return emit_end(j);
}
