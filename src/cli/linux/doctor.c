/* doctor.c - `killick doctor`: prints which levels and limits work on this machine, which command
 * would enable more, and the orphans of other programs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/emit.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/doctor_clients.h"
#include "cli/doctor_variables.h"
#include "cli/fact.h"
#include "cli/hub_talk.h"
#include "engine.h"
#include "orphan.h"
#include "probe.h"
#include "trees.h"

enum { COMMAND_MAX = 8192 };

const char doctor_help[] =
	"usage: killick doctor [--json]\n"
	"       killick doctor --reap PID\n"
	"\n"
	"Print which levels and limits of `killick run` work on this machine, why others\n"
	"do not, and the command that would enable them. Each level and limit is tried,\n"
	"not concluded from settings. Print which variables servers get.\n"
	"\n"
	"Then list orphans of other programs: processes of this user that look like an\n"
	"MCP server, whose client is gone, and that killick does not hold. Listed\n"
	"processes get no signal.\n"
	"\n"
	"Finally list the servers in the configs of MCP clients that killick does not\n"
	"hold.\n"
	"\n"
	"  --reap PID   end the listed orphan PID and its descendants: SIGTERM, 2 s,\n"
	"               SIGKILL\n"
	"  --json       print all facts as one JSON object\n"
	"  --show-secrets   print secrets in the commands, too\n"
	"\n"
	"Levels, best first: namespace (opt in), cgroup, keeper, group (opt in, best\n"
	"effort).\n"
	"\n"
	"Exit status: 0; 64 usage, or PID is not in the list; 75 the orphan did not end.\n";

struct findings {
	struct utsname kernel;
	struct probe ns, cgroup, keeper, max_procs, memory, open_files, records;
	const char *level; /* the level that `killick run` uses by default */
	struct trees trees;
	struct orphan *orphans;
	size_t orphan_count;
	size_t abandoned, overdue;
};

static void findings_done(struct findings *f)
{
	mem_drop(&f->orphans);
	trees_done(&f->trees);
}

static int doctor_look(struct findings *f)
{
	int r;

	uname(&f->kernel);
	probe_namespace(&f->ns);
	probe_cgroup(&f->cgroup);
	probe_keeper(&f->keeper);
	probe_max_procs(&f->max_procs);
	probe_memory(&f->memory);
	probe_open_files(&f->open_files);
	probe_records(&f->records);
	/* every level but group needs what level keeper needs */
	f->level = !f->keeper.works ? "none" : f->cgroup.works ? "cgroup" : "keeper";
	r = trees_read(&f->trees);
	if (r < 0)
		return r;
	for (size_t i = 0; i < f->trees.count; i++) {
		f->abandoned += f->trees.list[i].state == HELD_ABANDONED;
		f->overdue += f->trees.list[i].state == HELD_OVERDUE;
	}
	f->orphan_count = orphans_find(&f->trees, &f->orphans);
	return 0;
}

static void fact_probe(const char *label, const struct probe *p)
{
	char text[1100];

	snprintf(text, sizeof(text), "%s: %s", p->works ? "yes" : "no", p->how);
	fact(label, text, false);
}

/* Print the levels above the current level, with the command for each. */
static void print_raise(const struct findings *f)
{
	const char *label = "raise it:";

	if (!f->cgroup.works && *f->cgroup.raise) {
		fact(label, "to level cgroup with", false);
		fact("", f->cgroup.raise, true);
		label = "or:";
	}
	if (f->ns.works) {
		fact(label, "to level namespace, for one server, with", false);
		fact("", "killick run --contain namespace -- CMD", true);
	} else if (*f->ns.raise) {
		fact(label, "make level namespace possible with", false);
		fact("", f->ns.raise, true);
	} else if (!f->cgroup.works && !*f->cgroup.raise) {
		fact(label, "killick knows no command for this; the reasons are above", false);
	}
}

static void print_trees(const struct findings *f)
{
	char text[200];

	if (!f->trees.count)
		snprintf(text, sizeof(text), "none");
	else
		snprintf(text, sizeof(text), "%zu, abandoned %zu, overdue %zu%s", f->trees.count,
			 f->abandoned, f->overdue, f->abandoned ? " (end them: killick reap)" : "");
	fact("trees", text, false);
}

/* The hub, which starts with the first `killick connect`: its answer to hub.status, or the reason
 * why no hub answers. */
static bool doctor_ask_hub(struct hub_talk *t, struct json *out, struct err *e)
{
	return hub_talk_open(t, false, e) == 0 && hub_talk_ask(t, "hub.status", "{}", out, e) == 0;
}

