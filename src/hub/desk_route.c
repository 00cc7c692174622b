/* desk_route.c - finds the server of a request.
 *
 *	one server         every request goes there, with plain names
 *	tool, prompt       by its qualified name
 *	resource           the server whose list has the uri; else the server with the template that
 *	                   fits best; else the servers that have resources are asked in turn
 *	completion         by the prompt or template that it is about
 *
 * Lists that are not known yet are fetched first; then the request is routed once more.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/emit.h"
#include "base/mem.h"
#include "hub/desk_internal.h"
#include "rpc/message.h"
#include "session/pool.h"
#include "session/server.h"

/* --- subscriptions --- */

static struct watch *watch_find(const struct desk *d, const char *uri)
{
	RING_EACH(r, &d->watches) {
		struct watch *w = CONTAINER_OF(r, struct watch, in_desk);

		if (strcmp(w->uri, uri) == 0)
			return w;
	}
	return NULL;
}

static void watch_free(struct desk *d, struct watch *w)
{
	ring_remove(&w->in_desk);
	d->watch_count--;
	free(w);
}

/* False: there are too many. */
static bool watch_set(struct desk *d, struct backend *b, const char *uri, bool on)
{
	struct watch *w = watch_find(d, uri);
	size_t size = strlen(uri) + 1;

	if (w && !on)
		watch_free(d, w);
	if (w || !on)
		return true;
	if (d->watch_count >= FACE_WATCHES_MAX)
		return false;
	w = mem_grow(NULL, 1, sizeof(*w) + size);
	*w = (struct watch){ .backend = b };
	memcpy(w->uri, uri, size);
	ring_add(&d->watches, &w->in_desk);
	d->watch_count++;
	return true;
}

void watch_forget(struct desk *d, const char *uri)
{
	struct watch *w = watch_find(d, uri);

	if (w)
		watch_free(d, w);
}

void watches_drop(struct desk *d, const struct backend *b)
{
	RING_EACH(r, &d->watches) {
		struct watch *w = CONTAINER_OF(r, struct watch, in_desk);

		if (!b || w->backend == b)
			watch_free(d, w);
	}
}

void watches_renew(struct desk *d)
{
	RING_EACH(r, &d->watches) {
		struct watch *w = CONTAINER_OF(r, struct watch, in_desk);
		struct errand *e;

		if (backend_lease(d, w->backend))
			continue;
		e = errand_new_watch(d, w->uri, true);
		watch_free(d, w);
		errand_begin(e); /* adds the watch of the new server behind the others */
	}
}

/* --- the lists of one server --- */

/* Has the list an item whose member `key` is this string? */
static bool route_list_has(const struct backend_list *list, const char *array, const char *key,
			   const char *text)
{
	struct json_iter it;

	if (!list->text)
		return false;
	it = json_iter(json_get((struct json){ list->text, list->len }, array));
	while (json_each(&it))
		if (json_is(json_get(it.value, key), text))
			return true;
	return false;
}

/* The number of bytes that the uri has in common with the literal beginning of the best template;
 * -1: no template fits. */
static long route_fit(const struct backend *b, const char *uri)
{
	struct json_iter it;
	long best = -1;

	if (!b->templates.text)
		return -1;
	it = json_iter(json_get((struct json){ b->templates.text, b->templates.len },
				"resourceTemplates"));
	while (json_each(&it)) {
		AUTO(mem_drop) char *template = NULL;
		size_t len;

		if (!json_string(json_get(it.value, "uriTemplate"), &template))
			continue;
		len = strcspn(template, "{");
		if (strncmp(template, uri, len) == 0 && (long)len > best)
			best = (long)len;
	}
	return best;
}

/* --- resources --- */

static struct lease *route_by_list(struct desk *d, const char *uri)
{
	size_t at = 0;

	for (struct lease *l = desk_each(d, &at); l; l = desk_each(d, &at)) {
		const struct backend *b = backend_of(d, l);

		if (route_list_has(&b->resources, "resources", "uri", uri) ||
		    route_list_has(&b->templates, "resourceTemplates", "uriTemplate", uri))
			return l;
	}
	return NULL;
}

