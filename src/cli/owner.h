/* owner.h - the owner of a verb that replaces `killick run`: the verb ends when the owner ends.
 *
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdint.h>

#include "base/loop.h"
#include "keeper/options.h"

/* Find the owner as `killick run` does, and call on_dead when it ends. The end of the parent
 * continues this process if it was stopped. Without an owner that can be
 * awaited (--owner stdin, a parent outside of this pid namespace) w->fd stays -1. Returns 0, or an
 * exit status after an error was printed: there is no such process, or the parent is gone. */
int owner_watch(struct loop *loop, const char *verb, const struct options *o, struct loop_watch *w,
		void (*on_dead)(struct loop_watch *w, uint32_t events));
