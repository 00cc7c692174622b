/* notify.c - functions of killick.h: notifications to servers. */
#include <errno.h>
#include <string.h>

#include "killick/killick.h"
#include "api/method.h"
#include "base/json.h"
#include "session/call.h"
#include "session/pool.h"
#include "session/server.h"
#include "session/session.h"

static int notify_check(const struct killick_session *s, const char *method, const char *params,
			struct json *out, struct killick_error *e)
{
	struct json_fault fault;

	if (!s || !method)
		return error_set(e, KILLICK_ERR_USAGE, "%s is NULL: give the %s",
				 s ? "method" : "s", s ? "method" : "session");
	if (!method_is_free(method))
		return error_set(e, KILLICK_ERR_USAGE,
				 "'%.100s' is not a valid method, or is reserved for the library",
				 method);
	*out = JSON_NONE;
	if (params && (json_check(params, strlen(params), 0, out, &fault) < 0 ||
		       json_type(*out) != JSON_OBJECT))
		return error_set(e, KILLICK_ERR_USAGE, "the params are not a JSON object");
	return 0;
}

/* Can the server get a notification now? KILLICK_OK, or an error that says why not. */
static int notify_is_ready(const struct lease *l, struct killick_error *e)
{
	if (lease_server_state(l) != KILLICK_READY)
		return error_set(e, KILLICK_ERR_START, "server '%s' is %s, not ready",
				 lease_name(l), killick_state_name(lease_server_state(l)));
	if (l->server->lost)
		return error_set(e, KILLICK_ERR_LOST, "%s", l->server->error.text);
	return 0;
}

static int notify_send(struct lease *l, const char *method, struct json params,
		       struct killick_error *e)
{
	int r = client_notify(l->server->client, method, params);

	if (r == 0)
		return 0;
	if (r == -EMSGSIZE)
		return error_set(e, KILLICK_ERR_PROTOCOL, "the notification is too long");
	server_check(l->server);
	return error_set(e, r == -ESTALE ? KILLICK_ERR_SYSTEM : KILLICK_ERR_BUSY, "server '%s': %s",
			 lease_name(l),
			 r == -ENOBUFS  ? "the server does not read its stdin"
			 : r == -ESTALE ? LINK_DISOWNED
					: "the server has closed its stdin");
}

int killick_notify(struct killick_session *s, const char *server, const char *method,
		   const char *params, struct killick_error *e)
{
	struct json json = JSON_NONE;
	struct lease *l;
	int r = notify_check(s, method, params, &json, e);

	if (r == 0)
		r = runtime_enter(s->k, e);
	if (r < 0)
		return r;
	l = route_server(s, server, e);
	if (s->state == SESSION_OPENING)
		r = error_set(e, KILLICK_ERR_USAGE, "the session is not open yet");
	else if (s->state != SESSION_OPEN)
		r = error_set(e, KILLICK_ERR_CLOSED, "the session is closed");
	else if (!l)
		r = KILLICK_ERR_NO_SERVER;
	else if ((r = notify_is_ready(l, e)) == 0)
		r = notify_send(l, method, json, e);
	runtime_leave(s->k);
	return r;
}

int killick_roots_changed(struct killick_session *s, struct killick_error *e)
{
	int r, told = 0;

	if (!s)
		return error_set(e, KILLICK_ERR_USAGE, "s is NULL: give the session");
	r = runtime_enter(s->k, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < s->count; i++)
		if (notify_is_ready(s->table[i], NULL) == 0)
			told += client_roots_changed(s->table[i]->server->client) > 0;
	runtime_leave(s->k);
	return told;
}
