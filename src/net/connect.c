/* connect.c - the client's side of a channel until it is open.
 *
 *	look up the name -> connect, one address after the other -> TLS -> upgrade
 *
 * A unix socket has no TLS, and without a token no upgrade: the channel speaks lines at once.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/base64.h"
#include "base/mem.h"
#include "base/random.h"
#include "net/channel_internal.h"
#include "net/http.h"
#include "net/resolve.h"
#include "os/fd.h"
#include "os/net.h"
#include "os/poller.h"
#include "os/tls.h"

#define TRY_MS 2500 /* timeout for one address when there are others */

struct dial {
	struct channel *c;
	struct url url;
	char *token;               /* NULL: none */
	struct tls_context *trust; /* wss; owned until the stream takes it */
	struct resolve *lookup;
	struct address list[RESOLVE_MAX];
	unsigned count, next;
	struct loop_watch socket; /* until it is connected */
	struct loop_timer slow;   /* fires when the current address is slow: try the next */
	struct stream *stream;
	bool greeted; /* TLS is done, or not used */
	char key[WS_KEY_SIZE];
	struct buf request; /* the HTTP request */
	size_t written;
	struct buf head; /* received part of the answer */
};

static void drop_socket(struct dial *d)
{
	int fd = d->socket.fd;

	loop_watch_stop(d->c->loop, &d->socket);
	fd_drop(&fd);
}

void dial_free(struct dial *d)
{
	if (!d)
		return;
	resolve_cancel(d->lookup);
	drop_socket(d);
	loop_timer_stop(d->c->loop, &d->slow);
	stream_free(d->stream);
	tls_context_free(d->trust);
	buf_done(&d->request);
	buf_done(&d->head);
	free(d->token);
	free(d);
}

static void dial_give_up(struct dial *d, int code, const char *text)
{
	channel_set_why(d->c, code, "%s", text);
	channel_end(d->c); /* frees this dial */
}

/* --- the upgrade --- */

static void write_request(struct dial *d)
{
	bool six = strchr(d->url.host, ':') != NULL, local = d->url.kind == URL_UNIX;
	unsigned usual = d->url.kind == URL_WSS ? 443 : 80;
	unsigned char random[16];
	struct buf *b = &d->request;

	random_fill(random, sizeof(random));
	base64_encode(d->key, random, sizeof(random));
	d->key[WS_KEY_SIZE - 1] = '\0';
	buf_addf(b, "GET %s HTTP/1.1\r\nHost: ", local ? "/" : d->url.path);
	buf_addf(b, six ? "[%s]" : "%s", local ? "localhost" : d->url.host);
	if (!local && d->url.port != usual)
		buf_addf(b, ":%u", d->url.port);
	buf_addf(b,
		 "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
		 "Sec-WebSocket-Key: %s\r\n",
		 d->key);
	if (d->token)
		buf_addf(b, "Authorization: Bearer %s\r\n", d->token);
	buf_adds(b, "\r\n");
}

static int check_answer(struct dial *d, const struct http_head *h, struct err *e)
{
	char accept[WS_ACCEPT_SIZE];

	if (h->status == 401 || h->status == 403)
		return err_set(e, -EACCES, "%s (%d)",
			       d->token ? "the server refused the token; check the token"
					: "the server requires a token; name its variable by "
					  "tokenEnv or --token-env",
			       h->status);
	if (h->status == 503)
		return err_set(e, -EBUSY, "the server has too many connections (503)");
	if (h->status != 101)
		return err_set(e, -EPROTO,
			       "the server answered %d instead of upgrading to a WebSocket",
			       h->status);
	ws_accept(d->key, strlen(d->key), accept);
	if (!http_is(h->upgrade, "websocket") || !http_has_word(h->connection, "upgrade") ||
	    h->accept.len != strlen(accept) || memcmp(h->accept.at, accept, h->accept.len) != 0)
		return err_set(e, -EPROTO, "the server's answer to the upgrade is not valid");
	if (h->extensions.len || h->protocol.len)
		return err_set(e, -EPROTO, "the server uses an extension that was not asked for");
	return 0;
}

/* Give the stream to the channel, and free this dial. */
static void dial_hand_over(struct dial *d, size_t head_len)
{
	struct channel *c = d->c;
	struct stream *s = d->stream;
	struct buf rest = d->head;

	d->stream = NULL;
	d->head = (struct buf)BUF_INIT(0);
	c->dial = NULL;
	dial_free(d);
	channel_use_stream(c, s);
	if (c->state == CHANNEL_OPENING)
		channel_opened(c);
	if (rest.len > head_len)
		channel_feed(c, rest.data + head_len, rest.len - head_len);
	buf_done(&rest);
}

