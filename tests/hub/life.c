/* life.c - how a hub starts and ends, and what is left when the hub, `killick connect` or the
 * client ends in each state of a session: nothing.
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
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mate.h"

#define CROWD 20

/* --- start --- */

/* How many living processes of this test are a hub? */
static int count_hubs(void)
{
	pid_t pids[512];
	int n = audit_list(&t_audit, pids, 512), hubs = 0;

	for (int i = 0; i < n && i < 512; i++) {
		char path[64], words[256] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/cmdline", pids[i]);
		f = fopen(path, "re");
		if (!f)
			continue;
		for (size_t at = 0, c;
		     at + 1 < sizeof(words) && (c = (size_t)fgetc(f)) != (size_t)EOF;)
			words[at++] = c ? (char)c : ' ';
		fclose(f);
		hubs += strstr(words, "killick hub") != NULL;
	}
	return hubs;
}

/* Hubs that clients have started end when they find another one; without it they would stay. */
static void await_one_hub(void)
{
	double end = t_now_ms() + MATE_MS;

	while (count_hubs() != 1) {
		if (t_now_ms() > end)
			FAIL("%d hubs", count_hubs());
		usleep(5000);
	}
}

static long hub_number(const char *member)
{
	struct control c;
	long n;

	control_open(&c);
	n = scan_long(scan_member(control_do(&c, "hub.status", ""), member), -1);
	control_close(&c);
	return n;
}

static void await_sessions(long count)
{
	double end = t_now_ms() + MATE_MS;

	while (hub_number("sessions") != count) {
		if (t_now_ms() > end)
			FAIL("%ld sessions instead of %ld", hub_number("sessions"), count);
		usleep(5000);
	}
}

TEST(twenty_clients_at_once_start_one_hub, .timeout_ms = 60000)
{
	struct mate m[CROWD];
	struct mate_spec spec = { .config = NULL };

	mate_room();
	spec.config = MATE_CONFIG("mcp.json", { "a", "good", NULL, NULL });
	for (int i = 0; i < CROWD; i++)
		mate_open(&m[i], &spec);
	for (int i = 0; i < CROWD; i++)
		mate_hello(&m[i], &spec);
	mate_hub_adopt();
	EQ(hub_number("sessions"), CROWD);
	await_one_hub();
	for (int i = 0; i < CROWD; i++)
		mate_close(&m[i]);
	await_sessions(0);
	mate_await_servers(0);
	mate_hub_stop();
}

TEST(a_second_hub_is_refused)
{
	char *argv[] = { (char *)t_program("KILLICK", "build/killick"), "hub", NULL };

	mate_hub_start();
	EQ(t_wait_child(t_spawn(argv, NULL), MATE_MS), 69 << 8);
	EQ(hub_number("sessions"), 0);
	mate_hub_stop();
}

TEST(the_socket_of_a_killed_hub_is_replaced)
{
	struct mate_spec spec = { .config = NULL };
	struct mate m;
	pid_t first = mate_hub_start();
	struct stat st;

	spec.config = MATE_CONFIG("mcp.json", { "a", "good", NULL, NULL });
	mate_hub_kill();
	EQ(stat(mate_hub_socket(), &st), 0);
	EQ(st.st_mode & 0777, 0600);
	mate_open(&m, &spec);
	mate_hello(&m, &spec);
	OK(mate_hub_adopt() != first);
	mate_close(&m);
	mate_hub_stop();
	OK(stat(mate_hub_socket(), &st) < 0 && errno == ENOENT);
}

/* A cleaner of /tmp removes old files; another program may leave a socket in their place. */
TEST(a_hub_whose_socket_file_was_removed_or_replaced_listens_again, .timeout_ms = 60000)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct mate_spec spec = { .config = NULL };
	struct mate first, next;
	pid_t hub = mate_hub_start();

	spec.config = MATE_CONFIG("mcp.json", { "a", "good", NULL, NULL });
	mate_open(&first, &spec);
	mate_hello(&first, &spec);
	for (int i = 0; i < 2; i++) {
		OK(!unlink(mate_hub_socket()));
		if (i == 1) {
			int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

			snprintf(at.sun_path, sizeof(at.sun_path), "%s", mate_hub_socket());
			OK(fd >= 0 && !bind(fd, (struct sockaddr *)&at, sizeof(at)));
			close(fd);
		}
		mate_open(&next, &spec);
		mate_hello(&next, &spec);
		EQ(hub_number("pid"), hub);
		EQ(hub_number("sessions"), 2);
		mate_close(&next);
		await_sessions(1);
		STREQ(mate_text(&first, "echo", "\"text\":\"still here\""), "still here");
	}
	await_one_hub();
	mate_close(&first);
	mate_hub_stop();
	OK(access(mate_hub_socket(), F_OK) < 0);
}

