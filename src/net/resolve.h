/* resolve.h - looks up the addresses of a host without blocking the loop.
 *
 * getaddrinfo blocks, for half a minute when a name server does not answer. So a separate thread
 * calls it, without access to the loop: the thread may outlive the request, and then its result is
 * dropped.
 * Life: resolve_begin -> done, from the loop -> freed. resolve_cancel before done: done is not
 * called. Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <sys/socket.h>

#include "base/err.h"
#include "base/loop.h"

struct resolve;

#define RESOLVE_MAX 8

struct address {
	struct sockaddr_storage at;
	socklen_t len;
};

/* count 0: failed, for the reason `why`. Borrowed. */
typedef void (*resolve_fn)(void *ctx, const struct address *list, unsigned count,
			   const struct err *why);

/* Parse an IP literal (127.0.0.1, ::1), without a thread. 1, or 0: not an IP literal. */
int resolve_literal(const char *host, unsigned port, struct address *out);
int resolve_begin(struct loop *loop, const char *host, unsigned port, resolve_fn done, void *ctx,
		  struct resolve **out, struct err *e);
void resolve_cancel(struct resolve *r);
/* "127.0.0.1:4711", "[::1]:80". */
void address_text(const struct address *a, char *out, size_t size);
