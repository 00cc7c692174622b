/* procs.h - a snapshot of the processes of this machine, from /proc.
 *
 * Life: procs_read -> look -> procs_done. A pid in the snapshot may be reused: a caller that acts
 * on a process opens a pidfd and compares `start`.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "keeper/linux/proc.h"

struct proc {
	struct proc_stat st;
	uid_t uid;       /* effective; not known for a zombie */
	char *args;      /* arguments as in /proc/PID/cmdline, each with its NUL; cut at 16 KiB */
	size_t args_len; /* 0: a kernel thread, a zombie, or not readable for this user */
};

struct procs {
	struct proc *list; /* by rising pid */
	size_t count;
	long long now_ms; /* CLOCK_BOOTTIME at the start of reading */
};
#define PROCS_INIT                                                                                 \
	{                                                                                          \
		.list = NULL                                                                       \
	}

int procs_read(struct procs *ps);
void procs_done(struct procs *ps);

/* NULL: not found. */
const struct proc *procs_find(const struct procs *ps, pid_t pid);

/* Returns the process with this pid and start time; NULL: it is gone. A zombie counts as gone. */
const struct proc *procs_find_who(const struct procs *ps, pid_t pid, unsigned long long start);

/* Store `root` and all its descendants, at most max. Returns how many were stored. */
size_t procs_family(const struct procs *ps, pid_t root, pid_t *out_pids, size_t max);

/* Write the command line as one clean line, without secrets (cli_show_secrets), or [name] when
 * there is none. */
void proc_command(const struct proc *p, char *out, size_t size);

long long proc_age_ms(const struct procs *ps, const struct proc *p);
long long proc_cpu_ms(const struct proc *p);
unsigned long long proc_rss(const struct proc *p); /* bytes */
