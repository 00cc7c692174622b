/* share_words.h - the lists of words and packages behind the rule of share.h. */
#pragma once

#include "session/share.h"

/* The package that argv starts, if it is on the list of packages that were looked at: its name,
 * static, and whether it keeps state. NULL: not on the list. */
const char *share_known_package(char *const *argv, enum share_state *out);
