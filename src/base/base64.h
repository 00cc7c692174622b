/* base64.h - bytes as text: RFC 4648, standard alphabet, padded.
 *
 * Threads: any.  Blocking: never.  Allocates: only through the buffer.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"

/* Length of the text for len bytes, without a NUL. */
static inline size_t base64_size(size_t len)
{
	return (len + 2) / 3 * 4;
}
/* Write exactly base64_size(len) characters; no NUL. */
void base64_encode(char *out, const void *bytes, size_t len);
/* Append the decoded bytes. 0; -EINVAL when text is not canonical padded base64, and nothing was
 * added; -EMSGSIZE or -ENOMEM, as of buf_reserve. */
int base64_decode(struct buf *out, const char *text, size_t len);
