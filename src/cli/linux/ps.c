/* ps.c - `killick ps`: lists every tree of this user, with its owner, its processes, memory and CPU
 * time. */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/emit.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/forest.h"
#include "cli/ps_on.h"
#include "cli/show.h"
#include "trees.h"

enum { COMMAND_MAX = 8192 };

const char ps_help[] =
	"usage: killick ps [--tree] [--json]\n"
	"       killick ps --on PLACE [--all] [--json] [--config FILE]\n"
	"                  [--token-env NAME]\n"
	"\n"
	"List the trees of this user. A tree is a server that `killick run` holds, and\n"
	"every process it started.\n"
	"\n"
	"  --tree   draw the processes of each tree\n"
	"  --json   print all facts as one JSON array\n"
	"  --on     list the processes of an executor (see 'killick help run-on');\n"
	"           ssh runs `killick ps` there. --all: list ended processes, too\n"
	"\n"
	"OWNER is the program that uses the server, or `gone`. PROCS, RSS and CPU count\n"
	"all processes of the tree; RSS counts shared memory more than once. STATE is\n"
	"  running    the owner uses the server\n"
	"  stopping   the end has begun; after it the reason: stdin, owner, signal ...\n"
	"  overdue    the tree should have ended by now; its keeper still works on it\n"
	"  orphaned   the owner or a keeper is gone; the end must begin within 8s\n"
	"  abandoned  the keepers are gone or do not work; `killick reap` ends the tree\n"
	"  elsewhere  in another pid namespace (a container), not visible here\n"
	"\n"
	"Exit status: 0, also when there are no trees; 64 usage; with --on 65 config\n"
	"refused, 69 the executor does not answer, or the exit status of ssh.\n";

static const char *ps_level_of(const struct held *t)
{
	return *t->rec.level ? t->rec.level : "?";
}

/* Write "running", or "stopping (stdin)". */
static void state_text(const struct held *t, char out[64])
{
	char why[24];

	text_clean(t->rec.why, strlen(t->rec.why), why, sizeof(why));
	if (*why && (t->state == HELD_STOPPING || t->state == HELD_OVERDUE))
		snprintf(out, 64, "%s (%s)", held_state_name(t->state), why);
	else
		snprintf(out, 64, "%s", held_state_name(t->state));
}

