/* address.c - see address.h and sockaddr.h
 *
 * inet_ntop instead of getnameinfo: the static program must not use the functions of libc that load
 * shared libraries (lookup.h).
 */
#include "os/address.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "os/sockaddr.h"

void address_set(struct address *out, enum address_kind kind, const void *bytes, unsigned port)
{
	assert(kind == ADDRESS_IPV4 || kind == ADDRESS_IPV6);
	*out = (struct address){ .kind = kind, .port = (uint16_t)port };
	memcpy(out->bytes, bytes, kind == ADDRESS_IPV4 ? 4 : sizeof(out->bytes));
}

bool address_read(const char *text, unsigned port, struct address *out)
{
	unsigned char bytes[16];

	if (inet_pton(AF_INET, text, bytes) == 1)
		address_set(out, ADDRESS_IPV4, bytes, port);
	else if (inet_pton(AF_INET6, text, bytes) == 1)
		address_set(out, ADDRESS_IPV6, bytes, port);
	else
		return false;
	return true;
}

void address_host(const struct address *a, char *out, size_t size)
{
	if (a->kind == ADDRESS_NONE || !inet_ntop(a->kind == ADDRESS_IPV6 ? AF_INET6 : AF_INET,
						  a->bytes, out, (socklen_t)size))
		snprintf(out, size, "?");
}

void address_text(const struct address *a, char *out, size_t size)
{
	char host[INET6_ADDRSTRLEN], zone[IF_NAMESIZE + 1] = "";

	if (a->kind == ADDRESS_NONE) {
		snprintf(out, size, "?:?");
		return;
	}
	address_host(a, host, sizeof(host));
	if (a->zone) {
		zone[0] = '%';
		if (!net_interface(a->zone, zone + 1))
			snprintf(zone, sizeof(zone), "%%%u", (unsigned)a->zone);
	}
	snprintf(out, size, a->kind == ADDRESS_IPV6 ? "[%s%s]:%u" : "%s%s:%u", host, zone, a->port);
}

bool address_is_loopback(const struct address *a)
{
	static const unsigned char one[16] = { [15] = 1 };
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (a->kind == ADDRESS_IPV4)
		return a->bytes[0] == 127;
	return a->kind == ADDRESS_IPV6 &&
	       (memcmp(a->bytes, one, sizeof(one)) == 0 ||
		(memcmp(a->bytes, mapped, sizeof(mapped)) == 0 && a->bytes[12] == 127));
}

socklen_t sockaddr_of(const struct address *a, struct sockaddr_storage *out)
{
	struct sockaddr_in *four = (struct sockaddr_in *)out;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof(*out));
	if (a->kind == ADDRESS_IPV4) {
		four->sin_family = AF_INET;
		four->sin_port = htons(a->port);
		memcpy(&four->sin_addr, a->bytes, sizeof(four->sin_addr));
		return sizeof(*four);
	}
	assert(a->kind == ADDRESS_IPV6);
	six->sin6_family = AF_INET6;
	six->sin6_port = htons(a->port);
	six->sin6_scope_id = a->zone;
	memcpy(&six->sin6_addr, a->bytes, sizeof(six->sin6_addr));
	return sizeof(*six);
}

bool sockaddr_read(const struct sockaddr *at, struct address *out)
{
	const struct sockaddr_in *four = (const void *)at;
	const struct sockaddr_in6 *six = (const void *)at;

	*out = (struct address){ .kind = ADDRESS_NONE };
	if (at->sa_family == AF_INET)
		address_set(out, ADDRESS_IPV4, &four->sin_addr, ntohs(four->sin_port));
	if (at->sa_family == AF_INET6) {
		address_set(out, ADDRESS_IPV6, &six->sin6_addr, ntohs(six->sin6_port));
		out->zone = six->sin6_scope_id;
	}
	return out->kind != ADDRESS_NONE;
}
