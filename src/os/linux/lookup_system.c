/* lookup_system.c - see lookup.h; by getaddrinfo. */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>

#include "os/lookup.h"
#include "os/sockaddr.h"

static void lookup_by_flags(const char *host, unsigned port, int flags, struct lookup *out)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV };
	struct addrinfo *found = NULL;
	char service[12];
	int error;

	out->count = 0;
	snprintf(service, sizeof(service), "%u", port);
	error = getaddrinfo(host, service, &hints, &found);
	if (error) {
		err_set(&out->why, -EHOSTUNREACH, "cannot find the host '%s': %s", host,
			gai_strerror(error));
		return;
	}
	for (struct addrinfo *a = found; a && out->count < LOOKUP_MAX; a = a->ai_next) {
		if (sockaddr_read(a->ai_addr, &out->list[out->count]))
			out->count++;
	}
	freeaddrinfo(found);
	if (!out->count)
		err_set(&out->why, -EHOSTUNREACH, "the host '%s' has no address", host);
}

void lookup_host(const char *host, unsigned port, struct lookup *out)
{
	lookup_by_flags(host, port, 0, out);
}

bool lookup_literal(const char *host, unsigned port, struct address *out)
{
	struct lookup found;

	lookup_by_flags(host, port, AI_NUMERICHOST, &found);
	if (found.count)
		*out = found.list[0];
	return found.count > 0;
}
