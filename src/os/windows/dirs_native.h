/* dirs_native.h - names of dirs.h for people, on Windows. */
#pragma once

#define DIRS_STATE_BACKUPS "%LOCALAPPDATA%\\killick\\backups"
