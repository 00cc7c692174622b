/* ps.c - `killick ps`: lists every tree of this user, with its owner, its processes, memory and CPU
 * time. */
#include "ps.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/auto.h"
#include "cli.h"
#include "ps_on.h"
#include "ps_view.h"
#include "show.h"

void ps_trees_done(struct ps_trees *ts)
{
	for (size_t i = 0; i < ts->count; i++) {
		struct ps_tree *t = &ts->list[i];

		for (size_t k = 0; k < t->count; k++)
			free(t->processes[k].command);
		free(t->processes);
		free(t->owner_command);
	}
	free(ts->list);
	*ts = (struct ps_trees)PS_TREES_INIT;
}

static void ps_say_none(void)
{
	char text[400];

	snprintf(text, sizeof(text),
		 "no trees: killick holds no server for this user. `killick wrap` puts "
		 "`killick run --` in front of the servers of your MCP clients; a client "
		 "that runs already must be restarted after it.%s",
		 ps_hint);
	show_block(stdout, text, 0, cli_width() ? cli_width() : 79);
}

static int ps_here(bool as_tree, bool as_json)
{
	AUTO(ps_trees_done) struct ps_trees ts = PS_TREES_INIT;
	int status;

	if (!ps_read(&ts, &status))
		return status;
	if (as_json)
		ps_view_json(&ts);
	else if (ts.count == 0)
		ps_say_none();
	else if (as_tree)
		ps_view_forest(&ts);
	else
		ps_view_table(&ts);
	return cli_finish("ps", EXIT_SUCCESS);
}

int verb_ps(int argc, char **argv)
{
	bool as_json = false, as_tree = false, all = false;
	struct on on = { .where = NULL };
	const struct option options[] = {
		{ "on", OPTION_WORD, .text = &on.where },
		{ "config", OPTION_WORD, .text = &on.config },
		{ "token-env", OPTION_WORD, .text = &on.token_env },
		{ "all", .flag = &all },
		{ "json", .flag = &as_json },
		{ "tree", .flag = &as_tree },
		{ "show-secrets", .flag = &cli_show_secrets },
		{ .name = NULL },
	};
	int status;

	if (!cli_options(argc, argv, ps_help, options, &status))
		return status;
	if (on.where)
		return ps_on(&on, &(struct ps_on_options){ as_tree, as_json, all });
	if (on.config || on.token_env || all)
		return cli_usage("ps", "'--%s' needs '--on'",
				 on.config      ? "config"
				 : on.token_env ? "token-env"
						: "all");
	return ps_here(as_tree, as_json);
}
