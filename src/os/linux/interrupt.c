/* interrupt.c - see interrupt.h */
#include "os/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

static void interrupt_signals(sigset_t *out)
{
	sigemptyset(out);
	sigaddset(out, SIGINT);
	sigaddset(out, SIGTERM);
	sigaddset(out, SIGHUP);
}

int interrupt_open(void)
{
	sigset_t set;
	int fd;

	interrupt_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int interrupt_take(int fd)
{
	struct signalfd_siginfo info;

	if (fd < 0 || read(fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	return (int)info.ssi_signo;
}

void interrupt_close(int fd)
{
	sigset_t set;

	if (fd >= 0)
		close(fd);
	interrupt_signals(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* Blocked and not ignored: a program that is started gets the usual action. */
void interrupt_ignore_pipes(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

void interrupt_wait(int fd, intptr_t other, int timeout_ms)
{
	struct pollfd fds[] = { { .fd = fd, .events = POLLIN },
				{ .fd = (int)other, .events = POLLIN } };

	poll(fds, 2, timeout_ms);
}
