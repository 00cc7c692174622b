/* channel.h - messages to and from another program: a WebSocket, or lines on a byte stream.
 *
 * A message is one JSON text without a newline. Only the function that makes the channel knows the
 * transport (TCP, TLS, a unix socket, a pair of pipes, a link to a program such as ssh).
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
#include "os/net.h"

struct channel;

struct channel_events {
	/* Messages can be sent now. Not called for channels from a listener, which are open
	 * already.
	 */
	void (*on_open)(void *ctx);
	void (*on_message)(void *ctx, const char *text, size_t len); /* borrowed */
	/* channel_unsent was at CHANNEL_HIGH or more, and is at CHANNEL_LOW or less again. May be
	 * NULL. */
	void (*on_room)(void *ctx);
	/* The queue is full (CHANNEL_FULL bytes or more are unsent): senders must wait; or half of
	 * them are sent, and senders may go on. May be NULL. */
	void (*on_full)(void *ctx, bool full);
	/* A sentence in why->text; why->code: 0 the other side closed the channel, -ECONNRESET,
	 * -ETIMEDOUT, -EMSGSIZE, -EPROTO, -EACCES (refused: 401, 403), ... */
	void (*on_closed)(void *ctx, const struct err *why);
	/* For lines; both may be NULL. A message that was longer than the limit was dropped, and
	 * the next ones are read. Without this function the channel closes. */
	void (*on_too_long)(void *ctx);
	/* The other side has closed its direction. The channel stays open for writing until
	 * channel_close. Without this function the channel closes when all bytes are sent. */
	void (*on_eof)(void *ctx);
};

#define CHANNEL_HIGH (256u << 10) /* unsent bytes from which senders should wait */
#define CHANNEL_LOW  (128u << 10)
#define CHANNEL_FULL (32u << 20) /* unsent bytes of a channel whose senders are made to wait */

/* Set the receiver of the events; must be called before the first event. */
void channel_listen(struct channel *c, const struct channel_events *ev, void *ctx);

/* A channel from a listener may be dropped for others (seats.h) until this call lets it in. always:
 * let it in beyond the limit. False: the limit is reached. True for all other channels. */
bool channel_let_in(struct channel *c, bool always);

/* In on_message: take ownership of the text of that message; the caller must free() it. A long text
 * is not copied. */
char *channel_take(struct channel *c, const char *text, size_t len);

/* In on_message: move the descriptors that came with the messages so far to *out; see `fds` of
 * listen.h. They belong to the caller. */
void channel_take_fds(struct channel *c, struct net_fds *out);

/* Queue one message. 0; -EPIPE: closed; -ENOBUFS: the queue would exceed the channel's send limit
 * (the message was not queued). */
int channel_send(struct channel *c, const char *text, size_t len);
/* The same without a copy: append only the message's text to the buffer, which has no limit of its
 * own, then call channel_commit. NULL when closed. No other function may be called for the channel
 * in between, except channel_close instead of channel_commit. */
struct buf *channel_begin(struct channel *c);
int channel_commit(struct channel *c);
size_t channel_unsent(const struct channel *c);
/* Is the queue full now? on_full follows from the loop. */
static inline bool channel_is_full(const struct channel *c)
{
	return channel_unsent(c) >= CHANNEL_FULL;
}
/* For how long the other side has read no byte although bytes wait; 0: none wait. Not for a channel
 * over a program. */
int64_t channel_stalled_ms(const struct channel *c);
/* Time of the last received byte (loop_now_us); before the first byte, the time of the start. */
int64_t channel_heard_us(const struct channel *c);
/* WebSocket: send a ping; its answer counts as a received byte. Does nothing for lines. */
void channel_ping(struct channel *c);
bool channel_can_ping(const struct channel *c);
/* Stop or resume reading: the other side blocks when the buffers in between are full. Messages that
 * were read before are still delivered. A paused channel does not notice the end of the connection.
 */
void channel_pause(struct channel *c, bool paused);
/* The size of a message that the other side may send; the default is 16 MiB. */
void channel_set_limit(struct channel *c, size_t limit);
/* Close: unsent messages have 1 s to be sent, then the channel is closed. Returns at once;
 * on_closed follows. With now: unsent messages are dropped. */
void channel_close(struct channel *c, bool now);
/* Close when all messages are sent, however long that takes while the other side reads; 1 s without
 * a byte ends the wait. */
void channel_close_patiently(struct channel *c);
/* After on_closed. */
void channel_free(struct channel *c);
/* End the channel also when this process has ended: other processes, for example its children, may
 * hold copies of the connection open. Messages that came before are still delivered. The channel
 * owns the descriptor (os/process.h). A listener does this for the process that connected to a unix
 * socket. */
void channel_follow(struct channel *c, int process);
int channel_process(const struct channel *c); /* that descriptor; -1: none */
/* The pid of the process that connected to a unix socket; 0: not known. */
long channel_pid(const struct channel *c);
/* The other end, as text: "127.0.0.1:4711", "pid 12 uid 0", "stdio". Lives as long as c. */
const char *channel_peer(const struct channel *c);

/* --- functions that make a channel --- */

struct channel_target {
	const struct url *url; /* ws, wss or unix; borrowed for the time of the call */
	const char *token;     /* NULL: none; sent as Authorization: Bearer */
	const char *ca_file;   /* wss: NULL: the system's */
	int64_t timeout_ms;    /* for name, connection, TLS and upgrade together */
	size_t send_limit;     /* bytes that may be unsent */
};
/* Start to connect; on_open or on_closed follows. Host names are looked up without blocking the
 * loop. -errno with a sentence when the connection cannot be started. */
int channel_connect(struct loop *loop, const struct channel_target *to,
		    const struct channel_events *ev, void *ctx, struct channel **out,
		    struct err *e);

/* Lines over open descriptors: in to read, out to write (may be the same socket). The channel owns
 * them from now on. on_open follows. */
int channel_over_fds(struct loop *loop, int in, int out, size_t send_limit,
		     const struct channel_events *ev, void *ctx, struct channel **out_channel,
		     struct err *e);

/* Start a program, held by a keeper, and use lines over its stdin and stdout. on_open follows when
 * the program runs, before its first line. on_closed comes when the program is proved gone; if it ended by itself, `why`
 * says how, with the last lines of its stderr. recipe->write_limit is the send limit. */
int channel_over_program(struct loop *loop, const struct recipe *recipe,
			 const struct channel_events *ev, void *ctx, struct channel **out,
			 struct err *e);
