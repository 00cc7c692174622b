/* quoting.c - nasty arguments, and which program a name means.
 *
 * quoting KILLICK.EXE
 *
 * Each argument goes through `killick run` to a program (exe) and to batch files (cmd, bat) that
 * pass their arguments on. It must arrive unchanged, or killick must refuse it: exit status 126 and
 * nothing was started. The second part makes directories and runs names in them. Shares no code
 * with killick.
 */
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "child.h"
#include "tap.h"

#define ANSWER_MS  20000
#define LINE_ROOM  40000
#define PATH_ROOM  32768
#define REFUSED    126
#define NOT_FOUND  127
#define END_MARK   L"the end"
#define BATCH_MAX  8191
#define LONG_COUNT 20000 /* characters of a long argument */

enum rule {
	ALWAYS,     /* arrives unchanged, by program and by batch file */
	NO_BATCH,   /* a batch file cannot be given this: refused */
	MAY_REFUSE, /* unchanged or refused */
	PERCENT,    /* ALWAYS; but cmd.exe of Wine 8 expands % in another way than Windows */
};

static const struct nasty {
	const wchar_t *text;
	enum rule rule;
} nasty[] = {
	{ L"", ALWAYS },
	{ L" ", ALWAYS },
	{ L"plain", ALWAYS },
	{ L"two words", ALWAYS },
	{ L"tab\there", ALWAYS },
	{ L"\"", ALWAYS },
	{ L"\"\"", ALWAYS },
	{ L"\"quoted\"", ALWAYS },
	{ L"a\"b", ALWAYS },
	{ L"a\"b c\"d", ALWAYS },
	{ L"\\", ALWAYS },
	{ L"\\\\", ALWAYS },
	{ L"end\\", ALWAYS },
	{ L"two words\\", ALWAYS },
	{ L"two words\\\\", ALWAYS },
	{ L"\\\"", ALWAYS },
	{ L"\\\\\"", ALWAYS },
	{ L"C:\\Program Files\\x\\", ALWAYS },
	{ L"\\\\server\\share\\a b", ALWAYS },
	{ L"&", ALWAYS },
	{ L"& calc.exe", ALWAYS },
	{ L"\"& calc.exe", ALWAYS },
	{ L"\"&calc.exe&\"", ALWAYS },
	{ L"a&b|c<d>e", ALWAYS },
	{ L"|", ALWAYS },
	{ L"> x", ALWAYS },
	{ L"<NUL", ALWAYS },
	{ L"2>&1", ALWAYS },
	{ L"(a) (b)", ALWAYS },
	{ L")", ALWAYS },
	{ L"^", ALWAYS },
	{ L"^^", ALWAYS },
	{ L"a^\"b", ALWAYS },
	{ L"^&calc.exe", ALWAYS },
	{ L"!", ALWAYS },
	{ L"!PATH!", ALWAYS },
	{ L"%", PERCENT },
	{ L"%%", PERCENT },
	{ L"%PATH%", PERCENT },
	{ L"%PATH:~0,1%", PERCENT },
	{ L"%1", PERCENT },
	{ L"%*", PERCENT },
	{ L"%~dp0", PERCENT },
	{ L"100%", PERCENT },
	{ L"\"%CD%&calc.exe", PERCENT },
	{ L"a;b,c=d", ALWAYS },
	{ L"*", ALWAYS },
	{ L"*.exe", ALWAYS },
	{ L"?", ALWAYS },
	{ L"@file", ALWAYS },
	{ L"'single'", ALWAYS },
	{ L"`back`", ALWAYS },
	{ L"$HOME ${x} $(y)", ALWAYS },
	{ L"~", ALWAYS },
	{ L"#", ALWAYS },
	{ L"/c", ALWAYS },
	{ L"/?", ALWAYS },
	{ L"--", ALWAYS },
	{ L"--help", ALWAYS },
	{ L"{\"key\": \"a b\\\\c\", \"list\": [1, 2]}", ALWAYS },
	{ L"\u00e4\u00f6\u00fc \u00df", ALWAYS },
	{ L"\u65e5\u672c\u8a9e", ALWAYS },
	{ L"\U0001f980", ALWAYS },
	{ L"\u201cquotes\u201d", ALWAYS },
	{ L"no\u00a0break", ALWAYS },
	{ L"\xd800 alone", MAY_REFUSE },
	{ L"control \x01 here", ALWAYS },
	{ L"a\nb", NO_BATCH },
	{ L"a\r\nb", NO_BATCH },
	{ L"a\rb", NO_BATCH },
	{ L"\n& calc.exe", NO_BATCH },
};

