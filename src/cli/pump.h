/* pump.h - bytes for an output of ours, which a thread of its own writes.
 *
 * Whoever reads the output may be slow, and may share it with others, so it is neither waited for
 * with the loop's lock nor made non-blocking. What waits is bounded by its user, who looks at
 * pump_is_full.
 *
 * Life: pump_start -> pump_add ... -> pump_finish -> pump_is_done. A thread that hangs in a write
 * ends with the program.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"

#define PUMP_HIGH (256u << 10) /* bytes */
#define PUMP_LOW  (64u << 10)

struct pump {
	struct loop *loop;
	int fd;
	struct buf waiting;
	size_t writing; /* bytes that are being written */
	bool full, finished, done;
	int broken; /* errno of a write that failed, and what comes is dropped; 0: none did */
	/* It is full no more, or broken. With the lock. */
	void (*on_change)(void *ctx);
	void *ctx;
};

int pump_start(struct pump *p, struct err *e); /* loop, fd, on_change and ctx are set */
void pump_add(struct pump *p, const char *bytes, size_t len);
bool pump_is_full(const struct pump *p);
/* Nothing more comes. */
void pump_finish(struct pump *p);
/* Everything is written, or cannot be. */
bool pump_is_done(const struct pump *p);
