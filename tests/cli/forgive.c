/* forgive.c - ordinary wishes and ordinary mistakes of a user at a shell: what killick does and
 * says. */
#include <ctype.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shell.h"

#define TAGS "\"envVars\": [\"ZOO_AUDIT\", \"ZOO_FIFO\", \"ZOO_PIDS\", \"ZOO_LIFE_MS\"]"

/* A config with a good server and these members in front of it. */
static void write_beside(const char *members)
{
	char text[4096];

	snprintf(text, sizeof(text),
		 "{\"mcpServers\": {%s,\n\"good\": {\"command\": \"%s\", \"args\": [\"mcp\"], " TAGS
		 "}}}\n",
		 members, zoo());
	write_file("mcp.json", text);
}

TEST(a_command_gets_the_whole_environment, .timeout_ms = TEST_MS)
{
	begin();
	setenv("FORGIVE_KEY", "a value", 1);
	RUN(0, "call", "env", "--", zoo(), "mcp");
	PRINTS("FORGIVE_KEY");
	RUN(0, "call", "env", "--clean-env", "--env", "ZOO_AUDIT", "--env", "ZOO_FIFO", "--", zoo(),
	    "mcp");
	OK(!strstr(out, "FORGIVE_KEY") && strstr(out, "PATH") && strstr(out, "ZOO_AUDIT"));
	RUN(0, "call", "env", "--clean-env", "--env", "ZOO_AUDIT", "--env", "ZOO_FIFO",
	    "--env=FORGIVE_KEY", "--env", "FORGIVE_NEW=b=c", "--", zoo(), "mcp");
	PRINTS("FORGIVE_KEY");
	PRINTS("FORGIVE_NEW");
	RUN(64, "tools", "--env", "FORGIVE_NONE", "--", zoo(), "mcp");
	SAYS("--env 'FORGIVE_NONE' is not NAME=VALUE, or the name of a variable that is set");
	RUN(64, "tools", "--env", "A=b");
	SAYS("'--env' is for a command after '--'; in a config use 'env' and 'envVars'");
	RUN(64, "tools", "--clean-env");
	SAYS("'--clean-env' is for a command after '--'");
	CONFIG("mcp.json", "one", "good");
	RUN(0, "call", "env");
	OK(!strstr(out, "FORGIVE_KEY"));
}

TEST(doctor_shows_which_variables_are_passed, .timeout_ms = TEST_MS)
{
	begin();
	setenv("FORGIVE_API_KEY", "s3cret", 1);
	setenv("HTTPS_PROXY", "http://me:pa55word@p:3128", 1);
	setenv("http_proxy", "http://p:3128", 1);
	RUN(0, "doctor");
	PRINTS("a server of a config gets ");
	PRINTS("not passed");
	PRINTS("FORGIVE_API_KEY");
	PRINTS("HTTPS_PROXY=http://me:***@p:3128");
	OK(!strstr(out, "s3cret") && !strstr(out, "pa55word") && !strstr(out, "http_proxy=http"));
	RUN(0, "doctor", "--json");
	PRINTS("\"variables\":{\"passed\":[\"");
	PRINTS("\"FORGIVE_API_KEY\"");
}

TEST(one_bad_server_leaves_the_others, .timeout_ms = 2 * TEST_MS)
{
	begin();
	write_beside("\"bad\": {\"command\": \"x\",\n \"args\": [\"${FORGIVE_NONE}\"]},\n"
		     "\"asks\": {\"command\": \"x\", \"env\": {\"K\": \"${input:key}\"}}");
	RUN(65, "tools");
	PRINTS("\ngood__echo");
	SAYS("mcp.json:2: server 'bad': 'args': variable 'FORGIVE_NONE' is not set");
	SAYS("mcp.json:3: server 'asks': 'env.K': ${input:key} asks the user");
	RUN(0, "tools", "--server", "good");
	PRINTS("\necho");
	STREQ(err, "");
	RUN(0, "call", "good__echo", "text=hi");
	STREQ(out, "hi\n");
	RUN(0, "call", "echo", "text=hi");
	RUN(65, "tools", "--server", "bad");
	SAYS("'FORGIVE_NONE' is not set");
	RUN(65, "status");
	PRINTS("\nbad ");
	PRINTS(" failed ");
	PRINTS(" ready ");
	RUN(65, "tools", "--json");
	PRINTS("{\"server\":\"bad\",\"error\":");
	PRINTS("{\"server\":\"good\",\"tools\":[");
	setenv("FORGIVE_NONE", "set now", 1);
	RUN(69, "tools", "--server", "bad"); /* there is no program x */
	write_beside("\"bad\": {\"command\": \"x\"},,");
	RUN(65, "tools");
	STREQ(out, "");
}

