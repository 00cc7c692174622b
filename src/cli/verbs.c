/* verbs.c - see verbs.h */
#include "verbs.h"

#include "cli.h"

/* the verbs that `killick help` lists before those of the system */
static const struct verb first[] = {
	{ "wrap", "put killick in front of the servers of your MCP clients", verb_wrap, wrap_help },
	{ "unwrap", "restore the commands that wrap changed", verb_unwrap, unwrap_help },
	{ "ps", "list the trees of this user", verb_ps, ps_help },
	{ "top", "show the servers of this user live", verb_top, top_help },
	{ NULL, NULL, NULL, NULL },
};

static const struct verb last[] = {
	{ "trust", "allow the config of a project to start its servers", verb_trust, trust_help },
	{ "tools", "list the tools of the servers in a config", verb_tools, tools_help },
	{ "call", "call a tool", verb_call, call_help },
	{ "resources", "list the resources of the servers", verb_resources, resources_help },
	{ "read", "read a resource", verb_read, read_help },
	{ "prompts", "list or get the prompts of the servers", verb_prompts, prompts_help },
	{ "ping", "measure how fast the servers answer", verb_ping, ping_help },
	{ "status", "print which servers work, and why others do not", verb_status, status_help },
	{ "inspect", "print all that one server says about itself", verb_inspect, inspect_help },
	{ "connect", "be an MCP server whose servers are held by the hub", verb_connect,
	  connect_help },
	{ "hub", "hold and share the servers of all sessions of this user", verb_hub, hub_help },
	{ "exec-server", "run and hold servers for other machines", verb_exec_server,
	  exec_server_help },
	{ "help", "explain a verb", verb_help, NULL },
	{ "version", NULL, verb_version, NULL },
	{ "--version", NULL, verb_version, NULL },
	/* with --on, and for the commands of container engines where the system has them;
	 * otherwise `killick` runs the verb */
	{ "run", NULL, verb_run, run_on_help },
	{ "run-on", NULL, verb_run, run_on_help },
	{ "complete", NULL, verb_complete, complete_help },
	{ NULL, NULL, NULL, NULL },
};

const struct verb *verbs_at(size_t index)
{
	const struct verb *const tables[] = { first, verbs_system, last };

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (const struct verb *v = tables[i]; v->name; v++)
			if (index-- == 0)
				return v;
	return NULL;
}
