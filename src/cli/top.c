/* top.c - `killick top`: a live view of the servers that killick holds for this user. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/emit.h"
#include "base/text.h"
#include "cli.h"
#include "os/console.h"
#include "os/file.h"
#include "os/screen.h"
#include "os/time.h"
#include "ps_view.h"
#include "top_link.h"
#include "top_view.h"

#define VERB "top"

enum {
	TOP_INTERVAL_MS = 1000,
	TOP_FIRST_MS = 1000, /* for the first answers of the hub */
	TOP_ONCE_MS = 5000,
	TOP_SLOW_MS = 3000, /* a hub that does not answer for this time is named */
	TOP_EVENT_MS = 100, /* between two refreshes because of events */
	TOP_WIDTH = 80,     /* where stdout is no terminal */
};

const char top_help[] =
	"usage: killick top [--interval TIME]\n"
	"       killick top --once | --json\n"
	"\n"
	"Show what killick holds for this user, what sharing and rest have saved, and\n"
	"whether a process was lost. Below are the servers of the hub with their sessions\n"
	"and calls, the trees of `killick run` beside them, and the sessions of the hub.\n"
	"Works without a hub, too.\n"
	"\n"
	"  --interval TIME   read everything again after this time (1s)\n"
	"  --once            print one picture and exit; no terminal is needed\n"
	"  --json            print all facts as one JSON object and exit\n"
	"\n"
	"MEM and PROCS count the whole tree of a server. BUSY is the number of calls in\n"
	"flight, P50 and P99 the times of half and of 99 % of the calls, RST the number\n"
	"of restarts. Keys:\n"
	"  up, down, j, k    select a server or a session\n"
	"  enter, space      unfold the server: the reason of a failure, command, why it\n"
	"                    is shared, tools with an estimate of their tokens\n"
	"                    (bytes / 4), last calls, stderr\n"
	"  s, S              sort by memory, calls, name or state\n"
	"  x, r, z           stop the server, restart it, or let it rest; y confirms\n"
	"  q                 quit\n"
	"\n"
	"Exit status: 0; 64 usage, also when there is no terminal; 69 /proc cannot be\n"
	"read; 128 + the number of the signal that ended the view.\n";

struct top {
	unsigned interval_ms;
	struct top_link link;
	struct top_keys keys;
	struct ps_trees trees;
	struct top_model model;
	struct screen *screen;
	int64_t read_us; /* the last refresh */
	bool stale;      /* refresh at once */
};

/* Read the trees and ask the hub. False: the reason was printed. */
static bool top_refresh(struct top *t, int *out_status)
{
	struct ps_trees trees = PS_TREES_INIT;

	if (!ps_read(&trees, out_status))
		return false;
	top_model_done(&t->model); /* borrows the trees */
	ps_trees_done(&t->trees);
	t->trees = trees;
	top_link_refresh(&t->link, *t->keys.unfolded != '\0');
	t->read_us = time_now_us();
	t->stale = false;
	return true;
}

static void top_build(struct top *t)
{
	struct top_answers answers = top_link_answers(&t->link);

	top_model_done(&t->model);
	top_model_build(&answers, &t->trees, t->keys.sort, &t->model);
}

/* --- one picture --- */

static void top_print(const struct top *t)
{
	size_t width = cli_width();
	AUTO(top_lines_done)
	struct top_lines lines = TOP_LINES_INIT(width ? width : TOP_WIDTH, cli_has_colour());

	top_view_all(&t->model, &t->keys, &lines);
	for (size_t i = 0; i < lines.count; i++)
		puts(lines.list[i]);
}

static void top_emit_raw(struct emit *j, const char *key, struct json v, const char *absent)
{
	if (v.at)
		emit_json(j, key, v.at, v.len);
	else
		emit_json(j, key, absent, strlen(absent));
}

static void top_print_json(const struct top *t)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_LINES(&text);
	struct top_answers a = top_link_answers(&t->link);
	const struct top_totals *all = &t->model.totals;

	emit_open(&j, NULL, '{');
	emit_open(&j, "held", '{');
	emit_int(&j, "servers", all->servers);
	emit_int(&j, "processes", all->processes);
	emit_int(&j, "memory", all->memory);
	if (all->saved >= 0)
		emit_int(&j, "savedMemory", all->saved);
	emit_close(&j);
	emit_open(&j, "leaks", '{');
	emit_int(&j, "processes", all->leaks);
	emit_int(&j, "trees", all->trees);
	emit_int(&j, "lostTrees", all->lost_trees);
	emit_close(&j);
	top_emit_raw(&j, "hub", a.status, "null");
	top_emit_raw(&j, "servers", json_get(a.servers, "servers"), "[]");
	top_emit_raw(&j, "sessions", json_get(a.sessions, "sessions"), "[]");
	emit_open(&j, "trees", '[');
	for (size_t i = 0; i < t->trees.count; i++)
		ps_view_emit_tree(&j, &t->trees.list[i]);
	emit_close(&j);
	emit_close(&j);
	emit_print(&j, stdout);
}

static int top_once(struct top *t, bool json)
{
	int status;

	if (!top_refresh(t, &status))
		return status;
	top_link_await(&t->link, &t->keys, TOP_ONCE_MS);
	top_build(t);
	if (json)
		top_print_json(t);
	else
		top_print(t);
	return cli_finish(VERB, EXIT_SUCCESS);
}

