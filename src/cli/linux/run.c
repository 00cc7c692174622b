/* run.c - `killick run` with --on, with a relay, or with the command of a container engine. */
#include "cli/cli.h"
#include "cli/run_on.h"
#include "engine_run.h"
#include "run_relay.h"

int verb_run(int argc, char **argv)
{
	if (run_relay_is_meant(argv))
		return run_relay(argc, argv);
	return engine_run_is_meant(argv) ? engine_run(argc, argv) : run_on(argc, argv);
}
