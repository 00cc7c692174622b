/* client.c - the verbs that speak to servers, as a user calls them: what they print and return. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shell.h"

static const char *const client_verbs[] = { "tools", "resources", "prompts", "call",
					    "read",  "ping",      "status",  "inspect" };
enum { VERBS = sizeof(client_verbs) / sizeof(client_verbs[0]) };

TEST(wrong_words_are_refused)
{
	begin();
	for (size_t i = 0; i < VERBS; i++) {
		char want[200];

		RUN(64, client_verbs[i], "--x");
		snprintf(want, sizeof(want),
			 "killick: %s: unknown option '--x'; try 'killick %s --help'\n",
			 client_verbs[i], client_verbs[i]);
		STREQ(err, want);
		STREQ(out, "");
		RUN(64, client_verbs[i], "x", "--timeout", "soon");
		RUN(64, client_verbs[i], "x", "y=1", "--");
		RUN(64, client_verbs[i], "x", "--config", "f", "--", "true");
	}
	RUN(64, "tools", "--timeout", "soon");
	SAYS("'--timeout' needs a time such as 500ms, 30s or 5m, not 'soon'");
	RUN(64, "tools", "--");
	SAYS("no command after '--'");
	RUN(64, "tools", "--server", "f", "--", "true");
	SAYS("exclude each other");
	RUN(64, "status", "word");
	SAYS("unexpected argument 'word'");
	RUN(64, "ping", "--count", "0");
	SAYS("'--count' needs a number");
	RUN(64, "read");
	SAYS("no URI given");
	RUN(64, "call");
	SAYS("no tool given");
	RUN(64, "call", "x", "y");
	SAYS("'y' is neither key=value nor key:=JSON");
	RUN(64, "call", "x", "y:=z");
	SAYS("is not JSON");
	RUN(64, "call", "x", "y=z", "--args", "{}");
	SAYS("exclude each other");
	RUN(64, "call", "x", "--args", "{\"a\":}");
	SAYS("'--args' is not JSON: ");
	RUN(64, "call", "x", "--args", "[]");
	SAYS("'--args' is not an object");
	RUN(64, "call", "x", "--args", "@none");
	SAYS("cannot read '--args @none': No such file");
	EQ(started(), 0);
}

TEST(help_is_one_screen)
{
	begin();
	for (size_t i = 0; i < VERBS; i++) {
		char want[64];
		size_t lines = 0;

		RUN(0, client_verbs[i], "--help");
		snprintf(want, sizeof(want), "usage: killick %s", client_verbs[i]);
		OK(strncmp(out, want, strlen(want)) == 0);
		PRINTS("Exit status: ");
		for (char *rest = out, *line; (line = strsep(&rest, "\n")); lines++)
			if (strlen(line) > 79)
				FAIL("%s", line);
		if (lines > 24)
			FAIL("%s: %zu lines", client_verbs[i], lines);
	}
}

TEST(the_config_is_found, .timeout_ms = TEST_MS)
{
	begin();
	RUN(64, "tools");
	SAYS("no config: .mcp.json, mcp.json and .vscode/mcp.json not found here");
	OK(mkdir(".vscode", 0700) == 0);
	CONFIG(".vscode/mcp.json", "code", "good");
	RUN(0, "status", "--json");
	PRINTS("\"server\":\"code\"");
	CONFIG("mcp.json", "visible", "good");
	RUN(0, "status", "--json");
	PRINTS("\"server\":\"visible\"");
	STREQ(err, "");
	CONFIG(".mcp.json", "dot", "good");
	RUN(0, "status", "--json", "-v");
	PRINTS("\"server\":\"dot\"");
	SAYS("killick: status: the config is .mcp.json\n");
	CONFIG("other", "named", "good");
	setenv("KILLICK_CONFIG", "other", 1);
	RUN(0, "status", "--json");
	PRINTS("\"server\":\"named\"");
	RUN(0, "status", "--json", "--config", "mcp.json");
	PRINTS("\"server\":\"visible\"");
}

TEST(a_bad_config_is_refused, .timeout_ms = TEST_MS)
{
	begin();
	write_file("mcp.json", "{\"mcpServers\": {\n  \"a\": {\n    \"command\": 7}}}\n");
	RUN(65, "tools");
	SAYS("killick: tools: mcp.json:3:");
	STREQ(out, "");
	write_file("mcp.json", "{\"mcpServers\": ");
	RUN(65, "tools");
	SAYS("mcp.json:1: the config is not JSON: ");
	write_file("mcp.json", " \n");
	RUN(65, "tools");
	SAYS("the config is empty; it must be JSON: ");
	RUN(65, "tools", "--config", "none.json");
	SAYS("none.json");
	write_file("mcp.json", "{\"mcpServers\": {}}");
	RUN(65, "tools");
	SAYS("has no servers");
	write_file("mcp.json", "{\"mcpServers\": {\"off\": {\"command\": \"x\", "
			       "\"disabled\": true}}}");
	RUN(65, "tools");
	SAYS("every server in mcp.json is disabled");
	RUN(69, "tools", "--server", "off");
	SAYS("off: the server is disabled in the config");
	CONFIG("mcp.json", "a", "good");
	RUN(64, "tools", "--server", "b");
	SAYS("'b'");
	EQ(started(), 0);
}

TEST(tools_are_listed, .timeout_ms = TEST_MS)
{
	begin();
	CONFIG("mcp.json", "one", "good");
	RUN(0, "tools");
	OK(strncmp(out, "NAME", 4) == 0);
	PRINTS("\necho");
	PRINTS("\nenv");
	RUN(0, "tools", "--json");
	OK(strncmp(out, "[\n{\"server\":\"one\",\"tools\":[{\"name\":\"echo\"", 41) == 0);
	RUN(0, "tools", "echo");
	OK(strncmp(out, "echo", 4) == 0);
	RUN(0, "tools", "one__echo", "--json");
	OK(strncmp(out, "{\"name\":\"echo\"", 14) == 0 ||
	   strncmp(out, "{\"name\":\"one__", 14) == 0);
	RUN(64, "tools", "ecko");
	SAYS("no tool 'ecko' (did you mean echo?); 'killick tools' lists the tools");
	CONFIG("mcp.json", "one", "good", "two", "good");
	RUN(0, "tools");
	PRINTS("\none__echo");
	PRINTS("\ntwo__echo");
	RUN(64, "tools", "echo");
	SAYS("'echo' is a tool of several servers: one__echo, two__echo");
	RUN(0, "tools", "--server", "two");
	PRINTS("\necho");
	RUN(0, "tools", "--", zoo(), "plain");
	PRINTS("\nhang  Never answers\n");
}

TEST(one_server_alone_is_started, .timeout_ms = TEST_MS)
{
	begin();
	CONFIG("mcp.json", "one", "good", "two", "good", "three", "good");
	RUN(0, "tools", "--server", "two");
	EQ(started(), 1);
}

TEST(a_tool_is_called, .timeout_ms = TEST_MS)
{
	int fd;

	begin();
	CONFIG("mcp.json", "one", "good");
	RUN(0, "call", "echo", "text=hello there");
	STREQ(out, "hello there\n");
	STREQ(err, "");
	RUN(0, "call", "one__echo", "text=hello");
	STREQ(out, "hello\n");
	RUN(0, "call", "echo", "--args", "{\"text\":\n\n\"two\\nlines\"}\n");
	STREQ(out, "two\nlines\n");
	write_file("args", "{\"text\":\r\n \"from a file\"}");
	RUN(0, "call", "echo", "--args", "@args");
	STREQ(out, "from a file\n");
	RUN(0, "call", "echo", "text=a", "--json");
	STREQ(out, "{\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}\n");
	RUN(0, "call", "big", "--args", "{\"bytes\":200000}");
	EQ(strlen(out), 200001);
	RUN(0, "call", "echo", "text=no config", "--", zoo(), "plain");
	STREQ(out, "no config\n");
	fd = open("args", O_RDONLY | O_CLOEXEC);
	OK(fd >= 0);
	OK(dup2(fd, 0) == 0);
	RUN(0, "call", "echo", "--args", "-");
	STREQ(out, "from a file\n");
	close(fd);
}

TEST(a_tool_of_several_servers_needs_a_qualified_name, .timeout_ms = TEST_MS)
{
	begin();
	CONFIG("mcp.json", "one", "good", "two", "good");
	RUN(64, "call", "pid");
	SAYS("'pid' is a tool of several servers: one__pid, two__pid; name one of these or give "
	     "'--server'");
	RUN(0, "call", "two__echo", "text=x");
	STREQ(out, "x\n");
	RUN(0, "call", "echo", "text=y", "--server", "two");
	STREQ(out, "y\n");
}

TEST(failures_of_calls, .timeout_ms = TEST_MS)
{
	begin();
	CONFIG("mcp.json", "one", "good");
	RUN(1, "call", "fail");
	STREQ(out, "");
	SAYS("killick: call: one: the tool 'fail' reported an error:\n");
	RUN(1, "call", "fail", "--json");
	PRINTS("\"isError\":true");
	RUN(1, "read", "other://x");
	SAYS("no such resource");
	RUN(69, "call", "crash", "code:=3");
	SAYS("killick: call: server 'one' ");
	SAYS("about to crash");
	RUN(75, "call", "block", "--timeout", "200ms");
	SAYS("'one'");
	STREQ(out, "");
}

TEST(servers_that_do_not_start, .timeout_ms = TEST_MS)
{
	begin();
	CONFIG("mcp.json", "bad", "diesnow");
	RUN(69, "tools");
	SAYS("killick: tools: server 'bad' ");
	SAYS("its last lines on stderr:");
	SAYS("to see more: killick status --verbose --config 'mcp.json' --server 'bad'");
	STREQ(out, "");
	CONFIG("mcp.json", "good", "good", "bad", "diesnow");
	RUN(69, "tools");
	SAYS("server 'bad' ");
	PRINTS("good__echo");
	RUN(69, "tools", "--json");
	PRINTS("{\"server\":\"good\",\"tools\":[");
	PRINTS("{\"server\":\"bad\",\"error\":");
	RUN(0, "call", "echo", "text=works"); /* the other is not asked for */
	STREQ(out, "works\n");
	RUN(69, "call", "nothing");
	SAYS("no tool 'nothing'");
	SAYS("server 'bad' ");
	RUN(69, "status");
	PRINTS("\ngood ");
	PRINTS("\nbad ");
	RUN(69, "ping", "--", "/no/such/program");
	SAYS("/no/such/program");
	CONFIG("mcp.json", "good", "good", "odd", "badshape");
	RUN(69, "tools"); /* it started, but cannot be listed */
	SAYS("'odd'");
	PRINTS("good__echo");
	CONFIG("mcp.json", "mute", "mute");
	RUN(75, "tools", "--timeout", "300ms");
	SAYS("300ms");
}

