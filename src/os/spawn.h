/* spawn.h - start a program that is not a child of the host.
 *
 * The keeper must not be visible to the host: on Linux no SIGCHLD, and no child for the host's
 * wait() to find. So the keeper is a grandchild whose parent has ended, and belongs to init (or to
 * the next subreaper; that may be the host itself, see spawn_reap). Both new processes share the
 * memory of the host until exec, so no memory is copied, however large the host is. The middle
 * process does not exec, so its end sends no signal. On Windows a process has no such parent; the
 * new process has no window, and its own process group, so that Ctrl-C of the host's console is for
 * the host.
 *
 * The program inherits the descriptors in `fds`, and `more`, and no other one.
 * Threads: any.  Blocking: until exec.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SPAWN_FDS 4 /* stdin, stdout, stderr and one for messages */

struct spawn { /* borrowed */
	const char *path;
	char *const *argv, *const *envp;
	int fds[SPAWN_FDS]; /* ends that pipe.h made for the child */
	int more; /* becomes descriptor SPAWN_FDS of the program; 0: none. Not on Windows */
};

struct spawned {
	int process; /* a descriptor: readable when the process has ended; -1 before Linux 5.2 */
	int pid;
};

/* 0, or -errno and nothing was started: then *out_failed is the name of the call that failed, or
 * NULL if the system refused to run `path`. */
int spawn_detached(const struct spawn *s, struct spawned *out, const char **out_failed);

/* True: the process is gone, or its end need not be awaited, because another process reaps it
 * (known as soon as it is started). False: call spawn_reap again when the descriptor is readable,
 * or, with descriptor -1, after a while. */
bool spawn_reap(int process, int pid);

/* Become the parent of all orphans among the processes that this process started, and so of the
 * keepers: process 1 of a container may not reap them. For the hub, not for hosts; before any
 * thread starts. Returns a descriptor that is readable when a child has ended, for
 * spawn_reap_orphans; -1: the system has no such parents, or refused. */
int spawn_adopt_orphans(void);
/* Reap the children that have ended. A descriptor for spawn_reap stays valid: spawn_reap then says
 * that the process is gone. */
void spawn_reap_orphans(int fd);

/* Has the process with this pid ended? For a caller that has lost the descriptor. */
bool spawn_is_gone(int pid);

/* The text by which the program finds fds[3]: a number for `--control`. */
#define SPAWN_NAME_SIZE 24
void spawn_name(const struct spawn *s, char out[SPAWN_NAME_SIZE]);

/* Raise this process's limit of descriptors as far as the system allows. Programs that are started
 * later get the limit of before. Returns the new limit; 0: not known. For programs of killick, not
 * for hosts. Call it before the first start. */
unsigned long spawn_raise_limit(void);

/* Can processes of a tree outlive the keeper of the tree? False: the system ends them with the
 * keeper (a job object). */
bool spawn_keeper_can_leave_processes(void);

int spawn_own_pid(void);
