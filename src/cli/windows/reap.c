/* reap.c - `killick reap`: says that there is nothing to reap. */
#include <stdio.h>

#include "base/auto.h"
#include "base/emit.h"
#include "cli/cli.h"

const char reap_help[] =
	"usage: killick reap [--dry-run] [--no-wait] [--json]\n"
	"\n"
	"On Windows there is nothing to reap: the system itself ends a tree when its\n"
	"keeper ends, in whatever way. The options are accepted, so that scripts work on\n"
	"every system.\n"
	"\n"
	"  --json      print one JSON object, as on Linux\n"
	"\n"
	"Exit status: 0; 64 usage.\n";

static void reap_print_json(bool dry_run)
{
	static const char *const states[] = { "overdue", "orphaned", "elsewhere" };
	static const char *const counts[] = { "ended", "survivors", "waited_ms", "containers",
					      "containers_left" };
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_LINES(&text);

	emit_open(&j, NULL, '{');
	emit_open(&j, "trees", '[');
	emit_close(&j);
	emit_bool(&j, "dry_run", dry_run);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		emit_int(&j, counts[i], 0);
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		emit_open(&j, states[i], '[');
		emit_close(&j);
	}
	emit_close(&j);
	emit_print(&j, stdout);
}

int verb_reap(int argc, char **argv)
{
	bool dry_run = false, no_wait = false, as_json = false;
	const struct option options[] = {
		{ "dry-run", .flag = &dry_run },
		{ "no-wait", .flag = &no_wait },
		{ "json", .flag = &as_json },
		{ .name = NULL },
	};
	int status;

	if (!cli_options(argc, argv, reap_help, options, &status))
		return status;
	if (as_json)
		reap_print_json(dry_run);
	else
		puts("nothing to reap: Windows ends a tree together with its keeper");
	return cli_finish("reap", EXIT_SUCCESS);
}
