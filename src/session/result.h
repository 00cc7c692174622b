/* result.h - the result of a request, as one block of memory.
 *
 * Life: result_new -> killick_result_free. Threads: one at a time.
 */
#pragma once

#include "killick/killick.h"
#include "base/json.h"

struct killick_result {
	int code;
	const char *server, *error;
	struct json json; /* in this block, NUL-terminated */
	char *text;       /* made by the first killick_result_text; NULL: not yet */
};

struct result_spec {
	int code;
	const char *server, *error; /* NULL is "" */
	struct json json;
};
/* Never NULL: when there is no memory for the JSON of a server, the result says so instead. */
struct killick_result *result_new(const struct result_spec *spec);
