/* held.h - one `killick run` under a test: start it, talk to it, see how it ends.
 *
 * Life: held_start -> held_ready / held_read ... -> held_status -> held_done (also when a check
 * failed: the harness scrubs). Threads: one.  Blocking: with deadlines.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define HELD_MS                                                                                    \
	8000 /* a deadline for what should take milliseconds; only a broken killick meets it */

struct held {
	pid_t watch;
	int in, out, err; /* our ends; -1: closed */
	char report[128]; /* file of --report */
};

/* Start `killick run --report FILE OPTIONS -- COMMAND`: `words` is options, "--", command, NULL. */
void held_start(struct held *h, const char *const *words);
#define HELD(h_, ...) held_start(h_, (const char *const[]){ __VA_ARGS__, NULL })

/* With stdin and stdout as given (-1: pipes of our own). */
void held_start_with(struct held *h, const char *const *words, int in, int out);

/* Start `SHELL -c SCRIPT`, in which "$K" is killick and "$R" the file for --report. h->watch is the
 * shell, and killick when the script ends with `exec "$K" run ...`. */
void held_start_script(struct held *h, const char *shell, const char *script);

/* From here on this process and its children get `error` from system call `nr`. False: no seccomp
 * filters here. */
bool held_refuse_call(int nr, int error);
/* A mount namespace of our own, as root or through a user namespace. False: not possible here. */
bool held_own_mounts(void);

/* Read a line of its stdout, without the newline; false at EOF or at the deadline. */
bool held_line(struct held *h, char *line, int size);
/* Wait for this line; anything else fails the test. */
void held_expect(struct held *h, const char *line);
/* Close its stdin. */
void held_eof(struct held *h);
/* Wait for its end: the wait status. Fails the test at the deadline. */
int held_status(struct held *h);
/* Does the report, once ended, hold this text? */
bool held_reported(struct held *h, const char *text);
int held_report_lines(struct held *h);
/* Its stderr up to now, to the end. */
void held_errors(struct held *h, char *text, int size);
void held_done(struct held *h);

/* The hold of a watch: its only child. Waits for it. */
pid_t held_hold(const struct held *h);
/* The parent of a process, 0: none. */
pid_t held_parent(pid_t pid);
/* Is there such a process, not a zombie? */
bool held_lives(pid_t pid);
/* Wait until a process is stopped. Fails the test at the deadline. */
void held_await_stopped(pid_t pid);
/* Reap all children, orphans that came to us included, until there is none or the deadline. */
void held_reap_all(void);
/* Wait for the end of a process that is not our child. */
bool held_wait_gone(pid_t pid);
/* Read a number from a file, waiting for it to appear. */
pid_t held_pid_from(const char *path);
