/* sha1.c - see sha1.h */
#include "sha1.h"

#include <stdint.h>
#include <string.h>

enum { BLOCK = 64 };

static uint32_t sha1_rotate(uint32_t x, unsigned n)
{
	return x << n | x >> (32 - n);
}

static void sha1_add_block(uint32_t state[5], const unsigned char *block)
{
	static const uint32_t constants[4] = { 0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6 };
	uint32_t w[80], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];

	for (unsigned i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (unsigned i = 16; i < 80; i++)
		w[i] = sha1_rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
	for (unsigned i = 0; i < 80; i++) {
		uint32_t f = b ^ c ^ d, next;

		if (i < 20)
			f = (b & c) | (~b & d);
		else if (i >= 40 && i < 60)
			f = (b & c) | (b & d) | (c & d);
		next = sha1_rotate(a, 5) + f + e + constants[i / 20] + w[i];
		e = d;
		d = c;
		c = sha1_rotate(b, 30);
		b = a;
		a = next;
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
	state[4] += e;
}

void sha1(const void *bytes, size_t len, unsigned char out[SHA1_SIZE])
{
	uint32_t state[5] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
	const unsigned char *p = bytes;
	unsigned char tail[2 * BLOCK] = { 0 };
	uint64_t bits = (uint64_t)len * 8;
	size_t left = len, tail_len;

	for (; left >= BLOCK; p += BLOCK, left -= BLOCK)
		sha1_add_block(state, p);
	if (left)
		memcpy(tail, p, left);
	tail[left] = 0x80;
	tail_len = left + 1 + sizeof(bits) <= BLOCK ? BLOCK : 2 * BLOCK;
	for (unsigned i = 0; i < sizeof(bits); i++)
		tail[tail_len - 1 - i] = (unsigned char)(bits >> (8 * i));
	for (size_t at = 0; at < tail_len; at += BLOCK)
		sha1_add_block(state, tail + at);
	for (unsigned i = 0; i < SHA1_SIZE; i++)
		out[i] = (unsigned char)(state[i / 4] >> (24 - 8 * (i % 4)));
}
