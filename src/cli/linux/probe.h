/* probe.h - tests which levels and limits work on this machine.
 *
 * Settings are not reliable: a container's seccomp filter, an AppArmor profile or a read-only mount
 * overrules them. So each probe makes a cgroup or a namespace and removes it again. Settings are
 * read only to explain a refusal. Threads: the process must have only one, because children are
 * cloned. Blocking: for a child that exits at once.
 */
#pragma once

#include <stdbool.h>

/* The limit of open files with which `killick run` holds a server at each level and with each
 * option. Measured, with only stdin, stdout and stderr open: group 14, keeper 16, namespace 21,
 * cgroup 22, cgroup with --max-procs, --memory and --report 26; a client verb with one server 23.
 * The rest is reserve. */
enum { PROBE_OPEN_FILES = 32 };

struct probe {
	bool works;
	char how[1024];   /* works: what was done, and where; else: what was refused, and why */
	char raise[1024]; /* if works is false: the command that would enable it; "": not known */
};

void probe_cgroup(struct probe *out); /* make a cgroup, start a process in it, remove it */
void probe_namespace(
	struct probe *out); /* make a pid namespace, inside a user namespace unless root */
void probe_keeper(struct probe *out);    /* subreaper, pidfd */
void probe_max_procs(struct probe *out); /* set the limit on a new cgroup */
void probe_memory(struct probe *out);
void probe_open_files(struct probe *out); /* open as many files as `killick run` opens */
void probe_records(struct probe *out);    /* write in the runtime directory */
