/* wrapping.h - plans the edits that put `killick run --` or `killick connect --server NAME --` in
 * front of a server, exchange the first for the second, change the options of the second, name
 * another killick, and take all of it away.
 *
 * The rule that makes unwrap restore the bytes: wrap moves the bytes of the command, with quotes
 * and escapes, into the arguments, and unwrap moves them back. The spaces that wrap writes show
 * whether there were arguments:
 *
 *	before           after                        rule
 *	"args": ["-y"]   ["run", "--", "npx", "-y"]   args existed: a space between the words
 *	"args": [ ]      [ "run", "--", "npx" ]       the space behind [ is before each word
 *	(no args)        ["run","--","npx"]           args are new: no space between the words
 *
 * The words of the hub have the same spaces: ["connect", "--server", "NAME", "--", "npx", "-y"].
 * The name is left out if a client could change it on its way, as in "${HOME}". `--share WORD` and
 * `--idle TIME` may follow.
 *
 * When a client has written the file again, the spaces are lost, and unwrap leaves an empty list
 * where there was none. The command and its arguments are restored in this case, too.
 *
 * Threads: any.  Blocking: never, but see entry_is_one_string.
 */
#pragma once

#include "edit.h"
#include "entry.h"

struct wrapping {
	const char *text;
	size_t len;
	enum format format;
	const char *killick; /* the command to write: a name or a path */
	bool hub;            /* write the words of `killick connect` in place of `killick run` */
	const char *share;   /* with hub: write `--share WORD`, too; NULL: no */
	const char *idle;    /* with hub: write `--idle TIME`, too; NULL: no */
};

/* Add the edits for one entry, which is ENTRY_BARE. */
void wrapping_wrap(const struct wrapping *w, const struct entry *e, struct edits *out);
/* Add the edits that put `connect` in the place of `run`, for one entry, which is ENTRY_WRAPPED and
 * has an inner command. The result has the bytes of a server that was wrapped for the hub at
 * once. */
void wrapping_move_to_hub(const struct wrapping *w, const struct entry *e, struct edits *out);
/* Does the entry, which is ENTRY_WRAPPED, for the hub, and has an inner command, have another value
 * than `share` or `idle`? An option that is NULL does not differ. */
bool wrapping_options_differ(const struct wrapping *w, const struct entry *e);
/* Add the edits that give such an entry the values of `share` and `idle`; an option that is NULL
 * stays as it is. The result has the bytes of a server that was wrapped with these options at
 * once. */
void wrapping_set_options(const struct wrapping *w, const struct entry *e, struct edits *out);
/* Add the edit that names another killick in such an entry, whose own killick is not there. */
void wrapping_set_killick(const struct wrapping *w, const struct entry *e, struct edits *out);
/* Add the edits for one entry, which is ENTRY_WRAPPED and has an inner command. */
void wrapping_unwrap(const struct wrapping *w, const struct entry *e, struct edits *out);
