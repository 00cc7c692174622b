/* ws.c - see ws.h */
#include "ws.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/base64.h"
#include "base/sha1.h"

/* Memory that is kept between split messages: enough for a message with a chunk of output (64 KiB,
 * as base64), so that a stream of such messages does not allocate each time. */
enum { MESSAGE_KEEP = 128 * 1024 };

void ws_init(struct ws *w, enum ws_role role, size_t limit)
{
	*w = (struct ws){ .role = role, .limit = limit, .message = BUF_INIT(limit) };
}

void ws_done(struct ws *w)
{
	buf_done(&w->message);
	w->halted = true;
}

void ws_halt(struct ws *w)
{
	w->halted = true;
}

static int ws_fail(struct ws *w, int code, const char *reason)
{
	w->failed = code;
	w->reason = reason;
	buf_done(&w->message);
	return code;
}

void ws_mask(char *bytes, size_t len, const unsigned char mask[4])
{
	uint64_t wide[4];
	size_t at = 0;

	for (size_t i = 0; i < sizeof(wide); i += 4)
		memcpy((char *)wide + i, mask, 4);
	for (; len - at >= sizeof(wide); at += sizeof(wide)) {
		uint64_t words[4]; /* a block size that compilers vectorise */

		memcpy(words, bytes + at, sizeof(words));
		for (unsigned i = 0; i < 4; i++)
			words[i] ^= wide[i];
		memcpy(bytes + at, words, sizeof(words));
	}
	for (; at < len; at++)
		bytes[at] = (char)(bytes[at] ^ mask[at % 4]);
}

/* Unmask the next bytes of a payload. */
static void unmask(struct ws *w, char *bytes, size_t len)
{
	unsigned char mask[4];

	if (w->role == WS_CLIENT)
		return;
	for (unsigned i = 0; i < 4; i++)
		mask[i] = w->mask[(w->mask_at + i) % 4];
	ws_mask(bytes, len, mask);
	w->mask_at = (w->mask_at + (unsigned)(len % 4)) % 4;
}

/* Returns the length of the header, as far as the received bytes show it. */
static size_t header_size(const struct ws *w)
{
	unsigned len = w->header[1] & 127;

	if (w->header_len < 2)
		return 2;
	return 2u + (len == 126 ? 2 : len == 127 ? 8 : 0) + (w->role == WS_SERVER ? 4 : 0);
}

/* Check the first two bytes of a header. */
static int check_start(struct ws *w)
{
	bool masked = w->header[1] & 0x80;

	w->fin = w->header[0] & 0x80;
	w->op = (enum ws_op)(w->header[0] & 0x0f);
	if (w->header[0] & 0x70)
		return ws_fail(w, -EPROTO, "a reserved bit is set in a WebSocket frame");
	if (masked != (w->role == WS_SERVER))
		return ws_fail(w, -EPROTO,
			       masked ? "a masked WebSocket frame from a server"
				      : "an unmasked WebSocket frame from a client");
	switch (w->op) {
	case WS_CONT:
		if (!w->in_message)
			return ws_fail(w, -EPROTO,
				       "a WebSocket continuation frame without a message");
		return 0;
	case WS_TEXT:
	case WS_BINARY:
		if (w->in_message)
			return ws_fail(w, -EPROTO, "a WebSocket message inside another message");
		return 0;
	case WS_CLOSE:
	case WS_PING:
	case WS_PONG:
		if (!w->fin)
			return ws_fail(w, -EPROTO, "a fragmented WebSocket control frame");
		if ((w->header[1] & 127) > WS_CONTROL_MAX)
			return ws_fail(w, -EPROTO, "a WebSocket control frame that is too long");
		return 0;
	}
	return ws_fail(w, -EPROTO, "a WebSocket frame with an unknown opcode");
}

/* The header is complete: begin the frame. */
static int begin_frame(struct ws *w)
{
	unsigned len = w->header[1] & 127;
	size_t bytes = len == 126 ? 2 : len == 127 ? 8 : 0;

	w->left = bytes ? 0 : len;
	for (size_t i = 0; i < bytes; i++)
		w->left = w->left << 8 | w->header[2 + i];
	if (bytes && w->left < (bytes == 2 ? 126u : 65536u))
		return ws_fail(w, -EPROTO,
			       "the length of a WebSocket frame is not in its shortest form");
	if (w->left >> 63)
		return ws_fail(w, -EPROTO, "the length of a WebSocket frame is negative");
	if (w->op < WS_CLOSE) {
		if (w->message.len > w->limit || w->left > w->limit - w->message.len)
			return ws_fail(w, -EMSGSIZE, "a WebSocket message that is too long");
		w->message.max = w->limit;
		w->in_message = true;
	}
	if (w->role == WS_SERVER)
		memcpy(w->mask, w->header + 2 + bytes, sizeof(w->mask));
	w->mask_at = 0;
	w->in_payload = true;
	w->header_len = 0;
	return 0;
}

