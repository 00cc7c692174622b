/* exec_log.h - lines for whoever looks after an executor, written by a thread of their own.
 *
 * Standard error may be a pipe that nobody reads, and the executor must not wait for it: what does
 * not fit is dropped, and a line says how much.
 * Threads: any.  Blocking: only exec_log_close, for at most a second.
 */
#pragma once

struct exec_log;

struct exec_log *exec_log_open(int fd); /* borrowed */
void exec_log_line(struct exec_log *l, const char *line);
void exec_log_close(struct exec_log *l);
