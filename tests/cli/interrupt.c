/* interrupt.c - signals, Ctrl-C and terminals under the verbs that speak to servers. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "shell.h"

/* A config whose server's stdin is also written to a file: what the client sent. */
static void write_logged(const char *way)
{
	char text[2048];

	snprintf(
		text, sizeof(text),
		"{\"mcpServers\": {\"one\": {\"command\": \"sh\", \"args\": [\"-c\", "
		"\"tee '%s/sent' | exec '%s' mcp %s\"], \"envVars\": [\"ZOO_AUDIT\", \"ZOO_FIFO\", "
		"\"ZOO_LIFE_MS\"]}}}",
		t_audit.dir, zoo(), way);
	write_file("mcp.json", text);
}

/* Start a call of `block` and wait until the server has it. */
static struct child blocked(void)
{
	char *argv[] = { (char *)killick(), (char *)"call", (char *)"block", NULL };
	struct child c = start(argv, -1);
	double end = t_now_ms() + RUN_MS;

	while (!file_has("sent", "tools/call")) {
		OK(t_now_ms() < end);
		t_wait_fd(c.err, POLLIN, 20);
	}
	return c;
}

TEST(an_interrupted_call_is_cancelled, .timeout_ms = TEST_MS)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	begin();
	for (size_t i = 0; i < 3; i++) {
		struct child c;

		unlink("sent");
		write_logged("good");
		c = blocked();
		OK(kill(c.pid, signals[i]) == 0);
		EQ(finish(&c), 128 + signals[i]);
		SAYS("killick: call: interrupted");
		STREQ(out, "");
		OK(file_has("sent", "notifications/cancelled"));
		EQ(audit_count(&t_audit), 0);
		nothing_left();
	}
}

TEST(the_second_signal_ends_at_once, .timeout_ms = TEST_MS)
{
	struct child c;

	begin();
	write_logged("stays"); /* neither EOF nor SIGTERM moves it: ending it takes seconds */
	c = blocked();
	OK(kill(c.pid, SIGINT) == 0);
	listen_for(&c, "interrupted");
	OK(kill(c.pid, SIGINT) == 0);
	EQ(finish(&c), 128 + SIGINT);
	nothing_left();
}

TEST(a_killed_call_leaves_nothing, .timeout_ms = TEST_MS)
{
	struct child c;

	begin();
	write_logged("stays");
	c = blocked();
	OK(kill(c.pid, SIGKILL) == 0);
	EQ(finish(&c), 128 + SIGKILL);
	nothing_left();
}

TEST(a_call_ends_when_the_reader_of_stdout_is_gone, .timeout_ms = TEST_MS)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)"read go; exec \"$0\" tools",
			 (char *)killick(), NULL };
	struct child c;
	int go[2];

	begin();
	CONFIG("mcp.json", "one", "stays");
	EQ(pipe2(go, O_CLOEXEC), 0);
	c = start(argv, go[0]);
	close(go[0]);
	close(c.out); /* before there is anything to read */
	c.out = -1;
	close(go[1]);
	EQ(finish(&c), 128 + SIGPIPE);
	STREQ(err, "");
	nothing_left();
}

TEST(interrupted_while_starting, .timeout_ms = TEST_MS)
{
	char *argv[] = { (char *)killick(), (char *)"tools", NULL };
	double end = t_now_ms() + RUN_MS;
	struct child c;

	begin();
	CONFIG("mcp.json", "mute", "mute");
	c = start(argv, -1);
	while (started() == 0) {
		OK(t_now_ms() < end);
		t_wait_fd(c.err, POLLIN, 20);
	}
	OK(kill(c.pid, SIGINT) == 0);
	EQ(finish(&c), 128 + SIGINT);
	EQ(audit_count(&t_audit), 0);
	nothing_left();
}

TEST(progress_is_shown_on_a_terminal, .timeout_ms = TEST_MS)
{
	struct child c;

	begin();
	CONFIG("mcp.json", "one", "good");
	c = on_terminal("call", "progress", "--args", "{\"n\":4,\"ms\":150}", NULL);
	EQ(finish(&c), 0);
	nothing_left();
	PRINTS("progress  ############............  50%");
	PRINTS("step 2");
	PRINTS("\r\033[Kdone\r\n"); /* nothing of it stays */
	RUN(0, "call", "progress", "--args", "{\"n\":4,\"ms\":1}");
	STREQ(out, "done\n");
	STREQ(err, "");
}

TEST(control_characters_do_not_reach_the_terminal, .timeout_ms = TEST_MS)
{
	struct child c;

	begin();
	CONFIG("mcp.json", "one", "good");
	c = on_terminal("call", "echo", "--args", "{\"text\":\"a\\u001b[31mb\\nc\\td\"}", NULL);
	EQ(finish(&c), 0);
	nothing_left();
	STREQ(out, "a?[31mb\r\nc\td\r\n");
	c = on_terminal("tools", NULL);
	EQ(finish(&c), 0);
	nothing_left();
	for (char *rest = out, *line; (line = strsep(&rest, "\r\n"));)
		if (strlen(line) > 80)
			FAIL("%zu columns: %s", strlen(line), line);
}

TEST(ctrl_c_reaches_killick_and_not_the_server, .timeout_ms = TEST_MS)
{
	double end = t_now_ms() + RUN_MS;
	struct child c;

	begin();
	write_logged("good");
	c = on_terminal("call", "block", NULL);
	while (!file_has("sent", "tools/call")) {
		OK(t_now_ms() < end);
		t_wait_fd(c.out, POLLIN, 20);
	}
	OK(write(c.out, "\003", 1) == 1);
	EQ(finish(&c), 130);
	PRINTS("Ctrl-C again ends at once");
	OK(file_has("sent", "notifications/cancelled")); /* it lived to read it */
	EQ(audit_count(&t_audit), 0);
	nothing_left();
}
