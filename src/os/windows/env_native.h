/* env_native.h - constants of env.h on Windows. */
#pragma once

#define ENV_SEPARATOR    ';' /* between the directories of PATH */
#define ENV_DEFAULT_PATH "C:\\Windows\\System32;C:\\Windows"
#define ENV_EXE          ".exe" /* the end of the names of programs */
