/* desk_lists.c - one question to several servers at once, and the lists of all servers as one list.
 *
 * A list is answered whole, without cursors. Its items are as the servers wrote them, in the order
 * of the config; with several servers only the names of tools and prompts are replaced. A server
 * that cannot be asked is left out, and a log message says why.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/emit.h"
#include "hub/desk_internal.h"
#include "rpc/message.h"
#include "session/attach.h"
#include "session/call.h"
#include "session/catalogue.h"
#include "session/pool.h"
#include "session/server.h"

#define PAGES_MAX  1000
#define MERGED_MAX (256u << 20) /* bytes of a list of all servers */

/* --- asking several servers --- */

static void piece_on_done(struct forward *f, const struct forward_done *done);

static void piece_done(struct piece *p)
{
	if (p->f.lease)
		forward_cancel(&p->f);
	p->f.lease = NULL;
	free(p->text);
	buf_done(&p->page);
	free(p->server);
}

void gather_free(struct gather *g)
{
	for (size_t i = 0; i < g->count; i++)
		piece_done(&g->pieces[i]);
	free(g);
}

static void gather_check(struct gather *g)
{
	struct errand *e = g->errand;

	if (g->left > 0 || !g->begun)
		return;
	e->gather = NULL;
	g->on_all(e, g);
	gather_free(g);
}

static void piece_keep(struct piece *p, int code, const char *text, size_t len)
{
	p->text = mem_try_text(text, len);
	p->len = p->text ? len : 0;
	p->code = p->text ? code : KILLICK_ERR_SYSTEM;
}

/* Add the names of prompts to those of the desk. */
static void lists_learn_prompts(struct desk *d, const char *server, struct json prompts)
{
	struct json_iter it = json_iter(prompts);

	names_remove(&d->prompts, server);
	for (int i = 0; i < NAMED_MAX && json_each(&it); i++) {
		AUTO(mem_drop) char *name = NULL;

		if (json_string(json_get(it.value, "name"), &name) && strlen(name) <= TOOL_NAME_MAX)
			names_add(&d->prompts, server, name);
	}
	names_settle(&d->prompts);
}

/* A server has answered: learn from its list, and keep the list. */
static void piece_take(struct piece *p, struct json result)
{
	struct desk *d = p->gather->errand->desk;
	struct backend *b = p->backend;
	enum killick_op op = p->gather->op;
	bool several = !desk_only(d);

	if (op == KILLICK_TOOLS) {
		b->tools = true; /* the forward has added the names to the session */
	} else if (op == KILLICK_PROMPTS) {
		lists_learn_prompts(d, p->server, json_get(result, "prompts"));
		b->prompts = true;
	} else if (op == KILLICK_RESOURCES && several) {
		backend_list_set(&b->resources, result);
	} else if (op == KILLICK_TEMPLATES && several) {
		backend_list_set(&b->templates, result);
	}
	piece_keep(p, KILLICK_OK, result.at, result.len);
}

/* A page of tasks/list: keep its tasks, and ask for the next page. False: it was the last one, or
 * the list is too long: part of a list is not answered as the whole list. */
static bool piece_take_page(struct piece *p, struct json result)
{
	struct lease *l = backend_lease(p->gather->errand->desk, p->backend);
	AUTO(buf_done) struct buf line = BUF_INIT(BUF_ANY_SIZE);
	struct json cursor = json_get(result, "nextCursor");
	const char *reason;
	struct message m;
	struct emit j;

	p->code = KILLICK_OK;
	if (tasks_add_page(p->backend, result, &p->page) < 0 || ++p->pages == PAGES_MAX) {
		static const char text[] = "the list of tasks is too long";

		piece_keep(p, KILLICK_ERR_PROTOCOL, text, sizeof(text) - 1);
		return false;
	}
	if (!l || json_type(cursor) != JSON_STRING)
		return false;
	message_request(&j, &line, false, 1, "tasks/list");
	message_params(&j);
	emit_raw(&j, "cursor", cursor.at, cursor.len);
	if (message_end(&j) < 0 || message_parse(line.data, line.len, &m, &reason) < 0)
		return false;
	p->f = (struct forward){ .lease = l,
				 .m = &m,
				 .era = ERA_LEGACY,
				 .timeout_ms = p->gather->errand->timeout_ms,
				 .on_done = piece_on_done };
	forward_begin(&p->f);
	return true;
}

static void piece_fail(struct piece *p, const struct forward_done *done)
{
	char text[300] = "", reason[200] = "";

	if (!done->line) {
		piece_keep(p, done->code, done->text, strlen(done->text));
		return;
	}
	json_string_into(json_get(done->line->error, "message"), reason, sizeof(reason));
	snprintf(text, sizeof(text), "server '%s' answered with an error: %s", p->server, reason);
	piece_keep(p, done->code, text, strlen(text));
}

