/* ask.c - functions of killick.h: to read an ask of a server, and to answer it. */
#include <string.h>

#include "killick/killick.h"
#include "api/pull.h"
#include "base/json.h"
#include "mcp/client.h"
#include "session/ask.h"
#include "session/pool.h"
#include "session/server.h"
#include "session/session.h"

const char *killick_ask_server(const struct killick_ask *a)
{
	return a ? a->server : "";
}

const char *killick_ask_method(const struct killick_ask *a)
{
	return a ? a->method : "";
}

const char *killick_ask_params(const struct killick_ask *a, size_t *out_len)
{
	if (out_len)
		*out_len = a ? a->params_len : 0;
	return a ? a->params : "";
}

int killick_answer(struct killick_ask *a, const char *result_json, struct killick_error *e)
{
	size_t len = result_json ? strlen(result_json) : 0;
	struct json_fault fault;
	struct killick *k;
	struct json json;
	int r;

	if (!a)
		return error_set(e, KILLICK_ERR_USAGE, "a is NULL: give the ask");
	k = a->session->k;
	r = runtime_enter(k, e);
	if (r < 0)
		return r;
	if (len == 0 || json_check(result_json, len, 0, &json, &fault) < 0 ||
	    json_type(json) != JSON_OBJECT) {
		ask_dismiss(a, "the client has no valid answer");
		r = error_set(e, KILLICK_ERR_USAGE,
			      "result_json is not the text of a JSON object; the server was told "
			      "that there is no answer");
	} else {
		if (a->lease)
			client_answer(a->lease->server->client, a->id, json.at, json.len);
		ask_over(a);
	}
	runtime_leave(k);
	return r;
}

/* decided: by the host; else nobody has answered. */
static int ask_refuse(struct killick_ask *a, bool decided, const char *reason,
		      struct killick_error *e)
{
	struct killick *k;
	int r;

	if (!a)
		return error_set(e, KILLICK_ERR_USAGE, "a is NULL: give the ask");
	k = a->session->k;
	r = runtime_enter(k, e);
	if (r < 0)
		return r;
	if (decided)
		ask_decline(a, reason);
	else
		ask_dismiss(a, reason);
	runtime_leave(k);
	return 0;
}

int killick_decline(struct killick_ask *a, const char *reason, struct killick_error *e)
{
	return ask_refuse(a, true, reason ? reason : "declined", e);
}

void pull_drop_ask(struct killick_ask *a)
{
	ask_refuse(a, false, "the host did not fetch the request", NULL);
}
