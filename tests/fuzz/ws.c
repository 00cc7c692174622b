/* ws.c - bytes in pieces: the first byte is the role and the limit, the second chooses the pieces.
 */
#include "net/ws.h"

#include <assert.h>
#include <errno.h>

#include "fuzz.h"

struct seen {
	struct buf log; /* each message and control frame: kind, length, bytes */
	size_t limit;
};

static void add(struct seen *s, int kind, const char *bytes, size_t len)
{
	if (buf_addf(&s->log, "%d,%zu:", kind, len) < 0 || buf_add(&s->log, bytes, len) < 0)
		abort();
}

static void on_message(void *ctx, char *text, size_t len)
{
	struct seen *s = ctx;

	assert(len <= s->limit);
	add(s, WS_TEXT, text, len);
	memset(text, 0, len);
}

static void on_control(void *ctx, enum ws_op op, const char *bytes, size_t len)
{
	assert(len <= WS_CONTROL_MAX && op >= WS_CLOSE && (op != WS_CLOSE || len != 1));
	add(ctx, op, bytes, len);
}

static const struct ws_events events = { on_message, on_control };

/* Feed all of it in pieces of step bytes, each in a block of its own. */
static int feed(struct seen *s, enum ws_role role, const uint8_t *data, size_t size, size_t step)
{
	const char *reason = NULL;
	struct ws w;
	int r = 0;

	ws_init(&w, role, s->limit);
	for (size_t at = 0; at < size; at += step) {
		size_t n = size - at < step ? size - at : step;
		char *piece = malloc(n);
		int before = r;

		assert(piece);
		memcpy(piece, data + at, n);
		r = ws_feed(&w, piece, n, &events, s, &reason);
		free(piece);
		assert(before == 0 || r == before);
		assert((r == 0) == (reason == NULL));
		assert(w.message.len <= s->limit && w.message.cap <= 2 * s->limit + 64);
	}
	ws_done(&w);
	return r;
}

/* The model: frames, one after the other, by the standard's figure. */
struct model {
	enum ws_role role;
	struct seen seen;
	struct buf message;
	bool in_message, closed;
};

/* What the first two bytes of a frame say is wrong. */
static bool is_bad(const struct model *m, const uint8_t *p)
{
	unsigned op = p[0] & 15;

	if ((p[0] & 0x70) || (p[1] >= 128) != (m->role == WS_SERVER))
		return true;
	if (op >= 8)
		return op > 10 || !(p[0] & 0x80) || (p[1] & 127) > 125;
	return op > 2 || (op == 0) != m->in_message;
}

static int payload(struct model *m, const uint8_t *header, char *bytes, size_t len)
{
	unsigned op = header[0] & 15;

	if (op == WS_CLOSE && len) {
		int code = len == 1 ? 0 : (uint8_t)bytes[0] * 256 + (uint8_t)bytes[1];

		if (code < 1000 || code == 1004 || code == 1005 || code == 1006 || code == 1015 ||
		    code >= 5000)
			return -EPROTO;
	}
	if (op >= WS_CLOSE) {
		m->closed = op == WS_CLOSE;
		on_control(&m->seen, (enum ws_op)op, bytes, len);
		return 0;
	}
	if (buf_add(&m->message, bytes, len) < 0)
		abort();
	m->in_message = !(header[0] & 0x80);
	if (!m->in_message) {
		on_message(&m->seen, m->message.data, m->message.len);
		m->message.len = 0;
	}
	return 0;
}

/* One frame at p. Its size, 0: it is not whole, or an error. */
static long one(struct model *m, const uint8_t *p, size_t size)
{
	size_t masked = m->role == WS_SERVER ? 4 : 0, head = 2, at;
	uint64_t len;
	char *bytes;
	int r;

	if (size < 2)
		return 0;
	if (is_bad(m, p))
		return -EPROTO;
	len = p[1] & 127;
	head += len == 126 ? 2 : len == 127 ? 8 : 0;
	at = head + masked;
	if (size < at)
		return 0;
	if (head > 2) {
		len = 0;
		for (size_t i = 2; i < head; i++)
			len = len * 256 + p[i];
		if (len < (head == 4 ? 126 : 65536) || len > INT64_MAX)
			return -EPROTO;
	}
	if ((p[0] & 15) < 8 && len > m->seen.limit - m->message.len)
		return -EMSGSIZE;
	if (len > size - at)
		return 0;
	bytes = malloc((size_t)len + 1);
	assert(bytes);
	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)(p[at + i] ^ (masked ? p[head + i % 4] : 0));
	r = payload(m, p, bytes, (size_t)len);
	free(bytes);
	return r < 0 ? r : (long)(at + len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct model m = { .message = BUF_INIT(BUF_ANY_SIZE), .seen.log = BUF_INIT(BUF_ANY_SIZE) };
	long n = 1;

	if (size < 2)
		return 0;
	m.role = data[0] & 1 ? WS_SERVER : WS_CLIENT;
	m.seen.limit = (size_t)1 << (data[0] / 16);
	for (size_t at = 2; n > 0 && !m.closed; at += (size_t)n)
		n = one(&m, data + at, size - at);
	for (int whole = 0; whole < 2; whole++) {
		struct seen got = { .log = BUF_INIT(BUF_ANY_SIZE), .limit = m.seen.limit };
		int r = feed(&got, m.role, data + 2, size - 2, whole ? size : 1u + data[1]);

		assert(r == (n < 0 ? n : 0));
		assert(got.log.len == m.seen.log.len);
		assert(!got.log.len || memcmp(got.log.data, m.seen.log.data, got.log.len) == 0);
		buf_done(&got.log);
	}
	buf_done(&m.seen.log);
	buf_done(&m.message);
	return 0;
}
