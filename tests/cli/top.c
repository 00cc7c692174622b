/* top.c - `killick top` on a pseudo-terminal, with a hub that the test plays, and with trees of
 * `killick run`. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "shell.h"

enum { ROWS_MAX = 60, COLUMNS_MAX = 130 };

/* --- what a terminal shows --- */

static struct {
	char cells[ROWS_MAX][COLUMNS_MAX + 1];
	int rows, columns, row, column;
	bool second, cursor; /* the second page is shown; the cursor is shown */
	char escape[32];
	size_t escape_len;
	size_t restored; /* how often the first page came back */
	size_t too_wide; /* characters that did not fit into their line */
	bool resized;    /* a frame of the old size may be on its way: judge the last frame only */
} tty;

static void tty_clear(int row, int column)
{
	for (; row < ROWS_MAX; row++, column = 0)
		memset(tty.cells[row] + column, ' ', (size_t)(COLUMNS_MAX - column));
}

static void tty_size(int rows, int cols)
{
	tty.rows = rows;
	tty.columns = cols;
}

/* The first page is empty: nothing but the frames is written. */
static void tty_page(bool second)
{
	tty.second = second;
	tty.restored += !second;
	tty_clear(0, 0);
}

static void tty_escape(const char *e)
{
	if (strcmp(e, "[H") == 0) {
		tty.row = tty.column = 0;
		if (tty.resized)
			tty.too_wide = 0;
	} else if (strcmp(e, "[K") == 0)
		memset(tty.cells[tty.row] + tty.column, ' ', (size_t)(COLUMNS_MAX - tty.column));
	else if (strcmp(e, "[J") == 0)
		tty_clear(tty.row, tty.column);
	else if (strcmp(e, "[2J") == 0)
		tty_clear(0, 0);
	else if (strcmp(e, "[?1049h") == 0 || strcmp(e, "[?1049l") == 0)
		tty_page(e[6] == 'h');
	else if (strcmp(e, "[?25h") == 0 || strcmp(e, "[?25l") == 0)
		tty.cursor = e[4] == 'h';
	else if (strcmp(e, "[?2026h") != 0 && strcmp(e, "[?2026l") != 0 && strcmp(e, "[0m") != 0)
		FAIL("unknown sequence '%s'", e);
}

static void tty_put(char c)
{
	if (tty.escape_len > 0) {
		tty.escape[tty.escape_len++ - 1] = c;
		tty.escape[tty.escape_len - 1] = '\0';
		OK(tty.escape_len < sizeof(tty.escape));
		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
			tty.escape_len = 0;
			tty_escape(tty.escape);
		}
	} else if (c == '\033') {
		tty.escape_len = 1;
	} else if (c == '\r') {
		tty.column = 0;
	} else if (c == '\n') {
		OK(tty.row + 1 < ROWS_MAX);
		tty.row++;
	} else if (tty.column < tty.columns) {
		tty.cells[tty.row][tty.column++] = c;
	} else {
		tty.too_wide++;
	}
}

/* The picture with a newline behind each line, and without spaces at its end. */
static const char *picture(void)
{
	static char all[ROWS_MAX * (COLUMNS_MAX + 1) + 1];
	size_t len = 0;

	for (int r = 0; r < tty.rows; r++) {
		int end = tty.columns;

		while (end > 0 && tty.cells[r][end - 1] == ' ')
			end--;
		memcpy(all + len, tty.cells[r], (size_t)end);
		len += (size_t)end;
		all[len++] = '\n';
	}
	all[len] = '\0';
	return all;
}

/* --- a hub --- */

static struct {
	int listener, conn; /* -1: none */
	char in[4096], asked[4096];
	size_t in_len;
	const char *files; /* state of the server "files" */
} hub = { -1, -1, "", "", 0, "ready" };

static void hub_listen(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/hub.sock", getenv("KILLICK_RUNTIME_DIR"));
	hub.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	OK(hub.listener >= 0);
	OK(bind(hub.listener, (struct sockaddr *)&at, sizeof(at)) == 0);
	OK(listen(hub.listener, 4) == 0);
}

static void hub_end(void)
{
	close(hub.listener);
	if (hub.conn >= 0)
		close(hub.conn);
	hub.listener = hub.conn = -1;
}

/* Write the result for a method. */
static void hub_result(const char *line, char *text, size_t size)
{
	bool detail = strstr(line, "\"detail\":true") != NULL;

	if (strstr(line, "\"hub.status\""))
		snprintf(text, size, "{\"pid\":99,\"uptimeMs\":11520000,\"savedMemory\":1048576}");
	else if (strstr(line, "\"server.list\""))
		snprintf(text, size,
			 "{\"servers\":[{\"server\":\"v1\",\"name\":\"files\",\"state\":\"%s\","
			 "\"sessions\":[\"s1\"],\"inFlight\":1,\"calls\":3,\"p50Ms\":0.5,\"p99Ms\":"
			 "7,\"pid\":1,\"processes\":2,\"memory\":9437184,\"restarts\":0,\"level\":"
			 "\"cgroup\"%s},{\"server\":\"v2\",\"name\":\"a-name-of-more-than-twenty-"
			 "characters\",\"state\":\"gone\",\"reason\":\"no program "
			 "'x'\",\"sessions\":"
			 "[\"s1\"],\"memory\":0,\"processes\":0,\"calls\":9,\"pid\":0}]}",
			 hub.files, detail ? ",\"stderr\":\"hello from stderr\\n\"" : "");
	else if (strstr(line, "\"session.list\""))
		snprintf(text, size,
			 "{\"sessions\":[{\"session\":\"s1\",\"client\":{\"name\":\"ann\"},\"era\":"
			 "\"legacy\",\"ageMs\":1000,\"idleMs\":0,\"servers\":[\"v1\"]}]}");
	else if (strstr(line, "\"server.stop\""))
		snprintf(text, size, "{\"server\":\"v1\",\"ending\":{\"survivors\":0}}");
	else
		snprintf(text, size, "{}");
}

