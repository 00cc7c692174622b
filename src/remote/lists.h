/* lists.h - those who asked an environment what its executor holds.
 *
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include "remote/environment_internal.h"

/* Sent at once if the environment is attached, else when it is. It counts as a user until then. */
void lists_add(struct environment *env, environment_list_fn done, void *ctx);
/* The environment is attached. */
void lists_send(struct environment *env);
/* None of them will be answered. */
void lists_fail(struct environment *env, const struct err *e);
