/* plan.h - a recipe as the params of process/start.
 *
 * executor/spec.h reads these params.
 * Threads: any.  Blocking: never.
 */
#pragma once

#include "base/emit.h"
#include "base/err.h"
#include "link/recipe.h"

#define PLAN_TAG_SIZE 33 /* 128 bits as hex, and NUL */

/* Can the recipe be sent? 0, or -EINVAL or -EILSEQ with a sentence: there is no command, the cwd is
 * missing or not absolute, or something is not UTF-8. */
int plan_check(const struct recipe *r, struct err *e);
/* Can an executor other than killick's run the recipe? 0, or -ENOTSUP with a sentence. */
int plan_check_plain(const struct recipe *r, struct err *e);
/* Write the members of params, except the processId. tag: the value of KILLICK_TREE, by which
 * processes that are left behind can be found; NULL: none. */
void plan_emit(const struct recipe *r, struct emit *j, const char *tag);
