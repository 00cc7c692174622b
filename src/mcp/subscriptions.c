/* subscriptions.c - which owner watches which resource.
 *
 * The server knows one client: only the first owner that watches a resource and the last owner that
 * stops are reported to the server. A modern server gets a new listen stream (listen.c) instead.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "mcp/client_internal.h"

struct subscription { /* one owner and one resource */
	struct ring node;
	struct party *owner;
	bool settled; /* the server has accepted the subscription */
	char uri[];
};

static struct subscription *subscription_of(struct ring *n)
{
	return CONTAINER_OF(n, struct subscription, node);
}

static struct subscription *subscriptions_find(struct client *c, const struct party *owner,
					       const char *uri)
{
	for (struct ring *n = c->watches.next; n != &c->watches; n = n->next)
		if (subscription_of(n)->owner == owner && strcmp(subscription_of(n)->uri, uri) == 0)
			return subscription_of(n);
	return NULL;
}

/* Does any owner watch the resource? With `settled`, only accepted subscriptions count. */
static bool subscriptions_is_watched(struct client *c, const char *uri, bool settled)
{
	for (struct ring *n = c->watches.next; n != &c->watches; n = n->next) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): for the reason see ring_first */
		const struct subscription *sub = subscription_of(n);

		if (strcmp(sub->uri, uri) == 0 && (sub->settled || !settled))
			return true;
	}
	return false;
}

static void subscriptions_add(struct client *c, struct party *owner, const char *uri)
{
	size_t len = strlen(uri) + 1;
	struct subscription *sub = mem_grow(NULL, 1, sizeof(*sub) + len);

	*sub = (struct subscription){ .owner = owner };
	memcpy(sub->uri, uri, len);
	ring_add(&c->watches, &sub->node);
}

static void subscriptions_drop(struct subscription *sub)
{
	ring_remove(&sub->node);
	free(sub);
}

/* Tell the server, if no owner watches the resource any more. */
static void subscriptions_tell_end(struct client *c, const char *uri)
{
	if (c->state != CLIENT_READY || subscriptions_is_watched(c, uri, false))
		return;
	if (c->era == ERA_MODERN)
		listen_changed(c);
	else
		call_own(c, KILLICK_UNSUBSCRIBE, uri, LEVEL_NONE);
}

void subscriptions_subscribe(struct client_call *call)
{
	struct client *c = call->client;
	bool watched;

	if (!(c->can & CAN_SUBSCRIBE) || !call->name) {
		call_later(call, KILLICK_ERR_PROTOCOL, NULL,
			   "the server does not offer subscriptions");
		return;
	}
	watched = subscriptions_is_watched(c, call->name, true);
	if (!subscriptions_find(c, call->party, call->name))
		subscriptions_add(c, call->party, call->name);
	if (watched) {
		call_later(call, KILLICK_OK, "{}", NULL);
	} else if (c->era == ERA_MODERN) {
		listen_changed(c);
		call_go(call, CALL_LISTENING);
		call->generation = c->generation;
	} else {
		call_send(call);
	}
}

/* A subscribe request has ended. */
void subscriptions_settle(struct client_call *call, int code)
{
	struct client *c = call->client;
	struct subscription *sub =
		call->name ? subscriptions_find(c, call->party, call->name) : NULL;

	if (sub && code == KILLICK_OK) {
		sub->settled = true;
	} else if (sub && !sub->settled) {
		subscriptions_drop(sub);
		/* the server may have accepted a subscription that was given up */
		if (code == KILLICK_ERR_TIMEOUT || code == KILLICK_ERR_CANCELLED ||
		    c->era == ERA_MODERN)
			subscriptions_tell_end(c, call->name);
	}
}

void subscriptions_unsubscribe(struct client_call *call)
{
	struct client *c = call->client;
	struct subscription *sub =
		call->name ? subscriptions_find(c, call->party, call->name) : NULL;

	if (!(c->can & CAN_SUBSCRIBE) || !call->name) {
		call_later(call, KILLICK_ERR_PROTOCOL, NULL,
			   "the server does not offer subscriptions");
		return;
	}
	if (sub)
		subscriptions_drop(sub);
	if (c->era == ERA_MODERN && sub)
		subscriptions_tell_end(c, call->name);
	if (c->era == ERA_MODERN || subscriptions_is_watched(c, call->name, false))
		call_later(call, KILLICK_OK, "{}", NULL);
	else
		call_send(call);
}

void subscriptions_forget(struct client *c, struct party *owner)
{
	struct ring *next;

	for (struct ring *n = c->watches.next; n != &c->watches; n = next) {
		struct subscription *sub = subscription_of(n);
		AUTO(mem_drop) char *uri = NULL;

		next = n->next;
		if (sub->owner != owner)
			continue;
		uri = mem_dup(sub->uri);
		subscriptions_drop(sub);
		subscriptions_tell_end(c, uri);
	}
}

bool subscriptions_is_part(const char *uri, const char *of)
{
	size_t len = strlen(of);

	if (strncmp(uri, of, len) != 0)
		return false;
	return uri[len] == '\0' || uri[len] == '/' || uri[len] == '#' || uri[len] == '?' ||
	       (len > 0 && of[len - 1] == '/');
}

/* Each owner that watches the resource is told once, even if several of its watches match. */
void subscriptions_updated(struct client *c, struct json params)
{
	AUTO(mem_drop) char *uri = NULL;
	bool told = false;

	if (!json_string(json_get(params, "uri"), &uri)) {
		odd_warn(c, ODD_NOTE, "the server told that a resource changed, and not which");
		return;
	}
	for (struct ring *o = c->owners.next, *next; o != &c->owners; o = next) {
		struct party *owner = CONTAINER_OF(o, struct party, node);
		bool concerned = false;

		next = o->next;
		for (struct ring *n = c->watches.next; n != &c->watches && !concerned; n = n->next)
			concerned = subscription_of(n)->owner == owner &&
				    subscriptions_is_part(uri, subscription_of(n)->uri);
		if (concerned)
			c->ev->on_note(c->ctx, KILLICK_EVENT_UPDATED, owner->key, params);
		told |= concerned;
	}
	if (!told)
		odd_warn(c, ODD_NOTE, "the server told of a change that nobody asked for: %.100s",
			 uri);
}

const char *subscriptions_each(const struct client *c, const struct ring **at)
{
	const struct ring *n = *at ? *at : &c->watches;

	while ((n = n->next) != &c->watches) {
		const char *uri = CONTAINER_OF(n, struct subscription, node)->uri;
		const struct ring *first = c->watches.next;

		while (strcmp(CONTAINER_OF(first, struct subscription, node)->uri, uri) != 0)
			first = first->next;
		*at = n;
		if (first == n)
			return uri;
	}
	return NULL;
}

void subscriptions_done(struct client *c)
{
	for (struct ring *n; (n = ring_first(&c->watches)) != NULL;)
		subscriptions_drop(subscription_of(n));
}