static struct lease *route_by_template(struct desk *d, const char *uri)
{
	struct lease *best = NULL;
	long most = -1;
	size_t at = 0;

	for (struct lease *l = desk_each(d, &at); l; l = desk_each(d, &at)) {
		long fit = route_fit(backend_of(d, l), uri);

		if (fit > most) {
			most = fit;
			best = l;
		}
	}
	return best;
}

/* The server with resources that is to be asked after `tried` others; *out_more: another follows.
 */
static struct lease *route_by_turn(struct desk *d, unsigned tried, bool *out_more)
{
	struct lease *found = NULL;
	size_t at = 0;

	*out_more = false;
	for (struct lease *l = desk_each(d, &at); l; l = desk_each(d, &at)) {
		if (!(backend_of(d, l)->can & OFFER_RESOURCES))
			continue;
		if (found) {
			*out_more = true;
			break;
		}
		if (tried == 0)
			found = l;
		else
			tried--;
	}
	return found;
}

static void route_send_resource(struct errand *e, struct lease *l, const char *uri)
{
	struct desk *d = e->desk;

	if (e->kind == FACE_READ || e->kind == FACE_COMPLETE) {
		errand_send(e, l, NULL);
		return;
	}
	if (!watch_set(d, backend_of(d, l), uri, e->kind == FACE_SUBSCRIBE)) {
		errand_fail(e, RPC_BAD_PARAMS,
			    "the session watches %d resources, which is the limit; unsubscribe "
			    "from some",
			    FACE_WATCHES_MAX);
		return;
	}
	if (e->rq)
		face_keep(e->rq); /* the uri is needed if the server refuses */
	errand_send_op(e, l, e->kind == FACE_SUBSCRIBE ? KILLICK_SUBSCRIBE : KILLICK_UNSUBSCRIBE,
		       uri);
}

static void route_learned(struct errand *e, struct gather *g)
{
	(void)g;
	e->learned = true;
	route_errand(e);
}

static void route_learn_templates(struct errand *e, struct gather *g)
{
	(void)g;
	gather_begin(e, &(struct gather_spec){ .op = KILLICK_TEMPLATES,
					       .can = OFFER_RESOURCES,
					       .on_all = route_learned });
}

/* Fetch the lists that are needed to find the server; true: route_errand is called again. */
static bool route_learn(struct errand *e, enum killick_op op)
{
	if (e->learned || lists_are_known(e->desk, op))
		return false;
	if (e->rq)
		face_keep(e->rq);
	gather_begin(e, &(struct gather_spec){ .op = op,
					       .can = op == KILLICK_TOOLS     ? OFFER_TOOLS
						      : op == KILLICK_PROMPTS ? OFFER_PROMPTS
									      : OFFER_RESOURCES,
					       .on_all = op == KILLICK_RESOURCES
								 ? route_learn_templates
								 : route_learned });
	return true;
}

static void route_resource(struct errand *e, struct json quoted)
{
	struct desk *d = e->desk;
	AUTO(mem_drop) char *uri = NULL;
	const struct watch *w;
	struct lease *l = NULL;

	if (!json_string(quoted, &uri)) {
		errand_fail(e, RPC_BAD_PARAMS, "the request has no uri");
		return;
	}
	w = e->kind == FACE_UNSUBSCRIBE ? watch_find(d, uri) : NULL;
	if (w)
		l = backend_lease(d, w->backend);
	if (!l && !e->more)
		l = route_by_list(d, uri);
	if (!l && !e->more && route_learn(e, KILLICK_RESOURCES))
		return;
	if (!l && !e->more)
		l = route_by_template(d, uri);
	if (!l) {
		l = route_by_turn(d, e->tried, &e->more);
		e->more &= e->kind == FACE_READ;
		if (e->more && e->rq)
			face_keep(e->rq);
	}
	if (l)
		route_send_resource(e, l, uri);
	else
		errand_fail(e, RPC_BAD_PARAMS, "no server of the session has resource '%.200s'",
			    uri);
}

