/* json_internal.h - how json_check.c and json.c step over what is not a value. */
#pragma once

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Every byte of a word. */
#define JSON_BYTES(c) (0x0101010101010101u * (c))

/* The first byte from p on that is not an ordinary one of a string: a quote, a backslash, and if
 * `strict` also a control character or one beyond ASCII; or end.
 *
 * Eight at a time. A byte minus one has its high bit set if it was 0, a byte minus 0x20 if it
 * was less, always provided that it was below 0x80; a borrow disturbs only bytes behind the
 * first hit, and the first is all we ask for. */
__attribute__((always_inline)) static inline const char *json_run(const char *p, const char *end,
								  bool strict)
{
	while (end - p >= 8) {
		uint64_t x, hit;

		memcpy(&x, p, 8);
		x = le64toh(x);
		hit = ((x ^ JSON_BYTES('"')) - JSON_BYTES(1)) |
		      ((x ^ JSON_BYTES('\\')) - JSON_BYTES(1));
		if (strict)
			hit |= x | (x - JSON_BYTES(0x20));
		else
			hit &= ~x;
		hit &= JSON_BYTES(0x80);
		if (hit)
			return p + __builtin_ctzll(hit) / 8;
		p += 8;
	}
	for (; p < end; p++) {
		unsigned char c = (unsigned char)*p;

		if (c == '"' || c == '\\' || (strict && (c < 0x20 || c >= 0x80)))
			break;
	}
	return p;
}

/* The end of a comment that begins at p; NULL when it is not closed, p when there is none. */
const char *json_comment(const char *p, const char *end);