static void print_hub(void)
{
	AUTO(hub_talk_close) struct hub_talk t = HUB_TALK_INIT;
	int64_t pid = 0, sessions = 0, servers = 0;
	struct err e = ERR_INIT;
	char text[sizeof(e.text)];
	struct json status;

	if (doctor_ask_hub(&t, &status, &e)) {
		json_int(json_get(status, "pid"), &pid);
		json_int(json_get(status, "sessions"), &sessions);
		json_int(json_get(status, "servers"), &servers);
		snprintf(text, sizeof(text),
			 "pid %lld, sessions %lld, servers %lld (see: killick hub servers)",
			 (long long)pid, (long long)sessions, (long long)servers);
	} else {
		snprintf(text, sizeof(text), "%s", e.code == -ENOENT ? "none" : e.text);
	}
	fact("hub", text, false);
}

static void json_hub(struct emit *j)
{
	AUTO(hub_talk_close) struct hub_talk t = HUB_TALK_INIT;
	struct err e = ERR_INIT;
	struct json status;

	if (doctor_ask_hub(&t, &status, &e))
		emit_raw(j, "hub", status.at, status.len);
	else
		emit_null(j, "hub");
}

static void print_engines(void)
{
	char engines[64], text[200];

	engine_installed(engines, sizeof(engines));
	snprintf(text, sizeof(text), "%s: `killick run` removes the container of a server",
		 engines);
	if (*engines)
		fact("containers", text, false);
}

static void add_orphan(struct table *table, const struct findings *f, const struct orphan *o)
{
	char text[COMMAND_MAX], size[16], cpu[24], age[24];

	table_addf(table, "%d", o->proc->st.pid);
	table_add(table, text_span(proc_age_ms(&f->trees.procs, o->proc), age));
	table_addf(table, "%zu", o->family);
	table_add(table, text_size(o->rss, size));
	table_add(table, text_span(o->cpu_ms, cpu));
	proc_command(o->proc, text, sizeof(text));
	if (*o->unit)
		table_addf(table, "[%s] %s", o->unit, text);
	else
		table_add(table, text);
}

static void print_orphans(const struct findings *f)
{
	static const struct table_col cols[] = {
		{ .title = "PID", .right = true },   { .title = "AGE", .right = true },
		{ .title = "PROCS", .right = true }, { .title = "RSS", .right = true },
		{ .title = "CPU", .right = true },   { .title = "COMMAND", .min = 14 },
	};
	AUTO(table_done) struct table table = TABLE_INIT(cols);
	bool unsure = false, units = false;

	fact_heading("orphans of other programs that look like MCP servers");
	if (!f->orphan_count) {
		puts("  none");
		return;
	}
	for (size_t i = 0; i < f->orphan_count; i++) {
		add_orphan(&table, f, &f->orphans[i]);
		unsure |= f->orphans[i].unsure;
		units |= *f->orphans[i].unit != '\0';
	}
	table_print(&table, stdout, 2, cli_width());
	if (unsure)
		fact("careful:", "pid 1 is not a known init; its children may be no orphans",
		     false);
	if (units)
		fact("careful:", "systemd runs [x.service], perhaps on purpose", false);
	puts("\n  These processes got no signal. To end one: killick doctor --reap PID");
}

static void print_findings(const struct findings *f)
{
	char text[1100];

	snprintf(text, sizeof(text), "%s %s, %s, uid %u", f->kernel.sysname, f->kernel.release,
		 f->kernel.machine, geteuid());
	printf("killick %s on %s\n", KILLICK_VERSION, text);
	fact_heading("containment");
	snprintf(text, sizeof(text), "%s%s", f->level,
		 !f->keeper.works ? ": `killick run` refuses; only --contain group works"
		 : f->open_files.works
			 ? ""
			 : ", but `killick run` may fail: too few open files, see limits");
	fact("level here", text, false);
	fact_probe("namespace", &f->ns);
	fact_probe("cgroup", &f->cgroup);
	fact_probe("keeper", &f->keeper);
	print_raise(f);
	fact_heading("limits");
	fact_probe("open files", &f->open_files);
	if (*f->open_files.raise)
		fact("", f->open_files.raise, true);
	fact_probe("--max-procs", &f->max_procs);
	if (!f->max_procs.works && *f->max_procs.raise)
		fact("", f->max_procs.raise, true);
	fact_probe("--memory", &f->memory);
	doctor_variables_print();
	fact_heading("state");
	fact_probe("records", &f->records);
	if (*f->records.raise)
		fact("", f->records.raise, true);
	print_trees(f);
	print_hub();
	print_engines();
	print_orphans(f);
	doctor_clients_print();
}

static void json_probe(struct emit *j, const char *key, const struct probe *p)
{
	emit_open(j, key, '{');
	emit_bool(j, "works", p->works);
	emit_str(j, "how", p->how);
	emit_str(j, "raise", p->raise);
	emit_close(j);
}

