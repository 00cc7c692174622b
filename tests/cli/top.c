/* top.c - `killick top` on a pseudo-terminal, with a hub that the test plays, and with trees of
 * `killick run`. */
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "shell.h"
#include "top_lab.h"

TEST(a_frame_of_80_by_24_and_the_terminal_restored, .timeout_ms = TEST_MS)
{
	static const char want[] =
		"killick top                                                     hub 99, up 3h12m\n"
		"held   9.0M   2 processes of 1 server\n"
		"saved  1.0M   by sharing and rest\n"
		"leaks  0      proof: no record of a tree is left\n"
		"\n"
		"  SERVER          STATE       SESS BUSY    P50    P99   MEM PROCS RST  LEVEL\n"
		"> files           ready          1    1 0.50ms  7.0ms  9.0M     2   0  cgroup\n"
		"  a-name-of-mo... gone           1    -      -      -     -     0   -  -\n"
		"    no program 'x'\n"
		"\n"
		"  SESSION CLIENT                     ERA         AGE   IDLE SERVERS BUSY  CALLS\n"
		"  s1      ann                        legacy       1s     0s       1    -      -\n"
		"\n\n\n\n\n\n\n\n\n\n\n"
		"q quit  s by memory  enter unfold  x stop  r restart  z rest\n";

	begin();
	hub_listen();
	start_top(24, 80, NULL);
	sees("z rest\n");
	OK(tty.second && !tty.cursor);
	STREQ(picture(), want);
	press("q");
	EQ(ends(), 0);
	hub_end();
}

TEST(a_frame_of_60_by_20_after_a_resize, .timeout_ms = TEST_MS)
{
	struct winsize ws = { .ws_row = 20, .ws_col = 60 };

	begin();
	hub_listen();
	start_top(24, 80, NULL);
	sees("LEVEL\n");
	tty_size(20, 60);
	tty.resized = true;
	OK(ioctl(top.master, TIOCSWINSZ, &ws) == 0);
	sees("  SERVER            STATE       SESS BUSY    P99   MEM PROCS\n"
	     "> files             ready          1    1  7.0ms  9.0M     2\n");
	sees("z rest\n");
	press("q");
	EQ(ends(), 0);
	hub_end();
}

TEST(keys_sort_unfold_stop_and_restart, .timeout_ms = TEST_MS)
{
	begin();
	hub_listen();
	start_top(24, 80, "--interval=100ms");
	sees("> files ");
	press("s"); /* by calls: the other one first */
	sees("q quit  s by calls");
	sees("> a-name-of-more-than-... gone ");
	press("\033[B\r");
	sees("v files ");
	sees("      hello from stderr\n");
	press("\033"); /* fold */
	sees_no("hello from stderr");
	press("r");
	sees("Restart files? 1 session uses it.  y yes, any other key no\n");
	press("n");
	sees("z rest\n");
	OK(!strstr(hub.asked, "restart"));
	press("ry");
	sees("files: restart failed: it does not start\n");
	press("x");
	sees("Stop files?");
	press("y");
	sees("files was stopped; proof: no process is left\n");
	sees("> files                   gone ");
	press("q");
	EQ(ends(), 0);
	hub_end();
}

TEST(a_hub_that_ends_and_a_hub_that_comes, .timeout_ms = TEST_MS)
{
	char path[200];

	begin();
	start_top(24, 80, "--interval=100ms");
	sees("no hub\n");
	sees("no servers: killick holds nothing for this user\n");
	hub_listen();
	sees("> files ");
	hub_end();
	snprintf(path, sizeof(path), "%s/hub.sock", getenv("KILLICK_RUNTIME_DIR"));
	OK(unlink(path) == 0);
	sees("no hub\n");
	press("q");
	EQ(ends(), 0);
}

/* The process on the terminal: setsid executes nothing else, so it is the only child. */
static pid_t top_process(void)
{
	pid_t pid = 0;

	OK(ioctl(top.master, TIOCGPGRP, &pid) == 0);
	OK(pid > 0);
	return pid;
}

TEST(signals_restore_the_terminal, .timeout_ms = TEST_MS)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };

	begin();
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		start_top(24, 80, NULL);
		sees("z rest\n");
		OK(kill(top_process(), signals[i]) == 0);
		EQ(ends(), 128 + signals[i]);
	}
	start_top(24, 80, NULL);
	sees("z rest\n");
	press("\x03"); /* Ctrl-C */
	EQ(ends(), 128 + SIGINT);
}

static char process_state(pid_t pid)
{
	char path[64], text[300];
	const char *end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	OK(f && fgets(text, sizeof(text), f));
	fclose(f);
	end = strrchr(text, ')');
	OK(end);
	return end[2];
}

