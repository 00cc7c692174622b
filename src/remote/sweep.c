/* sweep.c - see sweep.h */
#include "remote/sweep.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/emit.h"
#include "base/mem.h"
#include "remote/remote.h"

#define SWEEP_MS   3000
#define OUTPUT_MAX (64u << 10)

/* One grep per round, not one per process. Neither the grep nor the shell has the tag in its
 * environment. A process may fork before it is killed, so the rounds go on until nothing is found;
 * a zombie has no environment. Without sh, grep or /proc the script ends without "done". */
static const char script[] =
	"cd /proc && [ -r self/environ ] || exit 3\n"
	"T=$1 n=0 seen=' '\n"
	"look() { grep -lsF \"KILLICK_TREE=$T\" [0-9]*/environ; }\n"
	"name() { c=; read -r c < $1/comm; echo \"$2 $1 $c\"; } 2>/dev/null\n"
	"look >/dev/null; [ $? -le 2 ] || exit 3\n"
	"while all=$(look); [ -n \"$all\" ] && [ $n -lt 15 ]; do\n"
	"  for e in $all; do p=${e%/environ}\n"
	"    case $seen in *\" $p \"*) ;; *) seen=\"$seen$p \"; name $p found ;; esac\n"
	"    kill -9 $p 2>/dev/null\n"
	"  done\n"
	"  n=$((n + 1))\n"
	"  [ $n -lt 3 ] || sleep 0.1 2>/dev/null || sleep 1\n"
	"done\n"
	"for e in $all; do name ${e%/environ} left; done\n"
	"echo done\n";

struct sweep {
	struct environment *env;
	struct link *link;
	struct loop_timer late;
	struct buf output;
	sweep_fn done; /* NULL: the caller has cancelled the sweep */
	void *ctx;
};

/* --- the output of the script --- */

