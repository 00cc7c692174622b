/* loops.c - what needs many rounds: killick terminated at any moment of its start, and a hundred
 * servers at once.
 *
 * loops KILLICK.EXE [--outside] [--rounds N] [--servers N] [--jobs N] [--seed N]
 *
 * Round: start `killick run` with a server that makes a daemon, terminate killick 0 to 80 ms later,
 * and no process may be left. Servers: one client starts N servers, each with a child, and is
 * terminated.
 */
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "cell.h"
#include "child.h"
#include "owner.h"
#include "tap.h"

#define LAST_KILL_US 80000
#define EMPTY_MS     15000
#define LIFE_MS      50000
#define START_MS     120000 /* for all servers to get ready */
#define LINE_ROOM    2048

static int rounds = 20, servers = 10, jobs = 2;
static unsigned seed = 1;
static volatile LONG next_round, bad_rounds;
static volatile LONG seen; /* rounds in which a process of the server had started */

static const wchar_t *program;

static void loops_add_command(wchar_t *line, const wchar_t *mode, const wchar_t *tag, DWORD owner)
{
	wchar_t rest[100];

	child_quote(line, LINE_ROOM, cell_killick());
	wcscat(line, L" run --");
	child_quote(line, LINE_ROOM, cell_zoo());
	swprintf(rest, 100, L" %ls %ls %d %lu", mode, tag, LIFE_MS, owner);
	wcscat(line, rest);
}

/* Sleep takes whole milliseconds, and more. */
static void loops_wait_us(unsigned us)
{
	double until = child_now_ms() + us / 1e3;

	if (us > 20000)
		Sleep(us / 1000 - 16);
	while (child_now_ms() < until)
		Sleep(0);
}

static unsigned loops_random(unsigned *state, unsigned limit)
{
	*state = *state * 1664525U + 1013904223U;
	return (*state >> 8) % limit;
}

static void loops_run_round(unsigned us)
{
	struct verdict v;
	struct child c;
	wchar_t line[LINE_ROOM] = L"";
	char text[400];
	int left;

	verdict_open(&v);
	loops_add_command(line, L"daemon", v.tag, GetCurrentProcessId());
	if (child_start(&c, &(struct child_spec){ .line = line })) {
		tap_note("cannot start killick");
		InterlockedIncrement(&bad_rounds);
		return;
	}
	loops_wait_us(us);
	InterlockedAdd(&seen, verdict_count(&v, text, sizeof(text)) > 1);
	TerminateProcess(c.process, 1);
	verdict_await_empty(&v, EMPTY_MS, text, sizeof(text), &left);
	if (left) {
		tap_note("terminated after %u us: %d left: %s", us, left, text);
		InterlockedIncrement(&bad_rounds);
		verdict_scrub(&v);
	}
	child_done(&c);
	verdict_close(&v);
}

static DWORD WINAPI loops_run_rounds(void *arg)
{
	unsigned state = seed * 7919U + (unsigned)(ULONG_PTR)arg;

	while (InterlockedIncrement(&next_round) <= rounds)
		loops_run_round(loops_random(&state, LAST_KILL_US));
	return 0;
}

static void loops_kill_early(void)
{
	HANDLE threads[MAXIMUM_WAIT_OBJECTS];

	for (int i = 0; i < jobs; i++)
		threads[i] = CreateThread(NULL, 0, loops_run_rounds, (void *)(ULONG_PTR)i, 0, NULL);
	WaitForMultipleObjects((DWORD)jobs, threads, TRUE, INFINITE);
	tap_note("seed %u; in %ld of %d rounds the server had started", seed, seen, rounds);
	tap_result(!bad_rounds, NULL, "killick terminated within its first 80 ms, %d times",
		   rounds);
}

