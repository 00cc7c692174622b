/* buf.h - bytes that grow, up to a limit that its maker chose.
 *
 * Everything whose size a peer chooses goes through one. Life: BUF_INIT(max) -> buf_add ... ->
 * buf_done; the zero value with a max is empty. data is NUL-terminated behind len once anything was
 * added. When the limit is reached, or a large buffer with a limit finds no memory, the buffer
 * stays as it was. A buffer of BUF_ANY_SIZE, which no peer fills, ends the program then (mem.h).
 */
#pragma once

#include <stddef.h>
#include <string.h>
#include <stdint.h>

struct buf {
	char *data;
	size_t len, cap, max;
};
#define BUF_INIT(limit)                                                                            \
	{                                                                                          \
		.max = (limit)                                                                     \
	}
#define BUF_ANY_SIZE (SIZE_MAX / 4) /* a limit for what no peer chooses */

/* Append; 0, or -EMSGSIZE or -ENOMEM and nothing was added. Here so that short literals cost a
 * store or two.
 */
int buf_add_slow(struct buf *b, const void *bytes, size_t len);
/* Room for len more bytes behind data + len, and a NUL; 0, -EMSGSIZE or -ENOMEM. Who fills it
 * sets len. */
int buf_reserve(struct buf *b, size_t len);
static inline int buf_add(struct buf *b, const void *bytes, size_t len)
{
	if (!b->data || len >= b->cap - b->len) /* cap counts the NUL, and is within max */
		return buf_add_slow(b, bytes, len);
	memcpy(b->data + b->len, bytes, len);
	b->len += len;
	b->data[b->len] = '\0';
	return 0;
}
/* Add len bytes that the caller fills in; NULL where buf_reserve fails. */
static inline char *buf_extend(struct buf *b, size_t len)
{
	if ((!b->data || len >= b->cap - b->len) && buf_reserve(b, len) < 0)
		return NULL;
	b->len += len;
	b->data[b->len] = '\0';
	return b->data + b->len - len;
}
int buf_adds(struct buf *b, const char *text);
int buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Take the first len bytes away. */
void buf_drop(struct buf *b, size_t len);
/* Empty, memory kept if it is at most keep bytes. */
void buf_reset(struct buf *b, size_t keep);
/* The memory leaves as a NUL-terminated string to be given to free(); the buffer is empty. */
char *buf_take(struct buf *b);
void buf_done(struct buf *b);