TEST(resources_and_prompts, .timeout_ms = TEST_MS)
{
	begin();
	CONFIG("mcp.json", "one", "good");
	RUN(0, "resources");
	OK(strncmp(out, "URI ", 4) == 0);
	PRINTS("\nzoo://g ");
	PRINTS("\nzoo://{x}/4 ");
	RUN(0, "resources", "--json");
	PRINTS("\"resourceTemplates\":[{\"uriTemplate\":\"zoo://{x}/1\"");
	RUN(0, "read", "zoo://a");
	STREQ(out, "of zoo://a"); /* byte for byte */
	RUN(0, "read", "zoo://a", "--json");
	STREQ(out, "{\"contents\":[{\"uri\":\"zoo://a\",\"text\":\"of zoo://a\"}]}\n");
	RUN(0, "prompts");
	PRINTS("\ngreet  who");
	RUN(0, "prompts", "greet", "who=World");
	STREQ(out, "user:\nWorld\n");
	RUN(1, "prompts", "nobody");
	SAYS("no such prompt");
	CONFIG("mcp.json", "one", "good", "two", "good");
	RUN(64, "read", "zoo://a");
	SAYS("2 servers have 'zoo://a'; give '--server NAME'");
	RUN(64, "read", "zoo://z");
	SAYS("no server lists 'zoo://z'");
	RUN(0, "read", "zoo://z", "--server", "two");
	STREQ(out, "of zoo://z");
	RUN(0, "resources");
	PRINTS(" two\n");
	RUN(0, "resources", "--", zoo(), "plain");
	STREQ(out, "no resources\n");
}

