/* relay.h - what a server says without being asked, handed to the sessions that it concerns.
 *
 * To the one that caused it where that is known; to the only one where there is one; news about
 * lists to all. What could be anybody's of several goes to nobody. Threads: with the loop's lock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "mcp/client.h"

struct lease;
struct server;

void relay_state(struct server *sv);
void relay_warning(struct server *sv, const char *text);
void relay_note(struct server *sv, enum client_note note, struct lease *owner, struct json params);
bool relay_ask(struct server *sv, struct lease *owner, uint64_t id, const char *method,
	       struct json params);

/* stderr: into the tail, the file, and in whole lines to who listens. */
void relay_stderr_open(struct server *sv);
void relay_stderr(struct server *sv, const char *bytes, size_t len);
void relay_stderr_close(struct server *sv);
