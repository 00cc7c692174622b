/* report.c - see report.h */
#include "report.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "clock.h"
#include "line_fd.h"
#include "proc.h"

#define REPORT_MS 1000 /* how long to wait for the reader of the report */

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

static void add_exit(struct line *l, const struct tree *t)
{
	if (!t->exited)
		line_add(l, "null");
	else if (WIFEXITED(t->status))
		line_add(l, "{\"code\":%d}", WEXITSTATUS(t->status));
	else
		line_add(l, "{\"signal\":\"%s\"}", report_signal(WTERMSIG(t->status)));
}

static void add_proof(struct line *l, const struct tree *t)
{
	const char *words[4];
	int n = 0;

	if (t->proof_waitid)
		words[n++] = "waitid";
	if (t->proof_cgroup)
		words[n++] = "cgroup";
	if (t->proof_mark)
		words[n++] = "mark";
	if (t->proof_group)
		words[n++] = "group";
	report_list(l, "proof", words, n);
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
	const struct report_facts facts = { .tree = k->id,
					    .recipe = &k->opt.recipe,
					    .pid = k->server,
					    .owner = k->owner,
					    .level = t->level,
					    .why = k->why,
					    .need = k->need };

	report_head(l, &facts);
	add_exit(l, t);
	report_times(l, now - k->stop_us, now - k->begun_us);
	line_add(l, ",\"killed\":%d", t->killed);
	add_proof(l, t);
	line_add(l, ",\"survivors\":[");
	if (survivors)
		add_survivors(l, t);
	line_add(l, "]");
	add_container(l, &k->container);
	report_notes(l, &k->notes);
	line_add(l, "}\n");
}

long long report_size(const struct keeper *k)
{
	struct stat st;

	return k->report_fd >= 0 && fstat(k->report_fd, &st) == 0 && S_ISREG(st.st_mode)
		       ? st.st_size
		       : -1;
}

int report_end(const struct keeper *k, int survivors)
{
	const struct tree *t = &k->tree;
	long long now = clock_us();
	struct line l;
	int r = 0;

	keeper_log(k, "event=end why=%s step=%s level=%s %s=%d stop_us=%lld killed=%d survivors=%d",
		   report_why(k->why), report_need(k->need), level_name(t->level),
		   t->exited && WIFSIGNALED(t->status) ? "signal" : "code",
		   !t->exited               ? -1
		   : WIFSIGNALED(t->status) ? WTERMSIG(t->status)
					    : WEXITSTATUS(t->status),
		   now - k->stop_us, t->killed, survivors);
	if (k->report_fd < 0 && k->control_fd < 0)
		return 0;
	line_init(&l);
	add_json(&l, k, survivors, now);
	if (l.cut)
		report_shorten(&l, k->id, survivors > 0);
	if (k->report_fd >= 0)
		r = line_offer(&l, k->report_fd, REPORT_MS);
	if (k->control_fd >= 0)
		line_offer(&l, k->control_fd, REPORT_MS);
	return r;
}
