/* executor.h - runs and holds processes for remote owners.
 *
 * An owner (owner.h) is a client that called `initialize`. An owner has processes (process.h), and
 * a connection or a lease that runs. Every process is held by a keeper, so the executor may crash
 * at any point: the executor never forks, kills or reaps.
 *
 * Life: executor_open -> executor_adopt for every channel -> executor_close -> on_closed.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/loop.h"
#include "net/channel.h"

struct executor;

struct executor_options {
	const char *keeper;  /* path of the program killick */
	char *const *envp;   /* the executor's own environment: what envPolicy inherits from */
	enum level contain;  /* for processes that request no level */
	const char *sandbox; /* path of bwrap(1); NULL: requests with a sandbox are refused */
	int64_t lease_ms, retain_ms; /* 0: the defaults of wire.h */
	unsigned max_processes;      /* of all owners together, 0: 1024 */
	unsigned max_requests;       /* in flight on one connection, 0: 1024 */
	size_t write_queue;          /* bytes that wait for one process, 0: 8 MiB */
	size_t max_output;           /* bytes of all processes' output, 0: 512 MiB */
	void *ctx;
	/* One line, without a newline: a process began or ended, an owner came or went. */
	void (*on_log)(void *ctx, const char *line);
	void (*on_closed)(void *ctx); /* after executor_close: every tree is proved gone */
};

int executor_open(struct loop *loop, const struct executor_options *options, struct executor **out,
		  struct err *e);
/* Accept a connection; the executor owns the channel now. last: when the connection ends, its owner
 * ends at once, without a lease (stdio). on_gone, which may be NULL, is called when the connection
 * is closed and, with last, its processes are gone. */
void executor_adopt(struct executor *x, struct channel *c, bool last, void (*on_gone)(void *ctx),
		    void *ctx);
/* End everything: no more requests, every process is killed (SIGTERM first, grace_ms later
 * SIGKILL), then on_closed. May be called again with a shorter grace. */
void executor_close(struct executor *x, unsigned grace_ms);
void executor_free(struct executor *x); /* after on_closed */