TEST(a_program_that_is_stopped_restores_the_terminal_meanwhile, .timeout_ms = TEST_MS)
{
	double end = t_now_ms() + RUN_MS;
	struct termios now;
	pid_t pid;

	begin();
	start_top(24, 80, NULL);
	sees("z rest\n");
	pid = top_process();
	/* SIGTSTP does nothing to an orphaned process group, so SIGSTOP follows */
	OK(kill(pid, SIGTSTP) == 0);
	while (!tty.restored) {
		OK(t_now_ms() < end);
		step(20);
	}
	sees("z rest\n"); /* drawn again when the program goes on */
	OK(tty.second);
	OK(kill(pid, SIGSTOP) == 0);
	while (process_state(pid) != 'T') {
		OK(t_now_ms() < end);
		step(1);
	}
	OK(tcsetattr(top.slave, TCSANOW, &top.before) == 0); /* as a shell does */
	tty_clear(0, 0);
	OK(kill(pid, SIGCONT) == 0);
	sees("z rest\n");
	OK(tcgetattr(top.slave, &now) == 0);
	OK(!(now.c_lflag & (ICANON | ECHO)));
	press("q");
	EQ(ends(), 0);
}

TEST(a_closed_terminal_ends_the_program, .timeout_ms = TEST_MS)
{
	int status;

	begin();
	start_top(24, 80, NULL);
	sees("z rest\n");
	close(top.slave);
	close(top.master);
	status = t_wait_child(top.pid, RUN_MS);
	OK(status != -1);
}

/* Start a server that killick holds; in: its stdin. */
static struct child hold(const char *name, int *in)
{
	char *argv[] = { (char *)killick(), (char *)"run",  (char *)"--name",
			 (char *)name,      (char *)"--",   (char *)zoo(),
			 (char *)"mcp",     (char *)"good", NULL };

	return start_with_pipe(argv, in);
}

TEST(trees_of_killick_run_are_shown_without_a_hub_and_can_be_stopped, .timeout_ms = TEST_MS)
{
	struct child server;
	int in, status;

	begin();
	server = hold("plain", &in);
	start_top(24, 80, "--interval=100ms");
	sees("> plain           running ");
	sees("leaks  0      proof: working keepers hold the tree\n");
	press("\r");
	sees("    owner    ");
	press("r");
	sees("plain is held by `killick run`, not by the hub: it can only be stopped");
	press("x");
	sees("Stop plain? Its client loses the server.");
	press("y");
	sees("no servers: killick holds nothing for this user\n");
	press("q");
	EQ(ends(), 0);
	close(in);
	status = finish(&server);
	OK(status == 0 || status == 128 + SIGTERM);
	nothing_left();
}

/* A client of the real hub that has called a tool of the server "one"; in: its stdin. */
static struct child join_hub(int *in)
{
	static const char text[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
		"\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":"
		"\"ann\",\"version\":\"1\"}}}\n"
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
		"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":"
		"\"echo\",\"arguments\":{\"text\":\"hello\"}}}\n";
	char *argv[] = { (char *)killick(), (char *)"connect", (char *)"--config",
			 (char *)"mcp.json", NULL };
	struct child c;

	CONFIG("mcp.json", "one", "good");
	c = start_with_pipe(argv, in);
	EQ(write(*in, text, sizeof(text) - 1), sizeof(text) - 1);
	listen_for(&c, "\"hello\"");
	return c;
}

TEST(servers_of_the_real_hub_are_shown_rest_restart_and_stop, .timeout_ms = TEST_MS)
{
	struct child client;
	char *stop[] = { (char *)killick(), (char *)"hub", (char *)"stop", NULL };
	struct child stopper;
	int in;

	begin();
	client = join_hub(&in);
	start_top(24, 80, "--interval=100ms");
	sees("> one             ready          1    0 ");
	sees("leaks  0      proof: working keepers hold the tree\n");
	sees("  s1      ann 1 ");
	press("\r");
	sees(" tokens in a model's context\n");
	sees("    last calls\n");
	sees("  echo\n");
	press("\rz");
	sees("Let one rest? 1 session uses it.");
	press("y");
	sees("one rests; proof: no process is left\n");
	sees("> one             resting ");
	sees("leaks  0      proof: no record of a tree is left\n");
	press("r");
	sees("Restart one?");
	press("y");
	sees("one was restarted");
	sees("> one             ready ");
	press("x");
	sees("Stop one?");
	press("y");
	sees("one was stopped; proof: no process is left\n");
	press("x");
	sees("Stop one?");
	press("y");
	sees("one did not run: there was nothing to stop\n");
	press("q");
	EQ(ends(), 0);
	close(in);
	EQ(finish(&client), 0);
	stopper = start(stop, -1);
	EQ(finish(&stopper), 0);
	nothing_left();
}

TEST(once_prints_a_picture_and_json_prints_the_facts, .timeout_ms = TEST_MS)
{
	struct child server;
	int in;

	begin();
	RUN(0, "top", "--once");
	PRINTS("killick top ");
	PRINTS("no servers: killick holds nothing for this user\n");
	OK(!strchr(out, '\033'));
	server = hold("plain", &in);
	while (!strstr(out, "\"name\":\"plain\"")) {
		char *argv[] = { (char *)killick(), (char *)"top", (char *)"--json", NULL };
		struct child c = start(argv, -1);

		EQ(finish(&c), 0);
	}
	PRINTS("\"hub\":null,");
	PRINTS("\"leaks\":{\"processes\":0,\"trees\":1,\"lostTrees\":0}");
	close(in);
	finish(&server);
	nothing_left();
	RUN(64, "top");
	SAYS("no terminal to draw on; add '--once'");
	RUN(64, "top", "--interval", "1ms");
}
