/* tree.c - see tree.h */
#include "tree.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "dir.h"
#include "exec.h"
#include "proc.h"
#include "step.h"

#define ROUND_MS 10 /* how long one round of killing waits for somebody to die */

/* --- starting --- */

struct clone3_args { /* the kernel's clone_args as of 5.7; libc has no wrapper */
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
		set_tid_size, cgroup;
};
#define CLONE3_INTO_CGROUP 0x200000000ULL

/* fork, but the child's first instruction is already inside the cgroup: no window to escape
 * through, and none of the milliseconds that moving a process costs. */
static pid_t fork_into(int cgroup_fd)
{
	struct clone3_args args = {
		.flags = CLONE3_INTO_CGROUP,
		.exit_signal = SIGCHLD,
		.cgroup = (uint64_t)cgroup_fd,
	};

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

static void say(int fd, enum tree_news news, int value)
{
	struct tree_word w = { .news = news, .value = value };

	while (write(fd, &w, sizeof(w)) < 0 && errno == EINTR)
		;
}

static _Noreturn void give_up(int fd, enum tree_news news, int error)
{
	say(fd, news, error);
	_exit(127);
}

/* Who are we in /proc's own namespace? The link is made for whoever reads it. */
static int pid_in_proc(void)
{
	char text[32];
	ssize_t n = readlink("/proc/self", text, sizeof(text) - 1);

	if (n <= 0)
		return getpid();
	text[n] = '\0';
	return atoi(text);
}

static int mount_own_proc(void)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ||
	    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return -errno;
	return 0;
}

/* No descriptor above 2 outlives exec, whoever forgot to mark it. */
static void close_above_stdio_at_exec(void)
{
	const unsigned close_range_cloexec = 4;

#ifdef SYS_close_range
	if (syscall(SYS_close_range, 3u, ~0u, close_range_cloexec) == 0)
		return;
#endif
	struct rlimit lim;
	int max = getrlimit(RLIMIT_NOFILE, &lim) == 0 && lim.rlim_cur < 65536 ? (int)lim.rlim_cur
									      : 65536;

	(void)close_range_cloexec;
	for (int fd = 3; fd < max; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* Ignored signals and the blocked mask cross exec: a server that inherits SIGTERM blocked never
 * hears it. By raw system calls, because a libc keeps some numbers to itself; for the kernel, all
 * zeros is "default" and "none blocked". */
static void default_signals(void)
{
	static const uint64_t zeros[8];
	const size_t set_size = sizeof(uint64_t);

	for (int sig = 1; sig <= 64; sig++)
		syscall(SYS_rt_sigaction, sig, zeros, NULL,
			set_size); /* fails for KILL and STOP: right so */
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, zeros, NULL, set_size);
}

/* A client's loop may have left its end's flag on ours; servers expect blocking stdio. */
static void blocking_stdio(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		int flags = fcntl(fd, F_GETFL);
		if (flags >= 0 && (flags & O_NONBLOCK))
			fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
	}
}

