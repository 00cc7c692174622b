/* ask.h - what a server asks of the host: sampling, elicitation, roots.
 *
 * An ask is the host's from on_ask until it is answered or declined, whatever becomes of the server
 * meanwhile; then the answer has nowhere to go and is dropped.
 *
 * Life: ask_put -> on_ask -> ask_over or ask_decline, which free it.
 * Threads: with the loop's lock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "killick/killick.h"
#include "base/json.h"
#include "base/ring.h"
#include "session/outbox.h"

struct lease;

struct killick_ask {
	struct outbox_item item;
	struct killick_session *session;
	struct ring in_session, in_lease;
	struct lease *lease; /* NULL: nobody waits for the answer (any more) */
	uint64_t id;
	bool in_outbox, told, over;
	const char *server, *method, *params;
	size_t params_len;
};

/* A server asks something; true if the host will answer. */
bool ask_put(struct lease *l, uint64_t id, const char *method, struct json params);
/* The lease leaves or its client is gone: answers have nowhere to go. */
void asks_orphan(struct lease *l);
void asks_free(struct killick_session *s);

/* The ask is answered: nobody waits for it any more. */
void ask_over(struct killick_ask *a);
void ask_decline(struct killick_ask *a, const char *reason);
