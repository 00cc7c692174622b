/* top_lab.c - see top_lab.h. The terminal knows only the sequences that `killick top` writes. */
#include "top_lab.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shell.h"

/* --- what a terminal shows --- */

struct tty tty;

void tty_clear(int row, int column)
{
	for (; row < ROWS_MAX; row++, column = 0)
		memset(tty.cells[row] + column, ' ', (size_t)(COLUMNS_MAX - column));
}

void tty_size(int rows, int cols)
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

const char *picture(void)
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

struct top_hub hub = { -1, -1, "", "", 0, "ready" };

void hub_listen(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/hub.sock", getenv("KILLICK_RUNTIME_DIR"));
	hub.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	OK(hub.listener >= 0);
	OK(bind(hub.listener, (struct sockaddr *)&at, sizeof(at)) == 0);
	OK(listen(hub.listener, 4) == 0);
}

void hub_end(void)
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

struct top top;

void start_top(int rows, int cols, const char *option)
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

void step(int timeout_ms)
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

void sees(const char *text)
{
	double end = t_now_ms() + RUN_MS;

	while (!strstr(picture(), text)) {
		if (t_now_ms() > end)
			FAIL("no '%s' in:\n%s", text, picture());
		step(50);
	}
}

void sees_no(const char *text)
{
	double end = t_now_ms() + RUN_MS;

	while (strstr(picture(), text)) {
		if (t_now_ms() > end)
			FAIL("still '%s' in:\n%s", text, picture());
		step(50);
	}
}

void press(const char *keys)
{
	EQ(write(top.master, keys, strlen(keys)), strlen(keys));
}

int ends(void)
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
