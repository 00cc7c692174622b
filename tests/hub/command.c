/* command.c - `killick connect -- CMD`, which `killick wrap --hub` writes: one server of the hub
 * for one entry of a client's config. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mate.h"

static const char *zoo(void)
{
	return t_program("ZOO", "build/tests/zoo/killick-zoo");
}

static void join(struct mate *m, const char *const *words)
{
	const char *argv[16] = { t_program("KILLICK", "build/killick"), "connect" };
	const struct mate_spec spec = { .config = NULL };

	for (size_t i = 0; words[i]; i++)
		argv[2 + i] = words[i];
	mate_open_program(m, argv);
	mate_hello(m, &spec);
}

/* The servers of the hub as one line of JSON. */
static const char *servers(void)
{
	static char text[1 << 16];
	struct control c;
	struct span all;

	control_open(&c);
	all = control_do(&c, "server.list", "");
	snprintf(text, sizeof(text), "%.*s", (int)all.len, all.at);
	control_close(&c);
	return text;
}

TEST(a_command_is_the_one_server_with_the_environment_of_its_client, .timeout_ms = 60000)
{
	const char *const words[] = { "--server", "files", "--", zoo(), "mcp", "good", NULL };
	const char *names;
	struct mate m;

	mate_hub_start();
	setenv("ONLY_OF_THIS_CLIENT", "${HOME}", 1);
	join(&m, words);
	names = mate_text(&m, "env", ""); /* a plain name: there is one server */
	OK(strstr(names, "ONLY_OF_THIS_CLIENT"));
	OK(!strstr(names, "SHLVL"));
	OK(strstr(servers(), "\"name\":\"files\""));
	mate_close(&m);
	mate_done(&m);
	mate_await_servers(0);
	mate_hub_stop();
}

TEST(without_a_name_the_server_has_that_of_its_program, .timeout_ms = 60000)
{
	const char *const words[] = { "--", zoo(), "mcp", "good", NULL };
	struct mate m;

	mate_hub_start();
	join(&m, words);
	STREQ(mate_text(&m, "echo", "\"text\":\"hello\""), "hello");
	OK(strstr(servers(), "\"name\":\"killick-zoo\""));
	mate_close(&m);
	mate_done(&m);
	mate_hub_stop();
}

/* The config of a client does not say which era a server speaks. */
TEST(a_command_may_speak_either_era, .timeout_ms = 60000)
{
	static const char *const ways[] = { "modern", "dual", "good", "probedeath" };
	struct mate m;

	mate_hub_start();
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		const char *const words[] = { "--", zoo(), "mcp", ways[i], NULL };

		join(&m, words);
		STREQ(mate_text(&m, "echo", "\"text\":\"hello\""), "hello");
		OK(strstr(servers(), i < 2 ? "\"era\":\"modern\"" : "\"era\":\"legacy\""));
		mate_close(&m);
		mate_done(&m);
		mate_await_servers(0);
	}
	mate_hub_stop();
}

/* Two sessions with the same command: one process, whatever the depth of their shells is. With
 * another variable: two processes. */
TEST(equal_commands_share_a_process, .timeout_ms = 60000)
{
	const char *const words[] = { "--server", "a",   "--share", "identical", "--",
				      zoo(),      "mcp", "good",    NULL };
	struct mate m[3];
	char first[64];

	mate_hub_start();
	setenv("SHLVL", "1", 1);
	join(&m[0], words);
	snprintf(first, sizeof(first), "%s", mate_text(&m[0], "pid", ""));
	setenv("SHLVL", "2", 1);
	join(&m[1], words);
	STREQ(mate_text(&m[1], "pid", ""), first);
	EQ(mate_servers(), 1);
	setenv("ONLY_OF_THE_THIRD", "1", 1);
	join(&m[2], words);
	OK(strcmp(mate_text(&m[2], "pid", ""), first) != 0);
	EQ(mate_servers(), 2);
	OK(strstr(servers(), "environment variable ONLY_OF_THE_THIRD"));
	for (int i = 0; i < 3; i++) {
		mate_close(&m[i]);
		mate_done(&m[i]);
	}
	mate_await_servers(0);
	mate_hub_stop();
}

