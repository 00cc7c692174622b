/* ps.c - the trees of Windows for `killick ps`; see cli/ps.h */
#include "cli/ps.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "trees.h"

const char ps_help[] =
	PS_HELP("OWNER is the program that uses the server, or `gone`. PROCS, RSS and CPU count\n"
		"the server and the processes below it whose parents still run; killick holds the\n"
		"others, too. STATE is\n"
		"  running    the owner uses the server\n"
		"  stopping   the end has begun; after it the reason: stdin, owner, exit ...\n"
		"  overdue    the tree should have ended by now; its keeper still works on it\n");

const char ps_hint[] = "";

static void ps_set_title(struct ps_tree *out)
{
	const struct record *rec = &out->rec;
	const char *text = *rec->name ? rec->name : *rec->command ? rec->command : rec->tree;

	text_clean(text, strlen(text), out->title, sizeof(out->title));
}

static void ps_set_owner(struct ps_tree *out, const struct tree *t)
{
	char name[260];

	text_clean(t->owner, strlen(t->owner), name, sizeof(name));
	out->has_owner = t->rec.owner.pid != 0;
	if (t->has_owner) {
		out->owner_command = mem_dup(t->owner);
		snprintf(out->owner, sizeof(out->owner), "%d %s", t->rec.owner.pid, name);
	} else {
		snprintf(out->owner, sizeof(out->owner), "%s", out->has_owner ? "gone" : "-");
	}
}

static struct ps_tree ps_read_tree(const struct trees *ts, const struct tree *t)
{
	struct ps_tree out = {
		.rec = t->rec,
		.state = tree_state(ts, t),
		.is_ending = t->rec.stopping_ms != 0,
		.is_due = t->rec.deadline_ms != 0,
		.due_in_ms = t->rec.deadline_ms - ts->now_ms,
		.processes = mem_grow(NULL, t->count + 1, sizeof(*out.processes)),
		.count = t->count,
		.rss = t->rss,
		.cpu_ms = t->cpu_ms,
		.age_ms = t->age_ms,
	};

	ps_set_title(&out);
	ps_set_owner(&out, t);
	for (size_t i = 0; i < t->count; i++) {
		const struct tree_process *p = &t->processes[i];

		out.processes[i] = (struct ps_process){ .pid = p->pid,
							.parent = p->parent,
							.command = mem_dup(p->name),
							.rss = p->rss,
							.cpu_ms = p->cpu_ms };
	}
	return out;
}

int ps_end_tree(const struct ps_tree *t)
{
	(void)t;
	return -ENOSYS;
}

bool ps_read(struct ps_trees *out_trees, int *out_status)
{
	AUTO(trees_done) struct trees ts = TREES_INIT;
	int r = trees_read(&ts);

	if (r < 0) {
		cli_say("ps", "cannot read the records: %s", strerror(-r));
		*out_status = EXIT_UNAVAILABLE;
		return false;
	}
	out_trees->list = mem_grow(NULL, ts.count + 1, sizeof(*out_trees->list));
	out_trees->count = ts.count;
	for (size_t i = 0; i < ts.count; i++)
		out_trees->list[i] = ps_read_tree(&ts, &ts.list[i]);
	return true;
}
