/* hunt.c - see hunt.h */
#include "hunt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"
#include "dir.h"
#include "proc.h"

/* One round can miss a process that forks and exits without pause. So the hunt ends only after this
 * many rounds in a row without a new member; at least one of these rounds looked at every process.
 */
#define QUIET_ROUNDS 16
#define END_WAIT_MS  2000 /* wait for killed processes to be gone */

/* All state is static: untouched pages cost no memory, and the keeper may not allocate. */
#define HELD_MAX 4096
static struct held_process {
	pid_t pid;
	int fd; /* pidfd */
	int tree;
} held[HELD_MAX];
static int held_count;

/* Bits by pid. `known`: not a member when it was examined, cleared every QUIET_ROUNDS; `holding`:
 * an entry of held has this pid. */
#define PID_LIMIT 4194304
static unsigned char known[PID_LIMIT / 8], holding[PID_LIMIT / 8];

static bool hunt_bit(const unsigned char *bits, pid_t pid)
{
	return pid > 0 && pid < PID_LIMIT && (bits[pid / 8] >> (pid % 8) & 1);
}

static void hunt_set_bit(unsigned char *bits, pid_t pid, bool on)
{
	unsigned char mask = (unsigned char)(1 << (pid % 8));

	if (pid > 0 && pid < PID_LIMIT)
		bits[pid / 8] = (unsigned char)(on ? bits[pid / 8] | mask : bits[pid / 8] & ~mask);
}

/* The tree of the held process that has this pid now, or -1. */
static int held_tree(pid_t pid)
{
	if (!hunt_bit(holding, pid))
		return -1;
	for (int i = 0; i < held_count; i++) {
		if (held[i].pid == pid && proc_is_held(held[i].fd))
			return held[i].tree;
	}
	return -1;
}

/* --- which process belongs to which tree --- */

struct hunt_match {
	const struct hunt *h;
	int tree;
};

/* Compare this number of digits with the ids of the trees; `id` may have more characters. */
static bool hunt_is_id(struct hunt_match *m, const char *id, size_t digits)
{
	for (int i = 0; i < m->h->count; i++) {
		if (memcmp(id, m->h->trees[i].id, digits) == 0) {
			m->tree = i;
			return true;
		}
	}
	return false;
}

static bool hunt_is_mark(void *ctx, const char *value)
{
	return strlen(value) == TREE_ID_LEN && hunt_is_id(ctx, value, TREE_ID_LEN);
}

/* The janitor of a watch has digits of the id as its name until the kernel kills it with its watch
 * (watch_sweep). */
static bool hunt_is_name(struct hunt_match *m, const char *comm)
{
	return strlen(comm) == TREE_NAME_LEN && hunt_is_id(m, comm, TREE_NAME_LEN);
}

/* /proc/PID/cgroup names the cgroup of a process in every hierarchy: is one of these below a
 * directory that a keeper made for one of the trees? */
