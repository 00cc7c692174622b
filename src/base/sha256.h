/* sha256.h - SHA-256 (FIPS 180-4), for fingerprints and for tokens.
 *
 * The time depends on the length of the input, not on its bytes: no branch and no table index
 * depends on the bytes. So random tokens may be hashed and their digests compared (net/greet.c).
 * SHA-256 is not for passwords: it is fast, so passwords can be guessed. sha256_end leaves the last
 * block of the input in the struct.
 *
 * Life: sha256_init -> sha256_add ... -> sha256_end or sha256_hex, once.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { SHA256_SIZE = 32, SHA256_HEX_SIZE = 65 }; /* the second with a NUL */

struct sha256 {
	uint32_t state[8];
	uint64_t len;            /* bytes so far */
	unsigned char block[64]; /* the part of a block that waits for the rest */
};

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *bytes, size_t len);
void sha256_end(struct sha256 *s, unsigned char out[SHA256_SIZE]);
void sha256_hex(struct sha256 *s, char out[SHA256_HEX_SIZE]); /* lower case */
/* HMAC-SHA-256 (RFC 2104) with a key of SHA256_SIZE bytes. */
void sha256_hmac(const unsigned char key[SHA256_SIZE], const void *bytes, size_t len,
		 unsigned char out[SHA256_SIZE]);
