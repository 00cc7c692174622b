/* view.c - `killick hub status|sessions|servers|reload|restart|stop` as a person and a script see
 * them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../cli/shell.h"

static const char hello[] =
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
	"\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"a client with a long name\","
	"\"version\":\"10.20.30-beta\"}}}\n";

/* Start a program as a client does, and send `hello`; the program's stdin is put into *in. */
static struct child start_client(char *const *argv, int *in)
{
	struct child c = start_with_pipe(argv, in);

	EQ(write(*in, hello, sizeof(hello) - 1), sizeof(hello) - 1);
	return c;
}

/* Start a client and wait until its session is open; its stdin is put into *in. */
static struct child connect_one(const char *tag, int *in)
{
	char *argv[] = { (char *)killick(), "connect",   "--config", "mcp.json",
			 "--session",       (char *)tag, NULL };
	struct child c = start_client(argv, in);

	listen_for(&c, "serverInfo");
	return c;
}

/* Each line of the terminal has at most so many characters. */
static void fits(unsigned width)
{
	for (const char *line = out; *line;) {
		size_t len = strcspn(line, "\r\n");

		if (len > width)
			FAIL("%zu columns instead of %u: %.*s", len, width, (int)len, line);
		line += len + strspn(line + len, "\r\n");
	}
}

static void show(unsigned short width, const char *word, const char *text)
{
	struct child c;

	columns = width;
	setenv("NO_COLOR", "1", 1);
	c = on_terminal("hub", word, NULL);
	listen_for(&c, NULL);
	EQ(finish(&c), 0);
	if (!strstr(out, text))
		FAIL("no '%s' in: %s", text, out);
	fits(width);
}

/* Run killick and leave the hub alone. */
static int ask(const char *word, const char *more)
{
	char *argv[] = { (char *)killick(), "hub", (char *)word, (char *)more, NULL };
	struct child c = start(argv, -1);

	listen_for(&c, NULL);
	return finish(&c);
}

TEST(views_of_the_hub_fit_the_terminal, .timeout_ms = TEST_MS)
{
	static const char *const words[] = { "status", "sessions", "servers", "reload" };
	struct child one, two;
	int in[2];

	begin();
	CONFIG("mcp.json", "a-server-with-a-rather-long-name", "good", "b", "dual", "broken",
	       "diesnow");
	EQ(ask("status", NULL), 69);
	SAYS("no hub is running");
	EQ(ask("servers", "--json"), 69);
	EQ(ask("stop", NULL), 0);
	STREQ(out, "");
	EQ(ask("stop", "--json"), 0);
	STREQ(out, "{\"ended\":[],\"survivors\":0,\"proved\":true,\"running\":false}\n");
	one = connect_one("a tag that is not short at all", &in[0]);
	two = connect_one("second", &in[1]);
	for (unsigned short width = 60; width <= 120; width = (unsigned short)(width + 20)) {
		show(width, "status", "sessions 2");
		show(width, "sessions", "s1");
		show(width, "servers", "sharing:");
		show(width, "reload", "refreshed");
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		EQ(ask(words[i], "--json"), 0);
		OK(out[0] == '{' && out[strlen(out) - 2] == '}');
	}
	EQ(ask("nonsense", NULL), 64);
	EQ(ask("--listen", "tcp"), 64);
	EQ(ask("--json", NULL), 64);
	EQ(ask("stop", NULL), 0);
	PRINTS("the hub has ended");
	close(in[0]);
	close(in[1]);
	listen_for(&one, NULL);
	EQ(finish(&one), 69);
	listen_for(&two, NULL);
	EQ(finish(&two), 69);
	nothing_left();
}

