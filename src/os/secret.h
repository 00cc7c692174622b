/* secret.h - a short secret in a file: read it without copies, and wipe it. Threads: any. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Read at most `size` bytes at the beginning of the file, which may be a pipe. The number of bytes
 * or -errno. */
ssize_t secret_read(const char *file, char *out, size_t size);
/* Overwrite the bytes, also where a compiler could leave out a memset. */
void secret_wipe(void *bytes, size_t len);
