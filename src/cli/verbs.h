/* verbs.h - the verbs of killick-more on this system.
 *
 * verbs.c has the verbs that are the same on every system. The folder of a system has verbs_system:
 * the verbs that only this system has, or that it describes in its own way.
 */
#pragma once

#include <stddef.h>

struct verb {
	const char *name, *summary; /* a verb without a summary is not listed */
	int (*run)(int argc, char **argv);
	const char *help;
};

/* Returns the verb with this index, in the order of `killick help`; NULL: index is past the last
 * verb. */
const struct verb *verbs_at(size_t index);

extern const struct verb verbs_system[]; /* the last one has no name */
