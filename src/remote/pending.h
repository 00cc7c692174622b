/* pending.h - requests that were sent and wait for their answers, by id.
 *
 * One is embedded in whatever made it. Life: pending_add, which gives it an id -> pending_take when
 * the answer comes, or pending_drop when nobody wants it any more.
 * Threads: one at a time.  Blocking: never.  Allocates: never.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpc/message.h"

#define PENDING_BUCKETS 128

struct pending { /* zero: not sent */
	uint64_t id;
	struct pending *chain;
	/* A result or an error; it is not pending any more. */
	void (*on_answer)(struct pending *p, const struct message *m);
};

struct pendings { /* zero: none */
	struct pending *buckets[PENDING_BUCKETS];
	uint64_t last_id;
};

void pending_add(struct pendings *all, struct pending *p,
		 void (*on_answer)(struct pending *p, const struct message *m));
/* The one that has this id, which is none of them then; NULL: there is none. */
struct pending *pending_take(struct pendings *all, uint64_t id);
/* Harmless when it is not sent. */
void pending_drop(struct pendings *all, struct pending *p);
/* None of them will be answered. */
void pending_drop_all(struct pendings *all);
