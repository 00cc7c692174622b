/* signals.c - see signals.h */
#include "signals.h"

#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

/* All 64 signals except those of faults, in the kernel's format. libc's sigset functions are not
 * used: each libc leaves out two or three signals that it uses itself, and a keeper would die of
 * these. */
static uint64_t ours(void)
{
	static const int cpu[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS };
	uint64_t set = ~0ULL;

	for (unsigned i = 0; i < sizeof(cpu) / sizeof(cpu[0]); i++)
		set &= ~(1ULL << (cpu[i] - 1));
	return set;
}

void signals_block(void)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	uint64_t set = ours();

	sigaction(SIGCHLD, &dfl, NULL);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &set, NULL, sizeof(set));
}

int signals_fd(void)
{
	uint64_t set = ours();

	return (int)syscall(SYS_signalfd4, -1, &set, sizeof(set), SFD_CLOEXEC | SFD_NONBLOCK);
}

int signals_read(int fd, struct signalfd_siginfo *out, int max)
{
	ssize_t n = read(fd, out, (size_t)max * sizeof(*out));

	assert(max > 0 && (n <= 0 || (size_t)n % sizeof(*out) == 0));
	return n > 0 ? (int)((size_t)n / sizeof(*out)) : 0;
}

void stdio_ensure(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", O_RDWR); /* gets the lowest free number, this one */
	}
}

static void stdio_drop_between(int first, int last)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	assert(first >= STDIN_FILENO && last <= STDERR_FILENO);
	for (int fd = first; fd <= last; fd++) {
		if (null < 0)
			close(fd);
		else
			dup2(null, fd);
	}
	if (null > last || (null >= 0 && null < first))
		close(null);
}

void stdio_drop(int fd)
{
	stdio_drop_between(fd, fd);
}

void stdio_drop_from(int first)
{
	stdio_drop_between(first, STDERR_FILENO);
}

/* Close, or mark to be closed by exec, the descriptors from `first` to `last`. */
static void close_between(unsigned first, unsigned last, bool at_exec)
{
	const unsigned close_range_cloexec = 4;
	struct rlimit lim;
	unsigned max;

	assert(first > STDERR_FILENO && first <= last);
#ifdef SYS_close_range
	if (syscall(SYS_close_range, first, last, at_exec ? close_range_cloexec : 0u) == 0)
		return;
#endif
	max = getrlimit(RLIMIT_NOFILE, &lim) == 0 && lim.rlim_cur < 65536 ? (unsigned)lim.rlim_cur
									  : 65536;
	for (unsigned fd = first; fd < max && fd <= last; fd++) {
		if (at_exec)
			fcntl((int)fd, F_SETFD, FD_CLOEXEC);
		else
			close((int)fd);
	}
}

void stdio_only(bool at_exec)
{
	close_between(3, ~0u, at_exec);
}

void stdio_and(const int *keep, int count)
{
	int from = 3;

	for (;;) {
		int next = INT_MAX; /* the smallest one to keep from here on */

		for (int i = 0; i < count; i++) {
			if (keep[i] >= from && keep[i] < next)
				next = keep[i];
		}
		if (next == INT_MAX)
			break;
		if (next > from)
			close_between((unsigned)from, (unsigned)next - 1, false);
		from = next + 1;
	}
	close_between((unsigned)from, ~0u, false);
}
