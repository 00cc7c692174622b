/* host.c - the library on Windows, through killick.h: a session from its open to its proof, and the
 * end of a host. TAP.
 *
 *	host SERVER.EXE DIRECTORY
 *
 * DIRECTORY takes the files of pids. Run again with `hold` it is a host that opens a session and
 * waits, to be terminated.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>
/* after windows.h */
#include <tlhelp32.h>

#include <killick/killick.h>

#define CALLS    50
#define THREADS  8
#define SESSIONS 24
#define SERVERS  3
#define BULK     (3 << 20)
#define BULKS    5
#define ROUNDS   20
#define EARLY_MS 400 /* a host needs about 300 ms until its session is open */
#define WAIT_MS  20000
#define PIDS_MAX 8
#define ECHO     "echo"
#define ECHO_ARG "{\"text\":\"hi\"}"

static const char *server_exe, *dir;
static int done, failed;

static void check(bool ok, const char *fmt, ...)
{
	va_list ap;

	printf("%s %d - ", ok ? "ok" : "not ok", ++done);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	failed += !ok;
}

/* --- processes --- */

/* Wait until the process has ended. A pid that names no process has. */
static bool is_gone(unsigned long pid, unsigned wait_ms)
{
	HANDLE h = OpenProcess(SYNCHRONIZE, FALSE, pid);
	bool gone;

	if (!h)
		return true;
	gone = WaitForSingleObject(h, wait_ms) == WAIT_OBJECT_0;
	CloseHandle(h);
	return gone;
}

/* The pids in the file, 0 at the end; how many. */
static int read_pids(const char *file, unsigned long out[PIDS_MAX])
{
	FILE *f = fopen(file, "r");
	int n = 0;

	while (f && n < PIDS_MAX && fscanf(f, "%lu", &out[n]) == 1)
		n++;
	if (f)
		fclose(f);
	return n;
}

static void pid_file(const char *name, char *out, size_t size)
{
	snprintf(out, size, "%s\\%s-%lu.pids", dir, name, GetCurrentProcessId());
	remove(out);
}

/* --- a session --- */

struct lab {
	struct killick *k;
	struct killick_session *s;
	char file[MAX_PATH];
};

static bool lab_open(struct lab *l, const char *mode)
{
	char *command[] = { (char *)server_exe, (char *)mode, l->file, NULL };
	struct killick_session_options o =
		KILLICK_SESSION_OPTIONS(.command = command, .label = mode);
	struct killick_error e = { .code = 0 };

	*l = (struct lab){ .k = NULL };
	pid_file(mode, l->file, sizeof(l->file));
	if (killick_open(NULL, &l->k, &e) == 0 && killick_session_open(l->k, &o, &l->s, &e) == 0)
		return true;
	printf("# %s\n", e.text);
	return false;
}

static bool lab_echo(struct lab *l, const char *arguments, const char *expected)
{
	struct killick_result *r = NULL;
	bool ok = killick_call_tool(l->s, "server", ECHO, arguments, &r) == 0 &&
		  strcmp(killick_result_text(r), expected) == 0;

	if (!ok)
		printf("# %s\n", r ? killick_result_error(r) : "no result");
	killick_result_free(r);
	return ok;
}

/* Close the session; the report must have one ending, with the job as its proof. */
static bool lab_close(struct lab *l, const char *step)
{
	struct killick_report *r = NULL;
	char *json = NULL;
	bool ok = false;

	if (killick_session_close(l->s, &r, NULL) == 0 && r->count == 1) {
		const struct killick_ending *e = r->endings[0];

		ok = strcmp(e->proof, "job") == 0 && strcmp(e->step, step) == 0 &&
		     strcmp(e->why, "close") == 0 && r->proved && e->survivors == 0 && e->pid != 0;
	}
	json = killick_report_json(r);
	if (!ok)
		printf("# %s\n", json ? json : "no report");
	killick_text_free(json);
	killick_report_free(r);
	killick_session_free(l->s);
	killick_free(l->k);
	return ok;
}

static void test_life(void)
{
	struct killick_status *st = NULL;
	unsigned long pids[PIDS_MAX];
	struct lab l;

	check(lab_open(&l, "polite"), "a session opens");
	check(killick_session_status(l.s, &st, NULL) == 0 &&
		      strcmp(st->servers[0]->level, "job") == 0,
	      "its server is held at level job");
	killick_status_free(st);
	check(lab_echo(&l, ECHO_ARG, "hi"), "a tool answers");
	check(lab_close(&l, "eof"), "the close reports the job as its proof");
	check(read_pids(l.file, pids) == 1 && is_gone(pids[0], 0), "no process is left");
}

