/* run.c - `killick run` with --on, or with the command of a container engine. */
#include "cli/cli.h"
#include "cli/run_on.h"
#include "engine_run.h"

int verb_run(int argc, char **argv)
{
	return engine_run_is_meant(argv) ? engine_run(argc, argv) : run_on(argc, argv);
}
