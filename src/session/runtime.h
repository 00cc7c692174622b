/* runtime.h - the runtime, which all sessions of one killick_open share: the loop and its lock, the
 * outbox, the running servers.
 *
 * The loop's lock protects all data here and in the other files of this folder, except fields that
 * killick_open sets once. Work is done in small steps: a step that leads to another step (a server
 * is ready, so its session may be ready) sets a timer of zero milliseconds, and the loop runs the
 * next step. So no function frees an object that its caller still uses.
 */
#pragma once

#include "killick/killick.h"
#include "base/loop.h"
#include "base/spare.h"
#include "base/workers.h"
#include "os/origin.h"
#include "session/catalogue.h"
#include "session/era.h"
#include "session/gate.h"
#include "session/outbox.h"
#include "session/pool.h"
#include "session/report.h"
#include "base/ring.h"

enum runtime_state { RUNTIME_OPEN, RUNTIME_CLOSING, RUNTIME_CLOSED };
extern const char *const runtime_state_names[];

/* What all servers do, for programs of killick (the hub). With the lock. The functions must not
 * change or free anything of the library. */
struct tally_call;
struct runtime_watcher {
	void (*on_state)(void *ctx, struct server *sv);
	void (*on_stderr)(void *ctx, struct server *sv, const char *bytes, size_t len);
	void (*on_call)(void *ctx, struct server *sv, const struct tally_call *call);
};

struct killick {
	/* set once, except calls and swept_us, which need the lock */
	struct spare calls;   /* spare memory for struct killick_call */
	int64_t swept_us;     /* when a starting server was last told to sweep; 0: never */
	struct origin origin; /* the process that owns this handle; a forked child does not */
	struct loop *loop;
	char *keeper, *client_name, *client_version;
	size_t message_limit;
	bool pulls; /* KILLICK_DISPATCH_PULL: items instead of callbacks */
	const struct runtime_watcher *watcher; /* NULL: none */
	void *watcher_ctx;

	/* with the lock */
	enum runtime_state state;
	unsigned last_number; /* of sessions and servers, for traces */
	struct outbox outbox;
	struct pool pool;
	struct eras eras;
	struct gate_memory askers;
	struct catalogue catalogue;
	struct ring sessions, sites;
	unsigned open_sessions; /* sessions that are not closed */
	unsigned inside;        /* threads that wait in a function of the library */
	struct endings endings; /* collected by killick_close */
	struct workers *workers; /* runtime_workers; NULL: not needed yet */
};

#define RUNTIME_FORKED "the handle belongs to the parent process; a forked child cannot use it"
/* Take the lock; KILLICK_ERR_FORKED and no lock when k belongs to another process. e may be NULL.
 */
int runtime_enter(struct killick *k, struct killick_error *e);
/* The same for functions that wait: KILLICK_ERR_USAGE when called from a callback. */
int runtime_enter_blocking(struct killick *k, struct killick_error *e);
void runtime_leave(struct killick *k);

/* Wait until done(ctx) is true, or until_us (INT64_MAX: the awaited event has its own deadline).
 * With the lock, which is released meanwhile. The code that makes done(ctx) true calls loop_notify.
 * Returns the last answer of done. */
bool runtime_wait(struct killick *k, bool (*done)(void *ctx), void *ctx, int64_t until_us);

/* The same for conditions that change with the outbox. False: until_us came first. */
bool runtime_wait_for_callbacks(struct killick *k, bool (*done)(void *ctx), void *ctx,
				int64_t until_us);
/* Wait until no callback about subject runs, unless the calling thread is inside a callback. False:
 * until_us came first. */
bool runtime_quiet(struct killick *k, const void *subject, int64_t until_us);
/* With the lock: if `given`, the host has passed a callback: start the callback thread unless it
 * runs. KILLICK_ERR_SYSTEM when the thread cannot be started. */
int runtime_want(struct killick *k, bool given, struct killick_error *e);
/* With the lock: an operation was begun that reports its outcome by a callback: see loop_attend. */
void runtime_attend(struct killick *k);
/* With the lock, which is released meanwhile, on a thread of the host that opens or closes
 * something: write new eras to the cache file. File access may block, so the loop's thread does not
 * write. */
void runtime_save(struct killick *k);

/* With the lock: the threads that use files; NULL: there is no descriptor for them. */
struct workers *runtime_workers(struct killick *k);

struct waiter { /* of one thread, on its stack; zero: still waiting */
	bool told;
};
void waiter_wait(struct killick *k, struct waiter *w);
void waiter_tell(struct killick *k, struct waiter *w);

/* Fill in e, which may be NULL. Returns code. */
int error_set(struct killick_error *e, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The only function that writes the state. */
void runtime_go(struct killick *k, enum runtime_state to, const char *why);

/* Shall the keeper of the server that is about to start sweep, that is, look for trees whose
 * keepers were killed? When many servers start together only one sweeps, because each sweep looks
 * at all trees. */
bool runtime_sweeps(struct killick *k);
