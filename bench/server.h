/* server.h - a running stdio server, seen from the client: a pid and two pipes.
 *
 * Life: server_start -> server_call ... -> server_finish. Every wait ends after SERVER_DEADLINE_MS.
 * Threads: one.  Blocking: yes, this time is measured.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SERVER_DEADLINE_MS 10000

struct server {
	pid_t pid;
	int in, out; /* its stdin (for writing) and its stdout (for reading) */
};

/* Start argv[0], found by PATH, with posix_spawn, which uses vfork. env NULL: that of this process.
 * -errno on failure. */
int server_start(struct server *s, const char *const *argv, char *const *env);

/* Write a message of `len` bytes that ends in a newline and wait for one line. -errno; -ETIMEDOUT;
 * -EPIPE at end of file. */
int server_call(struct server *s, const char *line, size_t len);

/* Send `count` messages and read their answers, with at most `window` in flight. Errors as
 * server_call. */
int server_pump(struct server *s, const char *line, size_t len, size_t count, size_t window);

/* Close stdin, which asks the server to end. */
void server_hang_up(struct server *s);

/* Hang up, wait for the exit. Returns the wait status, or -ETIMEDOUT after a kill. */
int server_finish(struct server *s);

/* Wait until this process has no child. After patience_ms kill the remaining children. This process
 * is a subreaper: wrappers whose owner died become its children, and so do processes that escaped
 * from a wrapper. During patience_ms the wrappers can end by themselves. Returns the number of
 * kills.
 */
int server_kill_all(int patience_ms);

/* Does the process run this program? */
bool server_runs(pid_t pid, const char *program);
