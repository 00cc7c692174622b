/* verbs.c - the verbs of the second program as a user calls them: what they print, what they
 * return, what they leave. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/linux/probe.h"
#include "t.h"

enum {
	OUT_MAX = 262144,
	RUN_MS = 60000,
	DEMO_BUSY = 10, /* processes: the demo, its stage, two clients, two keepers, and servers */
};

static char out[OUT_MAX]; /* of the last program, stdout and stderr */

static const char *killick(void)
{
	return t_program("KILLICK", "build/killick");
}

static const char *more(void)
{
	return t_program("KILLICK_MORE", "build/killick-more");
}

/* A runtime directory of our own, so that no other tree is seen and no janitor of others sees ours.
 */
static void own_records(void)
{
	static char dir[128];

	snprintf(dir, sizeof(dir), "%s/records", t_audit.dir);
	OK(mkdir(dir, 0700) == 0);
	setenv("KILLICK_RUNTIME_DIR", dir, 1);
}

/* Read all of fd into `out`. */
static void drain(int fd)
{
	double end = t_now_ms() + RUN_MS;
	size_t len = 0;
	ssize_t n;

	for (;;) {
		if (!t_wait_fd(fd, POLLIN, (int)(end - t_now_ms())))
			FAIL("no end of output");
		n = read(fd, out + len, sizeof(out) - 1 - len);
		if (n <= 0) /* a pty gives EIO when the other side is closed */
			break;
		len += (size_t)n;
	}
	out[len] = '\0';
	close(fd);
}

