/* lines.c - see lines.h */
#include "rpc/lines.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* --- guess which request an invalid line answers --- */

static const char *skip_spaces(const char *s, const char *end)
{
	while (s < end && (*s == ' ' || *s == '\t'))
		s++;
	return s;
}

static const char *skip_text(const char *s, const char *end, const char *text)
{
	size_t len = strlen(text);

	s = skip_spaces(s, end);
	return (size_t)(end - s) >= len && memcmp(s, text, len) == 0 ? s + len : NULL;
}

/* Read a whole number. A character must follow the digits, to show that the number is complete. */
static bool lines_read_number(const char *s, const char *end, uint64_t *out)
{
	uint64_t n = 0;

	if (s < end && *s == '0')
		return false;
	for (; s < end && *s >= '0' && *s <= '9'; s++) {
		if (n > (UINT64_MAX - 9) / 10)
			return false;
		n = 10 * n + (uint64_t)(*s - '0');
	}
	*out = n;
	return n > 0 && s < end && (*s == ',' || *s == '}' || *s == ' ');
}

/* The id at the beginning of a line: {"jsonrpc":"2.0","id":7,... */
static bool id_in_head(const char *s, size_t len, uint64_t *out)
{
	const char *end = s + len, *next;

	s = skip_text(s, end, "{");
	if (!s)
		return false;
	next = skip_text(s, end, "\"jsonrpc\"");
	next = next ? skip_text(next, end, ":") : NULL;
	next = next ? skip_text(next, end, "\"2.0\"") : NULL;
	next = next ? skip_text(next, end, ",") : s;
	s = next ? next : s;
	s = skip_text(s, end, "\"id\"");
	s = s ? skip_text(s, end, ":") : NULL;
	return s && lines_read_number(skip_spaces(s, end), end, out);
}

/* The id at the end of a line, as the last member of the outermost object: ...,"id":7} */
static bool id_in_tail(const char *s, size_t len, uint64_t *out)
{
	const char *at = NULL, *end = s + len;

	for (const char *p = s; (p = memmem(p, (size_t)(end - p), "\"id\"", 4)) != NULL; p++)
		at = p;
	if (!at || at == s || at[-1] != ',')
		return false;
	at = skip_text(at + 4, end, ":");
	if (!at)
		return false;
	at = skip_spaces(at, end);
	if (!lines_read_number(at, end, out))
		return false;
	while (at < end && *at >= '0' && *at <= '9')
		at++;
	at = skip_text(at, end, "}");
	if (at && at < end && *at == '\r')
		at++;
	return at && skip_spaces(at, end) == end;
}

static bool guess_id(const struct lines_edges *e, uint64_t *out)
{
	if (id_in_head(e->head, e->head_len, out))
		return true;
	return e->head_len && e->head[0] == '{' && id_in_tail(e->tail, e->tail_len, out);
}

static void add_head(struct lines_edges *e, const char *s, size_t len)
{
	if (len > LINES_EDGE - e->head_len)
		len = LINES_EDGE - e->head_len;
	memcpy(e->head + e->head_len, s, len);
	e->head_len += len;
}

static void add_tail(struct lines_edges *e, const char *s, size_t len)
{
	size_t kept;

	if (len > LINES_EDGE) {
		s += len - LINES_EDGE;
		len = LINES_EDGE;
	}
	kept = e->tail_len < LINES_EDGE - len ? e->tail_len : LINES_EDGE - len;
	memmove(e->tail, e->tail + (e->tail_len - kept), kept);
	memcpy(e->tail + kept, s, len);
	e->tail_len = kept + len;
}

bool lines_guess(struct json line, uint64_t *out)
{
	struct lines_edges e = { .open = false };

	add_head(&e, line.at, line.len);
	add_tail(&e, line.at, line.len);
	return guess_id(&e, out);
}

/* --- lines that are too long --- */

