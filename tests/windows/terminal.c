/* terminal.c KILLICK - `killick run --terminal yes` between two pipes of Windows.
 *
 * Each trial starts console.exe, which lies beside this program, in a terminal. Its output comes
 * from the host of the console, so the end of the output means that the host has ended.
 */
#include "child.h"

#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "tap.h"

#define LINE_ROOM 1200
#define ANSWER_MS 30000

int wmain(int argc, wchar_t **argv); /* the C runtime declares none */

static bool is_wine(void)
{
	return GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "wine_get_version") != NULL;
}

struct trial {
	struct child killick;
	HANDLE server; /* console.exe; NULL: not known */
	char first[512];
};

/* Wait for a line with this text. The line may have escape sequences in it. */
static bool hears(struct trial *t, const char *text, char *out, size_t size)
{
	char line[512];

	while (child_hear(&t->killick, line, sizeof(line), ANSWER_MS)) {
		if (strstr(line, text)) {
			if (out)
				snprintf(out, size, "%s", line);
			return true;
		}
	}
	tap_note("not heard: %s", text);
	return false;
}

/* Read until both the output and the server have ended. */
static bool ends(struct trial *t)
{
	double begun = child_now_ms();
	char line[512];
	bool gone;

	while (child_hear(&t->killick, line, sizeof(line), ANSWER_MS))
		;
	gone = WaitForSingleObject(t->server, ANSWER_MS) == WAIT_OBJECT_0 &&
	       WaitForSingleObject(t->killick.process, ANSWER_MS) == WAIT_OBJECT_0;
	return gone && child_now_ms() - begun < ANSWER_MS;
}

static bool begin(struct trial *t, const wchar_t *killick)
{
	wchar_t line[LINE_ROOM] = L"", console[MAX_PATH + 16];
	unsigned long pid = 0;
	const char *at;

	memset(t, 0, sizeof(*t));
	child_own_dir(console, MAX_PATH);
	wcscat(console, L"console.exe");
	child_quote(line, LINE_ROOM, killick);
	wcscat(line, L" run --grace 1s --terminal yes --");
	child_quote(line, LINE_ROOM, console);
	wcscat(line, L" mark");
	if (child_start(&t->killick, &(struct child_spec){ .line = line }) ||
	    !hears(t, "console in=", t->first, sizeof(t->first)))
		return false;
	at = strstr(t->first, "pid=");
	if (at && sscanf(at, "pid=%lu", &pid) == 1)
		t->server = OpenProcess(SYNCHRONIZE, FALSE, pid);
	return t->server != NULL;
}

static void finish(struct trial *t)
{
	TerminateProcess(t->killick.process, 1);
	child_done(&t->killick);
	if (t->server)
		CloseHandle(t->server);
}

static void try_console(const wchar_t *killick)
{
	struct trial t;
	DWORD code = 0;
	bool ok = begin(&t, killick);

	tap_result(ok && strstr(t.first, "in=1 out=1 tty=11 size=80x24 "), NULL,
		   "a server has a console of 80 columns and 24 lines");
	tap_result(is_wine() || strstr(t.first, "standard=1"),
		   is_wine() ? "Wine leaves them empty" : NULL,
		   "the standard handles of a server are the console");
	/* the server goes on: its handler says that the event has been handled */
	tap_result(is_wine() ||
			   (ok && child_tell(&t.killick, "\x03") && hears(&t, "event 0", NULL, 0)),
		   is_wine() ? "Wine only ends a read, and calls no handler" : NULL,
		   "a typed Ctrl-C reaches a server");
	ok = ok && child_tell(&t.killick, "say something\r") && hears(&t, "heard some", NULL, 0);
	tap_result(ok, NULL, "keys reach a server, and its output comes back");
	ok = ok && child_tell(&t.killick, "exit 6\r") && ends(&t) &&
	     GetExitCodeProcess(t.killick.process, &code) && code == 6;
	tap_result(ok, NULL, "the exit code of a server in a terminal comes back");
	finish(&t);
}

static void try_hang_up(const wchar_t *killick)
{
	struct trial t;
	bool ok = begin(&t, killick);

	child_close_in(&t.killick);
	tap_result(ok && ends(&t), NULL, "the end of stdin ends server, host and killick");
	finish(&t);
}

static void try_kill(const wchar_t *killick)
{
	struct trial t;
	bool ok = begin(&t, killick) && TerminateProcess(t.killick.process, 9);

	tap_result(ok && ends(&t), NULL, "a terminated killick leaves neither server nor host");
	finish(&t);
}

int wmain(int argc, wchar_t **argv)
{
	if (argc < 2) {
		fprintf(stderr, "terminal: give the path of killick.exe\n");
		return 64;
	}
	try_console(argv[1]);
	try_hang_up(argv[1]);
	try_kill(argv[1]);
	return tap_finish();
}
