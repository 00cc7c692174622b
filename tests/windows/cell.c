/* cell.c - see cell.h */
#include "cell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "child.h"
#include "tap.h"

#define READY_MS  30000
#define EMPTY_MS  15000
#define ESCAPE_MS 1500 /* of those that are known to stay */
#define LIFE_MS                                                                                    \
	40000 /* longer than ready and empty: or the zoo's own clock would do killick's work */
#define LINE_ROOM  4096
#define PLACE_ROOM 512

const char *const cell_way_names[WAY_COUNT] = { "killick", "cmd", "bare" };
const char *const cell_ending_names[END_COUNT] = { "owner", "child", "both", "stdin", "exit" };

static wchar_t own[MAX_PATH], killick[MAX_PATH], zoo[MAX_PATH], dir[MAX_PATH];

/* What one trial has open. */
struct trial {
	struct child owner;
	struct verdict v;
	HANDLE child; /* the process that the client started */
	DWORD child_pid;
	wchar_t report[PLACE_ROOM];
};

const wchar_t *cell_killick(void)
{
	return killick;
}

const wchar_t *cell_zoo(void)
{
	return zoo;
}

const wchar_t *cell_dir(void)
{
	return dir;
}

static bool cell_write(const wchar_t *name, const char *text)
{
	wchar_t path[PLACE_ROOM];
	FILE *f;

	swprintf(path, PLACE_ROOM, L"%ls\\%ls", dir, name);
	f = _wfopen(path, L"wb");
	if (!f)
		return false;
	fputs(text, f);
	return fclose(f) == 0;
}

/* zooshim.cmd, and beside it a script for sh without an extension, as npm makes them. */
static bool cell_shims(void)
{
	char text[PLACE_ROOM * 4], path[PLACE_ROOM * 3];

	snprintf(text, sizeof(text), "@\"%s\" %%*\r\n", child_utf8(zoo, path, sizeof(path)));
	return cell_write(L"zooshim.cmd", text) &&
	       cell_write(L"zooshim", "#!/bin/sh\nexec zoo.exe \"$@\"\n");
}

bool cell_prepare(const wchar_t *path)
{
	static wchar_t old[32768], new[33100];

	GetModuleFileNameW(NULL, own, MAX_PATH);
	child_own_dir(zoo, MAX_PATH - 10);
	wcscat(zoo, L"zoo.exe");
	GetFullPathNameW(path, MAX_PATH, killick, NULL);
	if (GetFileAttributesW(killick) == INVALID_FILE_ATTRIBUTES) {
		tap_note("'%ls' not found", killick);
		return false;
	}
	if (!child_temp_dir(dir, MAX_PATH) || !cell_shims()) {
		tap_note("cannot write to '%ls'", dir);
		return false;
	}
	GetEnvironmentVariableW(L"PATH", old, 32768);
	swprintf(new, 33100, L"%ls;%ls", dir, old);
	return SetEnvironmentVariableW(L"PATH", new);
}

void cell_finish(void)
{
	static const wchar_t *const names[] = { L"zooshim.cmd", L"zooshim" };
	wchar_t path[PLACE_ROOM];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		swprintf(path, PLACE_ROOM, L"%ls\\%ls", dir, names[i]);
		DeleteFileW(path);
	}
	RemoveDirectoryW(dir);
}

/* --- the command line that the client starts --- */

static void cell_add_server(const struct cell *c, const struct trial *t, wchar_t *line)
{
	bool cmd = !wcscmp(c->mode, L"cmd"), shim = !wcscmp(c->mode, L"shim");
	wchar_t rest[100];

	/* a plain client has to know that a shim needs cmd.exe */
	if (cmd || (shim && c->way == WAY_BARE))
		wcscat(line, *line ? L" cmd.exe /c" : L"cmd.exe /c");
	child_quote(line, LINE_ROOM, shim ? L"zooshim" : zoo);
	swprintf(rest, 100, L" %ls %ls %d %lu", cmd || shim ? L"child" : c->mode, t->v.tag, LIFE_MS,
		 t->owner.pid);
	wcscat(line, rest);
}

static void cell_line(const struct cell *c, const struct trial *t, wchar_t *line)
{
	*line = L'\0';
	if (c->way == WAY_CMD)
		wcscpy(line, L"cmd.exe /s /c \"");
	if (c->way != WAY_BARE) {
		child_quote(line, LINE_ROOM, killick);
		wcscat(line, L" run --grace 300ms --report");
		child_quote(line, LINE_ROOM, t->report);
		wcscat(line, L" --");
	}
	cell_add_server(c, t, line);
	if (c->way == WAY_CMD)
		wcscat(line, L"\"");
}

