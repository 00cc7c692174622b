/* names.h - qualified names, under which tools of several servers are offered to a model.
 *
 * `server__tool`, each part sanitised to [A-Za-z0-9_] (every other character becomes '_', empty
 * becomes '_'), at most NAME_MAX_LEN bytes in all, the server's part at most NAME_SERVER_MAX.
 * Server parts that become equal get `_` and 12 hex digits of a hash of the real name; so do tools
 * that become equal. A name that is too long is cut and gets the hash. A name that looks as if it
 * had a hash already gets one, too, so that no server can choose the qualified name of another
 * tool. (If the 12 digits are equal as well, 40 digits are used.) A qualified name depends only on
 * the set of all names, not on the order in which the names were added.
 *
 * Life: NAMES_INIT -> names_add (all tools) -> names_settle -> names_of, names_find -> names_done.
 * Names that were added since the last names_settle are not found yet.
 *
 * Threads: one at a time.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/hash.h"

#define NAME_MAX_LEN    128
#define NAME_SERVER_MAX 64

struct name {
	struct hash_node in_table;
	char *server, *tool;              /* the real names */
	bool repeatable;                  /* the tool says that it may be called again */
	char qualified[NAME_MAX_LEN + 1]; /* "" until settled */
};
struct names {
	struct name **list; /* in no particular order */
	size_t count, room;
	/* private */
	struct hash table;      /* by server and tool */
	struct name **order;    /* by qualified name */
	size_t settled;         /* number of names in order */
	unsigned char seed[16]; /* of the table, so that a server cannot fill one chain */
};
#define NAMES_INIT                                                                                 \
	{                                                                                          \
		.list = NULL                                                                       \
	}

/* Add a tool. Returns 0, or 1 for an exact duplicate, which is ignored. */
int names_add(struct names *n, const char *server, const char *tool);
/* Does the tool only read, or is it idempotent, by its annotations in the list? */
void names_set_repeatable(struct names *n, const char *server, const char *tool);
bool names_is_repeatable(const struct names *n, const char *server, const char *tool);
/* Forget all tools of a server. `server` must not be a string of the list itself. */
void names_remove(struct names *n, const char *server);
/* Make the qualified names. */
void names_settle(struct names *n);
/* Find the qualified name of a tool, or the tool of a qualified name; NULL: not found. Borrowed
 * until the next change. */
const char *names_of(const struct names *n, const char *server, const char *tool);
const struct name *names_find(const struct names *n, const char *qualified);
void names_done(struct names *n);