static void read_answer(struct dial *d)
{
	size_t size;
	char *chunk = loop_scratch(d->c->loop, &size);
	ssize_t n = stream_read(d->stream, chunk, HTTP_HEAD_MAX);
	struct err e = ERR_INIT;
	struct http_head head;
	long len;

	if (n == -EAGAIN)
		return;
	if (n <= 0) {
		dial_give_up(d, n < 0 ? (int)n : -ECONNRESET,
			     d->trust
				     ? "the server closed the connection before the upgrade"
				     : "the server closed the connection before the upgrade; is it "
				       "wss://?");
		return;
	}
	buf_add(&d->head, chunk, (size_t)n); /* the buffer has room for this */
	len = http_response(d->head.data, d->head.len, &head);
	if (len == 0)
		return;
	if (len < 0)
		dial_give_up(d, -EPROTO, "the server's answer is not HTTP");
	else if (check_answer(d, &head, &e) < 0)
		dial_give_up(d, e.code, e.text);
	else
		dial_hand_over(d, (size_t)len);
}

/* False: this dial was freed. */
static bool write_more(struct dial *d)
{
	while (d->written < d->request.len) {
		ssize_t n = stream_write(d->stream, d->request.data + d->written,
					 d->request.len - d->written);

		if (n == -EAGAIN)
			break;
		if (n < 0) {
			dial_give_up(d, (int)n,
				     "the server closed the connection before the first request");
			return false;
		}
		d->written += (size_t)n;
	}
	stream_want(d->stream, true, d->written < d->request.len);
	return true;
}

static void dial_on_ready(void *ctx, bool readable, bool writable)
{
	struct dial *d = ctx;
	struct err e = ERR_INIT;
	int r = d->greeted ? 1 : stream_handshake(d->stream, &e);

	(void)writable;
	if (r < 0) {
		dial_give_up(d, r, e.text);
		return;
	}
	if (r == 0)
		return;
	d->greeted = true;
	if (write_more(d) && readable && d->written == d->request.len)
		read_answer(d);
}

/* --- the connection --- */

static void try_next(struct dial *d);

static void on_connected(struct dial *d)
{
	struct channel *c = d->c;
	struct err e = ERR_INIT;
	struct tls *tls;
	int fd = d->socket.fd, r;

	loop_watch_stop(c->loop, &d->socket);
	loop_timer_stop(c->loop, &d->slow);
	d->stream = stream_new(c->loop, fd, fd);
	if (d->url.kind != URL_UNIX) /* Codex's executor delays small messages */
		stream_be_eager(d->stream);
	if (c->kind == CHANNEL_LINES) {
		dial_hand_over(d, 0);
		return;
	}
	if (d->trust) {
		r = tls_open(d->trust, fd, d->url.host, &tls, &e);
		if (r < 0) {
			dial_give_up(d, r, e.text);
			return;
		}
		stream_use_tls(d->stream, tls, d->trust);
		d->trust = NULL;
	}
	write_request(d);
	r = stream_listen(d->stream, dial_on_ready, d);
	if (r < 0)
		dial_give_up(d, r, "cannot wait for the connection");
	else
		dial_on_ready(d, false, true);
}

/* Connecting to this address failed; try the next address, or fail. */
static void no_luck(struct dial *d, int error)
{
	char where[64];

	drop_socket(d);
	loop_timer_stop(d->c->loop, &d->slow);
	if (d->next < d->count) {
		try_next(d);
		return;
	}
	if (d->url.kind == URL_UNIX || d->count == 1) {
		channel_set_why(d->c, error, "%s", strerror(-error));
	} else { /* the caller knows the name, but not which address was tried last */
		address_text(&d->list[d->count - 1], where, sizeof(where));
		channel_set_why(d->c, error, "%s (%s)", strerror(-error), where);
	}
	channel_end(d->c);
}

static void on_socket(struct loop_watch *w, uint32_t events)
{
	struct dial *d = CONTAINER_OF(w, struct dial, socket);
	int r = net_result(w->fd);

	(void)events;
	if (r < 0)
		no_luck(d, r);
	else
		on_connected(d);
}

static void on_slow(struct loop_timer *t)
{
	no_luck(CONTAINER_OF(t, struct dial, slow), -ETIMEDOUT);
}

/* Begin to connect a new socket; its descriptor or -errno. */
static int dial_address(const struct dial *d, const struct address *a)
{
	bool local = d->url.kind == URL_UNIX;
	AUTO(fd_drop) int fd = net_open(local ? NET_UNIX : (enum net_kind)a->kind);
	int r;

	if (fd < 0)
		return fd;
	if (!local)
		net_tune(fd, NET_CLIENT_MS);
	r = local ? net_connect_unix(fd, d->url.path) : net_connect(fd, a);
	return r < 0 ? r : TAKE_FD(fd);
}

