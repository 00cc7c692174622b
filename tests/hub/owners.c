/* owners.c - the processes that own a session: the one that made the session, and the client of
 * `killick connect`. A session ends with them, although other processes hold the connection or the
 * pipes open, and although a process in between is stopped.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control_lab.h"

/* --- a client with a child that holds all descriptors of the client --- */

struct forked {
	pid_t client, child;
};

/* Start the client, which does `work` and then forks the child; wait until both exist. */
static void forked_start(struct forked *f, void (*work)(void))
{
	int ready[2];

	OK(!pipe(ready));
	f->client = fork();
	if (f->client == 0) {
		close(ready[0]);
		work();
		f->child = fork();
		if (f->child > 0 && write(ready[1], &f->child, sizeof(f->child)) < 0)
			_exit(1);
		close(ready[1]);
		alarm(60);
		for (;;)
			pause();
	}
	close(ready[1]);
	OK(t_wait_fd(ready[0], POLLIN, MATE_MS));
	EQ(read(ready[0], &f->child, sizeof(f->child)), sizeof(f->child));
	close(ready[0]);
}

static void forked_kill_client(const struct forked *f)
{
	kill(f->client, SIGKILL);
	OK(t_wait_child(f->client, MATE_MS) >= 0);
	EQ(kill(f->child, 0), 0);
}

/* The child is an orphan, and so a child of this process. */
static void forked_end(const struct forked *f)
{
	kill(f->child, SIGKILL);
	OK(t_wait_child(f->child, MATE_MS) >= 0);
}

static struct control forked_control; /* in the client */

static void make_session(void)
{
	control_open(&forked_control);
	create(&forked_control, "good", NULL);
}

TEST(a_session_ends_with_its_process_while_a_child_holds_the_connection)
{
	struct forked f;

	mate_hub_start();
	forked_start(&f, make_session);
	EQ(mate_servers(), 1);
	forked_kill_client(&f);
	mate_await_servers(0);
	await_sessions(0);
	forked_end(&f);
	mate_hub_stop();
}

static void make_leased_session(void)
{
	control_open(&forked_control);
	create(&forked_control, "good", "\"lease\":3600000");
}

TEST(a_leased_session_ends_with_the_process_that_made_it)
{
	struct forked f;

	mate_hub_start();
	forked_start(&f, make_leased_session);
	EQ(mate_servers(), 1);
	forked_kill_client(&f);
	mate_await_servers(0);
	await_sessions(0);
	forked_end(&f);
	mate_hub_stop();
}

/* A request that the process wrote before its end is handled. */
static void make_session_and_destroy_another(void)
{
	make_session();
	control_send(&forked_control, "session.destroy", "\"session\":\"s1\"");
}

TEST(the_last_requests_of_a_process_are_handled)
{
	struct control c;
	struct forked f;

	mate_hub_start();
	control_open(&c);
	STREQ(create(&c, "good", NULL), "s1");
	forked_start(&f, make_session_and_destroy_another);
	forked_kill_client(&f);
	await_sessions(0);
	mate_await_servers(0);
	forked_end(&f);
	control_close(&c);
	mate_hub_stop();
}

/* The hub must not take the process that has the pid of its caller now for the caller. */
TEST(a_request_of_an_ended_process_is_not_judged_by_the_next_process_with_its_pid)
{
	pid_t hub = mate_hub_start(), caller, next;
	struct control c;

	kill(hub, SIGSTOP);
	caller = fork();
	if (caller == 0) {
		control_open(&c);
		control_send(&c, "hub.shutdown", "");
		_exit(0);
	}
	EQ(t_wait_child(caller, MATE_MS), 0);
	next = t_fork_as(caller);
	if (next == 0) {
		alarm(60);
		for (;;)
			pause();
	}
	kill(hub, SIGCONT);
	control_open(&c);
	for (int i = 0; i < 3; i++)
		control_do(&c, "hub.status", "");
	control_close(&c);
	if (next > 0) {
		kill(next, SIGKILL);
		OK(t_wait_child(next, MATE_MS) >= 0);
	}
	mate_hub_stop();
	if (next < 0)
		SKIP("a process with a pid of our choice: %s", strerror(-next));
}

