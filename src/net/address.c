/* address.c - see address.h
 *
 * inet_ntop instead of getnameinfo: the static program must not use the functions of libc that load
 * shared libraries (lookup.h).
 */
#include "net/address.h"

#include <arpa/inet.h>
#include <assert.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

void address_set(struct address *out, int family, const void *bytes, unsigned port)
{
	struct sockaddr_in *four = (struct sockaddr_in *)&out->at;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&out->at;

	assert(family == AF_INET || family == AF_INET6);
	memset(out, 0, sizeof(*out));
	out->at.ss_family = (sa_family_t)family;
	if (family == AF_INET) {
		four->sin_port = htons((in_port_t)port);
		memcpy(&four->sin_addr, bytes, sizeof(four->sin_addr));
		out->len = sizeof(*four);
		return;
	}
	six->sin6_port = htons((in_port_t)port);
	memcpy(&six->sin6_addr, bytes, sizeof(six->sin6_addr));
	out->len = sizeof(*six);
}

static void address_text_six(const struct sockaddr_in6 *six, char *out, size_t size)
{
	char host[INET6_ADDRSTRLEN] = "?", zone[IF_NAMESIZE + 1] = "";

	inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof(host));
	if (six->sin6_scope_id) {
		zone[0] = '%';
		if (!if_indextoname(six->sin6_scope_id, zone + 1))
			snprintf(zone, sizeof(zone), "%%%u", six->sin6_scope_id);
	}
	snprintf(out, size, "[%s%s]:%u", host, zone, ntohs(six->sin6_port));
}

void address_text(const struct address *a, char *out, size_t size)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)&a->at;
	char host[INET_ADDRSTRLEN] = "?";

	if (a->at.ss_family == AF_INET6) {
		address_text_six((const struct sockaddr_in6 *)&a->at, out, size);
		return;
	}
	if (a->at.ss_family != AF_INET) {
		snprintf(out, size, "?:?");
		return;
	}
	inet_ntop(AF_INET, &four->sin_addr, host, sizeof(host));
	snprintf(out, size, "%s:%u", host, ntohs(four->sin_port));
}
