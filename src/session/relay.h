/* relay.h - what a server says without being asked, handed to the sessions that it concerns.
 *
 * To the one that caused it where that is known; to the only one where there is one; news about
 * lists to all. What could be anybody's of several goes to nobody.
 * Threads: with the loop's lock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "mcp/client.h"

struct lease;
struct server;
struct site;

void relay_state(struct server *sv);
/* For client_events: ctx is the server, owner a lease. */
void relay_warning(void *ctx, const char *text);
void relay_note(void *ctx, enum killick_event_kind kind, void *owner, struct json params);
bool relay_ask(void *ctx, void *owner, uint64_t id, const char *method, struct json params);

/* stderr: into the tail, the file, and in whole lines to who listens. */
void relay_stderr_open(struct server *sv);
void relay_stderr(void *ctx, const char *bytes, size_t len); /* for link_events */
void relay_stderr_close(struct server *sv);

/* A link whose keeper does not answer, not even to SIGKILL. Nobody waits for it any more: a close
 * that hangs would help no one. Should it end after all, it frees itself; what it says until then
 * is not heard. */
void relay_abandon(struct link *l, struct site *site); /* site: where it is; NULL: here */