TEST(a_hub_is_no_child_of_the_client_and_outlives_it)
{
	struct mate_spec spec = { .config = NULL };
	struct mate m;
	pid_t hub;
	char path[64], text[512];
	FILE *f;

	mate_room();
	spec.config = MATE_CONFIG("mcp.json", { "a", "good", NULL, NULL });
	mate_open(&m, &spec);
	mate_hello(&m, &spec);
	hub = mate_hub_adopt();
	snprintf(path, sizeof(path), "/proc/%d/stat", hub);
	f = fopen(path, "re");
	OK(f && fgets(text, sizeof(text), f));
	fclose(f);
	EQ(atoi(strrchr(text, ')') + 4), getpid()); /* of the subreaper, which is this process */
	EQ(getsid(hub), hub);
	mate_kill(&m);
	await_sessions(0);
	EQ(kill(hub, 0), 0);
	mate_hub_stop();
}

TEST(connect_starts_the_hub_on_linux_4_18)
{
	struct mate_spec spec = { .config = NULL };
	struct mate m;

	if (!t_old_kernel())
		SKIP("no seccomp filters here");
	mate_room();
	spec.config = MATE_CONFIG("mcp.json", { "a", "good", NULL, NULL });
	mate_open(&m, &spec);
	mate_hello(&m, &spec);
	mate_hub_adopt();
	mate_kill(&m); /* without pidfds the hub sees the end of the connection */
	await_sessions(0);
	mate_await_servers(0);
	mate_hub_stop();
}

/* A service manager makes the socket and starts the hub with it. */
TEST(a_socket_from_a_service_manager_is_used)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct mate_spec spec = { .config = NULL };
	const char *program = t_program("KILLICK", "build/killick");
	struct mate m;
	struct stat st;
	char number[16];
	pid_t hub;

	mate_room();
	spec.config = MATE_CONFIG("mcp.json", { "a", "good", NULL, NULL });
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", mate_hub_socket());
	OK(!bind(fd, (struct sockaddr *)&at, sizeof(at)) && !listen(fd, 64));
	hub = fork();
	if (hub == 0) {
		snprintf(number, sizeof(number), "%d", getpid());
		setenv("LISTEN_PID", number, 1);
		setenv("LISTEN_FDS", "1", 1);
		if (fd != 3)
			dup2(fd, 3);
		else
			fcntl(fd, F_SETFD, 0);
		dup2(2, 1); /* the hub says its address */
		execl(program, "killick", "hub", "--idle-exit", "300ms", NULL);
		_exit(127);
	}
	close(fd);
	mate_open(&m, &spec);
	mate_hello(&m, &spec);
	EQ(hub_number("pid"), hub);
	mate_close(&m);
	EQ(t_wait_child(hub, MATE_MS), 0);
	EQ(stat(mate_hub_socket(), &st), 0); /* the file belongs to the manager */
	unlink(mate_hub_socket());
	mate_reap();
}

/* --- end --- */

TEST(an_unused_hub_exits)
{
	const char *const words[] = { "--idle-exit", "300ms", NULL };
	struct stat st;
	struct control c;
	pid_t hub = mate_hub_start_with(words);

	control_open(&c); /* a connection is a use */
	control_do(&c, "hub.status", "");
	EQ(t_wait_child(hub, 900), -1);
	control_do(&c, "hub.status", "");
	control_close(&c);
	EQ(t_wait_child(hub, MATE_MS), 0);
	OK(stat(mate_hub_socket(), &st) < 0);
	mate_reap();
}

TEST(a_hub_with_a_session_does_not_exit)
{
	const char *const words[] = { "--idle-exit", "200ms", NULL };
	struct mate_spec spec = { .config = NULL };
	struct mate m;
	pid_t hub = mate_hub_start_with(words);

	spec.config = MATE_CONFIG("mcp.json", { "a", "good", NULL, NULL });
	mate_open(&m, &spec);
	mate_hello(&m, &spec);
	EQ(t_wait_child(hub, 700), -1);
	mate_close(&m);
	EQ(t_wait_child(hub, MATE_MS), 0);
	mate_reap();
}