static void piece_on_done(struct forward *f, const struct forward_done *done)
{
	struct piece *p = CONTAINER_OF(f, struct piece, f);
	struct gather *g = p->gather;
	struct errand *e = g->errand;

	f->lease = NULL;
	if (g->op == KILLICK_RAW && done->code == KILLICK_OK &&
	    piece_take_page(p, done->line->result))
		return;
	g->left--;
	if (g->count == 1 && g->straight && done->code != KILLICK_OK) {
		e->gather = NULL;
		errand_finish(e, done); /* the error of the only server as it wrote it */
		gather_free(g);
		return;
	}
	if (done->code != KILLICK_OK)
		piece_fail(p, done);
	else if (g->op != KILLICK_RAW)
		piece_take(p, done->line->result);
	gather_check(g);
}

/* Is the server to be asked? A server that failed is not started for a list. */
static bool gather_wants(const struct errand *e, struct lease *l, const struct gather_spec *spec)
{
	const struct backend *b = backend_of(e->desk, l);

	if (e->server)
		return strcmp(lease_name(l), e->server) == 0;
	if (spec->running && l->server->state != KILLICK_READY)
		return false;
	return b->known ? (b->can & spec->can) != 0 : !b->failed;
}

static struct gather *gather_new(struct errand *e, const struct gather_spec *spec)
{
	struct desk *d = e->desk;
	struct gather *g;
	size_t at = 0, count = 0;

	for (struct lease *l = desk_each(d, &at); l; l = desk_each(d, &at))
		count += gather_wants(e, l, spec);
	g = mem_grow(NULL, 1, sizeof(*g) + count * sizeof(struct piece));
	*g = (struct gather){ .errand = e,
			      .op = spec->op,
			      .on_all = spec->on_all,
			      .straight = spec->straight,
			      .left = count };
	at = 0;
	for (struct lease *l = desk_each(d, &at); l; l = desk_each(d, &at)) {
		if (!gather_wants(e, l, spec))
			continue;
		g->pieces[g->count++] = (struct piece){
			.f = { .lease = l,
			       .m = spec->m,
			       .era = e->rq ? e->rq->era : ERA_LEGACY,
			       .timeout_ms = e->timeout_ms,
			       .on_done = piece_on_done },
			.gather = g,
			.backend = backend_of(d, l),
			.server = mem_dup(lease_name(l)),
			.page = BUF_INIT(MERGED_MAX),
		};
	}
	assert(g->count == count);
	return g;
}

/* Does the server work for other sessions? Many servers work on one request at a time, and a list
 * would wait until that request is answered. */
static bool gather_is_busy(const struct server *sv)
{
	return sv->holders > 1 && sv->gate.in_flight > 0;
}

/* The list of a server that does not run or is busy, from the catalogue; JSON_NONE: not known. */
static struct json gather_known(const struct lease *l, enum killick_op op)
{
	static const struct {
		enum killick_op op;
		enum catalogue_kind kind;
	} kinds[] = { { KILLICK_TOOLS, CATALOGUE_TOOLS },
		      { KILLICK_RESOURCES, CATALOGUE_RESOURCES },
		      { KILLICK_TEMPLATES, CATALOGUE_TEMPLATES },
		      { KILLICK_PROMPTS, CATALOGUE_PROMPTS } };
	bool ask = l->server->state == KILLICK_READY && !gather_is_busy(l->server);
	const struct catalogue_entry *known = ask ? NULL : lease_catalogue(l);

	for (size_t i = 0; known && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].op == op)
			return known->lists[kinds[i].kind];
	return JSON_NONE;
}

/* Take the list from the catalogue. False: the server must be asked. */
static bool piece_take_known(struct piece *p, struct lease *l, enum killick_op op)
{
	struct json list = gather_known(l, op);
	AUTO(buf_done) struct buf allowed = BUF_INIT(list.len);

	if (!list.at)
		return false;
	/* what a forward does with the list of a running server */
	if (op == KILLICK_TOOLS && tools_of_one(l, list, &allowed) < 0)
		return false;
	p->f.lease = NULL;
	p->gather->left--;
	piece_take(p, allowed.len ? (struct json){ allowed.data, allowed.len } : list);
	return true;
}

void gather_begin(struct errand *e, const struct gather_spec *spec)
{
	struct gather *g;

	assert(!e->gather && !e->f.lease);
	g = gather_new(e, spec);
	e->gather = g;
	for (size_t i = 0; i < g->count; i++) {
		struct piece *p = &g->pieces[i];

		if (spec->op == KILLICK_RAW)
			forward_begin(&p->f);
		else if (!piece_take_known(p, p->f.lease, spec->op))
			forward_begin_op(&p->f, spec->op, spec->name);
	}
	g->begun = true;
	gather_check(g);
}

