/* proc.h - reads what /proc says about a process.
 *
 * Reads a file of /proc into the caller's memory, never allocates. A pid may be reused by the time
 * the result is used: a caller that acts on the process must hold a pidfd, or be the parent that
 * has not reaped it yet. Threads: any.  Blocking: open never waits: a file on which another process
 * of its user holds a lease (F_SETLEASE works on procfs and cgroupfs) is not opened, and the error
 * is -EWOULDBLOCK. Reading an environment may block on the memory of that process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_stat {
	pid_t pid, ppid, pgrp, session;
	char state;    /* as in ps: R S D Z T ... */
	bool exiting;  /* the kernel ends it: it runs no code of its own any more */
	char comm[64]; /* raw, not unescaped */
	unsigned long long
		start; /* field 22, clock ticks since boot: pid and start identify a process */
	unsigned long long cpu_ticks; /* utime + stime, fields 14 and 15 */
	unsigned long rss_pages;      /* field 24 */
	long threads;                 /* field 20 */
};

/* Parse the text of /proc/PID/stat. comm may hold spaces, parentheses and newlines. -EINVAL if it
 * is no such text. */
int proc_stat_parse(const char *text, struct proc_stat *out);

/* Read and parse /proc/PID/stat; pid 0 means this process. -ESRCH when there is no such process. */
int proc_stat_get(pid_t pid, struct proc_stat *out);

/* Not dead and not a zombie. A process whose main thread has exited is alive as long as another
 * thread runs. */
bool proc_is_alive(const struct proc_stat *st);

/* Does /proc belong to the pid namespace of this process? If not (a chroot, a bind mount), its pids
 * must not be used here. *out_heeded, unless NULL, gets the signals that this process does not
 * ignore (bit 0 is signal 1) if the answer is yes, and stays as it is when they are not known. */
bool proc_is_own(uint64_t *out_heeded);

/* The number of this process's pid namespace, unique while the namespace exists; 0 when /proc does
 * not tell. */
unsigned long long proc_pid_namespace(void);
/* The same for the time namespace, by which start times and CLOCK_BOOTTIME are shifted. */
unsigned long long proc_time_namespace(void);

/* Open a handle (CLOEXEC) of the process `pid`: a pidfd, or, before Linux 5.3, its directory in
 * /proc, which a later process with the same pid does not get. -ESRCH when there is no such
 * process, or another -errno. */
int proc_open(pid_t pid);
/* The same for the process `pid` that started at `start`. */
int proc_hold(pid_t pid, unsigned long long start);

/* Send a signal to the process of a handle. 0 or -errno. Without pidfds the kernel is asked for the
 * process of the handle immediately before the signal is sent. */
int proc_signal(int handle, int sig);

/* Does the process of a handle still exist, at least as a zombie that has not been reaped? Then its
 * pid was not reused since the handle was opened. */
bool proc_is_held(int handle);

/* Wait up to timeout_ms until the process of a handle has ended. Without pidfds by polling. */
bool proc_await_end(int handle, int timeout_ms);

/* Does the environment of `pid`, as it was at its exec, have exactly `entry` ("NAME=VALUE")? 1 or
 * 0; 0 also when there is no such process or this user may not read its environment. -EMFILE,
 * -ENFILE, -ENOMEM: the environment could not be opened. */
int proc_has_env(pid_t pid, const char *entry);

/* Call fn with the value of each variable `name` in that environment, until fn returns true. 1: fn
 * returned true; else as proc_has_env, and -ENODATA: the environment is empty, as in the middle of
 * an exec. Entries longer than 4 KiB are skipped. */
typedef bool (*proc_env_fn)(void *ctx, const char *value);
int proc_find_env(pid_t pid, const char *name, proc_env_fn fn, void *ctx);

/* -error when an open failed because this process lacks descriptors or memory (EMFILE, ENFILE,
 * ENOMEM), 0 when it failed because of the file. */
int proc_want(int error);

/* Read a whole small file into buf as text. Returns its length (at most size - 1, the rest is cut)
 * or -errno. */
ssize_t proc_read_file(int dirfd, const char *path, char *buf, size_t size);

/* The same for a file that is open already, from its beginning. */
ssize_t proc_read_again(int fd, char *buf, size_t size);

/* Write text to an existing file, in one write(2), as files of the kernel require. -errno on
 * failure. */
int proc_write_file(int dirfd, const char *path, const char *text);
