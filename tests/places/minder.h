/* minder.h - a daemon of a test, and whatever it starts, that cannot outlive the test.
 *
 * Between the two stands a process of our own, the minder: subreaper of the daemon's descendants,
 * at the other end of a socket. minder_end asks the daemon to leave and says how many processes it
 * left behind; when the test dies instead, however that comes, the socket hangs up and the minder
 * kills them all. Nothing of it carries the auditor's tag unless the environment given says so: a
 * place is not what is on trial.
 * Every function fails the test when it cannot do its work. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct minder {
	pid_t pid;    /* of the minder, a child of the test */
	pid_t daemon; /* what it minds */
	int line;
};

struct minder_spec {
	const char *const *argv;
	const char *const *env; /* the whole environment; NULL: PATH alone */
	const char *log;        /* stdout and stderr are appended to this file */
	int netns;              /* a network namespace to be in; 0: ours */
	void (*prepare)(void);  /* in the daemon, before exec; it says what went wrong on stderr */
};

void minder_start(struct minder *m, const struct minder_spec *spec);
/* SIGTERM, and time to leave. How many processes had to be killed: 0 when all is well. */
int minder_end(struct minder *m);

/* The children of a process, by /proc; how many. */
int minder_children(pid_t parent, pid_t *out, int max);
/* Is there such a process, not a zombie? Its name (comm) is put into name[16] unless that is NULL.
 */
bool minder_lives(pid_t pid, char *name);

/* Reap the children that came to us, the test, as a subreaper, until only minders are left. False
 * at the deadline. */
bool minder_reap_others(int timeout_ms);
