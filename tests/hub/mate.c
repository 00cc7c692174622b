/* mate.c - see mate.h */
#include "mate.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "t_line.h"

#define MODERN      "2026-07-28"
#define LINE_FORMAT "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"%s\",\"params\":{"

static const char *zoo_path(void)
{
	return t_program("ZOO", "build/tests/zoo/killick-zoo");
}

bool mate_is_direct(void)
{
	const char *direct = getenv("MATE_DIRECT");

	return direct && *direct == '1';
}

const char *mate_config(const char *file, const struct mate_server *list)
{
	static char path[160];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", t_audit.dir, file);
	f = fopen(path, "we");
	OK(f);
	fprintf(f, "{\"mcpServers\":{");
	for (const struct mate_server *s = list; s->name; s++) {
		fprintf(f, "%s\"%s\":{\"command\":\"%s\",\"args\":[\"mcp\",\"%s\"%s%s%s],",
			s > list ? "," : "", s->name, zoo_path(), s->way ? s->way : "tagged",
			s->word ? ",\"" : "", s->word ? s->word : "", s->word ? "\"" : "");
		fprintf(f, "\"envVars\":[\"ZOO_AUDIT\",\"ZOO_FIFO\",\"ZOO_PIDS\",\"ZOO_LIFE_MS\"]");
		fprintf(f, "%s%s}", s->more ? "," : "", s->more ? s->more : "");
	}
	fprintf(f, "}}\n");
	fclose(f);
	return path;
}

static void mate_grow(struct mate *m, const char *bytes, size_t len)
{
	if (m->from > 0) {
		memmove(m->at, m->at + m->from, m->len - m->from);
		m->len -= m->from;
		m->from = 0;
	}
	if (m->len + len > m->room) {
		m->room = (m->len + len) * 2;
		m->at = realloc(m->at, m->room);
		OK(m->at);
	}
	memcpy(m->at + m->len, bytes, len);
	m->len += len;
}

void mate_open_program(struct mate *m, const char *const *argv)
{
	int in[2], out[2];

	*m = (struct mate){ .capabilities = "{}" };
	OK(!pipe2(in, O_CLOEXEC) && !pipe2(out, O_CLOEXEC));
	m->pid = t_spawn((char *const *)argv, (int[]){ in[0], out[1], -1 });
	close(in[0]);
	close(out[1]);
	m->in = in[1];
	m->out = out[0];
	OK(!fcntl(m->out, F_SETFL, O_NONBLOCK));
}

void mate_open(struct mate *m, const struct mate_spec *spec)
{
	const char *direct[] = { zoo_path(), "mcp", spec->way ? spec->way : "tagged", spec->word,
				 NULL };
	const char *through[9] = { t_program("KILLICK", "build/killick"), "connect", "--config",
				   spec->config };
	size_t n = 4;

	if (spec->only) {
		through[n++] = "--server";
		through[n++] = spec->only;
	}
	if (spec->tag) {
		through[n++] = "--session";
		through[n++] = spec->tag;
	}
	mate_open_program(m, mate_is_direct() ? direct : through);
	m->capabilities = spec->capabilities ? spec->capabilities : "{}";
	m->modern = spec->version && !strcmp(spec->version, MODERN);
}

void mate_done(struct mate *m)
{
	mate_forget(m);
	if (m->in >= 0)
		close(m->in);
	if (m->out >= 0)
		close(m->out);
	free(m->at);
	free(m->answer);
	free(m->hello);
	*m = (struct mate){ .in = -1, .out = -1 };
}

void mate_close(struct mate *m)
{
	int status;

	close(m->in);
	close(m->out);
	m->in = m->out = -1;
	status = t_wait_child(m->pid, MATE_MS);
	if (status != 0)
		FAIL("`killick connect` ended with status %x after its client", status);
	mate_done(m);
}

void mate_kill(struct mate *m)
{
	kill(m->pid, SIGKILL);
	OK(t_wait_child(m->pid, MATE_MS) >= 0);
	mate_done(m);
}

static void write_all(int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			FAIL("cannot write to the other side: %s", strerror(errno));
		bytes += n;
		len -= (size_t)n;
	}
}