static int end_control(struct ws *w, const char *bytes, size_t len, const struct ws_events *ev,
		       void *ctx)
{
	w->in_payload = false;
	w->control_len = 0;
	if (w->op == WS_CLOSE) {
		unsigned code =
			len < 2 ? 1000
				: (unsigned)(unsigned char)bytes[0] << 8 | (unsigned char)bytes[1];

		if (len == 1 || code < 1000 || code > 4999 || (code >= 1004 && code <= 1006) ||
		    code == 1015)
			return ws_fail(w, -EPROTO, "a WebSocket close frame with an invalid code");
		w->halted = true;
	}
	ev->on_control(ctx, w->op, bytes, len);
	return 0;
}

/* Read the next bytes of a control frame. */
static int take_control(struct ws *w, char *bytes, size_t len, const struct ws_events *ev,
			void *ctx)
{
	if (w->left == 0 && w->control_len == 0)
		return end_control(w, bytes, len, ev, ctx);
	assert(len <= sizeof(w->control) - w->control_len);
	memcpy(w->control + w->control_len, bytes, len);
	w->control_len += len;
	if (w->left == 0)
		return end_control(w, (char *)w->control, w->control_len, ev, ctx);
	return 0;
}

/* Read the next bytes of a message. */
static int take_data(struct ws *w, char *bytes, size_t len, const struct ws_events *ev, void *ctx)
{
	bool whole = w->left == 0 && w->fin;

	if (w->left == 0)
		w->in_payload = false;
	if (whole)
		w->in_message = false;
	if (whole && w->message.len == 0) {
		ev->on_message(ctx, bytes, len);
		return 0;
	}
	if (buf_add(&w->message, bytes, len) < 0)
		return ws_fail(w, -EMSGSIZE, "a WebSocket message that is too long");
	if (whole) {
		ev->on_message(ctx, w->message.data, w->message.len);
		buf_reset(&w->message, MESSAGE_KEEP);
	}
	return 0;
}

/* Read the bytes of a header. Returns how many bytes were used. */
static size_t take_header(struct ws *w, const char *bytes, size_t len)
{
	size_t taken = 0;

	while (taken < len && w->header_len < header_size(w) && !w->failed) {
		w->header[w->header_len++] = (unsigned char)bytes[taken++];
		if (w->header_len == 2)
			check_start(w);
	}
	if (!w->failed && w->header_len == header_size(w))
		begin_frame(w);
	return taken;
}

int ws_feed(struct ws *w, char *bytes, size_t len, const struct ws_events *ev, void *ctx,
	    const char **reason)
{
	while (len && !w->halted && !w->failed) {
		size_t n = take_header(w, bytes, w->in_payload ? 0 : len);

		bytes += n;
		len -= n;
		if (w->failed || !w->in_payload)
			break;
		n = w->left < len ? (size_t)w->left : len;
		w->left -= n;
		unmask(w, bytes, n);
		if (w->op >= WS_CLOSE)
			take_control(w, bytes, n, ev, ctx);
		else
			take_data(w, bytes, n, ev, ctx);
		bytes += n;
		len -= n;
	}
	if (w->failed)
		*reason = w->reason;
	return w->failed;
}

size_t ws_header(unsigned char out[WS_HEADER_MAX], enum ws_op op, uint64_t len,
		 const unsigned char mask[4])
{
	size_t bytes = len < 126 ? 0 : len < 65536 ? 2 : 8;

	out[0] = (unsigned char)(0x80 | op);
	out[1] = (unsigned char)((mask ? 0x80 : 0) | (bytes == 0 ? len : bytes == 2 ? 126 : 127));
	for (size_t i = 0; i < bytes; i++)
		out[2 + i] = (unsigned char)(len >> 8 * (bytes - 1 - i));
	if (mask)
		memcpy(out + 2 + bytes, mask, 4);
	return 2 + bytes + (mask ? 4 : 0);
}

bool ws_accept(const char *key, size_t key_len, char out[WS_ACCEPT_SIZE])
{
	static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; /* RFC 6455, 1.3 */
	AUTO(buf_done) struct buf random = BUF_INIT(16);
	char text[WS_KEY_SIZE - 1 + sizeof(guid) - 1];
	unsigned char digest[SHA1_SIZE];

	out[0] = '\0';
	if (key_len != WS_KEY_SIZE - 1 || base64_decode(&random, key, key_len) < 0 ||
	    random.len != 16)
		return false;
	memcpy(text, key, key_len);
	memcpy(text + key_len, guid, sizeof(guid) - 1);
	sha1(text, sizeof(text), digest);
	base64_encode(out, digest, sizeof(digest));
	out[WS_ACCEPT_SIZE - 1] = '\0';
	return true;
}
