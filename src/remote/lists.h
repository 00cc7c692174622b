/* lists.h - pending requests for the list of an executor's processes.
 *
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include "remote/environment_internal.h"

/* The request is sent at once if the environment is attached, otherwise when it is. The request
 * counts as a user until it is answered. */
void lists_add(struct environment *env, environment_list_fn done, void *ctx);
/* The environment is attached. */
void lists_send(struct environment *env);
/* Fail all pending requests with e. */
void lists_fail(struct environment *env, const struct err *e);
