/* relay.c - see relay.h */
#include "relay.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exits_as.h"
#include "keeper/exits.h"
#include "signals.h"

bool relay_is_needed(void)
{
	int r;

	do
		r = waitpid(-1, NULL, WNOHANG | __WALL);
	while (r > 0 || (r < 0 && errno == EINTR));
	/* and pid 1 of a container gets all orphans of the container */
	return r == 0 || getpid() == 1;
}

/* The watch is in the same group, so it gets signals of the terminal directly. */
static void relay_signals(int signals, pid_t watch)
{
	struct signalfd_siginfo si[SIGNALS_BATCH];
	int n = signals_read(signals, si, SIGNALS_BATCH);

	assert(watch > 1);
	for (int i = 0; i < n; i++) {
		if (si[i].ssi_signo != SIGCHLD && si[i].ssi_code != SI_KERNEL)
			kill(watch, (int)si[i].ssi_signo);
	}
}

/* Pid 1 reaps all orphans. The watch is not reaped here, so that its end can be seen. */
static void relay_reap_strangers(pid_t watch)
{
	siginfo_t si = { .si_pid = 0 };

	while (waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 && si.si_pid &&
	       si.si_pid != watch)
		waitpid(si.si_pid, NULL, WNOHANG | __WALL);
}

static _Noreturn void relay_run(pid_t watch, pid_t parent, int signals)
{
	struct pollfd fd = { .fd = signals, .events = POLLIN };

	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		stdio_drop(i);
	stdio_and(&signals, 1);
	for (;;) {
		siginfo_t si = { .si_pid = 0 };

		if (getpid() == 1)
			relay_reap_strangers(watch);
		waitid(P_PID, (id_t)watch, &si, WEXITED | WSTOPPED | WNOHANG | __WALL);
		if (si.si_pid && si.si_code == CLD_STOPPED)
			kill(getpid(), SIGSTOP); /* a shell sees the job stop */
		else if (si.si_pid && si.si_code != CLD_TRAPPED)
			_exit(exits_as(si.si_code == CLD_EXITED ? si.si_status << 8
								: si.si_status));
		if (parent >= 0 && getppid() != parent)
			_exit(EXIT_TRY_AGAIN);
		if (poll(&fd, 1, -1) < 0 && errno != EINTR)
			_exit(EXIT_BUG);
		relay_signals(signals, watch);
	}
}

int relay_start(bool ends_with_parent)
{
	pid_t parent = getppid(), self = getpid(), watch;
	int signals = signals_fd();

	assert(parent >= 0 && self > 0);
	if (signals < 0)
		return -errno;
	watch = fork();
	if (watch < 0)
		return -errno;
	if (watch > 0) {
		prctl(PR_SET_PDEATHSIG, SIGCONT);
		prctl(PR_SET_DUMPABLE, 0);
		relay_run(watch, ends_with_parent ? parent : -1, signals);
	}
	close(signals);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != self)
		_exit(EXIT_TRY_AGAIN);
	return 0;
}
