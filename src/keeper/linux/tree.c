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
#include "signals.h"
#include "step.h"

#define ROUND_MS      10      /* how long one round of killing waits for a process to die */
#define PID_MAX_LIMIT 4194304 /* the largest pid_max the kernel knows */

/* --- starting --- */

struct clone3_args { /* the kernel's clone_args as of 5.7; libc has no wrapper */
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
		set_tid_size, cgroup;
};
#define CLONE3_INTO_CGROUP 0x200000000ULL

/* fork, but the child starts inside the cgroup: it cannot escape before it is moved, and moving a
 * process would cost milliseconds. */
static pid_t tree_fork_into(int cgroup_fd)
{
	struct clone3_args args = {
		.flags = CLONE3_INTO_CGROUP,
		.exit_signal = SIGCHLD,
		.cgroup = (uint64_t)cgroup_fd,
	};

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

static void tree_say(int fd, enum tree_news news, int value)
{
	struct tree_word w = { .news = news, .value = value };

	while (write(fd, &w, sizeof(w)) < 0 && errno == EINTR)
		;
}

static _Noreturn void tree_give_up(int fd, enum tree_news news, int error)
{
	tree_say(fd, news, error);
	_exit(127);
}

/* The pid of this process in the namespace of /proc. The kernel makes the link for the process that
 * reads it. */
static int pid_in_proc(void)
{
	char text[32];
	ssize_t n = readlink("/proc/self", text, sizeof(text) - 1);

	if (n <= 0)
		return getpid();
	text[n] = '\0';
	return atoi(text);
}

int tree_mount_proc(void)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ||
	    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return -errno;
	return 0;
}

/* Ignored signals and the blocked mask survive exec: a server that inherits SIGTERM blocked never
 * gets it. Raw system calls are used, because a libc hides some signals; for the kernel, all zeros
 * mean "default" and "none blocked". A keeper catches no signal, so only ignored ones are not at
 * their default; 64 calls took 40 us of a start of 1.5 ms. */
void tree_default_signals(uint64_t heeded)
{
	static const uint64_t zeros[8];
	const size_t set_size = sizeof(uint64_t);

	for (int sig = 1; sig <= 64; sig++) {
		if (!(heeded >> (sig - 1) & 1)) /* fails for KILL and STOP, as expected */
			syscall(SYS_rt_sigaction, sig, zeros, NULL, set_size);
	}
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, zeros, NULL, set_size);
}

/* A client may have set O_NONBLOCK on the shared end; servers expect blocking stdio. */
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

	assert(parent > 0 && fd > STDERR_FILENO);
	STEP(CHILD_BOTH);
	if (spec->recipe->stdio == STDIO_TERMINAL) {
		setsid();
		ioctl(STDIN_FILENO, TIOCSCTTY, 0);
	} else if (!t->shares_group) {
		setpgid(0, 0);
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it died before the prctl, which then sends no signal */
		_exit(127);
	if (spec->announce)
		spec->announce(spec->ctx);
	if (t->pidns)
		tree_say(fd, NEWS_PID, pid_in_proc());
	if (!inside && (r = cgroup_enter(&t->cg)) < 0) {
		if (spec->need_cgroup)
			tree_give_up(fd, NEWS_FAILED_CGROUP, -r);
		tree_say(fd, NEWS_OUTSIDE, -r);
	}
	if ((r = cgroup_enter_limits(&t->cg)) < 0)
		tree_give_up(fd, NEWS_FAILED_LIMIT, -r);
	if (spec->nproc) {
		struct rlimit lim = { spec->nproc, spec->nproc };
		if (setrlimit(RLIMIT_NPROC, &lim) < 0)
			tree_give_up(fd, NEWS_FAILED_LIMIT, errno);
	}
	if (spec->own_proc && (r = tree_mount_proc()) < 0)
		tree_say(fd, NEWS_PROC, -r);
	/* done by the server's own process: a file system that does not answer blocks only this
	 * process */
	if (spec->recipe->cwd && chdir(spec->recipe->cwd) < 0)
		tree_give_up(fd, NEWS_FAILED_CWD, errno);
	blocking_stdio();
	stdio_only(true);
	tree_default_signals(t->heeded);
	tree_give_up(fd, NEWS_FAILED_EXEC,
		     -exec_command(spec->file, spec->recipe->argv, spec->envp, spec->sh_argv));
}

