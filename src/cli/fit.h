/* fit.h - do a call's arguments fit the schema of the tool?
 *
 * Names and simple values are compared, before the call: a mistyped name is the most frequent
 * mistake, and many servers ignore it; a word that is no number would be sent as a string. A value
 * is compared when the schema states its type plainly: integer, number, boolean, or an enum of
 * strings. Other values are for the server to judge.
 */
#pragma once

#include "base/json.h"
#include "talk.h"
#include "toolbox.h"

/* True: every name is in the schema, no required name is missing and every value has its type, or
 * the schema does not tell. False: an error was printed (exit status 64), with the command that
 * shows the tool: the first word of the talk is the name by which the tool was found. */
bool fit_check(struct talk *t, const struct tool *tool, struct json args);
