/* lost.h - trees without keepers, and records that nobody's keeper wrote, for tests of the janitor.
 *
 * Life: lost_dir, then any of the others. Threads: one.  Blocking: with deadlines.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "held.h"

/* Use a runtime directory of this test's own, and make it. */
void lost_dir(void);
/* The path of a name in it. The answer lives until the call after next. */
const char *lost_path(const char *name);
/* How many records there are. */
int lost_records(void);
/* Read the only record. Fails the test when there is another number of them. */
const char *lost_record(void);
/* The directory that the only record names as its cgroup, if there is one. */
bool lost_cgroup(char *out, int size);
/* Append a line to the only record. */
void lost_append(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Write a file of that name with that text into the directory. */
void lost_forge(const char *id, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Kill both keepers so that neither sees the other die. */
void lost_keepers(struct held *h);
/* A tree whose server runs the shell script `daemon` in a session of its own, which writes its pid
 * to a file; then both keepers are killed. Returns the pid. */
pid_t lost_tree(const char *level, const char *daemon);

/* Run `killick VERB REST...`; its exit status. Its stdout and stderr are in `text` if that is not
 * NULL. Fails the test at the deadline. */
int lost_run(char *text, int size, const char *const *words);
#define KILLICK(...) lost_run(NULL, 0, (const char *const[]){ __VA_ARGS__, NULL })
#define KILLICK_SAYS(text, ...)                                                                    \
	lost_run(text, sizeof(text), (const char *const[]){ __VA_ARGS__, NULL })
/* `killick run -- true` again and again, until no record is left: one run has a quarter of a second
 * for the leftovers of others. */
void lost_run_until_clean(void);

/* Take a lease on a file in a process of its own, which never gives it back. Its pid, to be killed
 * and reaped; 0: no lease can be had on it. uid 0: ours. */
pid_t lost_lease(const char *path, uid_t uid);
/* Kill and reap a child. */
void lost_kill(pid_t pid);

/* What the dead keepers left comes to us, who are a subreaper; wait until all of it is gone, and
 * reap it. */
void lost_all_gone(void);
