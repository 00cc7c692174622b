/* toolbox.h - the tools of a session, and finding a tool by its name.
 *
 * With one server tools have their own names; with several servers the names are qualified:
 * server__tool. Life: TOOLBOX_INIT -> toolbox_open -> toolbox_find ... -> toolbox_done.
 */
#pragma once

#include "talk.h"

struct toolbox {
	struct killick_result *list;
	struct json tools;  /* the array; borrowed from list */
	const char *server; /* the only server; NULL: several, and names are qualified */
};
#define TOOLBOX_INIT                                                                               \
	{                                                                                          \
		.list = NULL                                                                       \
	}

struct tool { /* tool_done frees both strings */
	char *server, *name;
	struct json item; /* as the server listed it */
};

/* Call before talk_open. If the name of one server in the config qualifies `name`, or if `name` is
 * the name of a server that is not disabled, start only that server. */
void toolbox_choose(struct talk *t, const char *name);

/* List the tools. False: an error was printed. */
bool toolbox_open(struct talk *t, struct toolbox *out);

/* Find the tool `name`: a qualified name, or a plain name that only one server has. False: not
 * found; an error with similar names was printed. */
bool toolbox_find(struct talk *t, const struct toolbox *b, const char *name, struct tool *out);

void tool_done(struct tool *tool);
void toolbox_done(struct toolbox *b);
