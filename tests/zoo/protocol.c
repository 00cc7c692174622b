/* protocol.c - reads lines, answers them, in the way it was told. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "protocol.h"
#include "fixtures.h"

#define MAX_LINE (80u << 20) /* more than any client of ours sends */

const struct way *way;
const char *way_argument = "";
const char *protocol_version;
unsigned protocol_lists;
long protocol_read_pause_us;
const char *protocol_tools = "{\"listChanged\":true}";
const char *protocol_more = "";
const char *protocol_scheme = "zoo://";
bool protocol_bare;
const struct zoo_tool *protocol_more_tools;
const char *protocol_tool_more = "";
long protocol_ttl_ms;

double protocol_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

void grow_add(struct grow *t, const char *bytes, size_t len)
{
	if (!t->at || t->len + len + 1 > t->room) {
		char *more = realloc(t->at, (t->len + len + 1) * 2);

		if (!more)
			abort();
		t->room = (t->len + len + 1) * 2;
		t->at = more;
	}
	if (len > 0)
		memcpy(t->at + t->len, bytes, len);
	t->len += len;
	t->at[t->len] = '\0';
}

void grow_adds(struct grow *t, const char *s)
{
	grow_add(t, s, strlen(s));
}

void grow_span(struct grow *t, struct span s)
{
	grow_add(t, s.at, s.len);
}

static void grow_vaddf(struct grow *t, const char *fmt, va_list ap)
{
	char *s = NULL;
	int n = vasprintf(&s, fmt, ap);

	if (n < 0)
		abort();
	grow_add(t, s, (size_t)n);
	free(s);
}

void grow_addf(struct grow *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	grow_vaddf(t, fmt, ap);
	va_end(ap);
}

void grow_done(struct grow *t)
{
	free(t->at);
	*t = (struct grow){ 0 };
}

void protocol_raw(const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = write(1, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(0); /* nobody reads any more */
		bytes += n;
		len -= (size_t)n;
	}
}

void protocol_say_text(struct grow *t)
{
	grow_add(t, "\n", 1);
	(way->put ? way->put : protocol_raw)(t->at, t->len);
	grow_done(t);
}

void protocol_say(const char *fmt, ...)
{
	struct grow t = { 0 };
	va_list ap;

	va_start(ap, fmt);
	grow_vaddf(&t, fmt, ap);
	va_end(ap);
	protocol_say_text(&t);
}

void protocol_answer(const struct request *rq, const char *members, size_t len, bool cacheable)
{
	struct grow t = { 0 };

	grow_adds(&t, "{\"jsonrpc\":\"2.0\",\"id\":");
	grow_span(&t, rq->id);
	grow_adds(&t, ",\"result\":{");
	grow_add(&t, members, len);
	if (rq->modern) {
		grow_adds(&t, len > 0 ? "," : "");
		grow_adds(&t, "\"resultType\":\"complete\"");
		if (cacheable)
			grow_addf(&t, ",\"ttlMs\":%ld,\"cacheScope\":\"private\"", protocol_ttl_ms);
	}
	grow_adds(&t, "}}");
	protocol_say_text(&t);
}

void protocol_answers(const struct request *rq, const char *members)
{
	protocol_answer(rq, members, strlen(members), false);
}

void protocol_error(const struct request *rq, int code, const char *message)
{
	protocol_say("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":%d,\"message\":\"%s\"}}",
		     (int)rq->id.len, rq->id.at, code, message);
}

void protocol_tool_answer(const struct request *rq, struct span json_string, struct span structured)
{
	struct grow t = { 0 };

	grow_adds(&t, "\"content\":[{\"type\":\"text\",\"text\":");
	grow_span(&t, json_string);
	grow_adds(&t, "}]");
	if (structured.len > 0) {
		grow_adds(&t, ",\"structuredContent\":");
		grow_span(&t, structured);
	}
	protocol_answer(rq, t.at, t.len, false);
	grow_done(&t);
}

bool request_is(const struct request *rq, const char *method)
{
	return scan_is(rq->method, method);
}

bool request_calls(const struct request *rq, const char *tool)
{
	return request_is(rq, "tools/call") && scan_is(scan_member(rq->params, "name"), tool);
}

struct span request_arg(const struct request *rq, const char *name)
{
	return scan_member(scan_member(rq->params, "arguments"), name);
}

static void request_read(const char *line, size_t len, struct request *out)
{
	struct span whole = { line, len };

	out->whole = whole;
	out->id = scan_member(whole, "id");
	out->method = scan_member(whole, "method");
	out->params = scan_member(whole, "params");
	out->meta = scan_member(out->params, "_meta");
	out->modern = scan_member(out->meta, "io.modelcontextprotocol/protocolVersion").len > 0;
}

#define MAX_OPEN 4096
static struct open *opens[MAX_OPEN];

struct open *protocol_open(const struct request *rq, enum open_kind kind)
{
	struct open *o = calloc(1, sizeof(*o));
	size_t i = 0;

	while (i < MAX_OPEN && opens[i])
		i++;
	if (!o || i == MAX_OPEN)
		abort();
	o->kind = kind;
	o->line = strndup(rq->whole.at, rq->whole.len);
	if (!o->line)
		abort();
	request_read(o->line, rq->whole.len, &o->rq);
	opens[i] = o;
	return o;
}

void protocol_close(struct open *o)
{
	for (size_t i = 0; i < MAX_OPEN; i++)
		if (opens[i] == o)
			opens[i] = NULL;
	free(o->line);
	free(o);
}

void open_each(void (*fn)(struct open *o))
{
	for (size_t i = 0; i < MAX_OPEN; i++)
		if (opens[i])
			fn(opens[i]);
}

