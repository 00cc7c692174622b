/* memory.c - see memory.h */
#include "link/memory.h"

#include <stdlib.h>

#include "base/mem.h"
#include "os/procs.h"

#define MEMORY_DEPTH_MAX                                                                           \
	256 /* generations; on Windows a pid that is used again can make a circle */

static int memory_by_pid(const void *a, const void *b)
{
	const struct procs_entry *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static int memory_by_keeper(const void *a, const void *b)
{
	const struct memory_tree *x = *(struct memory_tree *const *)a;
	const struct memory_tree *y = *(struct memory_tree *const *)b;

	return (x->keeper > y->keeper) - (x->keeper < y->keeper);
}

struct memory_look {
	struct procs_list all;      /* sorted */
	struct memory_tree **trees; /* sorted by keeper */
	size_t count;
};

static struct memory_tree *memory_tree_of(const struct memory_look *k, int keeper)
{
	struct memory_tree wanted = { .keeper = keeper }, *key = &wanted;
	struct memory_tree **found =
		bsearch(&key, k->trees, k->count, sizeof(*k->trees), memory_by_keeper);

	return found ? *found : NULL;
}

/* Find the tree that has the process; NULL: none. */
static struct memory_tree *memory_find(const struct memory_look *k, const struct procs_entry *p)
{
	const struct procs_entry *at = p;

	for (int depth = 0; at && depth < MEMORY_DEPTH_MAX; depth++) {
		struct memory_tree *t = memory_tree_of(k, at->parent);
		struct procs_entry wanted = { .pid = at->parent };

		if (t) /* the keeper's own children are keepers, except the server */
			return p->parent != t->keeper || p->pid == t->server ? t : NULL;
		at = bsearch(&wanted, k->all.list, k->all.count, sizeof(wanted), memory_by_pid);
	}
	return NULL;
}

int memory_read(struct memory_tree *trees, size_t count)
{
	struct memory_look k = { .count = count };
	int r = procs_list(&k.all);

	for (size_t i = 0; i < count; i++) {
		trees[i].bytes = 0;
		trees[i].processes = 0;
	}
	if (r < 0)
		return r;
	k.trees = mem_grow(NULL, count + 1, sizeof(*k.trees));
	for (size_t i = 0; i < count; i++)
		k.trees[i] = &trees[i];
	qsort(k.trees, count, sizeof(*k.trees), memory_by_keeper);
	if (k.all.count)
		qsort(k.all.list, k.all.count, sizeof(*k.all.list), memory_by_pid);
	for (size_t i = 0; i < k.all.count; i++) {
		struct memory_tree *t = memory_find(&k, &k.all.list[i]);

		if (!t)
			continue;
		t->bytes += procs_memory(&k.all.list[i]);
		t->processes++;
	}
	free(k.trees);
	procs_list_done(&k.all);
	return 0;
}
