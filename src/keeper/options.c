/* options.c - see options.h */
#include "options.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>

static int read_owner(const char *text, void *to)
{
	struct options *o = to;
	unsigned long long pid;

	if (strcmp(text, "parent") == 0) {
		o->owner = OWNER_PARENT;
	} else if (strcmp(text, "stdin") == 0) {
		o->owner = OWNER_STDIN;
	} else {
		if (option_number(text, INT_MAX, &pid) < 0)
			return -EINVAL;
		o->owner = OWNER_PID;
		o->owner_pid = (pid_t)pid;
	}
	return 0;
}

/* Never 0, 1 or 2: these belong to the server. */
static int read_descriptor(const char *text, void *to)
{
	unsigned long long n;

	if (option_number(text, INT_MAX, &n) < 0 || n < 3)
		return -EINVAL;
	*(int *)to = (int)n;
	return 0;
}

static int options_refuse(struct line *why, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static int options_refuse(struct line *why, const char *fmt, ...)
{
	va_list ap;

	line_init(why);
	va_start(ap, fmt);
	line_vadd(why, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* The sentence for an option that was not taken. */
static int refuse_option(struct line *why, const struct option_reader *r, enum option_result result)
{
	const char *word = r->argv[r->at];
	const struct option *near = result == OPTION_UNKNOWN ? option_near(r->table, word) : NULL;

	if (result == OPTION_UNKNOWN && word[0] == '-')
		return options_refuse(why,
				      "unknown option '%s'%s%s%s; 'killick run --help' lists the "
				      "options",
				      word, near ? " (did you mean '--" : "",
				      near ? near->name : "", near ? "'?)" : "");
	if (result == OPTION_UNKNOWN)
		return options_refuse(
			why, "missing '--' before '%s'; write: killick run [options] -- %s ...",
			word, word);
	if (result == OPTION_NO_VALUE)
		return options_refuse(why, "--%s needs %s", r->found->name, r->found->takes);
	return options_refuse(why, "--%s '%s' is not %s", r->found->name, r->value,
			      r->found->takes);
}

void options_table(struct options *o, struct option out[OPTIONS_COUNT + 1])
{
	const struct option ours[] = {
		{ "owner", OPTION_OTHER, "parent, stdin or a process id", .other = o,
		  .read = read_owner },
		{ "log", OPTION_TEXT, "a file", .text = &o->log },
		{ "report", OPTION_TEXT, "a file or the number of an open descriptor",
		  .text = &o->report },
		{ "control", OPTION_OTHER, "the number of an open socket above 2",
		  .other = &o->control, .read = read_descriptor },
		{ "users", OPTION_OTHER, "the number of an open epoll above 2", .other = &o->users,
		  .read = read_descriptor },
		{ "container", OPTION_FLAG, NULL, .flag = &o->has_container },
		{ "no-container", OPTION_FLAG, NULL, .flag = &o->no_container },
	};
	enum { OURS = sizeof(ours) / sizeof(ours[0]) };

	_Static_assert(OURS + RECIPE_OPTIONS == OPTIONS_COUNT, "the size of the table");
	memcpy(out, ours, sizeof(ours));
	recipe_options(&o->recipe, out + OURS);
}

int options_parse(int argc, char **argv, struct options *out, struct line *why)
{
	struct options o = {
		.recipe = RECIPE_DEFAULT, .owner = OWNER_PARENT, .control = -1, .users = -1
	};
	struct option_reader r = { .argc = argc, .argv = argv };
	struct option table[OPTIONS_COUNT + 1];

	options_table(&o, table);
	for (; r.at < argc && strcmp(argv[r.at], "--") != 0; r.at++) {
		enum option_result result = option_read(&r, table);

		if (result != OPTION_TAKEN)
			return refuse_option(why, &r, result);
	}
	if (r.at >= argc)
		return options_refuse(
			why, "missing '--' and the command; write: killick run [options] -- "
			     "CMD ARGS...");
	if (r.at + 1 >= argc || !argv[r.at + 1][0])
		return options_refuse(
			why, "no command after '--'; write: killick run [options] -- CMD ARGS...");
	o.recipe.argv = argv + r.at + 1;
	if (!o.recipe.name) {
		const char *slash = strrchr(o.recipe.argv[0], '/');
		o.recipe.name = slash && slash[1] ? slash + 1 : o.recipe.argv[0];
	}
	*out = o;
	return 0;
}
