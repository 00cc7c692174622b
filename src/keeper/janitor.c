/* janitor.c - see janitor.h */
#include "janitor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cgroup.h"
#include "clock.h"
#include "dir.h"
#include "proc.h"

/* One picture of all processes. Static: untouched pages cost nothing, and the watch may not
 * allocate. */
#define TABLE_MAX 32768
struct entry {
	pid_t pid, ppid;
	bool member;
};
static struct entry table[TABLE_MAX];
static int table_len;

static int table_add(void *ctx, int dirfd, const char *name)
{
	struct proc_stat st;
	pid_t pid = (pid_t)atoi(name);

	(void)ctx;
	(void)dirfd;
	if (pid > 0 && table_len < TABLE_MAX && proc_stat_get(pid, &st) == 0 && st.state != 'X' &&
	    (st.state != 'Z' || st.threads > 1)) /* a dead main thread is not a dead process */
		table[table_len++] = (struct entry){ st.pid, st.ppid, false };
	return 0;
}

static void table_read(void)
{
	int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	table_len = 0;
	if (fd < 0)
		return;
	dir_each(fd, table_add, NULL);
	close(fd);
}

static void mark_pid(pid_t pid)
{
	for (int i = 0; i < table_len; i++) {
		if (table[i].pid == pid)
			table[i].member = true;
	}
}

static const struct entry *table_find(pid_t pid)
{
	for (int i = 0; i < table_len; i++) {
		if (table[i].pid == pid)
			return &table[i];
	}
	return NULL;
}

static void mark_cgroup(int fd, int depth);

static int mark_cgroup_entry(void *ctx, int dirfd, const char *name)
{
	int depth = *(int *)ctx,
	    fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return 0;
	mark_cgroup(fd, depth + 1);
	close(fd);
	return 0;
}

/* Members of the cgroup and of those below it. */
static void mark_cgroup(int fd, int depth)
{
	const struct cgroup cg = { .fd = fd };
	static pid_t pids[4096];
	int n = cgroup_members(&cg, pids, (int)(sizeof(pids) / sizeof(pids[0])));

	for (int i = 0; i < n; i++)
		mark_pid(pids[i]);
	if (depth < 16)
		dir_each(fd, mark_cgroup_entry, &depth);
}

/* Open directory number i of the record, if it is one that we would have made for this tree: a
 * record is a file, and files can be forged. -1: there is none. */
