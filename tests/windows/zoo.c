/* zoo.c - hostile servers for Windows: what MCP servers do that makes them outlive their client.
 *
 * zoo MODE TAG LIFE_MS OWNER_PID
 *
 * The server starts the processes of its mode, writes "ready" when all of them run, and reads
 * words: at "exit" it exits and leaves the others. Every process has TAG on its command line, ends
 * after LIFE_MS at the latest, and all of one server together start at most ZOO_MAX_STARTS
 * processes. Shares no code with killick.
 */
#define _WIN32_WINNT 0x0A00
#include <windows.h>
#include <winternl.h>
#include <aclapi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define ZOO_LIFE_MAX_MS 60000
#define ZOO_MAX_STARTS  120
#define ZOO_HEADS       3
#define ZOO_MAX_HANDLES 4096 /* values of handles that the thief tries */

/* What all processes of one server share, by the name of the tag. */
struct shared {
	volatile LONG starts, ready;
	volatile LONG heads[ZOO_HEADS]; /* pids of the hydra */
};

struct mode {
	const wchar_t *name;
	int (*run)(void);
	const char *about; /* NULL: a process that a mode starts */
};

static struct shared *shared;
static const wchar_t *tag, *extra = L"";
static long long deadline; /* zoo_now_ms */
static DWORD owner_pid;
static wchar_t self[MAX_PATH];

/* --- bounds --- */

/* Not GetTickCount64: that clock stops in Wine when the server of Wine is killed. */
static long long zoo_now_ms(void)
{
	LARGE_INTEGER f, t;

	QueryPerformanceFrequency(&f);
	QueryPerformanceCounter(&t);
	return t.QuadPart / (f.QuadPart / 1000);
}

static DWORD WINAPI zoo_die(void *unused)
{
	long long now;

	(void)unused;
	while ((now = zoo_now_ms()) < deadline)
		Sleep((DWORD)(deadline - now));
	TerminateProcess(GetCurrentProcess(), 0);
	return 0;
}

static void zoo_linger(void)
{
	Sleep(INFINITE); /* zoo_die ends it */
}

static void zoo_ready(void)
{
	InterlockedIncrement(&shared->ready);
}

static void zoo_await(LONG count)
{
	while (shared->ready < count)
		Sleep(2); /* zoo_die ends it */
}

/* --- starting --- */

struct start {
	const wchar_t *role;
	const wchar_t *extra;
	DWORD flags;
	bool inherit;  /* the standard handles */
	HANDLE parent; /* of the new process instead of this one; NULL: this one */
};

static bool zoo_create(const struct start *s, DWORD flags)
{
	STARTUPINFOEXW si = { .StartupInfo.cb = sizeof(si) };
	PROCESS_INFORMATION pi;
	wchar_t line[1024];
	SIZE_T size = 0;

	swprintf(line, 1024, L"\"%ls\" %ls %ls %lld %lu %ls", self, s->role, tag,
		 deadline - zoo_now_ms(), owner_pid, s->extra ? s->extra : L"");
	InitializeProcThreadAttributeList(NULL, 1, 0, &size);
	si.lpAttributeList = calloc(1, size);
	InitializeProcThreadAttributeList(si.lpAttributeList, 1, 0, &size);
	if (s->parent)
		UpdateProcThreadAttribute(si.lpAttributeList, 0,
					  PROC_THREAD_ATTRIBUTE_PARENT_PROCESS, (void *)&s->parent,
					  sizeof(s->parent), NULL, NULL);
	if (!CreateProcessW(self, line, NULL, NULL, s->inherit, flags, NULL, NULL, &si.StartupInfo,
			    &pi))
		return false;
	CloseHandle(pi.hThread);
	CloseHandle(pi.hProcess);
	return true;
}

/* Start a process of this server. A job that forbids to leave it makes CreateProcess fail: then
 * without that. */
static bool zoo_start(const struct start *s)
{
	DWORD flags = s->flags | EXTENDED_STARTUPINFO_PRESENT;

	if (InterlockedIncrement(&shared->starts) > ZOO_MAX_STARTS || zoo_now_ms() >= deadline)
		return false;
	return zoo_create(s, flags) || ((flags & CREATE_BREAKAWAY_FROM_JOB) &&
					zoo_create(s, flags & ~(DWORD)CREATE_BREAKAWAY_FROM_JOB));
}

/* --- serving --- */

static BOOL WINAPI zoo_deaf(DWORD type)
{
	(void)type;
	return TRUE;
}

/* Read words until the end of input; true: the word was "exit". */
static bool zoo_read(void)
{
	char line[256];

	while (fgets(line, sizeof(line), stdin))
		if (!strncmp(line, "exit", 4))
			return true;
	return false;
}