static void test_end(const char *mode, const char *step, int count)
{
	unsigned long pids[PIDS_MAX];
	struct lab l;
	bool gone = true;
	int n;

	check(lab_open(&l, mode), "%s: a session opens", mode);
	n = read_pids(l.file, pids);
	check(n == count, "%s: %d process%s", mode, count, count == 1 ? "" : "es");
	check(lab_close(&l, step), "%s: the close needs the step %s", mode, step);
	for (int i = 0; i < n; i++)
		gone = gone && is_gone(pids[i], 0);
	check(gone, "%s: no process is left", mode);
}

/* --- many calls --- */

static DWORD WINAPI call_often(void *arg)
{
	struct lab *l = arg;
	DWORD good = 0;

	for (int i = 0; i < CALLS; i++)
		good += lab_echo(l, ECHO_ARG, "hi");
	return good;
}

static void test_threads(void)
{
	HANDLE threads[THREADS];
	DWORD sum = 0, good;
	struct lab l;

	check(lab_open(&l, "polite"), "threads: a session opens");
	for (int i = 0; i < THREADS; i++)
		threads[i] = CreateThread(NULL, 0, call_often, &l, 0, NULL);
	WaitForMultipleObjects(THREADS, threads, TRUE, INFINITE);
	for (int i = 0; i < THREADS; i++) {
		if (GetExitCodeThread(threads[i], &good))
			sum += good;
		CloseHandle(threads[i]);
	}
	check(sum == THREADS * CALLS, "threads: %d of %d calls are answered", (int)sum,
	      THREADS * CALLS);
	check(lab_close(&l, "eof"), "threads: the close is proved");
}

/* Append text as a JSON string. */
static void add_json(char *out, size_t size, const char *text)
{
	size_t n = strlen(out);

	out[n++] = '"';
	for (; *text && n + 4 < size; text++) {
		if (*text == '\\' || *text == '"')
			out[n++] = '\\';
		out[n++] = *text;
	}
	out[n++] = '"';
	out[n] = '\0';
}

/* Each server has a file of its own: several writers of one file would overwrite each other. */
static void server_file(char *out, size_t size, const char *file, int i)
{
	snprintf(out, size, "%s.%d", file, i);
}

/* A config with SERVERS servers, of which the first is started by a batch file, as npx is. */
static void make_config(char *out, size_t size, const char *shim, const char *file)
{
	char own[MAX_PATH + 8];

	snprintf(out, size, "{\"mcpServers\":{");
	for (int i = 0; i < SERVERS; i++) {
		server_file(own, sizeof(own), file, i);
		snprintf(out + strlen(out), size - strlen(out),
			 "%s\"s%d\":{\"command\":", i ? "," : "", i);
		add_json(out, size, i ? server_exe : shim);
		snprintf(out + strlen(out), size - strlen(out), ",\"args\":[\"child\",");
		add_json(out, size, own);
		snprintf(out + strlen(out), size - strlen(out), "]}");
	}
	snprintf(out + strlen(out), size - strlen(out), "}}");
}

static bool make_shim(char *path, size_t size)
{
	FILE *f;

	snprintf(path, size, "%s\\shim-%lu.cmd", dir, GetCurrentProcessId());
	f = fopen(path, "w");
	if (!f)
		return false;
	fprintf(f, "@echo off\n\"%s\" %%*\n", server_exe);
	return fclose(f) == 0;
}

/* Open and close one session of the config; how many processes it had, or -1 if one is left. */
static int run_config(struct killick *k, const char *config, const char *file)
{
	struct killick_session_options o = KILLICK_SESSION_OPTIONS(.config = config);
	struct killick_session *s = NULL;
	struct killick_report *r = NULL;
	unsigned long pids[SERVERS * PIDS_MAX];
	struct killick_error e;
	char own[MAX_PATH + 8];
	bool ok;
	int n = 0;

	for (int i = 0; i < SERVERS; i++) {
		server_file(own, sizeof(own), file, i);
		remove(own);
	}
	if (killick_session_open(k, &o, &s, &e) != 0) {
		printf("# %s\n", e.text);
		return -1;
	}
	for (int i = 0; i < SERVERS; i++) {
		server_file(own, sizeof(own), file, i);
		n += read_pids(own, pids + n);
	}
	ok = killick_session_close(s, &r, NULL) == 0 && r->count == SERVERS && r->proved;
	for (int i = 0; i < n; i++)
		ok = ok && is_gone(pids[i], 0);
	killick_report_free(r);
	killick_session_free(s);
	return ok ? n : -1;
}