TEST(remote_servers_are_listed_and_explained, .timeout_ms = TEST_MS)
{
	begin();
	write_beside("\"far\": {\"type\": \"http\", \"url\": \"https://h.example/mcp\"}");
	RUN(0, "tools");
	PRINTS("\necho");
	STREQ(err, "");
	RUN(0, "status");
	PRINTS("\nfar     remote ");
	RUN(69, "tools", "--server", "far");
	SAYS("server 'far' is remote (http, https://h.example/mcp)");
	SAYS("mcp-remote");
	write_file("mcp.json", "{\"mcpServers\": {\"far\": {\"url\": \"https://h.example/\"}}}");
	RUN(69, "tools");
	SAYS("server 'far' is remote");
	EQ(started(), 2);
}

TEST(a_qualified_name_starts_one_server, .timeout_ms = TEST_MS)
{
	begin();
	CONFIG("mcp.json", "one", "good", "a-b", "good", "three", "mute");
	RUN(0, "call", "one__echo", "text=x");
	STREQ(out, "x\n");
	EQ(started(), 1);
	RUN(0, "call", "a_b__echo", "text=y");
	STREQ(out, "y\n");
	EQ(started(), 2);
	RUN(0, "tools", "one__echo");
	EQ(started(), 3);
	RUN(64, "call", "one__nothing");
	SAYS("no tool 'one__nothing'");
	EQ(started(), 4);
	RUN(64, "tools", "one");
	SAYS("'one' is a server, and it has no tool of this name; 'killick tools --server one' "
	     "lists its tools");
	EQ(started(), 5);
	RUN(64, "call", "one", "text=x");
	SAYS("'one' is a server");
	EQ(started(), 6);
	CONFIG("mcp.json", "echo", "good", "three", "mute"); /* a server and its tool */
	RUN(0, "call", "echo", "text=z");
	STREQ(out, "z\n");
	EQ(started(), 7);
}

TEST(configs_of_other_clients_are_served_in_the_same_way, .timeout_ms = TEST_MS)
{
	static const char form[] =
		"[mcp_servers.one]\ncommand = \"%s\"\nargs = [\"mcp\"]\nenv_vars = [\"ZOO_AUDIT\", "
		"\"ZOO_FIFO\", \"ZOO_PIDS\", \"ZOO_LIFE_MS\"]\n\n"
		"[mcp_servers.bad]\ncommand = \"npx -y foo\"\n";
	char text[1024];

	begin();
	snprintf(text, sizeof(text), form, zoo());
	write_file("config.toml", text);
	RUN(0, "call", "one__echo", "text=x", "--config", "config.toml");
	STREQ(out, "x\n");
	EQ(started(), 1);
	RUN(65, "tools", "--config", "config.toml");
	PRINTS("\none__echo");
	SAYS("killick: tools: config.toml:6: server 'bad': there is no program 'npx -y foo'");
	RUN(0, "complete", "servers", "--config", "config.toml");
	STREQ(out, "one\nbad\n");
	RUN(0, "complete", "tools", "--config", "config.toml");
	PRINTS("one__echo\n");
}

TEST(timeout_is_for_the_start_too, .timeout_ms = 2 * TEST_MS)
{
	char text[1024];

	begin();
	snprintf(text, sizeof(text),
		 "{\"mcpServers\": {\"slow\": {\"command\": \"%s\", \"args\": [\"mcp\", "
		 "\"slowstart\", \"2000\"], \"startupTimeoutSec\": 0.3, " TAGS "}}}",
		 zoo());
	write_file("mcp.json", text);
	RUN(69, "tools");
	SAYS("did not complete its handshake within 0.3 s; raise startupTimeoutSec in its config");
	SAYS("  to wait longer: give '--timeout TIME'");
	RUN(0, "tools", "--timeout", "30s");
	PRINTS("\necho");
	CONFIG("mcp.json", "good", "good", "mute", "mute");
	RUN(75, "tools", "--timeout", "2s"); /* the others are served */
	PRINTS("\ngood__echo");
	SAYS("the handshake timed out after 2.0s: mute; give a longer '--timeout'");
}

