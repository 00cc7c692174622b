/* dns.h - reads the answer of a name server to the question for the addresses of one name.
 *
 * Only lookup_static.c uses it. The bytes come from the network: a message that is not well-formed
 * in its header, question and answers is refused whole. Threads: any.  Blocking: never.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum dns_type { DNS_A = 1, DNS_AAAA = 28 };
#define DNS_ADDRESS_SIZE 16 /* of an IPv6 address; an IPv4 address is the first 4 bytes */

/* Copy at most `max` addresses of the name in the question to `out`; aliases (CNAME) are followed.
 * The number of addresses; 0: the name has none of this type; -EBADMSG: not an answer to a question
 * for `type`. */
int dns_read(const uint8_t *bytes, size_t len, enum dns_type type, uint8_t (*out)[DNS_ADDRESS_SIZE],
	     unsigned max);
