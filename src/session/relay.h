/* relay.h - passes notifications, asks and stderr of a server on to its sessions.
 *
 * A log message, an update or an ask goes to the session that caused it, if this session is known,
 * or to the only session of the server. If it could belong to several sessions, it is dropped.
 * Warnings, states, stderr and changes of lists go to all sessions.
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
/* Protocol errors of the server. The sessions of the hub that share a server do not get them. */
void relay_odd(void *ctx, const char *text);
void relay_note(void *ctx, enum killick_event_kind kind, void *owner, struct json params);
void relay_other(void *ctx, void *owner, const char *method, struct json params);
bool relay_ask(void *ctx, void *owner, uint64_t id, const char *method, struct json params);
void relay_ask_over(void *ctx, void *owner, uint64_t id);

/* stderr goes into the tail, into the file, and in whole lines to the handlers. */
void relay_stderr_open(struct server *sv);
void relay_stderr(void *ctx, const char *bytes, size_t len); /* for link_events */
void relay_stderr_close(struct server *sv);

/* Abandon a link whose keeper does not answer, not even to SIGKILL, so that a close does not hang.
 * If the link ends later, it frees itself; its output is ignored until then. */
void relay_abandon(struct link *l, struct site *site); /* site: of the link; NULL: this machine */
