/* ps_on.c - see ps_on.h */
#include "ps_on.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/emit.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"
#include "cli.h"
#include "keeper/conceal.h"
#include "os/exec.h"
#include "os/time.h"

#define VERB    "ps"
#define LIST_US 20000000 /* time limit to connect and to answer */
#define FREE_US 10000000
enum { COMMAND_MAX = 8192 };

/* --- ssh: a new executor would hold no process, so `killick ps` itself runs there --- */

static int run_ssh(struct config_place *p, const struct ps_on_options *o)
{
	struct buf line = BUF_INIT(BUF_ANY_SIZE);
	size_t last = 0;

	while (p->program[last + 1])
		last++;
	buf_addf(&line, "%s ps%s%s%s", p->far_killick, o->as_tree ? " --tree" : "",
		 o->as_json ? " --json" : "", cli_show_secrets ? " --show-secrets" : "");
	free(p->program[last]);
	p->program[last] = buf_take(&line);
	cli_say(VERB, "cannot start '%s': %s", p->program[0], strerror(-exec_program(p->program)));
	return EXIT_UNAVAILABLE;
}

/* --- other executors: send a request --- */

struct asking {
	struct loop *loop;
	bool told, freed;
	char *result; /* NULL: see e */
	size_t len;
	struct err e;
};

static void on_list(void *ctx, const char *result, size_t len, const struct err *e)
{
	struct asking *a = ctx;

	a->told = true;
	a->result = result ? mem_text(result, len) : NULL;
	a->len = len;
	if (!result)
		a->e = *e;
}

static bool ps_on_is_told(void *ctx)
{
	return ((struct asking *)ctx)->told;
}

static void ps_on_on_freed(void *ctx)
{
	((struct asking *)ctx)->freed = true;
}

static bool is_freed(void *ctx)
{
	return ((struct asking *)ctx)->freed;
}

static void ps_on_on_turn(void *ctx)
{
	(void)ctx;
}

/* Get the list of p's executor into a->result; on failure a->e is set. Returns false if the loop's
 * thread may still use *a, but only a->freed. */
static bool ps_on_ask(struct asking *a, const struct config_place *p, const char *keeper)
{
	struct environment *env;
	struct err late;
	bool freed;

	if (loop_open(&a->loop, ps_on_on_turn, NULL, &a->e) < 0)
		return true;
	loop_lock(a->loop);
	env = on_open(a->loop, p, VERB, keeper);
	if (environment_list(env, on_list, a, &a->e) == 0 &&
	    !loop_wait(a->loop, ps_on_is_told, a, loop_now_us() + LIST_US)) {
		err_set(&late, -ETIMEDOUT, "'%.100s' has not answered within %d s", p->name,
			LIST_US / 1000000);
		environment_end_lists(env, &late); /* calls on_list */
	}
	/* wait for the end of a program that was started for this request */
	environment_free(env, ps_on_on_freed, a);
	loop_wait(a->loop, is_freed, a, loop_now_us() + FREE_US);
	freed = a->freed;
	loop_unlock(a->loop);
	return freed;
}

/* --- output --- */

static void add_text(struct table *t, struct json v)
{
	char raw[256], text[256];

	if (!json_string_into(v, raw, sizeof(raw)))
		*raw = '\0';
	text_clean(raw, strlen(raw), text, sizeof(text));
	table_add(t, text);
}

/* Call `add` with each word of a command, without secrets (cli_show_secrets). */
static void ps_on_words(struct json argv, void (*add)(void *ctx, const char *word), void *ctx)
{
	struct json_iter it = json_iter(argv);
	struct conceal c = { .before = NULL };
	char words[2][1024]; /* the word, and the one before it */
	struct line l;

	for (unsigned i = 0; json_each(&it); i = !i) {
		struct conceal_part part;

		if (!json_string_into(it.value, words[i], sizeof(words[i])))
			snprintf(words[i], sizeof(words[i]), "?");
		part = conceal_word(&c, words[i]);
		if (cli_show_secrets)
			part = (struct conceal_part){ 0, 0 };
		line_init(&l);
		line_add(&l, "%.*s%s%s", (int)part.at, words[i], part.len ? CONCEALED : "",
			 words[i] + part.at + part.len);
		add(ctx, l.text);
	}
}

static void ps_on_add_word(void *ctx, const char *word)
{
	struct buf *line = ctx;

	buf_addf(line, "%s%s", line->len ? " " : "", word);
}

static void add_command(struct table *t, struct json argv)
{
	AUTO(buf_done) struct buf line = BUF_INIT(COMMAND_MAX / 2);
	char text[COMMAND_MAX];

	ps_on_words(argv, ps_on_add_word, &line);
	text_clean(line.data, line.len, text, sizeof(text));
	table_add(t, text);
}

/* Is the process held? The executor remembers ended processes for a while. A closed process may
 * have left background jobs that the executor still holds. */
static bool is_held(struct json process)
{
	bool held = true;

	json_bool(json_get(process, "held"), &held);
	return held;
}

