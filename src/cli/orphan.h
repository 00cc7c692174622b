/* orphan.h - MCP servers that other programs have lost: found, listed, and ended only on request.
 *
 * An orphan is a process of this user whose parent is not its client any more but whoever collects
 * orphans (pid 1, a user manager, a container's init), that looks like an MCP server (mcp_look.h)
 * and is in no tree of killick's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "trees.h"

struct orphan {
	const struct proc *proc; /* in the trees' procs */
	const struct proc *parent;
	size_t family;          /* processes, itself and its descendants */
	unsigned long long rss; /* of all of them */
	long long cpu_ms;
	bool unsure;   /* the parent may be a client after all: no known collector of orphans */
	char unit[96]; /* the systemd service it is part of; then it may be meant to be there */
};

/* Find them; *out_list is the caller's to free. Returns how many there are. */
size_t orphans_find(const struct trees *ts, struct orphan **out_list);

/* Is this the name (comm) of a program that collects orphans? */
bool orphan_is_collector(const char *comm);

/* End an orphan, its descendants and the sessions and groups they lead: SIGTERM, 2 s, SIGKILL until
 * none is left, each by a pidfd that was checked against the picture. Returns the number of
 * processes ended, or -errno: -ESRCH it is gone, -EBUSY we are one of its descendants, others: some
 * would not end. */
int orphan_end(const struct procs *ps, const struct orphan *o, struct err *e);
