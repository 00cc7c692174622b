/* lookup.h - finds the addresses of a host, in three ways of which a program is linked with one.
 *
 * linux/lookup_system.c calls getaddrinfo: the library and the program of `make`.
 * linux/lookup_static.c is for the static program of `make dist`: getaddrinfo of a static glibc
 * loads the shared libraries that /etc/nsswitch.conf names, which may not exist or belong to
 * another glibc. lookup_static.c reads /etc/hosts itself and asks the name servers of
 * /etc/resolv.conf. windows/lookup.c calls GetAddrInfoW. Threads: any.  Blocking: lookup_host, for
 * half a minute when no name server answers; resolve.h calls it from a separate thread.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "os/address.h"

#define LOOKUP_MAX 8

struct lookup {
	struct address list[LOOKUP_MAX]; /* the first is to be tried first */
	unsigned count;                  /* 0: failed, for the reason `why` */
	struct err why;
};

/* Fill *out, whatever it has. */
void lookup_host(const char *host, unsigned port, struct lookup *out);
/* Parse an IP literal (127.0.0.1, ::1). Never blocks. */
bool lookup_literal(const char *host, unsigned port, struct address *out);
