/* channel_out.c - the send queue of a channel: one buffer, in which messages are written in place.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "net/channel_internal.h"

#define AT_ONCE (64u << 10) /* unsent bytes that are written before the end of the turn */
#define TRIM_MS 1000

static size_t channel_out_waiting(const struct channel *c)
{
	return c->out.len - c->sent;
}

size_t channel_unsent(const struct channel *c)
{
	return c->program ? program_unsent(c) : channel_out_waiting(c);
}

void channel_drop_queue(struct channel *c)
{
	loop_task_stop(&c->flush);
	buf_done(&c->out);
	c->sent = 0;
	c->writing = false;
}

/* --- memory --- */

/* An idle channel has no buffers: buffers are kept between messages, and freed after a time without
 * messages. */
static void on_trim(struct loop_timer *t);

void channel_trim_later(struct channel *c)
{
	c->used = true;
	if (!c->trim.slot && c->state < CHANNEL_ENDED &&
	    (c->out.cap || c->ws.message.cap || c->lines.part.cap))
		loop_timer_set(c->loop, &c->trim, TRIM_MS, on_trim);
}

static void on_trim(struct loop_timer *t)
{
	struct channel *c = CONTAINER_OF(t, struct channel, trim);
	bool used = c->used;

	if (!used && !channel_out_waiting(c) && !c->writing) {
		buf_done(&c->out);
		c->sent = 0;
	}
	if (!used && !c->ws.message.len)
		buf_reset(&c->ws.message, 0);
	if (!used && !c->lines.part.len)
		buf_reset(&c->lines.part, 0);
	channel_trim_later(c); /* for buffers that are still in use */
	c->used = false;
}

/* --- writing --- */

void channel_want(struct channel *c)
{
	stream_want(c->stream, !c->eof && !c->paused, c->blocked);
}

/* All bytes are written. */
static void flushed(struct channel *c)
{
	c->out.len = c->sent = 0;
	c->blocked = false;
	channel_want(c);
	channel_trim_later(c);
	if (c->state == CHANNEL_CLOSING && (c->kind == CHANNEL_LINES || c->close_came))
		channel_end(c);
}

/* Write as many queued bytes as the stream takes. */
void channel_flush(struct channel *c)
{
	while (channel_out_waiting(c)) {
		ssize_t n = stream_write(c->stream, c->out.data + c->sent, channel_out_waiting(c));

		if (n == -EAGAIN) {
			if (!c->blocked)
				c->moved_us = loop_now_us();
			c->blocked = true;
			channel_want(c);
			return;
		}
		if (n < 0) {
			channel_broke(c, (int)n);
			return;
		}
		c->sent += (size_t)n;
		if (c->blocked)
			c->moved_us = loop_now_us();
	}
	flushed(c);
}

void channel_tell_room(struct channel *c)
{
	if (!c->high || c->state != CHANNEL_OPEN || channel_unsent(c) > CHANNEL_LOW)
		return;
	c->high = false;
	if (c->ev->on_room)
		c->ev->on_room(c->ctx);
}

int64_t channel_stalled_ms(const struct channel *c)
{
	return c->blocked ? (loop_now_us() - c->moved_us) / 1000 : 0;
}

void channel_tell_full(struct channel *c)
{
	if (!c->full || c->state != CHANNEL_OPEN || channel_unsent(c) > CHANNEL_FULL / 2)
		return;
	c->full = false;
	c->ev->on_full(c->ctx, false);
}

/* The queue was full in this turn: callers of channel_is_full may wait for on_full(false). */
static void channel_out_on_look(struct loop_timer *t)
{
	struct channel *c = CONTAINER_OF(t, struct channel, look);

	if (!c->full && c->state == CHANNEL_OPEN) {
		c->full = true;
		c->ev->on_full(c->ctx, true);
	}
	channel_tell_full(c);
}

static void channel_out_on_flush(struct loop_task *t)
{
	struct channel *c = CONTAINER_OF(t, struct channel, flush);

	loop_expect(c->loop, NULL); /* no answer of a server is expected next */

	if (!c->blocked && channel_out_waiting(c))
		channel_flush(c);
}

/* Bytes were added to the queue. Small messages are sent together at the end of the turn; a large
 * one is sent at once, while it is in the cache. */
static void queued(struct channel *c)
{
	if (!c->blocked && (channel_out_waiting(c) >= AT_ONCE ||
			    !loop_later(c->loop, &c->flush, channel_out_on_flush)))
		channel_flush(c);
	if (channel_out_waiting(c) >= CHANNEL_HIGH)
		c->high = true;
	if (!c->full && channel_is_full(c) && c->ev && c->ev->on_full && !c->look.slot)
		loop_timer_set(c->loop, &c->look, 0, channel_out_on_look);
}

