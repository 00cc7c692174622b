/* pending.c - see pending.h */
#include "remote/pending.h"

#include <assert.h>

static struct pending **bucket(struct pendings *all, uint64_t id)
{
	return &all->buckets[id % PENDING_BUCKETS];
}

void pending_add(struct pendings *all, struct pending *p,
		 void (*on_answer)(struct pending *p, const struct message *m))
{
	struct pending **at;

	assert(!p->id);
	p->id = ++all->last_id;
	p->on_answer = on_answer;
	at = bucket(all, p->id);
	p->chain = *at;
	*at = p;
}

struct pending *pending_take(struct pendings *all, uint64_t id)
{
	struct pending *p, **at;

	for (at = bucket(all, id); *at && (*at)->id != id;)
		at = &(*at)->chain;
	p = *at;
	if (!p)
		return NULL;
	*at = p->chain;
	p->id = 0;
	p->chain = NULL;
	return p;
}

void pending_drop(struct pendings *all, struct pending *p)
{
	if (p->id)
		pending_take(all, p->id);
}

void pending_drop_all(struct pendings *all)
{
	for (size_t i = 0; i < PENDING_BUCKETS; i++)
		while (all->buckets[i])
			pending_take(all, all->buckets[i]->id);
}
