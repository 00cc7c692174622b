/* mcp.c - the least MCP server that a real client connects to.
 *
 * One JSON message per line. Of each line only the values of a few keys at known depths are looked
 * at (scan.h). The whole server, and its ways to misbehave, is protocol.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "zoo/scan.h"
#include "zoo/zoo_internal.h"

void (*zoo_on_initialized)(void);

static void zoo_mcp_say(struct span id, const char *kind, const char *before, struct span middle,
			const char *after)
{
	char out[4096];
	int n = snprintf(out, sizeof(out), "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"%s\":%s%.*s%s}\n",
			 (int)id.len, id.at, kind, before, (int)middle.len,
			 middle.len ? middle.at : "", after);

	if (n > 0 && n < (int)sizeof(out))
		(void)!write(1, out, (unsigned)n);
}

static const char tools[] = "{\"tools\":["
			    "{\"name\":\"echo\",\"description\":\"Answers its "
			    "text\",\"inputSchema\":{\"type\":\"object\","
			    "\"properties\":{\"text\":{\"type\":\"string\"}}}},"
			    "{\"name\":\"hang\",\"description\":\"Never "
			    "answers\",\"inputSchema\":{\"type\":\"object\"}}]}";

static void zoo_mcp_call(struct span id, struct span params)
{
	struct span name = scan_member(params, "name");
	struct span text = scan_member(scan_member(params, "arguments"), "text");

	if (scan_is(name, "hang"))
		return;
	if (!scan_is(name, "echo")) {
		zoo_mcp_say(id, "error", "{\"code\":-32602,\"message\":\"no such tool\"}",
			    SPAN_NONE, "");
		return;
	}
	if (text.len == 0)
		text = (struct span){ "\"\"", 2 };
	zoo_mcp_say(id, "result", "{\"content\":[{\"type\":\"text\",\"text\":", text, "}]}");
}

static void answer(const char *line, size_t len)
{
	struct span msg = { line, len }, id, method, version;

	id = scan_member(msg, "id");
	method = scan_member(msg, "method");
	if (scan_is(method, "notifications/initialized") && zoo_on_initialized)
		zoo_on_initialized();
	if (id.len == 0 || method.len == 0)
		return; /* a notification, or an answer without a request we asked */
	if (scan_is(method, "initialize")) {
		version = scan_member(scan_member(msg, "params"), "protocolVersion");
		if (version.len == 0)
			version = (struct span){ "\"2025-06-18\"", 12 };
		zoo_mcp_say(id, "result", "{\"protocolVersion\":", version,
			    ",\"capabilities\":{\"tools\":{}},"
			    "\"serverInfo\":{\"name\":\"killick-zoo\",\"version\":\"1\"}}");
	} else if (scan_is(method, "tools/list")) {
		zoo_mcp_say(id, "result", tools, SPAN_NONE, "");
	} else if (scan_is(method, "tools/call")) {
		zoo_mcp_call(id, scan_member(msg, "params"));
	} else if (scan_is(method, "ping")) {
		zoo_mcp_say(id, "result", "{}", SPAN_NONE, "");
	} else {
		zoo_mcp_say(id, "error", "{\"code\":-32601,\"message\":\"no such method\"}",
			    SPAN_NONE, "");
	}
}

int zoo_serve(enum zoo_eof eof)
{
	static char buf[65536];
	size_t used = 0, done;

	for (;;) {
		ssize_t n = read(0, buf + used, (unsigned)(sizeof(buf) - used));
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
