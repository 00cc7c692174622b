/* pump.h - writes bytes to stdout or stderr from a separate thread.
 *
 * The reader of the output may be slow, so the loop must not block in a write. Other processes may
 * share the descriptor, so it must not become non-blocking. The caller bounds the queue with
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
	int broken; /* errno of a failed write, after which bytes are dropped; 0: none failed */
	/* Called with the lock when the pump is no longer full, or is broken. */
	void (*on_change)(void *ctx);
	void *ctx;
};

int pump_start(struct pump *p, struct err *e); /* loop, fd, on_change and ctx must be set */
void pump_add(struct pump *p, const char *bytes, size_t len);
bool pump_is_full(const struct pump *p);
/* Call after the last pump_add. */
void pump_finish(struct pump *p);
/* Are all bytes written, or is the pump broken? */
bool pump_is_done(const struct pump *p);