int tree_spawn(struct tree *t, const struct tree_spec *spec, int *out_fd, int *out_clone_errno)
{
	pid_t parent = getpid(), pid = -1;
	bool inside = false;
	int fds[2];

	assert(t->main == 0 && t->level != LEVEL_AUTO);
	assert(spec->recipe && spec->recipe->argv && spec->file && spec->envp && spec->sh_argv);
	*out_clone_errno = 0;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	if (t->cg.fd >= 0) {
		pid = tree_fork_into(t->cg.fd);
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

void tree_ready(struct tree *t)
{
	char text[32];

	assert(t->level != LEVEL_AUTO);
	t->children_fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	t->place_fd =
		t->cg.fd < 0 ? -1 : open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (!t->pidns && t->level != LEVEL_GROUP)
		mark_ready(&t->mark, &t->heeded);
	if (t->pid_max) /* what a watch has read is good for its hold */
		return;
	t->pid_max = proc_read_file(AT_FDCWD, "/proc/sys/kernel/pid_max", text, sizeof(text)) > 0
			     ? (pid_t)atoi(text)
			     : PID_MAX_LIMIT;
}

void tree_signal(const struct tree *t, int sig, bool group)
{
	if (t->main == 0 || t->exited)
		return;
	assert(t->main > 1); /* kill(-1) would reach every process of this user */
	/* before its setpgid the group does not exist yet; the process itself exists until it is
	 * reaped */
	if (!group || t->shares_group || kill(-t->main, sig) < 0)
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

		/* __WALL: also children that were made by clone with another exit signal */
		if (waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0) {
			if (errno == EINTR)
				continue;
			return errno == ECHILD;
		}
		if (si.si_pid == 0)
			return false;
		/* once reaped, the pid may be that of another process of a lingering tree */
		if (si.si_pid == t->main && !t->exited) {
			/* the tree ends with the server; before main is reaped, its group id is not
			 * reused */
			if (!t->lingers && !t->shares_group)
				kill(-t->main, SIGKILL);
			t->exited = true;
			t->status = wait_status(&si);
		} else if (t->killing && si.si_code == CLD_KILLED && si.si_status == SIGKILL) {
			t->killed++; /* other processes were about to exit by themselves */
		}
		waitid(P_PID, (id_t)si.si_pid, &si, WEXITED | __WALL);
	}
}

/* The children of this process from the kernel's list (CONFIG_PROC_CHILDREN); -errno where the list
 * does not exist. */
static int children_listed(const struct tree *t, pid_t *pids, int max)
{
	char text[4096];
	off_t at = 0;
	int n = 0;

	while (n < max) {
		ssize_t len = pread(t->children_fd, text, sizeof(text) - 1, at);
		char *p = text, *end;

		if (len < 0)
			return -errno;
		if (len == 0)
			break;
		text[len] = '\0';
		/* each pid is followed by a space: a pid without a space is incomplete, and is read
		 * again */
		for (long pid; n < max && (pid = strtol(p, &end, 10)) > 0 && *end == ' ';
		     p = end + 1)
			pids[n++] = (pid_t)pid;
		if (p == text)
			break;
		at += p - text;
	}
	return n;
}

/* The same without /proc and without a descriptor: waitid returns ECHILD for a pid that is not a
 * child. A call takes a quarter of a microsecond, so all pids take up to a second. */
static int children_probed(const struct tree *t, pid_t *pids, int max)
{
	int n = 0;

	for (pid_t pid = 1; pid <= t->pid_max && n < max; pid++) {
		siginfo_t si;
		if (waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0)
			pids[n++] = pid;
	}
	return n;
}

int tree_survivors(const struct tree *t, pid_t *pids, int max)
{
	int n = children_listed(t, pids, max);

	return n >= 0 ? n : children_probed(t, pids, max);
}

/* Only children are killed: no other process can reap them, so their pids are not reused. Deeper
 * descendants become children as their parents die, within the same few rounds. A group kill is
 * atomic against fork, a kill by pid is not: so the group of a child that leads one is killed
 * first. The group of a child that does not lead it is never killed: a hostile child may have
 * joined any group of the session, also the client's. */
static void kill_children(const struct tree *t)
{
	pid_t pids[1024] = { 0 };
	int n = tree_survivors(t, pids, (int)(sizeof(pids) / sizeof(pids[0])));

	assert(t->level != LEVEL_GROUP && !t->pidns);
	for (int i = 0; i < n; i++) {
		assert(pids[i] > 1);
		if (getpgid(pids[i]) == pids[i])
			kill(-pids[i], SIGKILL);
		kill(pids[i], SIGKILL);
	}
}

/* A server may have moved its keepers into the cgroup that they are about to kill. False: the
 * keeper is in it and cannot leave. */
static bool is_outside(const struct tree *t)
{
	char text[4096];

	if (t->place_fd < 0 || proc_read_again(t->place_fd, text, sizeof(text)) < 0)
		return true;
	return !cgroup_has_us(&t->cg, text) || cgroup_go_home(&t->cg) == 0;
}

static void kill_round(const struct tree *t)
{
	if (is_outside(t))
		cgroup_kill(&t->cg);
	if (t->pidns) {
		assert(getpid() == 1);
		kill(-1, SIGKILL); /* all processes of this namespace except this one */
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

/* No child is left; does a process carry the mark? True: none does, or the scan is not possible.
 * With its own pid namespace no process can have left it. */
static bool nobody_is_marked(struct tree *t)
{
	int r;

	if (!t->mark.entry || t->pidns || t->level == LEVEL_GROUP)
		return true;
	r = mark_strike(&t->mark);
	t->proof_mark = r == 0;
	t->mark_error = r < 0 ? -r : 0;
	if (r > t->struck_marked) {
		t->killed += r - t->struck_marked;
		t->struck_marked = r;
	}
	return r <= 0;
}

int tree_kill(struct tree *t, unsigned budget_ms)
{
	long long deadline = clock_us() + budget_ms * 1000LL;
	enum cgroup_state cg;
	pid_t pids[64];
	int n;

	for (;;) {
		bool none = tree_reap(t);
		/* at level group the children say nothing about the group: kill the group once,
		 * unless main's end did */
		bool struck = t->level != LEVEL_GROUP || t->exited || t->killing;

		cg = cgroup_look(&t->cg);
		if (none && struck && cg != CGROUP_POPULATED && nobody_is_marked(t))
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
	t->proof_cgroup = cg == CGROUP_EMPTY;
	t->proof_group = t->level == LEVEL_GROUP;
	return 0;
}
