/* cable.h - two network namespaces and the one cable between them, which can be cut.
 *
 * The test itself moves to the near one, so what it starts is there; the far one is reached through
 * cable_far, or by being minded there. Neither has any other way out. A cable is one of two:
 *
 *	CABLE_VETH  made of `ip link`; cut by taking an end down, which the kernel there knows of
 *	CABLE_WIRE  two tun devices and a process that carries packets; cut without anybody being
 *	            told, and able to delay them whatever the kernel knows of netem
 *
 * The namespaces end with the processes in them: there is nothing to clean up after a crash.
 * Skips the test, saying why, where namespaces may not be made; not being root is no reason where
 * users may make namespaces. Threads: one, at cable_open.
 */
#pragma once

#include "minder.h"

#define CABLE_NEAR "10.77.0.2"
#define CABLE_FAR  "10.77.0.1"

enum cable_kind { CABLE_VETH, CABLE_WIRE };
enum cable_end { CABLE_NEAR_END, CABLE_FAR_END };

struct cable_wire; /* what the carrying process is told, in shared memory */

struct cable {
	enum cable_kind kind;
	int near, far; /* the namespaces */
	struct minder carrier;
	struct cable_wire *wire;
};

void cable_open(struct cable *c, enum cable_kind kind);
/* What was minded in the far namespace must have been ended. */
void cable_close(struct cable *c);

/* Nothing gets through any more. The end matters for a veth: it is the one that is taken down. */
void cable_cut(struct cable *c, enum cable_end end);
void cable_join(struct cable *c);
/* CABLE_WIRE: every packet takes so long, each way. */
void cable_delay(struct cable *c, int ms);
/* Reset every TCP connection of the near side to the far one; their number. Skips the test where
 * the kernel cannot do that. */
int cable_reset(struct cable *c);
/* A TCP socket that listens there, on a port of the kernel's choice. */
int cable_listen_far(struct cable *c, int *out_port);
