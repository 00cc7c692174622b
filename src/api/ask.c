/* ask.c - functions of killick.h: to read an ask of a server, and to answer it. */
#include <string.h>

#include "killick/killick.h"
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

int killick_answer(struct killick_ask *a, const char *result_json)
{
	size_t len = result_json ? strlen(result_json) : 0;
	struct json_fault fault;
	struct killick *k;
	struct json json;
	int r;

	if (!a)
		return KILLICK_ERR_USAGE;
	k = a->session->k;
	r = runtime_enter(k, NULL);
	if (r < 0)
		return r;
	if (len == 0 || json_check(result_json, len, 0, &json, &fault) < 0 ||
	    json_type(json) != JSON_OBJECT) {
		ask_decline(a, "the client has no valid answer");
		r = KILLICK_ERR_USAGE;
	} else {
		if (a->lease)
			client_answer(a->lease->server->client, a->id, json.at, json.len);
		ask_over(a);
	}
	runtime_leave(k);
	return r;
}

int killick_decline(struct killick_ask *a, const char *reason)
{
	struct killick *k = a ? a->session->k : NULL;
	int r = a ? runtime_enter(k, NULL) : KILLICK_ERR_USAGE;

	if (r < 0)
		return r;
	ask_decline(a, reason ? reason : "declined");
	runtime_leave(k);
	return 0;
}
