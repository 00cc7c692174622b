/* verbs.c - see verbs.h */
#include "cli/verbs.h"

#include <stddef.h>

#include "cli/cli.h"

const struct verb verbs[] = {
	{ "wrap", "put killick in front of the servers of your MCP clients", verb_wrap, wrap_help },
	{ "unwrap", "restore the commands that wrap changed", verb_unwrap, unwrap_help },
	{ "ps", "list the trees of this user", verb_ps, ps_help },
	{ "reap", "say that nothing is left behind here", verb_reap, reap_help },
	{ "doctor", "print what works on this machine", verb_doctor, doctor_help },
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
	/* with --on; otherwise `killick` runs the verb */
	{ "run", NULL, verb_run, run_on_help },
	{ "run-on", NULL, verb_run, run_on_help },
	{ "complete", NULL, verb_complete, complete_help },
	{ NULL, NULL, NULL, NULL },
};
