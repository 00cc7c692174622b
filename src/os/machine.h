/* machine.h - what a client asks about the machine of an executor: its system, the user's shell and
 * directories.
 *
 * Threads: any.  Blocking: reads the user database.
 */
#pragma once

#define MACHINE_PATH 4096

struct machine {
	const char *os; /* "linux", "windows" */
	char shell_name[64];
	/* absolute paths in UTF-8; "": not known */
	char shell[MACHINE_PATH], cwd[MACHINE_PATH], home[MACHINE_PATH], temp[MACHINE_PATH];
};

/* envp: the variables from which programs are told where things are; "NAME=value", NULL at the end.
 */
void machine_look(char *const *envp, struct machine *out);
