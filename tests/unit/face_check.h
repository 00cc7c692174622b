/* face_check.h - texts and checks that the tests of the face share. */
#pragma once

#include "t.h"
#include "unit/face_world.h"

static struct world w;

#define INFO      "{\"name\":\"hub\",\"version\":\"9\"}"
#define INFO_META "\"_meta\":{\"" NS "serverInfo\":" INFO "}"

#define REQUEST(id, method, params)                                                                \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{" params "}}"
#define RESULT(id, result) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":" result "}"
#define NOTE(method, params)                                                                       \
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/" method "\",\"params\":" params "}"
#define CANCEL(id) NOTE("cancelled", "{\"requestId\":" id "}")

/* The next line that the face wrote is an error with this id (as written; NULL: no id member) and
 * this code. */
static inline void check_error(const char *id, int code)
{
	const char *line = world_got(&w);
	char head[200];

	if (id)
		snprintf(head, sizeof(head),
			 "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,", id, code);
	else
		snprintf(head, sizeof(head), "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":%d,", code);
	if (strncmp(line, head, strlen(head)) != 0)
		FAIL("expected %s..., got %s", head, line);
}