static void json_orphan(struct emit *j, const struct findings *f, const struct orphan *o)
{
	char command[COMMAND_MAX];

	proc_command(o->proc, command, sizeof(command));
	emit_open(j, NULL, '{');
	emit_int(j, "pid", o->proc->st.pid);
	emit_int(j, "ppid", o->parent->st.pid);
	emit_str(j, "parent", o->parent->st.comm);
	emit_bool(j, "unsure", o->unsure);
	emit_str(j, "unit", o->unit);
	emit_int(j, "processes", (long long)o->family);
	emit_int(j, "age_ms", proc_age_ms(&f->trees.procs, o->proc));
	emit_int(j, "rss_bytes", (long long)o->rss);
	emit_int(j, "cpu_ms", o->cpu_ms);
	emit_str(j, "command", command);
	emit_close(j);
}

static void doctor_print_json(const struct findings *f)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_LINES(&text);
	char engines[64];

	emit_open(&j, NULL, '{');
	emit_str(&j, "killick", KILLICK_VERSION);
	emit_str(&j, "kernel", f->kernel.release);
	emit_int(&j, "uid", geteuid());
	emit_str(&j, "level", f->level);
	emit_open(&j, "levels", '{');
	json_probe(&j, "namespace", &f->ns);
	json_probe(&j, "cgroup", &f->cgroup);
	json_probe(&j, "keeper", &f->keeper);
	emit_close(&j);
	emit_open(&j, "limits", '{');
	json_probe(&j, "open_files", &f->open_files);
	json_probe(&j, "max_procs", &f->max_procs);
	json_probe(&j, "memory", &f->memory);
	emit_close(&j);
	doctor_variables_emit(&j);
	json_probe(&j, "records", &f->records);
	engine_installed(engines, sizeof(engines));
	emit_str(&j, "engines", engines);
	emit_open(&j, "trees", '{');
	emit_int(&j, "count", (long long)f->trees.count);
	emit_int(&j, "abandoned", (long long)f->abandoned);
	emit_int(&j, "overdue", (long long)f->overdue);
	emit_close(&j);
	json_hub(&j);
	emit_open(&j, "orphans", '[');
	for (size_t i = 0; i < f->orphan_count; i++)
		json_orphan(&j, f, &f->orphans[i]);
	emit_close(&j);
	doctor_clients_emit(&j);
	emit_close(&j);
	emit_print(&j, stdout);
}

/* End one orphan, only if it is in the current list. */
static int reap_orphan(const char *value, bool as_json)
{
	AUTO(findings_done) struct findings f = { .level = NULL };
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_LINES(&text);
	struct err e = ERR_INIT;
	char *end, command[COMMAND_MAX];
	long pid;
	int r;

	errno = 0;
	pid = strtol(value, &end, 10);
	if (errno || *end || end == value || pid < 2 || pid > 4194304)
		return cli_usage("doctor", "--reap needs the PID of a listed orphan, not '%.40s'",
				 value);
	r = trees_read(&f.trees);
	if (r < 0)
		return trees_refused("doctor", r);
	f.orphan_count = orphans_find(&f.trees, &f.orphans);
	for (size_t i = 0; i < f.orphan_count; i++) {
		if (f.orphans[i].proc->st.pid != pid)
			continue;
		proc_command(f.orphans[i].proc, command, sizeof(command));
		r = orphan_end(&f.trees.procs, &f.orphans[i], &e);
		if (r < 0) {
			cli_say("doctor", "%s (%s)", e.text, strerror(-r));
			return EXIT_TRY_AGAIN;
		}
		if (!as_json) {
			printf("ended %ld and %d below it: %s\n", pid, r - 1, command);
			return cli_finish("doctor", EXIT_SUCCESS);
		}
		emit_open(&j, NULL, '{');
		emit_int(&j, "pid", pid);
		emit_int(&j, "ended", r);
		emit_str(&j, "command", command);
		emit_close(&j);
		emit_print(&j, stdout);
		return cli_finish("doctor", EXIT_SUCCESS);
	}
	cli_say("doctor",
		"process %ld is not in the list of orphans, so it was not touched; see 'killick "
		"doctor'",
		pid);
	return EXIT_USAGE;
}

int verb_doctor(int argc, char **argv)
{
	AUTO(findings_done) struct findings f = { .level = NULL };
	const char *reap = NULL;
	bool as_json = false;
	const struct option options[] = {
		{ "json", .flag = &as_json },
		{ "show-secrets", .flag = &cli_show_secrets },
		{ "reap", OPTION_WORD, .text = &reap },
		{ .name = NULL },
	};
	int status, r;

	if (!cli_options(argc, argv, doctor_help, options, &status))
		return status;
	if (reap)
		return reap_orphan(reap, as_json);
	r = doctor_look(&f);
	if (r < 0)
		return trees_refused("doctor", r);
	if (as_json)
		doctor_print_json(&f);
	else
		print_findings(&f);
	return cli_finish("doctor", EXIT_SUCCESS);
}
