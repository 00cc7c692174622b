/* buf.h - a byte buffer that grows up to a limit.
 *
 * All data whose size a peer chooses is stored in a struct buf. Life: BUF_INIT(max) -> buf_add ...
 * -> buf_done. data is never NULL and is NUL-terminated behind len: an empty buffer without memory
 * points to buf_empty, which nothing writes to. If the limit is reached, or there is no memory for a large buffer with a limit, the
 * buffer stays unchanged. For a buffer of BUF_ANY_SIZE, which no peer fills, missing memory ends
 * the program (mem.h).
 */
#pragma once

#include <stddef.h>
#include <string.h>
#include <stdint.h>

extern char buf_empty[1];
struct buf {
	char *data;
	size_t len, cap, max; /* cap: bytes of memory; 0: data is buf_empty */
};
#define BUF_INIT(limit)                                                                            \
	{                                                                                          \
		.data = buf_empty, .max = (limit)                                                  \
	}
#define BUF_ANY_SIZE (SIZE_MAX / 4) /* a limit for data whose size no peer chooses */

/* Append; 0, or -EMSGSIZE or -ENOMEM and nothing was added. buf_add is inline, so that short
 * literals cost a store or two.
 */
int buf_add_slow(struct buf *b, const void *bytes, size_t len);
/* Reserve capacity for len more bytes behind data + len, and a NUL; 0, -EMSGSIZE or -ENOMEM. The
 * caller fills the bytes and sets b->len. */
int buf_reserve(struct buf *b, size_t len);
static inline int buf_add(struct buf *b, const void *bytes, size_t len)
{
	if (len >= b->cap - b->len) /* cap counts the NUL, and is within max */
		return buf_add_slow(b, bytes, len);
	memcpy(b->data + b->len, bytes, len);
	b->len += len;
	b->data[b->len] = '\0';
	return 0;
}
/* Add len bytes that the caller fills in; NULL where buf_reserve fails. */
static inline char *buf_extend(struct buf *b, size_t len)
{
	if (len >= b->cap - b->len && buf_reserve(b, len) < 0)
		return NULL;
	b->len += len;
	b->data[b->len] = '\0';
	return b->data + b->len - len;
}
int buf_adds(struct buf *b, const char *text);
int buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Remove the first len bytes. */
void buf_drop(struct buf *b, size_t len);
/* Empty the buffer; its memory is kept if it is at most `keep` bytes. */
void buf_reset(struct buf *b, size_t keep);
/* Return the contents as a NUL-terminated string to be given to free(). The buffer is empty
 * then. */
char *buf_take(struct buf *b);
void buf_done(struct buf *b);
