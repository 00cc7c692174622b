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
/* Is this entry not passed, although servers often need it: a key, a socket? */
bool variables_is_missed(const char *entry);
/* Is this the variable of a proxy that is passed and has a password? Then out is the entry with ***
 * in place of the password. */
bool variables_has_password(const char *entry, char *out, size_t size);
/* Write the names of the variables of this process for which `is` is true, joined by ", ". Returns
 * their number. */
size_t variables_names(bool (*is)(const char *entry), char *out, size_t size);
