/* exec.c - see exec.h */
#include "os/exec.h"

#include <errno.h>
#include <unistd.h>

int exec_program(char *const *argv)
{
	execvp(argv[0], argv);
	return -errno;
}
