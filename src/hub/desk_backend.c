/* desk_backend.c - the servers of a session, and what the desk knows about each of them. */
#include <stdlib.h>

#include "base/mem.h"
#include "hub/desk_internal.h"
#include "session/pool.h"

bool desk_uses(const struct lease *l)
{
	return l->server != NULL;
}

struct lease *desk_each(const struct desk *d, size_t *at)
{
	while (d->session && *at < d->session->count) {
		struct lease *l = d->session->table[(*at)++];

		if (desk_uses(l) && l->state == LEASE_HELD)
			return l;
	}
	return NULL;
}

struct lease *desk_only(const struct desk *d)
{
	struct lease *only = NULL;

	for (size_t i = 0; d->session && i < d->session->count; i++) {
		if (lease_config(d->session->table[i])->disabled)
			continue;
		if (only)
			return NULL;
		only = d->session->table[i];
	}
	return only && desk_uses(only) && only->state == LEASE_HELD ? only : NULL;
}

struct backend *backend_of(struct desk *d, struct lease *l)
{
	struct backend *b = l->sink_data;

	if (b)
		return b;
	b = mem_grow(NULL, 1, sizeof(*b));
	*b = (struct backend){ .number = ++d->last_backend };
	ring_add(&d->backends, &b->in_desk);
	l->sink_data = b;
	return b;
}

struct lease *backend_lease(const struct desk *d, const struct backend *b)
{
	size_t at = 0;

	for (struct lease *l = desk_each(d, &at); l; l = desk_each(d, &at))
		if (l->sink_data == b)
			return l;
	return NULL;
}

void backend_list_set(struct backend_list *list, struct json text)
{
	free(list->text);
	*list = (struct backend_list){ .text = NULL };
	if (!text.at)
		return;
	list->text = mem_try_text(text.at, text.len);
	list->len = list->text ? text.len : 0;
}

void backend_forget_lists(struct backend *b)
{
	b->tools = b->prompts = false;
	backend_list_set(&b->resources, JSON_NONE);
	backend_list_set(&b->templates, JSON_NONE);
}

static void backend_free(struct backend *b)
{
	backend_forget_lists(b);
	ring_remove(&b->in_desk);
	free(b);
}

static bool backend_is_used(const struct desk *d, const struct backend *b)
{
	RING_EACH(r, &d->session->leases)
		if (CONTAINER_OF(r, struct lease, in_session)->sink_data == b)
			return true;
	return false;
}

/* Does a request wait for this server? */
static bool backend_is_awaited(const struct desk *d, const struct backend *b)
{
	RING_EACH(r, &d->errands) {
		const struct errand *e = CONTAINER_OF(r, struct errand, in_desk);

		if (e->backend == b && e->f.lease)
			return true;
		for (size_t i = 0; e->gather && i < e->gather->count; i++)
			if (e->gather->pieces[i].backend == b && e->gather->pieces[i].f.lease)
				return true;
	}
	return false;
}

void backends_sweep(struct desk *d)
{
	RING_EACH(r, &d->backends) {
		struct backend *b = CONTAINER_OF(r, struct backend, in_desk);

		if (backend_is_used(d, b) || backend_is_awaited(d, b))
			continue;
		watches_drop(d, b);
		asks_drop(d, b);
		backend_free(b);
	}
}

void backends_free(struct desk *d)
{
	RING_EACH(r, &d->backends)
		backend_free(CONTAINER_OF(r, struct backend, in_desk));
}
