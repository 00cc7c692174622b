/* greet.h - one connection to a listener, until it becomes a channel or is refused.
 *
 *	TLS -> head (10 s, 8 KiB) -> a channel
 *	                          -> an answer, a short wait for it to be read, the end
 *
 * Life: greet_begin -> on_channel, or it frees itself; greet_end_all before that.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include "base/loop.h"
#include "base/ring.h"
#include "net/channel.h"
#include "net/stream.h"

#define GREET_MS 10000

struct greet;
struct seat;

struct greet_rules { /* of the listener; borrowed */
	struct loop *loop;
	struct tls_context *tls;           /* NULL: none */
	const unsigned char *token_sha256; /* NULL: no token is required */
	bool lines;                        /* lines without HTTP are allowed */
	size_t send_limit;
	struct ring all; /* of greets */
	void (*on_channel)(void *ctx, struct channel *c);
	void (*on_note)(void *ctx, const char *peer, const char *text);
	void *ctx;
};

struct greet_peer { /* borrowed for the time of the call */
	const char *name;
	long pid;          /* of the process that connected; 0: not known */
	int process;       /* its descriptor (os/process.h), moved; -1: none */
	bool stranger;     /* another user's process on a unix socket: it must send a token */
	struct seat *seat; /* of the stream; lives as long as the stream */
};

/* Takes ownership of the stream. */
void greet_begin(struct greet_rules *rules, struct stream *s, const struct greet_peer *peer);
/* End all greets. */
void greet_end_all(struct greet_rules *rules);
