/* survey.h - reads the lists of a server that got ready, stores them in the catalogue, and judges
 * whether the server can be shared and whether the server keeps state.
 *
 * A server of the hub is asked for all its lists. A server of a host that may rest, because of
 * "idle" or of a limit, is asked for its tools. Each request belongs to a lease of the server, so
 * that messages that the server sends in the meantime have an owner.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>

#include "base/json.h"
#include "killick/killick.h"

struct server;

/* Are facts or lists of this server stored? */
bool survey_is_wanted(const struct server *sv);
/* The server starts, or facts about the running server are wanted from now on: find out what its
 * program is (look.h). */
void survey_prepare(struct server *sv);
void survey_stop(struct server *sv); /* no result of survey_prepare is wanted any more */
/* The server is ready. Does nothing before the result of survey_prepare is known. */
void survey_begin(struct server *sv);
/* The server reports an event: if a list changed, forget the list. */
void survey_on_changed(struct server *sv, enum killick_event_kind kind);
/* A request of a session has read a list with all its pages: keep it. op: KILLICK_TOOLS,
 * _RESOURCES, _TEMPLATES or _PROMPTS; others are ignored. */
void survey_note_list(struct server *sv, enum killick_op op, struct json list);