/* One server of the config starts, the other has a mistyped key. */
TEST(a_server_with_an_error_in_its_config_is_listed, .timeout_ms = TEST_MS)
{
	const char *pid;
	struct child one;
	FILE *f;
	int in;

	begin();
	f = fopen("mcp.json", "we");
	OK(f);
	fprintf(f,
		"{\"mcpServers\":{\"b\":{\"comand\":\"x\"},\"a\":{\"command\":\"%s\",\"args\":["
		"\"mcp\",\"good\"]}}}",
		t_program("ZOO", "build/tests/zoo/killick-zoo"));
	fclose(f);
	one = connect_one("tag", &in);
	EQ(ask("status", NULL), 0);
	PRINTS("servers  2: 1 running, 0 idle, 0 resting, 1 failed\n");
	PRINTS(" held by ");
	EQ(ask("servers", "--json"), 0);
	PRINTS("{\"server\":null,\"name\":\"b\",\"state\":\"failed\",\"reason\":\"");
	PRINTS("'command' is missing");
	EQ(ask("servers", NULL), 0);
	PRINTS("-   b     failed  s1");
	pid = strstr(out, "failed  s1 ") + strlen("failed  s1 ");
	EQ(pid[strspn(pid, " ")], '-');
	PRINTS("b: error: ");
	EQ(ask("stop", NULL), 0);
	close(in);
	listen_for(&one, NULL);
	EQ(finish(&one), 69);
	nothing_left();
}

/* How often the text is in stdout. */
static size_t times_printed(const char *text)
{
	size_t count = 0;

	for (const char *at = out; (at = strstr(at, text)); at += strlen(text))
		count++;
	return count;
}

/* Two sessions use a server that works, one that fails, and one with an error in the config. */
TEST(servers_with_the_same_error_share_a_line, .timeout_ms = TEST_MS)
{
	struct child clients[2];
	int in[2];
	FILE *f;

	begin();
	f = fopen("mcp.json", "we");
	OK(f);
	fprintf(f,
		"{\"mcpServers\":{\"b\":{\"comand\":\"x\"},\n\"good\":{\"command\":\"%s\",\"args\":"
		"["
		"\"mcp\",\"good\"]},\n\"none\":{\"command\":\"/no/program\"}}}",
		t_program("ZOO", "build/tests/zoo/killick-zoo"));
	fclose(f);
	for (size_t i = 0; i < 2; i++)
		clients[i] = connect_one(i ? "two" : "one", &in[i]);
	do
		EQ(ask("servers", NULL), 0);
	while (strstr(out, "starting") || strstr(out, "handshaking"));
	EQ(times_printed("b: error: "), 1);
	EQ(times_printed("'command' is missing"), 1);
	PRINTS("mcp.json:1: 'command' is missing");
	EQ(times_printed("server 'b'"), 0);
	EQ(times_printed(": error: could not be started"), 1);
	EQ(times_printed("handshake"), 0);
	EQ(ask("stop", NULL), 0);
	for (size_t i = 0; i < 2; i++) {
		close(in[i]);
		listen_for(&clients[i], NULL);
		EQ(finish(&clients[i]), 69);
	}
	nothing_left();
}

TEST(an_empty_hub_is_described_by_its_views_and_by_doctor, .timeout_ms = TEST_MS)
{
	char *argv[] = { (char *)killick(), "hub", "--quiet", NULL };
	char *asks[] = { (char *)killick(), "doctor", NULL };
	struct child hub, doctor;

	begin();
	hub = start(argv, -1);
	listen_for(&hub, "hub.sock");
	EQ(ask("servers", NULL), 0);
	PRINTS("no servers");
	PRINTS("memory: 0 held, 0 saved");
	EQ(ask("sessions", NULL), 0);
	PRINTS("no sessions");
	doctor = start(asks, -1);
	listen_for(&doctor, NULL);
	EQ(finish(&doctor), 0);
	PRINTS(", sessions 0, servers 0 (see: killick hub servers)");
	EQ(ask("stop", NULL), 0);
	listen_for(&hub, NULL);
	EQ(finish(&hub), 0);
	nothing_left();
}

static long idle_ms(void)
{
	const char *idle;

	EQ(ask("sessions", "--json"), 0);
	idle = strstr(out, "\"idleMs\":");
	OK(idle);
	return strtol(idle + strlen("\"idleMs\":"), NULL, 10);
}

TEST(the_idle_time_of_a_session_begins_with_its_last_request, .timeout_ms = TEST_MS)
{
	static const char list[] = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n";
	struct child one;
	double sent;
	long idle;
	int in;

	begin();
	CONFIG("mcp.json", "a", "good", "b", "good");
	one = connect_one("lists", &in);
	while (idle_ms() < 300)
		usleep(50000);
	sent = t_now_ms();
	EQ(write(in, list, sizeof(list) - 1), sizeof(list) - 1);
	one.out_len = 0; /* the text of `ask` is there */
	listen_for(&one, "inputSchema");
	idle = idle_ms();
	if (idle > t_now_ms() - sent + 1)
		FAIL("idle for %ld ms, %.0f ms after a request", idle, t_now_ms() - sent);
	EQ(ask("stop", NULL), 0);
	close(in);
	listen_for(&one, NULL);
	EQ(finish(&one), 69);
	nothing_left();
}

