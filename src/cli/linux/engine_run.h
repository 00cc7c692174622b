/* engine_run.h - `killick run -- docker run ...`: prepares the command of a container engine.
 *
 * The program `killick` executes this program (killick-more) for a command of an engine. This
 * program adds options to the command, and executes `killick` again, which becomes the keeper. The
 * process is the same, so its parent, the owner, stays the same, too.
 */
#pragma once

#include <stdbool.h>

/* Is this `killick run` without --on? argv[0] is the verb. */
bool engine_run_is_meant(char **argv);

/* Returns only when the keeper could not be executed; the result is the exit status. */
int engine_run(int argc, char **argv);
