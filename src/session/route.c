/* route.c - whose request it is, see call.h */
#include <stdio.h>

#include "session/call.h"
#include "session/pool.h"
#include "session/runtime.h"
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

static void explain(const struct killick_call *c, const char *server, struct killick_error *e)
{
	char known[200];

	if (server)
		error_set(e, KILLICK_ERR_NO_SERVER, "the session has no server '%.100s'; it has %s",
			  server, name_servers(c->session, known, sizeof(known)));
	else if (c->rq.op == KILLICK_CALL)
		error_set(e, KILLICK_ERR_NO_SERVER,
			  "no tool is known as '%.200s'; list the tools first, or name the server",
			  c->rq.name);
	else
		error_set(e, KILLICK_ERR_NO_SERVER,
			  "the session has not exactly one server; name the one that is meant");
}

struct lease *call_route(struct killick_call *c, const char *server, struct killick_error *e)
{
	struct killick_session *s = c->session;
	const struct name *name = NULL;
	struct lease *l;

	if (!server && c->rq.op == KILLICK_CALL)
		name = names_find(&s->names, c->rq.name);
	if (server)
		l = session_find(s, server);
	else
		l = name ? session_find(s, name->server) : only_server(s);
	if (!l)
		explain(c, server, e);
	else if (name)
		c->rq.name = name->tool;
	return l;
}
