/* utf8.h - one character of a text that may not be UTF-8.
 *
 * Overlong forms, surrogates and code points beyond U+10FFFF are not UTF-8.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool utf8_is_tail(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

/* Bytes of the character at the beginning of a text of len bytes (at least 1); 0 when the character
 * is broken or cut. */
static inline size_t utf8_len(const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned high; /* bits of the code point that the first two bytes have */

	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xe0)
		return s[0] >= 0xc2 && len >= 2 && utf8_is_tail(s[1]) ? 2 : 0;
	if (s[0] < 0xf0) {
		if (len < 3 || !utf8_is_tail(s[1]) || !utf8_is_tail(s[2]))
			return 0;
		high = (s[0] & 0xfu) << 6 | (s[1] & 0x3fu);
		return high < 0x800 >> 6 || (high >= 0xd800 >> 6 && high < 0xe000 >> 6) ? 0 : 3;
	}
	if (s[0] > 0xf4 || len < 4 || !utf8_is_tail(s[1]) || !utf8_is_tail(s[2]) ||
	    !utf8_is_tail(s[3]))
		return 0;
	high = (s[0] & 0x7u) << 6 | (s[1] & 0x3fu);
	return high < 0x10000 >> 12 || high > 0x10ffff >> 12 ? 0 : 4;
}

/* The code point of the character at s, whose length utf8_len has given. */
static inline int32_t utf8_code(const char *s, size_t n)
{
	int32_t c = (unsigned char)s[0];

	if (n > 1)
		c &= 0x7f >> n;
	for (size_t i = 1; i < n; i++)
		c = c << 6 | (s[i] & 0x3f);
	return c;
}
