/* env_native.h - constants of env.h on Linux. */
#pragma once

#define ENV_SEPARATOR    ':' /* between the directories of PATH */
#define ENV_DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"
#define ENV_EXE          "" /* the end of the names of programs */
