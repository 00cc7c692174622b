/* buf.c - see buf.h */
#include "buf.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

enum { CAP_MIN = 64 };

char buf_empty[1];

static bool buf_grow(struct buf *b, size_t cap)
{
	char *old = b->cap ? b->data : NULL;
	char *data = b->max >= BUF_ANY_SIZE ? mem_grow(old, cap, 1) : mem_try_grow(old, cap);

	if (!data)
		return false;
	b->data = data;
	b->cap = cap;
	return true;
}

int buf_reserve(struct buf *b, size_t len)
{
	size_t need, cap;

	assert(b->len <= b->max);
	if (len > b->max - b->len || b->len + len > BUF_ANY_SIZE)
		return -EMSGSIZE;
	need = b->len + len + 1; /* and the NUL */
	if (need <= b->cap)
		return 0;
	cap = b->cap < CAP_MIN ? CAP_MIN : b->cap * 2;
	if (cap > b->max)
		cap = b->max + 1; /* the limit and the NUL */
	if (cap < need)
		cap = need;
	/* memory for twice the size may be missing where the needed size is available */
	return buf_grow(b, cap) || (cap > need && buf_grow(b, need)) ? 0 : -ENOMEM;
}

int buf_add_slow(struct buf *b, const void *bytes, size_t len)
{
	int r = buf_reserve(b, len);

	if (r < 0)
		return r;
	assert(b->data);
	if (len)
		memcpy(b->data + b->len, bytes, len);
	b->len += len;
	b->data[b->len] = '\0';
	return 0;
}

int buf_adds(struct buf *b, const char *text)
{
	return buf_add(b, text, strlen(text));
}

int buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;
	size_t room = b->cap - b->len;
	int n, r;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(room ? b->data + b->len : NULL, room, fmt, ap);
	va_end(ap);
	assert(n >= 0); /* vsnprintf fails only for an invalid format */
	r = buf_reserve(b, (size_t)n);
	if (r == 0 && (size_t)n >= room)
		vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
	va_end(again);
	if (r == 0)
		b->len += (size_t)n;
	else if (b->cap)
		b->data[b->len] = '\0'; /* cut off the partial output */
	return r;
}

void buf_drop(struct buf *b, size_t len)
{
	assert(len <= b->len);
	if (len == 0)
		return;
	b->len -= len;
	memmove(b->data, b->data + len, b->len);
	b->data[b->len] = '\0';
}

void buf_reset(struct buf *b, size_t keep)
{
	if (b->cap > keep) {
		buf_done(b);
	} else if (b->cap) {
		b->len = 0;
		b->data[0] = '\0';
	}
}

char *buf_take(struct buf *b)
{
	char *data = b->cap ? b->data : mem_text("", 0);

	data[b->len] = '\0'; /* buf_reserve writes no NUL */
	*b = (struct buf)BUF_INIT(b->max);
	return data;
}

void buf_done(struct buf *b)
{
	if (b->cap)
		free(b->data);
	*b = (struct buf)BUF_INIT(b->max);
}