static void initialize(const struct request *rq)
{
	struct span asked = scan_member(rq->params, "protocolVersion");
	char version[64];

	scan_copy(asked, version, sizeof(version));
	if (protocol_bare) {
		protocol_say("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"protocolVersion\":\"%s\","
			     "\"capabilities\":{\"tools\":{}%s},\"serverInfo\":{\"name\":\"bare\","
			     "\"version\":\"1\"}}}",
			     (int)rq->id.len, rq->id.at, version, protocol_more);
		return;
	}
	protocol_say("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"protocolVersion\":\"%s\","
		     "\"capabilities\":{\"tools\":%s,"
		     "\"resources\":{\"subscribe\":true,\"listChanged\":true},"
		     "\"prompts\":{\"listChanged\":true},\"completions\":{},\"logging\":{}%s},"
		     "\"serverInfo\":{\"name\":\"killick-zoo\",\"version\":\"1\"},"
		     "\"instructions\":\"Behave.\"}}",
		     (int)rq->id.len, rq->id.at, protocol_version ? protocol_version : version,
		     protocol_tools, protocol_more);
}

static void notified(const struct request *rq)
{
	struct span id = scan_member(rq->params, "requestId");

	if (request_is(rq, "notifications/initialized"))
		tools_note("initialized");
	else if (request_is(rq, "notifications/roots/list_changed"))
		tools_note("roots");
	else if (request_is(rq, "notifications/cancelled") && !modern_cancelled(id))
		tools_cancelled(id);
}

static void answer(const struct request *rq)
{
	if (rq->modern && !way->modern) {
		protocol_error(rq, -32601, "no such method");
	} else if (!rq->modern && way->not_legacy) {
		protocol_error(rq, -32602, "_meta is missing");
	} else if (rq->modern && modern_answer(rq)) {
		return;
	} else if (!rq->modern && request_is(rq, "initialize")) {
		initialize(rq);
	} else if (!rq->modern && request_is(rq, "ping")) {
		protocol_answers(rq, "");
	} else if (!rq->modern && request_is(rq, "logging/setLevel")) {
		tools_level(scan_member(rq->params, "level"));
		protocol_answers(rq, "");
	} else if (request_is(rq, "tools/list")) {
		tools_list(rq);
	} else if (request_is(rq, "tools/call")) {
		tools_call(rq);
	} else if (!lists_answer(rq)) {
		protocol_error(rq, -32601, "no such method");
	}
}

static void record_line(const char *line, size_t len)
{
	static int fd = -2;
	const char *path = getenv("ZOO_WIRE");

	if (fd == -2)
		fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
	if (fd >= 0 && (write(fd, line, len) < 0 || write(fd, "\n", 1) < 0))
		abort();
}

static void take_line(const char *line, size_t len)
{
	struct request rq;

	record_line(line, len);
	if (len > 0 && line[len - 1] == '\r')
		len--;
	request_read(line, len, &rq);
	if (way->before && way->before(&rq))
		return;
	if (rq.method.len == 0 && rq.id.len > 0)
		tools_answered(rq.id, rq.whole);
	else if (rq.id.len == 0)
		notified(&rq);
	else
		answer(&rq);
	if (way->after)
		way->after(&rq);
}

/* The whole lines of what came; the rest stays. */
static void take_lines(struct grow *in, size_t from)
{
	size_t done = 0;
	char *nl;

	while ((nl = memchr(in->at + from, '\n', in->len - from))) {
		take_line(in->at + done, (size_t)(nl - (in->at + done)));
		done = from = (size_t)(nl + 1 - in->at);
	}
	in->len -= done;
	memmove(in->at, in->at + done, in->len);
	if (in->len > MAX_LINE)
		_exit(2);
}

static void serve(void)
{
	static char chunk[1 << 16];
	struct grow in = { 0 };

	for (;;) {
		double due = tools_next_ms(), left = due - protocol_now_ms();
		struct pollfd p = { .fd = 0, .events = POLLIN };
		ssize_t n;

		if (poll(&p, 1, due > 0 ? (left > 0 ? (int)left + 1 : 0) : -1) == 0) {
			tools_wake();
			continue;
		}
		n = read(0, chunk, protocol_read_pause_us ? 512 : sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		grow_add(&in, chunk, (size_t)n);
		take_lines(&in, in.len - (size_t)n);
		if (protocol_read_pause_us)
			zoo_nap_us(protocol_read_pause_us);
	}
	grow_done(&in);
}

static void record_pid(void)
{
	const char *path = getenv("ZOO_PIDS");
	int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
	char line[64];
	int n = snprintf(line, sizeof(line), "%d %s\n", (int)getpid(), way->name);

	if (fd >= 0) {
		(void)!write(fd, line, (size_t)n);
		close(fd);
	}
}

int zoo_protocol(int argc, char **argv)
{
	const char *name = argc > 0 ? argv[0] : "good";

	for (way = protocol_ways; way->name && strcmp(way->name, name); way++)
		;
	if (!strcmp(name, "--list"))
		for (way = protocol_ways; way->name; way++)
			printf("%-12s %s\n", way->name, way->about);
	if (!way->name) {
		if (strcmp(name, "--list"))
			fprintf(stderr, "killick-zoo: unknown way '%s'; see `mcp --list`\n", name);
		return strcmp(name, "--list") ? 64 : 0;
	}
	way_argument = argc > 1 ? argv[1] : "";
	record_pid();
	zoo_ignore(SIGPIPE);
	if (way->stays)
		zoo_ignore_all();
	if (way->begin)
		way->begin();
	serve();
	if (way->at_eof)
		way->at_eof();
	if (way->stays)
		zoo_linger();
	return 0;
}