TEST(status_of_servers_that_do_not_answer, .timeout_ms = TEST_MS)
{
	begin();
	CONFIG("mcp.json", "good", "good", "mute", "mute");
	RUN(75, "status", "--timeout", "2s");
	PRINTS("\nmute    failed ");
	PRINTS("no answer within 2.0s\n");
	RUN(75, "status", "--timeout", "2s", "--json");
	PRINTS("{\"server\":\"mute\",\"state\":\"failed\",");
	PRINTS("\"error\":\"no answer within 2.0s\",\"code\":\"timeout\"");
	RUN(75, "status", "--timeout", "1ms", "--json"); /* before the session is open */
	PRINTS("{\"server\":\"mute\",\"state\":\"failed\",");
	OK(!strstr(err, "required"));
	CONFIG("mcp.json", "bad", "dies");
	RUN(69, "status", "--json");
	PRINTS("{\"server\":\"bad\",\"state\":\"failed\",");
}

TEST(warnings_are_about_the_chosen_server, .timeout_ms = TEST_MS)
{
	begin();
	write_beside("\"other\": {\"command\": \"x\", \"colour\": 1}");
	RUN(0, "inspect", "--server", "good");
	STREQ(err, "");
	RUN(0, "status", "--server", "good");
	STREQ(err, "");
	RUN(69, "status", "--server", "other");
	SAYS("server 'other': key 'colour' is not known");
	EQ(started(), 2);
	RUN(64, "inspect");
	SAYS("there are several servers: other, good; give '--server NAME'");
	EQ(started(), 2);
}

TEST(a_remote_server_is_explained_once, .timeout_ms = TEST_MS)
{
	const char *first;

	begin();
	write_beside("\"web\": {\"url\": \"https://x\"}");
	RUN(69, "status", "--server", "web");
	first = strstr(err, "server 'web' is remote");
	OK(first && !strstr(first + 1, "server 'web' is remote"));
	SAYS("mcp.json:");
	RUN(69, "tools", "--server", "web");
	SAYS("killick: tools: server 'web' is remote");
	RUN(69, "tools", "--server", "web", "--verbose");
	first = strstr(err, "server 'web' is remote");
	OK(first && !strstr(first + 1, "server 'web' is remote"));
}

TEST(a_failure_is_explained_once_on_a_terminal, .timeout_ms = TEST_MS)
{
	struct child c;
	const char *first;

	begin();
	write_beside("\"bad\": {\"command\": \"/no/such/program\"}");
	columns = 240;
	c = on_terminal("status", NULL);
	EQ(finish(&c), 69);
	nothing_left();
	first = strstr(out, "/no/such/program");
	OK(first && !strstr(first + 1, "/no/such/program"));
}

TEST(mistyped_words_get_a_suggestion, .timeout_ms = TEST_MS)
{
	begin();
	RUN(64, "toosl");
	STREQ(err,
	      "killick: unknown verb 'toosl' (did you mean 'tools'?); 'killick --help' lists the "
	      "verbs\n");
	RUN(64, "xyzzy");
	STREQ(err, "killick: unknown verb 'xyzzy'; 'killick --help' lists the verbs\n");
	RUN(64, "rum", "--", "true");
	SAYS("did you mean 'run'?");
	RUN(64, "help", "statsu");
	SAYS("did you mean 'status'?");
	RUN(64, "tools", "--sevrer", "x");
	SAYS("unknown option '--sevrer' (did you mean '--server'?); try 'killick tools --help'");
	RUN(64, "tools", "--verb");
	SAYS("did you mean '--verbose'?");
	RUN(64, "run", "--grcae=1s", "--", "true");
	SAYS("unknown option '--grcae=1s' (did you mean '--grace'?); 'killick run --help'");
	RUN(64, "-x");
	STREQ(err, "killick: unknown option '-x'; 'killick --help' lists the verbs and options\n");
	RUN(64, "tools", "-x");
	SAYS("unknown option '-x'; try");
	RUN(64, "ps", "-x");
	SAYS("unknown option '-x'; try");
	RUN(64, "run", "-x", "--", "true");
	SAYS("unknown option '-x'; 'killick run");
	RUN(0, "zoo", "--help");
	OK(strncmp(out, "usage: killick zoo MODE\n", 24) == 0);
	RUN(0, "help", "zoo");
	OK(strncmp(out, "usage: killick zoo MODE\n", 24) == 0);
	RUN(64, "zoo");
	RUN(64, "zoo", "nosuch");
	STREQ(err, "killick: zoo: unknown mode 'nosuch'; 'killick zoo --list' lists the modes\n");
	write_file("mcp.json", "{\"mcpServers\": {\"a\": {\"command\": \"npx -y foo\"}}}");
	RUN(65, "tools");
	SAYS("arguments go into 'args': write \"command\": \"npx\", \"args\": [\"-y\", \"foo\"]");
}

