/* limits.h - how many servers may run, and how much memory their trees may use.
 *
 * There are limits for all sessions together (struct pool, limits_set), for one session (its
 * config's maxServers and maxMemory) and for one server (its maxMemory counts all its processes).
 * They are checked when a server is about to start. If a limit is reached, the server that was not
 * used for the longest time rests, if one may rest (rest.h); the start waits in the queue of the
 * pool meanwhile. After the startup timeout of the server the start fails, which does not count as
 * a failure of the server. The memory is measured at most once in a second; a running server is
 * never ended because its memory grows.
 * Threads: with the loop's lock.  Blocking: never, but it reads files of /proc.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct killick;
struct server;

/* Set the limits of all sessions together; 0: none. */
void limits_set(struct killick *k, unsigned max_servers, unsigned long long max_memory);
/* May the server start now? If not, its wait has a deadline from now on. */
bool limits_allow(struct server *sv);
/* The limit that does not let the server start, in words: "maxServers (4) of the session". Returns
 * out. */
const char *limits_name(struct server *sv, char *out, size_t size);

/* The memory and the number of processes of the server's tree, not older than a second; 0: the
 * server does not run, or runs elsewhere. */
void server_memory(struct server *sv, unsigned long long *out_bytes, unsigned *out_processes);
