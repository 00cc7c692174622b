/* result.c - functions of killick.h: to read a result. */
#include <stdlib.h>

#include "killick/killick.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/json.h"
#include "session/result.h"

int killick_result_code(const struct killick_result *r)
{
	return r ? r->code : KILLICK_ERR_USAGE;
}

const char *killick_result_error(const struct killick_result *r)
{
	return r ? r->error : "";
}

const char *killick_result_server(const struct killick_result *r)
{
	return r ? r->server : "";
}

const char *killick_result_json(const struct killick_result *r, size_t *out_len)
{
	if (out_len)
		*out_len = r ? r->json.len : 0;
	return r ? r->json.at : "";
}

static struct json result_of(const struct killick_result *r)
{
	return r && r->code == 0 ? r->json : JSON_NONE;
}

const char *killick_result_text(struct killick_result *r)
{
	struct json result = result_of(r);
	AUTO(buf_done) struct buf all = BUF_INIT(result.len); /* never longer than the result */
	struct json_iter it = json_iter(json_get(result, "content"));
	bool first = true;
	int failed = 0;

	if (r && r->text)
		return r->text;
	while (json_each(&it)) {
		AUTO(mem_drop) char *text = NULL;

		if (!json_is(json_get(it.value, "type"), "text") ||
		    !json_string(json_get(it.value, "text"), &text))
			continue;
		if (!first)
			failed |= buf_adds(&all, "\n");
		failed |= buf_adds(&all, text);
		first = false;
	}
	if (!r || !all.len || failed)
		return "";
	r->text = buf_take(&all);
	return r->text;
}

bool killick_result_is_error(const struct killick_result *r)
{
	bool failed = false;

	return json_bool(json_get(result_of(r), "isError"), &failed) && failed;
}

void killick_result_free(struct killick_result *r)
{
	if (!r)
		return;
	free(r->text);
	free(r);
}
