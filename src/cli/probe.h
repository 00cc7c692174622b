/* probe.h - what this machine lets us do, found out by doing it.
 *
 * Settings lie (a container's seccomp filter, an AppArmor profile, a read-only mount overrule
 * them), so each probe makes the real thing and removes it again. Settings are read only to explain
 * a refusal. Threads: none may exist (children are cloned).  Blocking: for a child that ends at
 * once.
 */
#pragma once

#include <stdbool.h>

/* The limit of open files with which `killick run` holds a server at each level and with each
 * option. Measured, with stdin, stdout and stderr open and nothing else: group 14, keeper 16,
 * namespace 21, cgroup 22, cgroup with --max-procs, --memory and --report 26; a client verb with
 * one server 23. The rest is reserve. */
enum { PROBE_OPEN_FILES = 32 };

struct probe {
	bool works;
	char how[1024];   /* works: what was done, where. Does not: what was refused and why */
	char raise[1024]; /* does not: the one command that would change it; empty when we know none
			   */
};

void probe_cgroup(struct probe *out); /* make a cgroup, start a process in it, remove it */
void probe_namespace(
	struct probe *out); /* be pid 1 of a pid namespace, in a user namespace unless root */
void probe_keeper(struct probe *out);    /* subreaper, pidfd */
void probe_max_procs(struct probe *out); /* limits on a cgroup of ours */
void probe_memory(struct probe *out);
void probe_open_files(struct probe *out); /* open as many files as `killick run` does */
void probe_records(struct probe *out);    /* write in the runtime directory */
