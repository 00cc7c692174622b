/* namespace.c - see namespace.h */
#include "namespace.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proc.h"

static pid_t fork_with(unsigned long flags)
{
	/* clone(2) without a stack is fork; x86-64, arm64 and riscv agree on the first two
	 * arguments */
	return (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0UL, 0UL, 0UL, 0UL);
}

pid_t namespace_fork(struct namespace *ns)
{
	pid_t pid = -1;

	ns->uid = geteuid();
	ns->gid = getegid();
	ns->user = false;
	if (ns->uid == 0)
		pid = fork_with(CLONE_NEWPID);
	if (pid < 0) {
		ns->user = true; /* set before the fork, because the child reads it */
		pid = fork_with(CLONE_NEWPID | CLONE_NEWUSER);
	}
	return pid;
}

int namespace_settle(const struct namespace *ns)
{
	char text[64];
	int r;

	assert(getpid() == 1); /* pid 1 of the new namespace, and its only process */
	if (!ns->user)
		return 0;
	r = proc_write_file(AT_FDCWD, "/proc/self/setgroups",
			    "deny"); /* otherwise the kernel refuses the gid map */
	if (r < 0 && r != -ENOENT)
		return r;
	snprintf(text, sizeof(text), "%u %u 1", ns->uid, ns->uid);
	r = proc_write_file(AT_FDCWD, "/proc/self/uid_map", text);
	if (r < 0)
		return r;
	snprintf(text, sizeof(text), "%u %u 1", ns->gid, ns->gid);
	return proc_write_file(AT_FDCWD, "/proc/self/gid_map", text);
}
