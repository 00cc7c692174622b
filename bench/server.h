/* server.h - a running stdio server, seen from the client: a pid and two pipes.
 *
 * Life: server_start -> server_call ... -> server_finish. Every wait ends after SERVER_DEADLINE_MS.
 * Threads: one.  Blocking: yes, that is what is measured.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SERVER_DEADLINE_MS 10000

struct server {
	pid_t pid;
	int in, out; /* its stdin (we write) and its stdout (we read) */
};

/* Start argv[0], found by PATH, the cheap way (vfork inside posix_spawn). env NULL: ours. -errno on
 * failure. */
int server_start(struct server *s, const char *const *argv, char *const *env);

/* Write a message of `len` bytes that ends in a newline and wait for one line. -errno; -ETIMEDOUT;
 * -EPIPE at the end. */
int server_call(struct server *s, const char *line, size_t len);

/* Move `count` messages there and back with at most `window` under way. As server_call. */
int server_pump(struct server *s, const char *line, size_t len, size_t count, size_t window);

/* Close stdin, the orderly end. */
void server_hang_up(struct server *s);

/* Hang up, wait for the exit. Returns the wait status, or -ETIMEDOUT after killing it. */
int server_finish(struct server *s);

/* Wait until this process has no child; after patience_ms kill whoever is left, until there is
 * none. We are a subreaper, so wrappers whose owner died and processes that escaped them end up
 * here; the wrappers are given the time to end by themselves. Returns the number of kills. */
int server_kill_all(int patience_ms);

/* Is this the program that the process runs? */
bool server_runs(pid_t pid, const char *program);
