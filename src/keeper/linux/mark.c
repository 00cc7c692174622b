/* mark.c - see mark.h */
#include "mark.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "control.h"
#include "dir.h"
#include "proc.h"
#include "record.h"

struct mark_search {
	const struct mark *m;
	int below;   /* marked processes in pid namespaces below ours */
	bool others; /* some there have the mark of another tree */
	int error;   /* errno of the first look that failed for want of descriptors or memory */
};

/* The pid of the process `name` in /proc, if it is in another pid namespace, which is then below
 * that of the keeper; otherwise 0. */
static pid_t mark_below(const struct mark *m, const char *name)
{
	char path[32], pidns[sizeof(m->pidns)];
	pid_t pid = (pid_t)atoi(name);
	size_t digits = strlen(name);
	ssize_t len;

	if (pid <= 1 || digits > 16)
		return 0;
	memcpy(path, name, digits + 1); /* called for many processes: snprintf would be slow */
	memcpy(path + digits, "/ns/pid", sizeof("/ns/pid"));
	len = readlinkat(m->proc_fd, path, pidns, sizeof(pidns) - 1);
	if (len <= 0) /* the process has just ended, or this user may not examine it */
		return 0;
	pidns[len] = '\0';
	return strcmp(pidns, m->pidns) != 0 ? pid : 0;
}

/* --- in the process that reads environments --- */

/* Open the handle first: then the later answers are about the process that gets the signal. */
static void mark_meet(struct mark_search *s, pid_t pid)
{
	int fd = proc_open(pid);
	struct proc_stat st;

	if (fd < 0) {
		if (fd != -ESRCH)
			s->error = -fd;
		return;
	}
	if (proc_has_env(pid, s->m->entry) == 1 && proc_stat_get(pid, &st) == 0 &&
	    proc_is_alive(&st)) {
		s->below++;
		proc_signal(fd, SIGKILL);
	}
	close(fd);
}

static bool mark_compare(void *ctx, const char *value)
{
	struct mark_search *s = ctx;
	bool ours = strcmp(value, s->m->entry + sizeof(TREE_ENV)) == 0;

	s->others = s->others || !ours;
	return ours;
}

static int mark_look_at(void *ctx, int dirfd, const char *name)
{
	struct mark_search *s = ctx;
	pid_t pid = mark_below(s->m, name);
	int has = pid ? proc_find_env(pid, TREE_ENV, mark_compare, s) : 0;

	(void)dirfd;
	if (has == 1)
		mark_meet(s, pid);
	else if (has < 0 && has != -ENODATA)
		s->error = -has;
	return s->error;
}

/* The answer is an exit status: how many there were and perhaps MARK_OTHERS, or MARK_FAILED and the
 * errno of the reason. */
enum { MARK_FAILED = 128, MARK_OTHERS = 64, MARK_COUNT = 63, MARK_ERRNO = 127 };

static _Noreturn void mark_look(const struct mark *m)
{
	struct mark_search s = { .m = m };
	struct rlimit files = { 64, 64 };
	int r;

	setrlimit(RLIMIT_NOFILE, &files); /* as root, if the server has lowered it */
	r = dir_each(m->proc_fd, mark_look_at, &s);
	if (r < 0)
		s.error = -r;
	if (s.error)
		_exit(MARK_FAILED | (s.error & MARK_ERRNO));
	_exit((s.others ? MARK_OTHERS : 0) | (s.below < MARK_COUNT ? s.below : MARK_COUNT));
}

/* --- in the keeper --- */

void mark_ready(struct mark *m, uint64_t *out_heeded)
{
	if (m->pidns[0] && !m->error) /* what a watch has opened is open in its hold */
		return;
	m->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
	m->error = m->proc_fd < 0 ? errno : 0;
	if (!m->error && (!proc_is_own(out_heeded) ||
			  readlink("/proc/self/ns/pid", m->pidns, sizeof(m->pidns) - 1) <= 0))
		m->error = ENODEV;
}

static int mark_stop_at_one(void *ctx, int dirfd, const char *name)
{
	(void)dirfd;
	return mark_below(ctx, name) != 0;
}

/* Wait for the process that looks, for twice MARK_MS at most. *out_clear: nobody has a mark. */
static int mark_wait(pid_t pid, bool *out_clear)
{
	const struct timespec pause = { .tv_nsec = 5000000 };
	long long end_us = clock_us() + MARK_MS * 1000LL;
	sigset_t chld;
	int status;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	while (waitpid(pid, &status, WNOHANG | __WALL) == 0) {
		if (clock_us() >= end_us)
			kill(pid, SIGKILL);
		if (clock_us() >= end_us + MARK_MS * 1000LL)
			return -ETIME; /* SIGKILL does not end it: it hangs in the kernel */
		sigtimedwait(&chld, NULL, &pause);
	}
	if (!WIFEXITED(status))
		return -ETIME;
	status = WEXITSTATUS(status);
	*out_clear = status == 0;
	return status & MARK_FAILED ? -(status & MARK_ERRNO) : status & MARK_COUNT;
}

/* *out_clear: what was seen shows that no tree has lost a process. */
static int mark_search(const struct mark *m, bool *out_clear)
{
	pid_t self = getpid(), pid;
	int r = m->error ? -m->error : dir_each(m->proc_fd, mark_stop_at_one, (void *)m);

	*out_clear = r == 0;
	if (r <= 0)
		return r;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid > 0)
		return mark_wait(pid, out_clear);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != self)
		_exit(0);
	mark_look(m);
}

int mark_strike(struct mark *m)
{
	bool asks = m->asks && !m->error, clear;
	char who[24 + sizeof(m->pidns)];
	int r;

	/* who could see less than we can, or other processes, has not looked for us */
	snprintf(who, sizeof(who), "%u %s", geteuid(), m->pidns);
	m->asks = false; /* what is struck takes a while to go, and the next look is ours */
	if (asks && control_ask(m->control_fd, who))
		return 0;
	r = mark_search(m, &clear);
	if (asks && clear)
		control_clear(m->control_fd, who);
	return r;
}
