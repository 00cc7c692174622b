/* address.h - an internet address with its port.
 *
 * Threads: any.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum address_kind { ADDRESS_NONE, ADDRESS_IPV4, ADDRESS_IPV6 };

struct address {
	enum address_kind kind;
	uint16_t port;
	uint32_t zone;           /* the interface of a link-local IPv6 address; 0: none */
	unsigned char bytes[16]; /* IPv4: the first 4 */
};

/* Fill *out from the raw bytes of an address: 4 of IPv4, 16 of IPv6. */
void address_set(struct address *out, enum address_kind kind, const void *bytes, unsigned port);
/* Read "127.0.0.1" or "::1": no brackets, no zone, no short forms such as 127.1. False: the text is
 * no address, and *out is untouched. */
bool address_read(const char *text, unsigned port, struct address *out);
/* "127.0.0.1:4711", "[::1]:80". */
void address_text(const struct address *a, char *out, size_t size);
/* The same without brackets, zone and port, as address_read reads it. */
void address_host(const struct address *a, char *out, size_t size);
/* 127.x.x.x, ::1, and 127.x.x.x written as IPv6. */
bool address_is_loopback(const struct address *a);
