/* janitor.c - see janitor.h */
#include "janitor.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "container.h"
#include "hunt.h"
#include "lostgroup.h"
#include "proc.h"
#include "tree.h"

#define JANITOR_GRACE_MS 500   /* for the container of a lost tree; a forged record may say more */
#define CHILDREN_MS      250   /* to end the processes that an engine's command left */
#define OWNER_ANSWER_US  10000 /* how long it is good for whether an owner is gone */

/* --- is it lost? --- */

static bool same_boot(const struct record *rec)
{
	static char boot[64]; /* read once, because there may be many records */

	if (!rec->boot[0]) /* the watch died before it wrote this, probably a moment ago */
		return true;
	if (!boot[0] &&
	    proc_read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", boot, sizeof(boot)) < 0)
		return true;
	boot[strcspn(boot, "\n")] = '\0';
	return strcmp(boot, rec->boot) == 0;
}

static bool same_namespace(const struct record *rec)
{
	static unsigned long long pidns, timens;

	if (!pidns) {
		pidns = proc_pid_namespace();
		timens = proc_time_namespace();
	}
	return (!rec->pidns || rec->pidns == pidns) && (!rec->timens || rec->timens == timens);
}

/* Is the process certainly gone? Without a start time any process with that pid may be the one. */
static bool is_gone(const struct who *w)
{
	struct proc_stat st;
	int r;

	if (w->pid <= 0)
		return false;
	if (kill(w->pid, 0) < 0 && errno == ESRCH)
		return true;
	r = proc_stat_get(w->pid, &st);
	if (r < 0) /* it has just ended, or this /proc hides the processes of other users */
		return r == -ESRCH && kill(w->pid, 0) < 0 && errno == ESRCH;
	/* The kernel closes the descriptors of a killed process before the process becomes a
	 * zombie. A library that has seen the hang-up starts the janitor in between. */
	return !proc_is_alive(&st) || (st.exiting && st.threads == 1) ||
	       (w->start && st.start != w->start);
}

/* Is this keeper certainly alive? */
static bool is_known(const struct who *w, bool gone)
{
	return w->pid > 0 && !gone && w->start;
}

/* Is there a process with this keeper's pid, but no start time to tell whether it is the keeper? */
static bool is_doubtful(const struct who *w, bool gone)
{
	return w->pid > 0 && !gone && !w->start;
}

/* The same for an owner: many records that are read one after another have the same one. */
static bool is_owner_gone(const struct who *w)
{
	static struct who last;
	static long long until_us; /* a sweep may wait long between two records */
	static bool gone;

	if (w->pid != last.pid || w->start != last.start || clock_us() > until_us) {
		gone = is_gone(w);
		last = *w;
		until_us = clock_us() + OWNER_ANSWER_US;
	}
	return gone;
}

/* How much longer the keepers have because of a container. */
static long long container_time_ms(const struct record *rec)
{
	struct container c = { .spec = rec->engine[0] ? rec->engine : NULL };

	return container_budget_ms(&c, rec->grace_ms);
}

enum janitor_view janitor_look(const struct record *rec, long long *out_due_ms)
{
	bool watch_gone, hold_gone;
	long long now_ms, since_ms;

	if (!same_boot(rec))
		return JANITOR_LAST_BOOT;
	if (!same_namespace(rec))
		return JANITOR_OTHER;
	watch_gone = is_gone(&rec->watch);
	hold_gone = is_gone(&rec->hold);
	if (watch_gone && hold_gone)
		return JANITOR_LOST; /* if the lock is held, another process took it after them */
	/* a server that runs as root can unlock the record, although its keepers work */
	if (!rec->kept && !is_known(&rec->watch, watch_gone) && !is_known(&rec->hold, hold_gone))
		return JANITOR_LOST;
	if (is_doubtful(&rec->watch, watch_gone) || is_doubtful(&rec->hold, hold_gone))
		return JANITOR_KEPT;
	if (rec->survivors > 0 && !hold_gone)
		return JANITOR_KEPT; /* the hold reported survivors and still tries to kill them */
	now_ms = clock_boot_ms();
	if (watch_gone || hold_gone || is_owner_gone(&rec->owner)) {
		/* count from the later of two times: when the tree was found orphaned, and when its
		 * end began (a watch begins the end later when its hold dies) */
		since_ms = rec->orphaned_ms ? rec->orphaned_ms : now_ms;
		if (since_ms < rec->stopping_ms)
			since_ms = rec->stopping_ms;
		*out_due_ms = since_ms + JANITOR_PATIENCE_MS + container_time_ms(rec);
		return now_ms < *out_due_ms ? JANITOR_ORPHANED : JANITOR_LOST;
	}
	return rec->stopping_ms && now_ms > rec->deadline_ms + JANITOR_SLACK_MS ? JANITOR_LOST
										: JANITOR_KEPT;
}

/* --- which start sweeps --- */

/* The modification time of this file is clock_us at the start of the last sweep. */
#define SWEPT ".swept"

bool janitor_swept_since(int dirfd, long long since_us)
{
	struct stat st;
	long long at_us;

	if (dirfd < 0 || fstatat(dirfd, SWEPT, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	at_us = st.st_mtim.tv_sec * 1000000LL + st.st_mtim.tv_nsec / 1000;
	return at_us > since_us && at_us <= clock_us(); /* a later time is from another boot */
}

static void say_swept(int dirfd)
{
	long long us = clock_us();
	struct timespec at = { us / 1000000, us % 1000000 * 1000 };
	int fd = openat(dirfd, SWEPT,
			O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);

	if (fd < 0)
		return;
	futimens(fd, (struct timespec[]){ at, at });
	close(fd);
}

/* --- the sweep --- */

/* Lost trees are collected and then hunted together. Their locks are held meanwhile. */
#define BATCH_MAX 256

struct sweep {
	struct janitor *j;
	int dirfd;
	long long deadline_us;
	long long gather_until_us; /* then the collected trees are swept, while there is time */
	struct hunt_tree *trees;   /* BATCH_MAX */
	int *fds;                  /* of their records; -1: none */
	int count;
	bool containers; /* a lost tree has a container */
	long long containers_until_us;
};

static void kill_keeper(const struct who *w)
{
	int fd = w->pid > 0 && w->start ? proc_hold(w->pid, w->start) : -1;

	if (fd < 0)
		return;
	proc_signal(fd, SIGKILL);
	close(fd);
}

/* Kill the keepers and the cgroups that the record names. No search is needed for these. */
static void strike_first(struct sweep *s, const struct record *rec)
{
	kill_keeper(&rec->watch);
	kill_keeper(&rec->hold);
	for (int i = 0; i < RECORD_CGROUPS && rec->cgroups[i][0]; i++) {
		int fd = lostgroup_open(rec->cgroups[i], rec->tree);
		if (fd < 0)
			continue;
		s->j->ended += lostgroup_kill(fd, s->deadline_us);
		close(fd);
	}
}

/* Remove the directories of a tree that has no process. False: some stay. */
static bool remove_cgroups(const struct sweep *s, const struct record *rec)
{
	bool gone = true;

	for (int i = 0; i < RECORD_CGROUPS && rec->cgroups[i][0]; i++) {
		int fd = lostgroup_open(rec->cgroups[i], rec->tree);
		int r = fd < 0 ? fd : lostgroup_remove(fd, rec->tree, s->deadline_us);

		if (r < 0 && r != -ENOENT && r != -EINVAL && r != -EACCES)
			gone = false;
	}
	return gone;
}

/* The last step: nothing of the tree is left. */
static void sweep_remove(const struct sweep *s, const struct record *rec)
{
	container_forget(s->dirfd, rec->cidfile);
	record_remove(s->dirfd, rec->tree);
}

/* One tree of the batch after the hunt. */
static void sweep_end(struct sweep *s, int i, bool all)
{
	struct janitor *j = s->j;
	int left = s->trees[i].found - s->trees[i].ended;
	struct record rec;
	bool readable = record_read(s->fds[i], s->trees[i].id, &rec);

	j->ended += s->trees[i].ended;
	j->survivors += left;
	if (left == 0 && !all)
		left = -1;
	/* a record with a lease on it is read when the process with the lease is gone */
	if (left != 0 || s->fds[i] < 0 || (readable && !remove_cgroups(s, &rec)))
		j->unfinished++;
	else if (readable && rec.engine[0])
		record_note(s->dirfd, rec.tree, "swept", "1");
	else
		sweep_remove(s, &rec);
	s->containers |= readable && rec.engine[0];
	if (j->fn)
		j->fn(j->ctx, &rec, left, true);
}

static void sweep_batch(struct sweep *s)
{
	/* reserve a part of the time for the work after the hunt */
	long long hunt_until_us = s->deadline_us - s->j->budget_ms * 1000LL / 8;
	struct hunt h = { .trees = s->trees, .count = s->count, .deadline_us = hunt_until_us };
	struct record rec;
	bool all = true;

	if (s->count > 0 && s->j->fn) {
		hunt_run(&h);
		for (int i = 0; i < s->count; i++) {
			record_read(s->fds[i], s->trees[i].id, &rec);
			s->j->fn(s->j->ctx, &rec, s->trees[i].found, false);
		}
	}
	if (s->count > 0 && !s->j->dry_run) {
		for (int i = 0; i < s->count; i++) {
			record_read(s->fds[i], s->trees[i].id, &rec);
			strike_first(s, &rec);
		}
		h.strike = true;
		all = hunt_run(&h);
		for (int i = 0; i < s->count; i++)
			sweep_end(s, i, all);
	}
	for (int i = 0; i < s->count; i++) {
		if (s->fds[i] >= 0)
			close(s->fds[i]);
	}
	s->count = 0;
	s->gather_until_us = (clock_us() + s->deadline_us) / 2;
}

static void sweep_add(struct sweep *s, const struct record *rec, int fd)
{
	struct hunt_tree *t = &s->trees[s->count];

	memcpy(t->id, rec->tree, sizeof(t->id));
	/* the lock belongs to the open file: it is held as long as this copy is open */
	s->fds[s->count++] = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
	s->j->trees++;
	if (s->count == BATCH_MAX || (fd >= 0 && s->fds[s->count - 1] < 0))
		sweep_batch(s);
}

/* A record of another boot: only the file is left. */
static void sweep_old(struct sweep *s, const struct record *rec)
{
	struct janitor *j = s->j;

	if (rec->engine[0]) { /* the engine may have kept the container */
		s->containers = true;
		return;
	}
	j->trees++;
	if (j->fn)
		j->fn(j->ctx, rec, 0, false);
	if (j->dry_run)
		return;
	record_remove(s->dirfd, rec->tree);
	if (j->fn)
		j->fn(j->ctx, rec, 0, true);
}

/* Did the keepers end the tree during the sweep? */
static bool is_removed(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && st.st_nlink == 0;
}

static int sweep_record(void *ctx, const struct record *rec, int fd)
{
	struct sweep *s = ctx;
	struct janitor *j = s->j;
	long long due_ms = 0;

	if (clock_us() >= s->gather_until_us) {
		sweep_batch(s);
		if (clock_us() >= s->deadline_us) {
			s->containers = true; /* perhaps: containers have a time of their own */
			return 1;
		}
	}
	switch (janitor_look(rec, &due_ms)) {
	case JANITOR_KEPT:
		break;
	case JANITOR_OTHER:
		j->others++;
		break;
	case JANITOR_ORPHANED:
		if (!rec->orphaned_ms && !j->dry_run)
			record_add_orphaned(s->dirfd, rec->tree, clock_boot_ms());
		j->orphaned++;
		if (!j->due_ms || due_ms < j->due_ms)
			j->due_ms = due_ms;
		break;
	case JANITOR_LAST_BOOT:
		if (!rec->kept)
			sweep_old(s, rec);
		break;
	case JANITOR_LOST:
		if (!is_removed(fd))
			sweep_add(s, rec, fd);
		break;
	}
	return 0;
}

/* --- containers --- */

extern char **environ;

/* Only a record that this user wrote may make this user call an engine. */
static bool is_own_file(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() && st.st_nlink == 1;
}

/* While this runs the lock of the record is held: no other janitor asks the engine. A tree that was
 * not swept yet is swept by the next janitor. */
static int sweep_container(void *ctx, const struct record *rec, int fd)
{
	struct sweep *s = ctx;
	struct janitor *j = s->j;
	const struct container_call call = { .grace_ms = rec->grace_ms < JANITOR_GRACE_MS
								 ? rec->grace_ms
								 : JANITOR_GRACE_MS,
					     .envp = environ,
					     .dirfd = s->dirfd,
					     .lost = true,
					     .may_stop = j->is_child };
	struct container c;
	long long due_ms = 0;
	enum janitor_view view = janitor_look(rec, &due_ms);

	if (!rec->engine[0] || rec->kept || (view != JANITOR_LOST && view != JANITOR_LAST_BOOT) ||
	    !is_own_file(fd))
		return 0;
	if (j->forget && strcmp(j->forget, rec->tree) == 0 &&
	    (rec->swept || view == JANITOR_LAST_BOOT)) {
		sweep_remove(s, rec);
		j->forgotten++;
		return 0;
	}
	if (clock_us() >= s->containers_until_us)
		return 1;
	container_init(&c, rec->engine, "");
	container_end(&c, &call);
	if (c.fate != CONTAINER_GONE) {
		j->containers_left++;
		if (j->left_fn)
			j->left_fn(j->ctx, rec, c.fate);
		return c.fate == CONTAINER_LATE && j->is_child;
	}
	j->containers++;
	if (rec->swept || view == JANITOR_LAST_BOOT)
		sweep_remove(s, rec);
	else
		record_note(s->dirfd, rec->tree, "engine", "");
	return 0;
}

/* Processes that the engine's command left must not become children of the watch. */
static void end_children(void)
{
	struct tree t = { .level = LEVEL_KEEPER, .cg = CGROUP_NONE, .place_fd = -1 };

	t.children_fd = -1;
	tree_ready(&t);
	t.mark.entry = NULL;
	tree_kill(&t, CHILDREN_MS);
}

static void sweep_containers(struct sweep *s)
{
	if (s->j->is_child)
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	s->containers_until_us = clock_us() + s->j->containers_ms * 1000LL;
	record_each_in(s->dirfd, sweep_container, s);
	if (s->j->is_child)
		end_children();
}

int janitor_sweep(struct janitor *j)
{
	static struct hunt_tree trees[BATCH_MAX];
	static int fds[BATCH_MAX];
	struct sweep s = { .j = j, .trees = trees, .fds = fds };
	long long now_us = clock_us();
	int r = 0;

	assert(j->budget_ms > 0); /* without a deadline a forged record could hold us for ever */
	s.deadline_us = now_us + j->budget_ms * 1000LL;
	s.gather_until_us = (now_us + s.deadline_us) / 2;
	j->trees = j->ended = j->survivors = j->unfinished = j->orphaned = j->others = 0;
	j->containers = j->containers_left = j->forgotten = 0;
	j->due_ms = 0;
	if (!proc_is_own(NULL))
		return -EXDEV;
	for (const char *const *dir = record_dirs(); *dir && r >= 0; dir++) {
		s.dirfd = record_open_dir(*dir);
		if (s.dirfd < 0) {
			r = proc_want(-s.dirfd);
			continue;
		}
		if (!j->dry_run)
			say_swept(s.dirfd);
		s.containers = false;
		r = record_each_in(s.dirfd, sweep_record, &s);
		sweep_batch(&s);
		if (s.containers && j->containers_ms && !j->dry_run)
			sweep_containers(&s);
		close(s.dirfd);
	}
	return r < 0 ? r : 0;
}
