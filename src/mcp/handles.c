/* handles.c - ids that the server gave to one owner: of tasks and of elicitations; and the progress
 * tokens of requests that became tasks.
 *
 * A later message that has such an id belongs to the same owner. When there are HANDLES_MAX ids, an
 * owner that has half of them loses its oldest id; otherwise the oldest of all ids is removed. A
 * task whose id was removed cannot be used any more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/random.h"
#include "mcp/client_internal.h"

#define HANDLES_MAX       4096
#define HANDLE_ID_MAX     1024                              /* bytes */
#define HANDLE_LONGEST_MS (INT64_C(365) * 24 * 3600 * 1000) /* a longer time is no limit */

struct handle {
	struct hash_node in_table;
	struct ring in_order;
	enum handle_kind kind;
	struct party *owner;
	int64_t until_us; /* when the server may forget the task; INT64_MAX: never, or no task */
	struct json data; /* behind the id; JSON_NONE: none */
	char id[];
};

static struct handle *handle_of(struct ring *n)
{
	return CONTAINER_OF(n, struct handle, in_order);
}

/* FNV-1a with a secret seed, because the server chooses the ids. */
static uint64_t handles_digest(const struct client *c, enum handle_kind kind, const char *id)
{
	uint64_t h = c->handles.seed ^ (unsigned)kind;

	for (; *id; id++)
		h = (h ^ (unsigned char)*id) * UINT64_C(0x100000001b3);
	return h ^ h >> 32;
}

static struct handle *handles_get(const struct client *c, enum handle_kind kind, const char *id)
{
	struct hash_node *n = hash_find(&c->handles.table, handles_digest(c, kind, id));

	for (; n; n = hash_next(n)) {
		struct handle *h = CONTAINER_OF(n, struct handle, in_table);

		if (h->kind == kind && strcmp(h->id, id) == 0)
			return h;
	}
	return NULL;
}

static void handles_drop(struct client *c, struct handle *h)
{
	hash_remove(&c->handles.table, &h->in_table);
	ring_remove(&h->in_order);
	free(h);
}

/* Make room for one more of this owner. */
static void handles_evict(struct client *c, const struct party *owner)
{
	struct handle *oldest = NULL;
	unsigned count = 0;

	RING_EACH(n, &c->handles.order) {
		if (handle_of(n)->owner != owner)
			continue;
		oldest = oldest ? oldest : handle_of(n);
		if (++count == HANDLES_MAX / 2)
			break;
	}
	if (count < HANDLES_MAX / 2)
		oldest = handle_of(ring_first(&c->handles.order));
	handles_drop(c, oldest);
}

static void handles_put(struct client *c, struct handle like, const char *text, struct json data)
{
	struct handle *h;
	size_t len = strlen(text) + 1;

	if (!c->handles.seed) {
		ring_init(&c->handles.order);
		if (random_try(&c->handles.seed, sizeof(c->handles.seed)) < 0)
			c->handles.seed = 0; /* early at boot: the table may be slow */
		c->handles.seed |= 1;
	}
	h = handles_get(c, like.kind, text);
	if (h && h->until_us > loop_now_us())
		return; /* the server uses one id twice: the first owner keeps the id */
	if (h)
		handles_drop(c, h); /* of a task that the server may have forgotten */
	if (c->handles.table.count >= HANDLES_MAX)
		handles_evict(c, like.owner);
	h = mem_grow(NULL, 1, sizeof(*h) + len + data.len);
	*h = like;
	memcpy(h->id, text, len);
	if (data.at)
		h->data = (struct json){ memcpy(h->id + len, data.at, data.len), data.len };
	hash_add(&c->handles.table, &h->in_table, handles_digest(c, like.kind, text));
	ring_add(&c->handles.order, &h->in_order);
}

void handles_add(struct client *c, enum handle_kind kind, struct json id, struct party *owner)
{
	AUTO(mem_drop) char *text = NULL;

	if (owner && id.len <= HANDLE_ID_MAX && json_string(id, &text))
		handles_put(c,
			    (struct handle){ .kind = kind, .owner = owner, .until_us = INT64_MAX },
			    text, JSON_NONE);
}

void handles_add_task(struct client *c, struct json id, int64_t ttl_ms, struct party *owner)
{
	struct handle like = { .kind = HANDLE_TASK, .owner = owner, .until_us = INT64_MAX };
	AUTO(mem_drop) char *text = NULL;

	if (ttl_ms >= 0 && ttl_ms < HANDLE_LONGEST_MS)
		like.until_us = loop_now_us() + ttl_ms * 1000;
	if (owner && id.len <= HANDLE_ID_MAX && json_string(id, &text))
		handles_put(c, like, text, JSON_NONE);
}

bool client_has_tasks(const struct client *c)
{
	if (c->handles.table.count)
		RING_EACH(n, &c->handles.order)
			if (handle_of(n)->kind == HANDLE_TASK &&
			    handle_of(n)->until_us > loop_now_us())
				return true;
	return false;
}

void handles_add_progress(struct client *c, uint64_t number, struct json token, struct party *owner)
{
	char text[24];

	if (!owner || token.len > HANDLE_ID_MAX)
		return;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	handles_put(
		c,
		(struct handle){ .kind = HANDLE_PROGRESS, .owner = owner, .until_us = INT64_MAX },
		text, token);
}

struct json handles_progress(const struct client *c, uint64_t number, struct party **out_owner)
{
	const struct handle *h;
	char text[24];

	if (!c->handles.table.count)
		return JSON_NONE;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	h = handles_get(c, HANDLE_PROGRESS, text);
	if (!h)
		return JSON_NONE;
	*out_owner = h->owner;
	return h->data;
}

struct party *handles_find(const struct client *c, enum handle_kind kind, struct json id)
{
	AUTO(mem_drop) char *text = NULL;
	const struct handle *h;

	if (!c->handles.table.count || id.len > HANDLE_ID_MAX || !json_string(id, &text))
		return NULL;
	h = handles_get(c, kind, text);
	return h ? h->owner : NULL;
}

void handles_forget(struct client *c, const struct party *owner)
{
	if (!c->handles.table.count)
		return;
	RING_EACH(n, &c->handles.order)
		if (handle_of(n)->owner == owner)
			handles_drop(c, handle_of(n));
}

void handles_done(struct client *c)
{
	if (c->handles.table.count)
		RING_EACH(n, &c->handles.order)
			handles_drop(c, handle_of(n));
	hash_done(&c->handles.table);
}
