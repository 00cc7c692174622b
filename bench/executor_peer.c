/* executor_peer.c - one executor: started, spoken to, ended. The client shares no code with
 * killick, so that the two cannot be wrong together. */
#include "executor.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define START_MS 10000

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void executor_die(const struct executor *e, const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", e->name, what);
	exit(1);
}

/* The address is the first line it prints; 0: none. */
static unsigned short read_port(int fd)
{
	char line[256] = "";
	size_t have = 0;
	unsigned port = 0;

	while (!strchr(line, '\n') && have < sizeof(line) - 1) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t n = poll(&p, 1, START_MS) == 1
				    ? read(fd, line + have, sizeof(line) - 1 - have)
				    : -1;

		if (n <= 0)
			return 0;
		have += (size_t)n;
		line[have] = '\0';
	}
	return sscanf(line, "ws://127.0.0.1:%u", &port) == 1 ? (unsigned short)port : 0;
}

static void say(struct executor *e, const char *text)
{
	wire_send(&e->wire, text, strlen(text));
}

bool executor_up(struct executor *e)
{
	/* What it logs goes nowhere, at the least cost. */
	const char *argv[] = { "sh",
			       "-c",
			       "exec \"$0\" \"$@\" 2>/dev/null",
			       e->program,
			       "exec-server",
			       "--listen",
			       "ws://127.0.0.1:0",
			       NULL };
	unsigned short port;

	if (server_start(&e->server, argv, NULL) < 0)
		return false;
	port = read_port(e->server.out);
	if (!port) {
		kill(e->server.pid, SIGKILL);
		server_finish(&e->server);
		e->server.pid = 0;
		return false;
	}
	wire_open(&e->wire, port);
	e->last_id = e->last_process = 0;
	say(e, "{\"id\":0,\"method\":\"initialize\",\"params\":{\"clientName\":\"bench\"}}");
	if (executor_next(e).id != 0)
		executor_die(e, "no answer to initialize");
	say(e, "{\"method\":\"initialized\",\"params\":{}}");
	return true;
}

void executor_down(struct executor *e)
{
	wire_close(&e->wire);
	kill(e->server.pid, SIGTERM);
	server_finish(&e->server);
	e->server.pid = 0;
}

void executors_up(struct executor_bench *b)
{
	for (size_t i = 0; i < EXECUTORS; i++)
		if (!b->at[i].missing && !executor_up(&b->at[i]))
			executor_die(&b->at[i], "does not start");
}

void executors_down(struct executor_bench *b)
{
	for (size_t i = 0; i < EXECUTORS; i++)
		if (b->at[i].server.pid)
			executor_down(&b->at[i]);
	/* We are a subreaper: whoever it has left behind is our child now. Ours have a moment to
	 * leave by themselves. */
	server_kill_all(2000);
}

long executor_start(struct executor *e, const struct executor_spec *spec)
{
	char text[2048], argv[1024] = "";
	size_t n = 0;

	for (size_t i = 0; spec->argv[i]; i++) {
		n += (size_t)snprintf(argv + n, sizeof(argv) - n, "%s\"%s\"", i ? "," : "",
				      spec->argv[i]);
		if (n >= sizeof(argv))
			executor_die(e, "a command is too long");
	}
	e->last_process++;
	snprintf(text, sizeof(text),
		 "{\"id\":%ld,\"method\":\"process/start\",\"params\":{\"processId\":\"%ld\","
		 "\"argv\":[%s],\"cwd\":\"file:///\",\"env\":{\"PATH\":\"/usr/bin:/bin\"},"
		 "\"tty\":false,\"pipeStdin\":%s,\"arg0\":null}}",
		 ++e->last_id, e->last_process, argv, spec->pipe_stdin ? "true" : "false");
	say(e, text);
	return e->last_process;
}

static size_t encode(const char *bytes, size_t len, char *out)
{
	const unsigned char *p = (const unsigned char *)bytes;
	char *to = out;

	for (; len >= 3; p += 3, len -= 3) {
		unsigned v = (unsigned)p[0] << 16 | (unsigned)p[1] << 8 | p[2];

		*to++ = letters[v >> 18];
		*to++ = letters[v >> 12 & 63];
		*to++ = letters[v >> 6 & 63];
		*to++ = letters[v & 63];
	}
	if (len) {
		unsigned v = (unsigned)p[0] << 16 | (len > 1 ? (unsigned)p[1] << 8 : 0);

		*to++ = letters[v >> 18];
		*to++ = letters[v >> 12 & 63];
		*to++ = len > 1 ? letters[v >> 6 & 63] : '=';
		*to++ = '=';
	}
	return (size_t)(to - out);
}

