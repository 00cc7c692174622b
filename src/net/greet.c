/* greet.c - see greet.h */
#include "net/greet.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sha256.h"
#include "net/channel_internal.h"
#include "net/http.h"
#include "net/seats.h"
#include "os/fd.h"
#include "os/net.h"

#define LINGER_MS 1000 /* time for an answer to be read */

struct greet {
	struct ring ring;
	struct greet_rules *rules;
	struct stream *stream;
	struct seat *seat; /* of the stream */
	struct loop_timer timer;
	bool greeted;  /* TLS is done, or not used */
	bool answered; /* received bytes are ignored */
	bool stranger; /* see greet_peer */
	long pid;      /* see greet_peer */
	int process;
	struct buf head; /* received part of the head */
	char peer[64];
};

static void greet_free(struct greet *g)
{
	ring_remove(&g->ring);
	loop_timer_stop(g->rules->loop, &g->timer);
	buf_done(&g->head);
	fd_drop(&g->process);
	stream_free(g->stream); /* last, because it may free the listener */
	free(g);
}

void greet_end_all(struct greet_rules *rules)
{
	for (struct ring *r; (r = ring_first(&rules->all));)
		greet_free(CONTAINER_OF(r, struct greet, ring));
}

static void greet_drop(void *ctx)
{
	greet_free(ctx);
}

static void on_over(struct loop_timer *t)
{
	greet_free(CONTAINER_OF(t, struct greet, timer));
}

static void greet_on_late(struct loop_timer *t)
{
	struct greet *g = CONTAINER_OF(t, struct greet, timer);

	g->rules->on_note(g->rules->ctx, g->peer, "timed out before the upgrade");
	greet_free(g);
}

/* --- answers --- */

struct answer {
	int status;
	const char *name, *headers, *text;
};
static const struct answer answer_ready = { 200, "OK", "", "" };
static const struct answer answer_no_upgrade = { 400, "Bad Request", "",
						 "this is a WebSocket: an upgrade is expected\n" };
static const struct answer answer_no_token = { 401, "Unauthorized", "WWW-Authenticate: Bearer\r\n",
					       "a token is expected\n" };
static const struct answer answer_page = { 403, "Forbidden", "",
					   "requests from web pages are refused\n" };
static const struct answer answer_stranger = {
	403, "Forbidden: another user, and no token", "",
	"without a token this socket is for the executor's own user and root; give others a token "
	"(--token-file)\n"
};
static const struct answer answer_nothing_here = { 404, "Not Found", "",
						   "not found; the WebSocket is at /\n" };
static const struct answer answer_version = { 426, "Upgrade Required",
					      "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
					      "only version 13 of WebSocket is supported\n" };
static const struct answer answer_long_head = { 431, "Request Header Fields Too Large", "",
						"the head is too long\n" };

/* Answer, and close the connection after the answer was read: unread bytes of the other side would
 * make the kernel send a reset, which drops the answer. */
static void greet_answer(struct greet *g, const struct answer *a)
{
	char text[512], note[80];
	ssize_t n;

	n = snprintf(text, sizeof(text),
		     "HTTP/1.1 %d %s\r\n%sContent-Type: text/plain\r\nContent-Length: %zu\r\n"
		     "Connection: close\r\n\r\n%s",
		     a->status, a->name, a->headers, strlen(a->text), a->text);
	assert(n > 0 && n < (ssize_t)sizeof(text));
	if (a != &answer_ready) {
		snprintf(note, sizeof(note), "refused: %d %s", a->status, a->name);
		g->rules->on_note(g->rules->ctx, g->peer, note);
	}
	g->answered = true;
	buf_done(&g->head);
	n = stream_write(g->stream, text, (size_t)n); /* first write: the socket has room */
	if (n > 0)
		net_end_sending(stream_fd(g->stream));
	loop_timer_set(g->rules->loop, &g->timer, n > 0 ? LINGER_MS : 0, on_over);
}

/* --- requests --- */

/* Takes the same time for every wrong token. */
static bool token_is_right(const struct greet_rules *rules, struct http_text authorization)
{
	static const char scheme[] = "Bearer ";
	const size_t skip = sizeof(scheme) - 1;
	unsigned char digest[SHA256_SIZE], differs = 0;
	struct sha256 hash;

	if (!rules->token_sha256)
		return true;
	if (!authorization.at || authorization.len <= skip ||
	    !http_is((struct http_text){ authorization.at, skip }, scheme))
		return false;
	sha256_init(&hash);
	sha256_add(&hash, authorization.at + skip, authorization.len - skip);
	sha256_end(&hash, digest);
	for (size_t i = 0; i < SHA256_SIZE; i++)
		differs |= digest[i] ^ rules->token_sha256[i];
	return differs == 0;
}

static bool path_is(struct http_text target, const char *path)
{
	const char *query = memchr(target.at, '?', target.len);
	size_t len = query ? (size_t)(query - target.at) : target.len;

	return len == strlen(path) && memcmp(target.at, path, len) == 0;
}

/* NULL: upgrade to a WebSocket. */
static const struct answer *judge(const struct greet *g, const struct http_head *h,
				  char accept[WS_ACCEPT_SIZE])
{
	if (h->origin.at)
		return &answer_page;
	if (g->stranger && !g->rules->token_sha256)
		return &answer_stranger;
	if (path_is(h->target, "/readyz") && http_is(h->method, "GET"))
		return &answer_ready;
	if (!path_is(h->target, "/"))
		return &answer_nothing_here;
	if (!token_is_right(g->rules, h->authorization))
		return &answer_no_token;
	if (!http_is(h->method, "GET") || !http_has_word(h->connection, "upgrade") ||
	    !http_has_word(h->upgrade, "websocket") || (h->length.at && !http_is(h->length, "0")))
		return &answer_no_upgrade;
	if (!http_is(h->version, "13"))
		return &answer_version;
	if (!h->key.at || !ws_accept(h->key.at, h->key.len, accept))
		return &answer_no_upgrade;
	return NULL;
}

