/* namespace.h - a pid namespace for one tree, with the hold as its pid 1.
 *
 * The kernel ends every process in the namespace when its pid 1 ends, even if all keepers are dead.
 * Root needs no user namespace; other users get one in which only their own user id is mapped, so
 * setuid programs have no effect there. Threads: one.  Allocates: never.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct namespace
{
	bool user; /* the pid namespace is inside a new user namespace */
	uid_t uid; /* the user outside */
	gid_t gid;
};

/* fork into a new pid namespace; returns like fork, -1 with errno when the machine does not allow
 * the namespace. The child continues with namespace_settle. */
pid_t namespace_fork(struct namespace *ns);

/* In the child: map the user and group of the parent. -errno: the namespace exists, but cannot be
 * used (AppArmor does this). */
int namespace_settle(const struct namespace *ns);
