/* keeper.c - see keeper.h */
#include "keeper.h"

#include <assert.h>
#include <io.h>
#include <ntsecapi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <winternl.h>

#include "clock.h"
#include "command.h"
#include "control.h"
#include "keeper/exits.h"
#include "line_handle.h"
#include "report.h"
#include "wide.h"

#define EPOCH_FILETIME 116444736000000000ULL /* 1970 in the time of Windows: 100 ns since 1601 */

/* --- words --- */

void keeper_say(const char *fmt, ...)
{
	static struct line l;
	va_list ap;

	va_start(ap, fmt);
	control_refused(line_say(&l, fmt, ap));
	va_end(ap);
	line_add(&l, "\n");
	line_write(&l, GetStdHandle(STD_ERROR_HANDLE));
}

void keeper_log(const struct keeper *k, const char *fmt, ...)
{
	static struct line l;
	unsigned long long now_ms;
	FILETIME now;
	va_list ap;

	if (!k->log)
		return;
	GetSystemTimePreciseAsFileTime(&now);
	now_ms = ((unsigned long long)now.dwHighDateTime << 32 | now.dwLowDateTime);
	now_ms = (now_ms - EPOCH_FILETIME) / 10000;
	line_init(&l);
	line_add(&l, "time=%llu.%03llu tree=%s name=%s ", now_ms / 1000, now_ms % 1000, k->id,
		 k->opt.recipe.name);
	va_start(ap, fmt);
	line_vadd(&l, fmt, ap);
	va_end(ap);
	line_flatten(&l);
	line_add(&l, "\n");
	line_write(&l, k->log);
}

/* --- before the start --- */

/* What Windows does not have is refused, never ignored. */
static int keeper_refuse(const struct options *opt)
{
	enum level level = opt->recipe.contain;

	if (level != LEVEL_AUTO && level != LEVEL_JOB) {
		keeper_say("--contain %s is not possible here: it is a level of Linux; use "
			   "--contain job, or remove the option",
			   level_name(level));
		return EXIT_UNAVAILABLE;
	}
	if (opt->recipe.stdio == STDIO_TERMINAL && !terminal_is_possible()) {
		keeper_say("a terminal for the server is not possible here: this Windows has no "
			   "pseudo consoles; update to Windows 10 1809, or remove --terminal yes");
		return EXIT_UNAVAILABLE;
	}
	if (opt->has_container) {
		keeper_say("--container is not possible here: on Windows killick does not end the "
			   "containers of a command; remove the option");
		return EXIT_UNAVAILABLE;
	}
	return 0;
}

/* A console gives keys as records and shows text itself: a pseudo console needs bytes. */
static int keeper_check_terminal(const struct options *opt)
{
	DWORD mode;

	if (opt->recipe.stdio != STDIO_TERMINAL ||
	    (!GetConsoleMode(GetStdHandle(STD_INPUT_HANDLE), &mode) &&
	     !GetConsoleMode(GetStdHandle(STD_OUTPUT_HANDLE), &mode)))
		return 0;
	keeper_say("--terminal yes: stdin or stdout is a console already, and the server gets that "
		   "console without this option; remove it, or use pipes");
	return EXIT_USAGE;
}

/* A file to append to, or a descriptor that the client opened for killick: the C runtime passes
 * descriptors to new processes, and node's `stdio` uses this. */
static HANDLE keeper_open_output(const char *option, const char *where, bool may_be_fd)
{
	static wchar_t wide[PROGRAM_MAX];
	bool is_fd = may_be_fd && where[strspn(where, "0123456789")] == '\0';
	HANDLE h = INVALID_HANDLE_VALUE;

	SetLastError(ERROR_INVALID_HANDLE);
	if (is_fd)
		h = (HANDLE)_get_osfhandle(atoi(where));
	else if (wide_from_utf8(where, wide, PROGRAM_MAX) <= PROGRAM_MAX)
		h = CreateFileW(wide, FILE_APPEND_DATA | SYNCHRONIZE,
				FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
				OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, NULL);
	if (h != INVALID_HANDLE_VALUE)
		return h;
	keeper_say("%s: cannot write to %s'%s': %s", option, is_fd ? "descriptor " : "", where,
		   win_error(GetLastError()));
	return NULL;
}

static int keeper_make_id(struct keeper *k)
{
	unsigned char raw[TREE_ID_LEN / 2];
	wchar_t wide[TREE_ID_LEN + 1];

	if (!RtlGenRandom(raw, sizeof(raw))) {
		keeper_say("cannot get random numbers for the tree's id: %s",
			   win_error(GetLastError()));
		return EXIT_UNAVAILABLE;
	}
	for (size_t i = 0; i < sizeof(raw); i++)
		snprintf(k->id + 2 * i, 3, "%02x", raw[i]);
	wide_from_utf8(k->id, wide, TREE_ID_LEN + 1);
	SetEnvironmentVariableW(L"" TREE_ENV, wide); /* the server inherits the environment */
	return 0;
}

