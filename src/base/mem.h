/* mem.h - memory of the library, the executor and the command line: it is there, or the program
 * ends with abort().
 *
 * That is safe for servers: the keeper does not allocate, and ends the tree when its owner ends. A
 * host of the library is told in killick.h. But a peer shall not be able to end a host: where the
 * size is a peer's choice, mem_try and struct buf fail instead, and the one message or request
 * fails with an error. Little memory (MEM_SMALL) that is not there is nobody's choice and ends the
 * program as well. Threads: any.
 */
#pragma once

#include <stddef.h>

#define MEM_SMALL 65536

/* There is none left: one line on stderr, and abort(). */
_Noreturn void mem_exhausted(void);

/* Like realloc for count * size bytes, never NULL. */
void *mem_grow(void *p, size_t count, size_t size);

/* A copy of the first len bytes of s, with a NUL behind. */
char *mem_text(const char *s, size_t len);
/* A copy of s; NULL stays NULL. */
char *mem_dup(const char *s);

/* The same two for sizes that a peer chose: NULL if there is no memory for more than MEM_SMALL
 * bytes. */
void *mem_try(size_t size);
char *mem_try_text(const char *s, size_t len);
/* realloc for such a size; NULL: p is as it was. */
void *mem_try_grow(void *p, size_t size);
