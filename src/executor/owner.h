/* owner.h - a remote owner: a client that called `initialize`, known by the session's id.
 *
 *	attached <--> away --lease is over--> ended
 *
 * While the owner is attached, the output of its processes is pushed, one piece of each process in
 * turn; while it is away, its processes run on until their output fills the retention. Its lease
 * runs from its last message; when the lease is over, all its processes are ended, and then the
 * owner is freed.
 *
 * Life: owner_new -> owner_attach, owner_detach ... -> owner_end; frees itself when its last
 * process is gone.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/loop.h"
#include "base/ring.h"

#define OWNER_ID_SIZE     37 /* a uuid and a NUL */
#define OWNER_CLIENT_SIZE 64

struct executor;
struct connection;
struct files_share;
struct process;

struct owner {
	struct executor *executor;
	unsigned number; /* for traces; the id is a secret */
	struct ring in_executor;
	struct connection *connection; /* NULL: away */
	bool ended;
	bool idle_away; /* counted in executor.idle_away */
	char id[OWNER_ID_SIZE];
	char client[OWNER_CLIENT_SIZE]; /* its name, and its label behind it */
	struct ring processes;          /* all whose link or entry is left */
	struct ring due;                /* processes that have something to push */
	struct ring closed;             /* processes that may be forgotten, the oldest first */
	size_t closed_count, closed_bytes;
	unsigned unheard;      /* closed processes whose `closed` was not pushed yet */
	size_t held_bytes;     /* of writes that wait */
	uint64_t pushed_bytes; /* of output, ever */
	struct files_share *files;
	int64_t away_us; /* when it was last heard of */
	struct loop_timer lease;
	struct loop_timer patience; /* after it came back: time to read the output that it missed */
	void (*on_gone)(void *ctx); /* called when the owner is freed */
	void *on_gone_ctx;
};

struct owner *owner_new(struct executor *x, struct json client, struct json label);
struct owner *owner_find(struct executor *x, struct json id);
void owner_attach(struct owner *o, struct connection *c);
/* The owner connects again while it is attached: a client that knows its id is the owner. True: the
 * old connection was silent for a while, or has ended, and was dropped. */
bool owner_yields(struct owner *o);
/* The connection ended; the owner was last heard of at heard_us. */
void owner_detach(struct owner *o, int64_t heard_us);
/* Milliseconds that are left of its lease, -1: it is attached. */
int64_t owner_lease_ms(const struct owner *o);
/* Every process is ended: SIGTERM, grace_ms later SIGKILL. The owner may be freed when this
 * returns. */
void owner_end(struct owner *o, unsigned grace_ms);
/* Free the owner if it has ended and no process is left. */
void owner_settle(struct owner *o);

/* p has something to push. */
void owner_due(struct owner *o, struct process *p);
/* Push what is due, as long as there is room. */
void owner_push(struct owner *o);
