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
	EQ(o.grace_ms, 2000);
	EQ(o.contain, LEVEL_AUTO);
	EQ(o.owner, OWNER_PARENT);
	STREQ(o.name, "npx");
	OK(!o.session && !o.log && !o.report && o.sweep);
	EQ(o.control, -1);
	EQ(o.limits.max_procs, 0);
	EQ(o.limits.memory, 0);
	STREQ(o.argv[0], "/usr/bin/npx");
	STREQ(o.argv[2], "x");
	OK(!o.argv[3]);
}

TEST(options_all_in_both_spellings)
{
	struct options o;
	struct line why;

	EQ(PARSE(&o, &why, "--grace", "500ms", "--contain=keeper", "--owner", "42", "--max-procs=9",
		 "--memory", "3M", "--name=n", "--session", "s", "--log=l", "--report", "3",
		 "--control", "4", "--sweep=no", "--", "x", "--grace", "--"),
	   0);
	EQ(o.grace_ms, 500);
	EQ(o.contain, LEVEL_KEEPER);
	EQ(o.owner, OWNER_PID);
	EQ(o.owner_pid, 42);
	EQ(o.limits.max_procs, 9);
	EQ(o.limits.memory, 3 << 20);
	STREQ(o.name, "n");
	STREQ(o.session, "s");
	STREQ(o.log, "l");
	STREQ(o.report, "3");
	EQ(o.control, 4);
	OK(!o.sweep);
	STREQ(o.argv[1], "--grace"); /* the command's own words are its own */
	STREQ(o.argv[2], "--");
}

TEST(options_refusals_leave_the_result_alone)
{
	struct options o = { .grace_ms = 77 };
	struct line why;

	EQ(PARSE(&o, &why, "--grace", "x", "--", "y"), -EINVAL);
	EQ(o.grace_ms, 77);
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
		int r = options_time(cases[i].text, &ms);
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
		int r = options_size(cases[i].text, &bytes);
		if ((r == 0) != (cases[i].bytes != 0) || bytes != cases[i].bytes)
			FAIL("'%s': %d, %llu bytes", cases[i].text, r, bytes);
	}
}
