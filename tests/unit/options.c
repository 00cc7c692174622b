/* options.c - a command line is understood whole or refused with a sentence. */
#include "keeper/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../t.h"

static int parse(struct options *o, struct line *why, char **argv)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	line_init(why);
	return options_parse(argc, argv, o, why);
}
#define PARSE(o_, why_, ...) parse(o_, why_, (char *[]){ __VA_ARGS__, NULL })

TEST(options_defaults)
{
	struct options o;
	struct line why;

	EQ(PARSE(&o, &why, "--", "/usr/bin/npx", "-y", "x"), 0);
	EQ(o.recipe.grace_ms, 2000);
	EQ(o.recipe.contain, LEVEL_AUTO);
	EQ(o.owner, OWNER_PARENT);
	STREQ(o.recipe.name, "npx");
	OK(!o.recipe.session && !o.log && !o.report && o.recipe.sweep);
	EQ(o.control, -1);
	EQ(o.recipe.limits[LIMIT_PROCS], 0);
	EQ(o.recipe.limits[LIMIT_MEMORY], 0);
	STREQ(o.recipe.argv[0], "/usr/bin/npx");
	STREQ(o.recipe.argv[2], "x");
	OK(!o.recipe.argv[3]);
}

TEST(options_all_in_both_spellings)
{
	struct options o;
	struct line why;

	EQ(PARSE(&o, &why, "--grace", "500ms", "--contain=keeper", "--owner", "42", "--max-procs=9",
		 "--memory", "3M", "--name=n", "--session", "s", "--log=l", "--report", "3",
		 "--control", "4", "--sweep=no", "--", "x", "--grace", "--"),
	   0);
	EQ(o.recipe.grace_ms, 500);
	EQ(o.recipe.contain, LEVEL_KEEPER);
	EQ(o.owner, OWNER_PID);
	EQ(o.owner_pid, 42);
	EQ(o.recipe.limits[LIMIT_PROCS], 9);
	EQ(o.recipe.limits[LIMIT_MEMORY], 3 << 20);
	STREQ(o.recipe.name, "n");
	STREQ(o.recipe.session, "s");
	STREQ(o.log, "l");
	STREQ(o.report, "3");
	EQ(o.control, 4);
	OK(!o.recipe.sweep);
	STREQ(o.recipe.argv[1], "--grace"); /* the command's own words are its own */
	STREQ(o.recipe.argv[2], "--");
}

TEST(options_refusals_leave_the_result_alone)
{
	struct options o = { .recipe.grace_ms = 77 };
	struct line why;

	EQ(PARSE(&o, &why, "--grace", "x", "--", "y"), -EINVAL);
	EQ(o.recipe.grace_ms, 77);
	OK(strstr(why.text, "'x'"));
	EQ(PARSE(&o, &why, "--grac", "2s", "--", "y"), -EINVAL);
	OK(strstr(why.text, "'--grac'"));
	EQ(PARSE(&o, &why, "y"), -EINVAL);
	OK(strstr(why.text, "missing '--'"));
}

TEST(options_time_forms)
{
	static const struct {
		const char *text;
		int ms; /* -1: refused */
	} cases[] = {
		{ "2", 2000 },    { "2s", 2000 },     { "500ms", 500 },
		{ "0", 0 },       { "1.5s", 1500 },   { "0.25", 250 },
		{ "1m", 60000 },  { "60m", 3600000 }, { "3600", 3600000 },
		{ "0.0009s", 0 }, { "", -1 },         { "s", -1 },
		{ "-1", -1 },     { "+1", -1 },       { " 1", -1 },
		{ "1 s", -1 },    { "1h", 3600000 },  { "2h", -1 },
		{ "3601", -1 },   { "61m", -1 },      { "1.", 1000 },
		{ "1e3", -1 },    { "1sx", -1 },      { "99999999999999999999", -1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned ms = 12345;
		int r = option_time(cases[i].text, &ms);
		if (cases[i].ms < 0 ? r != -EINVAL || ms != 12345
				    : r != 0 || (int)ms != cases[i].ms)
			FAIL("'%s': %d, %u ms", cases[i].text, r, ms);
	}
}

TEST(options_size_forms)
{
	static const struct {
		const char *text;
		unsigned long long bytes; /* 0: refused */
	} cases[] = {
		{ "1", 1 },
		{ "64K", 65536 },
		{ "64k", 65536 },
		{ "1M", 1 << 20 },
		{ "2G", 2ULL << 30 },
		{ "1MiB", 1 << 20 },
		{ "1MB", 1 << 20 },
		{ "", 0 },
		{ "0", 0 },
		{ "-1", 0 },
		{ "1T", 0 },
		{ "1Mx", 0 },
		{ "M", 0 },
		{ "1.5G", 0 },
		{ "9223372036854775807", 9223372036854775807ULL },
		{ "9223372036854775808", 0 },
		{ "9007199254740993K", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned long long bytes = 0;
		int r = option_size(cases[i].text, &bytes);
		if ((r == 0) != (cases[i].bytes != 0) || bytes != cases[i].bytes)
			FAIL("'%s': %d, %llu bytes", cases[i].text, r, bytes);
	}
}

/* What the library writes is what the keeper reads. */
static void round_trip(const struct recipe *r, size_t words, struct options *out)
{
	static char text[1024];
	char *argv[RECIPE_OPTIONS + 3];
	size_t size = recipe_write(r, NULL, 0), n = 0;
	struct line why;

	OK(size <= sizeof(text));
	EQ(recipe_write(r, text, size), size);
	for (char *p = text; (size_t)(p - text) < size; p += strlen(p) + 1)
		argv[n++] = p;
	EQ(n, words);
	argv[n++] = "--";
	argv[n++] = "x";
	argv[n] = NULL;
	EQ(options_parse((int)n, argv, out, &why), 0);
}

TEST(a_recipe_is_read_as_it_was_written)
{
	const struct recipe r = { .arg0 = "-sh",
				  .cwd = "/a b=c",
				  .name = "--",
				  .session = "s",
				  .contain = LEVEL_NAMESPACE,
				  .limits = { [LIMIT_PROCS] = 7, [LIMIT_MEMORY] = 5ULL << 30 },
				  .grace_ms = 0,
				  .linger_ms = 3600000,
				  .stdio = STDIO_TERMINAL };
	struct options o;

	round_trip(&r, RECIPE_OPTIONS, &o);
	STREQ(o.recipe.arg0, "-sh");
	STREQ(o.recipe.cwd, "/a b=c");
	STREQ(o.recipe.name, "--");
	STREQ(o.recipe.session, "s");
	EQ(o.recipe.contain, LEVEL_NAMESPACE);
	EQ(o.recipe.limits[LIMIT_PROCS], 7);
	EQ(o.recipe.limits[LIMIT_MEMORY], 5LL << 30);
	EQ(o.recipe.grace_ms, 0);
	EQ(o.recipe.linger_ms, 3600000);
	EQ(o.recipe.stdio, STDIO_TERMINAL);
	OK(!o.recipe.sweep);
}

TEST(a_recipe_writes_what_is_not_the_default)
{
	struct recipe r = RECIPE_DEFAULT;
	struct options o;

	round_trip(&r, 0, &o);
	r.stdio = STDIO_NULL; /* the same to a keeper */
	round_trip(&r, 0, &o);
	r.grace_ms = 1;
	round_trip(&r, 1, &o);
	EQ(o.recipe.grace_ms, 1);
	STREQ(o.recipe.name, "x");
}
