/* ps.c - the trees of Linux for `killick ps`; see cli/ps.h */
#include "cli/ps.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "trees.h"

enum { COMMAND_MAX = 8192 };

const char ps_help[] =
	PS_HELP("OWNER is the program that uses the server, or `gone`. PROCS, RSS and CPU count\n"
		"all processes of the tree; RSS counts shared memory more than once. STATE is\n"
		"  running    the owner uses the server\n"
		"  stopping   the end has begun; after it the reason: stdin, owner, signal ...\n"
		"  overdue    the tree should have ended by now; its keeper still works on it\n"
		"  orphaned   the owner or a keeper is gone; the end must begin within 8s\n"
		"  abandoned  the keepers are gone or do not work; `killick reap` ends the tree\n"
		"  ended      no keeper, no process was found; `killick reap` removes the record\n"
		"  elsewhere  in another pid namespace (a container), not visible here\n");

const char ps_hint[] = " `killick demo` shows the effect.";

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

static void ps_set_owner(struct ps_tree *out, const struct trees *ts, const struct held *t)
{
	const struct proc *p = owner_of(ts, t);
	char command[COMMAND_MAX];

	out->has_owner = t->rec.owner.pid && t->state != HELD_ELSEWHERE;
	owner_text(ts, t, out->owner, sizeof(out->owner));
	if (!p)
		return;
	proc_command(p, command, sizeof(command));
	out->owner_command = mem_dup(command);
}

static struct ps_process ps_read_process(const struct procs *ps, const struct proc *p)
{
	char command[COMMAND_MAX];

	proc_command(p, command, sizeof(command));
	return (struct ps_process){
		.pid = p->st.pid,
		.parent = p->st.ppid,
		.command = mem_dup(command),
		.rss = proc_rss(p),
		.cpu_ms = proc_cpu_ms(p),
		.has_more = true,
		.state = p->st.state,
		.threads = p->st.threads,
		.age_ms = proc_age_ms(ps, p),
	};
}

static struct ps_tree ps_read_tree(const struct trees *ts, const struct held *t)
{
	long long due_ms = t->due_ms ? t->due_ms : t->rec.deadline_ms;
	const struct proc *server;
	struct ps_tree out = {
		.rec = t->rec,
		.state = held_state_name(t->state),
		.is_ending = t->state == HELD_STOPPING || t->state == HELD_OVERDUE,
		.has_hold = true,
		.is_due = due_ms != 0,
		.due_in_ms = due_ms - ts->procs.now_ms,
		.processes = mem_grow(NULL, t->count + 1, sizeof(*out.processes)),
		.count = t->count,
		.rss = t->rss,
		.cpu_ms = t->cpu_ms,
		.age_ms = t->age_ms,
	};

	/* the record has no secrets, except that of an older killick */
	cli_conceal(out.rec.command, sizeof(out.rec.command));
	if (cli_show_secrets && t->state != HELD_ELSEWHERE &&
	    (server = procs_find(&ts->procs, t->rec.server.pid)) != NULL)
		proc_command(server, out.rec.command, sizeof(out.rec.command));
	held_title(&t->rec, out.title, sizeof(out.title));
	ps_set_owner(&out, ts, t);
	for (size_t i = 0; i < t->count; i++)
		out.processes[i] = ps_read_process(&ts->procs, procs_find(&ts->procs, t->pids[i]));
	return out;
}

int ps_end_tree(const struct ps_tree *t)
{
	AUTO(fd_drop) int fd = proc_hold(t->rec.watch.pid, t->rec.watch.start);

	if (fd < 0)
		return fd;
	return proc_signal(fd, SIGTERM);
}

bool ps_read(struct ps_trees *out_trees, int *out_status)
{
	AUTO(trees_done) struct trees ts = TREES_INIT;
	int r = trees_read(&ts);

	if (r < 0) {
		*out_status = trees_refused("ps", r);
		return false;
	}
	out_trees->list = mem_grow(NULL, ts.count + 1, sizeof(*out_trees->list));
	out_trees->count = ts.count;
	for (size_t i = 0; i < ts.count; i++)
		out_trees->list[i] = ps_read_tree(&ts, &ts.list[i]);
	return true;
}
