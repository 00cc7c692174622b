/* fit.h - do the names of a call's arguments fit the schema of the tool?
 *
 * Only names are compared, before the call: a mistyped name is the most frequent mistake, and many
 * servers ignore it. Values are for the server to judge.
 */
#pragma once

#include "base/json.h"
#include "talk.h"
#include "toolbox.h"

/* True: every name is in the schema and no required name is missing, or the schema does not tell.
 * False: an error was printed (exit status 64). */
bool fit_check(struct talk *t, const struct tool *tool, struct json args);
