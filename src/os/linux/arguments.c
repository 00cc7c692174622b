/* arguments.c - see arguments.h */
#include "os/arguments.h"

char **arguments_read(int *argc, char **argv)
{
	(void)argc;
	return argv;
}
