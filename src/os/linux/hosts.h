/* hosts.h - reads lines of /etc/hosts: an address, and the names of the host that has it.
 *
 * Only lookup_static.c uses it. Threads: any.  Blocking: never.
 */
#pragma once

#include <stdbool.h>

#include "os/address.h"

/* Does the line give an address to `host`? Then *out has the address. Letter case does not matter,
 * nor does a dot at the end of `host`. */
bool hosts_line(const char *line, const char *host, unsigned port, struct address *out);
