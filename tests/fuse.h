/* fuse.h - a file system of a test that does not answer (FUSE, spoken by the test itself).
 *
 * fuse_mount mounts it in a mount namespace of this test, which the programs of the test share.
 * Needs root; the test is skipped elsewhere. Requests of the kernel wait until fuse_end: with
 * `begun` a process that waits cannot even be killed, once fuse_await has taken its request.
 *
 * Life: fuse_mount -> fuse_await ... -> fuse_end. Threads: one.
 */
#pragma once

#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "t.h"

#define FUSE_MS (8000 * T_PATIENCE)

struct fuse {
	int fd;
	char dir[100];
};

union fuse_request {
	struct {
		struct fuse_in_header head;
		struct fuse_init_in init;
	};
	char room[FUSE_MIN_READ_BUFFER + 4096];
};

/* The kernel asks for the beginning first; without an answer nothing else is asked. */
static inline void fuse_greet(const struct fuse *f)
{
	union fuse_request in;
	struct {
		struct fuse_out_header head;
		struct fuse_init_out init;
	} out = { .head.len = sizeof(out) };

	OK(t_wait_fd(f->fd, POLLIN, FUSE_MS));
	OK(read(f->fd, &in, sizeof(in)) > 0);
	EQ(in.head.opcode, FUSE_INIT);
	out.head.unique = in.head.unique;
	out.init = (struct fuse_init_out){ .major = FUSE_KERNEL_VERSION,
					   .minor = in.init.minor,
					   .flags = in.init.flags & FUSE_PARALLEL_DIROPS,
					   .max_background = 1024,
					   .max_write = 4096 };
	EQ(write(f->fd, &out, sizeof(out)), (ssize_t)sizeof(out));
}

static inline void fuse_mount(struct fuse *f, bool begun)
{
	char options[100];

	f->fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(f->dir, sizeof(f->dir), "%s/hangs", t_audit.dir);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", f->fd);
	if (f->fd < 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || mkdir(f->dir, 0700) < 0 ||
	    mount("fuse", f->dir, "fuse", MS_NOSUID | MS_NODEV, options) < 0) {
		close(f->fd);
		rmdir(f->dir);
		SKIP("cannot mount a file system of our own");
	}
	if (begun)
		fuse_greet(f);
}

/* One more request hangs. */
static inline void fuse_await(const struct fuse *f)
{
	union fuse_request in;

	OK(t_wait_fd(f->fd, POLLIN, FUSE_MS));
	OK(read(f->fd, &in, sizeof(in)) > 0);
}

/* Answer one request as a file system with regular files of any name does. */
static inline void fuse_answer(const struct fuse *f)
{
	const struct fuse_attr file = { .ino = 2, .mode = S_IFREG | 0600, .nlink = 1 };
	union fuse_request in;
	struct {
		struct fuse_out_header head;
		union {
			struct fuse_entry_out entry;
			struct fuse_attr_out attr;
			struct fuse_open_out open;
			struct fuse_statfs_out statfs;
		};
	} out;

	memset(&out, 0, sizeof(out));
	out.head.len = sizeof(out.head);
	if (read(f->fd, &in, sizeof(in)) <= 0)
		return;
	out.head.unique = in.head.unique;
	if (in.head.opcode == FUSE_LOOKUP) {
		out.head.len += sizeof(out.entry);
		out.entry = (struct fuse_entry_out){ .nodeid = 2, .attr = file };
	} else if (in.head.opcode == FUSE_GETATTR) {
		out.head.len += sizeof(out.attr);
		out.attr.attr = file;
		if (in.head.nodeid == FUSE_ROOT_ID)
			out.attr.attr = (struct fuse_attr){ .ino = 1, .mode = S_IFDIR | 0700 };
	} else if (in.head.opcode == FUSE_OPEN) {
		out.head.len += sizeof(out.open);
	} else if (in.head.opcode == FUSE_STATFS) {
		out.head.len += sizeof(out.statfs);
	} else {
		out.head.error = -38; /* ENOSYS */
	}
	(void)!write(f->fd, &out, out.head.len);
}

/* A process that answers all requests, until fuse_unserve. */
static inline pid_t fuse_serve(const struct fuse *f)
{
	pid_t pid = fork();

	OK(pid >= 0);
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (; pid == 0;)
		fuse_answer(f);
	return pid;
}

static inline void fuse_unserve(pid_t pid)
{
	kill(pid, SIGKILL);
	OK(t_wait_child(pid, FUSE_MS) >= 0);
}

/* Open a regular file there while fuse_serve answers, and close it before fuse_unserve: the close
 * of a file waits for an answer, also during exec, and then every reader of /proc waits, too. */
static inline int fuse_open(const struct fuse *f, const char *name, int flags)
{
	char path[160];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	fd = open(path, flags | O_CLOEXEC);
	OK(fd >= 0);
	return fd;
}

/* All that hang get an error. */
static inline void fuse_end(struct fuse *f)
{
	close(f->fd);
	umount2(f->dir, MNT_DETACH);
	rmdir(f->dir);
}
