/* auto.h - variables that free themselves at the end of their block. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/fd.h"

#define AUTO(fn) __attribute__((cleanup(fn)))

/* p is the address of a pointer of any type: its bytes are copied, because a `char *` may not be
 * read as a `void *`. */
static inline void mem_drop(void *p)
{
	void *block;

	memcpy(&block, p, sizeof(block));
	free(block);
	memset(p, 0, sizeof(block));
}
