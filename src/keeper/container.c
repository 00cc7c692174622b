/* container.c - see container.h */
#include "container.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "signals.h"
#include "tree.h"

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

void container_init(struct container *c, const char *spec, const char *cidfile, const char *command)
{
	*c = (struct container){ .spec = spec, .cidfile = cidfile, .fate = CONTAINER_UNTRIED };
	if (spec)
		c->engine = container_engine(command);
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
static void container_read_id(struct container *c)
{
	char text[CONTAINER_ID_MAX + 2];
	int fd = c->cidfile ? open(c->cidfile,
				   O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
			    : -1;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	size_t len;

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return;
	text[n] = '\0';
	len = strspn(text, "0123456789abcdef");
	if (len == 0 || len > CONTAINER_ID_MAX || (text[len] && strcmp(text + len, "\n") != 0))
		return;
	memcpy(c->id, text, len);
	c->id[len] = '\0';
}

/* In the new process. /proc/self/exe is this program, the small one or the large one; the small one
 * starts the large one for this verb. */
static _Noreturn void container_exec(const struct container *c, const struct container_call *call,
				     unsigned time_ms)
{
	char time[16], grace[16];
	char *argv[] = { "killick", "container-end", "--time", time,
			 "--grace", grace,           "--lost", call->lost ? "yes" : "no",
			 "--spec",  (char *)c->spec, NULL };

	assert(time_ms > CALL_SPARE_MS);
	snprintf(time, sizeof(time), "%ums", time_ms - CALL_SPARE_MS);
	snprintf(grace, sizeof(grace), "%ums", call->grace_ms);
	setpgid(0, 0);
	if (call->own_proc)
		tree_mount_proc();
	if (call->cwd && chdir(call->cwd) < 0)
		_exit(CONTAINER_UNKNOWN);
	stdio_drop_from(STDIN_FILENO);
	stdio_only(true);
	tree_default_signals();
	execve("/proc/self/exe", argv, call->envp);
	_exit(CONTAINER_UNKNOWN);
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
	container_read_id(c);
	c->fate = CONTAINER_UNKNOWN;
	pid = fork();
	if (pid == 0)
		container_exec(c, call, time_ms);
	if (pid < 0)
		return;
	setpgid(pid, pid); /* both processes set the group, so that it exists for both */
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

void container_forget(const struct container *c)
{
	const char *slash = c->cidfile ? strrchr(c->cidfile, '/') : NULL;

	if (slash && strncmp(slash + 1, CONTAINER_FILE, strlen(CONTAINER_FILE)) == 0)
		unlink(c->cidfile);
}
