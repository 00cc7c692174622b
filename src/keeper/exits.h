/* exits.h - killick's own exit codes; everything else is the server's, mirrored. */
#pragma once

enum {
	EXIT_USAGE = 64, /* the command line is wrong; nothing was started */
	EXIT_UNAVAILABLE =
		69,    /* containment or a limit was asked for that this machine cannot give */
	EXIT_BUG = 70, /* killick broke its own rules */
	EXIT_TRY_AGAIN = 75,   /* no processes, no memory, or something survived the budget */
	EXIT_CANNOT_RUN = 126, /* the command exists but cannot be executed */
	EXIT_NOT_FOUND = 127,  /* the command was not found */
	EXIT_SIGNAL = 128, /* plus n: the server died of signal n and we could not do the same */
};

/* End as a process with this wait status ended: returns its code, or dies of the same signal,
 * without a second core file. */
int exits_as(int status);
