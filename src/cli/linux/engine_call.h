/* engine_call.h - runs one command of a container engine, with a deadline.
 *
 * Threads: one.  Blocking: until the command ends, at most until the deadline, and 1 s for a
 * command that was killed.
 */
#pragma once

#include "base/buf.h"

/* Run `engine`, which is a program with its global options, with `words` behind it. The executed
 * file is `program`; with NULL the first word of `engine` is looked up in PATH. The command gets no
 * descriptor of this process; its output is added to `out`. Returns the exit status;
 * -ETIMEDOUT: the command was killed at the deadline (clock_us), but not the processes that it
 * started; or -errno. */
int engine_call(const char *program, char *const *engine, const char *const *words,
		long long deadline_us, struct buf *out);
#define ENGINE_CALL(engine, deadline_us, out, ...)                                                 \
	engine_call(NULL, engine, (const char *const[]){ __VA_ARGS__, NULL }, deadline_us, out)