static const unsigned char *next_mask(struct channel *c)
{
	if (c->mask_at == CHANNEL_MASKS) {
		random_fill(c->masks, sizeof(c->masks));
		c->mask_at = 0;
	}
	c->mask_at += 4;
	return c->masks + c->mask_at - 4;
}

/* Remove the written bytes; the rest moves to the front. Each byte is moved at most once. */
static void compact(struct channel *c)
{
	if (c->sent == c->out.len) {
		c->out.len = c->sent = 0;
	} else if (c->sent > c->out.len / 2) {
		buf_drop(&c->out, c->sent);
		c->sent = 0;
	}
}

/* Room for the header, whose length is not known before the message is complete. */
static size_t header_room(const struct channel *c)
{
	if (c->kind != CHANNEL_WS)
		return 0;
	return c->ws.role == WS_CLIENT ? WS_HEADER_MAX : WS_HEADER_MAX - 4;
}

struct buf *channel_begin(struct channel *c)
{
	size_t room = header_room(c);

	assert(!c->writing);
	if (c->state != CHANNEL_OPEN)
		return NULL;
	compact(c);
	buf_reserve(&c->out, room + 256);
	c->out.len += room;
	c->text_at = c->out.len;
	c->writing = true;
	return &c->out;
}

/* Put the header directly before the text. When the header is shorter than its room and other bytes
 * are queued before it, the text moves; a long text has the longest header. */
static void frame_text(struct channel *c, size_t head_at, size_t len)
{
	const unsigned char *mask = c->ws.role == WS_CLIENT ? next_mask(c) : NULL;
	char *text = c->out.data + c->text_at;
	unsigned char header[WS_HEADER_MAX];
	size_t used = ws_header(header, WS_TEXT, len, mask);
	size_t gap = c->text_at - head_at - used;

	if (mask)
		ws_mask(text, len, mask);
	if (gap && head_at != c->sent) {
		memmove(text - gap, text, len);
		text -= gap;
		c->out.len -= gap;
	} else {
		c->sent += gap;
	}
	memcpy(text - used, header, used);
}

void channel_take_back(struct channel *c)
{
	if (c->writing)
		c->out.len = c->text_at - header_room(c);
	c->writing = false;
}

int channel_commit(struct channel *c)
{
	size_t len = c->out.len - c->text_at, head_at = c->text_at - header_room(c);

	assert(c->writing && c->out.len >= c->text_at);
	c->writing = false;
	if (c->program)
		return program_commit(c);
	channel_trim_later(c);
	if (len == 0 || head_at - c->sent + len + WS_HEADER_MAX > c->send_limit) {
		c->out.len = head_at;
		return len ? -ENOBUFS : 0;
	}
	if (c->kind == CHANNEL_WS)
		frame_text(c, head_at, len);
	else
		buf_add(&c->out, "\n", 1);
	queued(c);
	return 0;
}

int channel_send(struct channel *c, const char *text, size_t len)
{
	struct buf *b;

	if (c->state == CHANNEL_OPEN && len > c->send_limit)
		return -ENOBUFS; /* checked before the copy */
	b = channel_begin(c);
	if (!b)
		return -EPIPE;
	buf_add(b, text, len);
	return channel_commit(c);
}

void channel_send_raw(struct channel *c, const char *bytes, size_t len)
{
	assert(!c->writing);
	buf_add(&c->out, bytes, len);
	queued(c);
}

void channel_send_control(struct channel *c, enum ws_op op, const char *bytes, size_t len)
{
	char frame[WS_HEADER_MAX + WS_CONTROL_MAX];
	const unsigned char *mask = c->ws.role == WS_CLIENT ? next_mask(c) : NULL;
	size_t used = ws_header((unsigned char *)frame, op, len, mask);

	assert(len <= WS_CONTROL_MAX);
	memcpy(frame + used, bytes, len);
	if (mask)
		ws_mask(frame + used, len, mask);
	compact(c);
	channel_send_raw(c, frame, used + len);
}

void channel_ping(struct channel *c)
{
	if (c->kind == CHANNEL_WS && c->state == CHANNEL_OPEN &&
	    channel_out_waiting(c) < c->send_limit)
		channel_send_control(c, WS_PING, "", 0);
}

void channel_send_close(struct channel *c, unsigned code)
{
	char bytes[2] = { (char)(code >> 8), (char)code };

	c->close_sent = true;
	channel_send_control(c, WS_CLOSE, bytes, 2);
}
