/* bell.c - see bell.h */
#include "os/bell.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>

int bell_init(struct bell *b)
{
	int pair[2];

	*b = (struct bell){ .out = -1, .in = -1 };
	if (pipe2(pair, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	*b = (struct bell){ pair[0], pair[1], own_of(pair[0]) };
	return 0;
}

bool bell_is_ours(const struct bell *b)
{
	return b->in >= 0 && own_is(&b->id, b->in) && own_is(&b->id, b->out);
}

bool bell_ring(const struct bell *b)
{
	ssize_t n;

	if (!bell_is_ours(b))
		return false;
	do {
		n = fd_write_ours(b->in, "", 1); /* we have the other end: no SIGPIPE */
	} while (n == -EINTR);
	assert(n > 0 || n == -EAGAIN); /* without this byte a thread would sleep for ever */
	return true;
}

void bell_hush(const struct bell *b)
{
	char drop[64];
	ssize_t n = sizeof(drop);

	while (n == (ssize_t)sizeof(drop) && own_is(&b->id, b->out))
		n = fd_read(b->out, drop, sizeof(drop));
}

void bell_done(struct bell *b)
{
	own_drop(&b->id, &b->out);
	own_drop(&b->id, &b->in);
}
