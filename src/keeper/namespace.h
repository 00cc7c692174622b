/* namespace.h - a pid namespace for one tree, with the hold as its pid 1.
 *
 * The kernel ends everything in it when its pid 1 ends, whoever else is dead: that is the whole
 * point. Root needs no user namespace for it; others get one in which they are themselves and
 * nobody else, so setuid programs lose their effect there. Threads: one.  Allocates: never.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct namespace
{
	bool user; /* there is a user namespace around it */
	uid_t uid; /* ours outside */
	gid_t gid;
};

/* fork into a new pid namespace; returns as fork does, -1 with errno when the machine does not
 * allow it. The child continues with namespace_settle. */
pid_t namespace_fork(struct namespace *ns);

/* In the child: be inside who we were outside. -errno: the namespace is there but useless (AppArmor
 * does this). */
int namespace_settle(const struct namespace *ns);
