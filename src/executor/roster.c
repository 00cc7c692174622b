/* roster.c - see roster.h */
#include "executor/roster.h"

#include <assert.h>
#include <string.h>

#include "base/ring.h"
#include "executor/process.h"

static uint64_t roster_key(const struct roster *r, const struct owner *o, const char *id)
{
	uint64_t h = r->seed ^ (uint64_t)(uintptr_t)o;

	for (; *id; id++) {
		h = (h ^ (unsigned char)*id) * 0x100000001b3u;
		h ^= h >> 29;
	}
	h *= 0x9e3779b97f4a7c15u;
	return h >> 32;
}

void roster_init(struct roster *r, uint64_t seed)
{
	*r = (struct roster){ .seed = seed };
}

void roster_done(struct roster *r)
{
	assert(r->table.count == 0);
	hash_done(&r->table);
}

void roster_add(struct roster *r, struct process *p)
{
	assert(p->owner && p->state < PROCESS_CLOSED);
	hash_add(&r->table, &p->in_roster, roster_key(r, p->owner, p->id));
}

void roster_remove(struct roster *r, struct process *p)
{
	hash_remove(&r->table, &p->in_roster);
}

struct process *roster_find(const struct roster *r, const struct owner *o, const char *id)
{
	struct hash_node *n = hash_find(&r->table, roster_key(r, o, id));

	for (; n; n = hash_next(n)) {
		struct process *p = CONTAINER_OF(n, struct process, in_roster);

		if (p->owner == o && strcmp(p->id, id) == 0)
			return p;
	}
	return NULL;
}
