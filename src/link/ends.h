/* ends.h - the pipes, or the terminal, and the control channel between the library and a server
 * that is about to start.
 *
 * Our ends are nonblocking; the others are for spawn_detached (os/spawn.h). Threads: any.
 */
#pragma once

#include "link/link.h"
#include "os/spawn.h"

struct ends { /* of stdin, stdout, stderr and control; -1: none */
	int ours[SPAWN_FDS], theirs[SPAWN_FDS];
};
#define ENDS_INIT                                                                                  \
	{                                                                                          \
		{ -1, -1, -1, -1 },                                                                \
		{                                                                                  \
			-1, -1, -1, -1                                                             \
		}                                                                                  \
	}

/* 0 or -errno; ends_drop in either case. */
int ends_make(struct ends *ends, enum stdio kind);
void ends_drop(struct ends *ends);
