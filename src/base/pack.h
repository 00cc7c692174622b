/* pack.h - a struct and the texts it points to, as one block of memory.
 *
 * The caller runs the same function twice: first with base NULL, to count the bytes, then with the
 * block.
 */
#pragma once

#include <stddef.h>
#include <string.h>

struct pack {
	char *base; /* NULL: counting */
	size_t used;
};

static inline const char *pack_bytes(struct pack *p, const char *bytes, size_t len)
{
	size_t begin = p->used;
	char *at;

	p->used += len + 1;
	if (!p->base)
		return NULL;
	at = p->base + begin;
	memcpy(at, bytes, len);
	at[len] = '\0';
	return at;
}

static inline const char *pack_text(struct pack *p, const char *text) /* NULL is "" */
{
	return pack_bytes(p, text ? text : "", text ? strlen(text) : 0);
}
