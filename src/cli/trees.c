/* trees.c - see trees.h */
#include "trees.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "keeper/janitor.h"

enum { MEMBERS_MAX = 65536 };

const char *held_state_name(enum held_state state)
{
	static const char *const names[] = { "running", "stopping", "overdue", "abandoned" };

	return names[state];
}

enum held_state held_state_at(const struct record *rec, long long now_ms)
{
	if (!rec->kept)
		return HELD_ABANDONED;
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

static int add_record(void *ctx, const struct record *rec, int dirfd)
{
	struct trees *ts = ctx;

	(void)dirfd;
	ts->list = mem_grow(ts->list, ts->count + 1, sizeof(*ts->list));
	ts->list[ts->count++] = (struct held){ .rec = *rec };
	return 0;
}

static int by_pid(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void join(struct held *t, const struct procs *ps, pid_t *pids)
{
	int found = janitor_members(&t->rec, pids, MEMBERS_MAX);

	if (found > MEMBERS_MAX)
		found = MEMBERS_MAX;
	if (found > 0)
		qsort(pids, (size_t)found, sizeof(*pids), by_pid);
	t->pids = mem_grow(NULL, found > 0 ? (size_t)found : 1, sizeof(*pids));
	t->state = held_state_at(&t->rec, ps->now_ms);
	t->age_ms = t->rec.started_ms ? ps->now_ms - t->rec.started_ms : 0;
	for (int i = 0; i < found; i++) {
		const struct proc *p = procs_find(ps, pids[i]);

		if (!p || p->st.state == 'Z' || (i > 0 && pids[i] == pids[i - 1]) ||
		    pids[i] == t->rec.watch || pids[i] == t->rec.hold)
			continue;
		t->pids[t->count++] = pids[i];
		t->rss += proc_rss(p);
		t->cpu_ms += proc_cpu_ms(p);
	}
}

static int by_start(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

	return (x->rec.started_ms > y->rec.started_ms) - (x->rec.started_ms < y->rec.started_ms);
}

int trees_read(struct trees *ts)
{
	AUTO(mem_drop) pid_t *pids = mem_grow(NULL, MEMBERS_MAX, sizeof(*pids));
	int r;

	*ts = (struct trees)TREES_INIT;
	record_each(RECORD_ALL, add_record, ts);
	r = procs_read(&ts->procs);
	if (r < 0) {
		trees_done(ts);
		return r;
	}
	for (size_t i = 0; i < ts->count; i++)
		join(&ts->list[i], &ts->procs, pids);
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

		if (t->rec.kept && (pid == t->rec.watch || pid == t->rec.hold))
			return true;
		if (t->count && bsearch(&pid, t->pids, t->count, sizeof(pid), by_pid))
			return true;
	}
	return false;
}