static _Noreturn void become_server(const struct tree *t, const struct tree_spec *spec,
				    pid_t parent, bool inside, int fd)
{
	int r;

	STEP(CHILD_BOTH);
	if (spec->terminal) {
		setsid();
		ioctl(STDIN_FILENO, TIOCSCTTY, 0);
	} else {
		setpgid(0, 0);
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it died before the line above: nobody would tell us */
		_exit(127);
	if (t->pidns)
		say(fd, NEWS_PID, pid_in_proc());
	if (!inside && (r = cgroup_enter(&t->cg)) < 0) {
		if (spec->need_cgroup)
			give_up(fd, NEWS_FAILED_CGROUP, -r);
		say(fd, NEWS_OUTSIDE, -r);
	}
	if ((r = cgroup_enter_limits(&t->cg)) < 0)
		give_up(fd, NEWS_FAILED_LIMIT, -r);
	if (spec->nproc) {
		struct rlimit lim = { spec->nproc, spec->nproc };
		if (setrlimit(RLIMIT_NPROC, &lim) < 0)
			give_up(fd, NEWS_FAILED_LIMIT, errno);
	}
	if (spec->own_proc && (r = mount_own_proc()) < 0)
		say(fd, NEWS_PROC, -r);
	/* by the server's own process: a file system that does not answer stops nobody else */
	if (spec->cwd && chdir(spec->cwd) < 0)
		give_up(fd, NEWS_FAILED_CWD, errno);
	blocking_stdio();
	close_above_stdio_at_exec();
	default_signals();
	give_up(fd, NEWS_FAILED_EXEC,
		-exec_command(spec->file, spec->argv, spec->envp, spec->sh_argv));
}

int tree_spawn(struct tree *t, const struct tree_spec *spec, int *out_fd, int *out_clone_errno)
{
	pid_t parent = getpid(), pid = -1;
	bool inside = false;
	int fds[2];

	assert(t->main == 0);
	*out_clone_errno = 0;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	if (t->cg.fd >= 0) {
		pid = fork_into(t->cg.fd);
		inside = pid >= 0;
		if (!inside)
			*out_clone_errno = errno;
	}
	if (!inside)
		pid = fork();
	if (pid == 0)
		become_server(t, spec, parent, inside, fds[1]);
	close(fds[1]);
	if (pid < 0) {
		int error = errno;
		close(fds[0]);
		return -error;
	}
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	t->main = pid;
	*out_fd = fds[0];
	return 0;
}

/* --- ending --- */

void tree_signal(const struct tree *t, int sig, bool group)
{
	if (t->main == 0 || t->exited)
		return;
	/* before its setpgid there is no such group yet; the process itself is always there until
	 * we reap it */
	if (!group || kill(-t->main, sig) < 0)
		kill(t->main, sig);
}

static int wait_status(const siginfo_t *si)
{
	return si->si_code == CLD_EXITED ? si->si_status << 8 : si->si_status;
}

bool tree_reap(struct tree *t)
{
	for (;;) {
		siginfo_t si = { .si_pid = 0 };

		/* __WALL: a child made by clone with another exit signal is a child all the same */
		if (waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0) {
			if (errno == EINTR)
				continue;
			return errno == ECHILD;
		}
		if (si.si_pid == 0)
			return false;
		if (si.si_pid == t->main) {
			/* a server's end is the end of its tree; not yet reaped, its group is still
			 * its own */
			if (!t->lingers)
				kill(-t->main, SIGKILL);
			t->exited = true;
			t->status = wait_status(&si);
		} else if (t->killing) {
			t->killed++;
		}
		waitid(P_PID, (id_t)si.si_pid, &si, WEXITED | __WALL);
	}
}

/* Our children as /proc lists them. The kernel's own list where it has one (CONFIG_PROC_CHILDREN)
 * ... */
static int children_listed(pid_t *pids, int max)
{
	char text[16384];
	int n = 0;

	if (proc_read_file(AT_FDCWD, "/proc/thread-self/children", text, sizeof(text)) < 0)
		return -ENOENT;
	for (char *p = text; n < max;) {
		char *end;
		long pid = strtol(p, &end, 10);
		if (end == p)
			break;
		pids[n++] = (pid_t)pid;
		p = end;
	}
	return n;
}

struct scan {
	pid_t *pids, parent;
	int n, max;
};

static int scan_one(void *ctx, int dirfd, const char *name)
{
	struct scan *s = ctx;
	struct proc_stat st;
	pid_t pid = (pid_t)atoi(name);

	(void)dirfd;
	if (pid > 0 && s->n < s->max && proc_stat_get(pid, &st) == 0 && st.ppid == s->parent)
		s->pids[s->n++] = pid;
	return 0;
}

/* ... else by everybody's parent. */
static int children_scanned(pid_t *pids, int max)
{
	struct scan s = { .pids = pids, .max = max, .parent = pid_in_proc() };
	int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	dir_each(fd, scan_one, &s);
	close(fd);
	return s.n;
}

int tree_survivors(const struct tree *t, pid_t *pids, int max)
{
	int n = children_listed(pids, max);

	(void)t;
	return n >= 0 ? n : children_scanned(pids, max);
}

/* Only children: nobody but us can reap them, so their pids are theirs. Deeper descendants become
 * our children as their parents die, within the same few rounds. A group kill is atomic against
 * fork, a pid kill is not: so the group of a child that leads one, first. Never the group of one
 * that does not: a hostile child may have joined any group of our session, the client's as well. */
static void kill_children(const struct tree *t)
{
	pid_t pids[1024];
	int n = tree_survivors(t, pids, (int)(sizeof(pids) / sizeof(pids[0])));

	for (int i = 0; i < n; i++) {
		if (getpgid(pids[i]) == pids[i])
			kill(-pids[i], SIGKILL);
		kill(pids[i], SIGKILL);
	}
}

static void kill_round(const struct tree *t)
{
	cgroup_kill(&t->cg);
	if (t->pidns) {
		assert(getpid() == 1);
		kill(-1, SIGKILL); /* all of our namespace but ourselves */
	} else if (t->level == LEVEL_GROUP) {
		tree_signal(t, SIGKILL, true);
	} else {
		kill_children(t);
	}
}

static void wait_for_a_death(int ms)
{
	struct timespec ts = { .tv_nsec = ms * 1000000L };
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigtimedwait(&chld, NULL, &ts);
}

int tree_kill(struct tree *t, unsigned budget_ms)
{
	long long deadline = clock_us() + budget_ms * 1000LL;
	pid_t pids[64];
	int n;

	for (;;) {
		bool none = tree_reap(t);
		/* at level group our children say nothing of the group: strike it once, unless
		 * main's end did */
		bool struck = t->level != LEVEL_GROUP || t->exited || t->killing;

		if (none && struck && cgroup_is_empty(&t->cg))
			break;
		if (clock_us() >= deadline) {
			n = tree_survivors(t, pids, 64);
			return n > 0 ? n : 1;
		}
		t->killing = true;
		kill_round(t);
		STEP(HOLD_KILLED);
		wait_for_a_death(ROUND_MS);
	}
	t->proof_waitid = t->level != LEVEL_GROUP;
	t->proof_cgroup = t->cg.fd >= 0;
	t->proof_group = t->level == LEVEL_GROUP;
	return 0;
}