static const wchar_t *killick;
static wchar_t dir[MAX_PATH]; /* of this run; everything below it is removed at the end */
static double wine_version;   /* 0: Windows */

/* --- running killick --- */

struct answer {
	DWORD status;        /* of killick */
	char name[64];       /* of the program that ran; empty: none did */
	char args[32][1024]; /* as args.exe writes them */
	int count;
	char said[512]; /* the last line that is not from args.exe */
};

static void quoting_hear(struct child *c, struct answer *a)
{
	static char line[8192];

	while (child_hear(c, line, sizeof(line), ANSWER_MS)) {
		if (!strncmp(line, "name ", 5))
			snprintf(a->name, sizeof(a->name), "%.60s", line + 5);
		else if (!strncmp(line, "arg", 3) && a->count < 32)
			snprintf(a->args[a->count++], sizeof(a->args[0]), "%.1000s", line + 3);
		else
			snprintf(a->said, sizeof(a->said), "%.500s", line);
	}
}

static struct answer *quoting_run(const wchar_t *cwd, const wchar_t *const *words)
{
	static struct answer a;
	static wchar_t line[LINE_ROOM];
	struct child c;

	memset(&a, 0, sizeof(a));
	a.status = (DWORD)-1;
	*line = L'\0';
	child_quote(line, LINE_ROOM, killick);
	wcscat(line, L" run --");
	for (; *words; words++)
		child_quote(line, LINE_ROOM, *words);
	if (child_start(&c, &(struct child_spec){ .line = line, .cwd = cwd, .hear_errors = true }))
		return &a;
	child_close_in(&c);
	quoting_hear(&c, &a);
	if (WaitForSingleObject(c.process, ANSWER_MS) == WAIT_OBJECT_0)
		GetExitCodeProcess(c.process, &a.status);
	else
		TerminateProcess(c.process, 1);
	child_done(&c);
	return &a;
}

/* --- files --- */

static const wchar_t *quoting_path(const wchar_t *name)
{
	static wchar_t out[4][PATH_ROOM];
	static int next;
	wchar_t *p = out[next++ % 4];

	swprintf(p, PATH_ROOM, L"%ls\\%ls", dir, name);
	return p;
}

static void quoting_write(const wchar_t *name, const char *text)
{
	FILE *f = _wfopen(quoting_path(name), L"wb");

	if (!f)
		tap_result(false, NULL, "cannot write a file");
	if (!f)
		return;
	fputs(text, f);
	fclose(f);
}

/* A program that says its name; below dir. */
static void quoting_program(const wchar_t *name)
{
	wchar_t args[MAX_PATH];

	child_own_dir(args, MAX_PATH - 10);
	wcscat(args, L"args.exe");
	if (!CopyFileW(args, quoting_path(name), FALSE))
		tap_result(false, NULL, "cannot copy args.exe");
}

/* A batch file that starts a program in its own directory. */
static void quoting_batch(const wchar_t *name, const char *program)
{
	char text[200];

	snprintf(text, sizeof(text), "@\"%%~dp0%s\" %%*\r\n", program);
	quoting_write(name, text);
}

static void quoting_remove(const wchar_t *path)
{
	WIN32_FIND_DATAW d;
	wchar_t name[PATH_ROOM / 8];
	HANDLE h;

	swprintf(name, PATH_ROOM / 8, L"%ls\\*", path);
	h = FindFirstFileW(name, &d);
	if (h != INVALID_HANDLE_VALUE) {
		do {
			if (!wcscmp(d.cFileName, L".") || !wcscmp(d.cFileName, L".."))
				continue;
			swprintf(name, PATH_ROOM / 8, L"%ls\\%ls", path, d.cFileName);
			if (d.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY)
				quoting_remove(name);
			else
				DeleteFileW(name);
		} while (FindNextFileW(h, &d));
		FindClose(h);
	}
	RemoveDirectoryW(path);
}