TEST(errors_about_a_command_name_its_program, .timeout_ms = TEST_MS)
{
	begin();
	RUN(69, "tools", "--", "/no/such/program");
	SAYS("killick: tools: 'program' could not be started: cannot run '/no/such/program'");
	RUN(69, "tools", "--", zoo(), "mcp", "dies");
	SAYS("killick: tools: 'killick-zoo' ");
}

TEST(a_command_in_one_word_is_explained, .timeout_ms = TEST_MS)
{
	begin();
	RUN(127, "run", "--", "sh -c true");
	SAYS("cannot run 'sh -c true': no program has this name; give each argument as a word of "
	     "its own: -- sh -c true");
	RUN(127, "run", "--", "/bin/sh -c true");
	SAYS("word of its own: -- /bin/sh -c true");
	RUN(127, "run", "--", "no-such-program -c true");
	SAYS("not found; install it or give its full path");
	RUN(127, "run", "--", "/no/such/program -c true");
	SAYS("no such file, or its interpreter is missing");
}

TEST(logs_on_stdout_are_explained, .timeout_ms = TEST_MS)
{
	begin();
	RUN(0, "inspect", "--", zoo(), "mcp", "chatty");
	SAYS("the server wrote a line on stdout that is not JSON: logs must go to stderr: ");
}

TEST(names_of_arguments_are_checked_before_the_call, .timeout_ms = TEST_MS)
{
	begin();
	RUN(64, "call", "echo", "txt=1", "--", zoo(), "plain");
	SAYS("tool 'echo' has no argument 'txt' (did you mean 'text'?); 'killick tools echo -- ");
	SAYS(" plain' shows its arguments, and '--no-check' calls the tool anyway");
	RUN(0, "call", "echo", "txt=1", "--no-check", "--", zoo(), "plain");
	RUN(64, "call", "echo", "--args", "{\"text\":\"a\",\"deep\":1}", "--", zoo(), "plain");
	SAYS("has no argument 'deep'; 'killick");
	CONFIG("mcp.json", "one", "tasks");
	RUN(64, "call", "work");
	SAYS("tool 'work' needs 'text'; ");
	RUN(64, "call", "breaks", "x=1");
	SAYS("tool 'breaks' has no argument 'x'");
	CONFIG("mcp.json", "one", "good"); /* its schemas say nothing of names */
	RUN(0, "call", "echo", "text=a", "other=b");
}

/* A server with one tool; `properties` are those of its arguments. */
static void write_tool(const char *properties)
{
	char text[4000];

	snprintf(
		text, sizeof(text),
		"while read -r line; do\n"
		"id=$(printf '%%s' \"$line\" | sed -n 's/.*\"id\":\\([0-9]*\\).*/\\1/p')\n"
		"case $line in\n"
		"*'\"initialize\"'*) r='{\"protocolVersion\":\"2025-06-18\",\"capabilities\":"
		"{\"tools\":{}},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}' ;;\n"
		"*tools/list*) r='{\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\","
		"\"properties\":%s}}]}' ;;\n"
		"*tools/call*) r='{\"content\":[{\"type\":\"text\",\"text\":\"called\"}]}' ;;\n"
		"*) continue ;;\nesac\n"
		"echo '{\"jsonrpc\":\"2.0\",\"id\":'$id',\"result\":'\"$r\"'}'\ndone\n",
		properties);
	write_file("tool", text);
}

