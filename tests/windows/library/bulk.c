/* bulk.c - see bulk.h */
#include "bulk.h"

#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zoo/scan.h"

static void bulk_write(const char *text, size_t len)
{
	while (len > 0) {
		int n = _write(1, text, len < 65536 ? (unsigned)len : 65536);

		if (n <= 0)
			exit(1);
		text += n;
		len -= (size_t)n;
	}
}

static void bulk_say(struct span id, const char *before, struct span middle, const char *after)
{
	char head[512];
	int n = snprintf(head, sizeof(head), "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":%s",
			 (int)id.len, id.at, before);

	bulk_write(head, (size_t)n);
	bulk_write(middle.at, middle.len);
	bulk_write(after, strlen(after));
	bulk_write("}\n", 2);
}

static void bulk_answer(const char *line, size_t len)
{
	struct span msg = { line, len }, params = scan_member(msg, "params");
	struct span id = scan_member(msg, "id"), method = scan_member(msg, "method");

	if (!id.len)
		return;
	if (scan_is(method, "initialize"))
		bulk_say(id, "{\"protocolVersion\":", scan_member(params, "protocolVersion"),
			 ",\"capabilities\":{\"tools\":{}},"
			 "\"serverInfo\":{\"name\":\"bulk\",\"version\":\"1\"}}");
	else if (scan_is(method, "tools/call"))
		bulk_say(id, "{\"content\":[{\"type\":\"text\",\"text\":",
			 scan_member(scan_member(params, "arguments"), "text"), "}]}");
	else
		bulk_say(id,
			 "{\"tools\":[{\"name\":\"echo\",\"inputSchema\":{\"type\":\"object\"}}]",
			 (struct span){ "", 0 }, "}");
}

int bulk_serve(void)
{
	size_t room = 1 << 20, used = 0;
	char *text = malloc(room), *nl;
	int n;

	while (text && (n = _read(0, text + used, 65536)) > 0) {
		size_t begin = 0, seen = used;

		used += (size_t)n;
		while ((nl = memchr(text + seen, '\n', used - seen))) {
			bulk_answer(text + begin, (size_t)(nl - text) - begin);
			begin = seen = (size_t)(nl - text) + 1;
		}
		memmove(text, text + begin, used - begin);
		used -= begin;
		if (room - used < 65536)
			text = realloc(text, room *= 2);
	}
	return 0;
}
