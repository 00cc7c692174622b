/* dirs.h - directories of this user and of this program, as absolute paths in UTF-8.
 *
 * Each function writes a path, and returns false if there is none or if it does not fit. Nothing is
 * created. Threads: one at a time; no thread may change variables meanwhile.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "dirs_native.h"

/* Files that can be made again: ${XDG_CACHE_HOME:-~/.cache}/killick, or
 * %LOCALAPPDATA%\killick\cache. */
bool dirs_cache(char *out, size_t size);
/* Files to be kept: ${XDG_STATE_HOME:-~/.local/state}/killick, or %LOCALAPPDATA%\killick. A help
 * text names the folder `backups` there as DIRS_STATE_BACKUPS. */
bool dirs_state(char *out, size_t size);
/* The working directory. */
bool dirs_current(char *out, size_t size);
/* The file of this program. */
bool dirs_program(char *out, size_t size);
