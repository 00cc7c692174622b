/* stall.c - things that do not move, and must not stop the end of a tree: a process whose memory
 * map is locked, so that nobody can read its environment; a server that cannot be killed; a hold
 * that gets no CPU. The report says what could not be looked at.
 *
 * Programs that read all of /proc, such as ps, may have to wait for two seconds beside these tests.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../t.h"
#include "held.h"
#include "lost.h"

/* --- a file system that takes no writes --- */

struct fuse {
	int fd;
	char file[100]; /* all that there is in it */
};

union answer {
	struct fuse_init_out init;
	struct fuse_attr_out attr;
	struct fuse_open_out open;
	char page[4096];
};

static void fuse_mount(struct fuse *f)
{
	char options[100];
	int file;

	f->fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(f->file, sizeof(f->file), "%s/hangs", t_audit.dir);
	file = open(f->file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	OK(file >= 0);
	close(file);
	snprintf(options, sizeof(options), "fd=%d,rootmode=100600,user_id=0,group_id=0", f->fd);
	if (f->fd < 0 || !held_own_mounts() ||
	    mount("fuse", f->file, "fuse", MS_NOSUID | MS_NODEV, options) < 0) {
		if (f->fd >= 0)
			close(f->fd);
		SKIP("cannot mount a file system of our own");
	}
}

/* What the kernel asks for before it writes; the length of the answer, 0: none such. */
static size_t fuse_answer(const struct fuse_in_header *in, union answer *out)
{
	const struct fuse_init_in *init = (const void *)(in + 1);

	memset(out, 0, sizeof(*out));
	switch (in->opcode) {
	case FUSE_INIT:
		out->init = (struct fuse_init_out){ .major = FUSE_KERNEL_VERSION,
						    .minor = init->minor,
						    .max_background = 16,
						    .max_write = 4096 };
		return sizeof(out->init);
	case FUSE_GETATTR:
		out->attr.attr_valid = 1000;
		out->attr.attr.ino = 1;
		out->attr.attr.mode = S_IFREG | 0600;
		out->attr.attr.nlink = 1;
		out->attr.attr.size = sizeof(out->page);
		return sizeof(out->attr);
	case FUSE_OPEN:
		return sizeof(out->open);
	case FUSE_READ:
		return sizeof(out->page);
	default:
		return 0;
	}
}

/* Answer until the kernel wants to write. That request stays without an answer. */
static void fuse_serve_until_write(struct fuse *f)
{
	static _Alignas(16) char request[FUSE_MIN_READ_BUFFER + 65536];
	const struct fuse_in_header *in = (const void *)request;

	for (;;) {
		struct {
			struct fuse_out_header head;
			union answer body;
		} out;

		OK(t_wait_fd(f->fd, POLLIN, HELD_MS));
		OK(read(f->fd, request, sizeof(request)) > 0);
		if (in->opcode == FUSE_WRITE)
			return;
		size_t len = fuse_answer(in, &out.body);
		out.head = (struct fuse_out_header){ .len = (uint32_t)(sizeof(out.head) + len),
						     .error = len ? 0 : -ENOSYS,
						     .unique = in->unique };
		OK(write(f->fd, &out, out.head.len) == (ssize_t)out.head.len);
	}
}

/* Processes that wait for the file system get an error from now on. */
static void fuse_end(struct fuse *f)
{
	close(f->fd);
	umount2(f->file, MNT_DETACH);
	unlink(f->file);
}

/* --- a process whose environment nobody can read --- */

struct locked {
	pid_t pid;
	int in, out; /* its stdin, which it ends with, and its stdout */
};

/* Start it as the first process of a pid namespace below ours, with the mark of a tree. */
static void locked_start(struct locked *l, struct fuse *f, const char *tree)
{
	const char *probe = t_program("PROBE", "build/tests/probe");
	int in[2], out[2];

	OK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
	l->pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, NULL, NULL, NULL, NULL);
	OK(l->pid >= 0);
	if (l->pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		setenv("KILLICK_TREE", tree, 1);
		execl(probe, "probe", "lock", f->file, (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	l->in = in[1];
	l->out = out[0];
	fuse_serve_until_write(f);
}

/* Does somebody who reads its environment have to wait? Seen by the state of that process. */
static bool locked_makes_wait(const struct locked *l)
{
	char path[40], text[512] = "", state = 'R';
	pid_t reader = fork();
	int status = -1, fd;

	OK(reader >= 0);
	if (reader == 0) {
		snprintf(path, sizeof(path), "/proc/%d/environ", l->pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		_exit(fd < 0 || read(fd, text, sizeof(text)) < 0);
	}
	snprintf(path, sizeof(path), "/proc/%d/stat", reader);
	for (double end = t_now_ms() + HELD_MS; state != 'D' && state != 'Z' && t_now_ms() < end;) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		OK(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
		close(fd);
		sscanf(strrchr(text, ')'), ") %c", &state);
	}
	kill(reader, SIGKILL);
	status = t_wait_child(reader, HELD_MS);
	return status != -1 && WIFSIGNALED(status);
}

/* A process that reads an environment has to wait until the memory map is free. The look for the
 * mark stops after a second and says so in the report; the record stays for the next janitor. */
TEST(a_locked_memory_map_delays_the_end_for_a_second_and_is_no_proof, .timeout_ms = 60000)
{
	char tree[64], word[8] = "";
	struct locked l;
	struct held h;
	struct fuse f;
	double began;

	if (geteuid() != 0)
		SKIP("a file system and a pid namespace of our own need root");
	lost_dir();
	fuse_mount(&f);
	HELD(&h, "--sweep", "no", "--contain", "keeper", "--", "sh", "-c",
	     "echo $KILLICK_TREE; read x; exit 3");
	OK(held_line(&h, tree, sizeof(tree)));
	locked_start(&l, &f, tree);
	if (!locked_makes_wait(&l)) {
		fuse_end(&f);
		SKIP("this kernel writes back without the lock of the memory map");
	}
	began = t_now_ms();
	held_eof(&h);
	EQ(WEXITSTATUS(held_status(&h)), 3);
	OK(t_now_ms() - began >= 900);
	OK(held_lives(l.pid));
	fuse_end(&f);
	OK(held_reported(&h, "\"proof\":[\"waitid\"]"));
	OK(held_reported(&h, "mark: cannot scan /proc"));
	EQ(held_report_lines(&h), 1);
	EQ(lost_records(), 1);
	held_done(&h);

	/* the map is free again: the janitor finds the process by its mark */
	OK(t_wait_fd(l.out, POLLIN, HELD_MS) && read(l.out, word, 4) == 4);
	STREQ(word, "free");
	EQ(KILLICK("reap"), 0);
	int status = t_wait_child(l.pid, HELD_MS);
	OK(status != -1 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	EQ(lost_records(), 0);
	close(l.in);
	close(l.out);
}

/* A server that SIGKILL cannot end, because its file system does not answer, holds the only end of
 * a full FIFO from which the report could be read. It is reported as well as that is possible, and
 * the client gets its answer. */
TEST(a_survivor_that_does_not_read_the_report_does_not_stop_the_end, .timeout_ms = 60000)
{
	static const char filler[65536];
	char path[160], number[16];
	struct held h;
	struct fuse f;
	int ours, theirs, status;

	if (geteuid() != 0)
		SKIP("a file system of our own needs root");
	fuse_mount(&f);
	snprintf(path, sizeof(path), "%s/unread", t_audit.dir);
	OK(mkfifo(path, 0600) == 0);
	ours = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	theirs = open(path, O_WRONLY); /* blocking; killick inherits it */
	OK(ours >= 0 && theirs >= 0);
	while (write(ours, filler, sizeof(filler)) > 0)
		;
	snprintf(number, sizeof(number), "%d", theirs);
	setenv("FIFO", path, 1);
	setenv("FILE", f.file, 1);
	setenv("P", t_program("PROBE", "build/tests/probe"), 1);
	HELD(&h, "--sweep", "no", "--contain", "keeper", "--grace", "100ms", "--report", number,
	     "--", "sh", "-c", "exec 9<\"$FIFO\"; echo up; exec \"$P\" lock \"$FILE\"");
	held_expect(&h, "up");
	close(ours);
	close(theirs);
	fuse_serve_until_write(&f);
	held_eof(&h);
	status = t_wait_child(h.watch, 20000); /* after 5 s of killing, and 1 s for the report */
	fuse_end(&f);
	OK(status != -1 && WIFEXITED(status));
	EQ(WEXITSTATUS(status), 75);
	OK(audit_wait_empty(&t_audit, HELD_MS, NULL)); /* the hold stayed until it could end it */
	held_reap_all();
	held_done(&h);
}

/* --- a hold without CPU --- */

#define QUOTA_US  1000    /* of CPU time for the cgroup, in each */
#define PERIOD_US 1000000 /* the longest that the kernel allows */

struct starve {
	char dir[100]; /* a cgroup with the cpu controller */
	bool unified;  /* cgroup v2 */
	pid_t debtor;  /* a process in it that has used more CPU time than there is */
};

static bool starve_write(const struct starve *s, const char *file, const char *fmt, int value)
{
	char path[160], text[64];
	int fd, n = snprintf(text, sizeof(text), fmt, value);
	bool ok;

	snprintf(path, sizeof(path), "%s/%s", s->dir, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ok = fd >= 0 && write(fd, text, (size_t)n) == n;
	if (fd >= 0)
		close(fd);
	return ok;
}

static bool starve_begin(const struct starve *s)
{
	if (s->unified)
		return starve_write(s, "cpu.max", "%d 1000000", QUOTA_US);
	return starve_write(s, "cpu.cfs_period_us", "%d", PERIOD_US) &&
	       starve_write(s, "cpu.cfs_quota_us", "%d", QUOTA_US);
}

static bool starve_end(const struct starve *s)
{
	return s->unified ? starve_write(s, "cpu.max", "max", 0)
			  : starve_write(s, "cpu.cfs_quota_us", "%d", -1);
}

/* How often the cgroup has been at its limit. */
static int starve_count(const struct starve *s)
{
	char path[160], text[1024] = "";
	const char *at;
	int fd;

	snprintf(path, sizeof(path), "%s/cpu.stat", s->dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		text[0] = '\0';
	if (fd >= 0)
		close(fd);
	at = strstr(text, "nr_throttled ");
	return at ? atoi(at + strlen("nr_throttled ")) : 0;
}

/* One system call that takes a tenth of a second of CPU time, then sleep: a hundred periods must
 * pass until the kernel gives the cgroup any more, or until somebody lifts the limit. */
static _Noreturn void starve_be_debtor(int go, int say)
{
	static char room[32 << 20];
	char byte;

	for (size_t i = 0; i < sizeof(room); i += 4096)
		room[i] = 1; /* so that the call does not stop for memory */
	(void)!write(say, "r", 1);
	if (read(go, &byte, 1) == 1)
		(void)!syscall(SYS_getrandom, room, sizeof(room), 0);
	while (read(go, &byte, 1) > 0) /* the test ends: so do we */
		;
	_exit(0);
}

/* A cgroup for the hold, without a limit up to now. */
static void starve_make(struct starve *s)
{
	char name[64];

	snprintf(name, sizeof(name), "killick-stall-%d", (int)getpid());
	snprintf(s->dir, sizeof(s->dir), "/sys/fs/cgroup/cpu/%s", name);
	s->unified = mkdir(s->dir, 0755) < 0;
	if (s->unified) {
		snprintf(s->dir, sizeof(s->dir), "/sys/fs/cgroup/%s", name);
		if (mkdir(s->dir, 0755) < 0)
			SKIP("no cgroup here");
	}
	if (!starve_end(s)) {
		rmdir(s->dir);
		SKIP("no cpu controller here");
	}
}

/* A cgroup's processes leave it when they are reaped. */
static bool starve_remove(const struct starve *s)
{
	double end = t_now_ms() + HELD_MS;

	while (rmdir(s->dir) < 0 && t_now_ms() < end)
		poll(NULL, 0, 1);
	return access(s->dir, F_OK) != 0;
}

/* The hold is asked for the end, is runnable and gets no CPU for longer than it has to answer. It
 * is not killed for that: once there is CPU, it ends the tree as always. */
TEST(the_watch_waits_for_a_hold_that_gets_no_cpu, .timeout_ms = 40000)
{
	struct starve s = { .debtor = 0 };
	int go[2], say[2], status;
	cpu_set_t one;
	struct held h;
	bool ready;
	char byte;
	pid_t hold;

	if (geteuid() != 0)
		SKIP("a cgroup of our own needs root");
	starve_make(&s);
	HELD(&h, "--sweep", "no", "--contain", "keeper", "--", "sh", "-c",
	     "echo up; read x; exit 3");
	held_expect(&h, "up");
	hold = held_hold(&h);
	OK(pipe2(go, O_CLOEXEC) == 0 && pipe2(say, O_CLOEXEC) == 0);
	s.debtor = fork();
	if (s.debtor == 0) {
		close(go[1]);
		close(h.in);
		starve_be_debtor(go[0], say[1]);
	}
	close(go[0]);
	OK(t_wait_fd(say[0], POLLIN, HELD_MS) && read(say[0], &byte, 1) == 1);
	close(say[0]);
	close(say[1]);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one); /* a debt is one CPU's: so both on one */

	/* no check may end the test while the limit is there: what is in debt cannot even die */
	ready = sched_setaffinity(s.debtor, sizeof(one), &one) == 0 &&
		sched_setaffinity(hold, sizeof(one), &one) == 0 &&
		starve_write(&s, "cgroup.procs", "%d", s.debtor) &&
		starve_write(&s, "cgroup.procs", "%d", hold) && starve_begin(&s) &&
		write(go[1], "g", 1) == 1;
	for (double end = t_now_ms() + HELD_MS; ready && !starve_count(&s) && t_now_ms() < end;)
		poll(NULL, 0, 1);
	ready = ready && starve_count(&s) > 0;
	held_eof(&h);
	status = t_wait_child(h.watch, 1600); /* more than HOLD_ANSWER_MS, less than five of them */
	starve_end(&s);

	bool early = status != -1;
	if (!early)
		status = held_status(&h);
	close(go[1]);
	OK(t_wait_child(s.debtor, HELD_MS) != -1);
	OK(starve_remove(&s));
	OK(ready);
	OK(!held_reported(&h, "did not answer"));
	EQ(held_report_lines(&h), 1);
	OK(held_reported(&h, "\"why\":\"stdin\",\"step\":\"eof\""));
	EQ(WEXITSTATUS(status), 3);
	held_done(&h);
	if (early)
		SKIP("this kernel gave the hold CPU time");
}
