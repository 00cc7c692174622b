/* hangs.c - files on a file system that does not answer: configs, programs, directories of PATH,
 * logs, and the stdin and stdout of a client. Only the session that uses the file waits, and only
 * for a bounded time; every server ends with its client and with the hub.
 */
#include <errno.h>
#include <stdlib.h>

#include "control_lab.h"
#include "fuse.h"

#define SOON_MS (4000 * T_PATIENCE) /* less than the time after which a file counts as hanging */
#define LATE    "did not answer within 5 s; is its file system mounted and reachable?"

static pid_t hub;

/* A hub with one session, s1, of one good server. */
static void hangs_begin(struct fuse *f, struct control *c, bool begun)
{
	fuse_mount(f, begun);
	hub = mate_hub_start();
	control_open(c);
	STREQ(create(c, "good", NULL), "s1");
}

/* The other session is served while the file hangs. */
static void others_are_served(struct control *c)
{
	double began = t_now_ms();

	HAS(with_session(c, "tool.call", "s1", "\"tool\":\"echo\",\"arguments\":{\"text\":\"hi\"}"),
	    "\"result\"");
	if (t_now_ms() - began > SOON_MS)
		FAIL("a call took %.0f ms", t_now_ms() - began);
}

/* Ask for a session while the file hangs; returns the id of the request. */
static long ask_and_hang(struct control *c, const struct fuse *f, const char *fmt, const char *more)
{
	char params[1000];
	long id;

	snprintf(params, sizeof(params), fmt, f->dir, more);
	id = control_send(c, "session.create", params);
	fuse_await(f);
	return id;
}

/* The session of one server whose definition begins with `fmt`, and of a good server. */
#define WITH_GOOD(members_)                                                                        \
	"\"mcpServers\":{\"bad\":{" members_ "},\"well\":{\"command\":\"%s\",\"args\":[\"mcp\","   \
	"\"good\"]}}"

static void hangs_end(struct fuse *f, struct control *c, struct control *other)
{
	HAS(with_session(c, "session.destroy", "s1", NULL), "\"proved\":true");
	if (other)
		control_close(other);
	HAS(control_do(c, "hub.shutdown", ""), "\"proved\":true");
	control_close(c);
	mate_await_servers(0);
	fuse_end(f); /* a process ends when its last thread does */
	EQ(t_wait_child(hub, MATE_MS), 0);
	mate_reap();
}

TEST(a_config_that_hangs_blocks_no_other_session, .timeout_ms = 40000)
{
	struct control c, other;
	struct fuse f;
	struct span r;
	long id;

	hangs_begin(&f, &c, true);
	control_open(&other);
	id = ask_and_hang(&other, &f, "\"config\":\"%s/mcp.json\"%s", "");
	others_are_served(&c);
	r = control_wait(&other, id);
	HAS(r, "/mcp.json' " LATE);
	HAS(r, "\"reason\":\"config\"");
	/* the next attempt does not wait, and costs no further thread */
	r = control_ask(&other, "session.create", "\"config\":\"/nowhere/mcp.json\"");
	HAS(r, "No such file");
	hangs_end(&f, &c, &other);
}

