/* channel.c - see channel.h: messages over a stream. */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/trace.h"
#include "net/channel_internal.h"
#include "net/seats.h"
#include "os/fd.h"
#include "os/poller.h"

#define LAST_BYTES (2u << 20)  /* bytes to read from a connection after a failed write */
#define GROW_AT    (1u << 20)  /* bytes of a message */
#define TURN       (64u << 10) /* bytes read at once: a read has a fixed cost */

struct channel *channel_new(struct loop *loop, enum channel_kind kind, enum ws_role role,
			    size_t send_limit)
{
	struct channel *c = mem_grow(NULL, 1, sizeof(*c));

	*c = (struct channel){ .loop = loop,
			       .kind = kind,
			       .out = BUF_INIT(BUF_ANY_SIZE), /* send_limit is the limit */
			       .send_limit = send_limit,
			       .lines = FRAME_INIT(CHANNEL_MESSAGE_MAX),
			       .mask_at = CHANNEL_MASKS,
			       .process.fd = -1,
			       .heard_us = loop_now_us() };
	ws_init(&c->ws, role, CHANNEL_MESSAGE_MAX);
	return c;
}

void channel_listen(struct channel *c, const struct channel_events *ev, void *ctx)
{
	c->ev = ev;
	c->ctx = ctx;
}

void channel_set_limit(struct channel *c, size_t limit)
{
	c->ws.limit = limit;
	if (c->lines.part.len <= limit) /* else the line in progress may still arrive */
		c->lines.part.max = limit;
}

bool channel_can_ping(const struct channel *c)
{
	return c->kind == CHANNEL_WS;
}

void channel_pause(struct channel *c, bool paused)
{
	if (c->paused == paused || c->state >= CHANNEL_ENDED)
		return;
	c->paused = paused;
	if (c->program)
		link_pause(c->program->link, paused);
	else if (c->stream)
		channel_want(c);
}

int64_t channel_heard_us(const struct channel *c)
{
	return c->heard_us;
}

const char *channel_peer(const struct channel *c)
{
	return c->peer;
}

long channel_pid(const struct channel *c)
{
	return c->pid;
}

int channel_process(const struct channel *c)
{
	return c->process.fd;
}

/* --- the end --- */

void channel_set_why(struct channel *c, int code, const char *fmt, ...)
{
	va_list ap;

	if (c->has_why)
		return;
	c->has_why = true;
	c->why.code = code;
	va_start(ap, fmt);
	vsnprintf(c->why.text, sizeof(c->why.text), fmt, ap);
	va_end(ap);
}

const char *const channel_state_names[] = {
	[CHANNEL_OPENING] = "opening", [CHANNEL_OPEN] = "open",   [CHANNEL_BROKEN] = "broken",
	[CHANNEL_CLOSING] = "closing", [CHANNEL_ENDED] = "ended", [CHANNEL_CLOSED] = "closed",
};

void channel_go(struct channel *c, enum channel_state to, const char *why)
{
	TRACE(TRACE_CHANNEL, "peer=%s: %s -> %s (%s)", c->peer, channel_state_names[c->state],
	      channel_state_names[to], why);
	c->state = to;
}

static void channel_on_ended(struct loop_timer *t)
{
	struct channel *c = CONTAINER_OF(t, struct channel, timer);

	assert(c->state == CHANNEL_ENDED && c->has_why);
	channel_go(c, CHANNEL_CLOSED, c->why.text);
	c->ev->on_closed(c->ctx, &c->why);
}

void channel_end(struct channel *c)
{
	int process = c->process.fd;

	if (c->state >= CHANNEL_ENDED)
		return;
	channel_go(c, CHANNEL_ENDED, c->why.text);
	loop_watch_stop(c->loop, &c->process);
	fd_drop(&process);
	stream_free(c->stream);
	c->stream = NULL;
	c->seat = NULL;
	dial_free(c->dial);
	c->dial = NULL;
	channel_drop_queue(c);
	loop_timer_stop(c->loop, &c->trim);
	loop_timer_stop(c->loop, &c->look);
	loop_timer_set(c->loop, &c->timer, 0, channel_on_ended);
}

