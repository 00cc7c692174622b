/* posix.h - the few functions of POSIX that unit tests call, over src/os; included before every
 * test for Windows.
 *
 * A pipe here is a named pipe in the table of descriptors, as those to servers are. read waits, as
 * it does for a pipe of Linux that was not made non-blocking.
 */
#pragma once

#include <winsock2.h>

#include <io.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/thread.h"

int posix_pipe(int pair[2]);
ssize_t posix_read(int fd, void *out, size_t size);
ssize_t posix_write(int fd, const void *bytes, size_t len);
#define pipe(pair)           posix_pipe(pair)
#define read(fd, out, size)  posix_read(fd, out, size)
#define write(fd, from, len) posix_write(fd, from, len)
#define close(fd)            fd_close(fd)

/* At most one descriptor, and POLLIN. */
int posix_poll(struct pollfd *p, unsigned count, int timeout_ms);
#define poll(p, count, timeout_ms) posix_poll(p, count, timeout_ms)

typedef struct posix_thread *pthread_t;
int posix_thread_start(pthread_t *out, void *(*fn)(void *arg), void *arg);
int posix_thread_join(pthread_t t, void **out_result);
#define pthread_create(out, attr, fn, arg) posix_thread_start(out, fn, arg)
#define pthread_join(t, out_result)        posix_thread_join(t, out_result)