int keeper_init(struct keeper *k, const struct options *opt)
{
	int r;

	memset(k, 0, sizeof(*k));
	k->opt = *opt;
	k->begun_us = clock_us();
	if (opt->control >= 0 && !control_open((unsigned)opt->control)) {
		keeper_say("--control %d: not an inherited handle of a pipe of messages",
			   opt->control);
		return EXIT_USAGE;
	}
	r = keeper_refuse(opt);
	if (r || (r = keeper_check_terminal(opt)) || (r = keeper_make_id(k)))
		return r;
	if (opt->report && !(k->report = keeper_open_output("--report", opt->report, true)))
		return EXIT_USAGE;
	if (opt->log && !(k->log = keeper_open_output("--log", opt->log, false)))
		return EXIT_USAGE;
	/* as for the server: a program of the tree that crashes must end, and not show a window */
	SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX);
	return 0;
}

/* The parent is known only by a number, which may be that of another process by now. Then that
 * process is younger than this one. Once its handle is open, the number stays with the process. */
static bool keeper_is_older(HANDLE process)
{
	return record_who(process, 0).start <= record_who(GetCurrentProcess(), 0).start;
}

static DWORD keeper_parent_pid(void)
{
	PROCESS_BASIC_INFORMATION info = { .UniqueProcessId = 0 };

	if (NtQueryInformationProcess(GetCurrentProcess(), ProcessBasicInformation, &info,
				      sizeof(info), NULL) != 0)
		return 0;
	return (DWORD)(ULONG_PTR)info.InheritedFromUniqueProcessId;
}

static int keeper_find_owner(struct keeper *k)
{
	bool parent = k->opt.owner == OWNER_PARENT;
	DWORD pid = parent ? keeper_parent_pid() : (DWORD)k->opt.owner_pid, error;

	if (k->opt.owner == OWNER_STDIN) {
		if (ear_can_hear(GetStdHandle(STD_INPUT_HANDLE)))
			return 0;
		keeper_say("--owner stdin: stdin is no pipe and can never be closed by its other "
			   "end; use a pipe, or --owner PID");
		return EXIT_USAGE;
	}
	if (pid == 0) { /* in Wine, when a program of Linux starts killick */
		notes_add(&k->notes,
			  "owner: the parent is no process of Windows; only the end of stdin "
			  "is noticed");
		return 0;
	}
	k->owner = OpenProcess(SYNCHRONIZE | PROCESS_QUERY_LIMITED_INFORMATION, FALSE, pid);
	error = GetLastError();
	if (!k->owner && error == ERROR_ACCESS_DENIED && parent) {
		notes_add(&k->notes, "owner: %s; only the end of stdin is noticed",
			  win_error(error));
		return 0;
	}
	if (!k->owner && !parent) {
		keeper_say("--owner %lu: %s; give the id of a process of this user", pid,
			   error == ERROR_INVALID_PARAMETER ? "no such process" : win_error(error));
		return EXIT_USAGE;
	}
	/* dead already: there is no owner to serve */
	if (!k->owner || (parent && !keeper_is_older(k->owner)) ||
	    WaitForSingleObject(k->owner, 0) == WAIT_OBJECT_0)
		return EXIT_UNAVAILABLE;
	k->owner_pid = pid;
	return 0;
}

static int keeper_enter_cwd(const char *cwd)
{
	static wchar_t wide[PROGRAM_MAX];

	SetLastError(ERROR_FILENAME_EXCED_RANGE);
	if (!cwd ||
	    (wide_from_utf8(cwd, wide, PROGRAM_MAX) <= PROGRAM_MAX && SetCurrentDirectoryW(wide)))
		return 0;
	keeper_say("cannot enter the directory '%s': %s; check the working directory (--cwd, or "
		   "cwd in the config)",
		   cwd, win_error(GetLastError()));
	return EXIT_CANNOT_RUN;
}

static void keeper_begin_record(struct keeper *k)
{
	struct record rec = { .watch = record_who(GetCurrentProcess(), GetCurrentProcessId()),
			      .grace_ms = k->opt.recipe.grace_ms,
			      .started_ms = clock_boot_ms() };
	static struct line cmd;
	DWORD error;

	if (k->owner)
		rec.owner = record_who(k->owner, k->owner_pid);
	memcpy(rec.tree, k->id, sizeof(rec.tree));
	error = record_open(&k->record, &rec);
	if (error) {
		notes_add(&k->notes, "record: %s; 'killick ps' does not see this tree",
			  win_error(error));
		return;
	}
	report_command(&k->opt.recipe, &cmd);
	cmd.text[COMMAND_SHOWN] = '\0';
	record_add(&k->record, "level", "%s", level_name(LEVEL_JOB));
	record_add(&k->record, "name", "%s", k->opt.recipe.name);
	record_add(&k->record, "command", "%s", cmd.text);
	if (k->opt.recipe.session)
		record_add(&k->record, "session", "%s", k->opt.recipe.session);
}

