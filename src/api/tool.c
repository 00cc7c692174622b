/* tool.c - functions of killick.h: the names of tools. */
#include <string.h>

#include "killick/killick.h"
#include "base/mem.h"
#include "session/session.h"

int killick_tool_find(struct killick_session *s, const char *qualified, char **out_server,
		      char **out_tool, struct killick_error *e)
{
	const struct name *name;
	int r;

	if (!s || !qualified || !out_server || !out_tool)
		return error_set(e, KILLICK_ERR_USAGE,
				 "s, qualified, out_server and out_tool must not be NULL");
	r = runtime_enter(s->k, e);
	if (r < 0)
		return r;
	name = names_find(&s->names, qualified);
	if (name) {
		*out_server = mem_text(name->server, strlen(name->server));
		*out_tool = mem_text(name->tool, strlen(name->tool));
	}
	runtime_leave(s->k);
	return name ? 0
		    : error_set(e, KILLICK_ERR_NO_SERVER,
				"no tool has the qualified name '%.130s'; list the tools first",
				qualified);
}
