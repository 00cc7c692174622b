/* users.h - the processes for which the owner holds the server: does the owner notice their end?
 *
 * An owner such as the hub holds a server for other processes, its users. A server can stop such an
 * owner (SIGSTOP), which then lives and does nothing: no keeper would see an end. So the owner
 * gives the keepers an epoll (--users) that has a pidfd of each user, and removes the pidfd when it
 * has handled the end of that user. When a pidfd stays readable, the owner cannot run: it is
 * stopped, frozen, traced, or hangs. The keepers continue the owner with SIGCONT; if the owner does
 * not handle the end of that user afterwards either, the owner counts as gone.
 *
 * Life: users_open -> users_notice, when the descriptor is readable -> users_look at due_us ...
 * Threads: one.  Blocking: never.  Allocates: never.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define USERS_WAKE_MS 2000 /* for the owner to handle the end of a user */
#define USERS_LOSE_MS 5000 /* the same after SIGCONT; then the owner counts as gone */

struct users {
	int fd;           /* the epoll; -1: none */
	uint64_t who;     /* the user whose end the owner has to handle */
	long long due_us; /* when to look again; 0: no user has ended */
	bool woken;       /* SIGCONT was sent because of `who` */
};

/* Take over descriptor fd. Returns a descriptor of the keeper, or -1 after one line on stderr. */
int users_open(int fd);
/* The descriptor is readable: a user has ended. Sets due_us. */
void users_notice(struct users *u);
/* due_us has passed. USERS_LIVE: wait for the descriptor again. USERS_WAIT: due_us has a new value.
 * owner_fd: a pidfd, or -1. */
enum users_state { USERS_LIVE, USERS_WAIT, USERS_OWNER_GONE };
enum users_state users_look(struct users *u, int owner_fd);