void channel_free(struct channel *c)
{
	assert(c->state == CHANNEL_CLOSED && !c->stream && !c->dial);
	loop_timer_stop(c->loop, &c->timer);
	program_free(c->program);
	ws_done(&c->ws);
	frame_done(&c->lines);
	buf_done(&c->out);
	free(c);
}

static void on_close_late(struct loop_timer *t)
{
	struct channel *c = CONTAINER_OF(t, struct channel, timer);
	int64_t stalled_ms = channel_stalled_ms(c);

	if (c->patient && stalled_ms < CHANNEL_CLOSE_MS)
		loop_timer_set(c->loop, t, CHANNEL_CLOSE_MS - stalled_ms, on_close_late);
	else
		channel_end(c);
}

static void go_closing(struct channel *c)
{
	channel_go(c, CHANNEL_CLOSING, c->why.text);
	c->paused = false; /* to receive the close frame of the other side */
	channel_want(c);
	loop_timer_set(c->loop, &c->timer, CHANNEL_CLOSE_MS, on_close_late);
}

/* --- reading --- */

static bool channel_hears(const struct channel *c)
{
	return c->state == CHANNEL_OPEN || c->state == CHANNEL_BROKEN;
}

char *channel_take(struct channel *c, const char *text, size_t len)
{
	if (text == c->ws.message.data)
		return buf_take(&c->ws.message);
	if (text == c->lines.part.data)
		return buf_take(&c->lines.part);
	return mem_text(text, len); /* the text is in the read buffer */
}

void channel_take_fds(struct channel *c, struct net_fds *out)
{
	out->count = 0;
	if (c->stream)
		stream_take_fds(c->stream, out);
}

/* Reserve all memory for a long message at once: growing step by step would copy it. */
static void channel_make_room(struct buf *message, size_t limit)
{
	if (message->len >= GROW_AT && message->cap <= limit && message->len < limit)
		buf_reserve(message, limit - message->len);
}

static void on_ws_message(void *ctx, char *text, size_t len)
{
	struct channel *c = ctx;

	if (channel_hears(c))
		c->ev->on_message(c->ctx, text, len);
}

static void on_line(void *ctx, const char *line, size_t len)
{
	struct channel *c = ctx;

	if (channel_hears(c))
		c->ev->on_message(c->ctx, line, len);
}

/* The meaning of a close code (RFC 6455, 7.4.1). */
static int channel_code_of(unsigned code)
{
	switch (code) {
	case 1000:
	case 1001:
		return 0;
	case 1002:
	case 1003:
	case 1007:
		return -EPROTO;
	case 1008:
		return -EACCES;
	case 1009:
		return -EMSGSIZE;
	default:
		return -ECONNRESET;
	}
}

static void on_close(struct channel *c, const char *bytes, size_t len)
{
	unsigned code = len < 2 ? 1000 : (unsigned char)bytes[0] * 256u + (unsigned char)bytes[1];
	char reason[124] = "";

	for (size_t i = 2; i < len; i++) /* clean, because the reason goes to logs and terminals */
		reason[i - 2] = bytes[i] >= ' ' && bytes[i] < 127 ? bytes[i] : '?';
	channel_set_why(c, channel_code_of(code), "the other side closed the connection (%u%s%s)",
			code, *reason ? ": " : "", reason);
	c->close_came = true;
	if (c->close_sent || c->state == CHANNEL_BROKEN) {
		channel_end(c);
		return;
	}
	go_closing(c);
	channel_send_close(c, code);
}

static void channel_on_control(void *ctx, enum ws_op op, const char *bytes, size_t len)
{
	struct channel *c = ctx;

	if (c->state >= CHANNEL_ENDED)
		return;
	if (op == WS_CLOSE)
		on_close(c, bytes, len);
	else if (op == WS_PING && c->state == CHANNEL_OPEN && channel_unsent(c) < c->send_limit)
		channel_send_control(c, WS_PONG, bytes, len);
}

/* The received bytes are invalid. Send a close frame, and wait a short time for it to be read. */
static void channel_refuse(struct channel *c, int code, const char *reason)
{
	c->deaf = true;
	channel_set_why(c, code, "%s", reason);
	if (c->state != CHANNEL_OPEN || c->kind != CHANNEL_WS) {
		channel_end(c);
		return;
	}
	go_closing(c);
	channel_send_close(c, code == -EMSGSIZE ? 1009 : 1002);
}

