/* parked.c - see parked.h */
#include "session/parked.h"

void parked_fail(struct ring *all, const struct lease *l, int code, const char *text)
{
	struct ring chosen;

	/* the owner of a request may end other requests meanwhile, or park new ones */
	ring_init(&chosen);
	RING_EACH(n, all) {
		if (l && parked_of(n)->lease != l)
			continue;
		ring_remove(n);
		ring_add(&chosen, n);
	}
	for (struct ring *n; (n = ring_first(&chosen)) != NULL;)
		parked_of(n)->fail(parked_of(n), code, text);
}