/* --- lists --- */

static const struct {
	enum killick_op op;
	unsigned can;
	const char *key;
} lists_kinds[] = {
	[FACE_TOOLS] = { KILLICK_TOOLS, OFFER_TOOLS, "tools" },
	[FACE_RESOURCES] = { KILLICK_RESOURCES, OFFER_RESOURCES, "resources" },
	[FACE_TEMPLATES] = { KILLICK_TEMPLATES, OFFER_RESOURCES, "resourceTemplates" },
	[FACE_PROMPTS] = { KILLICK_PROMPTS, OFFER_PROMPTS, "prompts" },
};

bool lists_are_known(struct desk *d, enum killick_op op)
{
	unsigned can = op == KILLICK_TOOLS     ? OFFER_TOOLS
		       : op == KILLICK_PROMPTS ? OFFER_PROMPTS
					       : OFFER_RESOURCES;
	size_t at = 0;

	for (struct lease *l = desk_each(d, &at); l; l = desk_each(d, &at)) {
		const struct backend *b = backend_of(d, l);

		if (b->known ? !(b->can & can) : b->failed)
			continue;
		if (op == KILLICK_TOOLS     ? !b->tools
		    : op == KILLICK_PROMPTS ? !b->prompts
					    : !b->resources.text || !b->templates.text)
			return false;
	}
	return true;
}

/* Append items as they are. */
static int lists_add_plain(struct buf *out, struct json items, bool *first)
{
	struct json_iter it = json_iter(items);
	int r = 0;

	while (r == 0 && json_each(&it)) {
		r = *first ? 0 : buf_add(out, ",", 1);
		if (r == 0)
			r = buf_add(out, it.value.at, it.value.len);
		*first = false;
	}
	return r;
}

static int lists_merge(const struct errand *e, const struct gather *g, struct buf *out)
{
	const struct desk *d = e->desk;
	const char *key = lists_kinds[e->kind].key;
	const struct names *names = e->kind == FACE_TOOLS     ? &d->session->names
				    : e->kind == FACE_PROMPTS ? &d->prompts
							      : NULL;
	bool first = true;
	int r = buf_addf(out, "{\"%s\":[", key);

	for (size_t i = 0; i < g->count && r == 0; i++) {
		const struct piece *p = &g->pieces[i];
		struct json items = json_get((struct json){ p->text, p->len }, key);

		if (p->code != KILLICK_OK)
			continue;
		if (names)
			r = tools_add_items(out, names, p->server, items, &first);
		else
			r = lists_add_plain(out, items, &first);
	}
	return r == 0 ? buf_adds(out, "]}") : r;
}

/* Every server has answered. */
static void lists_on_all(struct errand *e, struct gather *g)
{
	AUTO(buf_done) struct buf all = BUF_INIT(MERGED_MAX);
	const struct piece *failed = NULL;
	size_t good = 0;

	for (size_t i = 0; i < g->count; i++) {
		if (g->pieces[i].code == KILLICK_OK) {
			good++;
			continue;
		}
		failed = failed ? failed : &g->pieces[i];
		notes_log(e->desk, NOTES_WARNING, g->pieces[i].text ? g->pieces[i].text : "");
	}
	if (failed && good == 0)
		errand_fail(e, failed->code, "%s", failed->text ? failed->text : "");
	else if (g->count == 1 && g->straight)
		errand_answer_result(e, (struct json){ g->pieces[0].text, g->pieces[0].len });
	else if (lists_merge(e, g, &all) < 0)
		errand_fail(e, RPC_INTERNAL,
			    "the lists are too long, or there is no memory for them");
	else
		errand_answer_result(e, (struct json){ all.data, all.len });
}

void lists_errand(struct errand *e)
{
	struct desk *d = e->desk;
	struct json cursor = json_get(errand_message(e)->params, "cursor");

	if (cursor.at && json_type(cursor) != JSON_NULL) {
		errand_fail(e, RPC_BAD_PARAMS, "unknown cursor: the whole list is one page");
		return;
	}
	if (!e->server && !(d->can & lists_kinds[e->kind].can)) {
		errand_fail(e, RPC_UNKNOWN_METHOD, "no server of the session has %s",
			    lists_kinds[e->kind].key);
		return;
	}
	if (e->server && !route_given(e))
		return;
	gather_begin(e, &(struct gather_spec){ .op = lists_kinds[e->kind].op,
					       .can = lists_kinds[e->kind].can,
					       .straight = e->server || desk_only(d),
					       .on_all = lists_on_all });
}