/* Returns the owner; NULL: gone, or not known. */
static const struct proc *owner_of(const struct trees *ts, const struct held *t)
{
	if (t->state == HELD_ELSEWHERE)
		return NULL;
	if (!t->rec.owner.start) /* the keepers write the start time a moment after the start */
		return procs_find(&ts->procs, t->rec.owner.pid);
	return procs_find_who(&ts->procs, t->rec.owner.pid, t->rec.owner.start);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Write "claude", or, if the program is an interpreter, "node cli.js". The name that the kernel has
 * (comm) is worse, because threads and titles change it: for node it is MainThread. */
static void program_text(const struct proc *p, char *out, size_t size)
{
	static const char *const interpreters[] = { "node",    "bun",  "deno", "python",
						    "python3", "ruby", "sh",   "bash" };
	const char *program, *next;
	char text[256];

	if (!p->args_len) {
		text_clean(p->st.comm, strlen(p->st.comm), out, size);
		return;
	}
	program = base_name(p->args);
	next = p->args + strlen(p->args) + 1;
	snprintf(text, sizeof(text), "%.100s", program);
	for (size_t i = 0; i < sizeof(interpreters) / sizeof(interpreters[0]); i++)
		if (strcmp(program, interpreters[i]) == 0 && next < p->args + p->args_len &&
		    *next != '-')
			snprintf(text, sizeof(text), "%.100s %.100s", program, base_name(next));
	text_clean(text, strlen(text), out, size);
}

/* Write "4711 claude" or "gone": pid and program, without path and arguments. */
static void owner_text(const struct trees *ts, const struct held *t, char *out, size_t size)
{
	const struct proc *p = owner_of(ts, t);
	char name[256];

	if (!p) {
		snprintf(out, size, "%s",
			 t->rec.owner.pid && t->state != HELD_ELSEWHERE ? "gone" : "-");
		return;
	}
	program_text(p, name, sizeof(name));
	snprintf(out, size, "%d %s", p->st.pid, name);
}

static void ps_add_row(struct table *table, const struct trees *ts, const struct held *t)
{
	char text[COMMAND_MAX], size[16], cpu[24], age[24], state[64];

	held_title(&t->rec, text, sizeof(text));
	table_add(table, text);
	owner_text(ts, t, text, sizeof(text));
	table_add(table, text);
	table_addf(table, "%d", t->rec.server.pid);
	table_addf(table, "%zu", t->count);
	table_add(table, text_size(t->rss, size));
	table_add(table, text_span(t->cpu_ms, cpu));
	table_add(table, text_span(t->age_ms, age));
	table_add(table, ps_level_of(t));
	state_text(t, state);
	table_add(table, state);
	text_clean(t->rec.session, strlen(t->rec.session), text, sizeof(text));
	table_add(table, text);
	text_clean(t->rec.command, strlen(t->rec.command), text, sizeof(text));
	table_add(table, text);
}

static const char *ps_colour(const char *state)
{
	static const struct {
		const char *state, *colour;
	} colours[] = { { "running", "32" }, { "abandoned", "31" }, { "elsewhere", "2" } };

	if (!cli_has_colour())
		return NULL;
	for (size_t c = 0; c < sizeof(colours) / sizeof(colours[0]); c++)
		if (strncmp(state, colours[c].state, strlen(colours[c].state)) == 0)
			return colours[c].colour;
	return "33";
}

static void ps_print_table(const struct trees *ts)
{
	static const struct table_col cols[] = {
		{ .title = "NAME", .min = 10 },
		{ .title = "OWNER", .min = 12 },
		{ .title = "SERVER", .right = true },
		{ .title = "PROCS", .right = true },
		{ .title = "RSS", .right = true, .drop = true },
		{ .title = "CPU", .right = true, .drop = true },
		{ .title = "AGE", .right = true },
		{ .title = "LEVEL", .drop = true },
		{ .title = "STATE", .min = 9, .colour = ps_colour },
		{ .title = "SESSION", .drop = true, .min = 8 },
		{ .title = "COMMAND", .drop = true, .min = 12 },
	};
	AUTO(table_done) struct table table = TABLE_INIT(cols);

	for (size_t i = 0; i < ts->count; i++)
		ps_add_row(&table, ts, &ts->list[i]);
	table_print(&table, stdout, 0, cli_width());
}

struct drawing {
	const struct trees *ts;
	const struct held *tree;
};

static void ps_draw_process(void *ctx, size_t index, const char *prefix)
{
	const struct drawing *d = ctx;
	const struct proc *p = procs_find(&d->ts->procs, d->tree->pids[index]);
	char command[COMMAND_MAX], size[16], line[COMMAND_MAX + 512], cut[COMMAND_MAX + 512];
	size_t width = cli_width();

	proc_command(p, command, sizeof(command));
	snprintf(line, sizeof(line), "%s%d  %s  %s", prefix, p->st.pid,
		 text_size(proc_rss(p), size), command);
	text_cut(line, width ? width : sizeof(cut), cut, sizeof(cut));
	puts(cut);
}

static void print_tree(const struct trees *ts, const struct held *t)
{
	AUTO(mem_drop) struct forest_node *nodes = mem_grow(NULL, t->count, sizeof(*nodes));
	struct drawing d = { ts, t };
	char name[128], owner[300], session[64], state[64], size[16], cpu[24], age[24], line[1024],
		cut[1024];
	size_t width = cli_width();

	held_title(&t->rec, name, sizeof(name));
	state_text(t, state);
	owner_text(ts, t, owner, sizeof(owner));
	text_clean(t->rec.session, strlen(t->rec.session), session, sizeof(session));
	snprintf(line, sizeof(line), "%s  %s, %s, up %s, cpu %s, %s in %zu process%s, owner %s%s%s",
		 name, state, ps_level_of(t), text_span(t->age_ms, age), text_span(t->cpu_ms, cpu),
		 text_size(t->rss, size), t->count, t->count == 1 ? "" : "es", owner,
		 *session ? ", session " : "", session);
	text_cut(line, width ? width : sizeof(cut), cut, sizeof(cut));
	if (cli_has_colour())
		printf("\033[1m%.*s\033[0m%s\n", (int)strlen(name), cut, cut + strlen(name));
	else
		puts(cut);
	for (size_t i = 0; i < t->count; i++)
		nodes[i] = (struct forest_node){ t->pids[i],
						 procs_find(&ts->procs, t->pids[i])->st.ppid };
	forest_draw(nodes, t->count, "", true, ps_draw_process, &d);
}

static void json_process(struct emit *j, const struct procs *ps, const struct proc *p)
{
	char command[COMMAND_MAX];

	proc_command(p, command, sizeof(command));
	emit_open(j, NULL, '{');
	emit_int(j, "pid", p->st.pid);
	emit_int(j, "ppid", p->st.ppid);
	emit_str(j, "state", (char[]){ p->st.state, '\0' });
	emit_int(j, "threads", p->st.threads);
	emit_int(j, "rss_bytes", (long long)proc_rss(p));
	emit_int(j, "cpu_ms", proc_cpu_ms(p));
	emit_int(j, "age_ms", proc_age_ms(ps, p));
	emit_str(j, "command", command);
	emit_close(j);
}

static void json_owner(struct emit *j, const struct trees *ts, const struct held *t)
{
	const struct proc *p = owner_of(ts, t);
	char command[COMMAND_MAX];

	if (!t->rec.owner.pid || t->state == HELD_ELSEWHERE) {
		emit_null(j, "owner");
		return;
	}
	emit_open(j, "owner", '{');
	emit_int(j, "pid", t->rec.owner.pid);
	emit_bool(j, "alive", p != NULL);
	if (p)
		proc_command(p, command, sizeof(command));
	emit_str(j, "command", p ? command : NULL);
	emit_close(j);
}

static void json_tree(struct emit *j, const struct trees *ts, const struct held *t)
{
	emit_open(j, NULL, '{');
	emit_str(j, "tree", t->rec.tree);
	emit_str(j, "name", t->rec.name);
	emit_str(j, "session", t->rec.session);
	emit_str(j, "command", t->rec.command);
	emit_str(j, "level", t->rec.level);
	emit_str(j, "state", held_state_name(t->state));
	emit_str(j, "why", t->rec.why);
	json_owner(j, ts, t);
	emit_int(j, "watch", t->rec.watch.pid);
	emit_int(j, "hold", t->rec.hold.pid);
	emit_int(j, "server", t->rec.server.pid);
	emit_str(j, "cgroup", t->rec.cgroups[0]);
	emit_int(j, "grace_ms", t->rec.grace_ms);
	emit_int(j, "age_ms", t->age_ms);
	if (t->due_ms || t->rec.deadline_ms)
		emit_int(j, "due_in_ms",
			 (t->due_ms ? t->due_ms : t->rec.deadline_ms) - ts->procs.now_ms);
	else
		emit_null(j, "due_in_ms");
	emit_int(j, "rss_bytes", (long long)t->rss);
	emit_int(j, "cpu_ms", t->cpu_ms);
	emit_int(j, "survivors", t->rec.survivors);
	emit_open(j, "processes", '[');
	for (size_t i = 0; i < t->count; i++)
		json_process(j, &ts->procs, procs_find(&ts->procs, t->pids[i]));
	emit_close(j);
	emit_close(j);
}

static void ps_print_json(const struct trees *ts)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_LINES(&text);

	emit_open(&j, NULL, '[');
	for (size_t i = 0; i < ts->count; i++)
		json_tree(&j, ts, &ts->list[i]);
	emit_close(&j);
	emit_print(&j, stdout);
}

