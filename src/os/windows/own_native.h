/* own_native.h - own.h for Windows: each entry of the table has a generation of its own. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct own {
	uint64_t generation; /* OWN_FILE: a descriptor of the C runtime; these are not told apart */
};
#define OWN_FILE UINT64_MAX

struct own own_of(int fd);
bool own_is(const struct own *o, int fd);