/* A server that heeds neither the end of input nor Ctrl-Break; `count` others must run before it is
 * ready. */
static int zoo_serve(LONG count)
{
	SetConsoleCtrlHandler(zoo_deaf, TRUE);
	zoo_await(count);
	printf("ready\n");
	fflush(stdout);
	if (zoo_read())
		ExitProcess(0);
	zoo_linger();
	return 0;
}

/* --- modes --- */

static int zoo_polite(void)
{
	printf("ready\n");
	fflush(stdout);
	zoo_read();
	return 0;
}

static int zoo_ignore(void)
{
	return zoo_serve(0);
}

static int zoo_child(void)
{
	zoo_start(&(struct start){ .role = L"+idle", .inherit = true });
	return zoo_serve(1);
}

static int zoo_detached(void)
{
	zoo_start(&(struct start){ .role = L"+idle", .flags = DETACHED_PROCESS });
	return zoo_serve(1);
}

static int zoo_breakaway(void)
{
	zoo_start(&(struct start){ .role = L"+idle", .flags = CREATE_BREAKAWAY_FROM_JOB });
	return zoo_serve(1);
}

static int zoo_daemon(void)
{
	zoo_start(&(struct start){ .role = L"+between", .flags = DETACHED_PROCESS });
	return zoo_serve(1);
}

static int zoo_nested(void)
{
	zoo_start(&(struct start){ .role = L"+jailer" });
	return zoo_serve(2);
}

static int zoo_newconsole(void)
{
	zoo_start(&(struct start){ .role = L"+idle", .flags = CREATE_NEW_CONSOLE });
	return zoo_serve(1);
}

static int zoo_nowindow(void)
{
	zoo_start(&(struct start){ .role = L"+idle", .flags = CREATE_NO_WINDOW });
	return zoo_serve(1);
}

static int zoo_hydra(void)
{
	static const wchar_t *const number[ZOO_HEADS] = { L"0", L"1", L"2" };

	for (int i = 0; i < ZOO_HEADS; i++)
		zoo_start(&(struct start){ L"+head", number[i], DETACHED_PROCESS, false, NULL });
	return zoo_serve(ZOO_HEADS);
}

/* Children of two kinds, and nobody asks the server to exit. */
static void zoo_leave_children(void)
{
	zoo_start(&(struct start){ .role = L"+idle", .inherit = true });
	zoo_start(&(struct start){ .role = L"+idle", .flags = DETACHED_PROCESS });
	zoo_await(2);
	printf("ready\n");
	fflush(stdout);
}

static int zoo_exits(void)
{
	zoo_leave_children();
	return 3;
}

static int zoo_crashes(void)
{
	volatile int *volatile nowhere = NULL;

	zoo_leave_children();
	*nowhere = 1;
	return 0;
}

static DWORD zoo_parent(void)
{
	PROCESS_BASIC_INFORMATION info = { 0 };
	ULONG n;

	NtQueryInformationProcess(GetCurrentProcess(), ProcessBasicInformation, &info, sizeof(info),
				  &n);
	return (DWORD)info.InheritedFromUniqueProcessId;
}

/* As the same user: give everybody all rights on a process. */
static void zoo_open_up(DWORD pid)
{
	HANDLE h = OpenProcess(WRITE_DAC, FALSE, pid);

	if (h)
		SetSecurityInfo(h, SE_KERNEL_OBJECT, DACL_SECURITY_INFORMATION, NULL, NULL, NULL,
				NULL);
	if (h)
		CloseHandle(h);
}

/* Copy all handles of the parent. A copy of the handle of its job would keep the job alive. */
static void zoo_steal(DWORD pid)
{
	HANDLE victim = OpenProcess(PROCESS_DUP_HANDLE, FALSE, pid), copy;

	for (ULONG_PTR i = 4; victim && i < ZOO_MAX_HANDLES; i += 4)
		DuplicateHandle(victim, (HANDLE)i, GetCurrentProcess(), &copy, 0, FALSE,
				DUPLICATE_SAME_ACCESS);
}

static int zoo_thief(void)
{
	zoo_steal(zoo_parent());
	return zoo_serve(0);
}

static int zoo_burglar(void)
{
	zoo_open_up(zoo_parent());
	zoo_steal(zoo_parent());
	return zoo_serve(0);
}

/* The owner becomes the parent of the child, and the child is in the jobs of its parent. */
static int zoo_reparent(void)
{
	HANDLE owner = OpenProcess(PROCESS_CREATE_PROCESS, FALSE, owner_pid);

	zoo_start(&(struct start){ .role = L"+idle", .flags = DETACHED_PROCESS, .parent = owner });
	return zoo_serve(1);
}

/* --- processes of the modes --- */

static int zoo_idle(void)
{
	SetConsoleCtrlHandler(zoo_deaf, TRUE);
	zoo_ready();
	zoo_linger();
	return 0;
}

