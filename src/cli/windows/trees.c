/* trees.c - see trees.h */
#include "trees.h"

#include <windows.h>

#include <errno.h>
#include <psapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tlhelp32.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/strings.h"
#include "os/env.h"
#include "os/fd.h"
#include "os/file.h"

enum { RECORD_MAX = 65536 };

struct snapshot { /* all processes of the machine */
	struct tree_process *list;
	size_t count;
};

static void snapshot_take(struct snapshot *out)
{
	HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
	PROCESSENTRY32W e = { .dwSize = sizeof(e) };

	*out = (struct snapshot){ .count = 0 };
	if (all == INVALID_HANDLE_VALUE)
		return;
	for (BOOL more = Process32FirstW(all, &e); more; more = Process32NextW(all, &e)) {
		struct tree_process p = { .pid = (int)e.th32ProcessID,
					  .parent = (int)e.th32ParentProcessID };

		WideCharToMultiByte(CP_UTF8, 0, e.szExeFile, -1, p.name, sizeof(p.name) - 1, NULL,
				    NULL);
		out->list = mem_grow(out->list, out->count + 1, sizeof(*out->list));
		out->list[out->count++] = p;
	}
	CloseHandle(all);
}

static const struct tree_process *snapshot_find(const struct snapshot *s, int pid)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].pid == pid)
			return &s->list[i];
	return NULL;
}

static unsigned long long trees_ticks(const FILETIME *t)
{
	return (unsigned long long)t->dwHighDateTime << 32 | t->dwLowDateTime;
}

/* When was the process created? 0: it is gone, or belongs to another user. Adds what it used. */
static unsigned long long trees_look(int pid, struct tree_process *out)
{
	HANDLE h = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, (DWORD)pid);
	FILETIME made, gone, kernel, user;
	PROCESS_MEMORY_COUNTERS memory;
	unsigned long long start = 0;

	if (!h)
		return 0;
	if (WaitForSingleObject(h, 0) != WAIT_OBJECT_0 &&
	    GetProcessTimes(h, &made, &gone, &kernel, &user)) {
		start = trees_ticks(&made);
		if (out)
			out->cpu_ms =
				(long long)((trees_ticks(&kernel) + trees_ticks(&user)) / 10000);
	}
	if (out && GetProcessMemoryInfo(h, &memory, sizeof(memory)))
		out->rss = memory.WorkingSetSize;
	CloseHandle(h);
	return start;
}

static bool trees_is_alive(const struct who *w)
{
	return w->pid && w->start && trees_look(w->pid, NULL) == w->start;
}

static void tree_add(struct tree *t, const struct tree_process *p)
{
	struct tree_process *added;

	t->processes = mem_grow(t->processes, t->count + 1, sizeof(*t->processes));
	added = &t->processes[t->count++];
	*added = *p;
	trees_look(p->pid, added);
	t->rss += added->rss;
	t->cpu_ms += added->cpu_ms;
}

static bool tree_has(const struct tree *t, int pid)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->processes[i].pid == pid)
			return true;
	return false;
}

static void tree_add_family(struct tree *t, const struct snapshot *s)
{
	const struct tree_process *server = snapshot_find(s, t->rec.server.pid);

	if (!server || !trees_is_alive(&t->rec.server))
		return;
	tree_add(t, server);
	for (size_t i = 0; i < t->count; i++)
		for (size_t k = 0; k < s->count; k++)
			if (s->list[k].parent == t->processes[i].pid &&
			    !tree_has(t, s->list[k].pid))
				tree_add(t, &s->list[k]);
}

bool trees_dir(char *out, size_t size)
{
	const char *named = env_get(RECORD_ENV), *local = env_get("LOCALAPPDATA");

	if (named && *named)
		return snprintf(out, size, "%s", named) < (int)size;
	return local && *local && snprintf(out, size, "%s\\killick\\trees", local) < (int)size;
}

static bool trees_read_record(const char *dir, const char *name, struct record *out)
{
	AUTO(mem_drop) char *text = mem_grow(NULL, RECORD_MAX + 1, 1);
	AUTO(fd_drop) int fd = -1;
	char path[4096];
	size_t len = 0;
	ssize_t n = 1;

	if (strlen(name) != TREE_ID_LEN ||
	    snprintf(path, sizeof(path), "%s\\%s", dir, name) >= (int)sizeof(path))
		return false;
	fd = file_open(path, FILE_READ);
	while (fd >= 0 && n > 0 && len < RECORD_MAX) {
		n = fd_read(fd, text + len, RECORD_MAX - len);
		len += n > 0 ? (size_t)n : 0;
	}
	text[len] = '\0';
	return fd >= 0 && n >= 0 && record_parse(text, out) == 0;
}

static void trees_add(struct trees *ts, const struct record *rec, const struct snapshot *s)
{
	struct tree t = { .rec = *rec, .has_owner = trees_is_alive(&rec->owner) };
	const struct tree_process *owner = snapshot_find(s, rec->owner.pid);

	if (t.has_owner && owner)
		memcpy(t.owner, owner->name, sizeof(t.owner));
	t.age_ms = rec->started_ms ? ts->now_ms - rec->started_ms : 0;
	tree_add_family(&t, s);
	ts->list = mem_grow(ts->list, ts->count + 1, sizeof(*ts->list));
	ts->list[ts->count++] = t;
}

static int trees_by_age(const void *a, const void *b)
{
	const struct tree *x = a, *y = b;

	return (x->age_ms < y->age_ms) - (x->age_ms > y->age_ms);
}

int trees_read(struct trees *ts)
{
	char dir[4096], **names;
	struct snapshot s;

	*ts = (struct trees){ .now_ms = (long long)GetTickCount64() };
	if (!trees_dir(dir, sizeof(dir)))
		return -ENOENT;
	names = file_names(dir);
	snapshot_take(&s);
	for (char **name = names; name && *name; name++) {
		struct record rec = { .kept = false };

		if (trees_read_record(dir, *name, &rec) && trees_is_alive(&rec.watch))
			trees_add(ts, &rec, &s);
	}
	free(s.list);
	strings_free(names);
	if (ts->count)
		qsort(ts->list, ts->count, sizeof(*ts->list), trees_by_age);
	return 0;
}

void trees_done(struct trees *ts)
{
	for (size_t i = 0; i < ts->count; i++)
		free(ts->list[i].processes);
	free(ts->list);
	*ts = (struct trees)TREES_INIT;
}

const char *tree_state(const struct trees *ts, const struct tree *t)
{
	if (!t->rec.stopping_ms)
		return "running";
	return ts->now_ms > t->rec.deadline_ms ? "overdue" : "stopping";
}
