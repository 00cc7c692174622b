/* net_native.h - the headers of Linux for sockets; only files of src/os include it. */
#pragma once

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

/* The name of an interface, for example "eth0". False: it has none. */
static inline bool net_interface(unsigned index, char out[IF_NAMESIZE])
{
	return if_indextoname(index, out) != NULL;
}