static void start_private_hub(void)
{
	char *argv[] = { (char *)t_program("KILLICK", "build/killick"), "hub", "--listen", "stdio",
			 NULL };
	int pair[2];

	OK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	t_spawn(argv, (int[]){ pair[1], pair[1], -1 });
	close(pair[1]);
	forked_control = (struct control){ .fd = pair[0] };
	create(&forked_control, "good", NULL);
}

TEST(a_private_hub_ends_with_its_parent_while_a_child_holds_its_stdin)
{
	struct forked f;

	mate_room();
	forked_start(&f, start_private_hub);
	EQ(mate_servers(), 1);
	forked_kill_client(&f);
	mate_await_servers(0);
	forked_end(&f);
	mate_reap();
}

/* Freeze: trace all threads of the process and stop them. SIGCONT does not continue them, as if the
 * process were frozen, or stopped again and again. */
static void trace_all(pid_t pid, bool freeze)
{
	char path[64];
	struct dirent *d;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	OK(tasks);
	while ((d = readdir(tasks))) {
		pid_t task = (pid_t)atoi(d->d_name);

		/* a SIGCONT lets a thread run until its next stop: it is reported, and then
		 * detached */
		while (task && !freeze && ptrace(PTRACE_DETACH, task, 0, 0) < 0) {
			siginfo_t info = { .si_code = 0 };

			if (waitid(P_PID, (id_t)task, &info,
				   WEXITED | WSTOPPED | __WALL | WNOHANG | WNOWAIT) < 0 ||
			    info.si_code == CLD_EXITED || info.si_code == CLD_KILLED) {
				/* the thread has ended: the process is not reported as
				 * ended before its tracer has reaped this thread */
				if (task != pid)
					waitpid(task, NULL, __WALL | WNOHANG);
				break;
			}
			if (info.si_pid)
				waitpid(task, NULL, __WALL | WNOHANG);
			sched_yield();
		}
		if (!task || !freeze)
			continue;
		if (ptrace(PTRACE_SEIZE, task, 0, 0) < 0)
			SKIP("ptrace: %s", strerror(errno));
		OK(!ptrace(PTRACE_INTERRUPT, task, 0, 0));
		OK(waitpid(task, NULL, __WALL) == task);
	}
	closedir(tasks);
}

/* --- connect --- */

/* A client whose only child is `killick WORDS`; returns the pid of that child. This process holds
 * both pipes. */
static pid_t open_client(struct mate *m, const char *const *words)
{
	const char *client[16] = { "/bin/sh", "-c", "exec 3<&0; \"$0\" \"$@\" <&3 & echo $!; wait",
				   t_program("KILLICK", "build/killick") };
	struct mate_spec spec = { .config = NULL };
	struct span line;
	pid_t pid;

	for (size_t i = 4; *words; i++)
		client[i] = *words++;
	mate_open_program(m, client);
	while (!mate_line(m, &line)) {
		OK(t_wait_fd(m->out, POLLIN, MATE_MS));
		OK(mate_read(m));
	}
	pid = (pid_t)scan_long(line, -1);
	OK(pid > 0);
	mate_hello(m, &spec);
	mate_do(m, "echo", "\"text\":\"x\"");
	mate_await_servers(1);
	return pid;
}

static pid_t open_connect(struct mate *m)
{
	return open_client(m, (const char *const[]){
				      "connect", "--config",
				      MATE_CONFIG("mcp.json", { "a", "good", NULL, NULL }), NULL });
}

static void kill_client(struct mate *m)
{
	kill(m->pid, SIGKILL);
	OK(t_wait_child(m->pid, MATE_MS) >= 0);
}

TEST(a_session_ends_with_its_client_while_connect_is_stopped)
{
	struct mate m;
	pid_t connect_pid;

	mate_hub_start();
	connect_pid = open_connect(&m);
	kill(connect_pid, SIGSTOP);
	kill_client(&m);
	mate_await_servers(0);
	await_sessions(0);
	OK(t_wait_child(connect_pid, MATE_MS) >= 0); /* an orphan: a child of this process */
	mate_done(&m);
	mate_hub_stop();
}