/* Not with a channel: there the owner says when it closes stdin. */
static bool keeper_needs_ear(void)
{
	return !control_is_open() && ear_can_hear(GetStdHandle(STD_INPUT_HANDLE));
}

int keeper_prepare(struct keeper *k)
{
	DWORD error;
	int r = keeper_find_owner(k);

	if (r || (r = keeper_enter_cwd(k->opt.recipe.cwd)))
		return r;
	error = job_open(&k->job, k->opt.recipe.limits, keeper_needs_ear() ? 1 : 0);
	if (error) {
		keeper_say("cannot hold a server without a job object: %s", win_error(error));
		return EXIT_UNAVAILABLE;
	}
	error = seal_self();
	if (error)
		notes_add(&k->notes, "seal: %s; the server can take killick's handles",
			  win_error(error));
	keeper_begin_record(k);
	return 0;
}

/* --- the start --- */

/* A copy of a standard handle that the server inherits; NUL when the client left it closed. */
static HANDLE keeper_copy_standard(DWORD which)
{
	SECURITY_ATTRIBUTES inherited = { sizeof(inherited), NULL, TRUE };
	HANDLE from = GetStdHandle(which), copy = NULL;

	if (from && from != INVALID_HANDLE_VALUE &&
	    DuplicateHandle(GetCurrentProcess(), from, GetCurrentProcess(), &copy, 0, TRUE,
			    DUPLICATE_SAME_ACCESS))
		return copy;
	return CreateFileW(L"NUL", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE,
			   &inherited, OPEN_EXISTING, 0, NULL);
}

static void keeper_start_ear(struct keeper *k, HANDLE in)
{
	DWORD error;

	if (!keeper_needs_ear()) {
		if (!control_is_open() && GetFileType(in) == FILE_TYPE_PIPE)
			notes_add(&k->notes,
				  "stdin: not a pipe of Windows, so its end is not noticed; "
				  "only the owner's end is noticed");
		return;
	}
	error = ear_start(&k->ear, &k->job, in);
	if (error)
		notes_add(&k->notes, "ear: %s; only the owner's end is noticed, not that of stdin",
			  win_error(error));
}

static int keeper_open_terminal(struct keeper *k, HANDLE standard[3])
{
	DWORD error;

	if (k->opt.recipe.stdio != STDIO_TERMINAL)
		return 0;
	error = terminal_open(&k->terminal, standard[0], standard[1]);
	if (error == 0)
		return 0;
	keeper_say("cannot make a terminal for the server: %s; remove --terminal yes",
		   win_error(error));
	return EXIT_UNAVAILABLE;
}

/* The server inherits no handles: Windows opens the console for it. It has no process group of its
 * own, for which Windows would switch off Ctrl-C; the same from killick's parent must not be passed
 * on: the keys of a terminal work. */
static DWORD keeper_start_in_terminal(struct keeper *k, struct command *c)
{
	struct job_start start = { .program = c->program,
				   .line = c->line,
				   .console = k->terminal.console };

	SetConsoleCtrlHandler(NULL, FALSE);
	return job_spawn(&k->job, &start, &k->server, &k->server_pid);
}

/* Where there is no console to inherit, Windows would open a new one, with a window. */
static DWORD keeper_start_with_pipes(struct keeper *k, struct command *c, HANDLE standard[3])
{
	struct job_start start = {
		.program = c->program,
		.line = c->line,
		.inherit = standard,
		.inherit_count = 3,
		.in = standard[0],
		.out = standard[1],
		.err = standard[2],
		.flags = CREATE_NEW_PROCESS_GROUP,
	};

	k->has_console = GetConsoleCP() != 0;
	if (!k->has_console)
		start.flags |= CREATE_NO_WINDOW;
	return job_spawn(&k->job, &start, &k->server, &k->server_pid);
}

