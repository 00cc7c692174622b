/* expand.h - variables in the texts of a config.
 *
 * ${VAR} is the value of VAR, which must be set; ${VAR:-text} is `text` where VAR is unset or
 * empty, as in a shell; ${env:VAR} is another way to write ${VAR}. $${ stands for ${ itself. Every
 * other $ is a plain $, because passwords contain $. Values are not expanded again.
 * Threads: any.  Blocking: never.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/* The value of a variable in env (NAME=value strings, NULL at the end; env may be NULL); NULL if
 * the variable is not set. */
const char *expand_lookup(char *const *env, const char *name, size_t len);

/* Append the expanded text to out. 0; -EINVAL with a sentence in e; -EMSGSIZE when out is full, e
 * is untouched. A failure may leave a part of the text in out. */
int expand(const char *text, char *const *env, struct buf *out, struct err *e);
/* The same for a file name: "~" alone and "~" at the start of "~/..." are HOME. */
int expand_path(const char *text, char *const *env, struct buf *out, struct err *e);