/* --- the trial --- */

static bool cell_fails(struct cell *c, const char *what, const char *text)
{
	c->verdict = '!';
	snprintf(c->text, sizeof(c->text), "%s %s", what, text);
	return false;
}

/* Start the client, and through it the server. */
static bool cell_start(struct cell *c, struct trial *t)
{
	wchar_t line[LINE_ROOM] = L"";
	char text[LINE_ROOM * 3], word[64];

	verdict_open(&t->v);
	swprintf(t->report, PLACE_ROOM, L"%ls\\%ls.json", dir, t->v.tag);
	child_quote(line, LINE_ROOM, own);
	wcscat(line, L" owner");
	if (child_start(&t->owner, &(struct child_spec){ .line = line }))
		return cell_fails(c, "cannot start the client", "");
	snprintf(word, sizeof(word), "tag %ls\nstart ", t->v.tag);
	cell_line(c, t, line);
	child_utf8(line, text, sizeof(text));
	if (!child_tell(&t->owner, word) || !child_tell(&t->owner, text) ||
	    !child_tell(&t->owner, "\n"))
		return cell_fails(c, "the client is gone", "");
	return true;
}

/* Wait until all processes run. */
static bool cell_await(struct cell *c, struct trial *t)
{
	double until = child_now_ms() + READY_MS;
	char line[256];

	while (child_now_ms() < until && child_hear(&t->owner, line, sizeof(line), READY_MS)) {
		if (sscanf(line, "child %lu", &t->child_pid) == 1)
			t->child =
				OpenProcess(PROCESS_TERMINATE | SYNCHRONIZE, FALSE, t->child_pid);
		else if (!strncmp(line, "ready", 5))
			return t->child ? true : cell_fails(c, "no handle of the child", "");
		else
			return cell_fails(c, "the client says:", line);
	}
	return cell_fails(c, "the server did not get ready", "");
}

static void cell_end(const struct cell *c, struct trial *t)
{
	if (c->ending == END_STDIN)
		child_tell(&t->owner, "close\n");
	else if (c->ending == END_EXIT)
		child_tell(&t->owner, "exit\n");
	if (c->ending == END_OWNER || c->ending == END_BOTH)
		TerminateProcess(t->owner.process, 1);
	if (c->ending == END_CHILD || c->ending == END_BOTH)
		TerminateProcess(t->child, 1);
}

/* killick was not terminated: then its report must say the same as the judge. */
static void cell_check_report(struct cell *c, const struct trial *t)
{
	char text[4096] = "";
	FILE *f;

	if (c->way == WAY_BARE ||
	    (c->way == WAY_KILLICK && (c->ending == END_CHILD || c->ending == END_BOTH)))
		return;
	f = _wfopen(t->report, L"rb");
	if (f) {
		text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
		fclose(f);
	}
	if (!strstr(text, "\"level\":\"job\"") || !strstr(text, "\"survivors\":[]") ||
	    !strstr(text, "\"proof\":[\"job\""))
		cell_fails(c, "the report is", text);
}

static void cell_judge(struct cell *c, struct trial *t)
{
	char text[400];
	int inside = 0;
	double until;

	c->ms = verdict_await_empty(&t->v, c->escapes ? ESCAPE_MS : EMPTY_MS, c->text,
				    sizeof(c->text), &c->left);
	c->verdict = c->left ? 'E' : '.';
	until = child_now_ms() + ESCAPE_MS;
	do /* what is dying may have died for one judge first */
		inside = verdict_count_inside(&t->v, text, sizeof(text));
	while (!!inside != !!c->left && child_now_ms() < until);
	if (!!inside != !!c->left) {
		c->judges_disagree = true;
		tap_note("inside %d: %s; outside %d: %s", inside, text, c->left, c->text);
	}
	if (c->verdict == '.')
		cell_check_report(c, t);
}

void cell_run(struct cell *c)
{
	struct trial t = { 0 };

	c->verdict = '!';
	if (cell_start(c, &t) && cell_await(c, &t)) {
		verdict_look(&t.v, t.child_pid);
		cell_end(c, &t);
		cell_judge(c, &t);
	}
	verdict_scrub(&t.v);
	if (t.owner.process)
		TerminateProcess(t.owner.process, 1);
	DeleteFileW(t.report);
	if (t.child)
		CloseHandle(t.child);
	child_done(&t.owner);
	verdict_close(&t.v);
}
