/* loop_host.c - a host's own event loop as the driver; see loop.h
 *
 *	host's poll ---> host_fd (epoll) ---> bell: callbacks wait
 *	                       '- - while joined - - > epoll_fd ---> descriptors of servers
 *
 * A host that dispatches often reads the answers itself, in loop_visit, and no thread of ours has
 * to be woken for a call. While joined, our own thread looks at the seat every TICK. When the host
 * has not called loop_visit for a whole TICK, our own thread takes epoll_fd out of host_fd and
 * drives.
 */
#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include "base/loop_internal.h"

static int loop_host_control(struct loop *l, int op, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	return epoll_ctl(l->host_fd, op, fd, &ev) < 0 ? -errno : 0;
}

int loop_host_open(struct loop *l, const struct bell *bell)
{
	int r;

	assert(l->host_fd < 0);
	l->host_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->host_fd < 0)
		return -errno;
	l->host_bell = bell;
	r = loop_host_control(l, EPOLL_CTL_ADD, bell->out);
	if (r < 0)
		loop_host_close(l);
	return r;
}

/* All epolls have the same inode, so own_is cannot tell them apart. An epoll in which our bell is
 * registered is ours. */
static bool loop_host_is_ours(struct loop *l)
{
	return l->host_fd >= 0 && bell_is_ours(l->host_bell) &&
	       loop_host_control(l, EPOLL_CTL_MOD, l->host_bell->out) == 0;
}

int loop_host_fd(const struct loop *l)
{
	return l->host_fd;
}

void loop_host_close(struct loop *l)
{
	if (loop_host_is_ours(l))
		close(l->host_fd);
	l->host_fd = -1;
	l->host_joined = false;
}

static void loop_host_join(struct loop *l)
{
	if (!l->host_joined && loop_host_is_ours(l))
		l->host_joined = loop_host_control(l, EPOLL_CTL_ADD, l->epoll_fd) == 0;
}

void loop_host_part(struct loop *l)
{
	/* If host_fd is now an epoll of the host, our epoll is not in it, and DEL changes
	 * nothing. */
	if (l->host_joined)
		loop_host_control(l, EPOLL_CTL_DEL, l->epoll_fd);
	l->host_joined = false;
}

void loop_visit(struct loop *l)
{
	int n;

	assert(!loop_is_mine(l));
	l->lends++;
	if (l->epoll_fd < 0 || l->seat == SEAT_GUEST || l->seat == SEAT_LENT)
		return;
	loop_host_join(l);
	if (l->seat == SEAT_OWN) {
		loop_kick(l);
		return;
	}
	if (loop_guess(l))
		return;
	n = epoll_wait(l->epoll_fd, l->batch, BATCH, 0);
	loop_guess_anew(l);
	if (n == 0 || (n < 0 && errno == EINTR))
		return;
	if (!loop_run_events(l, n))
		loop_check(l);
	loop_tell_waiters(l);
}