/* The client did not end the session, so the exit status says that something failed. */
TEST(connect_fails_when_its_only_server_cannot_be_started, .timeout_ms = TEST_MS)
{
	char *argv[] = { (char *)killick(), "connect", "--config", "mcp.json", NULL };
	struct child c;
	int in;

	begin();
	CONFIG("mcp.json", "broken", "diesnow");
	c = start_client(argv, &in);
	listen_for(&c, NULL);
	close(in);
	EQ(finish(&c), 69);
	PRINTS("cannot open the database");
	SAYS("the session was ended: server 'broken'");
	EQ(ask("stop", NULL), 0);
	nothing_left();
}

/* The user has named one command, and required nothing. */
TEST(a_relay_says_why_its_server_cannot_be_started, .timeout_ms = TEST_MS)
{
	char *argv[] = { (char *)killick(),
			 "run",
			 "--restart",
			 "--",
			 (char *)t_program("ZOO", "build/tests/zoo/killick-zoo"),
			 "mcp",
			 "diesnow",
			 NULL };
	struct child c;
	int in;

	begin();
	c = start_client(argv, &in);
	listen_for(&c, NULL);
	close(in);
	EQ(finish(&c), 69);
	SAYS("killick: run: server 'killick-zoo'");
	PRINTS("\"message\":\"server 'killick-zoo'");
	nothing_left();
}

TEST(connect_on_a_terminal_says_that_a_client_is_expected, .timeout_ms = TEST_MS)
{
	struct child c;

	begin();
	CONFIG("mcp.json", "a", "good");
	c = on_terminal("connect", "--config", "mcp.json", NULL);
	listen_for(&c, "this is an MCP server");
	EQ(write(c.out, "\004", 1), 1);
	listen_for(&c, NULL);
	EQ(finish(&c), 0);
	EQ(ask("stop", NULL), 0);
	nothing_left();
}

TEST(restart_names_one_server, .timeout_ms = TEST_MS)
{
	char *more[] = { (char *)killick(), "hub", "restart", "a", "--json", NULL };
	char id[16];
	struct child one, c;
	int in;

	begin();
	CONFIG("mcp.json", "a", "good");
	EQ(ask("restart", "a"), 69);
	SAYS("no hub is running");
	one = connect_one("tag", &in);
	EQ(ask("restart", NULL), 64);
	SAYS("killick hub restart SERVER");
	EQ(ask("status", "a"), 64);
	EQ(ask("restart", "b"), 69);
	SAYS("there is no server 'b'");
	EQ(ask("restart", "a"), 0);
	PRINTS("the server is ready");
	snprintf(id, sizeof(id), "%.*s", (int)strcspn(out, ":"), out);
	EQ(ask("restart", id), 0);
	PRINTS(": pid ");
	c = start(more, -1);
	listen_for(&c, NULL);
	EQ(finish(&c), 0);
	PRINTS("\"ending\":{");
	EQ(ask("stop", NULL), 0);
	close(in);
	listen_for(&one, NULL);
	EQ(finish(&one), 69);
	nothing_left();
}

TEST(reload_fails_when_a_config_has_an_error, .timeout_ms = TEST_MS)
{
	struct child one;
	int in;

	begin();
	CONFIG("mcp.json", "a", "good");
	one = connect_one("reloads", &in);
	EQ(ask("reload", NULL), 0);
	PRINTS("refreshed, 0 servers ended");
	write_file("mcp.json", "{");
	EQ(ask("reload", NULL), 65);
	PRINTS("s1  not refreshed: ");
	PRINTS("mcp.json:1: the config is not JSON");
	EQ(ask("reload", "--json"), 65);
	PRINTS("\"error\":");
	EQ(ask("stop", NULL), 0);
	close(in);
	listen_for(&one, NULL);
	EQ(finish(&one), 69);
	nothing_left();
}
