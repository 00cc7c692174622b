/* exits.h - killick's own exit codes; all others are the server's. */
#pragma once

enum {
	EXIT_USAGE = 64,       /* the command line is wrong; nothing was started */
	EXIT_UNAVAILABLE = 69, /* this machine cannot provide the requested level or limit */
	EXIT_BUG = 70,         /* killick broke its own rules */
	EXIT_TRY_AGAIN = 75,   /* no processes, no memory, or a process survived the budget */
	EXIT_CANNOT_RUN = 126, /* the command exists but cannot be executed */
	EXIT_NOT_FOUND = 127,  /* the command was not found */
	EXIT_SIGNAL = 128,     /* plus n: the server died of signal n, and killick could not */
};
