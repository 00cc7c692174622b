/* reap.c - `killick reap`: runs the janitor and prints its results. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/emit.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/hub_talk.h"
#include "engine_spec.h"
#include "keeper/linux/clock.h"
#include "keeper/linux/janitor.h"
#include "trees.h"

enum {
	BUDGET_MS = 4 * JANITOR_BUDGET_MS, /* a user who calls reap may have many trees */
	WAIT_MS = 60000,                   /* longest wait for the keepers of orphaned trees */
	WAIT_STEP_MS = 100,
	CONTAINERS_MS = 60000, /* time limit for all containers of lost trees */
};

const char reap_help[] =
	"usage: killick reap [--dry-run] [--no-wait] [--forget TREE] [--json]\n"
	"\n"
	"End the trees of this user whose keepers are gone or do not work (frozen,\n"
	"traced or stopped). When the owner or one keeper of a tree is gone, the\n"
	"remaining keepers have 8s to end the tree; reap waits that long. Every\n"
	"`killick run` does the same without waiting, so reap rarely finds a tree. Trees\n"
	"whose keepers work are never touched. Overdue trees, and trees of other pid\n"
	"namespaces, are named, and so are trees whose owner or keeper is stopped, and a\n"
	"hub that does not answer. Containers that these trees left are removed.\n"
	"\n"
	"  --dry-run   print which trees would be ended, and end none\n"
	"  --no-wait   skip trees whose keepers still have time\n"
	"  --forget TREE\n"
	"              remove the record of this lost tree, although its container is\n"
	"              perhaps there: for an engine that will never answer\n"
	"  --json      print one JSON object: trees, ended, survivors, waited_ms,\n"
	"              containers, containers_left, overdue, orphaned, elsewhere,\n"
	"              stopped, hub_silent\n"
	"\n"
	"Exit status: 0 no such tree is left; 75 a process survived, a container was not\n"
	"removed, or a tree is overdue or orphaned; 69 /proc belongs to another pid\n"
	"namespace, or --forget found no such tree; 64 usage.\n";

struct reap {
	bool dry_run, no_wait, as_json;
	struct emit json;
	long long waited_ms;
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

/* The janitor reports every tree twice: before and after it sweeps the tree. */
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
	else if (processes > 0)
		printf("%s: %d process%s survived SIGKILL; its record stays, try again later\n",
		       name, processes, processes == 1 ? "" : "es");
	else if (processes < 0)
		printf("%s: timed out while looking for its processes; its record stays, "
		       "try again\n",
		       name);
	fflush(stdout);
}

/* Name a container for the user. All words come from a record, which may be forged, so only the
 * name of a known engine and hex digits are printed. */
static void reap_on_left(void *ctx, const struct record *rec, enum container_fate fate)
{
	const struct reap *reap = ctx;
	struct engine_spec spec;
	char name[128];
	int r = engine_spec_read(rec->engine, false, &spec);

	if (reap->as_json) {
		if (r == 0)
			engine_spec_done(&spec);
		return;
	}
	held_title(rec, name, sizeof(name));
	printf("%s (tree %s): its container is not removed: %s", name, rec->tree,
	       container_reason(fate));
	if (r == 0) {
		printf("; to look for it: %s ps -a --filter label=" ENGINE_LABEL "=%s",
		       container_engine(spec.words[0]), spec.label);
		engine_spec_done(&spec);
	}
	printf("; to give it up: killick reap --forget %s\n", rec->tree);
	fflush(stdout);
}

static void name_tree(const struct trees *ts, const struct held *t)
{
	char name[128], span[24];

	held_title(&t->rec, name, sizeof(name));
	printf("%s: %s (tree %s): ", held_state_name(t->state), name, t->rec.tree);
	if (t->state == HELD_ELSEWHERE) {
		puts("in another pid namespace; only `killick reap` in that namespace can see its "
		     "processes");
		return;
	}
	printf("%zu process%s, ", t->count, t->count == 1 ? "" : "es");
	if (t->state == HELD_ORPHANED)
		printf("its owner or a keeper is gone; its keepers have %s to end it\n",
		       text_span(t->due_ms - ts->procs.now_ms, span));
	else
		printf("late by %s; its keeper (pid %d) still works on it\n",
		       text_span(ts->procs.now_ms - t->rec.deadline_ms, span), t->rec.hold.pid);
}

