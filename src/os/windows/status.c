/* status.c - see status.h: Windows has exit codes only; the names are for reports of executors on
 * Linux. */
#include "os/status.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SIGNALS 32

static const char *const names[SIGNALS] = {
	NULL,   "HUP",  "INT",  "QUIT", "ILL",    "TRAP",   "ABRT",  "BUS",  "FPE",  "KILL", "USR1",
	"SEGV", "USR2", "PIPE", "ALRM", "TERM",   "STKFLT", "CHLD",  "CONT", "STOP", "TSTP", "TTIN",
	"TTOU", "URG",  "XCPU", "XFSZ", "VTALRM", "PROF",   "WINCH", "POLL", "PWR",  "SYS",
};

void status_split(int status, int *out_code, int *out_signal)
{
	*out_code = status == -1 ? 255 : status; /* -1 means "not known"; see link/end.c */
	*out_signal = 0;
}

const char *status_signal_name(int signal)
{
	return signal > 0 && signal < SIGNALS ? names[signal] : NULL;
}

int status_signal_number(const char *name)
{
	for (int sig = 1; sig < SIGNALS; sig++)
		if (strcmp(names[sig], name) == 0)
			return sig;
	return strncmp(name, "SIG", 3) == 0 ? atoi(name + 3) : 0;
}
