/* ws.h - the frames of a WebSocket (RFC 6455), as bytes in and messages out.
 *
 * Both roles: a server reads masked frames and writes plain ones, a client the other way round. No
 * extension is known, so a reserved bit is an error. Text and binary messages are the same to us
 * (what is in them is checked as JSON, UTF-8 included). A message that is whole in what was fed, in
 * one frame, is handed on from there, unmasked in place; others are collected.
 * Threads: one at a time.  Blocking: never.
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
	/* Ping, pong or close; of a close the first two bytes are the code. Borrowed. */
	void (*on_control)(void *ctx, enum ws_op op, const char *bytes, size_t len);
};

struct ws {
	enum ws_role role;
	size_t limit; /* of a message, all its frames together; may be changed any time */
	/* private to ws.c */
	struct buf message; /* what has come of one that is split, unmasked */
	unsigned char header[WS_HEADER_MAX];
	size_t header_len;
	unsigned char control[WS_CONTROL_MAX]; /* what has come of a control frame that is split */
	size_t control_len;
	uint64_t left; /* bytes of the frame's payload that are to come */
	unsigned char mask[4];
	unsigned mask_at; /* byte of the mask that is next */
	enum ws_op op;
	bool fin, in_payload, in_message, halted;
	int failed; /* what ws_feed returned, and does from then on */
	const char *reason;
};

void ws_init(struct ws *w, enum ws_role role, size_t limit);
void ws_done(struct ws *w);
/* Feed bytes, which may be changed. 0, -EPROTO or -EMSGSIZE (also told before the bytes have come):
 * the connection is of no use any more; *reason is static then. Nothing is handed on behind a
 * close. Handlers may call ws_halt, not ws_feed or ws_done. */
int ws_feed(struct ws *w, char *bytes, size_t len, const struct ws_events *ev, void *ctx,
	    const char **reason);
/* Hand on nothing more. */
void ws_halt(struct ws *w);

/* The header of an unfragmented frame of len bytes; returns its length, at most WS_HEADER_MAX.
 * mask NULL: none. */
size_t ws_header(unsigned char out[WS_HEADER_MAX], enum ws_op op, uint64_t len,
		 const unsigned char mask[4]);
/* Xor bytes with the mask, beginning at its first byte. */
void ws_mask(char *bytes, size_t len, const unsigned char mask[4]);

#define WS_KEY_SIZE    25 /* base64 of 16 bytes and NUL */
#define WS_ACCEPT_SIZE 29 /* base64 of 20 bytes and NUL */
/* The answer to a key. False, and an empty text, when the key is not base64 of 16 bytes. */
bool ws_accept(const char *key, size_t key_len, char out[WS_ACCEPT_SIZE]);
