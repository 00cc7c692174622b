/* strings.h - lists of strings as programs get them: pointers, with NULL behind the last.
 *
 * A list and its strings are allocated one by one, so that a list can grow while it is read.
 * Where a list may be NULL it counts as empty. Threads: any.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

size_t strings_count(char *const *list);
/* A copy for strings_free. NULL stays NULL. */
char **strings_copy(char *const *list);
void strings_free(char **list);
/* Append `text`, which belongs to the list from then on. Counts the list each time, so only for
 * short lists. */
void strings_add(char ***list, char *text);
bool strings_have(char *const *list, const char *text);