/* The newline of a line that was too long has arrived. */
static void lines_long_ended(struct lines *l)
{
	const struct lines_edges *e = &l->edges;
	struct rpc_request *rq;
	uint64_t id;
	char why[80];

	l->edges.open = false;
	rq = guess_id(e, &id)                                ? rpc_find(l->rpc, id)
	     : memmem(e->head, e->head_len, "\"method\"", 8) ? NULL
							     : rpc_find_only(l->rpc);
	if (l->frame.no_memory)
		snprintf(why, sizeof(why), "there is no memory for its answer");
	else
		snprintf(why, sizeof(why), "its answer is longer than %zu bytes",
			 l->frame.part.max);
	if (rq)
		rpc_lose(l->rpc, rq, why);
}

/* The frame reports that a line is too long, but not which line. Find the line in the bytes that
 * are being read, to store its beginning and its end. */
static void lines_on_too_long(void *ctx)
{
	struct lines *l = ctx;

	if (l->rpc->stopped)
		return;
	rpc_tell_odd(l->rpc,
		     &(struct rpc_odd){ .kind = RPC_TOO_LONG,
					.error = l->frame.no_memory ? -ENOMEM : -EMSGSIZE });
	while (l->scan < l->chunk_end) {
		const char *start = l->scan;
		const char *newline = memchr(start, '\n', (size_t)(l->chunk_end - start));
		size_t len = (size_t)((newline ? newline : l->chunk_end) - start);
		size_t before = start == l->chunk ? l->chunk_before : 0;

		l->scan = newline ? newline + 1 : l->chunk_end;
		/* memory is missing only for a line that begins before this chunk or ends behind
		 * it */
		if (before + len <= l->frame.part.max &&
		    !(l->frame.no_memory && (before || !newline)))
			continue;
		if (!before)
			l->edges.head_len = 0;
		add_head(&l->edges, start, len);
		l->edges.tail_len = 0;
		add_tail(&l->edges, start, len);
		l->edges.open = true;
		if (newline)
			lines_long_ended(l);
		return;
	}
}

/* --- reading --- */

static void lines_on_line(void *ctx, const char *line, size_t len)
{
	struct lines *l = ctx;

	rpc_feed(l->rpc, line, len);
	if (l->rpc->stopped)
		frame_halt(&l->frame);
}

/* More bytes of a line that is too long. */
static void lines_feed_edges(struct lines *l, const char *bytes, size_t len)
{
	const char *newline = memchr(bytes, '\n', len);

	add_tail(&l->edges, bytes, newline ? (size_t)(newline - bytes) : len);
	if (newline)
		lines_long_ended(l);
}

void lines_feed(struct lines *l, const char *bytes, size_t len)
{
	static const struct frame_events ev = { .on_line = lines_on_line,
						.on_too_long = lines_on_too_long };

	if (l->rpc->stopped || len == 0)
		return;
	if (l->edges.open)
		lines_feed_edges(l, bytes, len);
	l->chunk = l->scan = bytes;
	l->chunk_end = bytes + len;
	l->chunk_before = frame_pending(&l->frame);
	if (l->chunk_before) {
		l->edges.head_len = 0;
		add_head(&l->edges, l->frame.part.data, l->chunk_before);
	}
	frame_feed(&l->frame, bytes, len, &ev, l);
	l->chunk = l->scan = l->chunk_end = NULL;
}

/* --- writing --- */

static int lines_send(void *ctx, struct buf *b)
{
	struct lines *l = ctx;
	int r = buf_add(b, "\n", 1);

	return r < 0 ? r : link_write(l->link, b->data, b->len);
}

const struct rpc_transport lines_transport = { .send = lines_send };

/* --- init and done --- */

void lines_init(struct lines *l, struct rpc *rpc, struct link *link, size_t limit)
{
	*l = (struct lines){ .rpc = rpc, .link = link, .frame = FRAME_INIT(limit) };
}

void lines_done(struct lines *l)
{
	frame_done(&l->frame);
}