static int zoo_between(void)
{
	zoo_start(&(struct start){ .role = L"+idle",
				   .flags = DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP |
					    CREATE_BREAKAWAY_FROM_JOB });
	return 0;
}

/* A job of its own that everybody may leave. */
static int zoo_jailer(void)
{
	JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {
		.BasicLimitInformation.LimitFlags =
			JOB_OBJECT_LIMIT_BREAKAWAY_OK | JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK
	};
	HANDLE job = CreateJobObjectW(NULL, NULL);

	SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof(limits));
	AssignProcessToJobObject(job, GetCurrentProcess());
	zoo_start(&(struct start){ .role = L"+idle",
				   .flags = DETACHED_PROCESS | CREATE_BREAKAWAY_FROM_JOB });
	return zoo_idle();
}

/* Each head starts its right neighbour again when the neighbour ends. */
static int zoo_head(void)
{
	static const wchar_t *const number[ZOO_HEADS] = { L"0", L"1", L"2" };
	int mine = _wtoi(extra) % ZOO_HEADS, other = (mine + 1) % ZOO_HEADS;
	DWORD pid;
	HANDLE h;

	shared->heads[mine] = (LONG)GetCurrentProcessId();
	zoo_ready();
	zoo_await(ZOO_HEADS);
	for (;;) {
		pid = (DWORD)shared->heads[other];
		h = OpenProcess(SYNCHRONIZE, FALSE, pid);
		if (h)
			WaitForSingleObject(h, INFINITE);
		if (h)
			CloseHandle(h);
		if (!zoo_start(&(struct start){ L"+head", number[other], DETACHED_PROCESS, false,
						NULL }))
			zoo_linger();
		while ((DWORD)shared->heads[other] == pid)
			Sleep(1);
	}
	return 0;
}

static const struct mode modes[] = {
	{ L"polite", zoo_polite, "exits at the end of input" },
	{ L"deaf", zoo_ignore, "heeds neither the end of input nor Ctrl-Break; so do all below" },
	{ L"child", zoo_child, "has a child" },
	{ L"detached", zoo_detached, "has a child without a console" },
	{ L"breakaway", zoo_breakaway, "has a child that asks to leave the job" },
	{ L"daemon", zoo_daemon, "has a detached grandchild whose parent has exited" },
	{ L"nested", zoo_nested, "has a job of its own, with a grandchild that leaves it" },
	{ L"newconsole", zoo_newconsole, "has a child with a console of its own" },
	{ L"nowindow", zoo_nowindow, "has a child with a console without a window" },
	{ L"hydra", zoo_hydra, "has three children that start one another again" },
	{ L"exits", zoo_exits, "exits at once and leaves two children" },
	{ L"crashes", zoo_crashes, "crashes at once and leaves two children" },
	{ L"thief", zoo_thief, "copies all handles of its parent" },
	{ L"burglar", zoo_burglar, "the same, after it gave itself all rights on its parent" },
	{ L"reparent", zoo_reparent, "has a child whose parent is the client" },
	{ L"+idle", zoo_idle, NULL },
	{ L"+between", zoo_between, NULL },
	{ L"+jailer", zoo_jailer, NULL },
	{ L"+head", zoo_head, NULL },
};

/* False: this process would have no bounds. */
static bool zoo_begin(wchar_t **argv)
{
	unsigned long life_ms = wcstoul(argv[3], NULL, 10);
	wchar_t name[64];
	HANDLE map;

	tag = argv[2];
	owner_pid = wcstoul(argv[4], NULL, 10);
	deadline = zoo_now_ms() + (life_ms < ZOO_LIFE_MAX_MS ? life_ms : ZOO_LIFE_MAX_MS);
	GetModuleFileNameW(NULL, self, MAX_PATH);
	swprintf(name, 64, L"Local\\killick-zoo-%ls", tag);
	map = CreateFileMappingW(INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0, sizeof(*shared),
				 name);
	shared = map ? MapViewOfFile(map, FILE_MAP_WRITE, 0, 0, sizeof(*shared)) : NULL;
	return shared && CreateThread(NULL, 0, zoo_die, NULL, 0, NULL);
}

int wmain(int argc, wchar_t **argv); /* the C runtime declares none */

int wmain(int argc, wchar_t **argv)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (argc == 2 && !wcscmp(argv[1], L"--list") && modes[i].about)
			printf("%-12ls %s\n", modes[i].name, modes[i].about);
		if (argc < 5 || wcscmp(argv[1], modes[i].name))
			continue;
		if (argc > 5)
			extra = argv[5];
		return zoo_begin(argv) ? modes[i].run() : 70;
	}
	return argc == 2 ? 0 : 64;
}
