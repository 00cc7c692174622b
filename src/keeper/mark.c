/* mark.c - see mark.h */
#include "mark.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "dir.h"
#include "proc.h"

struct mark_search {
	const char *mark;
	unsigned long long own; /* pid namespace */
	struct mark_found found;
	int error; /* errno of the first look that failed for want of descriptors or memory */
};

/* Is it in another pid namespace than ours, and so below ours? One system call without a
 * descriptor: most processes are not, and need no further look. */
static bool mark_is_below(const struct mark_search *s, int procfd, pid_t pid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "%d/ns/pid", pid);
	return fstatat(procfd, path, &st, 0) == 0 && st.st_ino != s->own;
}

/* The pidfd comes first: what is asked afterwards is about the process that is struck. */
static void mark_meet(struct mark_search *s, pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct proc_stat st;

	if (fd < 0) {
		if (errno != ESRCH)
			s->error = errno;
		return;
	}
	if (proc_has_env(pid, s->mark) == 1 && proc_stat_get(pid, &st) == 0 && proc_is_alive(&st)) {
		s->found.below++;
		syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
	}
	close(fd);
}

static int mark_look_at(void *ctx, int dirfd, const char *name)
{
	struct mark_search *s = ctx;
	pid_t pid = (pid_t)atoi(name);
	int has;

	if (pid <= 1 || pid == getpid() || !mark_is_below(s, dirfd, pid))
		return 0;
	has = proc_has_env(pid, s->mark);
	if (has == 1)
		mark_meet(s, pid);
	else if (has == -EMFILE || has == -ENFILE || has == -ENOMEM)
		s->error = -has;
	return s->error;
}

/* In the looking process. */
static void mark_look(const char *mark, struct mark_found *found)
{
	struct mark_search s = { .mark = mark, .own = proc_pid_namespace() };
	struct rlimit files = { 64, 64 };
	int r, fd;

	setrlimit(RLIMIT_NOFILE, &files); /* as root, in case the server has lowered it */
	fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || !s.own || !proc_is_own()) {
		found->error = fd < 0 ? errno : ENODEV;
		return;
	}
	r = dir_each(fd, mark_look_at, &s);
	s.found.error = s.error ? s.error : r < 0 ? -r : 0;
	s.found.whole = s.found.error == 0;
	*found = s.found;
}

struct mark_found *mark_room(void)
{
	void *room = mmap(NULL, sizeof(struct mark_found), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return room == MAP_FAILED ? NULL : room;
}

int mark_strike(const char *mark, struct mark_found *found)
{
	const struct timespec pause = { .tv_nsec = 5000000 };
	long long end_us = clock_us() + MARK_MS * 1000LL;
	pid_t self = getpid(), pid;
	sigset_t chld;

	*found = (struct mark_found){ .whole = false };
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == self)
			mark_look(mark, found);
		_exit(0);
	}
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	while (waitpid(pid, NULL, WNOHANG | __WALL) == 0) {
		if (clock_us() >= end_us)
			kill(pid, SIGKILL);
		if (clock_us() >= end_us + MARK_MS * 1000LL)
			break; /* it cannot even die: the kernel keeps it */
		sigtimedwait(&chld, NULL, &pause);
	}
	if (found->whole)
		return found->below;
	return found->error ? -found->error : -ETIME;
}