/* Name the trees in one state, in JSON as the array `state`. Returns how many there are. */
static int name_trees(struct reap *reap, const struct trees *ts, enum held_state state)
{
	int count = 0;

	if (reap->as_json)
		emit_open(&reap->json, held_state_name(state), '[');
	for (size_t i = 0; i < ts->count; i++) {
		const struct held *t = &ts->list[i];

		if (t->state != state)
			continue;
		count++;
		if (reap->as_json)
			json_record(&reap->json, &t->rec, (int)t->count);
		else
			name_tree(ts, t);
	}
	if (reap->as_json)
		emit_close(&reap->json);
	return count;
}

/* The owner or a keeper of a tree whose keepers live may be stopped (SIGSTOP), traced or, as far as
 * this shows, frozen: then the keepers do not see the end of the clients of the owner. NULL: none
 * is. */
static const struct proc *reap_find_stopped(const struct trees *ts, const struct held *t,
					    const char **out_role)
{
	const struct who processes[] = { t->rec.owner, t->rec.watch, t->rec.hold };
	static const char *const roles[] = { "owner", "outer keeper", "inner keeper" };

	for (size_t i = 0; i < sizeof(processes) / sizeof(processes[0]) && t->state == HELD_RUNNING;
	     i++) {
		const struct proc *p =
			procs_find_who(&ts->procs, processes[i].pid, processes[i].start);

		*out_role = roles[i];
		if (p && (p->st.state == 'T' || p->st.state == 't'))
			return p;
	}
	return NULL;
}

/* Name the trees with a stopped owner or keeper. Returns how many there are. */
static int name_stopped(struct reap *reap, const struct trees *ts)
{
	int count = 0;

	if (reap->as_json)
		emit_open(&reap->json, "stopped", '[');
	for (size_t i = 0; i < ts->count; i++) {
		const char *role;
		const struct held *t = &ts->list[i];
		const struct proc *p = reap_find_stopped(ts, t, &role);
		char name[128], command[80];

		if (!p)
			continue;
		count++;
		if (reap->as_json) {
			json_record(&reap->json, &t->rec, (int)t->count);
			continue;
		}
		held_title(&t->rec, name, sizeof(name));
		proc_command(p, command, sizeof(command));
		printf("stopped: %s (tree %s): its %s is stopped: pid %d, %s; to continue it: kill "
		       "-CONT %d; to end it, and the tree with it: kill -KILL %d\n",
		       name, t->rec.tree, role, p->st.pid, command, p->st.pid, p->st.pid);
	}
	if (reap->as_json)
		emit_close(&reap->json);
	return count;
}

/* A hub that hangs holds its servers, and sees no end of a client. 1: it was named. */
static int name_silent_hub(struct reap *reap)
{
	AUTO(hub_talk_close) struct hub_talk t = HUB_TALK_INIT;
	struct err e = ERR_INIT;
	struct json status;
	bool silent = !reap->no_wait && hub_talk_open(&t, false, &e) == 0 &&
		      hub_talk_ask(&t, "hub.status", "{}", &status, &e) == -ETIMEDOUT;

	if (reap->as_json)
		emit_bool(&reap->json, "hub_silent", silent);
	else if (silent)
		puts(e.text);
	return silent;
}

static void sum(struct janitor *all, const struct janitor *one)
{
	all->trees += one->trees;
	all->ended += one->ended;
	all->survivors = one->survivors; /* not a sum: the last sweep has the current state */
	all->unfinished = one->unfinished;
	all->orphaned = one->orphaned;
	all->others = one->others;
	all->containers += one->containers;
	all->containers_left = one->containers_left;
	all->forgotten += one->forgotten;
}

static void say_waiting(const struct reap *reap, const struct janitor *j)
{
	char span[24];

	fprintf(reap->as_json ? stderr : stdout,
		"waiting up to %s for the keepers of %d tree%s whose owner or other keeper is "
		"gone\n",
		text_span(j->due_ms - clock_boot_ms(), span), j->orphaned,
		j->orphaned == 1 ? "" : "s");
	fflush(stdout);
}

/* Wait until the keepers of an orphaned tree have ended it, or until their time is over. */
static void wait_for_keepers(struct reap *reap, const struct janitor *last)
{
	long long begun_ms = clock_boot_ms(), now_ms = begun_ms;
	struct janitor look = *last;
	bool said = false;

	look.dry_run = true;
	look.fn = NULL;
	while (look.orphaned == last->orphaned && now_ms <= last->due_ms) {
		if (!said && now_ms - begun_ms > 2 * WAIT_STEP_MS) {
			say_waiting(reap, &look);
			said = true;
		}
		poll(NULL, 0, WAIT_STEP_MS);
		janitor_sweep(&look);
		now_ms = clock_boot_ms();
	}
	reap->waited_ms += now_ms - begun_ms;
}

