/* mem.c - see mem.h */
#include "mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *mem_grow(void *p, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes) || !(p = realloc(p, bytes ? bytes : 1))) {
		fputs("killick: out of memory\n", stderr);
		abort();
	}
	return p;
}

char *mem_text(const char *s, size_t len)
{
	char *copy = mem_grow(NULL, len + 1, 1);

	memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}

char *mem_dup(const char *s)
{
	return s ? mem_text(s, strlen(s)) : NULL;
}
