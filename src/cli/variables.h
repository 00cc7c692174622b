/* variables.h - which variables of this environment servers get, for `killick doctor`.
 *
 * A server of a config gets a short list, and the variables that its config names. A command after
 * `--` gets all.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Is this entry of environ ("NAME=value") passed to every server of a config? */
bool variables_is_passed(const char *entry);
/* Is this entry not passed, although servers often need it: a proxy, a CA, a key? */
bool variables_is_missed(const char *entry);
/* Write the names of the variables of this process for which `is` is true, joined by ", ". Returns
 * their number. */
size_t variables_names(bool (*is)(const char *entry), char *out, size_t size);
