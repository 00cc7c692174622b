/* route.c - finds the server of a request, see call.h */
#include <stdio.h>

#include "session/call.h"
#include "session/pool.h"
#include "session/runtime.h"
#include "session/server.h"
#include "session/session.h"

static struct lease *only_server(const struct killick_session *s)
{
	struct lease *only = NULL;

	for (size_t i = 0; i < s->count; i++) {
		if (lease_config(s->table[i])->disabled)
			continue;
		if (only)
			return NULL;
		only = s->table[i];
	}
	return only;
}

static const char *name_servers(const struct killick_session *s, char *out, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < s->count && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s'%s'", i ? ", " : "",
					 lease_name(s->table[i]));
	return used ? out : "none";
}

struct lease *route_server(const struct killick_session *s, const char *server,
			   struct killick_error *e)
{
	struct lease *l = server ? session_find(s, server) : only_server(s);
	char known[200];

	if (!l && server)
		error_set(e, KILLICK_ERR_NO_SERVER, "the session has no server '%.100s'; it has %s",
			  server, name_servers(s, known, sizeof(known)));
	else if (!l)
		error_set(e, KILLICK_ERR_NO_SERVER,
			  "the session does not have exactly one server; name the server");
	return l;
}

int route_use(struct lease *l, const char *tool, struct killick_error *e)
{
	const struct config_server *cs = lease_config(l);

	if (cs->remote)
		return error_set(e, KILLICK_ERR_NO_SERVER, "%s", cs->problem);
	if (cs->disabled)
		return error_set(e, KILLICK_ERR_NO_SERVER, "server '%s' is disabled by the config",
				 cs->name);
	if (!l->server)
		return error_set(e, lease_code(l), "%s", l->error);
	if (tool && !config_tool_allowed(cs, tool))
		return error_set(e, KILLICK_ERR_NO_SERVER,
				 "the config does not allow tool '%.100s' of server '%s': see its "
				 "enabledTools and disabledTools",
				 tool, cs->name);
	if (lease_refuses(l, e) < 0)
		return e->code;
	return server_use(l->server, e);
}

struct lease *call_route(struct killick_call *c, const char *server, struct killick_error *e)
{
	struct killick_session *s = c->session;
	const struct name *name;
	struct lease *l;

	if (server || c->rq.op != KILLICK_CALL)
		return route_server(s, server, e);
	name = names_find(&s->names, c->rq.name);
	l = name ? session_find(s, name->server) : only_server(s);
	if (!l)
		error_set(e, KILLICK_ERR_NO_SERVER,
			  "tool '%.200s' is not known; list the tools first, or name the server",
			  c->rq.name);
	else if (name)
		c->rq.name = name->tool;
	return l;
}
