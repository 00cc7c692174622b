/* workload.c - the reported workload: one session per agent turn, three servers each, by a program
 * that stays alive; and many sessions at once.
 *
 * Processes are counted by the auditor (audit.h) and by the pids that the servers recorded.
 * Environment: TEST_SEED; WORKLOAD_SESSIONS and WORKLOAD_SECONDS: how many sessions the last test
 * opens (40), and for how long it runs at least (0).
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mate.h"

#define SERVERS    3 /* in each session */
#define TURNS      24
#define AT_ONCE    100
#define PER_SERVER 3 /* processes: the server and its two keepers */
#define SEED       20261118u

static pid_t hub;

/* The member mcpServers of a session with three servers. */
static const char *servers(bool shared)
{
	static char text[4096];
	int n = snprintf(text, sizeof(text), "\"mcpServers\":{");

	for (int i = 0; i < SERVERS; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			      "%s\"s%d\":{\"command\":\"%s\",\"args\":[\"mcp\",\"tagged\","
			      "\"%d\"],\"share\":\"%s\",\"envVars\":[\"ZOO_AUDIT\",\"ZOO_FIFO\","
			      "\"ZOO_PIDS\","
			      "\"ZOO_LIFE_MS\"]}",
			      i > 0 ? "," : "", i, t_program("ZOO", "build/tests/zoo/killick-zoo"),
			      i, shared ? "identical" : "never");
	snprintf(text + n, sizeof(text) - (size_t)n, "}");
	return text;
}

static void name_of(struct span result, char out[32])
{
	scan_copy(scan_member(result, "session"), out, 32);
	OK(out[0]);
}

static void create(struct control *c, bool shared, char out[32])
{
	name_of(control_do(c, "session.create", servers(shared)), out);
}

static void call(struct control *c, const char *session, int server)
{
	char text[160];
	struct span s;

	snprintf(text, sizeof(text),
		 "\"session\":\"%s\",\"server\":\"s%d\",\"tool\":\"echo\",\"arguments\":{\"text\":"
		 "\"of %s\"}",
		 session, server, session);
	s = control_do(c, "tool.call", text);
	snprintf(text, sizeof(text), "of %s", session);
	OK(memmem(s.at, s.len, text, strlen(text)));
}

/* The answer must prove the end of `ended` servers, and name `kept` others. */
static void check_destroyed(struct span s, size_t ended, size_t kept)
{
	size_t n = 0;

	if (scan_long(scan_member(s, "survivors"), -1) != 0 ||
	    strncmp(scan_member(s, "proved").at, "true", 4) != 0)
		FAIL("not proved: %.*s", (int)s.len, s.at);
	while (mate_item(scan_member(s, "ended"), n).len > 0)
		n++;
	EQ(n, ended);
	for (n = 0; mate_item(scan_member(s, "kept"), n).len > 0;)
		n++;
	EQ(n, kept);
}

static void destroy(struct control *c, const char *session, size_t ended, size_t kept)
{
	char text[64];

	snprintf(text, sizeof(text), "\"session\":\"%s\"", session);
	check_destroyed(control_do(c, "session.destroy", text), ended, kept);
}

/* Exactly the hub, and so many servers with their keepers, live now. A keeper whose server runs may
 * have started a janitor, which ends after its look for lost trees. */
static void expect_servers(size_t count)
{
	char text[1200];
	size_t expected = 1 + count * PER_SERVER, all = (size_t)audit_count(&t_audit);
	double end = t_now_ms() + MATE_MS;

	EQ(mate_servers(), count);
	while (count > 0 && all > expected && t_now_ms() < end) {
		usleep(5000);
		all = (size_t)audit_count(&t_audit);
	}
	if (all != expected) {
		audit_describe(&t_audit, text, sizeof(text));
		FAIL("%zu processes live instead of %zu: %s", all, expected, text);
	}
}

TEST(each_turn_has_its_servers_and_leaves_none, .timeout_ms = 60000)
{
	struct control c;
	char session[32];

	hub = mate_hub_start();
	control_open(&c);
	for (int turn = 0; turn < TURNS; turn++) {
		create(&c, false, session);
		for (int i = 0; i < SERVERS; i++)
			call(&c, session, i);
		expect_servers(SERVERS);
		destroy(&c, session, SERVERS, 0);
		expect_servers(0);
	}
	control_close(&c);
	mate_hub_stop();
}