/* The hub does not need the process `killick connect` to notice the end of the client. */
TEST(a_session_ends_with_its_client_although_connect_never_runs)
{
	struct mate m;
	pid_t connect_pid;

	mate_hub_start();
	connect_pid = open_connect(&m);
	trace_all(connect_pid, true);
	kill_client(&m);
	mate_await_servers(0);
	await_sessions(0);
	trace_all(connect_pid, false);
	OK(t_wait_child(connect_pid, MATE_MS) >= 0);
	mate_done(&m);
	mate_hub_stop();
}

/* --- a hub, or a relay, that a server has stopped --- */

#define SILENT_MS (20000 * T_PATIENCE) /* 7.5 s are promised */

static void await_no_server(void)
{
	double end = t_now_ms() + SILENT_MS;

	while (mate_servers()) {
		if (t_now_ms() > end)
			FAIL("%zu servers live", mate_servers());
		usleep(5000);
	}
}

/* The keepers of each server watch the pidfd of the process that made the session. One open file
 * of a pidfd is enough for 250 servers. */
TEST(a_session_has_hundreds_of_servers, .timeout_ms = 180000)
{
	enum { SERVERS = 300, TEXT = SERVERS * 280 };
	char *text = malloc(TEXT), *at = text;
	struct rlimit files;
	struct control c;
	struct span s;
	long id;

	OK(text && getrlimit(RLIMIT_NOFILE, &files) == 0);
	if (files.rlim_max < SERVERS * 10)
		SKIP("not enough descriptors here");
	for (int i = 0; i < SERVERS; i++)
		at += snprintf(at, (size_t)(text + TEXT - at),
			       "%s\"s%d\":{\"command\":\"%s\",\"args\":[\"mcp\",\"good\"],"
			       "\"env\":{\"N\":\"%d\"},\"envVars\":[\"ZOO_AUDIT\",\"ZOO_FIFO\","
			       "\"ZOO_LIFE_MS\"]}",
			       i ? "," : "\"mcpServers\":{", i, ZOO, i);
	OK(at + 2 < text + TEXT);
	snprintf(at, 2, "}");
	mate_hub_start();
	control_open(&c);
	id = control_send(&c, "session.create", text);
	OK(t_wait_fd(c.fd, POLLIN, 120000));
	s = mate_at(control_wait(&c, id), "result", "servers", NULL);
	for (size_t i = 0; i < SERVERS; i++) {
		struct span one = mate_item(s, i);

		if (!scan_is(scan_member(one, "state"), "ready"))
			FAIL("%.*s", (int)one.len, one.at);
	}
	EQ(mate_servers(), SERVERS);
	control_close(&c);
	await_no_server();
	mate_hub_stop();
	free(text);
}

TEST(a_stopped_hub_is_continued_when_the_process_of_a_session_ends, .timeout_ms = 60000)
{
	struct forked f;
	pid_t hub = mate_hub_start();

	forked_start(&f, make_session);
	EQ(mate_servers(), 1);
	kill(hub, SIGSTOP);
	forked_kill_client(&f);
	await_no_server();
	await_sessions(0);
	forked_end(&f);
	mate_hub_stop();
}

TEST(a_stopped_hub_is_continued_when_the_client_of_connect_ends, .timeout_ms = 60000)
{
	struct mate m;
	pid_t hub = mate_hub_start(), connect_pid = open_connect(&m);

	kill(hub, SIGSTOP);
	kill_client(&m);
	OK(t_wait_child(connect_pid, MATE_MS) >= 0); /* it does not wait for the hub */
	await_no_server();
	await_sessions(0);
	mate_done(&m);
	mate_hub_stop();
}

/* The watch and the hold of the only server. */
static void find_keepers(pid_t out[2])
{
	pid_t pids[64];
	int n = audit_list(&t_audit, pids, 64), found = 0;

	for (int i = 0; i < n && found < 2; i++) {
		char path[64], words[64] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/cmdline", pids[i]);
		f = fopen(path, "re");
		if (f && fread(words, 1, sizeof(words) - 1, f) > 12 && !strcmp(words, "killick") &&
		    !strcmp(words + 8, "run"))
			out[found++] = pids[i];
		if (f)
			fclose(f);
	}
	EQ(found, 2);
}

