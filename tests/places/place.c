/* place.c - see place.h */
#include "place.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char mess[] = "#!/bin/sh\n"
			   "trap '' TERM HUP INT\n"
			   "exec 9>\"$ZOO_FIFO\"\n"
			   "setsid sleep 600 &\n"
			   "(setsid sleep 600 </dev/null >/dev/null 2>&1 &)\n"
			   "tee -a calls | \"$ZOO\" \"$@\"\n";

const char *place_dir(void)
{
	return t_audit.dir;
}

const char *place_file(const char *name)
{
	static char paths[64][160];
	static unsigned next;
	char *path = paths[next++ % 64];

	snprintf(path, sizeof(paths[0]), "%s/%s", place_dir(), name);
	return path;
}

void place_begin(void)
{
	begin();
	setenv("ZOO", zoo(), 1);
	setenv("ZOO_LIFE_MS", "300000", 1);
	OK(mkdir("far", 0700) == 0);
	write_file("mess", mess);
	OK(chmod("mess", 0700) == 0);
}

void place_await_text(const char *file, const char *text)
{
	double until = t_now_ms() + GONE_MS;

	while (!file_has(file, text)) {
		if (t_now_ms() > until)
			FAIL("no '%s' in %s", text, file);
		poll(NULL, 0, 2);
	}
}

const char *place_program(const char *name, const char *package)
{
	static char paths[16][80];
	static unsigned next;
	static const char *const dirs[] = { "/usr/sbin", "/usr/bin", "/sbin", "/bin" };
	char *path = paths[next++ % 16];

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		snprintf(path, sizeof(paths[0]), "%s/%s", dirs[i], name);
		if (!access(path, X_OK))
			return path;
	}
	SKIP("no %s here: install %s", name, package);
}

const char *const *place_env(bool tagged)
{
	static char records[160], tag[64], fifo[160];
	static const char *env[] = {
		"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", records, NULL, NULL, NULL,
	};

	snprintf(records, sizeof(records), "KILLICK_RUNTIME_DIR=%s", place_file("far"));
	snprintf(tag, sizeof(tag), "ZOO_AUDIT=%s", t_audit.tag);
	snprintf(fifo, sizeof(fifo), "ZOO_FIFO=%s", place_file("fifo"));
	env[3] = tagged ? tag : NULL;
	env[4] = tagged ? fifo : NULL;
	return env;
}

void place_config(const char *environment, bool messy, const char *args)
{
	static char text[8192];
	char words[256], *rest = words, *word;
	size_t n = (size_t)snprintf(text, sizeof(text),
				    "{\"environments\": {\"far\": %s},\n"
				    "\"mcpServers\": {\"s\": {\"environment\": \"far\", "
				    "\"cwd\": \"%s\", \"command\": \"%s\", \"args\": [",
				    environment, place_dir(), messy ? place_file("mess") : zoo());

	snprintf(words, sizeof(words), "%s", args);
	while ((word = strsep(&rest, " ")))
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s\"%s\"",
				      word > words ? ", " : "", word);
	n += (size_t)snprintf(text + n, sizeof(text) - n,
			      "], \"envVars\": [\"ZOO_AUDIT\", \"ZOO_FIFO\", \"ZOO_PIDS\", "
			      "\"ZOO_LIFE_MS\", \"ZOO\"]}}}\n");
	OK(n < sizeof(text));
	write_file("mcp.json", text);
}

int place_run(const char *first, ...)
{
	char *argv[24] = { (char *)killick(), (char *)first };
	struct child c;
	va_list ap;

	va_start(ap, first);
	for (int n = 2; n < 23 && (argv[n] = va_arg(ap, char *)); n++)
		;
	va_end(ap);
	c = start(argv, -1);
	return finish(&c);
}

struct child place_hang(const char *tool)
{
	char *argv[] = { (char *)killick(), "call", (char *)tool, "--timeout", "5m", NULL };
	double until = t_now_ms() + RUN_MS;
	char want[64];
	struct child c;

	unlink("calls");
	snprintf(want, sizeof(want), "\"%s\"", tool);
	c = start(argv, -1);
	while (!file_has("calls", want)) {
		if (minder_lives(c.pid, NULL) && t_now_ms() < until) {
			poll(NULL, 0, 2);
			continue;
		}
		kill(c.pid, SIGKILL);
		finish(&c);
		FAIL("the call did not get there: %s%s", out, err);
	}
	return c;
}

void place_kill(struct child *c)
{
	OK(kill(c->pid, SIGKILL) == 0);
	EQ(finish(c), 128 + SIGKILL);
}

void place_ends(struct child *c, int want)
{
	int status = finish(c);

	if (status != want)
		FAIL("exit status %d: %s%s", status, out, err);
}

void place_nothing_left(int timeout_ms)
{
	double took;
	char text[500];

	if (!audit_wait_empty(&t_audit, timeout_ms, &took)) {
		audit_describe(&t_audit, text, sizeof(text));
		FAIL("after %d ms there are: %s", timeout_ms, text);
	}
	t_note("empty after %.0f ms", took);
	OK(minder_reap_others(GONE_MS));
}

int place_port(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), ok;

	ok = fd >= 0 && !bind(fd, (struct sockaddr *)&a, len) &&
	     !getsockname(fd, (struct sockaddr *)&a, &len);
	close(fd);
	OK(ok);
	return ntohs(a.sin_port);
}
