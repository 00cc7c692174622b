/* channel.h - a way for messages to another program: a WebSocket, or lines on a byte stream.
 *
 * A message is one JSON text without a newline. How it got there (TCP, TLS, a unix socket, a pair
 * of pipes, a link to a program such as ssh) is known to the maker alone.
 *
 * Life: channel_connect, channel_over_fds, channel_over_program, or a listener (listen.h) ->
 * on_open -> on_message ... -> on_closed, exactly once and last -> channel_free. Events come from
 * the loop, never from inside a channel_ function. A handler may send and close, not free, except
 * in on_closed. Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "link/link.h"
#include "net/url.h"

struct channel;

struct channel_events {
	/* May be sent now. Channels from a listener are open when they are handed over, and do not
	 * say it. */
	void (*on_open)(void *ctx);
	void (*on_message)(void *ctx, const char *text, size_t len); /* borrowed */
	/* After channel_unsent was at CHANNEL_HIGH or more: it is at CHANNEL_LOW or less again. May
	 * be NULL. */
	void (*on_room)(void *ctx);
	/* A sentence in why->text; why->code: 0 the other side ended in good order, -ECONNRESET,
	 * -ETIMEDOUT, -EMSGSIZE, -EPROTO, -EACCES (refused: 401, 403), ... */
	void (*on_closed)(void *ctx, const struct err *why);
};

#define CHANNEL_HIGH (256u << 10) /* bytes unsent: whoever can wait waits */
#define CHANNEL_LOW  (128u << 10)

/* Who gets the events; to be set before the first one, from the maker or right after. */
void channel_listen(struct channel *c, const struct channel_events *ev, void *ctx);

/* A channel from a listener is a greeting, and may be dropped for others (seats.h), until it is let
 * in. always: let it in beyond the limit. False: the limit is reached. True for all other channels.
 */
bool channel_let_in(struct channel *c, bool always);

/* In on_message: take over the text of that message; the caller must free() it. A long text is not
 * copied. */
char *channel_take(struct channel *c, const char *text, size_t len);

/* Append one message. 0; -EPIPE: closed; -ENOBUFS: more than the channel's send limit would wait
 * (nothing was taken). */
int channel_send(struct channel *c, const char *text, size_t len);
/* The same without a copy: append the message's text, and nothing else, to the buffer, which has no
 * limit of its own; then commit it. NULL when closed. Nothing else may be done with the channel in
 * between, but channel_close instead of the commit. */
struct buf *channel_begin(struct channel *c);
int channel_commit(struct channel *c);
size_t channel_unsent(const struct channel *c);
/* When a byte was last heard; loop_now_us() of the beginning before the first. */
int64_t channel_heard_us(const struct channel *c);
/* WebSocket: send a ping; its answer counts as heard. Elsewhere nothing. */
void channel_ping(struct channel *c);
bool channel_can_ping(const struct channel *c);
/* Read nothing until told otherwise: the other side waits when what is in between is full. What was
 * read before still comes. A paused channel hears nothing, not even its end. */
void channel_pause(struct channel *c, bool paused);
/* The size of a message that the other side may send; the default is 16 MiB. */
void channel_set_limit(struct channel *c, size_t limit);
/* End it: what is unsent is given a moment (1 s), then it is closed. Returns at once; on_closed
 * follows. With now: at once, nothing more is sent. */
void channel_close(struct channel *c, bool now);
/* After on_closed. */
void channel_free(struct channel *c);
/* Who is at the other end: "127.0.0.1:4711", "pid 12 uid 0", "stdio". Lives as long as c. */
const char *channel_peer(const struct channel *c);

/* --- makers; what they need in net/tls.h and net/listen.h --- */

struct channel_target {
	const struct url *url; /* ws, wss or unix; borrowed for the time of the call */
	const char *token;     /* NULL: none; sent as Authorization: Bearer */
	const char *ca_file;   /* wss: NULL: the system's */
	int64_t timeout_ms;    /* for name, connection, TLS and upgrade together */
	size_t send_limit;     /* bytes that may be unsent */
};
/* Begin to connect; on_open or on_closed follows. Host names are looked up without blocking the
 * loop. -errno with a sentence when not even that can be done. */
int channel_connect(struct loop *loop, const struct channel_target *to,
		    const struct channel_events *ev, void *ctx, struct channel **out,
		    struct err *e);

/* Lines over descriptors that are open: in to read, out to write (may be the same socket). They are
 * the channel's from now on. on_open follows. */
int channel_over_fds(struct loop *loop, int in, int out, size_t send_limit,
		     const struct channel_events *ev, void *ctx, struct channel **out_channel,
		     struct err *e);

/* Lines over the stdin and stdout of a program that is started for this and held by a keeper like
 * any other. on_open follows when it runs. The end of the channel is the proved end of the program;
 * when that ended by itself why says how, with the last lines of its stderr. spec->write_limit is
 * the send limit. */
int channel_over_program(struct loop *loop, const struct link_spec *spec,
			 const struct channel_events *ev, void *ctx, struct channel **out,
			 struct err *e);
