/* places.c - servers of the hub that run on an executor. The executor is on this machine, so that
 * the auditor sees its processes. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mate.h"

static pid_t executor;
static char address[120];

/* Start `killick exec-server` and wait for its address. */
static void executor_open(const char *lease)
{
	char *argv[] = { (char *)t_program("KILLICK", "build/killick"),
			 "exec-server",
			 "--listen",
			 address,
			 "--lease",
			 (char *)lease,
			 NULL };
	char line[256];
	int out[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);

	snprintf(address, sizeof(address), "unix:%s/executor", t_audit.dir);
	OK(null >= 0 && !pipe2(out, O_CLOEXEC));
	executor = t_spawn(argv, (int[]){ null, out[1], null });
	close(out[1]);
	close(null);
	OK(t_wait_fd(out[0], POLLIN, MATE_MS));
	OK(read(out[0], line, sizeof(line)) > 0);
	close(out[0]);
}

static void executor_close(void)
{
	OK(!kill(executor, SIGTERM));
	EQ(t_wait_child(executor, MATE_MS), 0);
}

/* A config whose server runs in the environment `far`. Returns its path. */
static const char *placed_config(const char *environment, const char *share)
{
	static char path[160];
	FILE *f;

	snprintf(path, sizeof(path), "%s/placed.json", t_audit.dir);
	f = fopen(path, "we");
	OK(f);
	fprintf(f,
		"{\"environments\":{\"far\":{\"url\":\"%s\"}},\"mcpServers\":{\"one\":{"
		"\"command\":\"%s\",\"args\":[\"mcp\",\"tagged\"],\"environment\":\"%s\","
		"\"cwd\":\"/"
		"\",\"share\":\"%s\",\"envVars\":[\"ZOO_AUDIT\",\"ZOO_FIFO\",\"ZOO_PIDS\","
		"\"ZOO_LIFE_MS\"]}}}\n",
		address, t_program("ZOO", "build/tests/zoo/killick-zoo"), environment, share);
	fclose(f);
	return path;
}

static void mate_join(struct mate *m, const char *config)
{
	const struct mate_spec spec = { .config = config };

	mate_open(m, &spec);
	mate_hello(m, &spec);
	mate_do(m, "echo", "\"tag\":\"x\"");
}

/* Does the list of servers have this text? */
static void servers_have(const char *text)
{
	struct control c;
	struct span result;

	control_open(&c);
	result = control_do(&c, "server.list", "");
	if (!memmem(result.at, result.len, text, strlen(text)))
		FAIL("no %s in %.*s", text, (int)result.len, result.at);
	control_close(&c);
}

TEST(a_server_runs_on_an_executor_and_ends_with_its_session, .timeout_ms = 60000)
{
	struct mate m;

	executor_open("30s");
	mate_hub_start();
	mate_join(&m, placed_config("far", "never"));
	servers_have("\"environment\":\"far\"");
	mate_await_servers(1);
	mate_close(&m);
	mate_await_servers(0);
	executor_close();
	mate_hub_stop();
}

/* The hub does not see the processes of the other machine: it must not say that there are none. */
TEST(processes_and_memory_of_a_server_on_an_executor_are_not_known, .timeout_ms = 60000)
{
	struct mate m;

	executor_open("30s");
	mate_hub_start();
	mate_join(&m, placed_config("far", "never"));
	servers_have("\"processes\":null,\"memory\":null,");
	mate_close(&m);
	executor_close();
	mate_hub_stop();
}

TEST(sessions_share_a_server_on_an_executor, .timeout_ms = 60000)
{
	struct mate a, b;
	const char *config;

	executor_open("30s");
	mate_hub_start();
	config = placed_config("far", "identical");
	mate_join(&a, config);
	mate_join(&b, config);
	mate_await_servers(1);
	mate_kill(&a);
	mate_do(&b, "echo", "\"tag\":\"y\"");
	mate_await_servers(1);
	mate_close(&b);
	mate_await_servers(0);
	executor_close();
	mate_hub_stop();
}

TEST(the_executor_ends_the_servers_of_a_killed_hub, .timeout_ms = 60000)
{
	struct mate m;

	executor_open("300ms");
	mate_hub_start();
	mate_join(&m, placed_config("far", "never"));
	mate_await_servers(1);
	mate_hub_kill_only();
	mate_await_servers(0);
	mate_kill(&m);
	executor_close();
	mate_reap();
}

TEST(an_unknown_environment_is_named, .timeout_ms = 60000)
{
	struct mate_spec spec = { .config = NULL };
	struct mate m;
	struct span answer;
	long id;

	executor_open("30s");
	mate_hub_start();
	spec.config = placed_config("nowhere", "never");
	mate_open(&m, &spec);
	id = mate_ask(&m, "initialize",
		      "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{"
		      "\"name\":\"t\",\"version\":\"1\"}",
		      NULL);
	answer = mate_answer(&m, id);
	if (!memmem(answer.at, answer.len, "nowhere", 7))
		FAIL("%.*s", (int)answer.len, answer.at);
	mate_kill(&m);
	executor_close();
	mate_hub_stop();
}
