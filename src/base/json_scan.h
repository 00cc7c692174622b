/* json_scan.h - looks at 64 bytes of a text at once.
 *
 * A scanner reads exactly JSON_BLOCK bytes from p on, at any alignment, and answers with a bit per
 * byte, the lowest bit for the first byte. There is a version for processors with vectors (SSE2,
 * which every x86-64 has, and NEON, which every AArch64 has) and one with plain words for all
 * others; both give the same bits.
 * Threads: any.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

#define JSON_BLOCK 64

/* --- plain words --- */

/* Every byte of a word. */
#define JSON_BYTES(c) (0x0101010101010101u * (c))

static inline uint64_t json_load_word(const char *p)
{
	uint64_t x;

	memcpy(&x, p, 8);
	return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? __builtin_bswap64(x) : x;
}

/* The high bit of each byte that is zero. Exact: no byte disturbs the next one. */
static inline uint64_t json_zero_bytes(uint64_t x)
{
	return ~(((x & JSON_BYTES(0x7f)) + JSON_BYTES(0x7f)) | x) & JSON_BYTES(0x80);
}

static inline uint64_t json_quotes_of_word(uint64_t x)
{
	return json_zero_bytes(x ^ JSON_BYTES('"')) | json_zero_bytes(x ^ JSON_BYTES('\\'));
}

/* Gather the high bits of the eight bytes into one byte. */
static inline uint64_t json_gather(uint64_t high_bits)
{
	return (high_bits >> 7) * 0x0102040810204080u >> 56;
}

/* Has a block any special byte? A byte minus one has its high bit set if it was 0, a byte minus
 * 0x20 if it was less; a borrow disturbs only bytes behind the first hit. */
static inline bool json_any_special_words(const char *p)
{
	uint64_t hit = 0;

	for (unsigned i = 0; i < JSON_BLOCK; i += 8) {
		uint64_t x = json_load_word(p + i);

		hit |= x | (x - JSON_BYTES(0x20)) | ((x ^ JSON_BYTES('"')) - JSON_BYTES(1)) |
		       ((x ^ JSON_BYTES('\\')) - JSON_BYTES(1));
	}
	return hit & JSON_BYTES(0x80);
}

static inline uint64_t json_special_words(const char *p)
{
	uint64_t bits = 0;

	if (!json_any_special_words(p))
		return 0;
	for (unsigned i = 0; i < JSON_BLOCK; i += 8) {
		uint64_t x = json_load_word(p + i);
		uint64_t control = json_zero_bytes(x & JSON_BYTES(0xe0));

		bits |= json_gather(json_quotes_of_word(x) | control | (x & JSON_BYTES(0x80))) << i;
	}
	return bits;
}

static inline uint64_t json_quotes_words(const char *p)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < JSON_BLOCK; i += 8)
		bits |= json_gather(json_quotes_of_word(json_load_word(p + i))) << i;
	return bits;
}

static inline uint64_t json_escaped_words(const char *p)
{
	uint64_t bits = json_special_words(p);

	for (unsigned i = 0; i < JSON_BLOCK; i += 8)
		bits |= json_gather(json_zero_bytes(json_load_word(p + i) ^ JSON_BYTES(0x7f))) << i;
	return bits;
}

static inline uint64_t json_characters_words(const char *p, unsigned from)
{
	uint64_t bits = 0;

	for (size_t i = from, n; i < JSON_BLOCK; i += n) {
		n = utf8_len(p + i, JSON_BLOCK - i);
		if (n == 0)
			break;
		if (n > 1)
			bits |= ((1ull << n) - 1) << i;
	}
	return bits;
}

/* --- vectors: the compiler knows them; only the gathering of bits differs by processor --- */

/* JSON_NO_VECTORS: use plain words on every processor, to test and to measure them. */
#if defined(JSON_NO_VECTORS)
#elif defined(__SSE2__)
#define JSON_VECTORS
#include <emmintrin.h>
#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define JSON_VECTORS
#include <arm_neon.h>
#endif

#ifdef JSON_VECTORS
typedef signed char json_vec __attribute__((vector_size(16)));

struct json_vecs {
	json_vec a, b, c, d;
};

static inline struct json_vecs json_load_vecs(const char *p)
{
	struct json_vecs v;

	memcpy(&v.a, p, 16);
	memcpy(&v.b, p + 16, 16);
	memcpy(&v.c, p + 32, 16);
	memcpy(&v.d, p + 48, 16);
	return v;
}

/* A bit per byte; every byte is 0 or -1. */
#if defined(__SSE2__)
static inline uint64_t json_gather_vec(json_vec v)
{
	return (unsigned)_mm_movemask_epi8((__m128i)v);
}

static inline uint64_t json_gather_vecs(json_vec a, json_vec b, json_vec c, json_vec d)
{
	return json_gather_vec(a) | json_gather_vec(b) << 16 | json_gather_vec(c) << 32 |
	       json_gather_vec(d) << 48;
}
#else
static inline uint64_t json_gather_vecs(json_vec a, json_vec b, json_vec c, json_vec d)
{
	const uint8x16_t bit = { 1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128 };
	uint8x16_t ab = vpaddq_u8((uint8x16_t)a & bit, (uint8x16_t)b & bit);
	uint8x16_t cd = vpaddq_u8((uint8x16_t)c & bit, (uint8x16_t)d & bit);
	uint8x16_t all = vpaddq_u8(ab, cd);

	return vgetq_lane_u64((uint64x2_t)vpaddq_u8(all, all), 0);
}
#endif

