/* desk_offer.c - what the servers of a session together offer to the client.
 *
 * One server: its serverInfo, instructions and capabilities as written, except that the lists can
 * always change (a refresh may replace the server). Several servers: the union of their
 * capabilities, and the instructions of each under its name.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/emit.h"
#include "base/json.h"
#include "base/mem.h"
#include "hub/desk_internal.h"
#include "session/attach.h"
#include "session/catalogue.h"
#include "session/runtime.h"
#include "session/server.h"

#define TASKS_EXTENSION "io.modelcontextprotocol/tasks"

/* --- what one server offers --- */

/* The facts of the handshake, from the running server or from the catalogue. False: not known. */
static bool offer_facts(const struct lease *l, struct client_facts *out)
{
	const struct server *sv = l->server;
	const struct catalogue_entry *known;

	if (sv->client && (sv->state == KILLICK_READY || sv->state == KILLICK_DRAINING)) {
		client_facts(sv->client, out);
		return true;
	}
	known = lease_catalogue(l);
	if (!known)
		return false;
	*out = (struct client_facts){ .era = known->era,
				      .protocol = known->protocol,
				      .info = known->info,
				      .capabilities = known->capabilities,
				      .instructions = known->instructions };
	return true;
}

static struct json offer_json(const char *text)
{
	return (struct json){ text, strlen(text) };
}

static bool offer_is_true(struct json v)
{
	bool on = false;

	return json_bool(v, &on) && on;
}

static unsigned offer_read(struct json caps)
{
	struct json resources = json_get(caps, "resources");
	unsigned can = 0;

	can |= json_get(caps, "tools").at ? OFFER_TOOLS : 0;
	can |= json_get(caps, "prompts").at ? OFFER_PROMPTS : 0;
	can |= resources.at ? OFFER_RESOURCES : 0;
	can |= offer_is_true(json_get(resources, "subscribe")) ? OFFER_SUBSCRIBE : 0;
	can |= json_get(caps, "logging").at ? OFFER_LOGGING : 0;
	can |= json_get(caps, "completions").at ? OFFER_COMPLETE : 0;
	if (json_get(caps, "tasks").at ||
	    json_get(json_get(caps, "extensions"), TASKS_EXTENSION).at)
		can |= OFFER_TASKS;
	return can;
}

void offer_look(struct desk *d, struct lease *l)
{
	struct backend *b = backend_of(d, l);
	struct client_facts facts;
	unsigned can;

	if (!offer_facts(l, &facts)) {
		if (l->settled && l->failed && !b->known)
			b->failed = true;
		return;
	}
	can = offer_read(offer_json(facts.capabilities));
	if (b->known && b->can == can)
		return;
	b->can = can;
	b->known = true;
	if (d->state != DESK_OPEN)
		return;
	/* The server was not seen before, or its facts have changed. */
	b->failed = false;
	backend_forget_lists(b);
	notes_meet(d, l);
	offer_make(d);
	notes_all_changed(d);
}

/* --- one server --- */

/* Write a capability with a list that can change. */
static void offer_put_list(struct emit *j, struct json key, struct json value)
{
	struct json_iter it = json_iter(value);
	char name[16] = "";

	if (offer_is_true(json_get(value, "listChanged")) || json_type(value) != JSON_OBJECT) {
		emit_member(j, key, value);
		return;
	}
	json_string_into(key, name, sizeof(name));
	emit_open(j, name, '{');
	while (json_each(&it))
		if (!json_is(it.key, "listChanged"))
			emit_member(j, it.key, it.value);
	emit_bool(j, "listChanged", true);
	emit_close(j);
}

static void offer_put_changing(struct emit *j, const char *key, bool subscribe)
{
	emit_open(j, key, '{');
	if (subscribe)
		emit_bool(j, "subscribe", true);
	emit_bool(j, "listChanged", true);
	emit_close(j);
}

static void offer_put_one(struct emit *j, struct json caps)
{
	struct json_iter it = json_iter(caps);

	while (json_each(&it)) {
		if (json_is(it.key, "tools") || json_is(it.key, "prompts") ||
		    json_is(it.key, "resources"))
			offer_put_list(j, it.key, it.value);
		else
			emit_member(j, it.key, it.value);
	}
	if (!json_get(caps, "tools").at)
		offer_put_changing(j, "tools", false);
}

/* --- several servers --- */

/* Has a server before `end` in the table a member `name` in its object `key`? */
static bool offer_is_taken(const struct desk *d, const struct lease *end, const char *key,
			   const char *name)
{
	size_t at = 0;

	for (struct lease *l = desk_each(d, &at); l && l != end; l = desk_each(d, &at)) {
		struct client_facts facts;

		if (offer_facts(l, &facts) &&
		    json_get(json_get(offer_json(facts.capabilities), key), name).at)
			return true;
	}
	return false;
}

