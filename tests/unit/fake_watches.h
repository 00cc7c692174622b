/* fake_watches.h - the loop's watches of descriptors: a table that the test polls.
 *
 * Included once per program: it has the loop's functions in it, so that loop.c is not linked.
 * FAKE_WATCHES, which the includer defines, is the most watches that there may be at once.
 */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"

static struct loop_watch *fake_watches[FAKE_WATCHES]; /* NULL: free */

int loop_watch(struct loop *l, struct loop_watch *w, int fd, uint32_t events,
	       void (*on_ready)(struct loop_watch *w, uint32_t events))
{
	size_t i = 0;

	(void)l;
	while (i < FAKE_WATCHES && fake_watches[i])
		i++;
	assert(i < FAKE_WATCHES);
	*w = (struct loop_watch){
		.fd = fd, .events = events, .on_ready = on_ready, .id = own_of(fd)
	};
	fake_watches[i] = w;
	return 0;
}

int loop_watch_change(struct loop *l, struct loop_watch *w, uint32_t events)
{
	(void)l;
	w->events = events;
	return 0;
}

void loop_watch_stop(struct loop *l, struct loop_watch *w)
{
	(void)l;
	w->fd = -1;
	for (size_t i = 0; i < FAKE_WATCHES; i++)
		if (fake_watches[i] == w)
			fake_watches[i] = NULL;
}
