/* guest.c - see guest.h */
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "t.h"

/* --- the executor --- */

static void read_line(int fd, char *out, size_t size)
{
	size_t len = 0;

	while (len + 1 < size) {
		OK(t_wait_fd(fd, POLLIN, GUEST_MS));
		if (read(fd, out + len, 1) != 1)
			FAIL("exec-server said nothing; is it there?");
		if (out[len] == '\n')
			break;
		len++;
	}
	out[len] = '\0';
}

void host_start(struct host *h, const char *where, const char *const *words)
{
	const char *argv[32] = { t_program("KILLICK", "build/killick"), "exec-server", "--listen",
				 where };
	char path[200];
	int in[2], out[2], n = 4;
	bool stdio = where && strcmp(where, "stdio") == 0;

	snprintf(path, sizeof(path), "unix:%s/executor", t_audit.dir);
	if (!where)
		argv[3] = path;
	while (*words)
		argv[n++] = *words++;
	OK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
	*h = (struct host){ .in = -1, .out = -1 };
	h->pid = t_spawn((char *const *)argv, (int[]){ in[0], out[1], -1 });
	close(in[0]);
	close(out[1]);
	if (stdio) {
		h->in = in[1];
		h->out = out[0];
		return;
	}
	close(in[1]);
	read_line(out[0], h->url, sizeof(h->url));
	close(out[0]);
}

void host_start_given(struct host *h, int fd, const char *as, const char *words)
{
	struct sockaddr_un at = { .sun_family = 0 };
	socklen_t len = sizeof(at);
	char script[400];
	char *const argv[] = { "sh", "-c", script, NULL };

	*h = (struct host){ .in = -1, .out = -1 };
	EQ(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	if (at.sun_path[0])
		snprintf(h->url, sizeof(h->url), "unix:%s", at.sun_path);
	else
		snprintf(h->url, sizeof(h->url), "unix:@%.*s",
			 (int)(len - offsetof(struct sockaddr_un, sun_path) - 1), at.sun_path + 1);
	snprintf(script, sizeof(script),
		 "exec 3<&0 </dev/null >/dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec %s %s "
		 "exec-server %s",
		 as ? as : "", t_program("KILLICK", "build/killick"), words);
	h->pid = t_spawn(argv, (int[]){ fd, -1, -1 });
	close(fd);
}

static void close_pipes(struct host *h)
{
	if (h->in >= 0)
		close(h->in);
	if (h->out >= 0)
		close(h->out);
	h->in = h->out = -1;
}

/* Keepers are nobody's child, and so they are ours in the end. */
static void collect(void)
{
	double until = t_now_ms() + GUEST_MS;
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) >= 0) {
		if (t_now_ms() > until)
			FAIL("keepers have outlived their executor");
		if (pid == 0)
			t_wait_fd(-1, 0, 2);
	}
}

int host_end(struct host *h)
{
	int status = t_wait_child(h->pid, GUEST_MS);

	OK(status != -1);
	close_pipes(h);
	collect();
	return status;
}

void host_stop(struct host *h)
{
	kill(h->pid, SIGTERM);
	EQ(host_end(h), 0);
}

void host_kill(struct host *h)
{
	kill(h->pid, SIGKILL);
	host_end(h);
}

/* --- the line --- */

void guest_connect(struct guest *g, const struct host *h)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(at);

	*g = (struct guest){ .in = -1 };
	if (h->in >= 0) {
		g->in = fcntl(h->out, F_DUPFD_CLOEXEC, 0);
		g->out = fcntl(h->in, F_DUPFD_CLOEXEC, 0);
		return;
	}
	OK(strncmp(h->url, "unix:", 5) == 0);
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", h->url + 5);
	if (at.sun_path[0] == '@') {
		len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(at.sun_path));
		at.sun_path[0] = '\0';
	}
	g->in = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	EQ(connect(g->in, (struct sockaddr *)&at, len), 0);
	g->out = fcntl(g->in, F_DUPFD_CLOEXEC, 0);
}

/* The kernel tells the other side which user called connect. */
void guest_connect_as(struct guest *g, const struct host *h, uid_t uid)
{
	EQ(seteuid(uid), 0);
	guest_connect(g, h);
	EQ(seteuid(0), 0);
}

