/* sha256.c - see sha256.h */
#include "sha256.h"

#include <string.h>

/* The first 32 bits of the fractions of the cube roots of the first 64 primes. */
static const uint32_t round_constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t sha256_rotate(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static void sha256_add_block(uint32_t state[8], const unsigned char *block)
{
	uint32_t w[64], v[8];

	for (unsigned i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (unsigned i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];

		w[i] = w[i - 16] + w[i - 7] +
		       (sha256_rotate(a, 7) ^ sha256_rotate(a, 18) ^ a >> 3) +
		       (sha256_rotate(b, 17) ^ sha256_rotate(b, 19) ^ b >> 10);
	}
	memcpy(v, state, sizeof(v));
	for (unsigned i = 0; i < 64; i++) {
		uint32_t s1 =
			sha256_rotate(v[4], 6) ^ sha256_rotate(v[4], 11) ^ sha256_rotate(v[4], 25);
		uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
		uint32_t t1 = v[7] + s1 + choice + round_constants[i] + w[i];
		uint32_t s0 =
			sha256_rotate(v[0], 2) ^ sha256_rotate(v[0], 13) ^ sha256_rotate(v[0], 22);
		uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);

		memmove(v + 1, v, 7 * sizeof(v[0]));
		v[4] += t1;
		v[0] = t1 + s0 + majority;
	}
	for (unsigned i = 0; i < 8; i++)
		state[i] += v[i];
}

void sha256_init(struct sha256 *s)
{
	/* The first 32 bits of the fractions of the square roots of the first 8 primes. */
	static const uint32_t start[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

	memcpy(s->state, start, sizeof(start));
	s->len = 0;
}

void sha256_add(struct sha256 *s, const void *bytes, size_t len)
{
	const unsigned char *p = bytes;
	size_t waiting = s->len % sizeof(s->block);

	s->len += len;
	if (waiting && waiting + len >= sizeof(s->block)) {
		size_t n = sizeof(s->block) - waiting;

		memcpy(s->block + waiting, p, n);
		sha256_add_block(s->state, s->block);
		p += n;
		len -= n;
		waiting = 0;
	}
	if (!waiting) {
		for (; len >= sizeof(s->block); p += sizeof(s->block), len -= sizeof(s->block))
			sha256_add_block(s->state, p);
	}
	if (len)
		memcpy(s->block + waiting, p, len);
}

void sha256_end(struct sha256 *s, unsigned char out[SHA256_SIZE])
{
	static const unsigned char padding[64] = { 0x80 };
	uint64_t bits = s->len * 8;
	size_t used = s->len % 64;
	unsigned char length[8];

	sha256_add(s, padding, used < 56 ? 56 - used : 120 - used);
	for (unsigned i = 0; i < 8; i++)
		length[i] = (unsigned char)(bits >> (56 - 8 * i));
	sha256_add(s, length, sizeof(length));
	for (unsigned i = 0; i < SHA256_SIZE; i++)
		out[i] = (unsigned char)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256_hex(struct sha256 *s, char out[SHA256_HEX_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char digest[SHA256_SIZE];

	sha256_end(s, digest);
	for (size_t i = 0; i < SHA256_SIZE; i++) {
		out[2 * i] = digits[digest[i] >> 4];
		out[2 * i + 1] = digits[digest[i] & 15];
	}
	out[SHA256_HEX_SIZE - 1] = '\0';
}

void sha256_hmac(const unsigned char key[SHA256_SIZE], const void *bytes, size_t len,
		 unsigned char out[SHA256_SIZE])
{
	unsigned char pad[64];
	struct sha256 s;

	for (int outer = 0; outer < 2; outer++) {
		memset(pad, outer ? 0x5c : 0x36, sizeof(pad));
		for (size_t i = 0; i < SHA256_SIZE; i++)
			pad[i] ^= key[i];
		sha256_init(&s);
		sha256_add(&s, pad, sizeof(pad));
		sha256_add(&s, outer ? out : bytes, outer ? SHA256_SIZE : len);
		sha256_end(&s, out);
	}
}