static void read_process(struct sweep_result *result, const char *words, bool left)
{
	struct sweep_process p = { .left = left };
	char *name;

	p.pid = strtol(words, &name, 10);
	if (p.pid <= 0)
		return;
	snprintf(p.name, sizeof(p.name), "%.31s", *name == ' ' ? name + 1 : name);
	for (char *c = p.name; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?'; /* a process chooses its own name */
	for (size_t i = 0; left && i < result->kept; i++)
		if (result->list[i].pid == p.pid)
			result->list[i].left = true;
	result->left += left;
	result->found += !left;
	if (!left && result->kept < SWEEP_FOUND_MAX)
		result->list[result->kept++] = p;
}

static void read_output(struct buf *output, struct sweep_result *result)
{
	char *line = output->data, *end;

	for (; line && (end = strchr(line, '\n')) != NULL; line = end + 1) {
		*end = '\0';
		if (strncmp(line, "found ", 6) == 0)
			read_process(result, line + 6, false);
		else if (strncmp(line, "left ", 5) == 0)
			read_process(result, line + 5, true);
		else if (strcmp(line, "done") == 0)
			result->ran = true;
	}
}

/* --- the link --- */

static void sweep_on_late(struct loop_timer *t)
{
	link_stop(CONTAINER_OF(t, struct sweep, late)->link, LINK_STOP_KILL);
}

static void sweep_on_started(void *ctx, int pid, const char *level)
{
	(void)ctx;
	(void)pid;
	(void)level;
}

static void sweep_on_bytes(void *ctx, const char *bytes, size_t len)
{
	struct sweep *s = ctx;

	buf_add(&s->output, bytes, len); /* more output would not be understood anyway */
}

static void sweep_on_stderr(void *ctx, const char *bytes, size_t len)
{
	(void)ctx;
	(void)bytes;
	(void)len;
}

static void sweep_on_eof(void *ctx)
{
	(void)ctx;
}

static void sweep_on_ended(void *ctx, const struct link_end *end)
{
	struct sweep *s = ctx;
	struct sweep_result result = { .ran = false };
	sweep_fn done = s->done;
	void *done_ctx = s->ctx;

	if (!end->refused)
		read_output(&s->output, &result);
	loop_timer_stop(s->env->loop, &s->late);
	link_free(s->link);
	buf_done(&s->output);
	free(s);
	if (done)
		done(done_ctx, &result);
}

static const struct link_events events = {
	.on_started = sweep_on_started,
	.on_bytes = sweep_on_bytes,
	.on_stderr = sweep_on_stderr,
	.on_eof = sweep_on_eof,
	.on_ended = sweep_on_ended,
};

struct sweep *sweep_begin(struct environment *env, const char *tag, sweep_fn done, void *ctx)
{
	char *argv[] = { "/bin/sh", "-c", (char *)script, "sh", (char *)tag, NULL };
	char *envp[] = { "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", NULL };
	const struct recipe recipe = {
		.name = "sweep", .argv = argv, .envp = envp, .cwd = "/", .stdio = STDIO_NULL
	};
	struct remote_spec remote = { .recipe = &recipe, .ev = &events, .internal = true };
	struct sweep *s = mem_grow(NULL, 1, sizeof(*s));
	struct err e;
	int r;

	*s = (struct sweep){ .env = env, .output = BUF_INIT(OUTPUT_MAX), .done = done, .ctx = ctx };
	remote.ctx = s;
	r = remote_open(env, &remote, &s->link, &e);
	assert(r == 0); /* the recipe is constant, so its checks cannot fail */
	(void)r;
	loop_timer_set(env->loop, &s->late, SWEEP_MS, sweep_on_late);
	return s;
}

void sweep_cancel(struct sweep *s)
{
	s->done = NULL;
	link_stop(s->link, LINK_STOP_KILL);
}

/* --- texts and reports --- */

static void emit_processes(struct emit *j, const char *key, const struct sweep_result *result,
			   bool left_only)
{
	emit_open(j, key, '[');
	for (size_t i = 0; i < result->kept; i++) {
		const struct sweep_process *p = &result->list[i];

		if (left_only && !p->left)
			continue;
		emit_open(j, NULL, '{');
		emit_int(j, "pid", p->pid);
		emit_text(j, "name", p->name, strlen(p->name));
		emit_close(j);
	}
	emit_close(j);
}

void sweep_report(struct buf *out, const struct sweep_result *result, int exit_code, unsigned proof)
{
	struct emit j = EMIT_INIT(out);

	emit_open(&j, NULL, '{');
	emit_str(&j, "executor", "codex");
	emit_open(&j, "exit", '{');
	if (exit_code != -1)
		emit_int(&j, "code", exit_code);
	else
		emit_null(&j, "code");
	emit_close(&j);
	emit_open(&j, "proof", '[');
	if (proof & LINK_PROOF_GROUP)
		emit_str(&j, NULL, "group");
	if (proof & LINK_PROOF_SWEEP)
		emit_str(&j, NULL, "sweep");
	emit_close(&j);
	emit_processes(&j, "swept", result, false);
	emit_processes(&j, "survivors", result, true);
	emit_close(&j);
	emit_end(&j);
}

void sweep_text(const struct sweep_result *result, char *out, size_t size)
{
	size_t used;

	*out = '\0';
	if (result->windows) {
		snprintf(out, size,
			 "the executor is not killick's and runs on Windows, where killick cannot "
			 "look for processes that the server left");
		return;
	}
	if (!result->ran) {
		snprintf(out, size,
			 "killick could not look for processes that the server left behind");
		return;
	}
	if (!result->found)
		return;
	used = (size_t)snprintf(
		out, size, "%zu process%s had left its group and %s killed:", result->found,
		result->found == 1 ? "" : "es", result->found == 1 ? "was" : "were");
	if (result->left)
		used = (size_t)snprintf(
			out, size, "%zu process%s had left its group, and %zu could not be killed:",
			result->found, result->found == 1 ? "" : "es", result->left);
	for (size_t i = 0; i < result->kept && used < size; i++) {
		const struct sweep_process *p = &result->list[i];

		used += (size_t)snprintf(out + used, size - used, "%s %s (%ld%s)", i ? "," : "",
					 p->name, p->pid, p->left ? ", alive" : "");
	}
}