/* The bits of the bytes that pass a test, which takes a vector and gives 0 or -1 for each byte. */
#define JSON_WHERE(test, v) json_gather_vecs(test((v).a), test((v).b), test((v).c), test((v).d))

/* Bytes are signed: those beyond ASCII are below 0, and in their usual order among themselves. */
#define JSON_BYTE(c) ((signed char)(c))

static inline json_vec json_is_quote(json_vec x)
{
	return (x == '"') | (x == '\\');
}

/* x < c. GCC makes two comparisons of it for SSE2, which has no "less or equal". */
static inline json_vec json_is_below(json_vec x, signed char c)
{
#if defined(__SSE2__)
	return (json_vec)_mm_cmpgt_epi8(_mm_set1_epi8(c), (__m128i)x);
#else
	return x < c;
#endif
}

static inline json_vec json_is_special(json_vec x)
{
	return json_is_quote(x) | json_is_below(x, 0x20);
}

static inline json_vec json_is_escaped(json_vec x)
{
	return json_is_special(x) | (x == 0x7f);
}

static inline json_vec json_is_high(json_vec x)
{
	return json_is_below(x, 0);
}

static inline json_vec json_is_tail(json_vec x)
{
	return json_is_below(x, JSON_BYTE(0xc0));
}

/* Also true for ASCII. */
static inline json_vec json_is_lead3(json_vec x)
{
	return x > JSON_BYTE(0xdf);
}

/* Lead bytes that are wrong, or that forbid some of the tail bytes behind them. */
static inline json_vec json_is_odd(json_vec x)
{
	return ((x & JSON_BYTE(0xfe)) == JSON_BYTE(0xc0)) | (x == JSON_BYTE(0xe0)) |
	       (x == JSON_BYTE(0xed)) | ((x > JSON_BYTE(0xef)) & json_is_below(x, 0));
}

static inline uint64_t json_special_vecs(const char *p)
{
	struct json_vecs v = json_load_vecs(p);

	return JSON_WHERE(json_is_special, v);
}

static inline uint64_t json_quotes_vecs(const char *p)
{
	struct json_vecs v = json_load_vecs(p);

	return JSON_WHERE(json_is_quote, v);
}

static inline uint64_t json_escaped_vecs(const char *p)
{
	struct json_vecs v = json_load_vecs(p);

	return JSON_WHERE(json_is_escaped, v);
}

static inline uint64_t json_characters_vecs(const char *p, unsigned from)
{
	struct json_vecs v = json_load_vecs(p);
	uint64_t in = ~0ull << from;
	uint64_t high = JSON_WHERE(json_is_high, v) & in;
	uint64_t tail = JSON_WHERE(json_is_tail, v) & in;
	uint64_t lead = high & ~tail, lead3 = JSON_WHERE(json_is_lead3, v) & lead;
	uint64_t cut = (lead & 1ull << 63) | (lead3 & 1ull << 62);

	if (JSON_WHERE(json_is_odd, v) & in)
		return json_characters_words(p, from);
	if ((lead << 1 | lead3 << 2) != tail)
		return json_characters_words(p, from);
	return cut ? high & ((cut & -cut) - 1) : high;
}
#endif

/* --- the better of the two --- */

/* A quote, a backslash, a control character, or a byte beyond ASCII: each ends a run of plain
 * characters in a string. */
static inline uint64_t json_special(const char *p)
{
#ifdef JSON_VECTORS
	return json_special_vecs(p);
#else
	return json_special_words(p);
#endif
}

/* A quote or a backslash. */
static inline uint64_t json_quotes(const char *p)
{
#ifdef JSON_VECTORS
	return json_quotes_vecs(p);
#else
	return json_quotes_words(p);
#endif
}

/* A special byte or DEL: a byte that a writer cannot copy as it is. */
static inline uint64_t json_escaped(const char *p)
{
#ifdef JSON_VECTORS
	return json_escaped_vecs(p);
#else
	return json_escaped_words(p);
#endif
}

/* The bytes of characters beyond ASCII that are UTF-8 and whole, from byte `from` on, where a
 * character begins. Stops at the first character that is broken or cut; its bytes have no bit. */
static inline uint64_t json_characters(const char *p, unsigned from)
{
#ifdef JSON_VECTORS
	return json_characters_vecs(p, from);
#else
	return json_characters_words(p, from);
#endif
}

/* The first quote or backslash from p on, or end. Most strings are short, so two words come before
 * the first block. */
static inline const char *json_find_quote(const char *p, const char *end)
{
	for (int words = 0; end - p >= 8; words++) {
		bool block = words >= 2 && end - p >= JSON_BLOCK;
		uint64_t bits = block ? json_quotes(p)
				      : json_gather(json_quotes_of_word(json_load_word(p)));

		if (bits)
			return p + __builtin_ctzll(bits);
		p += block ? JSON_BLOCK : 8;
	}
	while (p < end && *p != '"' && *p != '\\')
		p++;
	return p;
}