static int open_cgroup(const struct record *rec, int i)
{
	char name[16 + TREE_ID_LEN];
	const char *slash = strrchr(rec->cgroups[i], '/');

	snprintf(name, sizeof(name), "killick-%s", rec->tree);
	if (!slash || strcmp(slash + 1, name) != 0)
		return -1;
	return open(rec->cgroups[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Mark what belongs to the tree of a record that nobody keeps. */
static void mark_lost(const struct record *rec)
{
	char tag[sizeof(TREE_ENV) + 1 + TREE_ID_LEN];

	for (int i = 0; i < RECORD_CGROUPS; i++) {
		int fd = open_cgroup(rec, i);
		if (fd < 0)
			continue;
		mark_cgroup(fd, 0);
		close(fd);
	}
	snprintf(tag, sizeof(tag), "%s=%s", TREE_ENV, rec->tree);
	for (int i = 0; i < table_len; i++) {
		if (proc_has_env(table[i].pid, tag))
			table[i].member = true;
	}
}

/* Whoever descends from a member is one. */
static int mark_descendants(void)
{
	int members = 0;

	for (bool more = true; more;) {
		more = false;
		members = 0;
		for (int i = 0; i < table_len; i++) {
			const struct entry *parent =
				table[i].member ? NULL : table_find(table[i].ppid);
			if (parent && parent->member)
				table[i].member = more = true;
			members += table[i].member;
		}
	}
	return members;
}

static bool same_boot(const struct record *rec)
{
	char boot[64];

	if (!rec->boot[0] || /* its watch died before it could say: just now, most likely */
	    proc_read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", boot, sizeof(boot)) < 0)
		return true;
	boot[strcspn(boot, "\n")] = '\0';
	return strcmp(boot, rec->boot) == 0;
}

static int find_members(const struct record *rec)
{
	int members;

	table_len = 0;
	if (!same_boot(rec))
		return 0;
	table_read();
	if (!rec->kept) {
		mark_lost(rec);
		return mark_descendants();
	}
	/* kept: the tree is what hangs below the keepers; they themselves are not the tree */
	mark_pid(rec->hold ? rec->hold : rec->watch);
	members = mark_descendants();
	for (int i = 0; i < table_len; i++) {
		if (table[i].member && (table[i].pid == rec->hold || table[i].pid == rec->watch)) {
			table[i].member = false;
			members--;
		}
	}
	return members;
}

int janitor_members(const struct record *rec, pid_t *pids, int max)
{
	int n = find_members(rec), stored = 0;

	for (int i = 0; i < table_len && stored < max; i++) {
		if (table[i].member)
			pids[stored++] = table[i].pid;
	}
	return n;
}

/* --- the hunt: a lost tree may fork faster than a picture of all processes is made --- */

/* Bits by pid. `known`: looked at and no member; `struck`: killed by us. Static and sparse, as the
 * table is. */
#define PID_MAX 4194304
static unsigned char known[PID_MAX / 8], struck[PID_MAX / 8];

static bool bit(const unsigned char *bits, pid_t pid)
{
	return pid > 0 && pid < PID_MAX && (bits[pid / 8] >> (pid % 8) & 1);
}

static void set_bit(unsigned char *bits, pid_t pid)
{
	if (pid > 0 && pid < PID_MAX)
		bits[pid / 8] |= (unsigned char)(1 << (pid % 8));
}

struct hunt {
	char tag[sizeof(TREE_ENV) + 1 + TREE_ID_LEN];
	int found; /* in this round */
	int total;
};

/* Alive, and of this tree? */
static bool hunted(const struct hunt *h, const struct proc_stat *st)
{
	if (st->state == 'X' || (st->state == 'Z' && st->threads <= 1))
		return false;
	return bit(struck, st->ppid) || bit(struck, st->pid) || proc_has_env(st->pid, h->tag);
}

/* Hold on to the process first, then ask who it is: the answer is about the one that is struck. */
static int hunt_one(void *ctx, int dirfd, const char *name)
{
	struct hunt *h = ctx;
	pid_t pid = (pid_t)atoi(name);
	struct proc_stat st;
	int fd;

	(void)dirfd;
	if (pid <= 1 || pid == getpid() || bit(known, pid))
		return 0;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return 0;
	if (proc_stat_get(pid, &st) < 0 || !hunted(h, &st)) {
		set_bit(known, pid);
	} else {
		h->found++;
		if (syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0 &&
		    !bit(struck, pid)) {
			set_bit(struck, pid);
			h->total++;
		}
	}
	close(fd);
	return 0;
}

/* Strike members where they are found, round after round. Most rounds look only at pids that are
 * new since the last, so a round is one read of /proc. A process that forks and exits for ever may
 * be missed by one read: nobody is left when QUIET_ROUNDS in a row, one of which looked at
 * everybody, found none. */
#define QUIET_ROUNDS 16

static int hunt(const struct record *rec, long long deadline_us)
{
	struct hunt h = { .found = 0 };
	int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	snprintf(h.tag, sizeof(h.tag), "%s=%s", TREE_ENV, rec->tree);
	memset(struck, 0, sizeof(struck));
	for (int round = 0, quiet = 0; quiet < QUIET_ROUNDS && clock_us() < deadline_us; round++) {
		if (round % QUIET_ROUNDS == 0) {
			memset(known, 0, sizeof(known));
		}
		h.found = 0;
		dir_each(fd, hunt_one, &h);
		quiet = h.found ? 0 : quiet + 1;
	}
	close(fd);
	return h.total;
}

/* End what is in a cgroup of the tree, as cgroup.kill can, before anything is looked for. Returns
 * how many there were. */
static int empty_cgroup(struct cgroup *cg, long long deadline_us)
{
	pid_t pids[1024];
	int n = cgroup_members(cg, pids, (int)(sizeof(pids) / sizeof(pids[0])));

	/* a member whose main thread is dead does not hear it and would keep us here: the hunt will
	 * find that one */
	for (int i = 0; i < 50 && cgroup_look(cg) == CGROUP_POPULATED && clock_us() < deadline_us; i++) {
		cgroup_kill(cg);
		poll(NULL, 0,
		     1); /* they are not our children: nothing tells us, so look again soon */
	}
	return n;
}

/* End one lost tree. Returns the number that is left at the deadline. */
static int sweep_one(const struct record *rec, long long deadline_us, int *ended)
{
	struct cgroup cgs[RECORD_CGROUPS];
	int left;

	for (int i = 0; i < RECORD_CGROUPS; i++) {
		cgs[i] = (struct cgroup)CGROUP_NONE;
		int fd = open_cgroup(rec, i);
		if (fd >= 0 && cgroup_open(&cgs[i], fd) < 0)
			close(fd);
		memcpy(cgs[i].path, rec->cgroups[i], sizeof(cgs[i].path));
		*ended += empty_cgroup(&cgs[i], deadline_us);
	}
	*ended += hunt(rec, deadline_us);
	left = find_members(rec);
	for (int i = 0; i < RECORD_CGROUPS; i++) {
		if (left == 0)
			cgroup_remove(&cgs[i]);
		else if (cgs[i].fd >= 0)
			close(cgs[i].fd);
	}
	return left;
}

struct sweep {
	struct janitor *j;
	long long deadline_us;
};

static int sweep_record(void *ctx, const struct record *rec, int dirfd)
{
	struct sweep *s = ctx;
	struct janitor *j = s->j;
	int left;

	j->trees++;
	if (j->fn)
		j->fn(j->ctx, rec, find_members(rec), false);
	if (j->dry_run)
		return 0;
	left = same_boot(rec) ? sweep_one(rec, s->deadline_us, &j->ended) : 0;
	j->survivors += left;
	if (left == 0)
		record_remove(dirfd, rec->tree);
	if (j->fn)
		j->fn(j->ctx, rec, left, true);
	return 0;
}

int janitor_sweep(struct janitor *j)
{
	struct sweep s = { .j = j, .deadline_us = clock_us() + j->budget_ms * 1000LL };

	j->trees = j->ended = j->survivors = 0;
	return record_each(RECORD_FREE, sweep_record, &s);
}
