/* resolve.h - the addresses of a host, looked up without holding anybody up.
 *
 * getaddrinfo blocks, for half a minute when a name server is away. So a thread of its own calls
 * it, which knows nothing of the loop: it may outlive whoever asked, and then nobody hears of it.
 * Life: resolve_begin -> done, from the loop -> it is gone. resolve_cancel before done: done is not
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

/* count 0: why says it. Borrowed. */
typedef void (*resolve_fn)(void *ctx, const struct address *list, unsigned count,
			   const struct err *why);

/* An address that is written as one (127.0.0.1, ::1): 1, else 0. Needs no thread. */
int resolve_literal(const char *host, unsigned port, struct address *out);
int resolve_begin(struct loop *loop, const char *host, unsigned port, resolve_fn done, void *ctx,
		  struct resolve **out, struct err *e);
void resolve_cancel(struct resolve *r);
/* "127.0.0.1:4711", "[::1]:80". */
void address_text(const struct address *a, char *out, size_t size);
