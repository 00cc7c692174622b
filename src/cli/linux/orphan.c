/* orphan.c - see orphan.h */
#include "orphan.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "keeper/linux/clock.h"
#include "mcp_look.h"

enum { FAMILY_MAX = 4096, TERM_MS = 2000, KILL_MS = 3000, ROUND_MS = 50 };

bool orphan_is_collector(const char *comm)
{
	static const char *const names[] = {
		"systemd",     "init",      "tini",     "tini-static",   "dumb-init", "catatonit",
		"docker-init", "s6-svscan", "runsvdir", "runit",         "conmon",    "launchd",
		"openrc-init", "upstart",   "sinit",    "SessionLeader",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(comm, names[i]) == 0)
			return true;
	/* containerd-shim-runc-v2, and Relay(123) of WSL */
	return strncmp(comm, "containerd-shim", 15) == 0 || strncmp(comm, "Relay(", 6) == 0;
}

/* Write "foo.service" when the process is part of a unit other than the user manager itself. */
static void find_unit(pid_t pid, char *out, size_t size)
{
	char path[64], text[2048], *line, *slash, *end;

	*out = '\0';
	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	if (proc_read_file(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return;
	line = strstr(text, "0::");
	if (!line || (line != text && line[-1] != '\n'))
		return;
	end = strchrnul(line, '\n');
	*end = '\0';
	slash = strrchr(line, '/');
	if (slash && strlen(slash) > 9 && strcmp(slash + strlen(slash) - 8, ".service") == 0 &&
	    strncmp(slash, "/user@", 6) != 0)
		text_clean(slash + 1, strlen(slash + 1), out, size);
}

static bool is_orphan(const struct trees *ts, const struct proc *p, struct orphan *out)
{
	const struct proc *parent = procs_find(&ts->procs, p->st.ppid);

	if (p->uid != geteuid() || p->st.pid == 1 || p->st.state == 'Z' || !parent ||
	    p->args_len == 0)
		return false;
	*out = (struct orphan){ .proc = p, .parent = parent };
	if (!orphan_is_collector(parent->st.comm)) {
		if (parent->st.pid != 1)
			return false;
		out->unsure = true;
	}
	return mcp_look(p->args, p->args_len) && !trees_have(ts, p->st.pid);
}

static void count_family(const struct procs *ps, struct orphan *o)
{
	AUTO(mem_drop) pid_t *pids = mem_grow(NULL, FAMILY_MAX, sizeof(*pids));

	o->family = procs_family(ps, o->proc->st.pid, pids, FAMILY_MAX);
	for (size_t i = 0; i < o->family; i++) {
		const struct proc *p = procs_find(ps, pids[i]);

		o->rss += proc_rss(p);
		o->cpu_ms += proc_cpu_ms(p);
	}
}

size_t orphans_find(const struct trees *ts, struct orphan **out_list)
{
	struct orphan *list = NULL, o;
	size_t count = 0;

	for (size_t i = 0; i < ts->procs.count; i++) {
		if (!is_orphan(ts, &ts->procs.list[i], &o))
			continue;
		count_family(&ts->procs, &o);
		find_unit(o.proc->st.pid, o.unit, sizeof(o.unit));
		list = mem_grow(list, count + 1, sizeof(*list));
		list[count++] = o;
	}
	*out_list = list;
	return count;
}

/* Open a pidfd of exactly the process in the snapshot. Returns -1 when the process is gone. */
static int open_same(const struct proc *p)
{
	AUTO(fd_drop) int fd = proc_open(p->st.pid);
	struct proc_stat now;

	if (fd < 0 || proc_stat_get(p->st.pid, &now) < 0 || now.start != p->st.start)
		return -1;
	return TAKE_FD(fd);
}

/* The processes that are being ended, each identified by pid and start time. */
struct orphan_hunt {
	struct prey {
		pid_t pid;
		unsigned long long start;
		bool leads_session, leads_group;
		int fd; /* -1: ended */
	} * list;
	size_t count;
	int denied; /* errno of the last refused signal */
};

static void orphan_hunt_done(struct orphan_hunt *h)
{
	for (size_t i = 0; i < h->count; i++)
		fd_drop(&h->list[i].fd);
	free(h->list);
	h->list = NULL;
	h->count = 0;
}

static bool orphan_hunt_add(struct orphan_hunt *h, const struct proc *p)
{
	int fd = p->st.state == 'Z' ? -1 : open_same(p);

	if (fd < 0)
		return false;
	h->list = mem_grow(h->list, h->count + 1, sizeof(*h->list));
	h->list[h->count++] = (struct prey){ p->st.pid, p->st.start, p->st.session == p->st.pid,
					     p->st.pgrp == p->st.pid, fd };
	return true;
}

/* Does p belong to the hunted processes? p is a child of a hunted process, or in a session or group
 * that a hunted process leads. The pid of a dead leader is not reused as long as its session or
 * group has members. */
static bool orphan_hunt_claims(const struct orphan_hunt *h, const struct procs *ps,
			       const struct proc *p)
{
	bool claimed = false;

	for (size_t i = 0; i < h->count; i++) {
		const struct prey *q = &h->list[i];
		const struct proc *now = procs_find(ps, q->pid);

		if (q->pid == p->st.pid && q->start == p->st.start)
			return false; /* p is in the list already */
		if (now && now->st.start != q->start)
			continue; /* the pid now belongs to another process */
		claimed |= now && p->st.ppid == q->pid;
		claimed |= q->leads_session && p->st.session == q->pid;
		claimed |= q->leads_group && p->st.pgrp == q->pid;
	}
	return claimed && p->uid == geteuid();
}

/* Add all processes of the snapshot that belong to the hunt. Returns how many were new. */
static size_t orphan_hunt_gather(struct orphan_hunt *h, const struct procs *ps)
{
	size_t before = h->count, round;

	do {
		round = h->count;
		for (size_t i = 0; i < ps->count && h->count < FAMILY_MAX; i++)
			if (orphan_hunt_claims(h, ps, &ps->list[i]))
				orphan_hunt_add(h, &ps->list[i]);
	} while (h->count != round);
	return h->count - before;
}

static void orphan_hunt_signal(struct orphan_hunt *h, int sig)
{
	for (size_t i = 0; i < h->count; i++) {
		int r = h->list[i].fd >= 0 ? proc_signal(h->list[i].fd, sig) : 0;

		if (r < 0 && r != -ESRCH)
			h->denied = -r;
	}
}

/* Wait until all processes have exited, up to the time limit. Returns how many are left. */
static size_t orphan_hunt_wait(struct orphan_hunt *h, long long budget_ms)
{
	long long end_us = clock_us() + budget_ms * 1000;
	size_t alive = 0;

	for (size_t i = 0; i < h->count; i++) {
		long long left_us = end_us - clock_us();

		if (h->list[i].fd >= 0 &&
		    proc_await_end(h->list[i].fd, left_us > 0 ? (int)(left_us / 1000) + 1 : 0))
			fd_drop(&h->list[i].fd);
		alive += h->list[i].fd >= 0;
	}
	return alive;
}

/* Kill, scan for new processes, and repeat until all are gone or the budget is used up. */
static size_t orphan_kill_all(struct orphan_hunt *h)
{
	long long end_us = clock_us() + KILL_MS * 1000LL;
	size_t left, born;

	do {
		AUTO(procs_done) struct procs ps = PROCS_INIT;

		orphan_hunt_signal(h, SIGKILL);
		left = orphan_hunt_wait(h, ROUND_MS);
		born = procs_read(&ps) == 0 ? orphan_hunt_gather(h, &ps) : 0;
	} while ((left || born) && clock_us() < end_us);
	return left + born;
}

int orphan_end(const struct procs *ps, const struct orphan *o, struct err *e)
{
	AUTO(orphan_hunt_done) struct orphan_hunt h = { .list = NULL };
	pid_t self = getpid();
	size_t left;

	assert(o->proc->st.pid > 1);
	if (!orphan_hunt_add(&h, o->proc))
		return err_set(e, -ESRCH, "process %d has ended by itself", o->proc->st.pid);
	orphan_hunt_gather(&h, ps);
	for (size_t i = 0; i < h.count; i++)
		if (h.list[i].pid == self)
			return err_set(e, -EBUSY, "this command is a descendant of process %d",
				       o->proc->st.pid);
	orphan_hunt_signal(&h, SIGTERM);
	/* a stopped process handles SIGTERM only when it continues */
	orphan_hunt_signal(&h, SIGCONT);
	orphan_hunt_wait(&h, TERM_MS);
	left = orphan_kill_all(&h);
	if (left)
		return err_set(e, h.denied ? -h.denied : -ETIMEDOUT,
			       "%zu of %zu processes did not end", left, h.count);
	return (int)h.count;
}
