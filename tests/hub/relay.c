/* relay.c - `killick run` with --rest, --restart and --supersede: one server behind a client that
 * does not notice. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mate.h"

#define WORDS_MAX 16

static const struct mate_spec plain = { .version = NULL };

/* Records, caches and lists of pids of this test alone. */
static void relay_begin(void)
{
	static const char *const names[][2] = { { "KILLICK_RUNTIME_DIR", "run" },
						{ "XDG_CACHE_HOME", "cache" },
						{ "ZOO_PIDS", "pids" } };
	char path[96];

	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", t_audit.dir, names[i][1]);
		if (i < 2)
			OK(!mkdir(path, 0700));
		setenv(names[i][0], path, 1);
	}
	setenv("ZOO_LIFE_MS", "60000", 1);
}

/* Start `killick run OPTIONS -- killick-zoo mcp WAY`; options end with NULL. */
static void relay_start(struct mate *m, const char *const *options, const char *way)
{
	const char *argv[WORDS_MAX] = { t_program("KILLICK", "build/killick"), "run" };
	size_t n = 2;

	while (*options)
		argv[n++] = *options++;
	argv[n++] = "--";
	argv[n++] = t_program("ZOO", "build/tests/zoo/killick-zoo");
	argv[n++] = "mcp";
	argv[n++] = way;
	OK(n < WORDS_MAX);
	mate_open_program(m, argv);
}
#define RELAY(m_, way_, ...) relay_start(m_, (const char *const[]){ __VA_ARGS__, NULL }, way_)

