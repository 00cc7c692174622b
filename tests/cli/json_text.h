/* json_text.h - JSON that a test has as a text. */
#pragma once

#include <string.h>

#include "base/json.h"
#include "t.h"

/* The value; borrows the text. Fails the test when the text is not JSON. */
static inline struct json json_text(const char *text)
{
	struct json_fault fault = { .reason = "" };
	struct json v = JSON_NONE;

	if (json_check(text, strlen(text), 0, &v, &fault) < 0)
		FAIL("%s at %zu in %s", fault.reason, fault.offset, text);
	return v;
}
