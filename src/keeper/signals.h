/* signals.h - signals as things to read, and stdio as a thing to let go: what watch and hold do
 * alike. */
#pragma once

#include <stdbool.h>
#include <sys/signalfd.h>

/* Block everything a client may send and restore SIGCHLD's default: inherited as ignored it would
 * reap our children for us. What the CPU raises (SIGSEGV and its kin) stays as it is. */
void signals_block(void);

/* A non-blocking signalfd (CLOEXEC) for all of them. Each process makes its own: it reads the
 * signals of the reader. */
int signals_fd(void);

/* Take at most max of those that wait; returns how many. One batch a turn: whoever sends signals
 * without end must not keep us from the rest of the loop. */
#define SIGNALS_BATCH 16
int signals_read(int fd, struct signalfd_siginfo *out, int max);

/* Open /dev/null for each standard descriptor that the client left closed: no descriptor of ours
 * may become the server's stdin. */
void stdio_ensure(void);

/* Put /dev/null in the place of a standard descriptor, so that the server holds the only copy. */
void stdio_drop(int fd);
/* The same for all from `first` to stderr. */
void stdio_drop_from(int first);

/* Close every descriptor above stderr but those of keep[0..count) that are not -1: what the client
 * forgot to mark as close-on-exec is not ours to hold open. */
void stdio_and(const int *keep, int count);

/* Close every descriptor above stderr, or, at_exec, mark it to be closed by exec, whoever forgot.
 */
void stdio_only(bool at_exec);