static void end_by_signal(int sig)
{
	struct mate_spec spec = { .config = NULL };
	struct mate m;
	pid_t hub = mate_hub_start();

	spec.config = MATE_CONFIG("mcp.json", { "a", "good", NULL, NULL });
	mate_open(&m, &spec);
	mate_hello(&m, &spec);
	kill(hub, sig);
	EQ(t_wait_child(hub, MATE_MS), 0);
	EQ(t_wait_child(m.pid, MATE_MS), 69 << 8);
	mate_done(&m);
	mate_reap();
}

TEST(signals_end_the_hub_and_its_sessions, .timeout_ms = 20000)
{
	end_by_signal(SIGTERM);
	end_by_signal(SIGINT);
	end_by_signal(SIGHUP);
}

/* --- kills in every state of a session --- */

enum state { WAITING, OPENING, OPEN, CALLING, CLOSING, STATES };
enum victim { HUB, CONNECT, CLIENT_STDIN, CLIENT };

/* Bring the session into the state; returns the number of its servers that live. */
static size_t prepare(struct mate *m, enum state state, size_t before)
{
	static const struct mate_server slow[] = { { "a", "slowstart", "600000", NULL },
						   { "b", "good", NULL, NULL },
						   { NULL, NULL, NULL, NULL } };
	static const struct mate_server good[] = { { "a", "good", NULL, NULL },
						   { "b", "good", NULL, NULL },
						   { NULL, NULL, NULL, NULL } };
	static const struct mate_server stays[] = { { "a", "stays", NULL, NULL },
						    { NULL, NULL, NULL, NULL } };
	const struct mate_server *servers = state == OPENING   ? slow
					    : state == CLOSING ? stays
							       : good;
	struct mate_spec spec = { .config = mate_config("mcp.json", servers) };
	size_t count = state == WAITING ? 0 : state == CLOSING ? 1 : 2;

	mate_open(m, &spec);
	if (state == WAITING)
		await_sessions(1);
	else if (state == OPENING)
		mate_say(m, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":"
			    "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
			    "\"clientInfo\":{\"name\":\"mate\",\"version\":\"1\"}}}");
	else
		mate_hello(m, &spec);
	if (state == OPEN || state == CALLING) { /* a known server starts when it is needed */
		mate_do(m, "a__echo", "\"text\":\"x\"");
		mate_do(m, "b__echo", "\"text\":\"x\"");
	}
	if (state == CLOSING)
		mate_do(m, "echo", "\"text\":\"x\"");
	mate_await_servers(before + count);
	if (state == CALLING) {
		mate_call(m, "a__block", "", NULL);
		mate_do(m, "a__echo", "\"text\":\"x\""); /* the call before this one has arrived */
	} else if (state == CLOSING) {
		close(m->in);
		m->in = -1;
	}
	return before + count;
}

static void strike(struct mate *m, enum victim victim)
{
	if (victim == CONNECT)
		kill(m->pid, SIGKILL);
	if (victim == CLIENT_STDIN || victim == CLIENT) {
		if (m->in >= 0)
			close(m->in);
		m->in = -1;
	}
	if (victim == CLIENT) {
		close(m->out);
		m->out = -1;
	}
}

/* One session in each state; then the end, and nothing may be left. */
static void try_all(enum victim victim)
{
	struct mate m[STATES];
	size_t servers = 0;

	mate_hub_start();
	for (int s = 0; s < STATES; s++)
		servers = prepare(&m[s], s, servers);
	if (victim == HUB)
		mate_hub_kill_only();
	for (int s = 0; s < STATES; s++)
		strike(&m[s], victim);
	for (int s = 0; s < STATES; s++) {
		int status = t_wait_child(m[s].pid, MATE_MS);

		if (status < 0)
			FAIL("connect in state %d did not end", s);
		if (victim != CONNECT)
			EQ(status, victim == HUB ? 69 << 8 : 0);
		mate_done(&m[s]);
	}
	if (victim == HUB) {
		mate_reap();
		return;
	}
	await_sessions(0);
	mate_await_servers(0);
	mate_hub_stop();
}

TEST(nothing_is_left_when_the_hub_is_killed, .timeout_ms = 60000)
{
	try_all(HUB);
}

TEST(nothing_is_left_when_connect_is_killed, .timeout_ms = 60000)
{
	try_all(CONNECT);
}

TEST(nothing_is_left_when_the_client_closes_stdin, .timeout_ms = 60000)
{
	try_all(CLIENT_STDIN);
}