/* --- arguments --- */

static void quoting_hex(const wchar_t *text, char *out, size_t size)
{
	size_t used = 0;

	*out = '\0';
	for (; *text && used + 8 < size; text++)
		used += (size_t)snprintf(out + used, size - used, " %04x", (unsigned)*text);
}

/* As much of a text as TAP can show. */
static void quoting_show(const wchar_t *text, char *out, size_t size)
{
	child_utf8(text, out, size);
	for (char *p = out; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = '~';
		else if (*p == '#')
			*p = '+';
}

static bool quoting_arrived(const struct answer *a, const wchar_t *text)
{
	char want[1024], end[64];

	quoting_hex(text, want, sizeof(want));
	quoting_hex(END_MARK, end, sizeof(end));
	return a->status == 0 && a->count == 2 && !strcmp(a->args[0], want) &&
	       !strcmp(a->args[1], end);
}

static void quoting_argument(const wchar_t *target, const char *kind, const struct nasty *n)
{
	bool batch = strcmp(kind, "exe");
	const wchar_t *const words[] = { target, n->text, END_MARK, NULL };
	struct answer *a = quoting_run(dir, words);
	bool arrived = quoting_arrived(a, n->text);
	bool refused = a->status == REFUSED && !*a->name && *a->said;
	bool want_refusal = batch && n->rule == NO_BATCH;
	bool ok = want_refusal ? refused : arrived || (n->rule == MAY_REFUSE && refused);
	const char *skip = NULL;
	char shown[400];

	quoting_show(n->text, shown, sizeof(shown));
	if (!ok && n->rule == PERCENT && batch && wine_version && wine_version < 9) {
		skip = "cmd.exe of this Wine expands percent signs in another way than Windows";
		ok = true;
	}
	if (!ok)
		tap_note("status %lu, %d arguments, first:%s; said: %s", a->status, a->count,
			 a->args[0], a->said);
	tap_result(ok, skip, "%s <%s> %s", kind, shown, refused ? "refused" : "unchanged");
}

static void quoting_arguments(void)
{
	quoting_program(L"args.exe");
	quoting_batch(L"args-cmd.cmd", "args.exe");
	quoting_batch(L"args-bat.bat", "args.exe");
	for (size_t i = 0; i < sizeof(nasty) / sizeof(*nasty); i++) {
		quoting_argument(quoting_path(L"args.exe"), "exe", &nasty[i]);
		quoting_argument(quoting_path(L"args-cmd.cmd"), "cmd", &nasty[i]);
		quoting_argument(quoting_path(L"args-bat.bat"), "bat", &nasty[i]);
	}
}

/* All harmless ones in one command, so that one cannot change the next. */
static void quoting_together(const wchar_t *target, const char *kind)
{
	const wchar_t *words[32] = { target };
	struct answer *a;
	char want[1024];
	bool ok;
	int n = 1;

	for (size_t i = 0; i < 36 && n < 31; i++)
		if (nasty[i].rule == ALWAYS)
			words[n++] = nasty[i].text;
	a = quoting_run(dir, words);
	ok = a->status == 0 && a->count == n - 1;
	for (int i = 1; ok && i < n; i++) {
		quoting_hex(words[i], want, sizeof(want));
		ok = !strcmp(want, a->args[i - 1]);
	}
	tap_result(ok, NULL, "%s with %d of them at once", kind, n - 1);
}

static void quoting_long(void)
{
	static wchar_t text[LONG_COUNT + 1];
	const wchar_t *words[] = { quoting_path(L"args.exe"), text, NULL };
	struct answer *a;

	wmemset(text, L'x', LONG_COUNT);
	a = quoting_run(dir, words);
	tap_result(a->status == 0 && a->count == 1, NULL, "a program gets %d characters",
		   LONG_COUNT);
	words[0] = quoting_path(L"args-cmd.cmd");
	a = quoting_run(dir, words);
	tap_result(a->status == REFUSED && !*a->name, NULL,
		   "more than the %d characters of cmd.exe are refused", BATCH_MAX);
}

/* --- names --- */

static const struct name {
	const char *about;
	const wchar_t *cwd;     /* below dir */
	const wchar_t *path;    /* PATH; | stands for dir\ */
	const wchar_t *pathext; /* NULL: not set */
	const wchar_t *word;    /* the program; | as above */
	const char *runs;       /* name of the program that runs; NULL: none */
	DWORD status;
} names[] = {
	{ "the current directory is not searched", L"evil", L"|empty", L".EXE;.CMD", L"tool", NULL,
	  NOT_FOUND },
	{ "neither with the extension given", L"evil", L"|empty", L".EXE;.CMD", L"tool.exe", NULL,
	  NOT_FOUND },
	{ "PATH wins over the current directory", L"evil", L"|a", L".EXE;.CMD", L"tool",
	  "inner-a.exe", 0 },
	{ "an empty entry of PATH is not the current directory", L"evil", L";;|a;", L".EXE;.CMD",
	  L"tool", "inner-a.exe", 0 },
	{ "a relative entry of PATH is skipped", L"evil", L".;|a", L".EXE;.CMD", L"tool",
	  "inner-a.exe", 0 },
	{ "the directory of killick is not searched", L"empty", L"|empty", L".EXE", L"killick",
	  NULL, NOT_FOUND },
	{ "an extensionless shim is found by PATHEXT", L"empty", L"|a", L".COM;.EXE;.BAT;.CMD",
	  L"tool", "inner-a.exe", 0 },
	{ "PATHEXT decides: .CMD first", L"empty", L"|b", L".CMD;.EXE", L"both", "inner-b.exe", 0 },
	{ "PATHEXT decides: .EXE first", L"empty", L"|b", L".EXE;.CMD", L"both", "both.exe", 0 },
	{ "PATHEXT in small letters", L"empty", L"|b", L".cmd;.exe", L"both", "inner-b.exe", 0 },
	{ "without PATHEXT .exe and .cmd are found", L"empty", L"|a", NULL, L"tool", "inner-a.exe",
	  0 },
	{ "the first directory of PATH wins", L"empty", L"|a;|c", L".EXE;.CMD", L"tool",
	  "inner-a.exe", 0 },
	{ "the second directory of PATH", L"empty", L"|empty;|c", L".EXE;.CMD", L"tool", "tool.exe",
	  0 },
	{ "a directory with spaces", L"empty", L"|with space", L".EXE;.CMD", L"tool", "tool.exe",
	  0 },
	{ "a batch file in a directory with spaces", L"empty", L"|with space", L".EXE;.CMD",
	  L"shim", "tool.exe", 0 },
	{ "a directory with other letters", L"empty", L"|\u00fc \u65e5\u672c", L".EXE;.CMD",
	  L"tool", "tool.exe", 0 },
	{ "a batch file in a directory with & and %", L"empty", L"|a&b %PATH%", L".EXE;.BAT",
	  L"shim", "tool.exe", 0 },
	{ "an entry of PATH in quotes", L"empty", L"\"|semi;colon\"", L".EXE;.CMD", L"tool",
	  "tool.exe", 0 },
	{ "a directory of that name is no program", L"empty", L"|d;|c", L".EXE;.CMD", L"tool",
	  "tool.exe", 0 },
	{ "a script is no program", L"empty", L"|c", L".JS;.EXE", L"script.js", NULL, REFUSED },
	{ "an extension of PATHEXT that is no program", L"empty", L"|c", L".JS;.EXE", L"script",
	  NULL, NOT_FOUND },
	{ "a name that is nowhere", L"empty", L"|a;|b", L".EXE;.CMD", L"nowhere", NULL, NOT_FOUND },
	{ "a full path", L"empty", L"|empty", L".EXE;.CMD", L"|c\\tool.exe", "tool.exe", 0 },
	{ "a full path without extension", L"empty", L"|empty", L".EXE;.CMD", L"|a\\tool",
	  "inner-a.exe", 0 },
	{ "a path from the current directory", L"evil", L"|empty", L".EXE;.CMD", L".\\tool",
	  "tool.exe", 0 },
	{ "a path with slashes", L"evil", L"|empty", L".EXE;.CMD", L"../c/tool.exe", "tool.exe",
	  0 },
	{ "dots and spaces behind .cmd do not hide a batch file", L"empty", L"|a", L".EXE;.CMD",
	  L"|a\\tool.cmd. .", "inner-a.exe", 0 },
};

/* | becomes the directory and a backslash. */
static const wchar_t *quoting_expand(const wchar_t *text)
{
	static wchar_t out[2][PATH_ROOM];
	static int next;
	wchar_t *p = out[next++ % 2];

	*p = L'\0';
	for (size_t len = 0; *text; text++) {
		len = wcslen(p);
		if (*text == L'|')
			swprintf(p + len, PATH_ROOM - len, L"%ls\\", dir);
		else
			swprintf(p + len, PATH_ROOM - len, L"%lc", *text);
	}
	return p;
}

static void quoting_make_names(void)
{
	static const wchar_t *const dirs[] = { L"evil",
					       L"empty",
					       L"a",
					       L"b",
					       L"c",
					       L"d",
					       L"d\\tool.exe",
					       L"with space",
					       L"a&b %PATH%",
					       L"semi;colon",
					       L"\u00fc \u65e5\u672c" };
	static const wchar_t *const programs[] = {
		L"evil\\tool.exe",       L"a\\inner-a.exe",       L"b\\inner-b.exe",
		L"b\\both.exe",          L"c\\tool.exe",          L"with space\\tool.exe",
		L"a&b %PATH%\\tool.exe", L"semi;colon\\tool.exe", L"\u00fc \u65e5\u672c\\tool.exe"
	};

	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		CreateDirectoryW(quoting_path(dirs[i]), NULL);
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		quoting_program(programs[i]);
	quoting_write(L"a\\tool", "#!/bin/sh\nexec false\n");
	quoting_batch(L"a\\tool.cmd", "inner-a.exe");
	quoting_batch(L"b\\both.cmd", "inner-b.exe");
	quoting_batch(L"with space\\shim.cmd", "tool.exe");
	/* not by %~dp0: cmd.exe of Wine expands the name of the directory once more */
	quoting_write(L"a&b %PATH%\\shim.bat", "@..\\c\\tool.exe %*\r\n");
	quoting_write(L"c\\script.js", "process.exit(3)\n");
}

static void quoting_name(const struct name *n)
{
	const wchar_t *const words[] = { quoting_expand(n->word), L"a b", NULL };
	struct answer *a;
	bool ok;

	SetEnvironmentVariableW(L"PATH", quoting_expand(n->path));
	SetEnvironmentVariableW(L"PATHEXT", n->pathext);
	a = quoting_run(quoting_path(n->cwd), words);
	ok = a->status == n->status && !strcmp(a->name, n->runs ? n->runs : "") &&
	     (!n->runs || (a->count == 1 && !strcmp(a->args[0], " 0061 0020 0062")));
	if (!ok)
		tap_note("status %lu, ran '%s', %d arguments; said: %s", a->status, a->name,
			 a->count, a->said);
	tap_result(ok, NULL, "%s", n->about);
}

static bool quoting_prepare(void)
{
	const char *(*version)(void) = (const char *(*)(void))(void *)GetProcAddress(
		GetModuleHandleW(L"ntdll"), "wine_get_version");

	wine_version = version ? atof(version()) : 0;
	return child_temp_dir(dir, MAX_PATH);
}

int wmain(int argc, wchar_t **argv); /* the C runtime declares none */

int wmain(int argc, wchar_t **argv)
{
	static wchar_t path[MAX_PATH];

	if (argc != 2) {
		fprintf(stderr, "quoting: usage: quoting KILLICK.EXE\n");
		return 64;
	}
	GetFullPathNameW(argv[1], MAX_PATH, path, NULL);
	killick = path;
	if (!quoting_prepare()) {
		fprintf(stderr, "quoting: cannot make '%ls'\n", dir);
		return 69;
	}
	quoting_arguments();
	quoting_together(quoting_path(L"args.exe"), "exe");
	quoting_together(quoting_path(L"args-cmd.cmd"), "cmd");
	quoting_long();
	quoting_make_names();
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		quoting_name(&names[i]);
	quoting_remove(dir);
	return tap_finish();
}
