/* bell.c - see bell.h: an event */
#include "os/bell.h"

#include "os/event.h"

int bell_init(struct bell *b)
{
	int fd = event_open();

	*b = (struct bell){ .out = -1, .in = -1 };
	if (fd < 0)
		return fd;
	*b = (struct bell){ fd, fd, own_of(fd) };
	return 0;
}

bool bell_is_ours(const struct bell *b)
{
	return b->in >= 0 && own_is(&b->id, b->in);
}

bool bell_ring(const struct bell *b)
{
	return bell_is_ours(b) && event_set(b->in) == 0;
}

void bell_hush(const struct bell *b)
{
	if (bell_is_ours(b))
		event_clear(b->out);
}

void bell_done(struct bell *b)
{
	own_drop(&b->id, &b->out);
	b->in = -1;
}
