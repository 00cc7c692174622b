/* given.h - the listening socket that a service manager passed to this process (LISTEN_FDS).
 *
 * Windows has no such manager: given_take finds nothing there.
 * Threads: the first one, at the start of a program: the variables are removed.  Blocking: never.
 */
#pragma once

#include "os/address.h"
#include "os/net.h"

struct given {
	int fd;            /* for net_adopt; -1: none. Set also when the socket cannot be used */
	struct address at; /* ADDRESS_NONE: a unix socket */
	char path[NET_PATH_MAX + 1]; /* of a unix socket; an abstract name begins with '@' */
};

/* 1: one socket. 0: none. -E2BIG: more than one; -ENOTSOCK: not a listening socket; -EAFNOSUPPORT:
 * neither an internet nor a unix socket. */
int given_take(struct given *out);
