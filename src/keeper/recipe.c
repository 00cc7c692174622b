/* recipe.c - see recipe.h */
#include "recipe.h"

#include <assert.h>
#include <string.h>

const char *const level_words[] = { [LEVEL_AUTO] = "auto",
				    [LEVEL_NAMESPACE] = "namespace",
				    [LEVEL_CGROUP] = "cgroup",
				    [LEVEL_KEEPER] = "keeper",
				    [LEVEL_GROUP] = "group",
				    [LEVEL_JOB] = "job",
				    NULL };

const struct limit_words recipe_limits[LIMIT_COUNT] = {
	[LIMIT_PROCS] = { "maxProcs", "max_procs", "max-procs", "a limit of processes",
			  OPTION_COUNT, "a number from 1 to 1000000" },
	[LIMIT_MEMORY] = { "memory", NULL, "memory", "a limit of memory", OPTION_SIZE,
			   "a size such as 512M or 2G" },
};

/* To the keeper only a terminal makes a difference. */
static const char *const terminal_words[] = {
	[STDIO_PIPES] = "no", [STDIO_NULL] = "", [STDIO_TERMINAL] = "yes", NULL
};

const char *level_name(enum level l)
{
	assert((unsigned)l <= LEVEL_JOB);
	return level_words[l];
}

void recipe_options(struct recipe *r, struct option out[RECIPE_OPTIONS + 1])
{
	const struct option rows[] = {
		{ "grace", OPTION_TIME, "a time such as 2s or 500ms, at most 1h",
		  .ms = &r->grace_ms },
		{ "contain", OPTION_CHOICE, LEVEL_CHOICE, .choice = (unsigned *)&r->contain,
		  .words = level_words },
		{ "name", OPTION_LABEL, "a printable name of at most 63 bytes", .text = &r->name },
		{ "session", OPTION_LABEL, "a printable tag of at most 63 bytes",
		  .text = &r->session },
		{ "linger", OPTION_TIME, "a time such as 30s, at most 1h", .ms = &r->linger_ms },
		{ "arg0", OPTION_TEXT, "a name", .text = &r->arg0 },
		{ "cwd", OPTION_TEXT, "a directory", .text = &r->cwd },
		{ "terminal", OPTION_CHOICE, "yes or no", .choice = (unsigned *)&r->stdio,
		  .words = terminal_words },
		{ "sweep", OPTION_YES_NO, "yes or no", .flag = &r->sweep },
	};
	const size_t count = sizeof(rows) / sizeof(rows[0]);

	static_assert(sizeof(rows) / sizeof(rows[0]) + LIMIT_COUNT == RECIPE_OPTIONS,
		      "RECIPE_OPTIONS counts these rows");
	memcpy(out, rows, sizeof(rows));
	for (int i = 0; i < LIMIT_COUNT; i++)
		out[count + (size_t)i] =
			(struct option){ recipe_limits[i].option, recipe_limits[i].kind,
					 recipe_limits[i].takes, .number = &r->limits[i] };
	out[RECIPE_OPTIONS] = (struct option){ .name = NULL };
}

size_t recipe_write(const struct recipe *r, char *out, size_t size)
{
	struct option said[RECIPE_OPTIONS + 1], otherwise[RECIPE_OPTIONS + 1];
	struct recipe copy = *r, unsaid = RECIPE_DEFAULT;
	size_t need = 0;

	recipe_options(&copy, said);
	recipe_options(&unsaid, otherwise);
	for (int i = 0; i < RECIPE_OPTIONS; i++)
		need += option_write(&said[i], &otherwise[i], need < size ? out + need : NULL,
				     need < size ? size - need : 0);
	return need;
}

bool recipe_is_limited(const struct recipe *r)
{
	for (int i = 0; i < LIMIT_COUNT; i++)
		if (r->limits[i])
			return true;
	return false;
}
