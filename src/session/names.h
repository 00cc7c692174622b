/* names.h - the names under which tools of several servers are offered to a model, and back.
 *
 * `server__tool`, each part sanitised to [A-Za-z0-9_] (everything else becomes '_', empty becomes '_'), at most NAME_MAX_LEN bytes
 * in all. Server parts that become the same get `_` and 12 hex digits of a hash of the real name; so do tools of one
 * server; what is too long is cut and gets the hash. The same set of names gives the same result, in whatever order it is added.
 * Life: NAMES_INIT -> names_add (all tools) -> names_settle -> names_of, names_find -> names_done.
 */
#pragma once

#include <stddef.h>

#define NAME_MAX_LEN 128

struct name {
	char *server, *tool;	/* as they are */
	char qualified[NAME_MAX_LEN + 1];
};
struct names {
	struct name *list;
	size_t count, room;
};
#define NAMES_INIT { .list = NULL }

/* Add a tool; an exact duplicate is ignored and returns 1, else 0. */
int names_add(struct names *n, const char *server, const char *tool);
/* Forget all tools of a server. */
void names_remove(struct names *n, const char *server);
/* Make the qualified names. */
void names_settle(struct names *n);
const char *names_of(const struct names *n, const char *server, const char *tool); /* NULL: unknown */
const struct name *names_find(const struct names *n, const char *qualified);	   /* NULL: unknown */
void names_done(struct names *n);