void mate_say(struct mate *m, const char *fmt, ...)
{
	va_list ap;
	size_t len;
	char *line;

	va_start(ap, fmt);
	line = t_line(fmt, ap, &len);
	va_end(ap);
	write_all(m->in, line, len);
	free(line);
}

long mate_ask(struct mate *m, const char *method, const char *members, const char *meta)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	long id = m->next_id++;
	const char *comma = "";

	OK(f);
	fprintf(f, LINE_FORMAT, id, method);
	if (m->modern || meta) {
		fprintf(f, "\"_meta\":{");
		if (m->modern)
			fprintf(f,
				"\"io.modelcontextprotocol/protocolVersion\":\"" MODERN "\","
				"\"io.modelcontextprotocol/clientCapabilities\":%s%s",
				m->capabilities, meta ? "," : "");
		fprintf(f, "%s}", meta ? meta : "");
		comma = ",";
	}
	if (members && *members)
		fprintf(f, "%s%s", comma, members);
	fprintf(f, "}}\n");
	fclose(f);
	write_all(m->in, text, len);
	free(text);
	return id;
}

long mate_call(struct mate *m, const char *tool, const char *arguments, const char *meta)
{
	char *members = NULL;
	long id;

	OK(asprintf(&members, "\"name\":\"%s\",\"arguments\":{%s}", tool,
		    arguments ? arguments : "") > 0);
	id = mate_ask(m, "tools/call", members, meta);
	free(members);
	return id;
}

