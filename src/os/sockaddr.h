/* sockaddr.h - an address as the calls of the system take it; for files of src/os only. */
#pragma once

#include "net_native.h"
#include "os/address.h"

/* Fill *out and return its length. */
socklen_t sockaddr_of(const struct address *a, struct sockaddr_storage *out);
/* False: not an internet address; *out is ADDRESS_NONE then. */
bool sockaddr_read(const struct sockaddr *at, struct address *out);
