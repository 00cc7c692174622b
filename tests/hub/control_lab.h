/* control_lab.h - sessions with a zoo server, made by the control API of the hub under a test.
 *
 * Every function fails the test when it cannot do its work.
 */
#pragma once

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mate.h"

#define ZOO t_program("ZOO", "build/tests/zoo/killick-zoo")

/* The member mcpServers with one server `a` of this way. */
static inline const char *servers(const char *way, const char *more)
{
	static char text[600];

	snprintf(text, sizeof(text),
		 "\"mcpServers\":{\"a\":{\"command\":\"%s\",\"args\":[\"mcp\",\"%s\"],\"envVars\":["
		 "\"ZOO_AUDIT\",\"ZOO_FIFO\",\"ZOO_PIDS\",\"ZOO_LIFE_MS\"]%s%s}}",
		 ZOO, way, more ? "," : "", more ? more : "");
	return text;
}

/* Make a session; its id. */
static inline const char *create(struct control *c, const char *way, const char *more)
{
	static char id[32];
	char params[800];

	snprintf(params, sizeof(params), "%s%s%s", servers(way, NULL), more ? "," : "",
		 more ? more : "");
	scan_copy(scan_member(control_do(c, "session.create", params), "session"), id, sizeof(id));
	return id;
}

static inline struct span with_session(struct control *c, const char *method, const char *id,
				       const char *more)
{
	char params[800];

	snprintf(params, sizeof(params), "\"session\":\"%s\"%s%s", id, more ? "," : "",
		 more ? more : "");
	return control_ask(c, method, params);
}

static inline long error_code(struct span line)
{
	return scan_long(mate_at(line, "error", "code", NULL), 0);
}

static inline bool has(struct span s, const char *text)
{
	return s.len && memmem(s.at, s.len, text, strlen(text));
}

#define HAS(span_, text_)                                                                          \
	do {                                                                                       \
		struct span has_span_ = (span_);                                                   \
		if (!has(has_span_, (text_)))                                                      \
			FAIL("%s is not in %.*s", (text_), (int)has_span_.len, has_span_.at);      \
	} while (0)

static inline long hub_sessions(void)
{
	struct control c;
	long n;

	control_open(&c);
	n = scan_long(scan_member(control_do(&c, "hub.status", ""), "sessions"), -1);
	control_close(&c);
	return n;
}

static inline void await_sessions(long count)
{
	double end = t_now_ms() + MATE_MS;

	while (hub_sessions() != count) {
		if (t_now_ms() > end)
			FAIL("%ld sessions instead of %ld", hub_sessions(), count);
		usleep(5000);
	}
}