static void on_too_long(void *ctx)
{
	struct channel *c = ctx;

	if (c->ev->on_too_long) {
		if (channel_hears(c))
			c->ev->on_too_long(c->ctx);
		return;
	}
	frame_halt(&c->lines);
	if (c->program) {
		channel_set_why(c, -EMSGSIZE, "the message is too long");
		program_close(c, true);
		return;
	}
	channel_refuse(c, -EMSGSIZE, "the message is too long");
}

void channel_feed(struct channel *c, char *bytes, size_t len)
{
	static const struct ws_events on_ws = { on_ws_message, channel_on_control };
	static const struct frame_events on_lines = { on_line, on_too_long };
	const char *reason = NULL;
	int r;

	if (c->state >= CHANNEL_ENDED || c->deaf)
		return;
	if (c->kind == CHANNEL_WS) {
		r = ws_feed(&c->ws, bytes, len, &on_ws, c, &reason);
		if (r < 0 && c->state < CHANNEL_ENDED)
			channel_refuse(c, r, reason);
	} else {
		frame_feed(&c->lines, bytes, len, &on_lines, c);
	}
	channel_make_room(&c->ws.message, c->ws.limit);
	channel_make_room(&c->lines.part, c->lines.part.max);
	channel_trim_later(c);
}

/* End of input. With lines this is the normal end; earlier requests are still answered. */
static void channel_on_eof(struct channel *c)
{
	if (c->kind == CHANNEL_WS) {
		channel_set_why(c, -ECONNRESET, "the connection was cut");
		channel_end(c);
		return;
	}
	channel_set_why(c, 0, "the other side closed the stream");
	c->eof = true;
	if (c->state == CHANNEL_OPEN && c->ev->on_eof) {
		channel_want(c);
		c->ev->on_eof(c->ctx);
		return;
	}
	if (c->state != CHANNEL_OPEN || !channel_unsent(c)) {
		channel_end(c);
		return;
	}
	go_closing(c);
	channel_flush(c);
}

/* Returns the number of bytes; 0: no bytes now, or the end of input. */
static size_t channel_read_some(struct channel *c)
{
	size_t size;
	char *chunk = loop_scratch(c->loop, &size);
	ssize_t n =
		stream_read(c->stream, chunk, c->ws.role == WS_SERVER && size > TURN ? TURN : size);

	if (n == -EAGAIN)
		return 0;
	if (n == 0) {
		channel_on_eof(c);
		return 0;
	}
	if (n < 0) {
		channel_set_why(c, (int)n, "the connection was cut: %s", strerror((int)-n));
		channel_end(c);
		return 0;
	}
	c->heard_us = loop_now_us();
	channel_feed(c, chunk, (size_t)n);
	return (size_t)n;
}

/* Read the bytes that came before the end of the other side. */
static void channel_read_last(struct channel *c)
{
	size_t got = 0, n = 1;

	while (n && got < LAST_BYTES && channel_hears(c)) {
		n = channel_read_some(c);
		got += n;
	}
}

static void on_broken(struct loop_timer *t)
{
	struct channel *c = CONTAINER_OF(t, struct channel, timer);

	channel_read_last(c);
	channel_set_why(c, c->why.code, "the connection was cut: %s", strerror(-c->why.code));
	channel_end(c);
}

/* A write failed. Messages that the other side sent before may still be unread, for example those
 * of a client that ends its processes and exits without reading. */
void channel_broke(struct channel *c, int error)
{
	assert(error < 0);
	channel_drop_queue(c);
	c->blocked = false;
	if (c->state == CHANNEL_CLOSING) {
		channel_end(c);
		return;
	}
	channel_go(c, CHANNEL_BROKEN, "nothing can be written any more");
	c->why.code = error; /* used only if the unread messages give no better reason */
	loop_timer_set(c->loop, &c->timer, 0, on_broken);
}