TEST(ping_status_inspect, .timeout_ms = TEST_MS)
{
	begin();
	CONFIG("mcp.json", "one", "good");
	RUN(0, "ping", "--count", "3");
	PRINTS("\none           3  ");
	RUN(0, "ping", "--json");
	PRINTS("{\"server\":\"one\",\"ms\":[");
	RUN(0, "status");
	PRINTS("SERVER ");
	PRINTS(" ready ");
	PRINTS(" legacy ");
	PRINTS("     15  killick-zoo 1\n");
	RUN(0, "status", "--json");
	PRINTS("\"state\":\"ready\"");
	PRINTS("\"instructions\":\"Behave.\"");
	RUN(0, "inspect");
	OK(strncmp(out, "one\n  software    killick-zoo 1\n", 32) == 0);
	PRINTS("\n  offers      tools (listChanged), resources (subscribe, listChanged)");
	PRINTS("\ninstructions\n  Behave.\n");
	PRINTS("\ntools (15)\n  echo\n");
	PRINTS("\nresources (7)\n");
	PRINTS("\nresource templates (4)\n");
	PRINTS("\nprompts (3)\n  greet\n      who  required\n");
	RUN(0, "inspect", "--json");
	PRINTS("{\"server\":\"one\",\"protocol\":");
	PRINTS("\"prompts\":[{");
	CONFIG("mcp.json", "one", "good", "two", "good");
	RUN(64, "inspect");
	SAYS("there are several servers: one, two; give '--server NAME'");
	RUN(0, "inspect", "--server", "two");
}