int verb_ps(int argc, char **argv)
{
	AUTO(trees_done) struct trees ts = TREES_INIT;
	bool as_json = false, as_tree = false, all = false;
	struct on on = { .where = NULL };
	const struct option options[] = {
		{ "on", OPTION_WORD, .text = &on.where },
		{ "config", OPTION_WORD, .text = &on.config },
		{ "token-env", OPTION_WORD, .text = &on.token_env },
		{ "all", .flag = &all },
		{ "json", .flag = &as_json },
		{ "tree", .flag = &as_tree },
		{ NULL },
	};
	int status, r;

	if (!cli_options(argc, argv, ps_help, options, &status))
		return status;
	if (on.where)
		return ps_on(&on, &(struct ps_on_options){ as_tree, as_json, all });
	if (on.config || on.token_env || all)
		return cli_usage("ps", "'--%s' needs '--on'",
				 on.config      ? "config"
				 : on.token_env ? "token-env"
						: "all");
	r = trees_read(&ts);
	if (r < 0)
		return trees_refused("ps", r);
	if (as_json)
		ps_print_json(&ts);
	else if (ts.count == 0)
		show_block(stdout,
			   "no trees: killick holds no server for this user. `killick wrap` puts "
			   "`killick run --` in front of the servers of your MCP clients; a client "
			   "that runs already must be restarted after it. `killick demo` shows the "
			   "effect.",
			   0, cli_width() ? cli_width() : 79);
	else if (as_tree)
		for (size_t i = 0; i < ts.count; i++)
			print_tree(&ts, &ts.list[i]);
	else
		ps_print_table(&ts);
	return cli_finish("ps", EXIT_SUCCESS);
}