static void channel_on_process(struct loop_watch *w, uint32_t events)
{
	struct channel *c = CONTAINER_OF(w, struct channel, process);

	(void)events;
	channel_read_last(c);
	channel_set_why(c, 0, "the process that connected has ended");
	channel_end(c);
}

void channel_follow(struct channel *c, int process)
{
	int r = c->state < CHANNEL_ENDED
			? loop_watch(c->loop, &c->process, process, POLLER_IN, channel_on_process)
			: -EPIPE;

	assert(c->stream || r < 0);
	if (r == 0)
		return;
	fd_close(process);
	channel_set_why(c, r, "cannot wait for the process that connected: %s", strerror(-r));
	channel_end(c);
}

static void channel_on_ready(void *ctx, bool readable, bool writable)
{
	struct channel *c = ctx;

	if (c->state == CHANNEL_OPENING)
		channel_opened(c);
	if (c->stream && writable && c->blocked)
		channel_flush(c);
	else if (c->stream && writable && c->state == CHANNEL_OPEN)
		channel_broke(c, -EPIPE); /* the other side does not read any more */
	if (c->stream && readable && !c->paused)
		channel_read_some(c);
	channel_tell_room(c);
	channel_tell_full(c);
}

/* --- the beginning --- */

void channel_opened(struct channel *c)
{
	assert(c->state == CHANNEL_OPENING);
	loop_timer_stop(c->loop, &c->timer);
	channel_go(c, CHANNEL_OPEN, "connected");
	c->heard_us = loop_now_us();
	if (c->ev && c->ev->on_open)
		c->ev->on_open(c->ctx);
}

void channel_use_stream(struct channel *c, struct stream *s)
{
	int r;

	assert(!c->stream);
	c->stream = s;
	r = stream_listen(s, channel_on_ready, c);
	if (r < 0) {
		channel_set_why(c, r, "cannot wait for the connection: %s", strerror(-r));
		channel_end(c);
		return;
	}
	channel_want(c);
}

static void channel_drop_greeting(void *ctx)
{
	struct channel *c = ctx;

	channel_set_why(c, -ECONNABORTED,
			"dropped: too many connections have not called initialize");
	channel_end(c);
}

void channel_use_seat(struct channel *c, struct seat *seat)
{
	c->seat = seat;
	seat->drop = channel_drop_greeting;
	seat->ctx = c;
}

bool channel_let_in(struct channel *c, bool always)
{
	return !c->seat || seat_let_in(c->seat, always);
}

void channel_close(struct channel *c, bool now)
{
	if (c->state >= CHANNEL_ENDED)
		return;
	channel_take_back(c);
	if (c->program) {
		program_close(c, now);
		return;
	}
	channel_set_why(c, 0, "closed by this side");
	if (now || c->state == CHANNEL_OPENING) {
		channel_end(c);
		return;
	}
	if (c->state == CHANNEL_CLOSING && c->patient) {
		c->patient = false;
		loop_timer_set(c->loop, &c->timer, CHANNEL_CLOSE_MS, on_close_late);
	}
	if (c->state != CHANNEL_OPEN) /* the channel is ending already */
		return;
	go_closing(c);
	if (c->kind == CHANNEL_WS)
		channel_send_close(c, 1000);
	else if (!channel_unsent(c))
		channel_end(c);
}

void channel_close_patiently(struct channel *c)
{
	bool closes = c->state == CHANNEL_OPEN && !c->program;

	channel_close(c, false);
	c->patient = closes;
}

static void on_open_due(struct loop_timer *t)
{
	channel_opened(CONTAINER_OF(t, struct channel, timer));
}

int channel_over_fds(struct loop *loop, int in, int out, size_t send_limit,
		     const struct channel_events *ev, void *ctx, struct channel **out_channel,
		     struct err *e)
{
	struct channel *c = channel_new(loop, CHANNEL_LINES, WS_SERVER, send_limit);

	(void)e;
	channel_listen(c, ev, ctx);
	snprintf(c->peer, sizeof(c->peer), "stdio");
	channel_use_stream(c, stream_new(loop, in, out));
	if (c->state == CHANNEL_OPENING)
		loop_timer_set(loop, &c->timer, 0, on_open_due);
	*out_channel = c;
	return 0;
}
