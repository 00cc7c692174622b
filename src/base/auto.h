/* auto.h - variables that free themselves at the end of their block. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "os/fd.h"

#define AUTO(fn) __attribute__((cleanup(fn)))

static inline void mem_drop(void *p)
{
	free(*(void **)p);
	*(void **)p = NULL;
}
