/* run.c - `killick run --on`. */
#include "cli/cli.h"
#include "cli/run_on.h"

int verb_run(int argc, char **argv)
{
	return run_on(argc, argv);
}