TEST(nothing_is_left_when_the_client_is_killed, .timeout_ms = 60000)
{
	try_all(CLIENT);
}

/* Other children of a client often inherit its pipes, which then do not hang up. */
TEST(nothing_is_left_when_a_client_is_killed_whose_pipes_are_open_elsewhere)
{
	const char *config = MATE_CONFIG("mcp.json", { "a", "good", NULL, NULL });
	const char *client[] = { "/bin/sh",
				 "-c",
				 "exec 3<&0; \"$0\" connect --config \"$1\" <&3 & wait",
				 t_program("KILLICK", "build/killick"),
				 config,
				 NULL };
	struct mate_spec spec = { .config = config };
	struct mate m;

	mate_hub_start();
	mate_open_program(&m, client);
	mate_hello(&m, &spec);
	mate_do(&m, "echo", "\"text\":\"x\"");
	mate_await_servers(1);
	kill(m.pid, SIGKILL); /* this process still holds both pipes */
	OK(t_wait_child(m.pid, MATE_MS) >= 0);
	await_sessions(0);
	mate_await_servers(0);
	mate_done(&m);
	mate_hub_stop();
}

TEST(a_runtime_directory_with_a_long_path_is_refused)
{
	char *argv[] = { (char *)t_program("KILLICK", "build/killick"), "hub", NULL, NULL };
	char path[200];

	snprintf(path, sizeof(path), "%s/%0120d", t_audit.dir, 7);
	OK(!mkdir(path, 0700));
	setenv("KILLICK_RUNTIME_DIR", path, 1);
	EQ(t_wait_child(t_spawn(argv, NULL), MATE_MS), 69 << 8);
	argv[2] = "status";
	EQ(t_wait_child(t_spawn(argv, NULL), MATE_MS), 69 << 8);
}

/* A stopped hub accepts connections and answers nothing. */
TEST(a_hub_that_hangs_is_named, .timeout_ms = 60000)
{
	static const char *const words[] = { "status", "stop", "servers" };
	pid_t hub = mate_hub_start();
	pid_t pids[3];

	kill(hub, SIGSTOP);
	for (int i = 0; i < 3; i++) {
		char *argv[] = { (char *)t_program("KILLICK", "build/killick"), "hub",
				 (char *)words[i], NULL };

		pids[i] = t_spawn(argv, NULL);
	}
	for (int i = 0; i < 3; i++)
		EQ(t_wait_child(pids[i], 5000 + MATE_MS), 69 << 8);
	kill(hub, SIGCONT);
	mate_hub_stop();
}

TEST(connect_names_its_errors)
{
	char *argv[] = { (char *)t_program("KILLICK", "build/killick"),
			 "connect",
			 "--config",
			 NULL,
			 "--server",
			 "none",
			 NULL };

	mate_hub_start();
	argv[3] = (char *)MATE_CONFIG("mcp.json", { "a", "good", NULL, NULL });
	EQ(t_wait_child(t_spawn(argv, NULL), MATE_MS), 64 << 8);
	argv[3] = "/nonexistent/mcp.json";
	EQ(t_wait_child(t_spawn(argv, NULL), MATE_MS), 65 << 8);
	argv[3] = "/dev/null"; /* not JSON */
	EQ(t_wait_child(t_spawn(argv, NULL), MATE_MS), 65 << 8);
	argv[2] = "--confog";
	EQ(t_wait_child(t_spawn(argv, NULL), MATE_MS), 64 << 8);
	EQ(hub_number("sessions"), 0);
	mate_hub_stop();
}