TEST(a_server_ends_with_its_client_while_hub_keepers_and_connect_are_stopped, .timeout_ms = 60000)
{
	struct mate m;
	pid_t hub = mate_hub_start(), connect_pid = open_connect(&m), keepers[2];

	find_keepers(keepers);
	for (int i = 0; i < 40; i++) { /* the watch continues the hold: stop the watch last */
		kill(keepers[i % 2], SIGSTOP);
		usleep(1000);
	}
	kill(hub, SIGSTOP);
	kill(connect_pid, SIGSTOP);
	kill_client(&m);
	OK(t_wait_child(connect_pid, MATE_MS) >= 0);
	await_no_server();
	await_sessions(0);
	mate_done(&m);
	mate_hub_stop();
}

/* What `killick reap` prints. */
static const char *reap_says(void)
{
	char *argv[] = { (char *)t_program("KILLICK", "build/killick"), "reap", NULL };
	static char text[4000];
	size_t len = 0;
	ssize_t n = 1;
	int out[2];
	pid_t pid;

	OK(!pipe2(out, O_CLOEXEC));
	pid = t_spawn(argv, (int[]){ -1, out[1], -1 });
	close(out[1]);
	while (n > 0 && len < sizeof(text) - 1) {
		OK(t_wait_fd(out[0], POLLIN, SILENT_MS));
		n = read(out[0], text + len, sizeof(text) - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	text[len] = '\0';
	close(out[0]);
	EQ(t_wait_child(pid, MATE_MS), 0);
	return text;
}

TEST(reap_names_a_hub_that_is_stopped, .timeout_ms = 60000)
{
	struct control c;
	const char *said;
	pid_t hub = mate_hub_start();

	control_open(&c);
	create(&c, "good", NULL);
	OK(strstr(reap_says(), "every tree has its keeper"));
	kill(hub, SIGSTOP);
	said = reap_says();
	if (strstr(said, "every tree has its keeper") || !strstr(said, "its owner is stopped") ||
	    !strstr(said, "the hub does not answer"))
		FAIL("%s", said);
	kill(hub, SIGCONT);
	control_close(&c);
	mate_hub_stop();
}

TEST(servers_end_with_their_users_although_the_hub_never_runs, .timeout_ms = 60000)
{
	struct forked f;
	pid_t hub = mate_hub_start();

	forked_start(&f, make_session);
	EQ(mate_servers(), 1);
	trace_all(hub, true);
	forked_kill_client(&f);
	await_no_server();
	trace_all(hub, false);
	await_sessions(0);
	forked_end(&f);
	mate_hub_stop();
}

/* The keepers of the server of the other user see that the hub works. */
TEST(a_server_lives_while_other_users_of_the_hub_come_and_go, .timeout_ms = 60000)
{
	struct control c;
	double end;

	mate_hub_start();
	control_open(&c);
	control_do(&c, "session.create", servers("good", "\"share\":\"identical\""));
	for (end = t_now_ms() + 9000; t_now_ms() < end;) {
		struct control other;
		pid_t pid = fork();

		if (pid == 0) {
			control_open(&other);
			control_do(&other, "session.create",
				   servers("good", "\"share\":\"identical\""));
			_exit(0);
		}
		EQ(t_wait_child(pid, MATE_MS), 0);
	}
	EQ(mate_servers(), 1);
	HAS(control_do(&c, "server.list", ""), "\"restarts\":0");
	control_close(&c);
	await_sessions(0);
	mate_hub_stop();
}

static void stop_relay(const char *option, const char *value, bool never_runs)
{
	const char *words[] = { "run",
				option,
				value ? value : "--",
				value ? "--" : ZOO,
				value ? ZOO : "mcp",
				value ? "mcp" : "good",
				value ? "good" : NULL,
				NULL };
	struct mate m;
	pid_t relay;

	mate_room();
	relay = open_client(&m, words);
	if (never_runs)
		trace_all(relay, true);
	else
		kill(relay, SIGSTOP);
	kill_client(&m);
	await_no_server();
	if (never_runs)
		trace_all(relay, false);
	OK(t_wait_child(relay, SILENT_MS) >= 0); /* 10 s for a report that does not come */
	mate_done(&m);
	mate_reap();
}

TEST(a_stopped_relay_of_rest_ends_with_its_client, .timeout_ms = 60000)
{
	stop_relay("--rest", "1h", false);
}

TEST(a_stopped_relay_of_restart_ends_with_its_client, .timeout_ms = 60000)
{
	stop_relay("--restart", NULL, false);
}

TEST(a_stopped_relay_of_supersede_ends_with_its_client, .timeout_ms = 60000)
{
	stop_relay("--supersede", NULL, false);
}

TEST(a_server_ends_with_its_client_although_its_relay_never_runs, .timeout_ms = 60000)
{
	stop_relay("--restart", NULL, true);
}

/* --- callers inside a tree --- */

/* Start `KEEPER run --contain LEVEL -- sh -c SCRIPT` for a client, whose process is m->pid. In the
 * script "$@" is a caller of the hub with these lines, as an orphan without environment. */
static void open_tree(struct mate *m, const char *keeper, const char *level, const char *script,
		      const char *const *lines)
{
	const char *client[24] = { "/bin/sh",
				   "-c",
				   "\"$0\" \"$@\" & wait",
				   keeper,
				   "run",
				   "--contain",
				   level,
				   "--",
				   "sh",
				   "-c",
				   script,
				   ZOO,
				   "+caller",
				   mate_hub_socket() };

	for (size_t i = 14; *lines; i++)
		client[i] = *lines++;
	mate_open_program(m, client);
}

static struct span tree_line(struct mate *m)
{
	struct span line;

	while (!mate_line(m, &line)) {
		OK(t_wait_fd(m->out, POLLIN, MATE_MS));
		if (!mate_read(m))
			SKIP("this level is not possible here");
	}
	return line;
}

#define CALLER "\"$0\" \"$@\" & sleep 60"
#define KEEPER t_program("KILLICK", "build/killick")

static void lease_from_a_tree(const char *level)
{
	char line[1000];
	struct mate m;

	snprintf(line, sizeof(line),
		 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session.create\",\"params\":{"
		 "\"lease\":3600000,%s}}",
		 servers("good", NULL));
	mate_hub_start();
	open_tree(&m, KEEPER, level, CALLER, (const char *const[]){ line, NULL });
	HAS(tree_line(&m), "\"result\"");
	mate_await_servers(1);
	kill_client(&m);
	mate_await_servers(0);
	await_sessions(0);
	mate_done(&m);
	mate_hub_stop();
}

TEST(a_lease_made_inside_a_tree_of_level_keeper_ends_with_the_tree)
{
	lease_from_a_tree("keeper");
}

TEST(a_lease_made_inside_a_tree_of_level_cgroup_ends_with_the_tree)
{
	lease_from_a_tree("cgroup");
}

TEST(a_lease_made_inside_a_tree_of_level_namespace_ends_with_the_tree)
{
	lease_from_a_tree("namespace");
}

static void name_others_from_a_tree(const char *keeper, const char *level, const char *script)
{
	static const char *const methods[] = { "session.refresh", "session.destroy", "tool.list",
					       "hub.shutdown", "server.stop" };
	const char *lines[6] = { NULL };
	struct control c;
	struct mate m;

	mate_hub_start();
	control_open(&c);
	STREQ(create(&c, "good", NULL), "s1");
	for (int i = 0; i < 5; i++) {
		char *line;

		OK(asprintf(&line,
			    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{"
			    "\"session\":\"s1\",\"server\":\"a\",\"mcpServers\":{}}}",
			    methods[i]) > 0);
		lines[i] = line;
	}
	open_tree(&m, keeper, level, script, lines);
	for (int i = 0; i < 5; i++) {
		HAS(tree_line(&m), "runs inside a tree of killick");
		free((char *)lines[i]);
	}
	HAS(with_session(&c, "tool.list", "s1", NULL), "\"echo\"");
	kill_client(&m);
	mate_await_servers(1);
	mate_done(&m);
	control_close(&c);
	await_sessions(0);
	mate_hub_stop();
}

TEST(a_process_in_a_tree_of_level_keeper_cannot_use_the_sessions_of_others)
{
	name_others_from_a_tree(KEEPER, "keeper", CALLER);
}

TEST(a_process_in_a_tree_of_level_namespace_cannot_use_the_sessions_of_others)
{
	name_others_from_a_tree(KEEPER, "namespace", CALLER);
}

/* A link in the directory of the test. */
static const char *link_as(const char *name, const char *to)
{
	static char path[200];
	char *whole = realpath(to, NULL);

	snprintf(path, sizeof(path), "%s/%s", t_audit.dir, name);
	OK(whole && !symlink(whole, path));
	free(whole);
	return path;
}

TEST(a_process_in_the_tree_of_a_keeper_with_another_name_cannot_use_the_sessions_of_others,
     .timeout_ms = 30000)
{
	name_others_from_a_tree(link_as("anchor", KEEPER), "keeper", CALLER);
}

TEST(a_process_below_one_that_calls_itself_killick_cannot_use_the_sessions_of_others,
     .timeout_ms = 30000)
{
	char script[400];

	snprintf(script, sizeof(script), "%s -c 'env -i \"$0\" \"$@\"; :' \"$0\" \"$@\"",
		 link_as("killick", "/bin/sh"));
	name_others_from_a_tree(KEEPER, "keeper", script);
}

/* The ancestors of the caller exit while the hub reads them. */
TEST(a_process_whose_ancestors_exit_cannot_use_the_sessions_of_others, .timeout_ms = 60000)
{
	static const char ask[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tool.list\","
				  "\"params\":{\"session\":\"s1\"}}";
	struct control c;
	struct mate m;

	mate_hub_start();
	control_open(&c);
	STREQ(create(&c, "good", NULL), "s1");
	open_tree(&m, KEEPER, "keeper", "\"$0\" +descendant \"$2\" \"$3\"; sleep 60",
		  (const char *const[]){ ask, NULL });
	for (int i = 0; i < 10; i++)
		HAS(tree_line(&m), "runs inside a tree of killick");
	kill_client(&m);
	mate_await_servers(1);
	mate_done(&m);
	control_close(&c);
	await_sessions(0);
	mate_hub_stop();
}

/* A shared server makes a session with its own config, and so would hold itself. */
static void hold_itself(const char *first)
{
	char path[128], params[300];
	struct control c;
	FILE *f;
	pid_t pid;

	mate_hub_start();
	snprintf(path, sizeof(path), "%s/self.json", t_audit.dir);
	f = fopen(path, "we");
	OK(f);
	fprintf(f,
		"{\"mcpServers\":{\"a\":{\"command\":\"sh\",\"share\":\"identical\",\"envVars\":["
		"\"ZOO_AUDIT\",\"ZOO_FIFO\",\"ZOO_PIDS\",\"ZOO_LIFE_MS\"],\"args\":[\"-c\",\""
		"mkdir %s/once && { %s %s +caller %s '{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":1,"
		"\\\"method\\\":\\\"session.create\\\",\\\"params\\\":{\\\"config\\\":"
		"\\\"%s\\\",\\\"lease\\\":3600000}}' >/dev/null; }; exec %s mcp good\"]}}}",
		t_audit.dir, first, ZOO, mate_hub_socket(), path, ZOO);
	fclose(f);
	snprintf(params, sizeof(params), "\"config\":\"%s\"", path);
	pid = fork();
	if (pid == 0) {
		control_open(&c);
		control_do(&c, "session.create", params);
		alarm(60);
		for (;;)
			pause();
	}
	await_sessions(2);
	kill(pid, SIGKILL);
	OK(t_wait_child(pid, MATE_MS) >= 0);
	mate_await_servers(0);
	await_sessions(0);
	mate_hub_stop();
}

TEST(a_server_cannot_hold_itself_by_a_session_of_its_own, .timeout_ms = 30000)
{
	hold_itself("");
}

/* The record says that another process is the owner of the tree. */
TEST(a_server_that_forges_its_record_cannot_hold_itself, .timeout_ms = 30000)
{
	char path[128], call[200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/forge", t_audit.dir);
	f = fopen(path, "we");
	OK(f);
	fprintf(f,
		"cd %s/run; rm ????????????????; printf 'killick-record 1\\nowner=1 1\\nhold=%%d "
		"%%d\\n' $1 $(cut -d' ' -f22 /proc/$1/stat) >0123456789abcdef",
		t_audit.dir);
	fclose(f);
	snprintf(call, sizeof(call), "sh %s $PPID;", path);
	hold_itself(call);
}

/* --- new clients of a hub that is stopped --- */

TEST(a_new_client_continues_a_stopped_hub, .timeout_ms = 60000)
{
	struct mate m;
	pid_t hub = mate_hub_start();

	kill(hub, SIGSTOP);
	open_connect(&m);
	kill_client(&m);
	mate_await_servers(0);
	await_sessions(0);
	mate_done(&m);
	mate_hub_stop();
}

TEST(a_new_client_of_a_hub_that_never_runs_reads_an_end_of_file, .timeout_ms = 90000)
{
	struct mate_spec spec = { .config = NULL };
	struct mate m;
	pid_t hub = mate_hub_start();

	spec.config = MATE_CONFIG("mcp.json", { "a", "good", NULL, NULL });
	trace_all(hub, true);
	mate_open(&m, &spec);
	EQ(t_wait_child(m.pid, 30000 + SILENT_MS), 69 << 8);
	OK(t_wait_fd(m.out, POLLIN, MATE_MS)); /* a hang-up counts */
	OK(!mate_read(&m));
	trace_all(hub, false);
	mate_done(&m);
	mate_hub_stop();
}

/* --- many sessions --- */

TEST(leases_are_bounded_for_each_process, .timeout_ms = 30000)
{
	static const char params[] = "\"mcpServers\":{},\"lease\":60000";
	static char text[80 * 160];
	struct control c;
	struct span line;
	long ids[64 + 16];
	int len = 0, made = 0;

	mate_hub_start();
	control_open(&c);
	/* all at once: the hub reads them before the first session is open */
	for (int i = 0; i < 64 + 16; i++) {
		ids[i] = 1000 + i;
		len += snprintf(text + len, sizeof(text) - (size_t)len,
				"{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"session.create\","
				"\"params\":{%s}}\n",
				ids[i], params);
	}
	EQ(write(c.fd, text, (size_t)len), len);
	for (int i = 0; i < 64 + 16; i++)
		made += has(control_wait_any(&c, ids, 64 + 16), "\"result\"");
	EQ(made, 64);
	line = control_ask(&c, "session.create", params);
	HAS(line, "this process has 64 sessions with a lease already");
	control_do(&c, "session.create", "\"mcpServers\":{}");
	control_do(&c, "session.destroy", "\"session\":\"s1\"");
	control_do(&c, "session.create", params);
	control_close(&c);
	mate_hub_stop();
}

static long resident_kib(pid_t pid)
{
	char path[64];
	long pages = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	f = fopen(path, "re");
	OK(f && fscanf(f, "%*d %ld", &pages) == 1);
	fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

TEST(the_memory_of_sessions_is_given_back, .timeout_ms = 60000)
{
	struct control c;
	long before, full;
	double end;
	pid_t hub;

	if (T_PATIENCE > 1)
		SKIP("a sanitizer has memory of its own");
	hub = mate_hub_start();
	control_open(&c);
	control_do(&c, "session.create", "\"mcpServers\":{}");
	before = resident_kib(hub);
	for (int i = 0; i < 4000; i++)
		control_do(&c, "session.create", "\"mcpServers\":{}");
	full = resident_kib(hub);
	OK(full > before + 4000);
	control_close(&c);
	await_sessions(0);
	for (end = t_now_ms() + SILENT_MS; resident_kib(hub) > before + (full - before) / 4;) {
		if (t_now_ms() > end)
			FAIL("%ld KiB, with sessions %ld, before %ld", resident_kib(hub), full,
			     before);
		usleep(20000);
	}
	mate_hub_stop();
}
