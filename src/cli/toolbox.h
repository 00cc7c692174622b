/* toolbox.h - the tools a session has, and the one that a word on the command line means.
 *
 * With one server tools have their own names; with several they are qualified: server__tool.
 * Life: TOOLBOX_INIT -> toolbox_open -> toolbox_find ... -> toolbox_done.
 */
#pragma once

#include "talk.h"

struct toolbox {
	struct killick_result *list;
	struct json tools;  /* the array; borrowed from list */
	const char *server; /* the only one; NULL: there are several and names are qualified */
};
#define TOOLBOX_INIT                                                                               \
	{                                                                                          \
		.list = NULL                                                                       \
	}

struct tool { /* both strings are to be freed */
	char *server, *name;
	struct json item; /* as listed */
};

/* List the tools. False: it was said why. */
bool toolbox_open(struct talk *t, struct toolbox *out);

/* The tool called `name`: qualified, or in its own words if no other server has one like it. False:
 * it was said why not, and what is close. */
bool toolbox_find(struct talk *t, const struct toolbox *b, const char *name, struct tool *out);

void tool_done(struct tool *tool);
void toolbox_done(struct toolbox *b);