/* Write "running", or "running (owner away, 12s left)". */
static void add_state(struct table *t, struct json p)
{
	char raw[32] = "?", state[32], span[24];
	bool attached = true;
	int64_t lease_ms = 0;

	json_string_into(json_get(p, "state"), raw, sizeof(raw));
	json_bool(json_get(p, "attached"), &attached);
	if (strcmp(raw, "closed") == 0 && is_held(p)) /* its background jobs still run */
		snprintf(raw, sizeof(raw), "lingering");
	text_clean(raw, strlen(raw), state, sizeof(state));
	if (attached)
		table_add(t, state);
	else if (json_int(json_get(p, "leaseMs"), &lease_ms))
		table_addf(t, "%s (owner away, %s left)", state, text_span(lease_ms, span));
	else
		table_addf(t, "%s (owner away)", state);
}

static void add_number(struct table *t, struct json v)
{
	int64_t n = 0;

	if (json_int(v, &n) && n > 0)
		table_addf(t, "%lld", (long long)n);
	else
		table_add(t, "-");
}

static void ps_on_add_row(struct table *t, struct json p)
{
	int64_t now_ms, since_ms;
	char span[24];

	now_ms = since_ms = time_wall_ns() / 1000000;
	add_text(t, json_get(p, "name"));
	add_text(t, json_get(p, "client"));
	add_number(t, json_get(p, "pid"));
	json_int(json_get(p, "startedMs"), &since_ms); /* time of the executor's clock */
	table_add(t, text_span(since_ms < now_ms ? now_ms - since_ms : 0, span));
	add_state(t, p);
	add_text(t, json_get(p, "session"));
	add_command(t, json_get(p, "argv"));
}

static size_t count(struct json list, bool all)
{
	struct json_iter it = json_iter(list);
	size_t n = 0;

	while (json_each(&it))
		n += all || is_held(it.value);
	return n;
}

static void ps_on_print_table(struct json list, bool all)
{
	static const struct table_col cols[] = {
		{ .title = "NAME", .min = 10 },
		{ .title = "OWNER", .min = 12 },
		{ .title = "SERVER", .right = true },
		{ .title = "AGE", .right = true },
		{ .title = "STATE", .min = 9 },
		{ .title = "SESSION", .drop = true, .min = 8 },
		{ .title = "COMMAND", .drop = true, .min = 12 },
	};
	AUTO(table_done) struct table table = TABLE_INIT(cols);
	struct json_iter it = json_iter(list);

	while (json_each(&it)) {
		if (!all && !is_held(it.value))
			continue;
		ps_on_add_row(&table, it.value);
	}
	table_print(&table, stdout, 0, cli_width());
}

static void ps_on_emit_word(void *ctx, const char *word)
{
	emit_text(ctx, NULL, word, strlen(word));
}

/* Print a process as the executor wrote it, except its command. */
static void ps_on_emit_process(struct emit *j, struct json process)
{
	struct json_iter it = json_iter(process);

	emit_open(j, NULL, '{');
	while (json_each(&it)) {
		AUTO(mem_drop) char *key = NULL;

		if (!json_string(it.key, &key))
			continue;
		if (strcmp(key, "argv") != 0 || json_type(it.value) != JSON_ARRAY ||
		    cli_show_secrets) {
			emit_raw(j, key, it.value.at, it.value.len);
			continue;
		}
		emit_open(j, key, '[');
		ps_on_words(it.value, ps_on_emit_word, j);
		emit_close(j);
	}
	emit_close(j);
}

static void ps_on_print_json(struct json list, bool all)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_LINES(&text);
	struct json_iter it = json_iter(list);

	emit_open(&j, NULL, '[');
	while (json_each(&it))
		if (all || is_held(it.value))
			ps_on_emit_process(&j, it.value);
	emit_close(&j);
	emit_print(&j, stdout);
}

static int ps_on_show(const struct asking *a, const struct config_place *p,
		      const struct ps_on_options *o)
{
	struct json_fault fault;
	struct json top, list = JSON_NONE;

	if (a->result && json_check(a->result, a->len, 0, &top, &fault) == 0)
		list = json_get(top, "processes");
	if (json_type(list) != JSON_ARRAY) {
		cli_say(VERB, "%s",
			a->result ? "the executor's answer has no list of processes" : a->e.text);
		return EXIT_UNAVAILABLE;
	}
	if (o->as_json)
		ps_on_print_json(list, o->all);
	else if (count(list, o->all) == 0)
		printf("no processes: the executor of '%s' holds none.\n", p->name);
	else
		ps_on_print_table(list, o->all);
	return cli_finish(VERB, EXIT_SUCCESS);
}

int ps_on(const struct on *where, const struct ps_on_options *o)
{
	AUTO(config_place_done) struct config_place p = { .name = NULL };
	AUTO(mem_drop) char *keeper = NULL;
	struct asking *a;
	bool freed;
	int status;

	if (!on_find(VERB, where, &p, &status))
		return status;
	if (p.far_killick)
		return run_ssh(&p, o);
	if (o->as_tree)
		return cli_usage(VERB, "'--tree' with '--on' works for ssh only");
	keeper = on_keeper(VERB);
	if (!keeper)
		return EXIT_UNAVAILABLE;
	a = mem_grow(NULL, 1, sizeof(*a));
	*a = (struct asking){ .e = ERR_INIT };
	freed = ps_on_ask(a, &p, keeper);
	status = ps_on_show(a, &p, o);
	free(a->result);
	if (freed)
		free(a);
	return status;
}
