/* signals.c - see signals.h */
#include "signals.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

static void ours(sigset_t *set)
{
	static const int cpu[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS };

	sigfillset(set);
	for (unsigned i = 0; i < sizeof(cpu) / sizeof(cpu[0]); i++)
		sigdelset(set, cpu[i]);
}

void signals_block(void)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t set;

	sigaction(SIGCHLD, &dfl, NULL);
	ours(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
}

int signals_fd(void)
{
	sigset_t set;

	ours(&set);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void stdio_ensure(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", O_RDWR); /* the lowest free number is this one */
	}
}

void stdio_drop(int fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0) {
		close(fd);
		return;
	}
	dup2(null, fd);
	if (null != fd)
		close(null);
}
