/* engine_call.h - runs one command of a container engine, with a deadline.
 *
 * Threads: one.  Blocking: until the command ends, at most until the deadline.
 */
#pragma once

#include "base/buf.h"

/* Run `engine` (a program with its global options; the file is `program`, or with NULL the one that
 * the first word names in PATH) with `words` behind it, without stdin, stderr
 * and other descriptors, and add its output to `out`. Returns the exit status; -ETIMEDOUT: the
 * command was killed at the deadline (clock_us), but not the processes that it started; or -errno.
 */
int engine_call(const char *program, char *const *engine, const char *const *words,
		long long deadline_us, struct buf *out);
#define ENGINE_CALL(engine, deadline_us, out, ...)                                                 \
	engine_call(NULL, engine, (const char *const[]){ __VA_ARGS__, NULL }, deadline_us, out)
