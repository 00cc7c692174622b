/* mem.h - memory of the library, the executor and the command line: it is there, or the program ends
 * with abort().
 *
 * That is safe for servers: the keeper does not allocate, and ends the tree when its owner ends. It
 * is documented in killick.h for hosts of the library.
 * Threads: any.
 */
#pragma once

#include <stddef.h>

/* Like realloc for count * size bytes, never NULL. */
void *mem_grow(void *p, size_t count, size_t size);

/* A copy of the first len bytes of s, with a NUL behind. */
char *mem_text(const char *s, size_t len);
/* A copy of s; NULL stays NULL. */
char *mem_dup(const char *s);
