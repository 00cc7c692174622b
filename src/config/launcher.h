/* launcher.h - programs that may download a server before they start it: npx, uvx, docker, ...
 *
 * The first start of such a server takes as long as the download, and a launcher that is killed in
 * the middle can leave a broken cache behind. So a launcher has more time to start.
 * Threads: any.  Blocking: launcher_is_found looks at files.
 */
#pragma once

#include <stdbool.h>

#include "link/recipe.h"

/* Is this the command of a launcher, alone or behind `killick run [option]... --`? */
bool launcher_is(char *const *argv);

/* Is there a file for this program: a path, or a name in the PATH of the recipe? True also if this
 * cannot be known. */
bool launcher_is_found(const char *program, const struct recipe *r);
