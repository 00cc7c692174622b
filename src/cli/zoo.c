/* zoo.c - `killick zoo`: one of the hostile servers of the demo. */
#include "zoo/zoo.h"

#include <stdio.h>

#include "cli.h"

const char zoo_help[] =
	"usage: killick zoo MODE\n"
	"       killick zoo --list\n"
	"\n"
	"Run a small MCP server whose processes misbehave as MODE says, for tests and for\n"
	"the demo: killick run -- killick zoo daemon. The server has at most 300\n"
	"processes at a time and lives at most 12 seconds.\n"
	"\n"
	"  --list       list the modes\n"
	"\n"
	"Exit status: that of the server; 64 usage.\n";

int verb_zoo(int argc, char **argv)
{
	if (argc < 2 || cli_is_help(argv[1])) {
		fputs(zoo_help, argc < 2 ? stderr : stdout);
		return argc < 2 ? EXIT_USAGE : cli_finish("zoo", EXIT_SUCCESS);
	}
	zoo_verb = argv[0];
	return zoo_main(argc, argv);
}