/* --- the live view --- */

static void top_draw(struct top *t)
{
	AUTO(top_lines_done)
	struct top_lines lines = TOP_LINES_INIT(cli_width(), cli_has_colour());

	top_view_frame(&t->model, &t->keys, console_rows(), &lines);
	screen_draw(t->screen, lines.list, lines.count);
}

static void top_stop_tree(struct top *t)
{
	struct top_keys *k = &t->keys;

	for (size_t i = 0; i < t->trees.count; i++) {
		const struct ps_tree *tree = &t->trees.list[i];
		int r;

		if (strcmp(tree->rec.tree, k->asked_id) != 0)
			continue;
		r = ps_end_tree(tree);
		if (r < 0 && r != -ESRCH)
			top_keys_say(k, true, "%s: %s", k->asked_name, strerror(-r));
		else
			top_keys_say(k, false, "%s: its keeper was asked to end it", k->asked_name);
		return;
	}
	top_keys_say(k, false, "%s has ended", k->asked_name);
}

static void top_press(struct top *t)
{
	char bytes[256], unfolded[sizeof(t->keys.unfolded)];
	size_t len = screen_keys(t->screen, bytes, sizeof(bytes));
	enum top_order order;

	snprintf(unfolded, sizeof(unfolded), "%s", t->keys.unfolded);
	order = top_keys_read(&t->keys, &t->model, bytes, len);
	if (order && t->keys.asked_tree)
		top_stop_tree(t);
	else if (order)
		top_link_order(&t->link, order, &t->keys);
	if (order || strcmp(unfolded, t->keys.unfolded) != 0)
		t->stale = true;
}

/* How long the view may wait for events, in ms. */
static int top_patience(const struct top *t)
{
	unsigned span_ms = t->stale                         ? 0
			   : t->link.events && !t->link.due ? TOP_EVENT_MS
							    : t->interval_ms;
	int64_t left_us = t->read_us + span_ms * 1000LL - time_now_us();

	return left_us > 0 ? (int)((left_us + 999) / 1000) : 0;
}

/* How long the picture may stay as it is, in ms. */
static int top_draw_again(struct top *t)
{
	int note_ms = top_keys_expire(&t->keys, time_now_us()), ms = top_patience(t);

	return note_ms >= 0 && note_ms < ms ? note_ms : ms;
}

static void top_name_slow_hub(struct top *t)
{
	bool slow = t->link.due && time_now_us() - t->link.asked_us > TOP_SLOW_MS * 1000LL;

	if (!slow || *t->keys.note)
		return;
	top_keys_say(&t->keys, true, "the hub does not answer; its facts are old");
}

/* Returns the exit status. */
static int top_run(struct top *t)
{
	int status;

	if (!top_refresh(t, &status))
		return status;
	top_link_await(&t->link, &t->keys, TOP_FIRST_MS);
	while (!t->keys.quit) {
		unsigned events;
		int wait_ms = top_draw_again(t);

		top_build(t);
		top_name_slow_hub(t);
		top_draw(t);
		events = screen_wait(t->screen, top_link_fd(&t->link), wait_ms);
		if (events & SCREEN_END)
			return screen_signal(t->screen) ? 128 + screen_signal(t->screen)
							: EXIT_SUCCESS;
		if (events & SCREEN_KEYS)
			top_press(t);
		if (events & SCREEN_OTHER)
			top_link_read(&t->link, &t->keys);
		if (top_patience(t) == 0 && !t->keys.quit && !top_refresh(t, &status))
			return status;
	}
	return EXIT_SUCCESS;
}

static int top_live(struct top *t)
{
	int status, r = screen_open(&t->screen);

	if (r == -ENOTTY)
		return cli_usage(VERB, "no terminal to draw on; add '--once'");
	if (r == -ENOSYS) {
		cli_say(VERB,
			"the live view does not work on Windows yet; use 'killick top --once'");
		return EXIT_UNAVAILABLE;
	}
	if (r < 0) {
		cli_say(VERB, "cannot use the terminal: %s", strerror(-r));
		return EXIT_UNAVAILABLE;
	}
	status = top_run(t);
	screen_close(t->screen);
	return status;
}

int verb_top(int argc, char **argv)
{
	struct top t = { .interval_ms = TOP_INTERVAL_MS,
			 .link = TOP_LINK_INIT,
			 .trees = PS_TREES_INIT,
			 .model = TOP_MODEL_INIT };
	bool once = false, json = false;
	const struct option options[] = {
		{ "interval", OPTION_TIME, "a time such as 2s, at least 100ms",
		  .ms = &t.interval_ms, .least = 100 },
		{ "once", .flag = &once },
		{ "json", .flag = &json },
		{ .name = NULL },
	};
	int status;

	if (!cli_options(argc, argv, top_help, options, &status))
		return status;
	if (once || json)
		status = top_once(&t, json);
	else if (!console_can_draw(FILE_STDOUT))
		status = cli_usage(VERB, "no terminal to draw on; add '--once'");
	else
		status = top_live(&t);
	top_model_done(&t.model);
	ps_trees_done(&t.trees);
	top_link_close(&t.link);
	return status;
}
