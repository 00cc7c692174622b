/* spawn.c - see spawn.h: two clones and an exec. */
#include "os/spawn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"

#define STACK      (32 << 10)
#define P_PIDFD_ID 3 /* P_PIDFD, which older headers lack */

/* Between clone and exec the child runs in the host's memory, and the host's thread is suspended.
 * Nothing here may allocate, lock, or run a handler of the host. Sanitizers would report the
 * foreign stack as an error. */
#define BORROWED __attribute__((no_sanitize("address", "undefined", "thread"), noinline))

/* ThreadSanitizer treats every clone as a fork and initializes itself anew in the child. So the
 * child gets a copy of the memory then; it returns its results in struct job, which is a shared
 * mapping. */
#ifdef __SANITIZE_THREAD__
#define SHARE_MEMORY 0
#else
#define SHARE_MEMORY CLONE_VM
#endif

/* The descriptor limit of programs that are started. */
static struct rlimit limit_before;
static const struct rlimit *limit; /* NULL: ours */

struct job {
	const struct spawn *spec;
	int pidfd;
	pid_t pid;
	int error;          /* errno */
	const char *failed; /* the name of the call that failed, static; NULL: execve */
	char *stack;
};

static BORROWED void spawn_default_signals(void)
{
	/* For the kernel, all zeros mean the default action and an empty mask. */
	static const uint64_t zeros[8];

	for (int sig = 1; sig <= 64; sig++)
		syscall(SYS_rt_sigaction, sig, zeros, NULL, 8);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, zeros, NULL, 8);
}

/* Descriptors that the host forgot to mark close-on-exec must not stay open in the keeper. */
static BORROWED void close_the_rest(int from)
{
	struct rlimit lim;
	int max;

	if (syscall(SYS_close_range, (unsigned)from, ~0u, 0) == 0)
		return;
	max = getrlimit(RLIMIT_NOFILE, &lim) == 0 && lim.rlim_cur < 65536 ? (int)lim.rlim_cur
									  : 65536;
	for (int fd = from; fd < max; fd++)
		syscall(SYS_close, fd);
}

static BORROWED int spawn_fail(struct job *job, const char *what)
{
	job->error = errno;
	job->failed = what;
	return 127;
}

static BORROWED int become_keeper(void *arg)
{
	struct job *job = arg;
	const struct spawn *s = job->spec;

	/* A process group of its own: the signals of the terminal are for the host. */
	syscall(SYS_setpgid, 0, 0);
	/* first, because `more` may have one of the numbers below; none of `fds` has (pipe.h) */
	if (s->more == SPAWN_FDS)
		syscall(SYS_fcntl, s->more, F_SETFD, 0);
	else if (s->more && syscall(SYS_dup3, s->more, SPAWN_FDS, 0) < 0)
		return spawn_fail(job, "dup2");
	for (int i = 0; i < SPAWN_FDS; i++) {
		if (syscall(SYS_dup3, s->fds[i], i, 0) < 0)
			return spawn_fail(job, "dup2");
	}
	close_the_rest(s->more ? SPAWN_FDS + 1 : SPAWN_FDS);
	if (limit)
		syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, limit, NULL);
	spawn_default_signals();
	syscall(SYS_execve, s->path, s->argv, s->envp);
	return spawn_fail(job, NULL);
}

/* This process shares our descriptor table, so that the pidfd appears there. */
static BORROWED int be_between(void *arg)
{
	struct job *job = arg;

	const int flags = SHARE_MEMORY | CLONE_VFORK | SIGCHLD;
	char *stack = job->stack + STACK;
	/* Linux before 5.2 ignores CLONE_PIDFD; a filter may refuse it */
	pid_t keeper = clone(become_keeper, stack, flags | CLONE_PIDFD, job, &job->pidfd);

	if (keeper < 0 && errno == EINVAL)
		keeper = clone(become_keeper, stack, flags, job);
	if (keeper < 0)
		return spawn_fail(job, "clone");
	job->pid = keeper;
	if (job->error) /* the exec failed and the child has ended */
		syscall(SYS_wait4, keeper, NULL, __WALL, NULL);
	return 0;
}

int spawn_detached(const struct spawn *s, struct spawned *out, const char **out_failed)
{
	_Alignas(16) char stacks[2][STACK];
	struct job *job =
		mmap(NULL, sizeof(*job), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sigset_t all, before;
	pid_t between;
	int r;

	*out_failed = "mmap";
	if (job == MAP_FAILED)
		return -errno;
	*job = (struct job){ .spec = s, .pidfd = -1, .stack = stacks[0] };
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	between =
		clone(be_between, stacks[1] + STACK, SHARE_MEMORY | CLONE_VFORK | CLONE_FILES, job);
	if (between < 0)
		spawn_fail(job, "clone");
	else
		while (waitpid(between, NULL, __WALL) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	r = -job->error;
	*out_failed = job->failed;
	if (r == 0)
		*out = (struct spawned){ job->pidfd, job->pid };
	else
		fd_drop(&job->pidfd);
	munmap(job, sizeof(*job));
	return r;
}

/* The pid of the process of a pidfd; -1: it was reaped. */
static pid_t spawn_pid_of(int pidfd)
{
	char text[512], *at;
	AUTO(fd_drop) int fd = -1;
	ssize_t n;

	snprintf(text, sizeof(text), "/proc/self/fdinfo/%d", pidfd);
	fd = open(text, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, "\nPid:");
	return at ? atoi(at + 5) : -1;
}

bool spawn_reap(int process, int pid)
{
	siginfo_t si = { .si_pid = 0 };

	assert(pid > 0);
	if (process < 0)
		return waitpid(pid, NULL, WNOHANG | __WALL) != 0;
	if (waitid((idtype_t)P_PIDFD_ID, (id_t)process, &si, WEXITED | WNOHANG | __WALL) == 0)
		return si.si_pid != 0;
	if (errno != EINVAL) /* Linux 5.2 and 5.3 have pidfds, but no P_PIDFD */
		return true;
	pid = spawn_pid_of(process);
	return pid <= 0 || waitpid(pid, NULL, WNOHANG | __WALL) != 0;
}

int spawn_adopt_orphans(void)
{
	sigset_t set;

	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return -1;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void spawn_reap_orphans(int fd)
{
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof(info)) == sizeof(info))
		;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

bool spawn_is_gone(int pid)
{
	AUTO(fd_drop) int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	if (pidfd < 0 && errno == ENOSYS)
		return waitpid(pid, NULL, WNOHANG | __WALL) == pid ||
		       (kill(pid, 0) < 0 && errno == ESRCH);
	if (pidfd < 0)
		return errno == ESRCH;
	return poll(&p, 1, 0) > 0 && spawn_reap(pidfd, pid);
}

void spawn_name(const struct spawn *s, char out[SPAWN_NAME_SIZE])
{
	(void)s; /* become_keeper gives the descriptors their numbers */
	snprintf(out, SPAWN_NAME_SIZE, "%d", SPAWN_FDS - 1);
}

unsigned long spawn_raise_limit(void)
{
	struct rlimit now;

	if (getrlimit(RLIMIT_NOFILE, &now) < 0)
		return 0;
	limit_before = now;
	limit = &limit_before;
	now.rlim_cur = now.rlim_max;
	setrlimit(RLIMIT_NOFILE, &now);
	return now.rlim_cur;
}

bool spawn_keeper_can_leave_processes(void)
{
	return true; /* when the watch and the hold are both killed */
}

int spawn_own_pid(void)
{
	return getpid();
}
