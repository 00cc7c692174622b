/* status.c - see status.h */
#include "os/status.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

void status_split(int status, int *out_code, int *out_signal)
{
	*out_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	*out_signal = WIFEXITED(status) ? 0 : WTERMSIG(status);
}

#ifndef __GLIBC__
/* musl has no names of signals. */
static const char *sigabbrev_np(int signal)
{
	static const char *const names[] = {
		[SIGHUP] = "HUP",       [SIGINT] = "INT",   [SIGQUIT] = "QUIT",
		[SIGILL] = "ILL",       [SIGTRAP] = "TRAP", [SIGABRT] = "ABRT",
		[SIGBUS] = "BUS",       [SIGFPE] = "FPE",   [SIGKILL] = "KILL",
		[SIGUSR1] = "USR1",     [SIGSEGV] = "SEGV", [SIGUSR2] = "USR2",
		[SIGPIPE] = "PIPE",     [SIGALRM] = "ALRM", [SIGTERM] = "TERM",
		[SIGCHLD] = "CHLD",     [SIGCONT] = "CONT", [SIGSTOP] = "STOP",
		[SIGTSTP] = "TSTP",     [SIGTTIN] = "TTIN", [SIGTTOU] = "TTOU",
		[SIGURG] = "URG",       [SIGXCPU] = "XCPU", [SIGXFSZ] = "XFSZ",
		[SIGVTALRM] = "VTALRM", [SIGPROF] = "PROF", [SIGWINCH] = "WINCH",
		[SIGPOLL] = "POLL",     [SIGPWR] = "PWR",   [SIGSYS] = "SYS",
	};

	return (size_t)signal < sizeof(names) / sizeof(*names) ? names[signal] : NULL;
}
#endif

const char *status_signal_name(int signal)
{
	return signal > 0 ? sigabbrev_np(signal) : NULL;
}

int status_signal_number(const char *name)
{
	for (int sig = 1; sig < NSIG; sig++) {
		const char *known = sigabbrev_np(sig);

		if (known && strcmp(known, name) == 0)
			return sig;
	}
	return strncmp(name, "SIG", 3) == 0 ? atoi(name + 3) : 0;
}
