/* verbs.c - the verbs that only Linux has, or describes in its own way; see cli/verbs.h */
#include "cli/verbs.h"

#include <stdio.h>

#include "cli/cli.h"
#include "demo.h"
#include "zoo/zoo.h"

static const char zoo_help[] =
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

static int run_zoo(int argc, char **argv)
{
	if (argc < 2 || cli_is_help(argv[1])) {
		fputs(zoo_help, argc < 2 ? stderr : stdout);
		return argc < 2 ? EXIT_USAGE : cli_finish("zoo", EXIT_SUCCESS);
	}
	zoo_verb = argv[0];
	return zoo_main(argc, argv);
}

const struct verb verbs_system[] = {
	{ "reap", "end the trees whose keepers are gone or do not work", verb_reap, reap_help },
	{ "doctor", "print what works on this machine; list orphans of other programs", verb_doctor,
	  doctor_help },
	{ "demo", "compare what a plain client and killick leave behind", verb_demo, demo_help },
	{ "container-end", NULL, verb_container_end, NULL },
	{ "zoo", NULL, run_zoo, zoo_help },
	{ "demo-part", NULL, demo_part, NULL },
	{ NULL, NULL, NULL, NULL },
};
