/* signals.h - reading signals from a descriptor, and releasing stdio; used by watch and hold. */
#pragma once

#include <stdbool.h>
#include <sys/signalfd.h>

/* Block every signal that a client may send, and set SIGCHLD to its default: if it was inherited as
 * ignored, the kernel would reap the children. Signals of faults (SIGSEGV and similar) are not
 * blocked. */
void signals_block(void);

/* A non-blocking signalfd (CLOEXEC) for these signals. Each process makes its own, because a
 * signalfd returns the signals of the process that reads it. */
int signals_fd(void);

/* Read at most max pending signals; returns how many. The loop reads one batch per turn: a flood of
 * signals must not starve its other events. */
#define SIGNALS_BATCH 16
int signals_read(int fd, struct signalfd_siginfo *out, int max);

/* Open /dev/null for each standard descriptor that the client left closed: no descriptor of the
 * keeper may become the server's stdin. */
void stdio_ensure(void);

/* Replace a standard descriptor by /dev/null, so that the server holds the only copy. */
void stdio_drop(int fd);
/* The same for all descriptors from `first` to stderr. */
void stdio_drop_from(int first);

/* Close every descriptor above stderr except keep[0..count), where -1 is ignored: a descriptor that
 * the client forgot to mark as close-on-exec must not stay open in a keeper. */
void stdio_and(const int *keep, int count);

/* Close every descriptor above stderr, or, with at_exec, mark it as close-on-exec. */
void stdio_only(bool at_exec);
