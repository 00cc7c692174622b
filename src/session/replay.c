/* replay.c - see replay.h */
#include "session/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/strings.h"
#include "session/pool.h"
#include "session/relay.h"
#include "session/server.h"
#include "session/session.h"

struct replay {
	struct client_call op;
	struct server *sv;
	char name[]; /* the level, or the URI */
};

static void replay_unwatch(struct lease *l, const char *uri)
{
	size_t kept = 0;

	for (char **at = l->watched; at && *at; at++) {
		if (strcmp(*at, uri) == 0)
			free(*at);
		else
			l->watched[kept++] = *at;
	}
	if (l->watched)
		l->watched[kept] = NULL;
	if (kept == 0) {
		free(l->watched);
		l->watched = NULL;
	}
}

void replay_note(struct lease *l, const struct client_call *op)
{
	if (!op->name || op->forward)
		return;
	if (op->op == KILLICK_LOG_LEVEL) {
		free(l->level);
		l->level = mem_dup(op->name);
	} else if (op->op == KILLICK_SUBSCRIBE && !strings_have(l->watched, op->name)) {
		strings_add(&l->watched, mem_dup(op->name));
	} else if (op->op == KILLICK_UNSUBSCRIBE) {
		replay_unwatch(l, op->name);
	}
}

void replay_refused(struct lease *l, const struct client_call *op)
{
	if (op->op == KILLICK_SUBSCRIBE && op->name)
		replay_unwatch(l, op->name);
	if (op->op == KILLICK_LOG_LEVEL) {
		free(l->level);
		l->level = NULL;
	}
}

static void replay_on_done(struct client_call *op, const struct client_result *r)
{
	struct replay *rp = CONTAINER_OF(op, struct replay, op);
	char text[400];

	if (r->code < 0 && !r->over && r->code != KILLICK_ERR_CANCELLED) {
		snprintf(text, sizeof(text),
			 "server '%s' was started again, but its %s '%.100s' could not be set "
			 "again: %.160s",
			 rp->sv->recipe.name,
			 op->op == KILLICK_LOG_LEVEL ? "log level" : "subscription to", rp->name,
			 r->text ? r->text : "");
		relay_warning(rp->sv, text);
	}
	free(rp);
}

static void replay_send(struct server *sv, struct lease *l, enum killick_op op, const char *name)
{
	size_t len = strlen(name) + 1;
	struct replay *rp = mem_grow(NULL, 1, sizeof(*rp) + len);

	*rp = (struct replay){ .sv = sv,
			       .op = { .op = op,
				       .owner = l,
				       .timeout_ms = lease_config(l)->tool_ms,
				       .on_done = replay_on_done } };
	memcpy(rp->name, name, len);
	rp->op.name = rp->name;
	client_call(sv->client, &rp->op);
}

void replay_begin(struct server *sv)
{
	RING_EACH(r, &sv->leases) {
		struct lease *l = CONTAINER_OF(r, struct lease, on_server);

		if (l->state >= LEASE_LEFT || (!l->session->sink && !sv->rest_ms && !sv->rests))
			continue;
		if (l->level)
			replay_send(sv, l, KILLICK_LOG_LEVEL, l->level);
		for (char **uri = l->watched; uri && *uri; uri++)
			replay_send(sv, l, KILLICK_SUBSCRIBE, *uri);
	}
}

void replay_drop(struct lease *l)
{
	free(l->level);
	strings_free(l->watched);
	l->level = NULL;
	l->watched = NULL;
}
