/* mcp.c - the least MCP server that a real client connects to.
 *
 * One JSON message per line. Of each line only the values of a few keys at known depths are looked
 * at; the scanner knows strings and nesting and believes everything else.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "zoo_internal.h"

struct span {
	const char *at;
	int len; /* 0: absent */
};

void (*zoo_on_initialized)(void);

static const char *string_end(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		if (*p == '\\')
			p++;
	return p < end ? p + 1 : end;
}

static const char *blank_end(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == ':'))
		p++;
	return p;
}

static const char *value_end(const char *p, const char *end)
{
	int depth = 0;

	for (; p < end; p++) {
		if (*p == '"') {
			p = string_end(p, end) - 1;
		} else if (*p == '{' || *p == '[') {
			depth++;
		} else if (*p == '}' || *p == ']') {
			if (depth-- == 0)
				return p;
		} else if (*p == ',' && depth == 0) {
			return p;
		}
	}
	return end;
}

/* The value of `key` among the members of the object `obj`. */
static struct span member(struct span obj, const char *key)
{
	const char *p = obj.at, *end = obj.at + obj.len;
	size_t key_len = strlen(key);

	if (obj.len == 0 || *p++ != '{')
		return (struct span){ 0 };
	while (p < end) {
		const char *name, *name_end, *value;

		while (p < end && *p != '"')
			p++;
		name = p + 1;
		p = string_end(p, end);
		name_end = p - 1;
		value = blank_end(p, end);
		p = value_end(value, end);
		if (value < p && (size_t)(name_end - name) == key_len &&
		    !memcmp(name, key, key_len))
			return (struct span){ value, (int)(p - value) };
	}
	return (struct span){ 0 };
}

static bool is(struct span s, const char *text)
{
	size_t len = strlen(text);

	return s.len == (int)len + 2 && s.at[0] == '"' && !memcmp(s.at + 1, text, len);
}

static void say(struct span id, const char *kind, const char *before, struct span middle,
		const char *after)
{
	char out[4096];
	int n = snprintf(out, sizeof(out), "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"%s\":%s%.*s%s}\n",
			 id.len, id.at, kind, before, middle.len, middle.len ? middle.at : "",
			 after);

	if (n > 0 && n < (int)sizeof(out))
		(void)!write(1, out, (size_t)n);
}

static const char tools[] = "{\"tools\":["
			    "{\"name\":\"echo\",\"description\":\"Answers its "
			    "text\",\"inputSchema\":{\"type\":\"object\","
			    "\"properties\":{\"text\":{\"type\":\"string\"}}}},"
			    "{\"name\":\"hang\",\"description\":\"Never "
			    "answers\",\"inputSchema\":{\"type\":\"object\"}}]}";

static void call(struct span id, struct span params)
{
	struct span name = member(params, "name");
	struct span text = member(member(params, "arguments"), "text");

	if (is(name, "hang"))
		return;
	if (!is(name, "echo")) {
		say(id, "error", "{\"code\":-32602,\"message\":\"no such tool\"}",
		    (struct span){ 0 }, "");
		return;
	}
	if (text.len == 0)
		text = (struct span){ "\"\"", 2 };
	say(id, "result", "{\"content\":[{\"type\":\"text\",\"text\":", text, "}]}");
}

static void answer(const char *line, size_t len)
{
	struct span msg = { line, (int)len }, id, method, version;

	id = member(msg, "id");
	method = member(msg, "method");
	if (is(method, "notifications/initialized") && zoo_on_initialized)
		zoo_on_initialized();
	if (id.len == 0 || method.len == 0)
		return; /* a notification, or an answer to nothing we asked */
	if (is(method, "initialize")) {
		version = member(member(msg, "params"), "protocolVersion");
		if (version.len == 0)
			version = (struct span){ "\"2025-06-18\"", 12 };
		say(id, "result", "{\"protocolVersion\":", version,
		    ",\"capabilities\":{\"tools\":{}},"
		    "\"serverInfo\":{\"name\":\"killick-zoo\",\"version\":\"1\"}}");
	} else if (is(method, "tools/list")) {
		say(id, "result", tools, (struct span){ 0 }, "");
	} else if (is(method, "tools/call")) {
		call(id, member(msg, "params"));
	} else if (is(method, "ping")) {
		say(id, "result", "{}", (struct span){ 0 }, "");
	} else {
		say(id, "error", "{\"code\":-32601,\"message\":\"no such method\"}",
		    (struct span){ 0 }, "");
	}
}

int zoo_serve(enum zoo_eof eof)
{
	static char buf[65536];
	size_t used = 0, done;

	for (;;) {
		ssize_t n = read(0, buf + used, sizeof(buf) - used);
		char *nl;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		used += (size_t)n;
		for (done = 0; (nl = memchr(buf + done, '\n', used - done));
		     done = (size_t)(nl + 1 - buf))
			answer(buf + done, (size_t)(nl - (buf + done)));
		if (done == 0 && used == sizeof(buf))
			done = used; /* a line longer than we care for */
		memmove(buf, buf + done, used - done);
		used -= done;
	}
	if (eof == ZOO_STAY)
		zoo_linger();
	return 0;
}