static void try_next(struct dial *d)
{
	int fd = dial_address(d, &d->list[d->next++]), r = fd;

	assert(d->next <= d->count);
	/* if the socket is connected already, the loop reports it at once */
	if (r >= 0)
		r = loop_watch(d->c->loop, &d->socket, fd, POLLER_OUT, on_socket);
	if (r < 0) {
		fd_drop(&fd);
		no_luck(d, r);
		return;
	}
	if (d->next < d->count)
		loop_timer_set(d->c->loop, &d->slow, TRY_MS, on_slow);
}

static void on_found(void *ctx, const struct address *list, unsigned count, const struct err *why)
{
	struct dial *d = ctx;

	d->lookup = NULL;
	if (!count) {
		dial_give_up(d, why->code, why->text);
		return;
	}
	memcpy(d->list, list, count * sizeof(*list));
	d->count = count;
	try_next(d);
}

static void dial_on_late(struct loop_timer *t)
{
	struct channel *c = CONTAINER_OF(t, struct channel, timer);
	struct dial *d = c->dial;
	const char *what = d->lookup     ? "the name lookup timed out"
			   : !d->stream  ? "timed out while connecting"
			   : !d->greeted ? "the TLS handshake timed out"
					 : "timed out before the upgrade to a WebSocket";

	dial_give_up(d, -ETIMEDOUT, what);
}

/* --- the beginning --- */

/* Find the address. Returns 0, 1 if a name must be looked up, or -errno. */
static int find_address(struct dial *d, struct err *e)
{
	if (d->url.kind == URL_UNIX) { /* the path is the address: list[0] is not used */
		if (strlen(d->url.path) >= NET_PATH_MAX)
			return err_set(e, -ENAMETOOLONG, "the path of the socket is too long: %s",
				       d->url.path);
		d->count = 1;
		return 0;
	}
	d->count = lookup_literal(d->url.host, d->url.port, &d->list[0]);
	return d->count ? 0 : 1;
}

static bool dial_is_plain(const char *token)
{
	for (const char *p = token; *p; p++)
		if (*p <= ' ' || *p > '~')
			return false;
	return *token != '\0';
}

static void on_begin(struct loop_timer *t)
{
	try_next(CONTAINER_OF(t, struct dial, slow));
}

static int dial_begin(struct dial *d, const struct channel_target *to, struct err *e)
{
	int r = 0;

	if (to->token && !dial_is_plain(to->token))
		return err_set(e, -EINVAL, "the token has characters that cannot be sent");
	if (to->url->kind == URL_WSS)
		r = tls_client(to->ca_file, &d->trust, e);
	if (r == 0)
		r = find_address(d, e);
	if (r == 0) /* started from the loop, because it may fail at once */
		loop_timer_set(d->c->loop, &d->slow, 0, on_begin);
	else if (r == 1)
		r = resolve_begin(d->c->loop, d->url.host, d->url.port, on_found, d, &d->lookup, e);
	return r;
}

int channel_connect(struct loop *loop, const struct channel_target *to,
		    const struct channel_events *ev, void *ctx, struct channel **out, struct err *e)
{
	bool lines = to->url->kind == URL_UNIX && !to->token;
	struct channel *c =
		channel_new(loop, lines ? CHANNEL_LINES : CHANNEL_WS, WS_CLIENT, to->send_limit);
	struct dial *d = mem_grow(NULL, 1, sizeof(*d));
	int r;

	assert(to->url->kind != URL_STDIO);
	*d = (struct dial){ .c = c,
			    .url = *to->url,
			    .socket.fd = -1,
			    .request = BUF_INIT(BUF_ANY_SIZE),
			    .head = BUF_INIT(2 * HTTP_HEAD_MAX) };
	if (to->token)
		d->token = mem_dup(to->token);
	channel_listen(c, ev, ctx);
	if (to->url->kind == URL_UNIX)
		snprintf(c->peer, sizeof(c->peer), "%.60s", to->url->path);
	else
		snprintf(c->peer, sizeof(c->peer),
			 strchr(to->url->host, ':') ? "[%.50s]:%u" : "%.50s:%u", to->url->host,
			 to->url->port);
	r = dial_begin(d, to, e);
	if (r < 0) {
		dial_free(d);
		free(c);
		return r;
	}
	c->dial = d;
	loop_timer_set(loop, &c->timer, to->timeout_ms, dial_on_late);
	*out = c;
	return 0;
}