/* Each server of the config has an error: this is known after the session was attached. */
TEST(connect_refuses_a_config_whose_servers_all_have_errors)
{
	static const char hello[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
		"\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":"
		"\"m\",\"version\":\"1\"}}}\n";
	char *argv[] = { (char *)t_program("KILLICK", "build/killick"), "connect", "--config",
			 "wrong.json", NULL };
	int ends[2], nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	FILE *f;

	mate_hub_start();
	OK(chdir(t_audit.dir) == 0);
	f = fopen(argv[3], "we");
	OK(f);
	fputs("{\"mcpServers\":{\"a\":{\"comand\":\"x\"}}}", f);
	fclose(f);
	OK(pipe2(ends, O_CLOEXEC) == 0); /* a stdin that does not end */
	EQ(write(ends[1], hello, strlen(hello)), strlen(hello));
	EQ(t_wait_child(t_spawn(argv, (int[]){ ends[0], nowhere, -1 }), MATE_MS), 65 << 8);
	close(nowhere);
	close(ends[0]);
	close(ends[1]);
	mate_hub_stop();
}

/* --- a socket that is not served as expected --- */

/* Listen in place of a hub. */
static int listen_as_hub(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	mate_room();
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", mate_hub_socket());
	OK(fd >= 0 && !bind(fd, (struct sockaddr *)&at, sizeof(at)) && !listen(fd, 64));
	return fd;
}

static int accept_as_hub(int listener)
{
	int fd;

	OK(t_wait_fd(listener, POLLIN, MATE_MS));
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	OK(fd >= 0);
	return fd;
}

/* Set variables that together are longer than the buffer of a socket. */
static void make_environment_long(void)
{
	static char value[100001];
	char name[32];

	memset(value, 'x', sizeof(value) - 1);
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "LONG_VARIABLE_%d", i);
		setenv(name, value, 1);
	}
}

TEST(connect_ends_with_its_client_while_the_hub_does_not_read, .timeout_ms = 60000)
{
	const char *config = MATE_CONFIG("mcp.json", { "a", "good", NULL, NULL });
	const char *client[] = { "/bin/sh",
				 "-c",
				 "exec 3<&0; \"$0\" connect --config \"$1\" <&3 & echo $!; wait",
				 t_program("KILLICK", "build/killick"),
				 config,
				 NULL };
	int listener = listen_as_hub(), fd;
	struct span line;
	struct mate m;
	pid_t pid;

	make_environment_long();
	mate_open_program(&m, client);
	while (!mate_line(&m, &line)) {
		OK(t_wait_fd(m.out, POLLIN, MATE_MS));
		OK(mate_read(&m));
	}
	pid = (pid_t)scan_long(line, -1);
	OK(pid > 0);
	fd = accept_as_hub(listener);
	OK(t_wait_fd(fd, POLLIN, MATE_MS)); /* connect has begun to write */
	kill(m.pid, SIGKILL);
	OK(t_wait_child(m.pid, MATE_MS) >= 0);
	OK(t_wait_child(pid, MATE_MS) >= 0); /* a child of this process, which is the subreaper */
	mate_done(&m);
	close(fd);
	close(listener);
	mate_reap();
}

TEST(connect_waits_between_two_attempts, .timeout_ms = 60000)
{
	struct mate_spec spec = { .config = MATE_CONFIG("mcp.json", { "a", "good", NULL, NULL }) };
	int listener = listen_as_hub();
	struct mate m;

	mate_open(&m, &spec);
	for (int i = 0; i < 5; i++) {
		int fd = accept_as_hub(listener);
		double before_ms = t_now_ms();

		close(fd);
		OK(t_wait_fd(listener, POLLIN, MATE_MS));
		OK(t_now_ms() - before_ms >= 19); /* 20 ms, rounded */
	}
	mate_kill(&m);
	close(listener);
	mate_reap();
}

/* --- descriptors --- */

