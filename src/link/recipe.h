/* recipe.h - recipes in the library: keeper/recipe.h, and copies of recipes.
 *
 * A recipe that is opened as a link is borrowed for the time of the call. A recipe that is kept (by
 * a config, a server, a link that waits for its connection, an executor) owns everything it points
 * to, except keeper. Threads: any.  Blocking: never.
 */
#pragma once

#include "keeper/recipe.h"

/* A copy that owns its texts and lists. keeper stays borrowed. */
struct recipe recipe_copy(const struct recipe *from);
/* Free the texts and lists of a recipe that owns them. */
void recipe_done(struct recipe *r);
