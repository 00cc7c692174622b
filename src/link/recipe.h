/* recipe.h - how to start a process, as the library has it: keeper/recipe.h, and copies of it.
 *
 * A recipe that is opened as a link is borrowed for the time of the call. One that is kept (by a
 * config, a server, a link that waits for its connection, an executor) owns everything it points
 * to, but keeper. Threads: any.  Blocking: never.
 */
#pragma once

#include "keeper/recipe.h"

/* A copy that owns its texts and lists. keeper stays borrowed. */
struct recipe recipe_copy(const struct recipe *from);
/* Free the texts and lists of a recipe that owns them. */
void recipe_done(struct recipe *r);
