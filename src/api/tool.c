/* tool.c - functions of killick.h: the names of tools. */
#include <string.h>

#include "killick/killick.h"
#include "base/mem.h"
#include "session/session.h"

int killick_tool_find(struct killick_session *s, const char *qualified, char **out_server,
		      char **out_tool)
{
	const struct name *name;
	int r = s && qualified && out_server && out_tool ? runtime_enter(s->k, NULL)
							 : KILLICK_ERR_USAGE;

	if (r < 0)
		return r;
	name = names_find(&s->names, qualified);
	if (name) {
		*out_server = mem_text(name->server, strlen(name->server));
		*out_tool = mem_text(name->tool, strlen(name->tool));
	}
	runtime_leave(s->k);
	return name ? 0 : KILLICK_ERR_NO_SERVER;
}