TEST(a_long_name_of_an_argument_is_known, .timeout_ms = TEST_MS)
{
	char name[301], properties[400], good[400], bad[400];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(properties, sizeof(properties), "{\"%s\":{\"type\":\"integer\"}}", name);
	snprintf(good, sizeof(good), "%s=1", name);
	snprintf(bad, sizeof(bad), "%s=x", name);
	begin();
	write_tool(properties);
	RUN(0, "call", "t", good, "--", "sh", "tool");
	STREQ(out, "called\n");
	RUN(64, "call", "t", bad, "--", "sh", "tool");
	SAYS("must be an integer, not 'x'; ");
	bad[150] = '=';
	RUN(64, "call", "t", bad, "--", "sh", "tool");
	SAYS("tool 't' has no argument 'nnn");
}

/* Does each character of the text have all its bytes? */
static bool is_whole(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text == 0xc3 && ((unsigned char)text[1] & 0xc0) != 0x80)
			return false;
	return true;
}

TEST(doctor_cuts_lines_between_characters, .timeout_ms = TEST_MS)
{
	begin();
	setenv("LC_ALL", "C.UTF-8", 1);
	for (int shift = 0; shift < 2; shift++) {
		char dir[400], *at = dir + snprintf(dir, sizeof(dir), "%s/%s", t_audit.dir,
						    shift ? "x" : "");

		for (int i = 0; i < 100; i++)
			at += snprintf(at, 3, "\xc3\xa9");
		OK(mkdir(dir, 0700) == 0);
		setenv("KILLICK_RUNTIME_DIR", dir, 1);
		run("doctor", NULL);
		PRINTS("\xc3\xa9");
		if (!is_whole(out))
			FAIL("a character is cut: %s", out);
	}
}

TEST(values_of_arguments_are_checked_before_the_call, .timeout_ms = TEST_MS)
{
	begin();
	CONFIG("mcp.json", "one", "tasks");
	RUN(64, "call", "work", "text=a", "limit=abc");
	SAYS("tool 'work': 'limit' must be an integer, not 'abc'; 'killick tools work' shows ");
	RUN(64, "call", "work", "text=a", "limit=1.5");
	SAYS("'limit' must be an integer, not 1.5; ");
	RUN(64, "call", "work", "--args", "{\"text\":\"a\",\"limit\":\"5\"}");
	SAYS("'limit' must be an integer, not the string '5'; ");
	RUN(64, "call", "work", "text=a", "polls=many");
	SAYS("'polls' must be a number, not 'many'; ");
	RUN(64, "call", "work", "text=a", "deep=yes");
	SAYS("'deep' must be true or false, not 'yes'; ");
	RUN(64, "call", "work", "text=a", "mode=foo");
	SAYS("'mode' must be one of r, w, not 'foo'; ");
	RUN(0, "call", "work", "text=a", "limit=2.0", "polls=0", "deep=true", "mode=w");
	STREQ(out, "a\n");
	RUN(0, "call", "work", "text=a", "limit:=null", "polls=0");
	RUN(0, "call", "work", "text=a", "limit=abc", "polls=0", "--no-check");
	RUN(0, "help", "call");
	PRINTS("skip the check of argument names, numbers, booleans and enums");
}

TEST(the_hint_after_wrong_arguments_names_the_same_tool, .timeout_ms = TEST_MS)
{
	begin();
	CONFIG("two of them.json", "a", "tasks", "b", "tasks");
	RUN(64, "call", "a__work", "txt=1", "--config", "two of them.json");
	SAYS("'killick tools a__work --config 'two of them.json'' shows its arguments");
	RUN(0, "tools", "a__work", "--config", "two of them.json");
	RUN(64, "call", "work", "txt=1", "--server", "b", "--config", "two of them.json");
	SAYS("'killick tools work --server b --config 'two of them.json'' shows");
	RUN(64, "call", "work", "txt=1", "--", zoo(), "mcp", "tasks");
	SAYS(" mcp tasks' shows its arguments");
}

