/* runtime.h - what the sessions of one killick_open share: the loop and its lock, the outbox, the
 * running servers.
 *
 * Everything here and in the other files of this folder is under the loop's lock, except what is
 * set once by killick_open. What happens is worked off in small steps from clean stacks: a step
 * that leads to another (a server is ready, so its session may be) sets a timer of zero
 * milliseconds, and the loop calls. So nothing is freed below the feet of its caller.
 */
#pragma once

#include <sys/types.h>

#include "killick/killick.h"
#include "base/loop.h"
#include "base/origin.h"
#include "base/spare.h"
#include "session/era.h"
#include "session/outbox.h"
#include "session/pool.h"
#include "session/report.h"
#include "base/ring.h"

enum runtime_state { RUNTIME_OPEN, RUNTIME_CLOSING, RUNTIME_CLOSED };
extern const char *const runtime_state_names[];

struct killick {
	/* set once */
	struct spare calls; /* struct killick_call */
	int64_t swept_us; /* when a server of ours was last told to look for lost trees; 0: never */
	struct origin origin; /* whose handle this is: not a child's that was forked */
	struct loop *loop;
	char *keeper, *client_name, *client_version;
	size_t message_limit;
	bool pulls; /* KILLICK_DISPATCH_PULL: items instead of callbacks */

	/* with the lock */
	enum runtime_state state;
	unsigned last_number; /* of its sessions and servers, for traces */
	struct outbox outbox;
	struct pool pool;
	struct eras eras;
	struct ring sessions, sites;
	unsigned open_sessions; /* those that are not closed */
	unsigned inside;        /* threads that wait in one of our functions */
	struct endings endings; /* collected by killick_close */
};

/* Take the lock; KILLICK_ERR_FORKED and no lock when k is another process's. e may be NULL. */
int runtime_enter(struct killick *k, struct killick_error *e);
/* The same for functions that wait: KILLICK_ERR_USAGE when called from a callback. */
int runtime_enter_blocking(struct killick *k, struct killick_error *e);
void runtime_leave(struct killick *k);

/* Wait until done(ctx), or until_us (INT64_MAX: what is waited for has its own deadline). With the
 * lock, which is let go of meanwhile. Who makes it true calls loop_notify. The last answer of done.
 */
bool runtime_wait(struct killick *k, bool (*done)(void *ctx), void *ctx, int64_t until_us);

/* The same for what changes with the outbox. False: until_us came first. */
bool runtime_wait_for_callbacks(struct killick *k, bool (*done)(void *ctx), void *ctx,
				int64_t until_us);
/* Wait until no callback about subject runs, unless we are in one ourselves. False: until_us came
 * first. */
bool runtime_quiet(struct killick *k, const void *subject, int64_t until_us);
/* With the lock: if `given`, the host has passed a callback: start the callback thread unless it
 * runs. KILLICK_ERR_SYSTEM when the thread cannot be started. */
int runtime_want(struct killick *k, bool given, struct killick_error *e);
/* With the lock: something was begun whose outcome is told by a callback: see loop_attend. */
void runtime_attend(struct killick *k);
/* With the lock, which is let go of meanwhile, on a thread of the host that opened or closed
 * something: write what was learnt of eras to the cache. A file may block, so the loop's thread
 * does not do it. */
void runtime_save(struct killick *k);

struct waiter { /* of one thread, on its stack; zero: not told */
	bool told;
};
void waiter_wait(struct killick *k, struct waiter *w);
void waiter_tell(struct killick *k, struct waiter *w);

/* Fill in e, which may be NULL; returns code. */
int error_set(struct killick_error *e, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The one writer of the state. */
void runtime_go(struct killick *k, enum runtime_state to, const char *why);

/* Shall the server that is about to start look for trees whose keepers were killed? One of a crowd
 * that starts together does: each would look at all the others. */
bool runtime_sweeps(struct killick *k);