/* Wait until so many servers said that they are ready. */
static bool loops_await_ready(struct child *owner, int count)
{
	double until = child_now_ms() + START_MS;
	char line[256];

	while (count > 0 && child_now_ms() < until &&
	       child_hear(owner, line, sizeof(line), START_MS)) {
		if (!strncmp(line, "ready", 5))
			count--;
		else if (strncmp(line, "child", 5))
			tap_note("the client says: %s", line);
	}
	return count == 0;
}

static bool loops_start_servers(struct child *owner, const wchar_t *tag)
{
	wchar_t line[LINE_ROOM];
	char text[LINE_ROOM * 3], word[64];

	snprintf(word, sizeof(word), "tag %ls\n", tag);
	child_tell(owner, word);
	for (int i = 0; i < servers; i++) {
		wchar_t own_tag[40];

		/* each server counts its own processes; the tag of all is the beginning */
		swprintf(own_tag, 40, L"%ls-%d", tag, i);
		*line = L'\0';
		loops_add_command(line, L"child", own_tag, owner->pid);
		if (!child_tell(owner, "start ") ||
		    !child_tell(owner, child_utf8(line, text, sizeof(text))) ||
		    !child_tell(owner, "\n"))
			return false;
	}
	return loops_await_ready(owner, servers);
}

static void loops_kill_owner(void)
{
	struct verdict v;
	struct child owner;
	wchar_t line[LINE_ROOM] = L"";
	char text[400];
	int before, left = -1;
	double ms = 0, start = child_now_ms();
	bool ready;

	verdict_open(&v);
	child_quote(line, LINE_ROOM, program);
	wcscat(line, L" owner");
	if (child_start(&owner, &(struct child_spec){ .line = line })) {
		tap_result(false, NULL, "cannot start the client");
		return;
	}
	ready = loops_start_servers(&owner, v.tag);
	before = verdict_count(&v, text, sizeof(text));
	tap_note("%d processes ready in %.1f s", before, (child_now_ms() - start) / 1e3);
	TerminateProcess(owner.process, 1);
	ms = verdict_await_empty(&v, EMPTY_MS, text, sizeof(text), &left);
	if (left)
		tap_note("left: %s", text);
	tap_result(ready && before >= 3 * servers && !left, NULL,
		   "%d servers at once, client terminated: %d left after %.1f s", servers, left,
		   ms / 1e3);
	verdict_scrub(&v);
	child_done(&owner);
	verdict_close(&v);
}

static const wchar_t *loops_parse(int argc, wchar_t **argv)
{
	const wchar_t *killick = NULL;

	for (int i = 1; i < argc; i++) {
		int value = i + 1 < argc ? _wtoi(argv[i + 1]) : 0;

		if (!wcscmp(argv[i], L"--rounds"))
			rounds = value, i++;
		else if (!wcscmp(argv[i], L"--servers"))
			servers = value, i++;
		else if (!wcscmp(argv[i], L"--jobs"))
			jobs = value, i++;
		else if (!wcscmp(argv[i], L"--seed"))
			seed = (unsigned)value, i++;
		else if (!wcscmp(argv[i], L"--outside"))
			verdict_outside();
		else if (argv[i][0] == L'-' || killick)
			return NULL;
		else
			killick = argv[i];
	}
	return jobs > 0 && jobs <= MAXIMUM_WAIT_OBJECTS ? killick : NULL;
}

int wmain(int argc, wchar_t **argv); /* the C runtime declares none */

int wmain(int argc, wchar_t **argv)
{
	static wchar_t self[MAX_PATH];
	const wchar_t *killick;

	if (argc == 2 && !wcscmp(argv[1], L"owner"))
		return owner_main();
	killick = loops_parse(argc, argv);
	if (!killick) {
		fprintf(stderr, "loops: usage: loops KILLICK.EXE [options]; see loops.c\n");
		return 64;
	}
	GetModuleFileNameW(NULL, self, MAX_PATH);
	program = self;
	if (!cell_prepare(killick))
		return 69;
	loops_kill_early();
	loops_kill_owner();
	cell_finish();
	return tap_finish();
}
