/* far.h - an executor at the other end of a cable. */
#pragma once

#include "cable.h"
#include "minder.h"

struct far {
	struct cable cable;
	struct minder executor;
	char url[80];          /* ws://... */
	char environment[128]; /* {"url": ...} */
};

/* place_begin, a cable, and `killick exec-server --lease LEASE` behind it. */
void far_open(struct far *f, enum cable_kind kind, const char *lease);
/* The executor is asked to leave: with nothing left, neither of it nor of what it held. */
void far_close(struct far *f);
