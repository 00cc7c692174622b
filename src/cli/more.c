/* more.c - the second program: every verb but `run`. `killick VERB ...` executes it with the same
 * arguments. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "demo.h"
#include "zoo/zoo.h"

static int run_zoo(int argc, char **argv)
{
	zoo_verb = argv[0];
	return zoo_main(argc, argv);
}

static const struct verb {
	const char *name, *summary; /* without a summary: not for people */
	int (*run)(int argc, char **argv);
	const char *help;
} verbs[] = {
	{ "ps", "list the trees of this user", verb_ps, ps_help },
	{ "reap", "end the trees that nobody keeps any more", verb_reap, reap_help },
	{ "doctor", "what can be promised on this machine, and orphans of others", verb_doctor,
	  doctor_help },
	{ "demo", "what a plain client leaves behind, and what killick does", verb_demo,
	  demo_help },
	{ "tools", "what the servers of a config can do", verb_tools, tools_help },
	{ "call", "call a tool", verb_call, call_help },
	{ "resources", "what they let one read", verb_resources, resources_help },
	{ "read", "read a resource", verb_read, read_help },
	{ "prompts", "the prompts they offer", verb_prompts, prompts_help },
	{ "ping", "do they answer, and how fast", verb_ping, ping_help },
	{ "status", "are they well; why not", verb_status, status_help },
	{ "inspect", "all that one server says about itself", verb_inspect, inspect_help },
	{ "exec-server", "run and hold servers for other machines", verb_exec_server,
	  exec_server_help },
	{ "help", "explain a verb", verb_help, NULL },
	{ "run", NULL, verb_run, run_on_help }, /* --on; without it is the small program's */
	{ "run-on", NULL, verb_run, run_on_help },
	{ "zoo", NULL, run_zoo, NULL },
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

int verb_help(int argc, char **argv)
{
	const struct verb *v = argc > 1 ? find_verb(argv[1]) : NULL;

	if (argc > 1 && argv[1][0] != '-' && (!v || !v->help)) {
		fprintf(stderr, "killick: help: no verb '%.60s'; try 'killick help'\n", argv[1]);
		return EXIT_USAGE;
	}
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
	fputs("\n'killick VERB --help' says more.\n", stdout);
	return cli_finish("help", EXIT_SUCCESS);
}

/* Or the next thing that is opened would be taken for one of them. They are as good as closed: a
 * read of stdin and a write to the others fail. */
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
	if (argc < 2) {
		fputs("killick: no verb given; try 'killick help'\n", stderr);
		return EXIT_USAGE;
	}
	v = find_verb(argv[1]);
	if (!v && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
		v = find_verb("help");
	if (!v) {
		fprintf(stderr, "killick: unknown verb '%.60s'; try 'killick help'\n", argv[1]);
		return EXIT_USAGE;
	}
	return v->run(argc - 1, argv + 1);
}
