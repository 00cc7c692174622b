/* mem.h - memory of short-lived programs: there is enough of it, or the program ends.
 *
 * Safe to do because nothing that keeps a tree allocates: these programs look and ask, and may die
 * at any point.
 */
#pragma once

#include <stddef.h>

/* Like realloc for count * size bytes, never NULL. */
void *mem_grow(void *p, size_t count, size_t size);

/* A copy of the first len bytes of s, with a NUL behind. */
char *mem_text(const char *s, size_t len);
/* A copy of s; NULL stays NULL. */
char *mem_dup(const char *s);
