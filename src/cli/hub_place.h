/* hub_place.h - where the hub of this user listens: the socket `hub.sock` in the directory of the
 * records (KILLICK_RUNTIME_DIR, else /run/user/UID/killick or /tmp/killick-UID).
 *
 * One hub per user and directory: a hub holds the lock of `hub.lock` beside its socket as long as
 * the hub lives, so a hub that has the lock may replace the socket of a hub that was killed.
 * Windows has no such socket: all functions return -ENOSYS there.
 * Threads: the first one.  Blocking: hub_place_take, at most 5 s, while another hub ends or starts.
 */
#pragma once

#include "base/err.h"
#include "hub/hub.h"
#include "os/net.h"

struct hub_place {
	char path[NET_PATH_MAX]; /* of the socket */
	int lock;                /* -1: none */
};

/* For a hub: make the directory and take the lock. 0; -EALREADY: another hub runs; -errno with a
 * sentence. The lock is held until the process ends. */
int hub_place_take(struct hub_place *out, struct err *e);
/* For a client: a connection to the hub, as a descriptor that does not block. -ENOENT: no hub runs;
 * -EACCES: the socket belongs to another user; -errno with a sentence. *out is the path of the
 * socket, or the path that a new hub will use. */
int hub_place_connect(char out[NET_PATH_MAX], struct err *e);
/* For a hub: hub_spec.find_tree. A process is in a tree if it descends from a keeper, if it or its
 * cgroup carries the mark of a tree, or if it is in another pid namespace. A process whose
 * ancestors cannot be read is in a tree of its own. */
void hub_place_find_tree(long pid, struct hub_tree *out);
/* For a hub that a client has started: leave the session of the terminal, and the directory of the
 * client. */
void hub_place_leave(void);
