/* exec_log.h - log lines of the executor and the hub, and the stderr of a server behind a relay,
 * written to stderr by a separate thread.
 *
 * stderr may be a pipe without a reader, and the program must not block on it: lines that do not
 * fit are dropped, and one line reports how many.
 *
 * Threads: any.  Blocking: only exec_log_close, for at most a second.
 */
#pragma once

#include <stddef.h>

struct exec_log;

struct exec_log *exec_log_open(int fd); /* borrowed */
void exec_log_line(struct exec_log *l, const char *line);
/* Bytes as they are; counted as one line if they are dropped. */
void exec_log_bytes(struct exec_log *l, const char *bytes, size_t len);
void exec_log_close(struct exec_log *l);
