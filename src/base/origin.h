/* origin.h - are we still the process that made this, or a fork of it?
 *
 * Asked at the door of every function of the library, so it must cost nothing: a page that the
 * kernel empties in a forked child. getpid() would be a system call, and pthread_atfork a trace in
 * the host. Threads: any.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct origin {
	const volatile char *page; /* NULL: there is none, and `pid` is asked */
	pid_t pid;
};

void origin_init(struct origin *o);
bool origin_is_here(const struct origin *o);
void origin_done(struct origin *o);
