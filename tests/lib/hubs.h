/* hubs.h - sessions as the hub makes them: with a sink, and their servers from inside.
 *
 * The functions take the lock of the loop; the results are copies. Calls are made with lab.h.
 */
#pragma once

#include "lab.h"
#include "session/attach.h"
#include "session/catalogue.h"
#include "session/pool.h"
#include "session/server.h"
#include "session/session.h"

struct hubs_spec {
	unsigned features; /* enum killick_answers; 0: none */
	bool lazy;
	const char *top; /* members at the top of the config, with a comma behind; NULL: none */
};

/* What the sink of all sessions of a test has got. */
struct hubs_seen {
	unsigned notes[LAB_KINDS], states, asks;
};
extern struct hubs_seen hubs_seen;

/* A session with a sink; must succeed. */
struct killick_session *hubs_session(struct killick *k, const struct lab_server *list,
				     const struct hubs_spec *spec);
/* Begin to open a session; hubs_opened waits for it. */
struct hubs_opening {
	struct killick *k;
	struct outcome o;
};
void hubs_begin(struct killick *k, const struct lab_server *list, const struct hubs_spec *spec,
		struct hubs_opening *out);
struct killick_session *hubs_opened(struct hubs_opening *o);

/* The servers of the runtime that have not ended. */
size_t hubs_servers(struct killick *k);
/* The verdict on the server of the session. */
struct share_verdict hubs_verdict(struct killick_session *s, const char *server);
/* The list in the catalogue; "": none. To be given to free(). */
char *hubs_list(struct killick_session *s, const char *server, enum catalogue_kind kind);
/* Wait until ready(ctx) is true, with the lock. */
void hubs_await(struct killick *k, bool (*ready)(void *ctx), void *ctx);
