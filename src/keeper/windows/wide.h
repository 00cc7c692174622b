/* wide.h - between the UTF-8 of killick and the UTF-16 of Windows.
 *
 * Windows does not check UTF-16: an argument or a file name may have one half of a surrogate pair.
 * Such a half becomes three bytes, as in WTF-8, and is the same half again after the way back. So
 * a command gets its arguments unchanged.
 *
 * Threads: any.  Blocking: never.  Allocates: never.
 */
#pragma once

#include <stddef.h>
#include <wchar.h>

/* Both write the whole text with its NUL if it fits into `size` units, else nothing. They return
 * the units that the text needs, with the NUL. */
size_t wide_to_utf8(const wchar_t *from, char *to, size_t size);
/* Bytes that are not UTF-8 become U+FFFD. */
size_t wide_from_utf8(const char *from, wchar_t *to, size_t size);
