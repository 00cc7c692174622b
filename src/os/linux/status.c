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
