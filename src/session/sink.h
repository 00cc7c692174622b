/* sink.h - the receiver of a session's events inside the loop, for programs of killick (the hub).
 *
 * A host gets its events by callbacks on a thread of its own (outbox.h). A session with a sink gets
 * them at once, from the loop, with the lock; such a session has no handlers. A sink function must
 * not block and must not free the session.
 *
 * Some events come in the middle of a change, so on_state and on_warning must not call functions of
 * the session, of its leases or of forwards: they set a timer (loop_timer_set with 0 ms) and do the
 * rest there. on_note and on_other may begin forwards, but must not cancel them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "killick/killick.h"

struct lease;

struct session_sink {
	/* KILLICK_EVENT_LOG, _TOOLS, _RESOURCES, _PROMPTS, _UPDATED; client.h has the owners. */
	void (*on_note)(void *ctx, struct lease *l, enum killick_event_kind kind,
			struct json params);
	/* Any other notification of the server that could be attributed to this lease (by a task,
	 * by the only request in flight): method and params as written. */
	void (*on_other)(void *ctx, struct lease *l, const char *method, struct json params);
	/* The server asks. True: the sink answers later with client_answer or client_dismiss of
	 * l->server->client and this id. */
	bool (*on_ask)(void *ctx, struct lease *l, uint64_t ask, const char *method,
		       struct json params);
	/* The ask is over without an answer: the server withdrew it, or its client is gone. */
	void (*on_ask_over)(void *ctx, struct lease *l, uint64_t ask);
	void (*on_state)(void *ctx, struct lease *l);
	void (*on_warning)(void *ctx, struct lease *l, const char *text); /* l may be NULL */
};