/* Sweep, and repeat while keepers have time to end orphaned trees. Most keepers need only a
 * moment. */
static int sweep_and_wait(struct reap *reap, struct janitor *all)
{
	for (;;) {
		struct janitor one = *all;
		int r = janitor_sweep(&one);

		sum(all, &one);
		if (r < 0 || !one.orphaned || reap->no_wait || reap->dry_run ||
		    reap->waited_ms > WAIT_MS)
			return r;
		wait_for_keepers(reap, &one);
	}
}

static void reap_summary(const struct janitor *r, int named)
{
	int containers = r->containers + r->containers_left;

	if (r->containers > 0)
		printf("%d container%s removed\n", r->containers, r->containers == 1 ? "" : "s");
	if (r->containers_left > 0)
		printf("%d container%s not removed: the engine cannot be asked, or did not remove "
		       "%s; try again\n",
		       r->containers_left, r->containers_left == 1 ? "" : "s",
		       r->containers_left == 1 ? "it" : "them");
	if (r->trees == 0 && named == 0 && containers == 0)
		puts("nothing to reap: every tree has its keeper");
	else if (r->trees > 0 && !r->dry_run)
		printf("%d tree%s swept, %d process%s ended, %d left\n", r->trees,
		       r->trees == 1 ? "" : "s", r->ended, r->ended == 1 ? "" : "es", r->survivors);
}

static int reap_refused(int error)
{
	if (error != -EXDEV)
		return trees_refused("reap", error);
	cli_say("reap", "/proc belongs to another pid namespace, so nothing was done; "
			"mount it (mount -t proc proc /proc) or run reap outside");
	return EXIT_UNAVAILABLE;
}

int verb_reap(int argc, char **argv)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	AUTO(trees_done) struct trees ts = TREES_INIT;
	struct reap reap = { .json = EMIT_LINES(&text) };
	struct janitor janitor = { .budget_ms = BUDGET_MS,
				   .containers_ms = CONTAINERS_MS,
				   .left_fn = reap_on_left,
				   .fn = on_tree,
				   .ctx = &reap };
	const struct option options[] = {
		{ "dry-run", .flag = &reap.dry_run },
		{ "no-wait", .flag = &reap.no_wait },
		{ "forget", OPTION_TEXT, "the id of a tree", .text = &janitor.forget },
		{ "json", .flag = &reap.as_json },
		{ .name = NULL },
	};
	struct emit *j = &reap.json;
	int status, r, late, elsewhere;

	if (!cli_options(argc, argv, reap_help, options, &status))
		return status;
	if (reap.as_json) {
		emit_open(j, NULL, '{');
		emit_open(j, "trees", '[');
	}
	janitor.dry_run = reap.dry_run;
	r = sweep_and_wait(&reap, &janitor);
	if (r == 0)
		r = trees_read(&ts);
	if (r < 0)
		return reap_refused(r);
	if (reap.as_json) {
		emit_close(j);
		emit_bool(j, "dry_run", reap.dry_run);
		emit_int(j, "ended", janitor.ended);
		emit_int(j, "survivors", janitor.survivors);
		emit_int(j, "waited_ms", reap.waited_ms);
		emit_int(j, "containers", janitor.containers);
		emit_int(j, "containers_left", janitor.containers_left);
	}
	late = name_trees(&reap, &ts, HELD_OVERDUE) + name_trees(&reap, &ts, HELD_ORPHANED);
	elsewhere = name_trees(&reap, &ts, HELD_ELSEWHERE);
	elsewhere += name_stopped(&reap, &ts) + name_silent_hub(&reap);
	if (reap.as_json) {
		emit_close(j);
		emit_print(j, stdout);
	} else {
		reap_summary(&janitor, late + elsewhere);
	}
	if (janitor.forget && !janitor.forgotten) {
		cli_say("reap", "no lost tree '%s' has a container; run 'killick reap' for the ids",
			janitor.forget);
		return EXIT_UNAVAILABLE;
	}
	return cli_finish("reap",
			  !reap.dry_run && (janitor.survivors || janitor.unfinished ||
					    janitor.containers_left || janitor.orphaned || late)
				  ? EXIT_TRY_AGAIN
				  : EXIT_SUCCESS);
}
