/* mem.c - see mem.h */
#include "mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void (*mem_tell)(const char *line);

_Noreturn void mem_exhausted(void)
{
	if (mem_tell)
		mem_tell("killick: out of memory");
	else
		fputs("killick: out of memory\n", stderr);
	abort();
}

void *mem_grow(void *p, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes) || !(p = realloc(p, bytes ? bytes : 1)))
		mem_exhausted();
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

void *mem_try_grow(void *p, size_t size)
{
	return size <= MEM_SMALL ? mem_grow(p, size, 1) : realloc(p, size);
}

void *mem_try(size_t size)
{
	return mem_try_grow(NULL, size);
}

char *mem_try_text(const char *s, size_t len)
{
	char *copy = mem_try(len + 1);

	if (!copy)
		return NULL;
	memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}