/* The config of a client that `killick wrap` has changed, used by the hub: the commands are held
 * by the hub itself. */
TEST(wrapped_servers_of_a_config_are_unwrapped, .timeout_ms = 60000)
{
	const char *const words[] = { "--config", "wrapped.json", NULL };
	struct control c;
	struct span answer;
	struct mate m;
	FILE *f;

	mate_hub_start();
	OK(chdir(t_audit.dir) == 0);
	f = fopen("wrapped.json", "we");
	OK(f);
	fprintf(f,
		"{\"mcpServers\":{\"a\":{\"command\":\"killick\",\"args\":[\"connect\",\"--"
		"server\","
		"\"a\",\"--share\",\"auto\",\"--idle\",\"5m\",\"--\",\"%s\",\"mcp\",\"good\"]},"
		"\"b\":{\"command\":"
		"\"/x/killick\",\"args\":[\"run\",\"--\",\"%s\",\"mcp\",\"good\"]},\"self\":{"
		"\"command\":\"%s\",\"args\":[\"connect\",\"--config\",\"wrapped.json\"]}}}",
		zoo(), zoo(), t_program("KILLICK", "build/killick"));
	fclose(f);
	join(&m, words);
	STREQ(mate_text(&m, "a__echo", "\"text\":\"1\""), "1");
	STREQ(mate_text(&m, "b__echo", "\"text\":\"2\""), "2");
	OK(!strstr(servers(), "/x/killick"));
	OK(!strstr(servers(), "connect --config"));
	OK(strstr(servers(), "\"name\":\"self\",\"state\":\"failed\""));
	control_open(&c);
	answer = control_do(&c, "session.create",
			    "\"mcpServers\":{\"self\":{\"command\":\"killick\",\"args\":["
			    "\"connect\"]}}");
	OK(memmem(answer.at, answer.len, "is killick connect itself", 25));
	control_close(&c);
	mate_close(&m);
	mate_done(&m);
	mate_hub_stop();
}

TEST(the_command_line_is_checked)
{
	static const char *const wrong[][6] = {
		{ "--", NULL },
		{ "--config", "x", "--", "y", NULL },
		{ "--server", "a", "--server", "b", "--" },
		{ "--share", "auto", NULL },
		{ "--idle", "5m", NULL },
		{ "--idle", "soon", "--", "x", NULL },
		{ "--share", "yes", "--", "x", NULL },
		{ "x", NULL },
	};

	mate_room();
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const char *argv[9] = { t_program("KILLICK", "build/killick"), "connect" };

		for (size_t k = 0; k < 6 && wrong[i][k]; k++)
			argv[2 + k] = wrong[i][k];
		if (strcmp(wrong[i][0], "--server") == 0)
			argv[7] = "x";
		EQ(t_wait_child(t_spawn((char *const *)argv, NULL), MATE_MS), 64 << 8);
	}
}

/* The server of a command rests after --idle, and the next call starts it again. */
TEST(the_server_of_a_command_rests, .timeout_ms = 60000)
{
	const char *const words[] = { "--idle", "200ms", "--", zoo(), "mcp", "good", NULL };
	struct mate m;
	char first[64];

	mate_hub_start();
	join(&m, words);
	snprintf(first, sizeof(first), "%s", mate_text(&m, "pid", ""));
	while (!strstr(servers(), "\"state\":\"resting\""))
		usleep(5000); /* the test has a deadline */
	OK(strcmp(mate_text(&m, "pid", ""), first) != 0);
	mate_close(&m);
	mate_done(&m);
	mate_hub_stop();
}
