/* executor_memory.c - what an executor occupies with 0, 10 and 100 processes: itself and all it
 * needs for them, the processes not counted. One executor at a time, and nothing else below us:
 * we are a subreaper, so that helpers which are nobody's child are ours, and found. */
#include "executor.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SETTLE_MS 300
#define PIDS      8192
#define CAT       "/bin/cat"

struct weight {
	double pss, dirty;
	size_t helpers, processes;
	bool shared; /* a stranger runs the same program, and carries a part of its pages */
};

struct family { /* every process there is */
	pid_t pid[PIDS], parent[PIDS];
	size_t count;
};

bool executor_stat(pid_t pid, struct executor_stat *out)
{
	char path[64], text[512] = "", *p = NULL;
	unsigned long user, sys;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (fgets(text, sizeof(text), f))
		p = strrchr(text, ')'); /* the name may hold anything */
	fclose(f);
	if (!p || sscanf(p + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &out->parent,
			 &user, &sys) != 3)
		return false;
	out->ticks = user + sys;
	return true;
}

static void look(struct family *out)
{
	DIR *d = opendir("/proc");
	struct dirent *e;

	out->count = 0;
	while (d && (e = readdir(d)) && out->count < PIDS) {
		pid_t pid = (pid_t)atoi(e->d_name);
		struct executor_stat stat;

		if (pid <= 0 || !executor_stat(pid, &stat))
			continue;
		out->pid[out->count] = pid;
		out->parent[out->count++] = stat.parent;
	}
	if (d)
		closedir(d);
}

static void weigh(const struct executor *e, pid_t pid, struct weight *w)
{
	char path[64], line[256];
	bool seen = false;
	unsigned long kb;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Pss: %lu", &kb) == 1) {
			w->pss += (double)kb;
			seen = true;
		} else if (sscanf(line, "Private_Dirty: %lu", &kb) == 1) {
			w->dirty += (double)kb;
		}
	}
	if (f)
		fclose(f);
	if (!seen)
		executor_die(e, "a process cannot be weighed");
	w->helpers++;
}

static void weigh_below(const struct executor *e, const struct family *all, pid_t pid,
			struct weight *w)
{
	for (size_t i = 0; i < all->count; i++) {
		if (all->parent[i] != pid)
			continue;
		if (server_runs(all->pid[i], CAT))
			w->processes++;
		else
			weigh(e, all->pid[i], w);
		weigh_below(e, all, all->pid[i], w);
	}
}

static bool is_below(const struct family *all, pid_t pid, pid_t top)
{
	size_t i = 0;

	while (pid > 1 && pid != top) {
		for (i = 0; i < all->count && all->pid[i] != pid; i++)
			;
		if (i == all->count)
			return false;
		pid = all->parent[i];
	}
	return pid == top;
}

static bool has_strangers(const struct executor *e, const struct family *all)
{
	for (size_t i = 0; i < all->count; i++)
		if (server_runs(all->pid[i], e->program) && !is_below(all, all->pid[i], getpid()))
			return true;
	return false;
}

static struct weight weight_with(struct executor *e, size_t count)
{
	static struct family all;
	struct executor_spec spec = { .argv = { CAT }, .pipe_stdin = true };
	struct weight w = { 0 };

	if (!executor_up(e))
		executor_die(e, "does not start");
	for (size_t i = 0; i < count; i++) {
		executor_start(e, &spec);
		executor_started(e);
	}
	nanosleep(&(struct timespec){ .tv_nsec = SETTLE_MS * 1000000L }, NULL);
	look(&all);
	weigh_below(e, &all, getpid(), &w);
	w.shared = has_strangers(e, &all);
	if (w.processes != count)
		executor_die(e, "not as many processes as were started");
	return w;
}

static void memory(struct executor_bench *b, size_t count)
{
	struct samples pss[EXECUTORS] = { 0 }, dirty[EXECUTORS] = { 0 };
	size_t helpers[EXECUTORS] = { 0 };
	bool shared[EXECUTORS] = { false };
	char what[128];

	for (size_t round = 0; round < executor_rounds(b, 5); round++)
		for (size_t turn = 0; turn < EXECUTORS; turn++) {
			struct executor *e = executor_turn(b, round, turn);
			struct weight w;

			if (!e)
				continue;
			w = weight_with(e, count);
			executors_down(b);
			samples_add(&pss[e - b->at], w.pss);
			samples_add(&dirty[e - b->at], w.dirty);
			helpers[e - b->at] = w.helpers;
			shared[e - b->at] |= w.shared;
		}
	for (size_t i = 0; i < EXECUTORS; i++)
		if (pss[i].count)
			report_text(&b->report, "| %s, %zu%s | %.0f | %.0f | %zu | %zu |\n",
				    b->at[i].name, count,
				    shared[i] ? " (**others run it too: too small**)" : "",
				    samples_median(&pss[i]), samples_median(&dirty[i]), helpers[i],
				    pss[i].count);
	snprintf(what, sizeof(what), "memory with %zu processes, killick / codex", count);
	executor_judge(b, what, 0.2, false, pss);
	for (size_t i = 0; i < EXECUTORS; i++) {
		samples_done(&pss[i]);
		samples_done(&dirty[i]);
	}
}

void executor_memory(struct executor_bench *b)
{
	report_text(
		&b->report,
		"## Memory\n\nOf the executor and everything it needs for its processes (`cat`, "
		"waiting), these not counted. PSS is judged; most of codex's is its program "
		"file, so what was written to is shown too.\n\n"
		"| | PSS KiB | of it private and dirty | processes of its own | n |\n"
		"|---|--:|--:|--:|--:|\n");
	memory(b, 0);
	memory(b, 10);
	memory(b, 100);
	report_text(&b->report, "\n");
}
