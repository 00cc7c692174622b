/* more.c - killick-more: every verb except `run`. `killick VERB ...` executes this program with the
 * same arguments.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
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

static const struct verb {
	const char *name, *summary; /* a verb without a summary is not listed */
	int (*run)(int argc, char **argv);
	const char *help;
} verbs[] = {
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
};
enum { VERBS = sizeof(verbs) / sizeof(verbs[0]) };

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; i < VERBS; i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

/* Print the usage error for an unknown verb, with the listed verb that the user may mean. */
static int refuse_verb(const char *name)
{
	const char *best = NULL;
	size_t least = OPTION_NEAR_MAX;

	for (size_t i = 0; i < VERBS; i++) {
		size_t d = option_distance(name, verbs[i].name);

		if ((verbs[i].summary || strcmp(verbs[i].name, "run") == 0) && d < least &&
		    option_is_near(name, verbs[i].name)) {
			best = verbs[i].name;
			least = d;
		}
	}
	cli_error("killick: unknown verb '%.60s'%s%s%s; 'killick --help' lists the verbs", name,
		  best ? " (did you mean '" : "", best ? best : "", best ? "'?)" : "");
	return EXIT_USAGE;
}

int verb_help(int argc, char **argv)
{
	const struct verb *v = argc > 1 ? find_verb(argv[1]) : NULL;

	if (argc > 1 && argv[1][0] != '-' && (!v || !v->help))
		return refuse_verb(argv[1]);
	if (v && v->help) {
		fputs(v->help, stdout);
		return cli_finish("help", EXIT_SUCCESS);
	}
	fputs("usage: killick VERB [OPTION]...\n\n"
	      "  run         hold a server: killick run [OPTION]... -- CMD [ARG]...\n",
	      stdout);
	for (size_t i = 0; i < VERBS; i++)
		if (verbs[i].summary)
			printf("  %-11s %s\n", verbs[i].name, verbs[i].summary);
	fputs("\n'killick VERB --help' describes a verb.\n", stdout);
	return cli_finish("help", EXIT_SUCCESS);
}

/* Open closed standard descriptors, because the next open would otherwise get their numbers. They
 * behave as if closed: a read of stdin and a write to the others fail. */
static void open_standard_files(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
	const struct verb *v;

	open_standard_files();
	cli_start();
	cli_program = argc > 0 ? argv[0] : "";
	if (argc < 2) {
		fputs("killick: no verb given; try 'killick help'\n", stderr);
		return EXIT_USAGE;
	}
	v = find_verb(argv[1]);
	if (!v && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
		v = find_verb("help");
	if (!v)
		return refuse_verb(argv[1]);
	return v->run(argc - 1, argv + 1);
}
