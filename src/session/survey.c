/* survey.c - see survey.h */
#include "session/survey.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "session/attach.h"
#include "session/look.h"
#include "session/pool.h"
#include "session/relay.h"
#include "session/runtime.h"
#include "session/server.h"
#include "session/session.h"

struct survey { /* one list */
	struct client_call op;
	struct server *sv;
	enum catalogue_kind kind;
	bool failed; /* the list could not be read */
};

static const struct {
	enum killick_op op;
	enum killick_event_kind event; /* "the list has changed" */
} survey_kinds[] = {
	[CATALOGUE_TOOLS] = { KILLICK_TOOLS, KILLICK_EVENT_TOOLS },
	[CATALOGUE_RESOURCES] = { KILLICK_RESOURCES, KILLICK_EVENT_RESOURCES },
	[CATALOGUE_TEMPLATES] = { KILLICK_TEMPLATES, KILLICK_EVENT_RESOURCES },
	[CATALOGUE_PROMPTS] = { KILLICK_PROMPTS, KILLICK_EVENT_PROMPTS },
};

bool survey_is_wanted(const struct server *sv)
{
	if (sv->hub)
		return true;
	if (sv->stateful == CONFIG_STATEFUL) /* never rests */
		return false;
	RING_EACH(r, &sv->leases) {
		const struct killick_session *s = CONTAINER_OF(r, struct lease, on_server)->session;

		if (s->max_servers || s->max_memory)
			return true;
	}
	return sv->rest_ms > 0;
}

/* Judge again by all that is known now. failed: the tools could not be read. */
static void survey_judge(struct server *sv, bool failed)
{
	const struct catalogue_entry *e = catalogue_get(&sv->k->catalogue, sv->key, sv->stamp);
	bool undecided = sv->verdict.answer == SHARE_UNKNOWN;
	struct share_facts f = { .word = sv->word,
				 .argv = sv->recipe.argv,
				 .features = share_features(sv->answers),
				 .asked = sv->asked };
	struct share_verdict old = sv->verdict, *v = &sv->verdict;

	if (e) {
		f.capabilities = e->capabilities;
		f.era = e->era;
		f.tools = e->lists[CATALOGUE_TOOLS];
		f.asked |= e->asked;
	}
	*v = share_judge(&f);
	if (v->answer == SHARE_UNKNOWN && failed) {
		v->answer = SHARE_NO;
		snprintf(v->why, sizeof(v->why), "its list of tools could not be read");
	} else if (v->answer == SHARE_UNKNOWN && !undecided) {
		*v = old; /* the list of tools is being read again */
	}
	if (v->state == SHARE_STATE_UNKNOWN)
		v->state = failed ? SHARE_STATE_KEPT : old.state;
	if (!sv->hub)
		return;
	if (v->answer == SHARE_YES && sv->answers != share_features(sv->answers)) {
		v->answer = SHARE_NO; /* the next session gets a process that can be shared */
		snprintf(v->why, sizeof(v->why),
			 "roots of the session were declared to this process");
	}
	sv->shared = v->answer == SHARE_YES;
	if (undecided && v->answer != SHARE_UNKNOWN)
		attach_decided(sv);
}

static void survey_ask(struct server *sv, enum catalogue_kind kind);

static void survey_on_done(struct client_call *op, const struct client_result *r)
{
	struct survey *sy = CONTAINER_OF(op, struct survey, op);
	struct server *sv = sy->sv;
	enum catalogue_kind kind = sy->kind;
	bool good = r->code == KILLICK_OK;

	assert(sv->survey[kind] == sy);
	sv->survey[kind] = NULL;
	free(sy);
	if (r->over || sv->state != KILLICK_READY)
		return;
	if (r->code == KILLICK_ERR_CANCELLED && sv->holders > 0) {
		survey_ask(sv, kind); /* the lease has left that had asked */
		return;
	}
	/* sessions may have been answered from the catalogue before the server ran */
	if (good && catalogue_put_list(&sv->k->catalogue, sv->key, kind, r->json))
		relay_note(sv, survey_kinds[kind].event, NULL, (struct json){ "{}", 2 });
	if (kind == CATALOGUE_TOOLS)
		survey_judge(sv, !good);
}

static void survey_ask(struct server *sv, enum catalogue_kind kind)
{
	struct survey *sy;
	struct lease *owner = NULL;

	RING_EACH(r, &sv->leases)
		if (CONTAINER_OF(r, struct lease, on_server)->state < LEASE_LEFT)
			owner = CONTAINER_OF(r, struct lease, on_server);
	if (!owner || sv->survey[kind] || !server_has_client(sv))
		return;
	sy = mem_grow(NULL, 1, sizeof(*sy));
	*sy = (struct survey){ .sv = sv,
			       .kind = kind,
			       .op = { .op = survey_kinds[kind].op,
				       .owner = owner,
				       .timeout_ms = sv->startup_ms,
				       .on_done = survey_on_done } };
	sv->survey[kind] = sy;
	client_call(sv->client, &sy->op);
}

static void survey_on_look(void *ctx, const struct look_result *result, const char *late)
{
	struct server *sv = ctx;

	sv->look = NULL;
	if (!late)
		memcpy(sv->stamp, result->stamp, sizeof(sv->stamp));
	if (sv->state == KILLICK_READY)
		survey_begin(sv);
}

void survey_prepare(struct server *sv)
{
	if (!survey_is_wanted(sv))
		return;
	server_identify(sv);
	survey_stop(sv);
	sv->look = look_begin(sv->k, &sv->recipe, sv->file_owner, survey_on_look, sv);
}

void survey_stop(struct server *sv)
{
	if (sv->look)
		look_cancel(sv->look);
	sv->look = NULL;
}

void survey_begin(struct server *sv)
{
	struct client_facts facts;

	if (!survey_is_wanted(sv) || sv->look)
		return;
	client_facts(sv->client, &facts);
	catalogue_put(&sv->k->catalogue, sv->key, sv->stamp, &facts);
	for (int i = 0; i < CATALOGUE_KINDS; i++)
		if (sv->hub || i == CATALOGUE_TOOLS)
			survey_ask(sv, (enum catalogue_kind)i);
	survey_judge(sv, false);
}

void survey_on_changed(struct server *sv, enum killick_event_kind kind)
{
	if (!survey_is_wanted(sv) || kind == KILLICK_EVENT_LOG)
		return;
	for (int i = 0; i < CATALOGUE_KINDS; i++)
		if (survey_kinds[i].event == kind)
			catalogue_drop_list(&sv->k->catalogue, sv->key, (enum catalogue_kind)i);
}

void survey_note_list(struct server *sv, enum killick_op op, struct json list)
{
	if (!survey_is_wanted(sv))
		return;
	for (int i = 0; i < CATALOGUE_KINDS; i++)
		if (survey_kinds[i].op == op)
			catalogue_put_list(&sv->k->catalogue, sv->key, (enum catalogue_kind)i,
					   list);
	if (op == KILLICK_TOOLS)
		survey_judge(sv, false);
}

void server_note_ask(struct server *sv)
{
	if (sv->asked || !survey_is_wanted(sv))
		return;
	sv->asked = true;
	catalogue_put_asked(&sv->k->catalogue, sv->key);
	survey_judge(sv, false);
}
