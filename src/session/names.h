/* names.h - the names under which tools of several servers are offered to a model, and back.
 *
 * `server__tool`, each part sanitised to [A-Za-z0-9_] (every other character becomes '_', empty
 * becomes '_'), at most NAME_MAX_LEN bytes in all, the server's part at most NAME_SERVER_MAX.
 * Server parts that become the same get `_` and 12 hex digits of a hash of the real name; so do
 * tools that become the same; what is too long is cut and gets the hash; and so does what looks as
 * if it had one already, so that nobody can choose the name that another one gets. (Where 12 digits
 * are the same as well, there are 40.) A name depends on the set of all names alone, not on the
 * order in which they were added.
 *
 * Life: NAMES_INIT -> names_add (all tools) -> names_settle -> names_of, names_find -> names_done.
 * Names that were added since the last names_settle are not found yet.
 *
 * Threads: one at a time.  Blocking: never.
 */
#pragma once

#include <stddef.h>

#include "base/hash.h"

#define NAME_MAX_LEN    128
#define NAME_SERVER_MAX 64

struct name {
	struct hash_node in_table;
	char *server, *tool;              /* as they are */
	char qualified[NAME_MAX_LEN + 1]; /* "" until settled */
};
struct names {
	struct name **list; /* in no promised order */
	size_t count, room;
	/* private */
	struct hash table;      /* by server and tool */
	struct name **order;    /* by qualified name */
	size_t settled;         /* how many are in order */
	unsigned char seed[16]; /* of the table: a server cannot fill one chain */
};
#define NAMES_INIT                                                                                 \
	{                                                                                          \
		.list = NULL                                                                       \
	}

/* Add a tool; an exact duplicate is ignored and returns 1, else 0. */
int names_add(struct names *n, const char *server, const char *tool);
/* Forget all tools of a server. `server` is not to be a string of the list itself. */
void names_remove(struct names *n, const char *server);
/* Make the qualified names. */
void names_settle(struct names *n);
/* From the real names to the qualified one and back; NULL: there is none. Borrowed until the next
 * change. */
const char *names_of(const struct names *n, const char *server, const char *tool);
const struct name *names_find(const struct names *n, const char *qualified);
void names_done(struct names *n);
