/* shell.c - see shell.h */
#include "shell.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

char out[TEXT_MAX], err[TEXT_MAX];
unsigned short columns = 80;

const char *killick(void)
{
	return t_program("KILLICK", "build/killick");
}

const char *zoo(void)
{
	return t_program("ZOO", "build/tests/zoo/killick-zoo");
}

/* A directory to be in, with records of its own and no config but ours. */
void begin(void)
{
	static char dir[128], pids[128];

	snprintf(dir, sizeof(dir), "%s/records", t_audit.dir);
	OK(mkdir(dir, 0700) == 0);
	setenv("KILLICK_RUNTIME_DIR", dir, 1);
	snprintf(pids, sizeof(pids), "%s/pids", t_audit.dir);
	setenv("ZOO_PIDS", pids, 1);
	setenv("ZOO_LIFE_MS", "30000", 1);
	setenv("LC_ALL", "C", 1);
	setenv("TERM", "xterm", 1);
	setenv("NO_COLOR", "1", 1);
	setenv("XDG_CACHE_HOME", t_audit.dir, 1);
	unsetenv("KILLICK_CONFIG");
	unsetenv("XDG_CONFIG_HOME");
	setenv("HOME", t_audit.dir, 1); /* the configs of other clients */
	OK(chdir(t_audit.dir) == 0);
}

void write_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "we");

	OK(f);
	fputs(text, f);
	OK(fclose(f) == 0);
}

void make_dirs(const char *path)
{
	char dir[200];

	for (const char *slash = path; (slash = strchr(slash + 1, '/'));) {
		snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
		OK(mkdir(dir, 0755) == 0 || errno == EEXIST);
	}
}

void need_yaml(void)
{
	if (strcmp(t_program("KILLICK_YAML", "yes"), "yes") != 0)
		SKIP("built without libyaml: apt-get install libyaml-dev");
}

bool file_has(const char *name, const char *text)
{
	static char all[TEXT_MAX];
	FILE *f = fopen(name, "re");
	size_t n = f ? fread(all, 1, sizeof(all) - 1, f) : 0;

	if (f)
		fclose(f);
	all[n] = '\0';
	return strstr(all, text) != NULL;
}

void write_config(const char *file, const char *const *pairs)
{
	static char text[8192];
	size_t len = (size_t)snprintf(text, sizeof(text), "{\"mcpServers\": {");

	for (const char *const *p = pairs; *p; p += 2)
		len += (size_t)snprintf(
			text + len, sizeof(text) - len,
			"%s\n\"%s\": {\"command\": \"%s\", \"args\": [\"mcp\", \"%s\"], "
			"\"envVars\": [\"ZOO_AUDIT\", \"ZOO_FIFO\", \"ZOO_PIDS\", "
			"\"ZOO_LIFE_MS\"]}",
			p > pairs ? "," : "", p[0], zoo(), p[1]);
	snprintf(text + len, sizeof(text) - len, "\n}}\n");
	write_file(file, text);
}

struct child start(char *const *argv, int in)
{
	int o[2], e[2];
	struct child c = { .pid = 0 };

	OK(pipe2(o, O_CLOEXEC) == 0 && pipe2(e, O_CLOEXEC) == 0);
	c.pid = t_spawn(argv, (int[]){ in, o[1], e[1] });
	close(o[1]);
	close(e[1]);
	c.out = o[0];
	c.err = e[0];
	out[0] = err[0] = '\0';
	return c;
}

struct child start_with_pipe(char *const *argv, int *out_in)
{
	struct child c;
	int ends[2];

	OK(pipe2(ends, O_CLOEXEC) == 0);
	c = start(argv, ends[0]);
	close(ends[0]);
	*out_in = ends[1];
	return c;
}

static void take(int *fd, char *text, size_t *len)
{
	ssize_t n = read(*fd, text + *len, TEXT_MAX - 1 - *len);

	if (n <= 0) { /* a pty gives EIO when the other side is closed */
		close(*fd);
		*fd = -1;
		return;
	}
	*len += (size_t)n;
	text[*len] = '\0';
}

/* Read until both ends are closed, or `until` is in one of the texts. */
void listen_for(struct child *c, const char *until)
{
	double end = t_now_ms() + RUN_MS;

	while (c->out >= 0 || c->err >= 0) {
		struct pollfd fds[] = { { .fd = c->out, .events = POLLIN },
					{ .fd = c->err, .events = POLLIN } };
		int left = (int)(end - t_now_ms());

		if (until && (strstr(out, until) || strstr(err, until)))
			return;
		if (left <= 0 || poll(fds, 2, left) == 0)
			FAIL("no end of output: %s%s", out, err);
		if (fds[0].revents)
			take(&c->out, out, &c->out_len);
		if (fds[1].revents)
			take(&c->err, err, &c->err_len);
	}
	if (until && !strstr(out, until) && !strstr(err, until))
		FAIL("no '%s' in: %s%s", until, out, err);
}

void nothing_left(void)
{
	double end = t_now_ms() + RUN_MS;
	pid_t pid;

	OK(audit_wait_empty(&t_audit, 8000, NULL));
	while ((pid = waitpid(-1, NULL, WNOHANG | __WALL)) >= 0) {
		OK(t_now_ms() < end);
		if (pid == 0)
			poll(NULL, 0, 1);
	}
}

int finish(struct child *c)
{
	int status;

	listen_for(c, NULL);
	status = t_wait_child(c->pid, RUN_MS);
	OK(status != -1);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int fill(char **argv, int n, va_list ap)
{
	while (n < 23 && (argv[n] = va_arg(ap, char *)))
		n++;
	argv[n] = NULL;
	return n;
}

/* Run killick with these words; what it wrote is in `out` and `err`. Nothing is left after it. */
int run(const char *first, ...)
{
	char *argv[24] = { (char *)killick(), (char *)first };
	struct child c;
	va_list ap;
	int status;

	va_start(ap, first);
	fill(argv, 2, ap);
	va_end(ap);
	c = start(argv, -1);
	status = finish(&c);
	EQ(audit_count(&t_audit), 0);
	nothing_left();
	return status;
}

size_t started(void)
{
	char line[128];
	FILE *f = fopen("pids", "re");
	size_t n = 0;

	while (f && fgets(line, sizeof(line), f))
		n++;
	if (f)
		fclose(f);
	return n;
}

struct child start_on_terminal(char *const *argv)
{
	char *words[26] = { (char *)"setsid", (char *)"--ctty" };
	struct winsize ws = { .ws_row = 24, .ws_col = columns };
	struct child c = { .err = -1 };
	int slave;

	for (size_t i = 0; argv[i]; i++)
		words[2 + i] = argv[i];
	OK(openpty(&c.out, &slave, NULL, NULL, &ws) == 0);
	fcntl(c.out, F_SETFD, FD_CLOEXEC);
	fcntl(slave, F_SETFD, FD_CLOEXEC);
	out[0] = err[0] = '\0';
	c.pid = t_spawn(words, (int[]){ slave, slave, slave });
	close(slave);
	return c;
}

struct child on_terminal(const char *first, ...)
{
	char *argv[24] = { (char *)killick(), (char *)first };
	va_list ap;

	va_start(ap, first);
	fill(argv, 2, ap);
	va_end(ap);
	return start_on_terminal(argv);
}