/* Another process asks for sessions whose configs hang, more of them than there are threads. */
static pid_t hang_many(struct fuse *f, int count)
{
	int ready[2];
	pid_t pid;

	EQ(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	OK(pid >= 0);
	if (pid == 0) {
		static struct control mine;
		char params[300];

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		control_open(&mine);
		for (int i = 0; i < count; i++) {
			snprintf(params, sizeof(params), "\"config\":\"%s/%d.json\"", f->dir, i);
			control_send(&mine, "session.create", params);
		}
		(void)!write(ready[1], "x", 1);
		for (;;)
			pause();
	}
	close(ready[1]);
	OK(t_wait_fd(ready[0], POLLIN, MATE_MS));
	close(ready[0]);
	fuse_await(f);
	return pid;
}

TEST(a_client_with_many_files_that_hang_blocks_no_other_client, .timeout_ms = 60000)
{
	char config[300], params[400];
	struct control c;
	struct fuse f;
	double began;
	pid_t pid;

	hangs_begin(&f, &c, true);
	snprintf(config, sizeof(config), "%s",
		 MATE_CONFIG("good.json", { "a", "good", NULL, NULL }));
	snprintf(params, sizeof(params), "\"config\":\"%s\"", config);
	pid = hang_many(&f, 300);
	began = t_now_ms();
	HAS(control_do(&c, "session.create", params), "\"session\":\"s2\"");
	if (t_now_ms() - began > SOON_MS)
		FAIL("a session took %.0f ms", t_now_ms() - began);
	others_are_served(&c);
	HAS(with_session(&c, "session.destroy", "s2", NULL), "\"proved\":true");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	hangs_end(&f, &c, NULL);
}

/* The catalogue is a cache: a session opens without it, after the time for a file that hangs. */
TEST(a_catalogue_that_hangs_blocks_no_session_for_long, .timeout_ms = 40000)
{
	struct control c, other;
	char path[300], place[320];
	struct fuse f;
	long id;

	fuse_mount(&f, true);
	mate_room();
	snprintf(path, sizeof(path), "%s/killick", getenv("XDG_CACHE_HOME"));
	OK(mkdir(getenv("XDG_CACHE_HOME"), 0700) == 0 || errno == EEXIST);
	EQ(mkdir(path, 0700), 0);
	snprintf(place, sizeof(place), "%s/catalogue", path);
	snprintf(path, sizeof(path), "%s/x", f.dir);
	EQ(symlink(path, place), 0);
	hub = mate_hub_start();
	control_open(&c);
	control_open(&other);
	id = control_send(&other, "session.create", servers("good", NULL));
	fuse_await(&f);
	control_do(&c, "hub.status", "");
	HAS(control_wait(&other, id), "\"session\":\"s1\"");
	others_are_served(&c);
	/* the next session does not wait */
	STREQ(create(&c, "tagged", NULL), "s2");
	hangs_end(&f, &c, &other);
}

/* The name of the config is the text by which the look at a server is known. */
TEST(a_config_that_hangs_is_not_taken_for_the_program_of_a_server, .timeout_ms = 40000)
{
	struct control c, other;
	char params[600];
	struct fuse f;
	struct span r;
	long id;

	hangs_begin(&f, &c, true);
	control_open(&other);
	id = ask_and_hang(&other, &f, "\"config\":\"%s/x  /nowhere\"%s", "");
	HAS(control_wait(&other, id), LATE);
	snprintf(params, sizeof(params),
		 "\"mcpServers\":{\"a\":{\"command\":\"/nowhere\",\"env\":{\"PATH\":\"%s/x\"}}}",
		 f.dir);
	r = control_ask(&other, "session.create", params);
	HAS(r, "no such file");
	hangs_end(&f, &c, &other);
}

TEST(a_refresh_with_a_config_that_hangs_keeps_the_session, .timeout_ms = 40000)
{
	struct control c, other;
	char params[300];
	struct fuse f;
	long id;

	hangs_begin(&f, &c, true);
	control_open(&other);
	STREQ(create(&other, "good", NULL), "s2");
	snprintf(params, sizeof(params), "\"session\":\"s2\",\"config\":\"%s/mcp.json\"", f.dir);
	id = control_send(&other, "session.refresh", params);
	fuse_await(&f);
	others_are_served(&c);
	HAS(control_wait(&other, id), LATE);
	HAS(with_session(&other, "tool.call", "s2",
			 "\"tool\":\"echo\",\"arguments\":{\"text\":\"hi\"}"),
	    "\"result\"");
	hangs_end(&f, &c, &other);
}

TEST(clients_that_leave_while_a_config_hangs_leave_no_server, .timeout_ms = 40000)
{
	struct mate_spec spec = { .config = NULL };
	struct control c, other;
	struct mate m;
	struct fuse f;

	hangs_begin(&f, &c, true);
	control_open(&other);
	spec.config = MATE_CONFIG("good.json", { "a", "good", NULL, NULL });
	mate_open(&m, &spec);
	mate_hello(&m, &spec);
	mate_await_servers(2);
	ask_and_hang(&other, &f, "\"config\":\"%s/mcp.json\"%s", "");
	mate_kill(&m);
	mate_await_servers(1);
	control_close(&other); /* also the one whose config hangs */
	await_sessions(1);
	hangs_end(&f, &c, NULL);
}

/* The thread that hangs cannot be killed, so the process of the hub is not quite dead; but the
 * thread holds nothing that the keepers wait for. */
TEST(a_hub_that_is_killed_while_a_config_hangs_leaves_no_server, .timeout_ms = 40000)
{
	struct control c;
	struct fuse f;

	hangs_begin(&f, &c, true);
	ask_and_hang(&c, &f, "\"config\":\"%s/mcp.json\"%s", "");
	kill(hub, SIGKILL);
	mate_await_servers(0);
	EQ(waitpid(hub, NULL, WNOHANG), 0);
	fuse_end(&f);
	OK(t_wait_child(hub, MATE_MS) >= 0);
	control_close(&c);
	mate_reap();
}

TEST(a_program_that_hangs_fails_alone, .timeout_ms = 40000)
{
	struct control c, other;
	struct fuse f;
	struct span r;
	long id;

	hangs_begin(&f, &c, true);
	control_open(&other);
	id = ask_and_hang(&other, &f, WITH_GOOD("\"command\":\"%s/server\""), ZOO);
	others_are_served(&c);
	r = control_wait(&other, id);
	HAS(r, "/server' " LATE);
	HAS(r, "{\"name\":\"well\",\"state\":\"ready\"");
	hangs_end(&f, &c, &other);
}

TEST(a_directory_of_path_that_hangs_fails_one_server, .timeout_ms = 40000)
{
	struct control c, other;
	struct fuse f;
	struct span r;
	long id;

	hangs_begin(&f, &c, true);
	control_open(&other);
	id = ask_and_hang(&other, &f,
			  WITH_GOOD("\"command\":\"some-server\",\"env\":{\"PATH\":\"%s:/bin\"}"),
			  ZOO);
	others_are_served(&c);
	r = control_wait(&other, id);
	HAS(r, "some-server");
	HAS(r, "PATH");
	HAS(r, "did not answer within 5 s");
	HAS(r, "{\"name\":\"well\",\"state\":\"ready\"");
	hangs_end(&f, &c, &other);
}

/* The server may know what to do with it. */
TEST(an_argument_that_hangs_does_not_keep_its_server_from_starting, .timeout_ms = 40000)
{
	struct control c, other;
	struct fuse f;
	char params[600];
	long id;

	hangs_begin(&f, &c, true);
	control_open(&other);
	snprintf(params, sizeof(params),
		 "\"mcpServers\":{\"a\":{\"command\":\"%s\",\"args\":[\"mcp\",\"good\",\"%s/"
		 "data\"]}}",
		 ZOO, f.dir);
	id = control_send(&other, "session.create", params);
	fuse_await(&f);
	others_are_served(&c);
	HAS(control_wait(&other, id), "\"state\":\"ready\"");
	hangs_end(&f, &c, &other);
}

TEST(a_log_that_hangs_delays_nobody, .timeout_ms = 40000)
{
	struct control c, other;
	struct fuse f;
	long id;

	hangs_begin(&f, &c, true);
	control_open(&other);
	id = ask_and_hang(&other, &f,
			  "\"mcpServers\":{\"a\":{\"stderr\":\"%s/log\",\"command\":\"%s\","
			  "\"args\":[\"mcp\",\"good\"]}}",
			  ZOO);
	others_are_served(&c);
	HAS(control_wait(&other, id), "\"state\":\"ready\"");
	HAS(with_session(&other, "session.destroy", "s2", NULL), "\"proved\":true");
	hangs_end(&f, &c, &other);
}

/* The keeper enters the directory, not the hub. */
TEST(a_directory_that_hangs_fails_one_server, .timeout_ms = 40000)
{
	struct control c, other;
	struct fuse f;
	char params[600];
	long id;

	hangs_begin(&f, &c, false);
	control_open(&other);
	snprintf(params, sizeof(params),
		 "\"mcpServers\":{\"a\":{\"command\":\"/bin/cat\",\"cwd\":\"%s\","
		 "\"startup_timeout_sec\":1}}",
		 f.dir);
	id = control_send(&other, "session.create", params);
	others_are_served(&c);
	HAS(control_wait(&other, id), "\"state\":\"failed\"");
	hangs_end(&f, &c, &other);
}

/* The hub would wait for such a file, and the file cannot even be closed without a wait. */
TEST(a_client_whose_stdin_or_stdout_could_hang_is_refused, .timeout_ms = 40000)
{
	char *argv[5] = { (char *)t_program("KILLICK", "build/killick"), "connect", "--config" };
	struct fuse f;
	pid_t serves;

	fuse_mount(&f, true);
	serves = fuse_serve(&f);
	hub = mate_hub_start();
	argv[3] = (char *)MATE_CONFIG("good.json", { "a", "good", NULL, NULL });
	for (int i = 0; i < 2; i++) {
		int stdio[3] = { -1, -1, -1 }, text[2];
		char said[1000] = "";

		EQ(pipe2(text, O_CLOEXEC), 0);
		stdio[i] = fuse_open(&f, "file", i ? O_WRONLY : O_RDONLY);
		stdio[2] = text[1];
		EQ(t_wait_child(t_spawn(argv, stdio), MATE_MS), 69 << 8);
		close(stdio[i]);
		close(text[1]);
		OK(read(text[0], said, sizeof(said) - 1) > 0);
		close(text[0]);
		OK(strstr(said, i ? "stdout" : "stdin") && strstr(said, "use a pipe"));
	}
	EQ(mate_servers(), 0);
	fuse_unserve(serves);
	fuse_end(&f);
	mate_hub_stop();
}
