/* pipe.h - what connects this program to a child that is about to start: pipes, a terminal, and a
 * channel of messages.
 *
 * Each function makes `ours`, a nonblocking descriptor of this process, and `theirs`, the end of
 * the child, which is given to spawn_detached (spawn.h) and closed afterwards. No end is inherited
 * by any other child. All descriptors are closed with fd_close.
 *
 * Results: 0 or -errno; on failure nothing was made. Threads: any.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A pipe that the child reads, and one that the child writes. */
int pipe_to_child(int *out_ours, int *out_theirs);
int pipe_from_child(int *out_ours, int *out_theirs);

/* Messages in both directions: what is sent as one piece is received as one piece. Either side
 * hangs up by closing its end; messages sent before that still arrive. */
int pipe_channel(int *out_ours, int *out_theirs);

/* An end for the child that is empty when it is read and that loses what is written. */
int pipe_null(int *out_theirs);

/* A terminal of 24 lines and 80 columns. ours: [0] to write, [1] to read. theirs: the child's
 * stdin, stdout and stderr. Windows has no such descriptors: there the ends are two pipes
 * and NUL, and the keeper makes a pseudo console between the pipes. */
int pipe_terminal(int out_ours[2], int out_theirs[3]);

#define PIPE_NARROW (64 << 10) /* the default size of a pipe in bytes */
/* Make a pipe larger after it was found full, and set *done; nothing if *done is true. A full pipe
 * costs a switch to the other process and back each time. Not earlier, because all pipes of a user
 * share one limit. Best effort. */
void pipe_widen(int fd, bool *done);

/* Send one message. 0, -EAGAIN when the channel is full, or -EPIPE when the child has hung up.
 * SIGPIPE is never raised. */
int pipe_send(int ours, const char *message, size_t len);
/* Receive one message: its length; 0: the child has hung up and no message is left; -EAGAIN: there
 * is no message now. A message that is longer than `size` is cut. */
ssize_t pipe_receive(int ours, char *out, size_t size);