/* The workload of a report: a client left 464 node.exe and 463 cmd.exe processes behind. */
static void test_sessions(void)
{
	char file[MAX_PATH], shim[MAX_PATH], config[8 * MAX_PATH];
	struct killick *k = NULL;
	int good = 0;

	pid_file("sessions", file, sizeof(file));
	if (make_shim(shim, sizeof(shim)) && killick_open(NULL, &k, NULL) == 0) {
		make_config(config, sizeof(config), shim, file);
		for (int i = 0; i < SESSIONS; i++)
			good += run_config(k, config, file) == 2 * SERVERS;
	}
	killick_free(k);
	check(good == SESSIONS, "%d of %d sessions with %d servers leave no process", good,
	      SESSIONS, SERVERS);
}

static void test_refusal(void)
{
	char *command[] = { "no-such-program-of-killick", NULL };
	struct killick_session_options o = KILLICK_SESSION_OPTIONS(.command = command);
	struct killick_session *s = NULL;
	struct killick_status *st = NULL;
	struct killick_error e;
	struct killick *k = NULL;
	const char *said = "";

	if (killick_open(NULL, &k, &e) == 0 && killick_session_open(k, &o, &s, &e) == 0 &&
	    killick_session_status(s, &st, NULL) == 0)
		said = st->servers[0]->error;
	check(strstr(said, "not found") != NULL, "a command that does not exist is named: %s",
	      said);
	killick_status_free(st);
	killick_session_free(s);
	killick_free(k);
}

/* Messages that are larger than the pipes, in both directions. */
static void test_bulk(void)
{
	char *text = malloc(BULK + 1), *arguments = malloc(BULK + 32);
	int good = 0;
	struct lab l;

	for (int i = 0; i < BULK; i++)
		text[i] = (char)('a' + i % 26);
	text[BULK] = '\0';
	snprintf(arguments, BULK + 32, "{\"text\":\"%s\"}", text);
	check(lab_open(&l, "bulk"), "bulk: a session opens");
	for (int i = 0; i < BULKS; i++)
		good += lab_echo(&l, arguments, text);
	check(good == BULKS, "bulk: %d of %d texts of 3 MiB come back", good, BULKS);
	check(lab_close(&l, "eof"), "bulk: the close is proved");
	free(arguments);
	free(text);
}

/* --- a host with a loop of its own --- */

static int answered;

static void on_answer(void *ctx, struct killick_result *r)
{
	(void)ctx;
	answered += killick_result_code(r) == 0 && strcmp(killick_result_text(r), "hi") == 0;
	killick_result_free(r);
}

/* Callbacks run in killick_dispatch only; the handle says when to call it. */
static void test_handle(void)
{
	char file[MAX_PATH], *command[] = { (char *)server_exe, "polite", file, NULL };
	struct killick_options host = KILLICK_OPTIONS(.dispatch = KILLICK_DISPATCH_HOST);
	struct killick_session_options o = KILLICK_SESSION_OPTIONS(.command = command);
	struct killick_request rq =
		KILLICK_REQUEST(.op = KILLICK_CALL, .server = "server", .name = ECHO,
				.args = ECHO_ARG, .on_done = on_answer);
	struct killick_session *s = NULL;
	struct killick *k = NULL;
	struct killick_error e;
	int sent = 0;

	pid_file("handle", file, sizeof(file));
	if (killick_open(&host, &k, &e) == 0 && killick_session_open(k, &o, &s, &e) == 0)
		for (int i = 0; i < CALLS; i++)
			sent += killick_start(s, &rq, NULL, NULL) == 0;
	check(sent == CALLS && killick_fd(k) == -1 && killick_handle(k),
	      "handle: %d calls are started", sent);
	while (answered < sent && WaitForSingleObject(killick_handle(k), WAIT_MS) == WAIT_OBJECT_0)
		killick_dispatch(k, NULL);
	check(answered == CALLS, "handle: %d answers come in killick_dispatch", answered);
	killick_session_free(s);
	killick_free(k);
}

/* --- the end of a host --- */

