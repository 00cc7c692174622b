/* activity.c - see activity.h */
#include "link/activity.h"

#include <stddef.h>

#include "base/auto.h"
#include "base/mem.h"
#include "os/procs.h"

static bool activity_is_inside(const struct procs_list *l, const bool *inside, int pid)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->list[i].pid == pid)
			return inside[i];
	return false;
}

/* Mark the descendants of the keeper in `inside`. A child mostly has a higher pid than its parent,
 * so that one or two rounds find all. */
static void activity_find(const struct procs_list *l, int keeper, bool *inside)
{
	for (bool more = true; more;) {
		more = false;
		for (size_t i = 0; i < l->count; i++) {
			int parent = l->list[i].parent;

			if (inside[i] ||
			    (parent != keeper && !activity_is_inside(l, inside, parent)))
				continue;
			inside[i] = more = true;
		}
	}
}

bool activity_read(int keeper, int server, unsigned long long *out)
{
	AUTO(procs_list_done) struct procs_list l;
	AUTO(mem_drop) bool *inside = NULL;
	unsigned long long sum = 0;

	if (procs_list(&l) < 0)
		return false;
	inside = mem_grow(NULL, l.count + 1, sizeof(*inside));
	for (size_t i = 0; i < l.count; i++)
		inside[i] = false;
	activity_find(&l, keeper, inside);
	for (size_t i = 0; i < l.count; i++) {
		const struct procs_entry *p = &l.list[i];

		if (inside[i] && (p->parent != keeper || p->pid == server))
			sum += (unsigned long long)p->pid + procs_used(p);
	}
	*out = sum;
	return true;
}
