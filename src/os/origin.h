/* origin.h - is this still the process that made an object, or a forked child?
 *
 * Every public function of the library asks this, so the check must be cheap: on Linux it reads a
 * page that the kernel zeroes in a forked child. getpid() would be a system call, and
 * pthread_atfork would leave a handler in the host. Windows has no fork: the answer is always yes.
 * Threads: any.  Blocking: never.
 */
#pragma once

#include <stdbool.h>

struct origin {
	const volatile char *page; /* NULL: no such page, compare `pid` with getpid() */
	int pid;
};

void origin_init(struct origin *o);
bool origin_is_here(const struct origin *o);
void origin_done(struct origin *o);
