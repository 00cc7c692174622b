/* address.h - an internet address with its port, as connect and bind take it. */
#pragma once

#include <stddef.h>
#include <sys/socket.h>

struct address {
	struct sockaddr_storage at;
	socklen_t len;
};

/* Fill *out from the raw bytes of an address (4 for AF_INET, 16 for AF_INET6). */
void address_set(struct address *out, int family, const void *bytes, unsigned port);
/* "127.0.0.1:4711", "[::1]:80". */
void address_text(const struct address *a, char *out, size_t size);
