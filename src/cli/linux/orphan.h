/* orphan.h - MCP servers that other programs left behind: listed, and ended only on request.
 *
 * An orphan is a process of this user that looks like an MCP server (mcp_look.h) and is in no tree
 * of killick. Its parent is not a client, but a process that collects orphans (pid 1, a user
 * manager, the init of a container).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "trees.h"

struct orphan {
	const struct proc *proc; /* in the trees' procs */
	const struct proc *parent;
	size_t family;          /* number of processes: the orphan and its descendants */
	unsigned long long rss; /* bytes, of all these processes */
	long long cpu_ms;
	bool unsure;   /* the parent is not a known collector of orphans, and may be a client */
	char unit[96]; /* its systemd service, which may run the process on purpose; "": none */
};

/* Find the orphans; the caller frees *out_list. Returns how many there are. */
size_t orphans_find(const struct trees *ts, struct orphan **out_list);

/* Is this the name (comm) of a program that collects orphans? */
bool orphan_is_collector(const char *comm);

/* End an orphan, its descendants and the sessions and groups that they lead: SIGTERM, 2 s, SIGKILL
 * until all are gone. Each signal is sent by a pidfd that was checked against `ps`. Returns the
 * number of ended processes, or -errno: -ESRCH: the orphan is gone; -EBUSY: this process is a
 * descendant of the orphan; others: some processes did not end. */
int orphan_end(const struct procs *ps, const struct orphan *o, struct err *e);
