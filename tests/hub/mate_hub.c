/* mate_hub.c - the hub of a test, its control socket, and the processes that it holds. */
#include "mate.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t hub;
static char socket_path[sizeof(((struct sockaddr_un *)0)->sun_path)];

const char *mate_hub_socket(void)
{
	return socket_path;
}

static void mate_disposition(int sig, void (*handler)(int))
{
	OK(!sigaction(sig, &(struct sigaction){ .sa_handler = handler }, NULL));
}

static int socket_try(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	OK(fd >= 0);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", socket_path);
	if (!connect(fd, (struct sockaddr *)&a, sizeof(a)))
		return fd;
	close(fd);
	return -1;
}

void mate_room(void)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/run", t_audit.dir);
	OK(!mkdir(path, 0700) || errno == EEXIST);
	setenv("KILLICK_RUNTIME_DIR", path, 1);
	snprintf(socket_path, sizeof(socket_path), "%s/hub.sock", path);
	snprintf(path, sizeof(path), "%s/cache", t_audit.dir);
	setenv("XDG_CACHE_HOME", path, 1);
	snprintf(path, sizeof(path), "%s/pids", t_audit.dir);
	setenv("ZOO_PIDS", path, 1);
	setenv("ZOO_LIFE_MS", "7200000", 1);
	mate_disposition(SIGPIPE, SIG_IGN);
}

static void mate_hub_await(void)
{
	double end = t_now_ms() + MATE_MS;
	int fd;

	while ((fd = socket_try()) < 0) {
		if (t_now_ms() > end)
			FAIL("the hub does not listen on %s", socket_path);
		usleep(2000);
	}
	close(fd);
}

pid_t mate_hub_start_with(const char *const *words)
{
	char *argv[16] = { (char *)t_program("KILLICK", "build/killick"), "hub" }, path[96];
	int log;

	for (size_t i = 0; words && words[i]; i++)
		argv[i + 2] = (char *)words[i];
	mate_room();
	if (mate_is_direct())
		return 0;
	snprintf(path, sizeof(path), "%s/hub.log", t_audit.dir);
	log = open(t_program("MATE_LOG", path), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	OK(log >= 0);
	hub = t_spawn(argv, (int[]){ -1, log, log });
	close(log);
	mate_hub_await();
	return hub;
}

pid_t mate_hub_start(void)
{
	return mate_hub_start_with(NULL);
}

pid_t mate_hub_adopt(void)
{
	struct control c;

	mate_hub_await();
	control_open(&c);
	hub = (pid_t)scan_long(scan_member(control_do(&c, "hub.status", ""), "pid"), -1);
	control_close(&c);
	OK(hub > 0);
	return hub;
}

void mate_hub_stop(void)
{
	struct control c;
	struct span result;
	int status;

	if (!mate_is_direct()) {
		control_open(&c);
		result = control_do(&c, "hub.shutdown", "");
		EQ(scan_long(scan_member(result, "survivors"), -1), 0);
		if (!strncmp(scan_member(result, "proved").at, "false", 5))
			FAIL("not proved: %.*s", (int)result.len, result.at);
		control_close(&c);
		status = t_wait_child(hub, MATE_MS);
		EQ(status, 0);
	}
	mate_reap();
}

void mate_hub_kill_only(void)
{
	if (mate_is_direct())
		SKIP("there is no hub");
	kill(hub, SIGKILL);
	OK(t_wait_child(hub, MATE_MS) >= 0);
}

void mate_hub_kill(void)
{
	mate_hub_kill_only();
	mate_reap();
}

void mate_reap(void)
{
	double ms;
	char text[400];

	/* Keepers are orphans of the hub: they are children of this process then. */
	mate_disposition(SIGCHLD, SIG_IGN);
	if (!audit_wait_empty(&t_audit, MATE_MS, &ms)) {
		audit_describe(&t_audit, text, sizeof(text));
		FAIL("left alive: %s", text);
	}
	mate_disposition(SIGCHLD, SIG_DFL);
	while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR)
		;
}

size_t mate_servers(void)
{
	static pid_t pids[4096];
	int n = audit_list(&t_audit, pids, 4096);
	size_t count = 0;

	for (int i = 0; i < n && i < 4096; i++) {
		char path[64], name[32] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/comm", (int)pids[i]);
		f = fopen(path, "re");
		if (f && fgets(name, sizeof(name), f))
			count += strcmp(name, "killick-zoo\n") == 0;
		if (f)
			fclose(f);
	}
	return count;
}

void mate_await_servers(size_t count)
{
	double end = t_now_ms() + MATE_MS;

	while (mate_servers() != count) {
		if (t_now_ms() > end)
			FAIL("%zu servers live instead of %zu", mate_servers(), count);
		usleep(5000);
	}
}

void control_open(struct control *c)
{
	*c = (struct control){ .fd = socket_try() };
	if (c->fd < 0)
		FAIL("cannot connect to %s: %s", socket_path, strerror(errno));
}

void control_close(struct control *c)
{
	close(c->fd);
	free(c->at);
	*c = (struct control){ .fd = -1 };
}

long control_send(struct control *c, const char *method, const char *members)
{
	char *line = NULL;
	long id = ++c->next_id;
	int n = asprintf(&line,
			 "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"%s\",\"params\":{%s}}\n", id,
			 method, members);

	OK(n > 0);
	for (int done = 0; done < n;) {
		ssize_t w = write(c->fd, line + done, (size_t)(n - done));

		if (w < 0)
			FAIL("cannot write to the hub: %s", strerror(errno));
		done += (int)w;
	}
	free(line);
	return id;
}

static bool control_wants(const long *ids, size_t count, struct span line)
{
	long id = scan_long(scan_member(line, "id"), -1);

	for (size_t i = 0; i < count; i++)
		if (ids[i] == id)
			return true;
	return false;
}

struct span control_wait(struct control *c, long id)
{
	return control_wait_any(c, &id, 1);
}

struct span control_wait_any(struct control *c, const long *ids, size_t count)
{
	static char *line;
	double end = t_now_ms() + MATE_MS;

	for (;;) {
		char *nl = c->len > 0 ? memchr(c->at, '\n', c->len) : NULL;
		double left = end - t_now_ms();
		ssize_t n;

		if (nl) {
			size_t len = (size_t)(nl - c->at);

			free(line);
			line = strndup(c->at, len);
			c->len -= len + 1;
			memmove(c->at, nl + 1, c->len);
			if (control_wants(ids, count, (struct span){ line, len }))
				return (struct span){ line, len };
			continue;
		}
		if (left <= 0 || !t_wait_fd(c->fd, POLLIN, (int)left))
			FAIL("the hub sent nothing for %d ms and did not answer request %ld",
			     MATE_MS, ids[0]);
		c->at = realloc(c->at, c->len + (1 << 16));
		OK(c->at);
		n = read(c->fd, c->at + c->len, 1 << 16);
		if (n <= 0)
			FAIL("the hub has closed the control connection");
		c->len += (size_t)n;
		end = t_now_ms() + MATE_MS; /* other lines may come first, and many of them */
	}
}

struct span control_note(struct control *c)
{
	return control_wait(c, -1);
}

struct span control_ask(struct control *c, const char *method, const char *members)
{
	return control_wait(c, control_send(c, method, members));
}

struct span control_do(struct control *c, const char *method, const char *members)
{
	struct span line = control_ask(c, method, members), result = scan_member(line, "result");

	if (result.len == 0)
		FAIL("%s: %.*s", method, (int)line.len, line.at);
	return result;
}
