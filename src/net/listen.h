/* listen.h - accepts connections and delivers those that became a channel.
 *
 * ws:// and wss:// speak HTTP until the upgrade: `GET /` with an upgrade becomes a channel; `GET
 * /readyz` is answered with 200, with or without a token; any request with an Origin with 403; a
 * missing or wrong token with 401; another path with 404; a request without an upgrade with 400
 * (426 when only the version is wrong). A client of a unix socket may speak HTTP as well, or lines
 * without HTTP when its first byte is '{'. On a unix socket without a token every process of
 * another user except root is refused (SO_PEERCRED), whichever process made the socket: HTTP with
 * 403, lines by closing the connection. A connection has 10 s to become a channel, and 8 KiB of
 * head. All resources before the token are bounded, and connections that have not been let in yet
 * are dropped at random for others (seats.h).
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
	const unsigned char *token_sha256; /* 32 bytes; NULL: no token is required */
	struct seats_limits seats;
	size_t send_limit;
	bool fds; /* unix: keep descriptors that come with messages, for channel_take_fds */
	/* unix: if the file that the listener made is removed or replaced, listen again under the
	 * same path within 2 s. Channels stay open. A file that is no socket, and the socket of a
	 * listener that lives, are not replaced. */
	bool keeps_file;
};

struct listen_events {
	/* A new channel, owned by the receiver, which must call channel_listen at once. */
	void (*on_channel)(void *ctx, struct channel *c);
	/* A text for the log: a refused connection, a failed accept. The rate is limited. */
	void (*on_note)(void *ctx, const char *text);
};

int listener_open(struct loop *loop, const struct listen_spec *spec, const struct listen_events *ev,
		  void *ctx, struct listener **out, struct err *e);
/* "ws://127.0.0.1:4711", "unix:/run/x": with the actual port. */
const char *listener_url(const struct listener *l);
/* Accept no more connections; delivered channels stay open. The file of a unix socket is removed if
 * the listener made it. */
void listener_close(struct listener *l);
