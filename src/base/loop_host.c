/* loop_host.c - a host's own event loop as the driver; see loop.h
 *
 *	host's poll ---> host_fd (a poller) ---> bell: callbacks wait
 *	                       '- - while joined - - > poller ---> descriptors of servers
 *
 * A host that dispatches often reads the answers itself, in loop_visit, and no thread of ours has
 * to be woken for a call. While joined, our own thread looks at the seat every TICK. When the host
 * has not called loop_visit for a whole TICK, our own thread takes the poller out of host_fd and
 * drives.
 *
 * Where a poller cannot be in another one (Windows), our own thread always drives, and the host
 * waits for the bell alone.
 */
#include <assert.h>
#include <errno.h>

#include "base/loop_internal.h"

int loop_host_open(struct loop *l, const struct bell *bell)
{
	int r;

	assert(l->host_fd < 0);
	l->host_bell = bell;
	if (!POLLER_NESTS)
		return 0;
	l->host_fd = r = poller_open();
	if (r >= 0)
		r = poller_add(l->host_fd, bell->out, POLLER_IN, 0);
	if (r < 0)
		fd_drop(&l->host_fd);
	return r;
}

/* All epolls have the same inode, so own_is cannot tell them apart. A poller in which our bell is
 * registered is ours. */
static bool loop_host_is_ours(struct loop *l)
{
	return l->host_fd >= 0 && bell_is_ours(l->host_bell) &&
	       poller_change(l->host_fd, l->host_bell->out, POLLER_IN, 0) == 0;
}

int loop_host_fd(const struct loop *l)
{
	return POLLER_NESTS || !l->host_bell ? l->host_fd : l->host_bell->out;
}

void loop_host_close(struct loop *l)
{
	if (loop_host_is_ours(l))
		fd_close(l->host_fd);
	l->host_fd = -1;
	l->host_bell = NULL;
	l->host_joined = false;
}

static void loop_host_join(struct loop *l)
{
	if (!l->host_joined && loop_host_is_ours(l))
		l->host_joined = poller_add(l->host_fd, l->poller, POLLER_IN, 0) == 0;
}

void loop_host_part(struct loop *l)
{
	/* If host_fd is now an epoll of the host, our poller is not in it, and this changes
	 * nothing. */
	if (l->host_joined)
		poller_remove(l->host_fd, l->poller);
	l->host_joined = false;
}

void loop_visit(struct loop *l)
{
	int n;

	assert(!loop_is_mine(l));
	if (!POLLER_NESTS)
		return;
	l->lends++;
	if (l->poller < 0 || l->seat == SEAT_GUEST || l->seat == SEAT_LENT)
		return;
	loop_host_join(l);
	if (l->seat == SEAT_OWN) {
		loop_kick(l);
		return;
	}
	if (loop_guess(l))
		return;
	n = poller_wait(l->poller, l->batch, BATCH, 0);
	loop_guess_anew(l);
	if (n == 0 || n == -EINTR)
		return;
	if (!loop_run_events(l, n))
		loop_check(l);
	loop_tell_waiters(l);
}
