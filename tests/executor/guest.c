/* guest.c - see guest.h */
#include "guest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
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

static int connect_unix(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(at);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	if (at.sun_path[0] == '@') {
		len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(at.sun_path));
		at.sun_path[0] = '\0';
	}
	/* bind makes the file, but connections are refused until listen */
	for (double until = t_now_ms() + GUEST_MS; connect(fd, (struct sockaddr *)&at, len);) {
		if (errno != ECONNREFUSED || t_now_ms() > until)
			FAIL("cannot connect to %s: %s", path, strerror(errno));
		t_wait_fd(-1, 0, 5);
	}
	return fd;
}

int guest_port(const struct host *h)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	unsigned port;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	EQ(sscanf(h->url, "ws://127.0.0.1:%u", &port), 1);
	at.sin_port = htons((uint16_t)port);
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	EQ(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

const char guest_upgrade[] =
	"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
	"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

static bool become_web(struct guest *g)
{
	char head[1000];
	size_t len = 0;

	snprintf(head, sizeof(head), "%s\r\n", guest_upgrade);
	if (send(g->out, head, strlen(head), MSG_NOSIGNAL) < 0)
		return false;
	do { /* byte by byte: what follows is no part of it */
		OK(len + 1 < sizeof(head) && t_wait_fd(g->in, POLLIN | POLLHUP, GUEST_MS));
		if (read(g->in, head + len, 1) != 1)
			return false;
		head[++len] = '\0';
	} while (!strstr(head, "\r\n\r\n"));
	if (strncmp(head, "HTTP/1.1 101 ", 13) != 0)
		FAIL("no WebSocket: %s", head);
	return true;
}

bool guest_try_connect(struct guest *g, const struct host *h)
{
	*g = (struct guest){ .in = -1, .web = strncmp(h->url, "ws://", 5) == 0 };
	if (h->in >= 0) {
		g->in = fcntl(h->out, F_DUPFD_CLOEXEC, 0);
		g->out = fcntl(h->in, F_DUPFD_CLOEXEC, 0);
		return true;
	}
	OK(g->web || strncmp(h->url, "unix:", 5) == 0);
	g->in = g->web ? guest_port(h) : connect_unix(h->url + 5);
	g->out = fcntl(g->in, F_DUPFD_CLOEXEC, 0);
	if (!g->web || become_web(g))
		return true;
	guest_close(g);
	return false;
}

void guest_connect(struct guest *g, const struct host *h)
{
	if (!guest_try_connect(g, h))
		FAIL("the executor hung up");
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
	free(g->raw);
	*g = (struct guest){ .in = -1, .out = -1 };
}

static void guest_write(struct guest *g, const char *bytes, size_t len)
{
	for (size_t sent = 0; sent < len;) {
		ssize_t n = write(g->out, bytes + sent, len - sent);

		if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
			return; /* whoever waits for an answer hears it */
		if (n < 0 && errno != EINTR)
			FAIL("cannot write to the executor: %s", strerror(errno));
		sent += n > 0 ? (size_t)n : 0;
	}
}

/* A frame whose mask is zero, or a line. */
void guest_say(struct guest *g, const char *text)
{
	size_t len = strlen(text), at = 0;
	unsigned char *line = mem_grow(NULL, len + 16, 1);

	if (g->web) {
		size_t bytes = len < 126 ? 0 : len < 65536 ? 2 : 8;

		line[at++] = 0x81;
		line[at++] = (unsigned char)(0x80 | (bytes == 0 ? len : bytes == 2 ? 126 : 127));
		for (size_t i = bytes; i-- > 0;)
			line[at++] = (unsigned char)(len >> 8 * i);
		memset(line + at, 0, 4);
		at += 4;
	}
	memcpy(line + at, text, len);
	at += len;
	if (!g->web)
		line[at++] = '\n';
	guest_write(g, (const char *)line, at);
	free(line);
}

/* The first frame of what was read: how long it is, 0: it is not whole. *out is its text's place.
 */
static size_t frame_size(const struct guest *g, size_t *out)
{
	const unsigned char *raw = (const unsigned char *)g->raw;
	size_t head = 2, len;

	if (g->raw_len < 2)
		return 0;
	len = raw[1];
	OK(len < 128); /* a server's frames have no mask */
	head += len == 126 ? 2 : len == 127 ? 8 : 0;
	if (g->raw_len < head)
		return 0;
	if (head > 2)
		len = 0;
	for (size_t i = 2; i < head; i++)
		len = len << 8 | raw[i];
	*out = head;
	return g->raw_len < head + len ? 0 : head + len;
}

static void guest_reserve(char **bytes, size_t len, size_t *room, size_t more)
{
	if (*room - len < more) {
		*room = 2 * *room + more;
		*bytes = mem_grow(*bytes, *room, 1);
	}
}

/* Take frames apart: messages become lines, pings are answered. False: it closed. */
static bool take_frames(struct guest *g)
{
	size_t size, head;

	while ((size = frame_size(g, &head)) != 0) {
		unsigned op = g->raw[0] & 15u;
		size_t len = size - head;

		if (op == 8)
			return false;
		if (op == 9)
			guest_write(g, "\x8a\x80\0\0\0\0", 6);
		if (op == 1) {
			guest_reserve(&g->bytes, g->len, &g->room, len + 1);
			memcpy(g->bytes + g->len, g->raw + head, len);
			g->bytes[g->len + len] = '\n';
			g->len += len + 1;
		}
		g->raw_len -= size;
		memmove(g->raw, g->raw + size, g->raw_len);
	}
	return true;
}

static char *take_line(struct guest *g, size_t len)
{
	char *line = mem_text(g->bytes, len);

	memmove(g->bytes, g->bytes + len + 1, g->len - len - 1);
	g->len -= len + 1;
	return line;
}

/* Read what there is; false: the other side hung up. */
static bool guest_read(struct guest *g)
{
	char **bytes = g->web ? &g->raw : &g->bytes;
	size_t *len = g->web ? &g->raw_len : &g->len, *room = g->web ? &g->raw_room : &g->room;
	ssize_t n;

	guest_reserve(bytes, *len, room, 65536);
	if (!t_wait_fd(g->in, POLLIN | POLLHUP, GUEST_MS))
		FAIL("the executor says nothing");
	n = read(g->in, *bytes + *len, *room - *len);
	if (n < 0 && errno == EINTR)
		return true;
	if (n <= 0)
		return false;
	*len += (size_t)n;
	return !g->web || take_frames(g);
}

char *guest_hear(struct guest *g)
{
	for (size_t seen = 0;;) {
		char *end = g->len > seen ? memchr(g->bytes + seen, '\n', g->len - seen) : NULL;

		if (end)
			return take_line(g, (size_t)(end - g->bytes));
		seen = g->len;
		if (!guest_read(g))
			return NULL;
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

static void ask_to_come(struct guest *g, const char *session)
{
	if (session)
		guest_send(g, "initialize", "{\"clientName\":\"test\",\"resumeSessionId\":\"%s\"}",
			   session);
	else
		guest_send(g, "initialize", "{\"clientName\":\"test\",\"resumeSessionId\":null}");
}

bool guest_try(struct guest *g, const struct host *h, const char *session)
{
	char *line;
	bool ok;

	if (!guest_try_connect(g, h))
		return false;
	ask_to_come(g, session);
	line = guest_hear(g);
	ok = line &&
	     json_string_into(guest_find(line, "result.sessionId"), g->session, sizeof(g->session));
	free(line);
	if (ok)
		guest_say(g, "{\"method\":\"initialized\",\"params\":{}}");
	else
		guest_close(g);
	return ok;
}

void guest_resume(struct guest *g, const struct host *h, const char *session)
{
	char *line;

	guest_connect(g, h);
	ask_to_come(g, session);
	line = guest_answer(g, g->last_id);
	if (!json_string_into(guest_find(line, "result.sessionId"), g->session, sizeof(g->session)))
		FAIL("initialize: %.300s", line);
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