TEST(tools_that_demand_it_are_called_as_tasks, .timeout_ms = 2 * TEST_MS)
{
	begin();
	CONFIG("mcp.json", "one", "tasks");
	RUN(0, "call", "work", "text=all done", "polls=3");
	STREQ(out, "all done\n");
	STREQ(err, "");
	RUN(0, "call", "work", "text=a", "polls=0", "--json");
	STREQ(out, "{\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}\n");
	RUN(1, "call", "breaks");
	SAYS("the tool 'breaks' reported an error");
	RUN(1, "call", "gone");
	SAYS("one: the task of tool 'gone' was cancelled: 0 to go");
	RUN(69, "call", "asks");
	SAYS("asks for input, which the command line cannot give");
	setenv("ZOO_WIRE", "sent", 1);
	RUN(75, "call", "forever", "--timeout", "3s", "--", zoo(), "mcp", "tasks");
	SAYS("was not done within 3.0s and was cancelled");
	OK(file_has("sent", "tasks/cancel"));
}

TEST(servers_of_the_modern_era_may_answer_with_a_task, .timeout_ms = TEST_MS)
{
	char text[1024];

	begin();
	snprintf(text, sizeof(text),
		 "{\"mcpServers\": {\"new\": {\"command\": \"%s\", \"args\": [\"mcp\", "
		 "\"tasks\"], \"era\": \"modern\", " TAGS "}}}",
		 zoo());
	write_file("mcp.json", text);
	RUN(0, "call", "work", "text=all done", "polls=3");
	STREQ(out, "all done\n");
	STREQ(err, "");
	RUN(0, "call", "work", "text=at once", "polls=-1");
	STREQ(out, "at once\n");
	RUN(1, "call", "breaks");
	SAYS("new: the task of tool 'breaks' failed: it broke");
	RUN(75, "call", "forever", "--timeout", "3s");
	SAYS("was not done within 3.0s and was cancelled");
}

TEST(an_interrupted_task_is_cancelled, .timeout_ms = TEST_MS)
{
	double end = t_now_ms() + RUN_MS;
	char *argv[] = { (char *)killick(), (char *)"call", (char *)"forever", (char *)"--",
			 (char *)zoo(),     (char *)"mcp",  (char *)"tasks",   NULL };
	struct child c;

	begin();
	setenv("ZOO_WIRE", "sent", 1);
	c = start(argv, -1);
	while (!file_has("sent", "tasks/get")) {
		OK(t_now_ms() < end);
		t_wait_fd(c.err, POLLIN, 20);
	}
	OK(kill(c.pid, SIGINT) == 0);
	EQ(finish(&c), 130);
	OK(file_has("sent", "tasks/cancel"));
	EQ(audit_count(&t_audit), 0);
	nothing_left();
}

/* Columns of the widest line, without the sequences that move the cursor and set colours. A command
 * that is to be copied is never broken. */
static size_t widest(const char *text)
{
	static const char copied[] = "  to see more:";
	size_t most = 0, n = 0;

	for (const char *p = text; *p; p++) {
		if (n == 0 && strncmp(p, copied, strlen(copied)) == 0)
			p += strcspn(p, "\r\n");
		if (!*p)
			break;
		if (*p == '\033' && p[1] == '[') {
			p += 2;
			while (*p && !isalpha((unsigned char)*p))
				p++;
		} else if (*p == '\r' || *p == '\n') {
			n = 0;
		} else if (++n > most) {
			most = n;
		}
	}
	return most;
}

TEST(servers_are_shown_as_they_come_on_a_terminal, .timeout_ms = TEST_MS)
{
	struct child c;

	begin();
	CONFIG("mcp.json", "one", "good", "two", "good", "mute", "mute");
	c = on_terminal("tools", "--timeout", "4s", NULL);
	listen_for(&c, "two__echo");
	OK(!strstr(out, "timed out")); /* the third is still awaited */
	EQ(finish(&c), 75);
	nothing_left();
	PRINTS("one  15 tools\r\n  one__echo");
	PRINTS("2 of 3 ready, waiting for mute");
	PRINTS("timed out after 4.0s: mute");
}

