/* ssh.c - servers behind a real ssh: called, abandoned, cut off, frozen. Nothing is left there. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "place.h"
#include "sshd.h"

/* {"ssh": ...}; far_killick: the program there. */
static const char *environment(const struct sshd *s, const char *far_killick)
{
	static char text[2048];

	snprintf(text, sizeof(text),
		 "{\"ssh\": \"127.0.0.1\", \"args\": [%s], \"killick\": \"%s\"}", s->args,
		 far_killick);
	return text;
}

/* The same as a program, for options that only the far side knows. */
static const char *program(const struct sshd *s, const char *lease)
{
	static char text[2048];

	snprintf(
		text, sizeof(text),
		"{\"program\": [\"ssh\", %s, \"127.0.0.1\", \"%s\", \"exec-server\", \"--listen\", "
		"\"stdio\", \"--lease\", \"%s\"]}",
		s->args, killick(), lease);
	return text;
}

TEST(the_place_itself, .timeout_ms = TEST_MS)
{
	char command[2048], *argv[] = { "sh", "-c", command, NULL };
	struct sshd s;
	struct child c;

	place_begin();
	sshd_open(&s);
	snprintf(command, sizeof(command), "ssh $(echo '%s' | tr -d '\",') 127.0.0.1 env", s.args);
	c = start(argv, -1);
	place_ends(&c, 0);
	PRINTS(t_audit.tag);
	snprintf(command, sizeof(command),
		 "ssh $(echo '%s' | tr -d '\",') 127.0.0.1 'echo up; sleep 600'", s.args);
	c = start(argv, -1);
	listen_for(&c, "up\n");
	OK(sshd_signal(&s, 0) > 0);
	OK(audit_count(&t_audit) > 1);
	OK(sshd_signal(&s, SIGSTOP) > 0);
	OK(sshd_signal(&s, SIGCONT) > 0);
	OK(sshd_signal(&s, SIGKILL) > 0);
	EQ(finish(&c), 255);
	audit_scrub(&t_audit); /* ssh alone leaves the sleep; that is why we are here */
	OK(minder_reap_others(GONE_MS));
	sshd_close(&s);
}

TEST(a_server_is_called, .timeout_ms = TEST_MS)
{
	struct sshd s;

	place_begin();
	setenv("PLACE_SECRET", "do not tell", 1);
	sshd_open(&s);
	place_config(environment(&s, killick()), false, "mcp good");
	PLACE_RUN(0, "call", "echo", "text=over there");
	STREQ(out, "over there\n");
	place_nothing_left(GONE_MS);
	PLACE_RUN(0, "tools");
	PRINTS("\necho");
	PLACE_RUN(0, "call", "env");
	OK(!strstr(out, "do not tell"));
	PLACE_RUN(0, "call", "big", "bytes:=200000");
	place_nothing_left(GONE_MS);
	sshd_close(&s);
}

TEST(hostile_servers_are_called, .timeout_ms = TEST_MS)
{
	static const char *const modes[] = { "ignore",  "daemon",  "chainsid",
					     "stopped", "bombsid", "nestsub" };
	struct sshd s;

	place_begin();
	unsetenv("ZOO_LIFE_MS");
	sshd_open(&s);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		place_config(environment(&s, killick()), false, modes[i]);
		PLACE_RUN(0, "call", "echo", "text=x");
		STREQ(out, "x\n");
		place_nothing_left(GONE_MS);
	}
	sshd_close(&s);
}

TEST(the_session_is_killed, .timeout_ms = TEST_MS)
{
	static const char *const ways[][2] = { { "mcp stays", "block" },
					       { "daemon", "hang" },
					       { "chainsid", "hang" },
					       { "ignore", "hang" } };
	struct sshd s;

	place_begin();
	sshd_open(&s);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct child c;

		place_config(environment(&s, killick()), true, ways[i][0]);
		c = place_hang(ways[i][1]);
		place_kill(&c);
		place_nothing_left(GONE_MS);
	}
	sshd_close(&s);
}

TEST(the_connection_is_cut, .timeout_ms = TEST_MS)
{
	struct sshd s;
	struct child c;

	place_begin();
	sshd_open(&s);
	place_config(environment(&s, killick()), true, "mcp stays");
	c = place_hang("block");
	OK(sshd_signal(&s, SIGKILL) > 0);
	place_ends(&c, 69);
	SAYS("'far'");
	place_nothing_left(GONE_MS);
	sshd_close(&s);
}

/* Nobody hangs up: what is left is that nothing is heard any more. The lease is what ends it, and
 * the silence what tells us. */
TEST(the_connection_is_frozen, .timeout_ms = TEST_MS)
{
	struct sshd s;
	struct child c;

	place_begin();
	sshd_open(&s);
	place_config(program(&s, "5s"), true, "mcp stays");
	c = place_hang("block");
	OK(sshd_signal(&s, SIGSTOP) > 0);
	place_ends(&c, 69);
	SAYS("'far'");
	place_nothing_left(20000);
	OK(sshd_signal(&s, SIGKILL) > 0);
	sshd_close(&s);
}

TEST(the_session_is_killed_while_frozen, .timeout_ms = TEST_MS)
{
	struct sshd s;
	struct child c;

	place_begin();
	sshd_open(&s);
	place_config(program(&s, "5s"), true, "mcp stays");
	c = place_hang("block");
	OK(sshd_signal(&s, SIGSTOP) > 0);
	place_kill(&c);
	place_nothing_left(20000);
	OK(sshd_signal(&s, SIGKILL) > 0);
	sshd_close(&s);
}

/* One server behind our own stdin and stdout. */
TEST(run_is_killed, .timeout_ms = TEST_MS)
{
	char *argv[] = { (char *)killick(),
			 "run",
			 "--on",
			 "far",
			 "--env",
			 "ZOO_AUDIT",
			 "--env",
			 "ZOO_FIFO",
			 "--env",
			 "ZOO",
			 "--",
			 (char *)place_file("mess"),
			 "mcp",
			 "stays",
			 NULL };
	const char *words = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
	struct sshd s;

	place_begin();
	sshd_open(&s);
	place_config(environment(&s, killick()), false, "mcp good");
	for (int i = 0; i < 2; i++) {
		struct child c;
		int in[2];

		OK(pipe2(in, O_CLOEXEC) == 0);
		c = start(argv, in[0]);
		close(in[0]);
		OK(write(in[1], words, strlen(words)) == (ssize_t)strlen(words));
		listen_for(&c, "\"id\":1");
		OK(kill(c.pid, i ? SIGTERM : SIGKILL) == 0);
		finish(&c);
		place_nothing_left(GONE_MS);
		close(in[1]);
	}
	sshd_close(&s);
}

TEST(an_unreachable_host_is_reported, .timeout_ms = TEST_MS)
{
	struct sshd s;

	place_begin();
	sshd_open(&s);
	place_config(environment(&s, "/no/such/killick"), false, "mcp good");
	PLACE_RUN(69, "call", "echo", "text=x");
	SAYS("'s'");
	SAYS("'far'");
	place_nothing_left(GONE_MS);
	place_config(environment(&s, killick()), false, "mcp good");
	sshd_close(&s);
	PLACE_RUN(69, "call", "echo", "text=x");
	SAYS("'s'");
	SAYS("'far'");
	EQ(started(), 0);
	place_nothing_left(GONE_MS);
}
