/* base64.c - see base64.h
 *
 * A stream of output goes through here byte by byte, so a machine with AVX2 converts 24 bytes (32
 * characters) at a time. The last bytes, and all bytes on other machines, are converted with
 * tables.
 */
#include "base64.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define HAS_BULK 1
#else
#define HAS_BULK 0
#endif

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The value of a character plus GOOD; 0: not a base64 character. */
enum { GOOD = 64 };
static const uint8_t values[256] = {
	['A'] = 64,  ['B'] = 65,  ['C'] = 66,  ['D'] = 67,  ['E'] = 68,  ['F'] = 69,  ['G'] = 70,
	['H'] = 71,  ['I'] = 72,  ['J'] = 73,  ['K'] = 74,  ['L'] = 75,  ['M'] = 76,  ['N'] = 77,
	['O'] = 78,  ['P'] = 79,  ['Q'] = 80,  ['R'] = 81,  ['S'] = 82,  ['T'] = 83,  ['U'] = 84,
	['V'] = 85,  ['W'] = 86,  ['X'] = 87,  ['Y'] = 88,  ['Z'] = 89,  ['a'] = 90,  ['b'] = 91,
	['c'] = 92,  ['d'] = 93,  ['e'] = 94,  ['f'] = 95,  ['g'] = 96,  ['h'] = 97,  ['i'] = 98,
	['j'] = 99,  ['k'] = 100, ['l'] = 101, ['m'] = 102, ['n'] = 103, ['o'] = 104, ['p'] = 105,
	['q'] = 106, ['r'] = 107, ['s'] = 108, ['t'] = 109, ['u'] = 110, ['v'] = 111, ['w'] = 112,
	['x'] = 113, ['y'] = 114, ['z'] = 115, ['0'] = 116, ['1'] = 117, ['2'] = 118, ['3'] = 119,
	['4'] = 120, ['5'] = 121, ['6'] = 122, ['7'] = 123, ['8'] = 124, ['9'] = 125, ['+'] = 126,
	['/'] = 127,
};

#if HAS_BULK

/* A table of 16 bytes, repeated in both halves of a vector. */
#define TABLE(...) _mm256_broadcastsi128_si256(_mm_setr_epi8(__VA_ARGS__))

/* Encode whole groups of 24 bytes, as long as 4 more bytes can be read behind the group. Returns
 * how many bytes were encoded. */
__attribute__((target("avx2"))) static size_t encode_bulk(char *out, const uint8_t *in, size_t len)
{
	/* Reorder each three bytes a b c to b a c b: each 16-bit half then holds two whole 6-bit
	 * values. */
	const __m256i spread = TABLE(1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10);
	/* The offset to add to a value, by class: 0 for a-z, 1..10 for digits, 11 '+', 12 '/', 13
	 * for A-Z. */
	const __m256i shifts =
		TABLE('a' - 26, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52,
		      '0' - 52, '0' - 52, '0' - 52, '0' - 52, '+' - 62, '/' - 63, 'A', 0, 0);
	size_t at = 0;

	for (; len - at >= 28; at += 24, out += 32) {
		__m256i v = _mm256_inserti128_si256(
			_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(in + at))),
			_mm_loadu_si128((const __m128i *)(in + at + 12)), 1);
		__m256i even, odd, class;

		v = _mm256_shuffle_epi8(v, spread);
		/* The shift amounts differ within the vector, so multiplications do the shifts. */
		even = _mm256_mulhi_epu16(_mm256_and_si256(v, _mm256_set1_epi32(0x0fc0fc00)),
					  _mm256_set1_epi32(0x04000040));
		odd = _mm256_mullo_epi16(_mm256_and_si256(v, _mm256_set1_epi32(0x003f03f0)),
					 _mm256_set1_epi32(0x01000010));
		v = _mm256_or_si256(even, odd);
		class = _mm256_subs_epu8(v, _mm256_set1_epi8(51));
		class = _mm256_or_si256(class,
					_mm256_and_si256(_mm256_cmpgt_epi8(_mm256_set1_epi8(26), v),
							 _mm256_set1_epi8(13)));
		v = _mm256_add_epi8(v, _mm256_shuffle_epi8(shifts, class));
		_mm256_storeu_si256((__m256i *)out, v);
	}
	return at;
}

/* Decode whole groups of 32 characters, up to the first group with a character that is not base64.
 * Each store writes 8 bytes more than the 24 of its group, so a group is decoded only when 16 more
 * characters follow. Returns how many characters were decoded. */
