/* fit.h - checks the arguments of a call against the schema of the tool, before the call.
 *
 * A mistyped name is the most frequent mistake, and many servers ignore it; a word that is no
 * number would be sent as a string. A value is checked when the schema states its type plainly:
 * integer, number, boolean, or an enum of strings. The server must check all other values.
 */
#pragma once

#include "base/json.h"
#include "talk.h"
#include "toolbox.h"

/* True: every name is in the schema, no required name is missing and every value has its type, or
 * the schema does not state this plainly. False: an error was printed (exit status 64). The error
 * names the command that shows the tool; t->words.list[0] must be the name of the tool. */
bool fit_check(struct talk *t, const struct tool *tool, struct json args);
