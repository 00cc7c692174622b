/* lookup.c - see lookup.h; by GetAddrInfoW. */
#include "os/lookup.h"

#include <errno.h>
#include <stdlib.h>

#include "os/sockaddr.h"
#include "sockets.h"
#include "utf16.h"

static const char *lookup_reason(int error)
{
	switch (error) {
	case WSAHOST_NOT_FOUND:
		return "Name or service not known";
	case WSANO_DATA:
		return "No address associated with hostname";
	case WSATRY_AGAIN:
		return "Temporary failure in name resolution";
	case WSA_NOT_ENOUGH_MEMORY:
		return "no memory";
	default:
		return "the name server refused, or there is no network";
	}
}

void lookup_host(const char *host, unsigned port, struct lookup *out)
{
	const ADDRINFOW hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	wchar_t *name = utf16_of(host);
	ADDRINFOW *found = NULL;
	int error;

	sockets_begin();
	out->count = 0;
	error = name ? GetAddrInfoW(name, NULL, &hints, &found) : WSAHOST_NOT_FOUND;
	free(name);
	if (error) {
		err_set(&out->why, -EHOSTUNREACH, "cannot find the host '%s': %s", host,
			lookup_reason(error));
		return;
	}
	for (const ADDRINFOW *a = found; a && out->count < LOOKUP_MAX; a = a->ai_next)
		if (sockaddr_read(a->ai_addr, &out->list[out->count]))
			out->list[out->count++].port = (uint16_t)port;
	FreeAddrInfoW(found);
	if (!out->count)
		err_set(&out->why, -EHOSTUNREACH, "the host '%s' has no address", host);
}

bool lookup_literal(const char *host, unsigned port, struct address *out)
{
	return address_read(host, port, out);
}
