/* rest.h - ends servers that are not used; their next use starts them again.
 *
 * A server with "idle" in its config rests after this time without a request in flight, without a
 * subscription and without a task, unless the server keeps state (server_keeps_state). While a
 * server rests, its list of tools is answered from the cache, and its leases stay as they are. A
 * request that comes while the server is being ended waits for the new process. No request is
 * interrupted.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct server;

/* The server is ready, or its "idle" has changed. */
void rest_arm(struct server *sv);
/* A request has ended. */
void rest_note_use(struct server *sv);
/* End the ready server, which must not be busy. */
void rest_begin(struct server *sv);

/* Does the server keep state between requests, so that it must not rest? The config, or a guess
 * (share.h); true while this is not known. */
bool server_keeps_state(const struct server *sv);
/* Has a session a request in flight? */
bool server_is_busy(const struct server *sv);
/* Is a session subscribed to a resource of the server, or has it a task there? */
bool server_is_watched(const struct server *sv);
/* Milliseconds since the last request ended; 0: one is in flight. */
int64_t server_idle_ms(const struct server *sv);
