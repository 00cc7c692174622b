/* mem.h - memory of the library, the executor and the command line: an allocation succeeds, or the
 * program ends with abort().
 *
 * The abort is safe for servers: the keeper does not allocate, and ends the tree when its owner
 * ends. killick.h documents the abort for hosts. But a peer must not be able to end a host: where a
 * peer chooses the size, mem_try and struct buf fail instead, and only the one message or request
 * fails. If even MEM_SMALL bytes are missing, the peer is not the cause, and the program ends as
 * well. Threads: any.
 */
#pragma once

#include <stddef.h>

#define MEM_SMALL 65536

/* Gets the last line of the program in place of stderr; NULL: stderr. */
extern void (*mem_tell)(const char *line);
/* No memory is left: write one line to stderr and call abort(). */
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
/* realloc for a size that a peer chose; NULL: p is unchanged. */
void *mem_try_grow(void *p, size_t size);