/* stdin and stdout are files: everything is read, everything is answered. */
TEST(connect_works_with_files)
{
	static const char text[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
		"\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":"
		"\"m\",\"version\":\"1\"}}}\n"
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
	char *argv[] = { (char *)t_program("KILLICK", "build/killick"), "connect", "--config", NULL,
			 NULL };
	char path[128], got[4096] = "";
	int in, out;

	mate_hub_start();
	argv[3] = (char *)MATE_CONFIG("mcp.json", { "a", "good", NULL, NULL });
	snprintf(path, sizeof(path), "%s/in", t_audit.dir);
	in = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	EQ(write(in, text, sizeof(text) - 1), sizeof(text) - 1);
	EQ(lseek(in, 0, SEEK_SET), 0);
	snprintf(path, sizeof(path), "%s/out", t_audit.dir);
	out = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	EQ(t_wait_child(t_spawn(argv, (int[]){ in, out, -1 }), MATE_MS), 0);
	EQ(lseek(out, 0, SEEK_SET), 0);
	OK(read(out, got, sizeof(got) - 1) > 0);
	OK(strstr(got, "\"serverInfo\""));
	close(in);
	close(out);
	mate_hub_stop();
}

/* The description of a pipe is shared with other processes, which do not expect that reads and
 * writes of theirs fail. */
TEST(pipes_of_the_client_stay_blocking)
{
	char *argv[] = { (char *)t_program("KILLICK", "build/killick"), "connect", "--config", NULL,
			 NULL };
	int in[2], out[2], pair[2];
	pid_t pid;

	mate_hub_start();
	argv[3] = (char *)MATE_CONFIG("mcp.json", { "a", "good", NULL, NULL });
	OK(!pipe2(in, O_CLOEXEC) && !pipe2(out, O_CLOEXEC));
	pid = t_spawn(argv, (int[]){ in[0], out[1], -1 });
	await_sessions(1);
	EQ(fcntl(in[0], F_GETFL) & O_NONBLOCK, 0);
	EQ(fcntl(out[1], F_GETFL) & O_NONBLOCK, 0);
	close(in[1]);
	EQ(t_wait_child(pid, MATE_MS), 0);
	EQ(fcntl(in[0], F_GETFL) & O_NONBLOCK, 0);
	EQ(fcntl(out[1], F_GETFL) & O_NONBLOCK, 0);
	close(in[0]);
	close(out[0]);
	close(out[1]);
	OK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	pid = t_spawn(argv, (int[]){ pair[1], pair[1], -1 });
	await_sessions(1);
	EQ(fcntl(pair[1], F_GETFL) & O_NONBLOCK, 0);
	shutdown(pair[0], SHUT_WR);
	EQ(t_wait_child(pid, MATE_MS), 0);
	EQ(fcntl(pair[1], F_GETFL) & O_NONBLOCK, 0);
	close(pair[0]);
	close(pair[1]);
	mate_hub_stop();
}

/* --- a machine whose first process does not reap --- */

static int count_zombies(void)
{
	DIR *d = opendir("/proc");
	int count = 0;

	OK(d);
	for (struct dirent *e; (e = readdir(d));) {
		char path[300], text[256] = "";
		const char *state;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/stat", e->d_name);
		f = *e->d_name >= '1' && *e->d_name <= '9' ? fopen(path, "re") : NULL;
		if (!f)
			continue;
		state = fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;
		count += state && state[1] && state[2] == 'Z';
		fclose(f);
	}
	closedir(d);
	return count;
}

/* As process 1: a hub, a session with many servers, and its end. */
static void run_servers_as_init(void)
{
	enum { SERVERS = 50 };
	char *params = NULL, session[64], id[16];
	size_t size;
	FILE *f = open_memstream(&params, &size);
	double end;
	struct control c;
	int zombies;
	pid_t hub;

	OK(f);
	fprintf(f, "\"mcpServers\":{");
	for (int i = 0; i < SERVERS; i++)
		fprintf(f,
			"%s\"s%d\":{\"command\":\"%s\",\"args\":[\"mcp\",\"good\"],"
			"\"env\":{\"NUMBER\":\"%d\"}}", /* else the lists are known */
			i ? "," : "", i, t_program("ZOO", "build/tests/zoo/killick-zoo"), i);
	fprintf(f, "}");
	OK(!fclose(f));
	hub = mate_hub_start();
	control_open(&c);
	scan_copy(scan_member(control_do(&c, "session.create", params), "session"), id, sizeof(id));
	snprintf(session, sizeof(session), "\"session\":\"%s\"", id);
	control_do(&c, "session.destroy", session);
	end = t_now_ms() + MATE_MS;
	while ((zombies = count_zombies()) > 0) {
		if (t_now_ms() > end)
			FAIL("%d zombies are left", zombies);
		usleep(5000);
	}
	control_close(&c);
	/* hub.shutdown is not for us: as the root of a user namespace we are not visible to the hub */
	OK(kill(hub, SIGTERM) == 0);
	EQ(t_wait_child(hub, MATE_MS), 0);
	free(params);
}

/* The keepers are not children of the hub: their parent has ended. In a container whose process 1
 * does not reap they would become zombies, one for each server. */
TEST(ended_servers_leave_no_zombie_where_the_first_process_does_not_reap, .timeout_ms = 120000)
{
	int flags = CLONE_NEWPID | CLONE_NEWNS | (geteuid() ? CLONE_NEWUSER : 0), status;
	pid_t init;

	if (unshare(flags) < 0)
		SKIP("no pid namespace can be made here: %s", strerror(errno));
	init = fork();
	OK(init >= 0);
	if (init == 0) {
		if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		    mount("proc", "/proc", "proc", 0, NULL) < 0)
			_exit(77);
		run_servers_as_init();
		_exit(0);
	}
	EQ(waitpid(init, &status, 0), init);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIP("/proc of a new pid namespace cannot be mounted here");
	EQ(status, 0);
}