/* --- tools and prompts --- */

/* The server and the real name of a qualified name. */
static struct lease *route_find(const struct desk *d, const struct names *names, struct json name,
				const char **out_real)
{
	char text[2 * NAME_MAX_LEN]; /* a longer name is cut, and is not found */
	const struct name *found;

	if (!json_string_into(name, text, sizeof(text)))
		return NULL;
	found = names_find(names, text);
	if (!found)
		return NULL;
	*out_real = found->tool;
	return session_find(d->session, found->server);
}

static void route_unknown(struct errand *e, const char *what, struct json name)
{
	char text[200] = "";

	json_string_into(name, text, sizeof(text));
	errand_fail(e, RPC_BAD_PARAMS, "no server of the session has a %s '%s'", what, text);
}

static void route_named(struct errand *e)
{
	struct desk *d = e->desk;
	bool tool = e->kind == FACE_CALL;
	const char *real = NULL;
	struct lease *l =
		route_find(d, tool ? &d->session->names : &d->prompts, errand_name(e), &real);

	if (!l && route_learn(e, tool ? KILLICK_TOOLS : KILLICK_PROMPTS))
		return;
	if (!l || !desk_uses(l) || l->state != LEASE_HELD) {
		route_unknown(e, tool ? "tool" : "prompt", errand_name(e));
		return;
	}
	buf_reset(&d->scratch, SIZE_MAX);
	emit_quoted(&d->scratch, real, strlen(real));
	errand_send(e, l, d->scratch.data);
}

/* --- completion --- */

static void route_completion(struct errand *e)
{
	struct desk *d = e->desk;
	struct json ref = json_get(errand_message(e)->params, "ref"), name = json_get(ref, "name");
	const char *real = NULL;
	struct lease *l;

	if (json_is(json_get(ref, "type"), "ref/resource")) {
		route_resource(e, json_get(ref, "uri"));
		return;
	}
	l = route_find(d, &d->prompts, name, &real);
	if (!l && route_learn(e, KILLICK_PROMPTS))
		return;
	if (l && desk_uses(l) && l->state == LEASE_HELD)
		errand_send_renamed(e, l, name, real);
	else
		route_unknown(e, "prompt", name);
}

/* --- all --- */

static void route_to(struct errand *e, struct lease *l)
{
	AUTO(mem_drop) char *uri = NULL;

	if (e->kind == FACE_SUBSCRIBE || e->kind == FACE_UNSUBSCRIBE) {
		if (json_string(errand_name(e), &uri))
			route_send_resource(e, l, uri);
		else
			errand_fail(e, RPC_BAD_PARAMS, "the request has no uri");
	} else {
		errand_send(e, l, NULL);
	}
}

struct lease *route_given(struct errand *e)
{
	struct lease *l = session_find(e->desk->session, e->server);

	if (!l)
		errand_fail(e, KILLICK_ERR_NO_SERVER, "the session has no server '%.100s'",
			    e->server);
	else if (!l->server)
		errand_fail(e, RPC_INTERNAL, "%s",
			    l->error ? l->error : "the server is disabled by the config");
	return l && l->server ? l : NULL;
}

static void route_other(struct errand *e)
{
	char method[100] = "";

	json_string_into(errand_message(e)->method, method, sizeof(method));
	errand_fail(e, RPC_UNKNOWN_METHOD,
		    "unknown method '%s'; such a method is passed on if the session has one server",
		    method);
}

void route_errand(struct errand *e)
{
	struct lease *l = e->server ? route_given(e) : desk_only(e->desk);

	if (l)
		route_to(e, l);
	else if (e->server)
		return; /* route_given has answered */
	else if (e->kind == FACE_CALL || e->kind == FACE_PROMPT)
		route_named(e);
	else if (e->kind == FACE_COMPLETE)
		route_completion(e);
	else if (e->kind == FACE_OTHER)
		route_other(e);
	else
		route_resource(e, errand_name(e));
}