TEST(output_fits_narrow_terminals, .timeout_ms = 3 * TEST_MS)
{
	static const char *const verbs[] = { "status", "ping",      "tools",  "prompts",
					     "ps",     "resources", "doctor", "inspect" };
	static const unsigned short widths[] = { 80, 60 };

	begin();
	write_beside("\"bad\": {\"command\": \"/no/such/program/with/a/long/name\"},\n"
		     "\"refused\": {\"command\": \"x\", \"args\": [\"${FORGIVE_NONE}\"]},\n"
		     "\"far\": {\"url\": \"https://h.example/a/path\"}");
	for (size_t i = 0; i < 2 * sizeof(verbs) / sizeof(verbs[0]); i++) {
		const char *verb = verbs[i / 2];
		struct child c;

		columns = widths[i % 2];
		c = on_terminal(verb, NULL);
		finish(&c);
		nothing_left();
		if (widest(out) > columns && strcmp(verb, "doctor") != 0)
			FAIL("%s: %zu columns of %u: %s", verb, widest(out), columns, out);
	}
}

TEST(states_have_colours_on_a_terminal, .timeout_ms = TEST_MS)
{
	struct child c;

	begin();
	write_beside("\"bad\": {\"command\": \"/no/such/program\"}");
	unsetenv("NO_COLOR");
	c = on_terminal("status", NULL);
	EQ(finish(&c), 69);
	nothing_left();
	PRINTS("\033[32mready\033[0m");
	PRINTS("\033[31mfailed\033[0m");
	setenv("NO_COLOR", "1", 1);
	c = on_terminal("status", NULL);
	EQ(finish(&c), 69);
	nothing_left();
	OK(!strstr(out, "\033[3"));
	unsetenv("NO_COLOR");
	RUN(69, "status");
	OK(!strstr(out, "\033"));
}

TEST(names_are_completed_without_starting_a_server, .timeout_ms = TEST_MS)
{
	begin();
	CONFIG("mcp.json", "one", "good", "two", "good");
	RUN(0, "complete", "servers");
	STREQ(out, "one\ntwo\n");
	RUN(0, "complete", "tools");
	STREQ(out, "");
	RUN(0, "tools");
	EQ(started(), 2);
	RUN(0, "complete", "tools");
	PRINTS("one__echo\n");
	PRINTS("two__pid\n");
	RUN(0, "complete", "tools", "--server", "two");
	PRINTS("echo\n");
	OK(!strstr(out, "__"));
	EQ(started(), 2);
	CONFIG("other.json", "one", "good");
	RUN(0, "complete", "servers", "--config", "other.json");
	STREQ(out, "one\n");
	RUN(0, "complete", "tools", "--config", "other.json");
	STREQ(out, "");
	RUN(0, "complete", "servers", "--config", "none.json");
	STREQ(out, "");
	RUN(64, "complete", "nothing");
}

/* The script is asked as bash asks it. */
TEST(bash_offers_servers_and_tools, .timeout_ms = TEST_MS)
{
	static const struct {
		const char *words, *offers;
	} cases[] = {
		{ "killick call one__ec", "one__echo" },
		{ "killick tools two__pi", "two__pid" },
		{ "killick tools --server t", "two" },
		{ "killick call --server one ec", "echo" },
		{ "killick sta", "status" },
		{ "killick call --no", "--no-check" },
		{ "killick tools --cl", "--clean-env" },
		{ "killick to", "top tools" },
		{ "killick top --o", "--once" },
		{ "killick hub ses", "sessions" },
		{ "killick hub --listen st", "stdio" },
		{ "killick connect --server t", "two" },
		{ "killick connect --share i", "identical" },
		{ "killick wrap --hu", "--hub" },
		{ "killick run --sup", "--supersede" },
	};
	const char *script = t_program("COMPLETIONS", "packaging/completions/killick.bash");

	begin();
	CONFIG("mcp.json", "one", "good", "two", "good");
	RUN(0, "tools");
	if (access("/bin/bash", X_OK) != 0 || access(script, R_OK) != 0)
		SKIP("no bash, or its script cannot be read");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char command[2048];
		char *argv[] = { (char *)"/bin/bash", (char *)"-c", command, NULL };
		struct child c;

		snprintf(
			command, sizeof(command),
			"killick() { '%s' \"$@\"; }; . '%s'; COMP_WORDS=(%s); "
			"COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _killick; echo \"${COMPREPLY[@]}\"",
			killick(), script, cases[i].words);
		c = start(argv, -1);
		EQ(finish(&c), 0);
		nothing_left();
		if (strncmp(out, cases[i].offers, strlen(cases[i].offers)) != 0)
			FAIL("'%s' offers '%s'%s", cases[i].words, out, err);
	}
}
