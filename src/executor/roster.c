/* roster.c - see roster.h */
#include "executor/roster.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "executor/process.h"

#define CAP_MIN 16

static uint32_t hash(const struct roster *r, const struct owner *o, const char *id)
{
	uint64_t h = r->seed ^ (uint64_t)(uintptr_t)o;

	for (; *id; id++) {
		h = (h ^ (unsigned char)*id) * 0x100000001b3u;
		h ^= h >> 29;
	}
	h *= 0x9e3779b97f4a7c15u;
	return (uint32_t)(h >> 32);
}

static struct process **head(const struct roster *r, uint32_t h)
{
	return &r->heads[h & (r->cap - 1)];
}

void roster_init(struct roster *r, uint64_t seed)
{
	*r = (struct roster){ .seed = seed };
}

void roster_done(struct roster *r)
{
	assert(r->count == 0);
	free(r->heads);
	r->heads = NULL;
	r->cap = 0;
}

static void grow(struct roster *r)
{
	struct process **old = r->heads;
	size_t old_cap = r->cap;

	r->cap = old_cap ? 2 * old_cap : CAP_MIN;
	r->heads = mem_grow(NULL, r->cap, sizeof(*r->heads));
	memset(r->heads, 0, r->cap * sizeof(*r->heads));
	for (size_t i = 0; i < old_cap; i++) {
		for (struct process *p = old[i], *next; p; p = next) {
			next = p->next;
			p->next = *head(r, p->hash);
			*head(r, p->hash) = p;
		}
	}
	free(old);
}

void roster_add(struct roster *r, struct process *p)
{
	if (r->count == r->cap)
		grow(r);
	p->hash = hash(r, p->owner, p->id);
	p->next = *head(r, p->hash);
	*head(r, p->hash) = p;
	r->count++;
}

void roster_remove(struct roster *r, struct process *p)
{
	struct process **at = head(r, p->hash);

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	r->count--;
}

struct process *roster_find(const struct roster *r, const struct owner *o, const char *id)
{
	uint32_t h = hash(r, o, id);

	if (!r->cap)
		return NULL;
	for (struct process *p = *head(r, h); p; p = p->next)
		if (p->hash == h && p->owner == o && strcmp(p->id, id) == 0)
			return p;
	return NULL;
}