static int keeper_explain(const struct keeper *k, DWORD error)
{
	const char *name = k->opt.recipe.argv[0];

	if (error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND) {
		keeper_say("cannot run '%s': not found; install it or give its full path", name);
		return EXIT_NOT_FOUND;
	}
	if (error == ERROR_NOT_ENOUGH_QUOTA || error == ERROR_NOT_ENOUGH_MEMORY ||
	    error == ERROR_COMMITMENT_LIMIT || error == ERROR_NO_SYSTEM_RESOURCES) {
		keeper_say("cannot start '%s': %s; end some programs, or raise --max-procs and "
			   "--memory",
			   name, win_error(error));
		return EXIT_TRY_AGAIN;
	}
	keeper_say("cannot run '%s': %s; check that it is a program for this machine", name,
		   win_error(error));
	return EXIT_CANNOT_RUN;
}

int keeper_start(struct keeper *k)
{
	static const DWORD names[] = { STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE };
	static struct command command;
	static struct line why;
	HANDLE standard[3];
	DWORD error;
	int r = command_make(&command, &k->opt.recipe, &why);

	if (r) {
		keeper_say("%s", why.text);
		return r;
	}
	for (int i = 0; i < 3; i++)
		standard[i] = keeper_copy_standard(names[i]);
	r = keeper_open_terminal(k, standard);
	if (r)
		return r;
	keeper_start_ear(k, standard[0]);
	if (k->terminal.console)
		error = keeper_start_in_terminal(k, &command);
	else
		error = keeper_start_with_pipes(k, &command, standard);
	if (error)
		return keeper_explain(k, error);
	for (int i = 0; i < 3; i++) {
		CloseHandle(standard[i]);
		CloseHandle(GetStdHandle(names[i]));
		SetStdHandle(names[i], NULL);
	}
	control_started(k->server_pid, level_name(LEVEL_JOB), k->id);
	record_add(&k->record, "server", "%lu %llu", k->server_pid,
		   record_who(k->server, k->server_pid).start);
	keeper_log(k, "event=start pid=%lu level=job owner=%lu", k->server_pid, k->owner_pid);
	return 0;
}

/* --- the end --- */

/* A server with a console of its own gets the event through that console, which killick joins for
 * the moment. */
static DWORD keeper_send_break(const struct keeper *k)
{
	bool joined = !k->has_console && AttachConsole(k->server_pid);
	DWORD error = 0;

	if (!GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, k->server_pid))
		error = GetLastError();
	if (joined)
		FreeConsole();
	return error;
}

void keeper_ask_to_end(struct keeper *k)
{
	DWORD error = k->terminal.console ? terminal_send(k->server_pid, CTRL_BREAK_EVENT)
					  : keeper_send_break(k);

	if (error)
		notes_add(&k->notes, "break: %s; the server was not asked to end",
			  win_error(error));
}

void keeper_interrupt(struct keeper *k)
{
	if (!k->terminal.console)
		keeper_ask_to_end(k);
	else if (terminal_send(k->server_pid, CTRL_C_EVENT) != 0)
		notes_add(&k->notes, "interrupt: Ctrl-C could not be sent to the terminal");
}

void keeper_stopping(struct keeper *k, enum why why, unsigned budget_ms)
{
	long long now_ms = clock_boot_ms();

	assert(k->id[0]);
	if (k->stop_us)
		return;
	k->stop_us = clock_us();
	k->why = why;
	record_add(&k->record, "stopping", "%lld %lld %s", now_ms,
		   now_ms + budget_ms + KILL_BUDGET_MS, report_why(why));
	keeper_log(k, "event=stop why=%s", report_why(why));
}

/* Processes of the tree beside the server and the ear. */
static unsigned keeper_others(const struct keeper *k)
{
	unsigned count = job_count(&k->job);
	unsigned own = WaitForSingleObject(k->ear.process, 0) == WAIT_TIMEOUT;

	own += WaitForSingleObject(k->server, 0) == WAIT_TIMEOUT;
	return count > own ? count - own : 0;
}

/* End the tree, then its terminal, whose host has to show what the tree wrote. Returns the number
 * of processes that are left. */
static unsigned keeper_empty(struct keeper *k)
{
	unsigned left = job_kill(&k->job, KILL_BUDGET_MS);

	return terminal_end(&k->terminal, KILL_BUDGET_MS) && !left ? 1 : left;
}

int keeper_fail(struct keeper *k, int code)
{
	keeper_stopping(k, WHY_FAILED, 0);
	k->exit_code = (DWORD)code;
	k->exited = true;
	report_end(k, keeper_empty(k));
	return code;
}

int keeper_end(struct keeper *k)
{
	unsigned others = keeper_others(k), left;

	assert(k->server && k->stop_us);
	left = keeper_empty(k);
	k->killed = others > left ? others - left : 0;
	if (!k->exited && WaitForSingleObject(k->server, 0) == WAIT_OBJECT_0)
		k->exited = GetExitCodeProcess(k->server, &k->exit_code);
	report_end(k, left);
	if (left || !k->exited)
		return EXIT_TRY_AGAIN;
	return (int)k->exit_code;
}