/* The stream becomes a channel, and this greet is freed. reply: NULL for lines. The bytes after the
 * head go to the channel. */
static void greet_hand_over(struct greet *g, const char *reply, size_t head_len)
{
	struct greet_rules *rules = g->rules;
	struct channel *c = channel_new(rules->loop, reply ? CHANNEL_WS : CHANNEL_LINES, WS_SERVER,
					rules->send_limit);
	struct stream *s = g->stream;
	struct buf rest = g->head;
	int process = TAKE_FD(g->process);

	if (rules->token_sha256)
		seat_know(g->seat);
	channel_use_seat(c, g->seat);
	g->stream = NULL;
	g->head = (struct buf)BUF_INIT(0);
	memcpy(c->peer, g->peer, sizeof(c->peer));
	c->pid = g->pid;
	greet_free(g);
	channel_go(c, CHANNEL_OPEN, "accepted");
	channel_use_stream(c, s);
	if (process >= 0)
		channel_follow(c, process);
	if (reply && c->state == CHANNEL_OPEN)
		channel_send_raw(c, reply, strlen(reply));
	rules->on_channel(rules->ctx, c);
	if (rest.len > head_len)
		channel_feed(c, rest.data + head_len, rest.len - head_len);
	buf_done(&rest);
}

static void on_head(struct greet *g, const struct http_head *h, size_t head_len)
{
	char accept[WS_ACCEPT_SIZE], reply[256];
	const struct answer *a = judge(g, h, accept);

	if (a) {
		greet_answer(g, a);
		return;
	}
	snprintf(reply, sizeof(reply),
		 "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
		 "Sec-WebSocket-Accept: %s\r\n\r\n",
		 accept);
	greet_hand_over(g, reply, head_len);
}

static void on_lines(struct greet *g)
{
	const char *wrong = g->rules->token_sha256
				    ? "refused: a token is required, and lines cannot send one"
			    : g->stranger ? "refused: another user, and there is no token"
					  : NULL;

	if (!wrong) {
		greet_hand_over(g, NULL, 0);
		return;
	}
	g->rules->on_note(g->rules->ctx, g->peer, wrong);
	greet_free(g);
}

/* Parse now? Not at every byte of a head that arrives byte by byte. */
static bool has_end(const struct buf *head, size_t before)
{
	size_t from = before > 3 ? before - 3 : 0;

	return before == 0 || head->len >= HTTP_HEAD_MAX ||
	       memmem(head->data + from, head->len - from, "\n\r\n", 3) != NULL;
}

static void greet_on_bytes(struct greet *g, const char *bytes, size_t len)
{
	size_t before = g->head.len;
	struct http_head head;
	long n;

	buf_add(&g->head, bytes, len); /* the buffer has room for this */
	if (g->rules->lines && g->head.data[0] == '{') {
		on_lines(g);
		return;
	}
	if (!has_end(&g->head, before))
		return;
	n = http_request(g->head.data, g->head.len, &head);
	if (n > 0)
		on_head(g, &head, (size_t)n);
	else if (n < 0)
		greet_answer(g, n == -E2BIG ? &answer_long_head : &answer_no_upgrade);
}

static void greet_on_ready(void *ctx, bool readable, bool writable)
{
	struct greet *g = ctx;
	size_t size;
	char *chunk = loop_scratch(g->rules->loop, &size);
	struct err e = ERR_INIT;
	int r = g->greeted ? 1 : stream_handshake(g->stream, &e);
	ssize_t n;

	(void)writable;
	if (r < 0) {
		g->rules->on_note(g->rules->ctx, g->peer, e.text);
		greet_free(g);
		return;
	}
	g->greeted = r == 1;
	if (r == 0 || !readable)
		return;
	n = stream_read(g->stream, chunk, HTTP_HEAD_MAX);
	if (n == -EAGAIN)
		return;
	if (n <= 0)
		greet_free(g);
	else if (!g->answered)
		greet_on_bytes(g, chunk, (size_t)n);
}

void greet_begin(struct greet_rules *rules, struct stream *s, const struct greet_peer *peer)
{
	struct greet *g = mem_grow(NULL, 1, sizeof(*g));
	struct err e = ERR_INIT;
	struct tls *tls = NULL;
	int r = 0;

	*g = (struct greet){ .rules = rules,
			     .stream = s,
			     .head = BUF_INIT(2 * HTTP_HEAD_MAX),
			     .stranger = peer->stranger,
			     .pid = peer->pid,
			     .process = peer->process,
			     .seat = peer->seat };
	snprintf(g->peer, sizeof(g->peer), "%s", peer->name);
	ring_add(&rules->all, &g->ring);
	g->seat->drop = greet_drop;
	g->seat->ctx = g;
	if (rules->tls)
		r = tls_open(rules->tls, stream_fd(s), NULL, &tls, &e);
	if (tls)
		stream_use_tls(s, tls, NULL);
	if (r == 0)
		r = stream_listen(s, greet_on_ready, g);
	if (r < 0) {
		rules->on_note(rules->ctx, peer->name, e.code ? e.text : strerror(-r));
		greet_free(g);
		return;
	}
	loop_timer_set(rules->loop, &g->timer, GREET_MS, greet_on_late);
}
