/* event.h - events for the handlers of a session.
 *
 * No event is made for a session without on_event; a session with a sink (sink.h) gets warnings at
 * once. Events that a server can send without end are
 * dropped when too many wait (EVENTS_MAX), and a warning tells the host how many were dropped.
 * Threads: with the loop's lock.
 */
#pragma once

#include "killick/killick.h"
#include "base/json.h"

struct client_call;
struct lease;

#define EVENTS_MAX      1024
#define EVENT_BYTES_MAX (8u << 20)

/* l NULL: the event is about no server in particular. text and json are copied; ev->server is
 * filled in. */
void event_put(struct killick_session *s, struct lease *l, const struct killick_event *ev);
void event_warning(struct killick_session *s, struct lease *l, const char *text);

/* For other items that may be dropped. Is there room for one more? If not, the drop is counted. A
 * caller that puts an item adds to s->events and s->event_bytes; event_taken subtracts again. */
bool event_room(struct killick_session *s, size_t bytes);
void event_taken(struct killick_session *s, size_t bytes);

/* Progress of a call: on_progress of a struct part. */
void event_progress(struct client_call *op, const struct killick_progress *told);
