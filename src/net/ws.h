/* ws.h - parses and writes the frames of a WebSocket (RFC 6455).
 *
 * Both roles: a server reads masked frames and writes plain ones, a client the other way round. No
 * extension is supported, so a reserved bit is an error. Text and binary messages are treated the
 * same (the JSON parser checks their content, UTF-8 included). A message that is complete in the
 * fed bytes, in one frame, is delivered from there, unmasked in place; other messages are
 * collected. Threads: one at a time.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum ws_role { WS_SERVER, WS_CLIENT };
enum ws_op { WS_CONT = 0, WS_TEXT = 1, WS_BINARY = 2, WS_CLOSE = 8, WS_PING = 9, WS_PONG = 10 };

#define WS_HEADER_MAX  14  /* bytes */
#define WS_CONTROL_MAX 125 /* bytes of payload */

struct ws_events {
	void (*on_message)(void *ctx, char *text, size_t len); /* borrowed; may be changed */
	/* Ping, pong or close; the first two bytes of a close are the code. Borrowed. */
	void (*on_control)(void *ctx, enum ws_op op, const char *bytes, size_t len);
};

struct ws {
	enum ws_role role;
	size_t limit; /* of a message, all its frames together; may be changed any time */
	/* private to ws.c */
	struct buf message; /* received part of an incomplete message, unmasked */
	unsigned char header[WS_HEADER_MAX];
	size_t header_len;
	unsigned char control[WS_CONTROL_MAX]; /* received part of an incomplete control frame */
	size_t control_len;
	uint64_t left; /* missing bytes of the frame's payload */
	unsigned char mask[4];
	unsigned mask_at; /* index of the next byte of the mask */
	enum ws_op op;
	bool fin, in_payload, in_message, halted;
	int failed; /* the error of ws_feed, which later calls return again */
	const char *reason;
};

void ws_init(struct ws *w, enum ws_role role, size_t limit);
void ws_done(struct ws *w);
/* Feed bytes, which may be changed. 0; -EPROTO or -EMSGSIZE: close the connection, *reason is a
 * static text. -EMSGSIZE is returned as soon as the length is known. Messages after a close frame
 * are not delivered. Handlers may call ws_halt, not ws_feed or ws_done. */
int ws_feed(struct ws *w, char *bytes, size_t len, const struct ws_events *ev, void *ctx,
	    const char **reason);
/* Deliver no more messages. */
void ws_halt(struct ws *w);

/* The header of an unfragmented frame of len bytes; returns its length, at most WS_HEADER_MAX.
 * mask NULL: none. */
size_t ws_header(unsigned char out[WS_HEADER_MAX], enum ws_op op, uint64_t len,
		 const unsigned char mask[4]);
/* Xor bytes with the mask, beginning at its first byte. */
void ws_mask(char *bytes, size_t len, const unsigned char mask[4]);

#define WS_KEY_SIZE    25 /* base64 of 16 bytes and NUL */
#define WS_ACCEPT_SIZE 29 /* base64 of 20 bytes and NUL */
/* The Sec-WebSocket-Accept for a key. False, and an empty text, when the key is not base64 of 16
 * bytes. */
bool ws_accept(const char *key, size_t key_len, char out[WS_ACCEPT_SIZE]);