static void hub_answer(const char *line)
{
	static char result[4096], answer[8192];
	const char *id = strstr(line, "\"id\":");
	int n;

	OK(id);
	if (strstr(line, "\"server.")) {
		const char *method = strstr(line, "\"server.");

		snprintf(hub.asked, sizeof(hub.asked), "%s", method);
		if (strstr(method, "server.stop\""))
			hub.files = "gone";
	}
	hub_result(line, result, sizeof(result));
	if (strstr(line, "\"server.restart\""))
		n = snprintf(
			answer, sizeof(answer),
			"{\"jsonrpc\":\"2.0\",\"id\":%d,\"error\":{\"code\":-32000,\"message\":"
			"\"it does not start\"}}\n",
			atoi(id + 5));
	else
		n = snprintf(answer, sizeof(answer),
			     "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":%s}\n", atoi(id + 5),
			     result);
	EQ(write(hub.conn, answer, (size_t)n), n);
}

static void hub_serve(void)
{
	ssize_t n = read(hub.conn, hub.in + hub.in_len, sizeof(hub.in) - 1 - hub.in_len);
	char *end;

	if (n <= 0) {
		close(hub.conn);
		hub.conn = -1;
		hub.in_len = 0;
		return;
	}
	hub.in_len += (size_t)n;
	hub.in[hub.in_len] = '\0';
	while ((end = strchr(hub.in, '\n'))) {
		*end = '\0';
		hub_answer(hub.in);
		hub.in_len -= (size_t)(end + 1 - hub.in);
		memmove(hub.in, end + 1, hub.in_len + 1);
	}
}

/* --- killick top --- */

static struct {
	pid_t pid;
	int master, slave; /* the slave stays open: its modes are read after the end */
	struct termios before;
} top;

static void start_top(int rows, int cols, const char *option)
{
	char *argv[] = { (char *)"setsid",
			 (char *)"--ctty",
			 (char *)"--wait",
			 (char *)killick(),
			 (char *)"top",
			 (char *)option,
			 NULL };
	struct winsize ws = { .ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols };

	tty_size(rows, cols);
	tty_clear(0, 0);
	tty.cursor = true;
	OK(openpty(&top.master, &top.slave, NULL, NULL, &ws) == 0);
	fcntl(top.master, F_SETFD, FD_CLOEXEC);
	fcntl(top.slave, F_SETFD, FD_CLOEXEC);
	OK(tcgetattr(top.slave, &top.before) == 0);
	top.pid = t_spawn(argv, (int[]){ top.slave, top.slave, top.slave });
}

/* Serve the terminal and the hub once. */
static void step(int timeout_ms)
{
	struct pollfd fds[] = { { .fd = top.master, .events = POLLIN },
				{ .fd = hub.listener, .events = POLLIN },
				{ .fd = hub.conn, .events = POLLIN } };
	char bytes[4096];

	if (poll(fds, 3, timeout_ms) <= 0)
		return;
	if (fds[0].revents) {
		ssize_t n = read(top.master, bytes, sizeof(bytes));

		for (ssize_t i = 0; i < n; i++)
			tty_put(bytes[i]);
	}
	if (fds[1].revents) {
		OK(hub.conn < 0);
		hub.conn = accept4(hub.listener, NULL, NULL, SOCK_CLOEXEC);
	}
	if (fds[2].revents)
		hub_serve();
}

/* Wait until the picture has a text. */
static void sees(const char *text)
{
	double end = t_now_ms() + RUN_MS;

	while (!strstr(picture(), text)) {
		if (t_now_ms() > end)
			FAIL("no '%s' in:\n%s", text, picture());
		step(50);
	}
}

static void sees_no(const char *text)
{
	double end = t_now_ms() + RUN_MS;

	while (strstr(picture(), text)) {
		if (t_now_ms() > end)
			FAIL("still '%s' in:\n%s", text, picture());
		step(50);
	}
}

static void press(const char *keys)
{
	EQ(write(top.master, keys, strlen(keys)), strlen(keys));
}

/* Wait for the end: the terminal is as before. Returns the exit status. */
static int ends(void)
{
	double end = t_now_ms() + RUN_MS;
	struct termios after;
	int status = 0;

	while (waitpid(top.pid, &status, WNOHANG) != top.pid) {
		if (t_now_ms() > end)
			FAIL("no end:\n%s", picture());
		step(20);
	}
	while (t_wait_fd(top.master, POLLIN, 0))
		step(0);
	OK(tcgetattr(top.slave, &after) == 0);
	EQ(after.c_lflag, top.before.c_lflag);
	EQ(after.c_iflag, top.before.c_iflag);
	EQ(after.c_oflag, top.before.c_oflag);
	OK(!tty.second);
	OK(tty.cursor);
	EQ(tty.too_wide, 0);
	close(top.master);
	close(top.slave);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

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
	struct child c;
	int p[2];

	OK(pipe2(p, O_CLOEXEC) == 0);
	c = start(argv, p[0]);
	close(p[0]);
	*in = p[1];
	return c;
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
	int p[2];

	CONFIG("mcp.json", "one", "good");
	OK(pipe2(p, O_CLOEXEC) == 0);
	c = start(argv, p[0]);
	close(p[0]);
	*in = p[1];
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