static int status_of(pid_t pid)
{
	int status = t_wait_child(pid, RUN_MS);

	OK(status != -1);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Run killick with these words; its output is in `out`, its exit status is returned. */
static int run(const char *first, ...)
{
	char *argv[16] = { (char *)killick(), (char *)first };
	int fds[2], n = 2;
	va_list ap;
	pid_t pid;

	va_start(ap, first);
	while (n < 15 && (argv[n] = va_arg(ap, char *)))
		n++;
	va_end(ap);
	OK(pipe2(fds, O_CLOEXEC) == 0);
	pid = t_spawn(argv, (int[]){ -1, fds[1], fds[1] });
	close(fds[1]);
	drain(fds[0]);
	return status_of(pid);
}

static bool has(const char *text)
{
	return strstr(out, text) != NULL;
}

TEST(version_prints_what_is_linked)
{
	EQ(run("--version", NULL), 0);
	OK(strncmp(out, "killick ", 8) == 0 && strchr(out, '\n') == strrchr(out, '\n'));
	EQ(run("--version", "--json", NULL), 0);
	OK(strncmp(out, "{\"killick\":\"", 12) == 0);
	OK(has("\"linked\":[{\"program\":\"killick") && has("\"name\":\"openssl\""));
	EQ(run("version", "--json", NULL), 0);
	OK(has("\"linked\":["));
}

/* A held server that has answered initialize, and whose record is complete: the keepers finish it
 * while the server begins. */
struct server {
	pid_t pid;
	int in, out;
};

static struct server hold(const char *name, const char *mode, const char *inner)
{
	char *argv[] = { (char *)killick(),   (char *)"run",   (char *)"--name", (char *)name,
			 (char *)"--session", (char *)"tag-7", (char *)"--",     (char *)more(),
			 (char *)"zoo",       (char *)mode,    (char *)inner,    NULL };
	static const char hello[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}\n";
	struct server s;
	char answer[512];
	int in[2], from[2];

	OK(pipe2(in, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
	s.pid = t_spawn(argv, (int[]){ in[0], from[1], -1 });
	close(in[0]);
	close(from[1]);
	s.in = in[1];
	s.out = from[0];
	OK(write(s.in, hello, sizeof(hello) - 1) == sizeof(hello) - 1);
	OK(t_wait_fd(s.out, POLLIN, 8000));
	OK(read(s.out, answer, sizeof(answer)) > 0);
	snprintf(answer, sizeof(answer), "\"name\":\"%s\"", name);
	for (double end = t_now_ms() + 8000; run("ps", "--json", NULL) == 0 && !has(answer);)
		OK(t_now_ms() < end);
	return s;
}

static void let_go(struct server *s)
{
	close(s->in);
	close(s->out);
	status_of(s->pid);
}

/* The number behind "key": in the first object of the JSON in `out`. */
static long number(const char *key)
{
	char text[64], *at;

	snprintf(text, sizeof(text), "\"%s\":", key);
	at = strstr(out, text);
	if (!at)
		FAIL("no %s in: %s", text, out);
	return strtol(at + strlen(text), NULL, 10);
}

static size_t count(const char *text)
{
	size_t n = 0;

	for (char *at = out; (at = strstr(at, text)); at++)
		n++;
	return n;
}

/* A JSON value and nothing behind it? Checked by structure only: strings, nesting, commas and
 * colons. */
static const char *json_value(const char *p, int depth);

static const char *json_string(const char *p)
{
	if (!p || *p++ != '"')
		return NULL;
	for (; *p != '"'; p++) {
		if ((unsigned char)*p < 0x20)
			return NULL;
		if (*p == '\\' && !strchr("\"\\/bfnrtu", *++p))
			return NULL;
	}
	return p + 1;
}

static const char *json_members(const char *p, char close, int depth)
{
	p += strspn(p, "\n");
	if (*p == close)
		return p + 1;
	for (;;) {
		p += strspn(p, "\n");
		if (close == '}') {
			p = json_string(p);
			if (!p || *p++ != ':')
				return NULL;
		}
		p = json_value(p, depth + 1);
		if (!p)
			return NULL;
		p += strspn(p, "\n");
		if (*p == close)
			return p + 1;
		if (*p++ != ',')
			return NULL;
	}
}

static const char *json_value(const char *p, int depth)
{
	static const char *const words[] = { "true", "false", "null" };
	char *end;

	if (depth > 16)
		return NULL;
	if (*p == '{' || *p == '[')
		return json_members(p + 1, *p == '{' ? '}' : ']', depth);
	if (*p == '"')
		return json_string(p);
	for (size_t i = 0; i < 3; i++)
		if (strncmp(p, words[i], strlen(words[i])) == 0)
			return p + strlen(words[i]);
	strtod(p, &end);
	return end == p ? NULL : end;
}

static bool is_json(void)
{
	const char *end = json_value(out, 0);

	return end && strcmp(end, "\n") == 0;
}

TEST(wrong_words_are_refused_with_one_line_and_64)
{
	static const char *const verbs[] = { "ps", "reap", "doctor", "demo" };

	own_records();
	for (size_t i = 0; i < 4; i++) {
		char want[200];

		EQ(run(verbs[i], "--x", NULL), 64);
		snprintf(want, sizeof(want),
			 "killick: %s: unknown option '--x'; try 'killick %s --help'\n", verbs[i],
			 verbs[i]);
		STREQ(out, want);
		EQ(run(verbs[i], "--x=1", NULL), 64);
		STREQ(out, want);
		EQ(run(verbs[i], "word", NULL), 64);
		snprintf(want, sizeof(want),
			 "killick: %s: unexpected argument 'word'; try 'killick %s --help'\n",
			 verbs[i], verbs[i]);
		STREQ(out, want);
	}
	EQ(run("ps", "--json=yes", NULL), 64);
	STREQ(out, "killick: ps: option '--json' takes no value; try 'killick ps --help'\n");
	EQ(run("doctor", "--reap", NULL), 64);
	STREQ(out, "killick: doctor: option '--reap' needs a value; try 'killick doctor --help'\n");
	EQ(run("doctor", "--reap=12x", NULL), 64);
	OK(has("not '12x'"));
	EQ(run("doctor", "--reap", "-5", NULL), 64);
	EQ(run("doctor", "--reap", "1", NULL), 64);
}

TEST(help_is_one_screen)
{
	static const char *const verbs[] = {
		"ps", "reap", "doctor", "demo", "exec-server", "run-on"
	};

	own_records();
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		char want[64];
		size_t lines = 0;
		bool is_verb = strcmp(verbs[i], "run-on") != 0;

		EQ(is_verb ? run(verbs[i], "--help", NULL) : run("help", verbs[i], NULL), 0);
		snprintf(want, sizeof(want), "usage: killick %s", is_verb ? verbs[i] : "run --on");
		OK(strncmp(out, want, strlen(want)) == 0);
		OK(has("Exit status: "));
		for (char *rest = out, *line; (line = strsep(&rest, "\n")); lines++)
			OK(strlen(line) <= 79);
		OK(lines <= 24);
	}
}

TEST(help_of_killick_and_of_run_fits_79_columns)
{
	own_records();
	for (int i = 0; i < 2; i++) {
		EQ(i ? run("run", "--help", NULL) : run("--help", NULL), 0);
		OK(has("killick run [") && count("\n") > 10);
		for (char *rest = out, *line; (line = strsep(&rest, "\n"));)
			if (strlen(line) > 79)
				FAIL("%zu columns: %s", strlen(line), line);
	}
}

TEST(ps_without_trees)
{
	own_records();
	EQ(run("ps", NULL), 0);
	OK(strncmp(out, "no trees", 8) == 0);
	OK(has("`killick wrap`") && has("must be restarted"));
	EQ(run("ps", "--json", NULL), 0);
	STREQ(out, "[]\n");
	EQ(run("reap", NULL), 0);
	OK(has("nothing to reap"));
}

TEST(ps_shows_a_tree, .timeout_ms = 40000)
{
	struct server s;

	own_records();
	setenv("LC_ALL", "C", 1);
	s = hold("fs", "npx", "bg");
	EQ(run("ps", "--json", NULL), 0);
	OK(is_json());
	OK(has("\"name\":\"fs\"") && has("\"session\":\"tag-7\"") && has("\"state\":\"running\""));
	OK(has("\"alive\":true"));
	EQ(number("watch"), s.pid);
	EQ(count("\"ppid\":"), 3);
	EQ(run("ps", NULL), 0);
	OK(strncmp(out, "NAME ", 5) == 0);
	OK(has("\nfs ") && has(" running ") && has(" tag-7 ") && has(" zoo npx bg\n"));
	EQ(run("ps", "--tree", NULL), 0);
	OK(has("fs  running, ") && has("in 3 processes") && has("\n`- ") && has("\n   `- ") &&
	   has("\n      `- "));
	setenv("LC_ALL", "C.UTF-8", 1);
	EQ(run("ps", "--tree", NULL), 0);
	OK(has("\n└─ "));
	let_go(&s);
	EQ(run("ps", NULL), 0);
	OK(strncmp(out, "no trees", 8) == 0);
}

/* Run killick on a terminal of this size. */
static int run_on_terminal(int width, const char *verb, const char *option)
{
	char *argv[] = { (char *)killick(), (char *)verb, (char *)option, NULL };
	struct winsize ws = { .ws_row = 24, .ws_col = (unsigned short)width };
	int master, slave;
	pid_t pid;

	OK(openpty(&master, &slave, NULL, NULL, &ws) == 0);
	fcntl(master, F_SETFD, FD_CLOEXEC);
	fcntl(slave, F_SETFD, FD_CLOEXEC);
	setenv("TERM", "xterm", 1);
	pid = t_spawn(argv, (int[]){ slave, slave, slave });
	close(slave);
	drain(master);
	return status_of(pid);
}

TEST(ps_fits_the_terminal, .timeout_ms = 40000)
{
	struct server s;

	own_records();
	setenv("LC_ALL", "C", 1);
	setenv("NO_COLOR", "1", 1);
	s = hold("a-name-that-is-really-rather-long-for-what-it-is", "nestsub", NULL);
	for (int i = 0; i < 2; i++) {
		EQ(run_on_terminal(80, "ps", i ? "--tree" : NULL), 0);
		OK(has("a-name-"));
		for (char *rest = out, *line; (line = strsep(&rest, "\r\n"));)
			if (strlen(line) > 80)
				FAIL("%zu columns: %s", strlen(line), line);
	}
	let_go(&s);
}

/* The hold: the only child of the watch. */
static pid_t hold_of(pid_t watch)
{
	EQ(run("ps", "--json", NULL), 0);
	EQ(number("watch"), watch);
	return (pid_t)number("hold");
}

TEST(reap_ends_trees_without_keepers, .timeout_ms = 40000)
{
	struct server s;
	pid_t inner;

	own_records();
	s = hold("lost", "daemon", NULL);
	inner = hold_of(s.pid);
	EQ(run("reap", NULL), 0); /* it is kept: not ours to end */
	OK(has("nothing to reap"));
	OK(kill(s.pid, SIGSTOP) == 0); /* so that neither sees the other die */
	OK(kill(inner, SIGKILL) == 0 && kill(s.pid, SIGKILL) == 0);
	status_of(s.pid);
	close(s.in);
	close(s.out);
	OK(t_wait_child(inner, 5000) != -1); /* it came to us, the subreaper */
	EQ(run("ps", NULL), 0);
	OK(has("abandoned"));
	EQ(run("reap", "--dry-run", NULL), 0);
	OK(has("would end lost"));
	OK(audit_count(&t_audit) > 0);
	EQ(run("reap", "--json", NULL), 0);
	OK(is_json() && has("\"name\":\"lost\"") && has("\"survivors\":0"));
	OK(audit_wait_empty(&t_audit, 2000, NULL));
	while (waitpid(-1, NULL, __WALL) > 0)
		;
	EQ(run("ps", NULL), 0);
	OK(strncmp(out, "no trees", 8) == 0);
}

/* Keepers that were killed, or that could not look for the mark, leave the record. */
TEST(ps_calls_a_tree_ended_when_only_its_record_is_left, .timeout_ms = 40000)
{
	struct server s;
	pid_t inner;

	own_records();
	s = hold("over", "plain", NULL);
	inner = hold_of(s.pid);
	OK(kill(s.pid, SIGSTOP) == 0); /* so that neither sees the other die */
	OK(kill(inner, SIGKILL) == 0 && kill(s.pid, SIGKILL) == 0);
	status_of(s.pid);
	close(s.in);
	close(s.out);
	OK(t_wait_child(inner, 5000) != -1);
	OK(audit_wait_empty(&t_audit, 5000, NULL)); /* the kernel has ended the server */
	while (waitpid(-1, NULL, __WALL) > 0)
		;
	EQ(run("ps", NULL), 0);
	OK(has("ended") && !has("abandoned"));
	EQ(run("reap", NULL), 0);
	EQ(run("ps", NULL), 0);
	OK(strncmp(out, "no trees", 8) == 0);
}

TEST(doctor_answers, .timeout_ms = 40000)
{
	own_records();
	EQ(run("doctor", NULL), 0);
	OK(has("level here") && has("--max-procs") && has("orphans of other programs"));
	EQ(run("doctor", "--json", NULL), 0);
	OK(is_json());
	OK(has("\"level\":\"cgroup\"") || has("\"level\":\"keeper\""));
	OK(has("\"keeper\":{\"works\":true"));
}

/* Run killick with a limit of open files and none open but stdin, stdout and stderr; the output is
 * in `out`. Returns the exit status. */
static int run_with_files(int files, const char *words)
{
	char command[1000];
	char *argv[] = { (char *)"sh", (char *)"-c", command, NULL };
	int fds[2];
	pid_t pid;

	snprintf(command, sizeof(command), "ulimit -n %d; exec %s %s", files, killick(), words);
	/* the caller of the test may have left files open */
	for (int fd = 3; fd < 1024; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	OK(pipe2(fds, O_CLOEXEC) == 0);
	pid = t_spawn(argv, (int[]){ -1, fds[1], fds[1] });
	close(fds[1]);
	drain(fds[0]);
	return status_of(pid);
}

TEST(doctor_says_that_the_limit_of_open_files_is_too_low, .timeout_ms = 60000)
{
	static const int low[] = { 8, 20, PROBE_OPEN_FILES - 1 };
	char want[80];

	own_records();
	for (size_t i = 0; i < sizeof(low) / sizeof(low[0]); i++) {
		snprintf(want, sizeof(want), "needs up to %d, but the limit (ulimit -n) is %d",
			 PROBE_OPEN_FILES, low[i]);
		EQ(run_with_files(low[i], "doctor"), 0);
		OK(has(want) && has("--nofile=1024") + has("ulimit -n 1024") == 1);
		OK(has("may fail: too few open files"));
		EQ(run_with_files(low[i], "doctor --json"), 0);
		OK(is_json() && has(want) && has("\"open_files\":{\"works\":false"));
	}
	EQ(run_with_files(PROBE_OPEN_FILES, "doctor --json"), 0);
	OK(is_json() && has("\"open_files\":{\"works\":true"));
}

/* The doctor's number is enough, with the options that cost descriptors. */
TEST(run_works_with_the_number_of_open_files_that_doctor_names, .timeout_ms = 40000)
{
	static const char *const levels[] = { "auto", "keeper", "namespace", "group" };
	char words[400];
	int r;

	own_records();
	for (size_t i = 0; i < 4; i++) {
		snprintf(words, sizeof(words), "run --contain %s --report %s/report -- true",
			 levels[i], t_audit.dir);
		r = run_with_files(PROBE_OPEN_FILES, words);
		if (r != 0 && !(i == 2 && r == 69)) /* no namespaces here */
			FAIL("level %s: status %d: %s", levels[i], r, out);
	}
	EQ(run_with_files(PROBE_OPEN_FILES, "doctor --json"), 0);
	if (!has("\"max_procs\":{\"works\":true") || !has("\"memory\":{\"works\":true"))
		SKIP("no cgroup controllers: --max-procs and --memory were not tried");
	snprintf(words, sizeof(words), "run --max-procs 20 --memory 64M --report %s/report -- true",
		 t_audit.dir);
	r = run_with_files(PROBE_OPEN_FILES, words);
	if (r != 0)
		FAIL("status %d: %s", r, out);
}

/* Start a program that sleeps under a name of our choice and ignores SIGTERM if asked to. */
static pid_t sleeper(const char *name, bool stubborn)
{
	char *argv[] = { (char *)"bash", (char *)"-c", NULL, NULL };
	char script[256];
	int fds[2];
	char c;
	pid_t pid;

	snprintf(script, sizeof(script),
		 "%s exec -a %s %s -c '%s sleep 30 & echo x; read y </dev/zero; wait'",
		 stubborn ? "trap '' TERM;" : "", name, "bash", "");
	argv[2] = script;
	OK(pipe2(fds, O_CLOEXEC) == 0);
	pid = t_spawn(argv, (int[]){ -1, fds[1], -1 });
	close(fds[1]);
	OK(t_wait_fd(fds[0], POLLIN, 5000));
	OK(read(fds[0], &c, 1) == 1);
	close(fds[0]);
	return pid;
}

TEST(doctor_reap_ends_only_the_given_orphan, .timeout_ms = 40000)
{
	pid_t orphan, other;
	char pid[16], want[64];

	own_records();
	prctl(PR_SET_NAME, "init"); /* to the doctor, our children are orphans now */
	orphan = sleeper("mcp-server-lost", true);
	other = sleeper("mcpelauncher", false);
	EQ(run("doctor", "--json", NULL), 0);
	snprintf(want, sizeof(want), "{\"pid\":%d,\"ppid\":%d,\"parent\":\"init\"", orphan,
		 getpid());
	OK(is_json() && has(want));
	snprintf(want, sizeof(want), "{\"pid\":%d,", other);
	OK(!has(want));
	snprintf(pid, sizeof(pid), "%d", other);
	EQ(run("doctor", "--reap", pid, NULL), 64);
	OK(has("was not touched"));
	EQ(kill(other, 0), 0);
	snprintf(pid, sizeof(pid), "%d", orphan);
	EQ(run("doctor", "--reap", pid, NULL), 0);
	OK(has("ended ") && has(" 1 below it"));
	EQ(status_of(orphan), 128 + SIGKILL);
	while (waitpid(-1, NULL, WNOHANG) > 0) /* its sleep came to us */
		;
	EQ(kill(other, 0), 0);
	kill(other, SIGKILL);
	status_of(other);
	audit_scrub(&t_audit); /* the other's sleep */
	while (waitpid(-1, NULL, 0) > 0)
		;
}

TEST(demo_leaves_nothing, .timeout_ms = 60000)
{
	double begin = t_now_ms();
	size_t len;

	own_records();
	unsetenv("HOME");
	setenv("LC_ALL", "C", 1);
	EQ(run("demo", NULL), 0);
	len = strlen(out);
	OK(len > 13 && strcmp(out + len - 14, "\nsurvivors: 0\n") == 0);
	OK(has("behind npx, with a child   1 process            nothing"));
	OK(has("behind sh -c, never exits  2 processes          nothing"));
	OK(has("starts a daemon            1 process            nothing"));
	OK(has("collects its own orphans   6 processes          nothing"));
	for (char *rest = out, *line; (line = strsep(&rest, "\n"));)
		OK(strlen(line) <= 80);
	EQ(audit_count(&t_audit), 0);
	t_note("demo took %.1f s", (t_now_ms() - begin) / 1000);
}

/* Nothing is wrapped by the terminal, and no caption and no name in the table is cut. */
TEST(demo_fits_60_columns, .timeout_ms = 60000)
{
	own_records();
	setenv("LC_ALL", "C", 1);
	setenv("NO_COLOR", "1", 1);
	EQ(run_on_terminal(60, "demo", NULL), 0);
	EQ(count(" of 5: "), 5);
	OK(has("What is left?") && has("has a subreaper with orphans in new sessions\r\n"));
	OK(has("\nbehind npx, with a child   1 process     nothing "));
	OK(has("\nbehind sh -c, never exits  2 processes   nothing "));
	OK(has("\ncollects its own orphans   6 processes   nothing "));
	for (char *rest = out, *line; (line = strsep(&rest, "\r\n"));)
		if (strlen(line) > 60)
			FAIL("%zu columns: %s", strlen(line), line);
}

/* End the demo by a signal once both sides of it have servers. The auditor says so, not the demo's
 * output: on a busy machine the servers are gone again by the time that the output is read. */
static void interrupt_demo(int sig, int want)
{
	char *argv[] = { (char *)killick(), (char *)"demo", NULL };
	double end = t_now_ms() + 15000;
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	pid_t pid = t_spawn(argv, (int[]){ -1, null, -1 });

	close(null);
	while (audit_count(&t_audit) < DEMO_BUSY) {
		OK(t_now_ms() < end);
		poll(NULL, 0, 2);
	}
	OK(kill(pid, sig) == 0);
	EQ(status_of(pid), want);
	OK(audit_wait_empty(&t_audit, 5000, NULL));
	/* Killed, it left its children to us. None is alive, but the last may still be exiting. */
	while (waitpid(-1, NULL, __WALL) > 0)
		;
}

TEST(interrupted_demo_leaves_nothing, .timeout_ms = 40000)
{
	own_records();
	interrupt_demo(SIGINT, 128 + SIGINT);
}

TEST(killed_demo_leaves_nothing, .timeout_ms = 40000)
{
	own_records();
	interrupt_demo(SIGKILL, 128 + SIGKILL);
}

/* With too few descriptors to read records, "no trees" would be a lie. */
TEST(ps_and_reap_say_when_they_cannot_read_records)
{
	static const char *const verbs[] = { "ps", "reap --no-wait" };
	char dir[160], said[2000], command[1000];

	snprintf(dir, sizeof(dir), "%s/run", t_audit.dir);
	setenv("KILLICK_RUNTIME_DIR", dir, 1);
	for (int i = 0; i < 2; i++) {
		snprintf(command, sizeof(command),
			 "mkdir -p -m 700 %s && echo 'killick-record 1' >%s/0123456789abcdef; "
			 "exec 2>&1; (ulimit -n 4; exec %s %s); echo \"status $?\"",
			 dir, dir, t_program("KILLICK", "build/killick"), verbs[i]);
		const char *const argv[] = { "sh", "-c", command, NULL };
		int fds[2];

		OK(pipe2(fds, O_CLOEXEC) == 0);
		pid_t pid = t_spawn((char *const *)(void *)argv, (int[]){ -1, fds[1], -1 });
		close(fds[1]);
		EQ(t_wait_child(pid, 8000), 0);
		ssize_t n = read(fds[0], said, sizeof(said) - 1);
		said[n > 0 ? n : 0] = '\0';
		close(fds[0]);
		if (!strstr(said, "ulimit -n") || !strstr(said, "status 75"))
			FAIL("%s: %s", verbs[i], said);
	}
}
