/* report.c - see report.h */
#include "report.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "clock.h"
#include "line_fd.h"
#include "proc.h"

#define REPORT_MS   1000 /* how long to wait for the reader of the report */
#define COMMAND_MAX 1000 /* bytes of the command in a report */

const char *report_why(enum why why)
{
	static const char *const names[] = {
		[WHY_EXIT] = "exit",     [WHY_STDIN] = "stdin", [WHY_SIGNAL] = "signal",
		[WHY_OWNER] = "owner",   [WHY_WATCH] = "watch", [WHY_HOLD] = "hold",
		[WHY_FAILED] = "failed",
	};

	assert((unsigned)why < sizeof(names) / sizeof(*names));
	return names[why];
}

static const char *need_name(enum need need)
{
	static const char *const names[] = {
		[NEED_NONE] = "none",
		[NEED_EOF] = "eof",
		[NEED_TERM] = "term",
		[NEED_KILL] = "kill",
	};

	return names[need];
}

const char *report_signal(int sig)
{
	static const char *const names[] = {
		[SIGHUP] = "HUP",   [SIGINT] = "INT",   [SIGQUIT] = "QUIT", [SIGILL] = "ILL",
		[SIGTRAP] = "TRAP", [SIGABRT] = "ABRT", [SIGBUS] = "BUS",   [SIGFPE] = "FPE",
		[SIGKILL] = "KILL", [SIGUSR1] = "USR1", [SIGSEGV] = "SEGV", [SIGUSR2] = "USR2",
		[SIGPIPE] = "PIPE", [SIGALRM] = "ALRM", [SIGTERM] = "TERM", [SIGXCPU] = "XCPU",
		[SIGXFSZ] = "XFSZ", [SIGSYS] = "SYS",
	};
	static char number[16];

	if (sig > 0 && sig < (int)(sizeof(names) / sizeof(names[0])) && names[sig])
		return names[sig];
	snprintf(number, sizeof(number), "SIG%d", sig);
	return number;
}

void report_command(const struct options *opt, struct line *out)
{
	line_init(out);
	for (char **a = opt->recipe.argv; *a; a++)
		line_add(out, "%s%s", a == opt->recipe.argv ? "" : " ", *a);
}

static void add_exit(struct line *l, const struct tree *t)
{
	if (!t->exited)
		line_add(l, "null");
	else if (WIFEXITED(t->status))
		line_add(l, "{\"code\":%d}", WEXITSTATUS(t->status));
	else
		line_add(l, "{\"signal\":\"%s\"}", report_signal(WTERMSIG(t->status)));
}

static void add_ms(struct line *l, const char *key, long long us)
{
	line_add(l, ",\"%s\":%lld.%03lld", key, us / 1000, us % 1000);
}

static void add_proof(struct line *l, const struct tree *t)
{
	const char *comma = "";

	line_add(l, ",\"proof\":[");
	if (t->proof_waitid) {
		line_add(l, "\"waitid\"");
		comma = ",";
	}
	if (t->proof_cgroup) {
		line_add(l, "%s\"cgroup\"", comma);
		comma = ",";
	}
	if (t->proof_mark) {
		line_add(l, "%s\"mark\"", comma);
		comma = ",";
	}
	if (t->proof_group)
		line_add(l, "%s\"group\"", comma);
	line_add(l, "]");
}

/* At least one entry: a survivor that cannot be named is null. */
static void add_survivors(struct line *l, const struct tree *t)
{
	pid_t pids[16];
	int n = tree_survivors(t, pids, 16);
	const char *comma = "";

	for (int i = 0; i < n; i++) {
		struct proc_stat st;
		int r = proc_stat_get(pids[i], &st);

		if (r == -ESRCH || (r == 0 && !proc_is_alive(&st)))
			continue;
		if (r == 0) {
			line_add(l, "%s{\"pid\":%d,\"state\":\"%c\",\"comm\":", comma, st.pid,
				 st.state);
			line_json(l, st.comm);
			line_add(l, "}");
		} else { /* no descriptor to read /proc with */
			line_add(l, "%s{\"pid\":%d,\"state\":null,\"comm\":null}", comma, pids[i]);
		}
		comma = ",";
	}
	if (!*comma)
		line_add(l, "null");
}

/* No member when the server's command is not an engine's, or when it never ran. */
static void add_container(struct line *l, const struct container *c)
{
	bool gone = c->fate == CONTAINER_GONE;

	if (!c->spec || c->fate == CONTAINER_UNTRIED)
		return;
	line_add(l, ",\"container\":{\"engine\":");
	line_json(l, c->engine);
	line_add(l, ",\"id\":");
	line_json(l, c->id[0] ? c->id : NULL);
	line_add(l, ",\"gone\":%s,\"proof\":%s}", gone ? "true" : "false",
		 gone ? "\"engine\"" : "null");
}

static void add_json(struct line *l, const struct keeper *k, int survivors, long long now)
{
	const struct tree *t = &k->tree;
	struct line cmd;

	report_command(&k->opt, &cmd);
	if (cmd.len > COMMAND_MAX)
		cmd.text[COMMAND_MAX] = '\0';
	line_add(l, "{\"killick\":\"" KILLICK_VERSION "\",\"tree\":\"%s\",\"name\":", k->id);
	line_json(l, k->opt.recipe.name);
	line_add(l, ",\"session\":");
	line_json(l, k->opt.recipe.session);
	line_add(l, ",\"command\":");
	line_json(l, cmd.text);
	line_add(l,
		 ",\"pid\":%d,\"owner\":%d,\"level\":\"%s\",\"why\":\"%s\",\"step\":\"%s\","
		 "\"exit\":",
		 k->server, k->owner, level_name(t->level), report_why(k->why), need_name(k->need));
	add_exit(l, t);
	add_ms(l, "stop_ms", now - k->stop_us);
	add_ms(l, "life_ms", now - k->begun_us);
	line_add(l, ",\"killed\":%d", t->killed);
	add_proof(l, t);
	line_add(l, ",\"survivors\":[");
	if (survivors)
		add_survivors(l, t);
	line_add(l, "]");
	add_container(l, &k->container);
	line_add(l, ",\"notes\":[");
	for (int i = 0; i < k->note_count; i++) {
		if (i)
			line_add(l, ",");
		line_json(l, k->notes[i]);
	}
	line_add(l, "]}\n");
}

void report_end(const struct keeper *k, int survivors)
{
	const struct tree *t = &k->tree;
	long long now = clock_us();
	struct line l;

	keeper_log(k, "event=end why=%s step=%s level=%s %s=%d stop_us=%lld killed=%d survivors=%d",
		   report_why(k->why), need_name(k->need), level_name(t->level),
		   t->exited && WIFSIGNALED(t->status) ? "signal" : "code",
		   !t->exited               ? -1
		   : WIFSIGNALED(t->status) ? WTERMSIG(t->status)
					    : WEXITSTATUS(t->status),
		   now - k->stop_us, t->killed, survivors);
	if (k->report_fd < 0 && k->control_fd < 0)
		return;
	line_init(&l);
	add_json(&l, k, survivors, now);
	if (l.cut) { /* a cut line would not be JSON: write a shorter one */
		line_init(&l);
		line_add(&l,
			 "{\"killick\":\"" KILLICK_VERSION "\",\"tree\":\"%s\",\"survivors\":%s}\n",
			 k->id, survivors ? "[null]" : "[]");
	}
	if (k->report_fd >= 0)
		line_offer(&l, k->report_fd, REPORT_MS);
	if (k->control_fd >= 0)
		line_offer(&l, k->control_fd, REPORT_MS);
}
