/* dirs_native.h - names of dirs.h for people, on Linux. */
#pragma once

#define DIRS_STATE_BACKUPS "~/.local/state/killick/backups"
