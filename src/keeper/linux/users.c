/* users.c - see users.h */
#include "users.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "keeper.h"

#define SEEN 64 /* users that have ended */

int users_open(int fd)
{
	struct epoll_event ev;
	int ours = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (ours < 0 || epoll_wait(ours, &ev, 1, 0) < 0) {
		keeper_say("--users %d: not an open epoll: %s", fd, strerror(errno));
		return -1;
	}
	close(fd);
	return ours;
}

static void users_await(struct users *u, uint64_t who)
{
	u->who = who;
	u->woken = false;
	u->due_us = clock_us() + USERS_WAKE_MS * 1000LL;
}

void users_notice(struct users *u)
{
	struct epoll_event ev;

	if (epoll_wait(u->fd, &ev, 1, 0) == 1)
		users_await(u, ev.data.u64);
}

enum users_state users_look(struct users *u, int owner_fd)
{
	struct epoll_event ended[SEEN];
	int n = epoll_wait(u->fd, ended, SEEN, 0), i = 0;

	if (n <= 0) {
		u->due_us = 0;
		return USERS_LIVE;
	}
	while (i < n && ended[i].data.u64 != u->who)
		i++;
	if (i == n && n < SEEN) { /* the owner works: this is the end of another user */
		users_await(u, ended[0].data.u64);
		return USERS_WAIT;
	}
	if (u->woken)
		return USERS_OWNER_GONE;
	/* from a pid namespace of its own the hold may not signal the owner, but the watch may */
	if (owner_fd >= 0)
		syscall(SYS_pidfd_send_signal, owner_fd, SIGCONT, NULL, 0);
	u->woken = true;
	u->due_us = clock_us() + USERS_LOSE_MS * 1000LL;
	return USERS_WAIT;
}