__attribute__((target("avx2"))) static size_t decode_bulk(uint8_t *out, const char *in, size_t len)
{
	/* A character is valid if the bit of its high half is not in the forbidden bits of its low
	 * half: 1 for 2x, 2 for 3x, 4 for 4x and 6x, 8 for 5x and 7x, 16 for all others. */
	const __m256i high_bit = TABLE(16, 16, 1, 2, 4, 8, 4, 8, 16, 16, 16, 16, 16, 16, 16, 16);
	const __m256i forbidden = TABLE(16 + 1 + 4, 17, 17, 17, 17, 17, 17, 17, 17, 17, 16 + 1 + 2,
					16 + 2 + 8, 27, 27, 27, 16 + 2 + 8);
	/* The offset to add to a character, by its high half; index 1 is for '/', which has the
	 * same high half as '+'. */
	const __m256i shifts = TABLE(0, 63 - '/', 62 - '+', 52 - '0', -'A', -'A', 26 - 'a',
				     26 - 'a', 0, 0, 0, 0, 0, 0, 0, 0);
	const __m256i pack = TABLE(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1);
	const __m256i join = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7);
	const __m256i half = _mm256_set1_epi8(0x0f);
	size_t at = 0;

	for (; len - at >= 48; at += 32, out += 24) {
		__m256i v = _mm256_loadu_si256((const __m256i *)(in + at));
		__m256i high = _mm256_and_si256(_mm256_srli_epi32(v, 4), half);
		__m256i low = _mm256_and_si256(v, half);
		__m256i slash = _mm256_cmpeq_epi8(v, _mm256_set1_epi8('/'));

		if (!_mm256_testz_si256(_mm256_shuffle_epi8(high_bit, high),
					_mm256_shuffle_epi8(forbidden, low)))
			break;
		v = _mm256_add_epi8(v, _mm256_shuffle_epi8(shifts, _mm256_add_epi8(high, slash)));
		v = _mm256_maddubs_epi16(v, _mm256_set1_epi32(0x01400140)); /* 2 x 6 bits */
		v = _mm256_madd_epi16(v, _mm256_set1_epi32(0x00011000));    /* 4 x 6 bits */
		v = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(v, pack), join);
		_mm256_storeu_si256((__m256i *)out, v);
	}
	return at;
}

static bool has_bulk(void)
{
	return __builtin_cpu_supports("avx2");
}

#else

static size_t encode_bulk(char *out, const uint8_t *in, size_t len)
{
	(void)out, (void)in, (void)len;
	return 0;
}

static size_t decode_bulk(uint8_t *out, const char *in, size_t len)
{
	(void)out, (void)in, (void)len;
	return 0;
}

static bool has_bulk(void)
{
	return false;
}

#endif

void base64_encode(char *out, const void *bytes, size_t len)
{
	const uint8_t *in = bytes;
	size_t at = has_bulk() ? encode_bulk(out, in, len) : 0;

	out += at / 3 * 4;
	for (; len - at >= 3; at += 3, out += 4) {
		uint32_t v = (uint32_t)in[at] << 16 | (uint32_t)in[at + 1] << 8 | in[at + 2];

		out[0] = letters[v >> 18];
		out[1] = letters[v >> 12 & 63];
		out[2] = letters[v >> 6 & 63];
		out[3] = letters[v & 63];
	}
	if (len > at) {
		uint32_t v =
			(uint32_t)in[at] << 16 | (len - at > 1 ? (uint32_t)in[at + 1] << 8 : 0);

		out[0] = letters[v >> 18];
		out[1] = letters[v >> 12 & 63];
		out[2] = len - at > 1 ? letters[v >> 6 & 63] : '=';
		out[3] = '=';
	}
}

/* Returns the 24 bits of four characters, or -1. */
static int32_t decode_four(const char *in)
{
	uint32_t a = values[(uint8_t)in[0]], b = values[(uint8_t)in[1]];
	uint32_t c = values[(uint8_t)in[2]], d = values[(uint8_t)in[3]];
	uint32_t v = (a & 63) << 18 | (b & 63) << 12 | (c & 63) << 6 | (d & 63);

	return a & b & c & d & GOOD ? (int32_t)v : -1;
}

/* len is at least 4; the last `pads` characters are '='. */
static bool base64_decode_text(uint8_t *out, const char *in, size_t len, unsigned pads)
{
	size_t at = has_bulk() ? decode_bulk(out, in, len) : 0;
	char last[4] = { 'A', 'A', 'A', 'A' }; /* 'A' has the value 0 and replaces '=' */
	int32_t v;

	out += at / 4 * 3;
	for (; len - at > 4; at += 4, out += 3) {
		v = decode_four(in + at);
		if (v < 0)
			return false;
		out[0] = (uint8_t)(v >> 16);
		out[1] = (uint8_t)(v >> 8);
		out[2] = (uint8_t)v;
	}
	memcpy(last, in + at, 4 - pads);
	v = decode_four(last);
	if (v < 0 || (v & ((1 << 8 * pads) - 1))) /* the unused bits must be zero */
		return false;
	for (unsigned i = 0; i < 3 - pads; i++)
		out[i] = (uint8_t)(v >> (16 - 8 * i));
	return true;
}

int base64_decode(struct buf *out, const char *text, size_t len)
{
	unsigned pads = 0;
	size_t size;
	int r;

	if (len % 4)
		return -EINVAL;
	if (len && text[len - 1] == '=')
		pads = text[len - 2] == '=' ? 2 : 1;
	size = len / 4 * 3 - pads;
	r = buf_reserve(out, size);
	if (r < 0)
		return r;
	if (len && !base64_decode_text((uint8_t *)out->data + out->len, text, len, pads)) {
		out->data[out->len] = '\0'; /* cut off the partial output */
		return -EINVAL;
	}
	out->len += size;
	out->data[out->len] = '\0';
	return 0;
}