/* Write the object `key` with the members of all servers. If several servers have a member, the
 * first server decides. */
static void offer_put_union(const struct desk *d, struct emit *j, const char *key)
{
	bool opened = false;
	size_t at = 0;

	for (struct lease *l = desk_each(d, &at); l; l = desk_each(d, &at)) {
		struct client_facts facts;
		struct json_iter it;

		if (!offer_facts(l, &facts))
			continue;
		it = json_iter(json_get(offer_json(facts.capabilities), key));
		while (json_each(&it)) {
			AUTO(mem_drop) char *name = NULL;

			if (!json_string(it.key, &name) || offer_is_taken(d, l, key, name))
				continue;
			if (!opened)
				emit_open(j, key, '{');
			opened = true;
			emit_member(j, it.key, it.value);
		}
	}
	if (opened)
		emit_close(j);
}

static void offer_put_all(const struct desk *d, struct emit *j)
{
	offer_put_changing(j, "tools", false);
	if (d->can & OFFER_PROMPTS)
		offer_put_changing(j, "prompts", false);
	if (d->can & OFFER_RESOURCES)
		offer_put_changing(j, "resources", d->can & OFFER_SUBSCRIBE);
	if (d->can & OFFER_LOGGING)
		emit_raw(j, "logging", "{}", 2);
	if (d->can & OFFER_COMPLETE)
		emit_raw(j, "completions", "{}", 2);
	offer_put_union(d, j, "tasks");
	offer_put_union(d, j, "extensions");
}

static void offer_add_instructions(const struct desk *d, struct buf *out)
{
	size_t at = 0;

	for (struct lease *l = desk_each(d, &at); l; l = desk_each(d, &at)) {
		struct client_facts facts;

		if (!offer_facts(l, &facts) || !*facts.instructions)
			continue;
		buf_addf(out, "%s# %s\n\n", out->len ? "\n\n" : "", lease_name(l));
		buf_adds(out, facts.instructions);
	}
}

/* --- the offer --- */

static void offer_make_one(struct desk *d, struct lease *only)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_INIT(&text);
	struct client_facts facts;

	if (!offer_facts(only, &facts))
		return; /* as it was; the server is being started again */
	emit_open(&j, NULL, '{');
	offer_put_one(&j, offer_json(facts.capabilities));
	emit_close(&j);
	emit_end(&j);
	face_welcome(d->face,
		     &(struct face_offer){
			     .name = lease_name(only),
			     .version = "",
			     .info = strcmp(facts.info, "{}") != 0 ? facts.info : NULL,
			     .capabilities = text.data,
			     .instructions = *facts.instructions ? facts.instructions : NULL });
}

static void offer_make_all(struct desk *d)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	AUTO(buf_done) struct buf instructions = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_INIT(&text);

	emit_open(&j, NULL, '{');
	offer_put_all(d, &j);
	emit_close(&j);
	emit_end(&j);
	offer_add_instructions(d, &instructions);
	face_welcome(d->face,
		     &(struct face_offer){ .name = "killick",
					   .version = KILLICK_VERSION_STRING,
					   .capabilities = text.data,
					   .instructions =
						   instructions.len ? instructions.data : NULL });
}

void offer_make(struct desk *d)
{
	struct lease *only = desk_only(d);
	size_t at = 0;

	/* with several servers killick itself has log messages: which server has failed, and why */
	d->can = OFFER_TOOLS | (only ? 0 : OFFER_LOGGING);
	for (struct lease *l = desk_each(d, &at); l; l = desk_each(d, &at))
		d->can |= backend_of(d, l)->can;
	if (!d->face)
		return;
	if (only && backend_of(d, only)->known)
		offer_make_one(d, only);
	else
		offer_make_all(d);
}

/* --- failures --- */

static const char *offer_failure(const struct lease *l)
{
	if (!l->settled || !l->failed)
		return NULL;
	return l->server ? l->server->error.text : l->error;
}

bool offer_is_void(struct desk *d, struct killick_error *e)
{
	const char *first = NULL;
	int code = KILLICK_ERR_CONFIG;

	for (size_t i = 0; i < d->session->count; i++) {
		const struct lease *l = d->session->table[i];
		const char *text = offer_failure(l);

		if (lease_config(l)->disabled)
			continue;
		if (!text)
			return false;
		if (!first)
			first = text;
		if (lease_code(l) != KILLICK_ERR_CONFIG)
			code = KILLICK_ERR_START;
	}
	if (first)
		error_set(e, code, "%s", first);
	return first;
}

void offer_log_failures(struct desk *d)
{
	for (size_t i = 0; i < d->session->count; i++) {
		const char *text = offer_failure(d->session->table[i]);

		if (text)
			notes_log(d, NOTES_ERROR, text);
	}
}
