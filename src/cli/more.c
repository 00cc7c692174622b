/* more.c - killick-more: every verb except `run`. `killick VERB ...` executes this program with the
 * same arguments.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "os/arguments.h"
#include "os/file.h"
#include "verbs.h"

static const struct verb *find_verb(const char *name)
{
	const struct verb *v;

	for (size_t i = 0; (v = verbs_at(i)); i++)
		if (strcmp(v->name, name) == 0)
			return v;
	return NULL;
}

/* Print the usage error for an unknown verb, with the listed verb that the user may mean. */
static int refuse_verb(const char *name)
{
	const char *best = NULL;
	const struct verb *v;
	size_t least = OPTION_NEAR_MAX;

	for (size_t i = 0; (v = verbs_at(i)); i++) {
		size_t d = option_distance(name, v->name);

		if ((v->summary || strcmp(v->name, "run") == 0) && d < least &&
		    option_is_near(name, v->name)) {
			best = v->name;
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
	for (size_t i = 0; (v = verbs_at(i)); i++)
		if (v->summary)
			printf("  %-11s %s\n", v->name, v->summary);
	fputs("\n'killick VERB --help' describes a verb.\n", stdout);
	return cli_finish("help", EXIT_SUCCESS);
}

int main(int argc, char **argv)
{
	const struct verb *v;

	argv = arguments_read(&argc, argv);
	file_open_standard();
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
