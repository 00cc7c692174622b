/* verbs.c - see verbs.h */
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

const struct verb verbs[] = {
	{ "wrap", "put killick in front of the servers of your MCP clients", verb_wrap, wrap_help },
	{ "unwrap", "restore the commands that wrap changed", verb_unwrap, unwrap_help },
	{ "ps", "list the trees of this user", verb_ps, ps_help },
	{ "reap", "end the trees whose keepers are gone or do not work", verb_reap, reap_help },
	{ "doctor", "print what works on this machine; list orphans of other programs", verb_doctor,
	  doctor_help },
	{ "demo", "compare what a plain client and killick leave behind", verb_demo, demo_help },
	{ "tools", "list the tools of the servers in a config", verb_tools, tools_help },
	{ "call", "call a tool", verb_call, call_help },
	{ "resources", "list the resources of the servers", verb_resources, resources_help },
	{ "read", "read a resource", verb_read, read_help },
	{ "prompts", "list or get the prompts of the servers", verb_prompts, prompts_help },
	{ "ping", "measure how fast the servers answer", verb_ping, ping_help },
	{ "status", "print which servers work, and why others do not", verb_status, status_help },
	{ "inspect", "print all that one server says about itself", verb_inspect, inspect_help },
	{ "exec-server", "run and hold servers for other machines", verb_exec_server,
	  exec_server_help },
	{ "help", "explain a verb", verb_help, NULL },
	{ "version", NULL, verb_version, NULL },
	{ "--version", NULL, verb_version, NULL },
	/* with --on, and for the commands of container engines; otherwise `killick` runs the
	 * verb */
	{ "run", NULL, verb_run, run_on_help },
	{ "container-end", NULL, verb_container_end, NULL },
	{ "run-on", NULL, verb_run, run_on_help },
	{ "zoo", NULL, run_zoo, zoo_help },
	{ "complete", NULL, verb_complete, complete_help },
	{ "demo-part", NULL, demo_part, NULL },
	{ NULL, NULL, NULL, NULL },
};
