/* listen.h - takes connections and hands over those that became a channel.
 *
 * ws:// and wss:// speak HTTP until the upgrade: `GET /` with an upgrade is a channel; `GET
 * /readyz` is 200, with or without a token; any request with an Origin is 403; no or a wrong token
 * is 401; another path is 404; what is no upgrade is 400 (426 when only the version is wrong). A
 * unix socket may speak that as well, or lines right away: whoever
 * begins with '{' does. On a unix socket without a token every process of another user but root is
 * refused (SO_PEERCRED), whoever made the socket: HTTP with 403, lines by hanging up. A connection
 * has 10 s to become a channel, and 8 KiB of head. Everything is bounded before the token was seen,
 * and those that have not been let in yet give way to others at random (seats.h).
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include "base/err.h"
#include "base/loop.h"
#include "net/channel.h"
#include "net/seats.h"
#include "net/url.h"

struct listener;

struct listen_spec {
	const struct url *url;
	int fd;                           /* a listening socket (socket activation); -1: make one */
	const char *cert_file, *key_file; /* wss; PEM */
	const unsigned char *token_sha256; /* 32 bytes; NULL: no token is asked for */
	struct seats_limits seats;
	size_t send_limit;
};

struct listen_events {
	/* A channel: from now on it is the taker's. channel_listen must be called at once. */
	void (*on_channel)(void *ctx, struct channel *c);
	/* Something to log: a refused connection, an accept that failed. Bounded in rate. */
	void (*on_note)(void *ctx, const char *text);
};

int listener_open(struct loop *loop, const struct listen_spec *spec, const struct listen_events *ev,
		  void *ctx, struct listener **out, struct err *e);
/* "ws://127.0.0.1:4711", "unix:/run/x": with the port that it got. */
const char *listener_url(const struct listener *l);
/* No more connections; channels that were handed over live on. A unix socket's file is removed if
 * we made it. */
void listener_close(struct listener *l);
