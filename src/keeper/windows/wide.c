/* wide.c - see wide.h */
#include "wide.h"

#include <stdbool.h>

static bool is_high(unsigned c)
{
	return c >= 0xd800 && c < 0xdc00;
}

static bool is_low(unsigned c)
{
	return c >= 0xdc00 && c < 0xe000;
}

/* The bytes of one code point; 1 to 4. */
static size_t wide_encode(unsigned code, char out[4])
{
	size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	static const unsigned char lead[] = { 0, 0x00, 0xc0, 0xe0, 0xf0 };

	for (size_t i = n; i-- > 1; code >>= 6)
		out[i] = (char)(0x80 | (code & 0x3f));
	out[0] = (char)(lead[n] | code);
	return n;
}

/* Write only if `to` is not NULL. */
static size_t wide_encode_all(const wchar_t *from, char *to)
{
	size_t need = 0;

	for (; *from; from++) {
		unsigned code = *from;
		char bytes[4];
		size_t n;

		if (is_high(code) && is_low(from[1]))
			code = 0x10000 + ((code - 0xd800) << 10) + (*++from - 0xdc00u);
		n = wide_encode(code, bytes);
		for (size_t i = 0; to && i < n; i++)
			to[need + i] = bytes[i];
		need += n;
	}
	if (to)
		to[need] = '\0';
	return need + 1;
}

size_t wide_to_utf8(const wchar_t *from, char *to, size_t size)
{
	size_t need = wide_encode_all(from, NULL);

	return need > size ? need : wide_encode_all(from, to);
}

/* The code point at s, and its length in *out_len; U+FFFD and 1 when there is none. */
static unsigned wide_decode(const unsigned char *s, size_t *out_len)
{
	size_t len = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	static const unsigned char mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	static const unsigned least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned code = s[0] & mask[len];

	*out_len = 1;
	if ((s[0] >= 0x80 && s[0] < 0xc2) || s[0] > 0xf4)
		return 0xfffd;
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0xfffd;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < least[len] || code > 0x10ffff)
		return 0xfffd;
	*out_len = len;
	return code;
}

static size_t wide_decode_all(const char *from, wchar_t *to)
{
	const unsigned char *s = (const unsigned char *)from;
	size_t need = 0, len;

	for (; *s; s += len) {
		unsigned code = wide_decode(s, &len);

		if (code >= 0x10000 && to) {
			to[need] = (wchar_t)(0xd800 + ((code - 0x10000) >> 10));
			to[need + 1] = (wchar_t)(0xdc00 + ((code - 0x10000) & 0x3ff));
		} else if (to) {
			to[need] = (wchar_t)code;
		}
		need += code >= 0x10000 ? 2 : 1;
	}
	if (to)
		to[need] = L'\0';
	return need + 1;
}

size_t wide_from_utf8(const char *from, wchar_t *to, size_t size)
{
	size_t need = wide_decode_all(from, NULL);

	return need > size ? need : wide_decode_all(from, to);
}
