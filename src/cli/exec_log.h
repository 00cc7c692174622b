/* exec_log.h - the executor's log lines, written to stderr by a separate thread.
 *
 * stderr may be a pipe without a reader, and the executor must not block on it: lines that do not
 * fit are dropped, and one line reports how many.
 *
 * Threads: any.  Blocking: only exec_log_close, for at most a second.
 */
#pragma once

struct exec_log;

struct exec_log *exec_log_open(int fd); /* borrowed */
void exec_log_line(struct exec_log *l, const char *line);
void exec_log_close(struct exec_log *l);