TEST(verbose_says_more, .timeout_ms = TEST_MS)
{
	begin();
	CONFIG("mcp.json", "one", "good");
	RUN(0, "call", "stderr", "--args", "{\"lines\":2}", "-v");
	SAYS("one: stderr line 2\n");
	SAYS("killick: call: one: ended (");
	RUN(0, "call", "stderr", "--args", "{\"lines\":2}");
	STREQ(err, "");
}

/* Each number makes another step fail: the first pipe, the loop, the config, the pipes of the
 * server, the keeper, the server. */
TEST(errors_of_client_verbs_name_the_limit_of_open_files, .timeout_ms = 4 * TEST_MS)
{
	static const char *const words[VERBS] = { "tools",     "resources",    "prompts",
						  "call echo", "read zoo://a", "ping --count 1",
						  "status",    "inspect" };
	static const int limits[] = { 4, 6, 8, 9, 12, 17, 20 };

	begin();
	CONFIG("mcp.json", "one", "good");
	/* the caller of the test may have left files open */
	for (int fd = 3; fd < 1024; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	for (size_t i = 0; i < VERBS * sizeof(limits) / sizeof(limits[0]); i++) {
		int limit = limits[i / VERBS], status;
		char command[512];
		char *argv[] = { (char *)"sh", (char *)"-c", command, NULL };
		struct child c;

		snprintf(command, sizeof(command), "ulimit -n %d; exec %s %s", limit, killick(),
			 words[i % VERBS]);
		c = start(argv, -1);
		listen_for(&c, NULL);
		status = finish(&c);
		nothing_left();
		if (status == 0 && limit > 12) /* level keeper needs fewer than level cgroup */
			continue;
		if (status == 0 || !strstr(err, "; raise the limit of open files (ulimit -n)") ||
		    (!strstr(err, "Too many open files") &&
		     !strstr(err, "No file descriptors available")))
			FAIL("'%s': exit status %d: %s", command, status, err);
	}
}
