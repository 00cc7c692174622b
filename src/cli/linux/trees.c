/* trees.c - see trees.h */
#include "trees.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "keeper/exits.h"
#include "keeper/linux/clock.h"
#include "keeper/linux/hunt.h"
#include "keeper/linux/janitor.h"

enum { LOOK_MS = 5000 }; /* time limit to find the processes of lost trees */

const char *held_state_name(enum held_state state)
{
	static const char *const names[] = { "running",   "stopping", "overdue",  "orphaned",
					     "abandoned", "ended",    "elsewhere" };

	return names[state];
}

enum held_state held_state_at(const struct record *rec, enum janitor_view view, long long now_ms)
{
	switch (view) {
	case JANITOR_LOST:
	case JANITOR_LAST_BOOT:
		return HELD_ABANDONED;
	case JANITOR_OTHER:
		return HELD_ELSEWHERE;
	case JANITOR_ORPHANED:
		if (!rec->stopping_ms)
			return HELD_ORPHANED;
		break;
	case JANITOR_KEPT:
		break;
	}
	if (!rec->stopping_ms)
		return HELD_RUNNING;
	return rec->survivors > 0 || now_ms > rec->deadline_ms ? HELD_OVERDUE : HELD_STOPPING;
}

void held_title(const struct record *rec, char *out, size_t size)
{
	const char *text = *rec->name ? rec->name : *rec->command ? rec->command : rec->tree;
	size_t len = text == rec->command ? strcspn(text, " ") : strlen(text);

	for (size_t i = len; text == rec->command && i-- > 0;)
		if (text[i] == '/' && i + 1 < len) {
			text += i + 1;
			len -= i + 1;
			break;
		}
	text_clean(text, len, out, size);
}

static int add_record(void *ctx, const struct record *rec, int fd)
{
	struct trees *ts = ctx;

	(void)fd;
	ts->list = mem_grow(ts->list, ts->count + 1, sizeof(*ts->list));
	ts->list[ts->count++] = (struct held){ .rec = *rec };
	return 0;
}

static int trees_by_pid(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void held_add(struct held *t, const struct proc *p)
{
	if (!p || p->st.state == 'Z' || p->st.pid == t->rec.watch.pid ||
	    p->st.pid == t->rec.hold.pid)
		return;
	t->pids = mem_grow(t->pids, t->count + 1, sizeof(*t->pids));
	t->pids[t->count++] = p->st.pid;
	t->rss += proc_rss(p);
	t->cpu_ms += proc_cpu_ms(p);
}

/* The processes of a tree whose keepers work: the descendants of the keepers. */
static void held_add_family(struct held *t, const struct procs *ps)
{
	AUTO(mem_drop) pid_t *pids = mem_grow(NULL, ps->count + 1, sizeof(*pids));
	pid_t root = procs_find(ps, t->rec.hold.pid) ? t->rec.hold.pid : t->rec.watch.pid;
	size_t found = procs_family(ps, root, pids, ps->count);

	for (size_t i = 0; i < found; i++)
		held_add(t, procs_find(ps, pids[i]));
}

struct lost_trees {
	struct trees *ts;
	struct hunt_tree *trees;
	size_t *index; /* index in ts->list of each element of trees */
};

static void on_lost_process(void *ctx, int tree, pid_t pid)
{
	struct lost_trees *l = ctx;

	held_add(&l->ts->list[l->index[tree]], procs_find(&l->ts->procs, pid));
}

/* Find the processes of all lost trees with one scan of /proc. */
static void add_lost(struct trees *ts)
{
	AUTO(mem_drop) struct hunt_tree *trees = mem_grow(NULL, ts->count + 1, sizeof(*trees));
	AUTO(mem_drop) size_t *index = mem_grow(NULL, ts->count + 1, sizeof(*index));
	struct lost_trees l = { ts, trees, index };
	struct hunt hunt = { .trees = trees, .fn = on_lost_process, .ctx = &l };

	for (size_t i = 0; i < ts->count; i++) {
		if (ts->list[i].state != HELD_ABANDONED)
			continue;
		index[hunt.count] = i;
		memcpy(trees[hunt.count++].id, ts->list[i].rec.tree, sizeof(trees->id));
	}
	hunt.deadline_us = clock_us() + LOOK_MS * 1000LL;
	if (hunt.count == 0 || !hunt_run(&hunt))
		return;
	for (int i = 0; i < hunt.count; i++) {
		struct held *t = &ts->list[index[i]];

		if (t->count == 0 && !*t->rec.engine) /* a container may be left */
			t->state = HELD_ENDED;
	}
}

static int by_start(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

	return (x->rec.started_ms > y->rec.started_ms) - (x->rec.started_ms < y->rec.started_ms);
}

int trees_read(struct trees *ts)
{
	int r;

	*ts = (struct trees)TREES_INIT;
	r = record_each(add_record, ts);
	if (r >= 0)
		r = procs_read(&ts->procs);
	if (r < 0) {
		trees_done(ts);
		return r;
	}
	for (size_t i = 0; i < ts->count; i++) {
		struct held *t = &ts->list[i];
		enum janitor_view view = janitor_look(&t->rec, &t->due_ms);

		t->state = held_state_at(&t->rec, view, ts->procs.now_ms);
		t->age_ms = t->rec.started_ms ? ts->procs.now_ms - t->rec.started_ms : 0;
		if (t->state != HELD_ABANDONED && t->state != HELD_ELSEWHERE)
			held_add_family(t, &ts->procs);
	}
	add_lost(ts);
	for (size_t i = 0; i < ts->count; i++) {
		if (ts->list[i].count)
			qsort(ts->list[i].pids, ts->list[i].count, sizeof(pid_t), trees_by_pid);
	}
	if (ts->count)
		qsort(ts->list, ts->count, sizeof(*ts->list), by_start);
	return 0;
}

void trees_done(struct trees *ts)
{
	for (size_t i = 0; i < ts->count; i++)
		free(ts->list[i].pids);
	free(ts->list);
	procs_done(&ts->procs);
	*ts = (struct trees)TREES_INIT;
}

bool trees_have(const struct trees *ts, pid_t pid)
{
	for (size_t i = 0; i < ts->count; i++) {
		const struct held *t = &ts->list[i];

		if (t->rec.kept && t->state != HELD_ELSEWHERE &&
		    (pid == t->rec.watch.pid || pid == t->rec.hold.pid))
			return true;
		if (t->count && bsearch(&pid, t->pids, t->count, sizeof(pid), trees_by_pid))
			return true;
	}
	return false;
}

int trees_refused(const char *verb, int error)
{
	if (error == -EMFILE || error == -ENFILE)
		cli_say(verb,
			"cannot read the records and /proc: %s; raise the limit of open files "
			"(ulimit -n)",
			strerror(-error));
	else
		cli_say(verb, "cannot read the records and /proc: %s", strerror(-error));
	return error == -EMFILE || error == -ENFILE ? EXIT_TRY_AGAIN : EXIT_UNAVAILABLE;
}
