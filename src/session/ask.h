/* ask.h - a request from a server to the host: sampling, elicitation, roots.
 *
 * The host owns an ask from on_ask until the host answers or declines it, also when the server ends
 * meanwhile; in this case the answer is dropped.
 *
 * Life: ask_put -> on_ask -> ask_over, ask_decline or ask_dismiss, which free the ask.
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
	struct lease *lease; /* NULL: no server waits for the answer (any more) */
	uint64_t id;
	bool in_outbox, told, over;
	const char *server, *method, *params;
	size_t params_len;
};

/* Pass the request of a server to the host, or to the sink; true if the answer will come. */
bool ask_put(struct lease *l, uint64_t id, const char *method, struct json params);
/* The lease leaves or its client is gone: the answers to its asks will be dropped. */
void asks_orphan(struct lease *l);
void asks_free(struct killick_session *s);

/* The ask is answered: free it. */
void ask_over(struct killick_ask *a);
/* The host has decided against it, or there is no answer: see client_dismiss. */
void ask_decline(struct killick_ask *a, const char *reason);
void ask_dismiss(struct killick_ask *a, const char *reason);