void guest_close(struct guest *g)
{
	close(g->in);
	close(g->out);
	for (size_t i = 0; i < g->queued; i++)
		free(g->queue[i]);
	free(g->bytes);
	*g = (struct guest){ .in = -1, .out = -1 };
}

void guest_say(struct guest *g, const char *text)
{
	size_t len = strlen(text);
	char *line = mem_grow(NULL, len + 2, 1);

	memcpy(line, text, len);
	line[len++] = '\n';
	for (size_t sent = 0; sent < len;) {
		ssize_t n = write(g->out, line + sent, len - sent);

		if (n < 0 && errno != EINTR)
			FAIL("cannot write to the executor: %s", strerror(errno));
		sent += n > 0 ? (size_t)n : 0;
	}
	free(line);
}

static char *take_line(struct guest *g, size_t len)
{
	char *line = mem_text(g->bytes, len);

	memmove(g->bytes, g->bytes + len + 1, g->len - len - 1);
	g->len -= len + 1;
	return line;
}

char *guest_hear(struct guest *g)
{
	for (size_t seen = 0;;) {
		char *end = g->len > seen ? memchr(g->bytes + seen, '\n', g->len - seen) : NULL;
		ssize_t n;

		if (end)
			return take_line(g, (size_t)(end - g->bytes));
		seen = g->len;
		if (g->room - g->len < 65536) {
			g->room = 2 * g->room + 65536;
			g->bytes = mem_grow(g->bytes, g->room, 1);
		}
		if (!t_wait_fd(g->in, POLLIN | POLLHUP, GUEST_MS))
			FAIL("the executor says nothing");
		n = read(g->in, g->bytes + g->len, g->room - g->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return NULL;
		g->len += (size_t)n;
	}
}

/* --- requests --- */

struct json guest_find(const char *message, const char *path)
{
	struct json v;

	if (json_check(message, strlen(message), 0, &v, NULL) < 0)
		FAIL("not JSON: %.200s", message);
	return json_find(v, path);
}

long long guest_number(const char *message, const char *path)
{
	int64_t n = 0;

	if (!json_int(guest_find(message, path), &n))
		FAIL("no number %s in: %.300s", path, message);
	return n;
}

bool guest_true(const char *message, const char *path)
{
	bool b = false;

	if (!json_bool(guest_find(message, path), &b))
		FAIL("no boolean %s in: %.300s", path, message);
	return b;
}

static long send_request(struct guest *g, const char *method, const char *fmt, va_list ap)
{
	char *params = NULL, *text = NULL;

	OK(vasprintf(&params, fmt, ap) >= 0);
	OK(asprintf(&text, "{\"id\":%ld,\"method\":\"%s\",\"params\":%s}", ++g->last_id, method,
		    params) > 0);
	guest_say(g, text);
	free(params);
	free(text);
	return g->last_id;
}

long guest_send(struct guest *g, const char *method, const char *fmt, ...)
{
	va_list ap;
	long id;

	va_start(ap, fmt);
	id = send_request(g, method, fmt, ap);
	va_end(ap);
	return id;
}

static void keep(struct guest *g, char *line)
{
	OK(g->queued < GUEST_QUEUE);
	g->queue[g->queued++] = line;
}

static char *take(struct guest *g, size_t i)
{
	char *line = g->queue[i];

	memmove(&g->queue[i], &g->queue[i + 1], (--g->queued - i) * sizeof(g->queue[0]));
	return line;
}

static bool answers(const char *line, long id)
{
	int64_t n;

	return !guest_find(line, "method").at && json_int(guest_find(line, "id"), &n) && n == id;
}

char *guest_answer(struct guest *g, long id)
{
	char *line;

	for (size_t i = 0; i < g->queued; i++)
		if (answers(g->queue[i], id))
			return take(g, i);
	while ((line = guest_hear(g)) != NULL) {
		if (answers(line, id))
			return line;
		keep(g, line);
	}
	FAIL("the executor hung up instead of answering");
}

char *guest_ask(struct guest *g, const char *method, const char *fmt, ...)
{
	va_list ap;
	char *line;

	va_start(ap, fmt);
	line = guest_answer(g, send_request(g, method, fmt, ap));
	va_end(ap);
	if (!guest_find(line, "result").at)
		FAIL("%s: %.300s", method, line);
	return line;
}

void guest_refused(struct guest *g, int code, const char *method, const char *fmt, ...)
{
	va_list ap;
	char *line;

	va_start(ap, fmt);
	line = guest_answer(g, send_request(g, method, fmt, ap));
	va_end(ap);
	if (!guest_find(line, "error").at)
		FAIL("%s was not refused: %.300s", method, line);
	if (guest_number(line, "error.code") != code)
		FAIL("%s: not code %d: %.300s", method, code, line);
	free(line);
}

static bool is_it(const char *line, const char *method, const char *process)
{
	return json_is(guest_find(line, "method"), method) &&
	       json_is(guest_find(line, "params.processId"), process);
}

bool guest_has(struct guest *g, const char *method, const char *process)
{
	for (size_t i = 0; i < g->queued; i++)
		if (is_it(g->queue[i], method, process))
			return true;
	return false;
}

char *guest_await(struct guest *g, const char *method, const char *process)
{
	char *line;

	for (size_t i = 0; i < g->queued; i++)
		if (is_it(g->queue[i], method, process))
			return take(g, i);
	while ((line = guest_hear(g)) != NULL) {
		if (is_it(line, method, process))
			return line;
		keep(g, line);
	}
	FAIL("the executor hung up; no %s of '%s' came", method, process);
}

static size_t decode(struct json chunk, char *out, size_t size)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned bits = 0, held = 0;
	size_t len = 0;

	for (size_t i = 1; i + 1 < chunk.len && chunk.at[i] != '='; i++) {
		const char *at = strchr(alphabet, chunk.at[i]);

		OK(at && len < size);
		bits = bits << 6 | (unsigned)(at - alphabet);
		held += 6;
		if (held >= 8) {
			held -= 8;
			out[len++] = (char)(bits >> held);
		}
	}
	return len;
}