long executor_write(struct executor *e, long process, const char *bytes, size_t len)
{
	static char text[1 << 20];
	size_t n;

	if (len > sizeof(text) / 2)
		executor_die(e, "a write is too long");
	e->last_id++;
	n = (size_t)snprintf(text, sizeof(text),
			     "{\"id\":%ld,\"method\":\"process/write\",\"params\":{\"processId\":"
			     "\"%ld\",\"writeId\":\"%ld\",\"chunk\":\"",
			     e->last_id, process, e->last_id);
	n += encode(bytes, len, text + n);
	memcpy(text + n, "\"}}", 3);
	wire_send(&e->wire, text, n + 3);
	return e->last_id;
}

size_t executor_decode(const char *data, size_t len, char *out)
{
	static unsigned char value[256];
	size_t pad = len && data[len - 1] == '=' ? 1 + (data[len - 2] == '=') : 0;

	if (!value['B'])
		for (size_t i = 0; i < 64; i++)
			value[(unsigned char)letters[i]] = (unsigned char)i;
	for (size_t i = 0; out && i + 4 <= len; i += 4) {
		const unsigned char *p = (const unsigned char *)data + i;
		unsigned v = (unsigned)value[p[0]] << 18 | (unsigned)value[p[1]] << 12 |
			     (unsigned)value[p[2]] << 6 | value[p[3]];

		*out++ = (char)(v >> 16);
		*out++ = (char)(v >> 8);
		*out++ = (char)v;
	}
	return len / 4 * 3 - pad;
}

/* What follows `key`; NULL: it is not there. Base64 has no quotes, so that no key is found in it.
 */
static const char *after(const struct wire_message *m, const char *key)
{
	const char *at = memmem(m->text, m->len, key, strlen(key));

	return at ? at + strlen(key) : NULL;
}

/* The number that follows `key`, in quotes or not; -1: none. */
static long number(const struct wire_message *m, const char *key)
{
	const char *at = after(m, key), *end = m->text + m->len;
	long n = 0;

	if (!at)
		return -1;
	for (at += at < end && *at == '"'; at < end && *at >= '0' && *at <= '9'; at++)
		n = 10 * n + (*at - '0');
	return n;
}

static void find_chunk(const struct executor *e, const struct wire_message *m,
		       struct executor_event *ev)
{
	const char *end = NULL;

	ev->data = after(m, "\"chunk\":\"");
	if (ev->data)
		end = memchr(ev->data, '"', (size_t)(m->text + m->len - ev->data));
	if (!end)
		executor_die(e, "output without a chunk");
	ev->len = (size_t)(end - ev->data);
}

struct executor_event executor_next(struct executor *e)
{
	struct wire_message m = wire_next(&e->wire);
	struct executor_event ev = { .process = number(&m, "\"processId\":"),
				     .seq = number(&m, "\"seq\":") };

	if (after(&m, "\"method\":\"process/output\"")) {
		ev.said = SAID_OUTPUT;
		find_chunk(e, &m, &ev);
	} else if (after(&m, "\"method\":\"process/exited\"")) {
		ev.said = SAID_EXITED;
		ev.exit_code = number(&m, "\"exitCode\":");
	} else if (after(&m, "\"method\":\"process/closed\"")) {
		ev.said = SAID_CLOSED;
	} else if (after(&m, "\"result\":")) {
		ev.said = SAID_ANSWER;
		ev.id = number(&m, "\"id\":");
	} else {
		fprintf(stderr, "bench: %s: %.*s\n", e->name, (int)m.len, m.text);
		executor_die(e, "not an answer and not an event");
	}
	return ev;
}

void executor_started(struct executor *e)
{
	struct executor_event ev = executor_next(e);

	if (ev.said != SAID_ANSWER || ev.id != e->last_id)
		executor_die(e, "something else than the answer to a start");
}