TEST(turns_that_share_use_the_same_servers, .timeout_ms = 60000)
{
	struct control c;
	char first[32], session[32];

	hub = mate_hub_start();
	control_open(&c);
	create(&c, true, first);
	for (int turn = 0; turn < TURNS; turn++) {
		create(&c, true, session);
		for (int i = 0; i < SERVERS; i++)
			call(&c, session, i);
		expect_servers(SERVERS);
		destroy(&c, session, 0, SERVERS);
		expect_servers(SERVERS);
	}
	destroy(&c, first, SERVERS, 0);
	expect_servers(0);
	control_close(&c);
	mate_hub_stop();
}

static void many_at_once(bool shared)
{
	static char sessions[AT_ONCE][32];
	long ids[AT_ONCE];
	struct control c;

	hub = mate_hub_start();
	control_open(&c);
	for (int i = 0; i < AT_ONCE; i++)
		ids[i] = control_send(&c, "session.create", servers(shared));
	for (int i = 0; i < AT_ONCE; i++) {
		struct span line = control_wait_any(&c, ids, AT_ONCE);
		struct span result = scan_member(line, "result");

		if (result.len == 0)
			FAIL("session.create: %.*s", (int)line.len, line.at);
		name_of(result, sessions[i]);
	}
	for (int i = 0; i < AT_ONCE; i++)
		for (int k = 0; k < SERVERS; k++)
			call(&c, sessions[i], k);
	expect_servers(shared ? SERVERS : (size_t)AT_ONCE * SERVERS);
	for (int i = 0; i < AT_ONCE; i++) {
		bool last = i == AT_ONCE - 1;

		destroy(&c, sessions[i], shared && !last ? 0 : SERVERS,
			shared && !last ? SERVERS : 0);
		if (i % 10 == 9) /* a count takes milliseconds */
			expect_servers(shared ? (last ? 0 : SERVERS)
					      : (size_t)(AT_ONCE - 1 - i) * SERVERS);
	}
	control_close(&c);
	mate_hub_stop();
}

TEST(a_hundred_sessions_at_once_have_300_servers, .timeout_ms = 120000)
{
	many_at_once(false);
}

TEST(a_hundred_sessions_at_once_share_3_servers, .timeout_ms = 60000)
{
	many_at_once(true);
}

static void begin_seed(void)
{
	const char *seed = getenv("TEST_SEED");

	t_seed = seed && *seed ? strtoull(seed, NULL, 0) : SEED;
	t_note("TEST_SEED=%llu", (unsigned long long)t_seed);
}

static const char *three_servers(void)
{
	return MATE_CONFIG("config.json", { "s0", NULL, NULL, NULL }, { "s1", NULL, NULL, NULL },
			   { "s2", NULL, NULL, NULL });
}

/* A client whose three servers run: a server is started by its first call. */
static void start_client(struct mate *m, const struct mate_spec *spec)
{
	mate_open(m, spec);
	mate_hello(m, spec);
	mate_do(m, "s0__echo", "\"text\":\"x\"");
	mate_do(m, "s1__log", "\"text\":\"x\",\"n\":3");
	mate_do(m, "s2__echo", "\"text\":\"x\"");
}

TEST(servers_of_killed_clients_are_gone, .timeout_ms = 60000)
{
	enum { CLIENTS = 8, KILLS = 24 };
	struct mate m[CLIENTS];
	struct mate_spec spec = { 0 };

	begin_seed();
	hub = mate_hub_start();
	spec.config = three_servers();
	for (int i = 0; i < CLIENTS; i++)
		start_client(&m[i], &spec);
	mate_await_servers((size_t)CLIENTS * SERVERS);
	for (int i = 0; i < KILLS; i++) {
		struct mate *one = &m[t_random() % CLIENTS];

		if (t_random() % 2)
			mate_call(one, "s1__block", NULL, NULL);
		if (t_random() % 4)
			mate_kill(one);
		else
			mate_close(one);
		mate_await_servers((size_t)(CLIENTS - 1) * SERVERS);
		start_client(one, &spec);
		mate_await_servers((size_t)CLIENTS * SERVERS);
	}
	for (int i = 0; i < CLIENTS; i++)
		mate_kill(&m[i]);
	mate_await_servers(0);
	mate_hub_stop();
}

