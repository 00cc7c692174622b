/* verbs.h - the verbs of killick-more on this system. */
#pragma once

struct verb {
	const char *name, *summary; /* a verb without a summary is not listed */
	int (*run)(int argc, char **argv);
	const char *help;
};
extern const struct verb verbs[]; /* the last one has no name */
