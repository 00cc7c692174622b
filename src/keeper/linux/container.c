/* container.c - see container.h */
#include "container.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "signals.h"
#include "tree.h"

#define HEX           "0123456789abcdef"
#define CALL_SPARE_MS 500 /* `killick container-end` gives up this long before its keeper does */
#define PAUSE_MS      10  /* how often to look at its process, when no SIGCHLD comes */
#define KILL_WAIT_MS  500 /* for its process to die of SIGKILL */

const char *container_engine(const char *command)
{
	static const char *const engines[] = { "docker", "podman", "nerdctl" };
	const char *slash = strrchr(command, '/'), *name = slash ? slash + 1 : command;

	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++)
		if (strcmp(name, engines[i]) == 0)
			return engines[i];
	return NULL;
}

void container_init(struct container *c, const char *spec, const char *command)
{
	const char *label = spec ? spec + (*spec == CONTAINER_PRIVATE) : "";

	*c = (struct container){ .spec = spec, .fate = CONTAINER_UNTRIED };
	if (spec)
		c->engine = container_engine(command);
	if (strspn(label, HEX) == CONTAINER_LABEL_LEN)
		snprintf(c->cidfile, sizeof(c->cidfile), CONTAINER_FILE "%.*s", CONTAINER_LABEL_LEN,
			 label);
}

bool container_is_recorded(const struct container *c)
{
	return c->spec && c->spec[0] != CONTAINER_PRIVATE;
}

unsigned container_budget_ms(const struct container *c, unsigned grace_ms)
{
	/* engines take whole seconds */
	return c->spec ? CONTAINER_BUDGET_MS + (grace_ms + 999) / 1000 * 1000 : 0;
}

const char *container_reason(enum container_fate fate)
{
	static const char *const reasons[] = {
		[CONTAINER_GONE] = "it is gone",
		[CONTAINER_THERE] = "the engine did not remove it",
		[CONTAINER_UNKNOWN] = "the engine cannot be asked",
		[CONTAINER_LATE] = "the engine did not answer in time",
		[CONTAINER_UNTRIED] = "the engine was not asked",
	};

	assert((unsigned)fate < sizeof(reasons) / sizeof(reasons[0]));
	return reasons[fate];
}

/* The engine wrote the file, or another process of this user did: only a plain file with nothing
 * but a container's id counts. */
static void container_read_id(struct container *c, int dirfd)
{
	char text[CONTAINER_ID_MAX + 2];
	int fd = dirfd < 0 || !c->cidfile[0]
			 ? -1
			 : openat(dirfd, c->cidfile,
				  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	ssize_t n = fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)
			    ? -1
			    : read(fd, text, sizeof(text) - 1);
	size_t len;

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return;
	text[n] = '\0';
	len = strspn(text, HEX);
	if (len == 0 || len > CONTAINER_ID_MAX || (text[len] && strcmp(text + len, "\n") != 0))
		return;
	memcpy(c->id, text, len);
	c->id[len] = '\0';
}

/* In the new process. /proc/self/exe is this program, the small one or the large one; the small one
 * starts the large one for this verb. */
static _Noreturn void container_exec(const struct container_call *call, int spec_fd,
				     unsigned time_ms)
{
	char time[16], grace[16];
	char *argv[] = { "killick", "container-end",           "--time", time, "--grace", grace,
			 "--lost",  call->lost ? "yes" : "no", NULL };

	assert(time_ms > CALL_SPARE_MS);
	snprintf(time, sizeof(time), "%ums", time_ms - CALL_SPARE_MS);
	snprintf(grace, sizeof(grace), "%ums", call->grace_ms);
	setpgid(0, 0);
	if (call->own_proc)
		tree_mount_proc();
	if (call->cwd && chdir(call->cwd) < 0)
		_exit(CONTAINER_UNKNOWN);
	if (dup2(spec_fd, STDIN_FILENO) < 0)
		_exit(CONTAINER_UNKNOWN);
	stdio_drop_from(STDOUT_FILENO);
	stdio_only(true);
	tree_default_signals(0);
	execve("/proc/self/exe", argv, call->envp);
	_exit(CONTAINER_UNKNOWN);
}

/* A pipe with the spec in it, whose other end is closed. -1: the spec is longer than a pipe holds,
 * or no descriptor is free. */
static int container_spec_pipe(const char *spec)
{
	size_t len = strlen(spec);
	ssize_t n;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	n = write(fds[1], spec, len);
	close(fds[1]);
	if (n >= 0 && (size_t)n == len)
		return fds[0];
	close(fds[0]);
	return -1;
}

/* Start `killick container-end`. */
static pid_t container_start(const struct container *c, const struct container_call *call,
			     unsigned time_ms)
{
	int spec_fd = container_spec_pipe(c->spec);
	pid_t pid = spec_fd < 0 ? -1 : fork();

	if (pid == 0)
		container_exec(call, spec_fd, time_ms);
	if (spec_fd >= 0)
		close(spec_fd);
	if (pid > 0)
		setpgid(pid, pid); /* both processes set the group, so that it exists for both */
	return pid;
}

/* Wait for the process until the deadline; true: it has ended, and is not reaped. */
static bool container_wait(pid_t pid, long long deadline_us, bool may_stop)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	if (may_stop)
		sigaddset(&set, SIGTERM);
	for (;;) {
		siginfo_t si = { .si_pid = 0 };

		if (waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0)
			return errno != EINTR;
		if (si.si_pid == pid)
			return true;
		if (clock_us() >= deadline_us || sigtimedwait(&set, NULL, &pause) == SIGTERM)
			return false;
	}
}

static enum container_fate container_fate_of(const siginfo_t *si)
{
	return si->si_code == CLD_EXITED && si->si_status >= CONTAINER_GONE &&
			       si->si_status < CONTAINER_UNTRIED
		       ? (enum container_fate)si->si_status
		       : CONTAINER_UNKNOWN;
}

void container_end(struct container *c, const struct container_call *call)
{
	unsigned time_ms = container_budget_ms(c, call->grace_ms);
	long long now_us = clock_us();
	siginfo_t si = { .si_pid = 0 };
	pid_t pid;

	assert(c->spec && call->envp);
	container_read_id(c, call->dirfd);
	c->fate = CONTAINER_UNKNOWN;
	pid = container_start(c, call, time_ms);
	if (pid < 0)
		return;
	if (!container_wait(pid, now_us + time_ms * 1000LL, call->may_stop)) {
		c->fate = CONTAINER_LATE;
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
		container_wait(pid, clock_us() + KILL_WAIT_MS * 1000LL, false);
		waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG | __WALL);
		return;
	}
	kill(-pid, SIGKILL); /* before the process is reaped, its group id is not reused */
	if (waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG | __WALL) == 0 && si.si_pid == pid)
		c->fate = container_fate_of(&si);
}

void container_forget(int dirfd, const char *name)
{
	size_t len = strlen(CONTAINER_FILE);

	if (dirfd >= 0 && strncmp(name, CONTAINER_FILE, len) == 0 &&
	    strlen(name) == len + CONTAINER_LABEL_LEN &&
	    strspn(name + len, HEX) == CONTAINER_LABEL_LEN)
		unlinkat(dirfd, name, 0);
}