static bool hunt_is_in_cgroup(struct hunt_match *m, pid_t pid)
{
	static const char ours[] = "/killick-";
	char path[40], text[8192];

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	if (proc_read_file(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return false;
	for (const char *p = text; (p = strstr(p, ours)) != NULL;) {
		p += strlen(ours);
		if (strnlen(p, TREE_ID_LEN) == TREE_ID_LEN &&
		    (p[TREE_ID_LEN] == '/' || p[TREE_ID_LEN] == '\n') &&
		    hunt_is_id(m, p, TREE_ID_LEN))
			return true;
	}
	return false;
}

/* The tree of the process of pidfd fd, which had this pid when fd was opened. -ESRCH: no tree;
 * -EAGAIN: its environment is empty at the moment; -EMFILE and similar: could not be examined. */
static int hunt_tree_of(const struct hunt *h, pid_t pid, int fd)
{
	const pid_t kthreadd = 2; /* its children are kernel threads, without environments */
	struct hunt_match m = { .h = h, .tree = -ESRCH };
	struct proc_stat st;
	int r;

	if (proc_stat_get(pid, &st) < 0 || !proc_is_alive(&st))
		return -ESRCH;
	r = held_tree(st.ppid); /* the parent is held, so its pid was not reused */
	if (r >= 0) {
		m.tree = r;
	} else if (!hunt_is_name(&m, st.comm) && !hunt_is_in_cgroup(&m, pid)) {
		r = proc_find_env(pid, TREE_ENV, hunt_is_mark, &m);
		if (r == -ENODATA && st.ppid != kthreadd)
			m.tree = -EAGAIN;
		else if (r < 0 && r != -ENODATA)
			return r;
	}
	return proc_is_held(fd) ? m.tree : -ESRCH;
}

/* --- rounds --- */

struct hunt_round {
	struct hunt *h;
	pid_t self;
	int found;
	bool blind; /* a process could not be examined */
	bool full;  /* no room for one more pidfd */
};

static void hunt_hold(struct hunt_round *r, pid_t pid, int fd, int tree)
{
	held[held_count++] = (struct held_process){ pid, fd, tree };
	hunt_set_bit(holding, pid, true);
	if (r->h->strike)
		proc_signal(fd, SIGSTOP);
	r->found++;
	r->h->trees[tree].found++;
	if (r->h->fn)
		r->h->fn(r->h->ctx, tree, pid);
}

/* Note that a process could not be examined: the result is then incomplete, unless the process has
 * just ended. */
static void hunt_failed(struct hunt_round *r, int error)
{
	if (error == EMFILE || error == ENFILE)
		r->full = held_count > 0;
	r->blind = r->blind || (error != ESRCH && !r->full);
}

static int hunt_one(void *ctx, int dirfd, const char *name)
{
	struct hunt_round *r = ctx;
	pid_t pid = (pid_t)atoi(name);
	int fd, tree;

	(void)dirfd;
	if (r->full || clock_us() >= r->h->deadline_us)
		return 1;
	if (pid <= 1 || pid == r->self || hunt_bit(known, pid) || held_tree(pid) >= 0)
		return 0;
	if (held_count == HELD_MAX) {
		r->full = true;
		return 1;
	}
	fd = proc_open(pid);
	if (fd < 0) {
		hunt_failed(r, -fd);
		return 0;
	}
	tree = hunt_tree_of(r->h, pid, fd);
	if (tree >= 0) {
		hunt_hold(r, pid, fd, tree);
		return 0;
	}
	if (tree == -ESRCH)
		hunt_set_bit(known, pid, true);
	else if (tree != -EAGAIN)
		hunt_failed(r, -tree);
	close(fd);
	return 0;
}

static void hunt_release(int i)
{
	close(held[i].fd);
	held[i] = held[--held_count];
}

/* SIGKILL all held processes and release those that have ended; the others stay held. */
static void hunt_kill_all(struct hunt *h)
{
	long long until_us = clock_us() + END_WAIT_MS * 1000LL;

	if (until_us > h->deadline_us)
		until_us = h->deadline_us;
	for (int i = 0; i < held_count; i++)
		proc_signal(held[i].fd, SIGKILL);
	for (int i = held_count - 1; i >= 0; i--) {
		long long left_us = until_us - clock_us();

		if (!proc_await_end(held[i].fd, left_us > 0 ? (int)(left_us / 1000) + 1 : 0))
			continue;
		h->trees[held[i].tree].ended++;
		hunt_release(i);
	}
	memset(holding, 0, sizeof(holding));
	for (int i = 0; i < held_count; i++)
		hunt_set_bit(holding, held[i].pid, true);
}

static void hunt_raise_limit(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) == 0 && lim.rlim_cur < 2 * HELD_MAX) {
		lim.rlim_cur = lim.rlim_max < 2 * HELD_MAX ? lim.rlim_max : 2 * HELD_MAX;
		setrlimit(RLIMIT_NOFILE, &lim);
	}
}

/* Rounds until no new member is found. Most rounds examine only pids that are new since the last
 * round, so a round costs little more than one read of /proc. */
static bool hunt_rounds(struct hunt *h, int proc)
{
	const int enough = h->strike ? QUIET_ROUNDS : 1;
	struct hunt_round r = { .h = h, .self = getpid() };
	int quiet = 0, struck = 0;

	for (int round = 0; clock_us() < h->deadline_us; round++) {
		if (round % enough == 0) {
			memset(known, 0, sizeof(known));
			r.blind = false;
		}
		r.found = 0;
		r.full = false;
		if (dir_each(proc, hunt_one, &r) < 0)
			r.blind = true;
		quiet = r.found || r.full ? 0 : quiet + 1;
		if (r.full && !h->strike)
			return false;
		if (quiet < enough && !r.full)
			continue;
		if (held_count == struck || !h->strike) /* all held processes survived SIGKILL */
			return !r.blind && quiet >= enough && clock_us() < h->deadline_us;
		hunt_kill_all(h);
		struck = held_count;
		quiet = 0;
	}
	return false;
}

bool hunt_run(struct hunt *h)
{
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
	bool all;

	for (int i = 0; i < h->count; i++)
		h->trees[i].found = h->trees[i].ended = 0;
	if (proc < 0)
		return false;
	hunt_raise_limit();
	held_count = 0;
	memset(holding, 0, sizeof(holding));
	all = hunt_rounds(h, proc);
	if (!all && h->strike)
		hunt_kill_all(h);
	while (held_count > 0)
		hunt_release(held_count - 1);
	close(proc);
	return all;
}
