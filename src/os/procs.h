/* procs.h - the processes of this machine: which process started which, and what each has used.
 *
 * One look asks for every process of the machine. On Linux the numbers come from /proc, on Windows
 * from a toolhelp snapshot. Life: procs_list -> procs_list_done.
 * Threads: any.  Blocking: never, but Linux reads files of /proc.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct procs_entry {
	int pid, parent; /* on Windows the parent may be gone and its number in use again */
	/* CPU time in units of the system; on Linux with the time of its children that were reaped.
	 * Windows: 0, see procs_used. */
	unsigned long long cpu;
};

struct procs_list {
	struct procs_entry *list;
	size_t count;
};

/* 0, or -errno and the list is empty. */
int procs_list(struct procs_list *out);
void procs_list_done(struct procs_list *l);

/* A number that grows when the process uses CPU time, reads or writes. `e` is an entry of a list.
 * 0: the system does not tell us. */
unsigned long long procs_used(const struct procs_entry *e);

/* The memory of the process in bytes: on Linux its proportional set size (PSS), or its resident set
 * where the PSS may not be read; on Windows its working set. 0: not known. */
unsigned long long procs_memory(const struct procs_entry *e);