void mate_hello(struct mate *m, const struct mate_spec *spec)
{
	char members[512];
	struct span s;
	long id;

	if (m->modern) {
		id = mate_ask(m, "server/discover", NULL, NULL);
	} else {
		snprintf(members, sizeof(members),
			 "\"protocolVersion\":\"%s\",\"capabilities\":%s,"
			 "\"clientInfo\":{\"name\":\"mate\",\"version\":\"1\"}",
			 spec->version ? spec->version : "2025-11-25", m->capabilities);
		id = mate_ask(m, "initialize", members, NULL);
	}
	s = mate_result(m, id);
	m->hello = strndup(s.at, s.len);
	if (!m->modern)
		mate_say(m, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

bool mate_read(struct mate *m)
{
	static char chunk[1 << 16];
	ssize_t n = read(m->out, chunk, sizeof(chunk));

	if (n > 0)
		mate_grow(m, chunk, (size_t)n);
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

bool mate_line(struct mate *m, struct span *out)
{
	char *start = m->at + m->from;
	char *nl = m->len > m->from ? memchr(start, '\n', m->len - m->from) : NULL;

	if (!nl)
		return false;
	*out = (struct span){ start, (size_t)(nl - start) };
	m->from = (size_t)(nl + 1 - m->at);
	m->received++;
	return true;
}

/* The next line, or failure at the deadline. `what` is waited for. */
static struct span mate_next(struct mate *m, double end, const char *what)
{
	struct span line;

	while (!mate_line(m, &line)) {
		double left = end - t_now_ms();

		if (left <= 0 || !t_wait_fd(m->out, POLLIN, (int)left))
			FAIL("nothing came for %d ms; waited for %s", MATE_MS + m->more_ms, what);
		if (!mate_read(m))
			FAIL("the connection has ended; waited for %s", what);
	}
	return line;
}

static void mate_keep(struct mate *m, struct span line)
{
	struct mate_note **at = &m->notes, *n = calloc(1, sizeof(*n));

	OK(n);
	while (*at)
		at = &(*at)->next;
	n->line = strndup(line.at, line.len);
	*at = n;
}

/* Is the line the answer to this request? */
static bool answers(struct span line, long id)
{
	return scan_member(line, "method").len == 0 && scan_long(scan_member(line, "id"), -1) == id;
}

/* Remove the note; its line is valid until the next. */
static struct span mate_take(struct mate *m, struct mate_note **at)
{
	struct mate_note *n = *at;

	*at = n->next;
	free(m->answer);
	m->answer = n->line;
	free(n);
	return (struct span){ m->answer, strlen(m->answer) };
}

struct span mate_answer(struct mate *m, long id)
{
	double end = t_now_ms() + MATE_MS + m->more_ms;
	char what[48];

	for (struct mate_note **at = &m->notes; *at; at = &(*at)->next)
		if (answers((struct span){ (*at)->line, strlen((*at)->line) }, id))
			return mate_take(m, at);
	snprintf(what, sizeof(what), "the answer to request %ld", id);
	for (;;) {
		struct span line = mate_next(m, end, what);

		if (!answers(line, id)) {
			mate_keep(m, line);
			continue;
		}
		free(m->answer);
		m->answer = strndup(line.at, line.len);
		return (struct span){ m->answer, line.len };
	}
}

struct span mate_result(struct mate *m, long id)
{
	struct span line = mate_answer(m, id), result = scan_member(line, "result");

	if (result.len == 0)
		FAIL("an error instead of a result: %.*s", (int)line.len, line.at);
	return result;
}

long mate_error(struct mate *m, long id)
{
	struct span line = mate_answer(m, id), error = scan_member(line, "error");

	if (error.len == 0)
		FAIL("a result instead of an error: %.*s", (int)line.len, line.at);
	return scan_long(scan_member(error, "code"), 0);
}

struct span mate_do(struct mate *m, const char *tool, const char *arguments)
{
	return mate_result(m, mate_call(m, tool, arguments, NULL));
}

const char *mate_text(struct mate *m, const char *tool, const char *arguments)
{
	static char text[4096];
	struct span content = scan_member(mate_do(m, tool, arguments), "content");

	scan_copy(scan_member(mate_item(content, 0), "text"), text, sizeof(text));
	return text;
}

long mate_count(struct mate *m, const char *key)
{
	return scan_long(mate_at(mate_do(m, "counts", ""), "structuredContent", key, NULL), 0);
}

static bool note_is(const struct mate_note *n, const char *method, const char *text)
{
	return strstr(n->line, method) && (!text || strstr(n->line, text));
}

size_t mate_noted(struct mate *m, const char *method, const char *text)
{
	size_t count = 0;

	for (struct mate_note *n = m->notes; n; n = n->next)
		count += note_is(n, method, text);
	return count;
}

struct span mate_note(struct mate *m, const char *method, const char *text)
{
	double end = t_now_ms() + MATE_MS;

	for (;;) {
		for (struct mate_note **at = &m->notes; *at; at = &(*at)->next)
			if (note_is(*at, method, text))
				return mate_take(m, at);
		mate_keep(m, mate_next(m, end, method));
	}
}

void mate_forget(struct mate *m)
{
	while (m->notes) {
		struct mate_note *n = m->notes;

		m->notes = n->next;
		free(n->line);
		free(n);
	}
}

int mate_first(struct mate *a, struct mate *b)
{
	struct pollfd p[2] = { { .fd = a->out, .events = POLLIN },
			       { .fd = b->out, .events = POLLIN } };

	if (poll(p, 2, MATE_MS) <= 0)
		FAIL("nothing came for %d ms", MATE_MS);
	return p[0].revents ? 0 : 1;
}

void mate_settle(struct mate *m)
{
	mate_do(m, "echo", "\"text\":\"settled\"");
}

struct span mate_item(struct span array, size_t i)
{
	const char *p = array.at + 1, *end = array.at + array.len;
	int depth = 0;
	bool quoted = false;
	const char *start = p;

	for (; p < end; p++) {
		if (quoted) {
			if (*p == '\\')
				p++;
			else if (*p == '"')
				quoted = false;
			continue;
		}
		quoted = *p == '"';
		depth += (*p == '{' || *p == '[') - (*p == '}' || *p == ']');
		if (depth < 0 || (depth == 0 && *p == ',')) {
			if (i-- == 0)
				return p > start ? (struct span){ start, (size_t)(p - start) }
						 : SPAN_NONE;
			start = p + 1;
		}
	}
	return SPAN_NONE;
}

struct span mate_at(struct span s, const char *key, ...)
{
	va_list ap;

	va_start(ap, key);
	for (; key; key = va_arg(ap, const char *))
		s = scan_member(s, key);
	va_end(ap);
	return s;
}
