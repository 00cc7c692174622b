/* resolve.h - looks up the addresses of a host without blocking the loop.
 *
 * A lookup blocks, for half a minute when a name server does not answer. So a separate thread does
 * it (lookup.h), without access to the loop: the thread may outlive the request, and then its
 * result is dropped. Life: resolve_begin -> done, from the loop -> freed. resolve_cancel before
 * done: done is not called. Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include "base/err.h"
#include "base/loop.h"
#include "os/lookup.h"

struct resolve;

#define RESOLVE_MAX LOOKUP_MAX

/* count 0: failed, for the reason `why`. Borrowed. */
typedef void (*resolve_fn)(void *ctx, const struct address *list, unsigned count,
			   const struct err *why);

int resolve_begin(struct loop *loop, const char *host, unsigned port, resolve_fn done, void *ctx,
		  struct resolve **out, struct err *e);
void resolve_cancel(struct resolve *r);