/* The exit status of the relay, as a shell has it. */
static int relay_end(struct mate *m)
{
	int status = t_wait_child(m->pid, MATE_MS);

	OK(status >= 0);
	mate_done(m);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int relay_close(struct mate *m)
{
	close(m->in);
	m->in = -1;
	return relay_end(m);
}

static long relay_pid(struct mate *m)
{
	return strtol(mate_text(m, "pid", ""), NULL, 10);
}

static void await_gone(long pid)
{
	double end = t_now_ms() + MATE_MS;

	while (kill((pid_t)pid, 0) == 0 && t_now_ms() < end)
		t_wait_fd(-1, 0, 5);
	OK(kill((pid_t)pid, 0) < 0 && errno == ESRCH);
}

TEST(an_idle_server_rests_and_the_next_call_starts_it, .timeout_ms = 60000)
{
	struct mate m;
	long first, second;

	relay_begin();
	RELAY(&m, NULL, "--rest", "200ms");
	mate_hello(&m, &plain);
	first = relay_pid(&m);
	await_gone(first);
	second = relay_pid(&m);
	OK(second > 0 && second != first);
	await_gone(second);
	OK(relay_pid(&m) > 0);
	EQ(relay_close(&m), 0);
	mate_reap();
}

TEST(a_call_in_flight_keeps_the_server_awake, .timeout_ms = 60000)
{
	struct mate m;
	long pid;

	relay_begin();
	RELAY(&m, NULL, "--rest", "100ms");
	mate_hello(&m, &plain);
	/* longer than the time after which the server would rest */
	mate_result(&m, mate_call(&m, "sleep", "\"ms\":1000", NULL));
	pid = relay_pid(&m);
	await_gone(pid);
	EQ(relay_close(&m), 0);
	mate_reap();
}

/* The kernel counts the memory of this process and a part of the memory that it shares. */
static long relay_memory_kb(pid_t pid)
{
	char path[64], line[128];
	long kb = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	f = fopen(path, "re");
	OK(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Pss_Anon: %ld kB", &kb) == 1)
			break;
	fclose(f);
	return kb;
}

TEST(a_resting_server_costs_less_than_a_mebibyte, .timeout_ms = 60000)
{
	double end;
	struct mate m;
	long kb = 0;

	if (T_PATIENCE > 1)
		SKIP("a sanitizer has memory of its own");
	relay_begin();
	RELAY(&m, NULL, "--rest", "100ms");
	mate_hello(&m, &plain);
	await_gone(relay_pid(&m));
	end = t_now_ms() + MATE_MS;
	do {
		t_wait_fd(-1, 0, 20);
		kb = relay_memory_kb(m.pid);
	} while (kb >= 1024 && t_now_ms() < end);
	t_note("%ld KiB of its own", kb);
	OK(kb < 1024);
	EQ(relay_close(&m), 0);
	mate_reap();
}

TEST(a_question_whose_params_are_an_array_is_refused_and_the_relay_goes_on, .timeout_ms = 60000)
{
	struct mate m;
	struct span s;

	relay_begin();
	RELAY(&m, "tagged", "--rest", "1h");
	m.capabilities = "{\"roots\":{}}";
	mate_hello(&m, &plain);
	s = mate_do(&m, "ask", "\"method\":\"roots/list\",\"params\":[\"x\"]");
	EQ(scan_long(mate_at(s, "structuredContent", "answer", "error", "code", NULL), 0), -32602);
	STREQ(mate_text(&m, "echo", "\"text\":\"here\""), "here");
	EQ(relay_close(&m), 0);
	mate_reap();
}

TEST(a_crashed_server_is_started_again_and_its_calls_get_an_error, .timeout_ms = 60000)
{
	struct mate m;
	long first, id, slow;

	relay_begin();
	RELAY(&m, NULL, "--restart");
	mate_hello(&m, &plain);
	first = relay_pid(&m);
	slow = mate_call(&m, "sleep", "\"ms\":20000", NULL);
	id = mate_call(&m, "crash", "", NULL);
	EQ(mate_error(&m, slow), -32603); /* calls end in the order in which they were made */
	EQ(mate_error(&m, id), -32603);
	OK(relay_pid(&m) != first);
	EQ(relay_close(&m), 0);
	mate_reap();
}

TEST(without_restart_the_relay_exits_as_the_server_did, .timeout_ms = 60000)
{
	struct mate m;

	relay_begin();
	RELAY(&m, NULL, "--rest", "1h");
	mate_hello(&m, &plain);
	EQ(mate_error(&m, mate_call(&m, "crash", "", NULL)), -32603);
	EQ(relay_end(&m), 1);
	mate_reap();
}

TEST(a_newer_copy_ends_the_idle_older_copy, .timeout_ms = 60000)
{
	struct mate older, newer, other;

	relay_begin();
	RELAY(&older, NULL, "--supersede", "--name", "one");
	mate_hello(&older, &plain);
	RELAY(&other, NULL, "--supersede", "--name", "two");
	mate_hello(&other, &plain);
	RELAY(&newer, NULL, "--supersede", "--name", "one");
	mate_hello(&newer, &plain);
	EQ(relay_end(&older), 0);
	OK(relay_pid(&newer) > 0);
	OK(relay_pid(&other) > 0); /* another name: another server */
	EQ(relay_close(&newer), 0);
	EQ(relay_close(&other), 0);
	mate_reap();
}

TEST(a_busy_older_copy_finishes_its_call_first, .timeout_ms = 60000)
{
	struct mate older, newer;
	long id;

	relay_begin();
	RELAY(&older, NULL, "--supersede");
	mate_hello(&older, &plain);
	id = mate_call(&older, "sleep", "\"ms\":500", NULL);
	RELAY(&newer, NULL, "--supersede");
	mate_hello(&newer, &plain);
	mate_result(&older, id);
	EQ(relay_end(&older), 0);
	EQ(relay_close(&newer), 0);
	mate_reap();
}

/* The file in which the newest copy has its pid: its path, valid until the next call; NULL: there
 * is no file. */
static const char *copy_file(void)
{
	static char path[400];
	const struct dirent *d;
	char run[96];
	DIR *dir;

	snprintf(run, sizeof(run), "%s/run", t_audit.dir);
	dir = opendir(run);
	OK(dir);
	path[0] = '\0';
	while ((d = readdir(dir)))
		if (strncmp(d->d_name, "copy-", 5) == 0)
			snprintf(path, sizeof(path), "%s/%s", run, d->d_name);
	closedir(dir);
	return path[0] ? path : NULL;
}

/* Wait until the file has the pid of this copy. */
static void await_newest(const struct mate *m)
{
	double end = t_now_ms() + MATE_MS;
	long pid = 0;

	while (pid != m->pid && t_now_ms() < end) {
		const char *path = copy_file();
		FILE *f = path ? fopen(path, "re") : NULL;

		if (f && fscanf(f, "%ld", &pid) != 1)
			pid = 0;
		if (f)
			fclose(f);
		if (pid != m->pid)
			t_wait_fd(-1, 0, 5);
	}
	EQ(pid, m->pid);
}

static int copy_lock(void)
{
	const char *path = copy_file();
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;

	OK(fd >= 0 && !flock(fd, LOCK_EX));
	return fd;
}

/* The older copy removes the file while a newer copy waits for the lock of this file. */
TEST(a_copy_that_waits_for_the_lock_of_a_removed_file_makes_a_new_file, .timeout_ms = 60000)
{
	struct mate older, newer, newest;
	int lock;

	relay_begin();
	RELAY(&older, NULL, "--supersede");
	mate_hello(&older, &plain);
	lock = copy_lock();
	RELAY(&newer, NULL, "--supersede");
	OK(!unlink(copy_file()));
	close(lock);
	mate_hello(&newer, &plain);
	await_newest(&newer);
	RELAY(&newest, NULL, "--supersede");
	mate_hello(&newest, &plain);
	EQ(relay_end(&newer), 0);
	EQ(relay_close(&older), 0);
	EQ(relay_close(&newest), 0);
	mate_reap();
}

TEST(a_copy_starts_and_replaces_the_older_copy_while_another_process_holds_the_lock,
     .timeout_ms = 60000)
{
	struct mate older, newer;
	int lock;

	relay_begin();
	RELAY(&older, NULL, "--supersede");
	mate_hello(&older, &plain);
	lock = copy_lock();
	RELAY(&newer, NULL, "--supersede");
	mate_hello(&newer, &plain);
	EQ(relay_end(&older), 0);
	await_newest(&newer);
	EQ(relay_close(&newer), 0); /* the end does not wait for the lock, either */
	close(lock);
	mate_reap();
}

TEST(sigterm_ends_a_copy_while_another_process_holds_the_lock, .timeout_ms = 60000)
{
	struct mate older, newer;
	int lock;

	relay_begin();
	RELAY(&older, NULL, "--supersede");
	mate_hello(&older, &plain);
	lock = copy_lock();
	RELAY(&newer, NULL, "--supersede");
	mate_hello(&newer, &plain);
	kill(newer.pid, SIGTERM);
	EQ(relay_end(&newer), 128 + SIGTERM);
	kill(older.pid, SIGTERM);
	relay_end(&older); /* 0 when the newer copy has asked first */
	close(lock);
	mate_reap();
}

TEST(a_copy_whose_own_server_holds_the_lock_is_replaced, .timeout_ms = 60000)
{
	const char *argv[] = { t_program("KILLICK", "build/killick"),
			       "run",
			       "--supersede",
			       "--",
			       "/bin/sh",
			       "-c",
			       "exec flock \"${ZOO_PIDS%pids}\"run/copy-* \"$0\" mcp good",
			       t_program("ZOO", "build/tests/zoo/killick-zoo"),
			       NULL };
	struct mate older, newer;

	relay_begin();
	mate_open_program(&older, argv);
	mate_hello(&older, &plain);
	mate_open_program(&newer, argv);
	EQ(relay_end(&older), 0);
	mate_hello(&newer, &plain); /* the server of this copy waits for the lock, too */
	kill(newer.pid, SIGTERM);
	EQ(relay_end(&newer), 128 + SIGTERM);
	mate_reap();
}

TEST(the_owners_end_ends_a_copy_while_another_process_holds_the_lock, .timeout_ms = 60000)
{
	pid_t owner = t_spawn((char *[]){ "/bin/sleep", "60", NULL }, (int[]){ -1, -1, -1 });
	struct mate older, newer;
	char pid[16];
	int lock;

	relay_begin();
	snprintf(pid, sizeof(pid), "%d", (int)owner);
	RELAY(&older, NULL, "--supersede", "--owner", pid);
	mate_hello(&older, &plain);
	lock = copy_lock();
	RELAY(&newer, NULL, "--supersede", "--owner", pid);
	mate_hello(&newer, &plain);
	kill(owner, SIGKILL);
	OK(t_wait_child(owner, MATE_MS) >= 0);
	relay_end(&newer);
	relay_end(&older);
	close(lock);
	mate_reap();
}

/* Two accounts at one service: the same command, told apart by a variable alone. */
TEST(copies_with_different_variables_are_different_servers, .timeout_ms = 60000)
{
	struct mate first, second, newer;

	relay_begin();
	setenv("RELAY_ACCOUNT", "one", 1);
	RELAY(&first, NULL, "--supersede");
	mate_hello(&first, &plain);
	setenv("RELAY_ACCOUNT", "two", 1);
	RELAY(&second, NULL, "--supersede");
	mate_hello(&second, &plain);
	RELAY(&newer, NULL, "--supersede");
	mate_hello(&newer, &plain);
	EQ(relay_end(&second), 0);
	OK(relay_pid(&first) > 0);
	EQ(relay_close(&first), 0);
	EQ(relay_close(&newer), 0);
	mate_reap();
}

TEST(the_report_of_a_relay_is_for_its_user_alone, .timeout_ms = 60000)
{
	struct stat st;
	char path[96];
	struct mate m;

	umask(0);
	relay_begin();
	snprintf(path, sizeof(path), "%s/report", t_audit.dir);
	RELAY(&m, NULL, "--rest", "1h", "--report", path);
	mate_hello(&m, &plain);
	EQ(relay_close(&m), 0);
	OK(!stat(path, &st) && st.st_size > 0);
	EQ(st.st_mode & 07777, 0600);
	mate_reap();
}

TEST(nothing_outlives_a_relay_that_is_killed, .timeout_ms = 60000)
{
	struct mate m;

	relay_begin();
	RELAY(&m, NULL, "--rest", "1h");
	mate_hello(&m, &plain);
	OK(relay_pid(&m) > 0);
	mate_kill(&m);
	mate_reap();
}

TEST(sigterm_ends_the_relay_and_its_server, .timeout_ms = 60000)
{
	struct mate m;

	relay_begin();
	RELAY(&m, NULL, "--rest", "1h");
	mate_hello(&m, &plain);
	OK(relay_pid(&m) > 0);
	kill(m.pid, SIGTERM);
	EQ(relay_end(&m), 128 + SIGTERM);
	mate_reap();
}

/* Many clients never read the stderr of their servers. */
TEST(a_relay_whose_stderr_is_not_read_serves_and_ends, .timeout_ms = 60000)
{
	const char *argv[] = { t_program("KILLICK", "build/killick"),
			       "run",
			       "--rest",
			       "5m",
			       "--",
			       "/bin/sh",
			       "-c",
			       "head -c 300000 /dev/zero >&2; exec \"$0\" mcp good",
			       t_program("ZOO", "build/tests/zoo/killick-zoo"),
			       NULL };
	int before = dup(STDERR_FILENO), err[2];
	struct mate m;

	relay_begin();
	OK(before >= 0 && !pipe(err) && dup2(err[1], STDERR_FILENO) >= 0);
	mate_open_program(&m, argv);
	OK(dup2(before, STDERR_FILENO) >= 0);
	close(before);
	close(err[1]);
	mate_hello(&m, &plain);
	mate_do(&m, "echo", "\"text\":\"x\"");
	close(m.in);
	m.in = -1;
	EQ(relay_end(&m), 0);
	close(err[0]);
	mate_reap();
}

/* The stderr of programs that are started from now on goes to a file; its path. */
static const char *collect_stderr(int *before)
{
	static char path[96];
	int fd;

	snprintf(path, sizeof(path), "%s/stderr", t_audit.dir);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	*before = dup(STDERR_FILENO);
	OK(fd >= 0 && *before >= 0 && dup2(fd, STDERR_FILENO) >= 0);
	close(fd);
	return path;
}

/* Undo collect_stderr; the file must have the text. */
static void expect_stderr(const char *path, int before, const char *text)
{
	char all[8192] = "";
	FILE *f;

	OK(dup2(before, STDERR_FILENO) >= 0);
	close(before);
	f = fopen(path, "re");
	OK(f && fread(all, 1, sizeof(all) - 1, f) > 0);
	fclose(f);
	if (!strstr(all, text))
		FAIL("'%s' is not in: %s", text, all);
}

TEST(options_that_a_relay_cannot_have_are_refused, .timeout_ms = 60000)
{
	const char *said;
	int before;
	struct mate m;

	relay_begin();
	RELAY(&m, NULL, "--rest", "1s", "--log", "/dev/null");
	EQ(relay_end(&m), 64);
	RELAY(&m, NULL, "--rest", "soon");
	EQ(relay_end(&m), 64);
	said = collect_stderr(&before);
	RELAY(&m, NULL, "--rest", "1s", "--on", "ssh:x");
	EQ(relay_end(&m), 64);
	expect_stderr(said, before, "'--on' cannot be used with --rest");
	mate_reap();
}

/* Each start ends at once: after some attempts the relay says why, and exits as the server did. */
TEST(a_server_that_fails_again_and_again_is_given_up, .timeout_ms = 60000)
{
	const char *said;
	struct mate m;
	int before;

	relay_begin();
	said = collect_stderr(&before);
	RELAY(&m, "diesready", "--restart");
	mate_ask(&m, "initialize",
		 "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":"
		 "\"t\","
		 "\"version\":\"1\"}",
		 NULL);
	mate_say(&m, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
	EQ(relay_end(&m), 4);
	expect_stderr(said, before, "is not started again");
	mate_reap();
}

TEST(an_owner_that_does_not_exist_is_a_usage_error, .timeout_ms = 60000)
{
	struct mate m;

	relay_begin();
	RELAY(&m, NULL, "--rest", "5m", "--owner", "4194304"); /* Linux has no pid this large */
	EQ(relay_end(&m), 64);
	mate_reap();
}

TEST(the_server_of_a_relay_may_speak_either_era, .timeout_ms = 60000)
{
	static const char *const ways[] = { "modern", "dual", "probedeath" };
	struct mate m;

	relay_begin();
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		long first;

		RELAY(&m, ways[i], "--rest", "200ms");
		mate_hello(&m, &plain);
		first = relay_pid(&m);
		await_gone(first);
		OK(relay_pid(&m) != first);
		EQ(relay_close(&m), 0);
		mate_reap();
	}
}
