/* main.c - see zoo.h: finds the mode and runs it. */
#include <stdio.h>
#include <string.h>

#include "zoo/zoo_internal.h"

const char *zoo_verb;
const struct zoo_mode *zoo_more;

/* The mode of that name; NULL: unknown. */
static const struct zoo_mode *find_mode(const char *name)
{
	const struct zoo_mode *tables[] = { zoo_modes, zoo_more };

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		for (const struct zoo_mode *m = tables[i]; m && m->name; m++)
			if (!strcmp(m->name, name))
				return m;
	return NULL;
}

static void list_modes(const struct zoo_mode *m)
{
	for (; m && m->name; m++)
		if (m->about)
			printf("%-12s %s\n", m->name, m->about);
}

int zoo_main(int argc, char **argv)
{
	const struct zoo_mode *mode = argc >= 2 ? find_mode(argv[1]) : NULL;

	if (mode) {
		zoo_begin(argv[1], argc, argv);
		return mode->run(argc - 2, argv + 2);
	}
	if (argc == 2 && !strcmp(argv[1], "--list")) {
		list_modes(zoo_modes);
		list_modes(zoo_more);
		return 0;
	}
	fprintf(stderr, "%s: unknown mode '%s'; '%s --list' lists the modes\n",
		zoo_verb ? "killick: zoo" : "killick-zoo", argc >= 2 ? argv[1] : "",
		zoo_verb ? "killick zoo" : "killick-zoo");
	return 64;
}
