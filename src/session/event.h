/* event.h - news for the handlers of a session.
 *
 * Nothing is made for a session that does not listen. What a server can send without end is dropped
 * when the host does not take it (EVENTS_MAX), and the host is told how much it missed.
 * Threads: with the loop's lock.
 */
#pragma once

#include "killick/killick.h"
#include "base/json.h"

struct client_call;
struct lease;

#define EVENTS_MAX      1024
#define EVENT_BYTES_MAX (8u << 20)

/* l NULL: of no server in particular. text and json are copied; ev->server is filled in. */
void event_put(struct killick_session *s, const struct lease *l, const struct killick_event *ev);
void event_warning(struct killick_session *s, const struct lease *l, const char *text);

/* For other news that may be dropped. Is there room for one more? If not, that is counted. Whoever
 * puts one adds to s->events and s->event_bytes, and takes it back with event_taken. */
bool event_room(struct killick_session *s, size_t bytes);
void event_taken(struct killick_session *s, size_t bytes);

/* Progress of a call: on_progress of a struct part. */
void event_progress(struct client_call *op, const struct killick_progress *told);