/* A program that uses the control socket, and is killed. */
static pid_t start_program(bool shared)
{
	struct control c;
	char session[32];
	int ready[2];
	pid_t pid;

	OK(!pipe2(ready, O_CLOEXEC));
	pid = fork();
	OK(pid >= 0);
	if (pid == 0) {
		control_open(&c);
		create(&c, shared, session);
		for (int i = 0; i < SERVERS; i++)
			call(&c, session, i);
		OK(write(ready[1], "x", 1) == 1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	OK(t_wait_fd(ready[0], POLLIN, MATE_MS) & POLLIN);
	close(ready[0]);
	return pid;
}

TEST(sessions_of_a_killed_program_are_gone, .timeout_ms = 60000)
{
	hub = mate_hub_start();
	for (int i = 0; i < 10; i++) {
		pid_t pid = start_program(i % 2);

		EQ(mate_servers(), SERVERS);
		kill(pid, SIGKILL);
		t_wait_child(pid, MATE_MS);
		mate_await_servers(0);
	}
	mate_hub_stop();
}

struct usage {
	size_t fds, processes;
	long pss_kib;
};

static struct usage hub_usage(void)
{
	struct usage u = { .processes = (size_t)audit_count(&t_audit) };
	char path[64], line[256];
	struct dirent *e;
	DIR *d;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/fd", hub);
	d = opendir(path);
	OK(d);
	while ((e = readdir(d)))
		u.fds += e->d_name[0] != '.';
	closedir(d);
	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", hub);
	f = fopen(path, "re");
	OK(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Pss: %ld", &u.pss_kib) == 1)
			break;
	fclose(f);
	return u;
}

/* One session: by the control socket, shared or not, or a client that is killed or leaves. */
static void one_session(struct control *c, const char *config)
{
	struct mate_spec spec = { .config = config };
	unsigned kind = (unsigned)(t_random() % 4);
	char session[32];
	struct mate m;

	if (kind < 2) {
		create(c, kind, session);
		for (int i = 0; i < SERVERS; i++)
			call(c, session, i);
		expect_servers(SERVERS);
		destroy(c, session, SERVERS, 0);
	} else {
		start_client(&m, &spec);
		EQ(mate_servers(), SERVERS);
		if (kind == 2)
			mate_kill(&m);
		else
			mate_close(&m);
		mate_await_servers(0);
	}
}

/* Keepers that have ended are children of this process, as on a machine they are children of init;
 * thousands of zombies would slow down every look at /proc. */
static void reap_orphans(void)
{
	siginfo_t info = { .si_pid = 0 };

	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid &&
	       info.si_pid != hub) {
		waitpid(info.si_pid, NULL, 0);
		info.si_pid = 0;
	}
}

static unsigned long number_from(const char *name, unsigned long otherwise)
{
	const char *s = getenv(name);

	return s && *s ? strtoul(s, NULL, 10) : otherwise;
}

TEST(many_sessions_leave_processes_descriptors_and_memory_flat, .timeout_ms = 2 * 3600 * 1000)
{
	unsigned long sessions = number_from("WORKLOAD_SESSIONS", 40);
	double span_ms = 1000.0 * (double)number_from("WORKLOAD_SECONDS", 0), began;
	struct usage warm = { 0 }, end;
	const char *config;
	struct control c;

	begin_seed();
	hub = mate_hub_start();
	control_open(&c);
	config = three_servers();
	began = t_now_ms();
	for (unsigned long i = 0; i < sessions; i++) {
		double due = began + span_ms * (double)(i + 1) / (double)sessions;

		one_session(&c, config);
		mate_await_servers(0);
		reap_orphans();
		if (i == sessions / 4)
			warm = hub_usage();
		while (t_now_ms() < due)
			usleep(10000);
	}
	end = hub_usage();
	t_note("after %lu sessions: %zu processes, %zu descriptors, %ld KiB; a quarter: %zu, %zu, "
	       "%ld",
	       sessions, end.processes, end.fds, end.pss_kib, warm.processes, warm.fds,
	       warm.pss_kib);
	EQ(end.processes, 1);
	EQ(end.fds, warm.fds);
	/* AddressSanitizer keeps freed memory for a while */
	OK(end.pss_kib <= warm.pss_kib + (T_PATIENCE > 1 ? 65536 : 512));
	control_close(&c);
	mate_hub_stop();
}
