/* demo.c - see cli/demo.h: the demo on Windows. demo_part.h shows the processes. */
#include "cli/demo.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "cli/cli.h"
#include "demo_audit.h"
#include "demo_part.h"
#include "os/interrupt.h"

enum {
	START_MS = 10000, /* for both servers to answer */
	GONE_MS = 7000,   /* longer than the budgets of killick */
	STOP_LOOK_MS = 50,
	SCENES = 5,
	PATH_LEN = 4096,
	LINE_LEN = 3 * PATH_LEN,
};

const char demo_help[] = DEMO_HELP("TerminateProcess", "a job of the demo");
const char demo_kill_name[] = "TerminateProcess";
const char demo_net[] = "a job of the demo";

struct scene demo_scenes[] = {
	{ .mode = "npx",
	  .inner = "bg",
	  .about = "behind npx, with a child",
	  .story = "behind a launcher like npx; leaves a child" },
	{ .mode = "ignore", .about = "never exits", .story = "ignores EOF and Ctrl-Break" },
	{ .mode = "breakaway",
	  .about = "child asks to leave",
	  .story = "leaves a child that asks to leave its job" },
	{ .mode = "daemon",
	  .about = "starts a daemon",
	  .story = "leaves a daemon: detached, its parent gone" },
	{ .mode = "twins",
	  .about = "restarts what is ended",
	  .story = "has two processes that restart each other" },
};
const size_t demo_scene_count = sizeof(demo_scenes) / sizeof(demo_scenes[0]);
static_assert(sizeof(demo_scenes) / sizeof(demo_scenes[0]) == SCENES, "one row of jobs each");

static struct {
	wchar_t self[PATH_LEN], killick[PATH_LEN];
	HANDLE jobs[SCENES][SIDES];          /* NULL: not started yet */
	HANDLE clients[SIDES], ready[SIDES]; /* of the current scene */
	int interrupt;                       /* descriptor; -1: none */
	int caught;                          /* a request to end, as a signal of Linux; 0: none */
} demo = { .interrupt = -1 };

bool demo_should_stop(void)
{
	if (!demo.caught)
		demo.caught = interrupt_take(demo.interrupt);
	return demo.caught || ferror(stdout);
}

static bool demo_find_programs(void)
{
	DWORD n = GetModuleFileNameW(NULL, demo.self, PATH_LEN);
	char killick[PATH_LEN];

	return n && n < PATH_LEN && cli_find_keeper(killick, sizeof(killick)) &&
	       MultiByteToWideChar(CP_UTF8, 0, killick, -1, demo.killick, PATH_LEN);
}

int demo_open(struct err *e)
{
	if (!demo_find_programs())
		return err_set(e, -ENOENT, "cannot find the program 'killick.exe' beside this one");
	demo.interrupt = interrupt_open();
	return demo.interrupt < 0 ? err_set(e, demo.interrupt, "cannot hear the console") : 0;
}

static void demo_drop(HANDLE *h)
{
	if (*h)
		CloseHandle(*h);
	*h = NULL;
}

/* Start the client of one side, inside a job of its own. 0, or an error of Windows. */
static DWORD start_client(size_t number, int side, const struct scene *s)
{
	static wchar_t line[LINE_LEN], hold[LINE_LEN];
	PROCESS_INFORMATION made;
	DWORD error;

	demo_drop(&demo.clients[side]);
	demo_drop(&demo.ready[side]);
	demo.ready[side] = CreateEventW(NULL, TRUE, FALSE, NULL);
	demo.jobs[number][side] = audit_open();
	if (!demo.ready[side] || !demo.jobs[number][side])
		return GetLastError();
	hold[0] = L'\0';
	if (side == SIDE_KILLICK)
		swprintf(hold, LINE_LEN, L"\"%ls\" run --name demo -- ", demo.killick);
	swprintf(line, LINE_LEN, L"\"%ls\" demo-part client %llu %ls\"%ls\" zoo %hs %hs", demo.self,
		 (unsigned long long)(uintptr_t)demo.ready[side], hold, demo.self, s->mode,
		 s->inner ? s->inner : "");
	error = demo_spawn(&(struct demo_start){ .line = line,
						 .job = demo.jobs[number][side],
						 .also = demo.ready[side],
						 .made = &made });
	if (error == 0) {
		CloseHandle(made.hThread);
		demo.clients[side] = made.hProcess;
	}
	return error;
}

/* Wait until the client says that its server has answered, or exits. */
static int await_ready(int side, ULONGLONG end_ms, struct err *e)
{
	HANDLE on[] = { demo.ready[side], demo.clients[side] };

	while (GetTickCount64() < end_ms) {
		DWORD r = WaitForMultipleObjects(2, on, FALSE, STOP_LOOK_MS);

		if (r == WAIT_OBJECT_0)
			return 0;
		if (demo_should_stop())
			return -EINTR;
		if (r == WAIT_OBJECT_0 + 1)
			return err_set(e, -EPIPE, "the %s did not get an answer to initialize",
				       side == SIDE_PLAIN ? "plain client"
							  : "client of killick run");
	}
	return err_set(e, -ETIMEDOUT, "a server did not answer initialize");
}

int demo_start(size_t number, const struct scene *s, struct err *e)
{
	ULONGLONG end_ms = GetTickCount64() + START_MS;
	int r = 0;

	for (int i = 0; i < SIDES; i++) {
		DWORD error = start_client(number, i, s);

		if (error)
			return err_set(e, -EAGAIN, "cannot start a client: error %lu of Windows",
				       error);
	}
	for (int i = 0; i < SIDES && r == 0; i++)
		r = await_ready(i, end_ms, e);
	return r;
}

void demo_look(size_t number, struct side sides[SIDES])
{
	for (int i = 0; i < SIDES; i++) {
		struct side *s = &sides[i];

		s->count = audit_scan(demo.jobs[number][i], s->list, SIDE_MAX);
		for (size_t k = 0; !s->server && k < s->count && k < SIDE_MAX; k++)
			if (demo_is_server(s->list[k].args))
				s->server = s->list[k].pid;
	}
}

bool demo_kill(void)
{
	for (int i = 0; i < SIDES; i++)
		if (demo.clients[i])
			TerminateProcess(demo.clients[i], 1);
	return true;
}

size_t demo_count(size_t number, struct side sides[SIDES])
{
	(void)sides;
	return demo.jobs[number][SIDE_KILLICK] ? audit_count(demo.jobs[number][SIDE_KILLICK]) : 0;
}

size_t demo_close(void)
{
	size_t left = 0;

	for (size_t i = 0; i < SCENES; i++) {
		for (int k = 0; k < SIDES; k++) {
			if (demo.jobs[i][k])
				left += audit_kill(demo.jobs[i][k], GONE_MS);
			audit_close(demo.jobs[i][k]);
			demo.jobs[i][k] = NULL;
		}
	}
	for (int k = 0; k < SIDES; k++) {
		demo_drop(&demo.clients[k]);
		demo_drop(&demo.ready[k]);
	}
	interrupt_close(demo.interrupt);
	demo.interrupt = -1;
	return left;
}

int demo_end_as_asked(void)
{
	return demo.caught ? EXIT_SIGNAL + demo.caught : 0;
}