/* A host with one session, which says that it is ready and waits. */
static int hold(const char *mode)
{
	struct lab l;

	if (!lab_open(&l, mode) || !lab_echo(&l, ECHO_ARG, "hi"))
		return 1;
	printf("%s\n", l.file);
	fflush(stdout);
	Sleep(WAIT_MS);
	return 0;
}

static HANDLE start_host(const char *mode, FILE **out)
{
	SECURITY_ATTRIBUTES inherited = { sizeof(inherited), NULL, TRUE };
	STARTUPINFOA si = { .cb = sizeof(si), .dwFlags = STARTF_USESTDHANDLES };
	char self[MAX_PATH], line[3 * MAX_PATH + 64];
	char path[MAX_PATH];
	PROCESS_INFORMATION pi;

	snprintf(path, sizeof(path), "%s\\host-%lu.out", dir, GetCurrentProcessId());
	remove(path);
	GetModuleFileNameA(NULL, self, sizeof(self));
	snprintf(line, sizeof(line), "\"%s\" \"%s\" \"%s\" hold %s", self, server_exe, dir, mode);
	si.hStdOutput = CreateFileA(path, GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE,
				    &inherited, CREATE_ALWAYS, 0, NULL);
	si.hStdError = si.hStdOutput;
	if (!CreateProcessA(self, line, NULL, NULL, TRUE, 0, NULL, NULL, &si, &pi))
		return NULL;
	CloseHandle(si.hStdOutput);
	CloseHandle(pi.hThread);
	*out = fopen(path, "r");
	return pi.hProcess;
}

/* Wait for the line of a host: the file of its pids. */
static bool read_line(HANDLE host, FILE *f, char *out, int size)
{
	for (int ms = 0; f && ms < WAIT_MS; ms += 10) {
		if (fgets(out, size, f) && strchr(out, '\n')) {
			out[strcspn(out, "\r\n")] = '\0';
			return true;
		}
		if (WaitForSingleObject(host, 10) == WAIT_OBJECT_0)
			return false;
		rewind(f);
	}
	return false;
}

static void test_host_ends(const char *mode, int count)
{
	unsigned long pids[PIDS_MAX];
	char file[MAX_PATH] = "";
	FILE *f = NULL;
	HANDLE host = start_host(mode, &f);
	bool gone = true;
	int n = 0;

	if (host && read_line(host, f, file, sizeof(file)))
		n = read_pids(file, pids);
	if (host)
		TerminateProcess(host, 1);
	for (int i = 0; i < n; i++)
		gone = gone && is_gone(pids[i], WAIT_MS);
	check(n == count && gone, "%s: a host that is terminated leaves no process", mode);
	if (f)
		fclose(f);
	if (host)
		CloseHandle(host);
}

/* How many processes of the server's program exist on this machine. */
static int count_servers(void)
{
	const char *name = server_exe + strlen(server_exe);
	PROCESSENTRY32 e = { .dwSize = sizeof(e) };
	HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
	int count = 0;

	while (name > server_exe && !strchr("\\/", name[-1]))
		name--;
	for (BOOL more = Process32First(all, &e); more; more = Process32Next(all, &e))
		count += _stricmp(e.szExeFile, name) == 0;
	CloseHandle(all);
	return count;
}

/* Terminate hosts at random moments: before, while and after their session opens. */
static void test_host_ends_early(void)
{
	int left = 0;

	for (int i = 0; i < ROUNDS; i++) {
		FILE *f = NULL;
		HANDLE host = start_host("child", &f);

		Sleep((DWORD)(rand() % EARLY_MS));
		TerminateProcess(host, 1);
		WaitForSingleObject(host, INFINITE);
		CloseHandle(host);
		if (f)
			fclose(f);
	}
	for (int ms = 0; (left = count_servers()) > 0 && ms < WAIT_MS; ms += 10)
		Sleep(10);
	check(left == 0, "%d hosts that are terminated in their first %d ms leave no process",
	      ROUNDS, EARLY_MS);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: host SERVER.EXE DIRECTORY\n");
		return 64;
	}
	server_exe = argv[1];
	dir = argv[2];
	if (argc == 5 && strcmp(argv[3], "hold") == 0)
		return hold(argv[4]);
	test_life();
	test_end("child", "eof", 2);
	test_end("deaf", "kill", 1);
	test_threads();
	test_sessions();
	test_refusal();
	test_bulk();
	test_handle();
	test_host_ends("polite", 1);
	test_host_ends("child", 2);
	test_host_ends("deaf", 1);
	test_host_ends_early();
	printf("1..%d\n", done);
	return failed ? 1 : 0;
}
