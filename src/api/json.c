/* json.c - functions of killick.h: to find a value in JSON text. */
#include "killick/killick.h"
#include "base/json.h"

static struct json json_text_find(const char *json, size_t len, const char *path)
{
	struct json_fault fault;
	struct json v;

	if (!json || !path || json_check(json, len, 0, &v, &fault) < 0)
		return JSON_NONE;
	return *path ? json_find(v, path) : v;
}

const char *killick_json_find(const char *json, size_t len, const char *path, size_t *out_len)
{
	struct json v = json_text_find(json, len, path);

	if (out_len)
		*out_len = v.at ? v.len : 0;
	return v.at;
}

char *killick_json_string(const char *json, size_t len, const char *path)
{
	char *text = NULL;

	return json_string(json_text_find(json, len, path), &text) ? text : NULL;
}