void guest_await_output(struct guest *g, const char *process, const char *text)
{
	char seen[70000] = "";
	size_t len = 0;

	while (!strstr(seen, text)) {
		char *line = guest_await(g, "process/output", process);

		if (len > sizeof(seen) / 2)
			len = 0;
		len += decode(guest_find(line, "params.chunk"), seen + len, sizeof(seen) - len - 1);
		seen[len] = '\0';
		free(line);
	}
}

/* --- the handshake, and processes --- */

void guest_resume(struct guest *g, const struct host *h, const char *session)
{
	char *line;

	guest_connect(g, h);
	if (session)
		line = guest_ask(g, "initialize",
				 "{\"clientName\":\"test\",\"resumeSessionId\":\"%s\"}", session);
	else
		line = guest_ask(g, "initialize",
				 "{\"clientName\":\"test\",\"resumeSessionId\":null}");
	OK(json_string_into(guest_find(line, "result.sessionId"), g->session, sizeof(g->session)));
	free(line);
	guest_say(g, "{\"method\":\"initialized\",\"params\":{}}");
}

void guest_open(struct guest *g, const struct host *h)
{
	guest_resume(g, h, NULL);
}

void guest_start(struct guest *g, const char *process, const char *as, const char *script)
{
	char quoted[4096];
	size_t n = 0;

	for (const char *p = script; *p; p++) {
		OK(n + 3 < sizeof(quoted));
		if (*p == '"' || *p == '\\')
			quoted[n++] = '\\';
		quoted[n++] = *p;
	}
	quoted[n] = '\0';
	free(guest_ask(
		g, "process/start",
		"{\"processId\":\"%s\",\"argv\":[\"sh\",\"-c\",\"%s\"],\"cwd\":\"file:///\","
		"\"env\":{},\"envPolicy\":{\"inherit\":\"all\",\"ignoreDefaultExcludes\":true,"
		"\"exclude\":[],\"set\":{},\"includeOnly\":[]},%s}",
		process, quoted, as));
}
