/* kernel.h - the operating system and the machine, for people to read. Threads: any.  Blocking:
 * never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct kernel {
	char name[65], release[65]; /* "Linux" "6.1.0", "Windows" "10.0.19045" */
	char machine[65];           /* "x86_64", "aarch64" */
};

int kernel_look(struct kernel *out); /* 0 or -errno */
/* The version of the C library, if it is a shared one that other programs use, too. */
bool kernel_libc(char *out, size_t size);
