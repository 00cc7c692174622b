/* reap.c - `killick reap`: runs the janitor now, and says what it found. */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/emit.h"
#include "base/text.h"
#include "cli.h"
#include "keeper/janitor.h"
#include "trees.h"

enum { BUDGET_MS = 4 * JANITOR_BUDGET_MS }; /* asked for by hand: there may be many */

const char reap_help[] =
	"usage: killick reap [--dry-run] [--json]\n"
	"\n"
	"End the trees of this user that nobody keeps any more: those whose two keepers\n"
	"were both killed. Every `killick run` does the same, so there is rarely\n"
	"anything to do. Trees that are kept are never touched; those that should have\n"
	"ended by now are named.\n"
	"\n"
	"  --dry-run   say what would be ended, end nothing\n"
	"  --json      one JSON object: trees, ended, survivors, overdue\n"
	"\n"
	"Exit status: 0 nothing is left; 75 something survived or is overdue; 64 usage.\n";

struct reap {
	bool dry_run, as_json;
	struct emit json;
};

static void json_record(struct emit *j, const struct record *rec, int processes)
{
	emit_open(j, NULL, '{');
	emit_str(j, "tree", rec->tree);
	emit_str(j, "name", rec->name);
	emit_str(j, "command", rec->command);
	emit_int(j, "processes", processes);
	emit_close(j);
}

/* The janitor reports every tree twice: as it finds it and as it leaves it. */
static void on_tree(void *ctx, const struct record *rec, int processes, bool done)
{
	struct reap *reap = ctx;
	char name[128];

	if (reap->as_json) {
		if (!done)
			json_record(&reap->json, rec, processes);
		return;
	}
	held_title(rec, name, sizeof(name));
	if (!done)
		printf("%s %s (tree %s): %d process%s%s\n", reap->dry_run ? "would end" : "ending",
		       name, rec->tree, processes, processes == 1 ? "" : "es",
		       processes == 0 ? ", only its record is left" : "");
	else if (processes > 0 && !reap->dry_run)
		printf("%s: %d process%s survived SIGKILL; its record stays, try again later\n",
		       name, processes, processes == 1 ? "" : "es");
	fflush(stdout);
}

/* Name the trees whose keeper is late. Returns how many there are. */
static int name_overdue(struct reap *reap)
{
	AUTO(trees_done) struct trees ts = TREES_INIT;
	int count = 0;

	if (trees_read(&ts) < 0)
		return 0;
	for (size_t i = 0; i < ts.count; i++) {
		const struct held *t = &ts.list[i];
		char name[128], late[24];

		if (t->state != HELD_OVERDUE)
			continue;
		count++;
		if (reap->as_json) {
			json_record(&reap->json, &t->rec, (int)t->count);
			continue;
		}
		held_title(&t->rec, name, sizeof(name));
		printf("overdue: %s (tree %s): %zu process%s, late by %s; its keeper (pid %d) "
		       "still works on it\n",
		       name, t->rec.tree, t->count, t->count == 1 ? "" : "es",
		       text_span(ts.procs.now_ms - t->rec.deadline_ms, late), t->rec.hold);
	}
	return count;
}

static void summary(const struct janitor *r, int overdue)
{
	if (r->trees == 0 && overdue == 0)
		puts("nothing to reap: every tree has its keeper");
	else if (r->trees > 0 && !r->dry_run)
		printf("%d tree%s swept, %d process%s ended, %d left\n", r->trees,
		       r->trees == 1 ? "" : "s", r->ended, r->ended == 1 ? "" : "es", r->survivors);
}

int verb_reap(int argc, char **argv)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	struct reap reap = { .json = EMIT_LINES(&text) };
	const struct cli_option options[] = {
		{ .name = "dry-run", .flag = &reap.dry_run },
		{ .name = "json", .flag = &reap.as_json },
		{ .name = NULL },
	};
	struct janitor janitor = { .budget_ms = BUDGET_MS, .fn = on_tree, .ctx = &reap };
	struct emit *j = &reap.json;
	int status, r, overdue;

	if (!cli_options(argc, argv, reap_help, options, &status))
		return status;
	if (reap.as_json) {
		emit_open(j, NULL, '{');
		emit_open(j, "trees", '[');
	}
	janitor.dry_run = reap.dry_run;
	r = janitor_sweep(&janitor);
	if (reap.as_json) {
		emit_close(j);
		emit_bool(j, "dry_run", reap.dry_run);
		emit_int(j, "ended", janitor.ended);
		emit_int(j, "survivors", janitor.survivors);
		emit_open(j, "overdue", '[');
	}
	overdue = name_overdue(&reap);
	if (reap.as_json) {
		emit_close(j);
		emit_close(j);
		emit_print(j, stdout);
	} else if (r >= 0) {
		summary(&janitor, overdue);
	}
	if (r < 0) {
		cli_say("reap", "cannot look through the records: %s", strerror(-r));
		return cli_finish("reap", EXIT_UNAVAILABLE);
	}
	return cli_finish("reap", !reap.dry_run && (janitor.survivors || overdue) ? EXIT_TRY_AGAIN
										  : EXIT_SUCCESS);
}
