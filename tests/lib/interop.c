/* interop.c - the library with servers that other people wrote: everything, filesystem, memory, and
 * one on the SDK that speaks both eras (tests/interop/dual-era.mjs). All of them check what they
 * get.
 *
 * INTEROP is the folder with node_modules.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lab.h"

#define START_MS 60000 /* node on a busy machine */
#define ALL      (KILLICK_SAMPLING | KILLICK_ELICITATION | KILLICK_ROOTS)
#define PACKAGE  "node_modules/@modelcontextprotocol/server-"

struct guest {
	struct killick *k;
	struct killick_session *s;
	struct lab_events ev;
	char roots[256];
	struct lab_count asked[3]; /* sampling, elicitation, roots */
};

static void on_event(void *ctx, const struct killick_event *e)
{
	struct guest *g = ctx;
	const struct killick_handlers *h = lab_handlers(&g->ev, 0);

	h->on_event(h->ctx, e);
}

static void on_ask(void *ctx, struct killick_ask *ask)
{
	struct guest *g = ctx;
	const char *method = killick_ask_method(ask);

	if (!strcmp(method, "sampling/createMessage")) {
		lab_add(&g->asked[0]);
		killick_answer(ask,
			       "{\"model\":\"parrot\",\"role\":\"assistant\",\"content\":"
			       "{\"type\":\"text\",\"text\":\"sampled here\"}}",
			       NULL);
	} else if (!strcmp(method, "elicitation/create")) {
		lab_add(&g->asked[1]);
		killick_answer(ask, "{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}", NULL);
	} else if (!strcmp(method, "roots/list")) {
		lab_add(&g->asked[2]);
		killick_answer(ask, g->roots, NULL);
	} else {
		killick_decline(ask, "unknown", NULL);
	}
}

/* A session with one server, called "it": node with this script and these arguments. */
static void open_guest(struct guest *g, const char *script, const char *args, const char *more)
{
	const char *dir = t_program("INTEROP", "tests/interop");
	char config[4096], path[1024];
	struct killick_session_options options =
		KILLICK_SESSION_OPTIONS(.config = config,
					.handlers =
						&KILLICK_HANDLERS(.ctx = g, .on_event = on_event,
								  .on_ask = on_ask,
								  .answers = ALL));
	struct killick_error e = { 0 };

	lab_events_init(&g->ev);
	for (int i = 0; i < 3; i++)
		g->asked[i] = (struct lab_count)LAB_COUNT_INIT;
	snprintf(g->roots, sizeof(g->roots),
		 "{\"roots\":[{\"uri\":\"file://%s\",\"name\":\"here\"}]}", t_audit.dir);
	snprintf(path, sizeof(path), "%s/%s", dir, script);
	snprintf(config, sizeof(config),
		 "{\"mcpServers\":{\"it\":{\"command\":\"node\",\"args\":[\"%s\"%s],\"required\":"
		 "true,"
		 "\"envVars\":[\"ZOO_AUDIT\"],\"startupTimeoutSec\":60%s}}}",
		 path, args, more);
	g->k = LAB();
	if (killick_session_open(g->k, &options, &g->s, &e))
		FAIL("%s: %s", script, e.text);
}

static void close_guest(struct guest *g)
{
	lab_end(g->s);
	lab_close(g->k);
}

/* The result of a request as JSON, with room for the caller to look at; freed by the next one. */
static const char *get(struct guest *g, enum killick_op op, const char *name, const char *args)
{
	static struct killick_result *last;
	struct killick_request rq = KILLICK_REQUEST(.op = op, .server = "it", .name = name,
						    .args = args, .timeout_ms = START_MS);

	killick_result_free(last);
	last = lab_do(g->s, &rq, 0);
	return killick_result_json(last, NULL);
}

static void expect(struct guest *g, enum killick_op op, const char *name, const char *args,
		   const char *want)
{
	const char *json = get(g, op, name, args);

	if (!strstr(json, want))
		FAIL("no %s in %.600s", want, json);
}

struct steps {
	int count;
	double last;
	struct lab_count over;
};

static void on_progress(void *ctx, const struct killick_progress *p)
{
	struct steps *st = ctx;

	st->count++;
	st->last = p->progress;
}

static void on_done(void *ctx, struct killick_result *r)
{
	struct steps *st = ctx;

	EQ(killick_result_code(r), 0);
	killick_result_free(r);
	lab_add(&st->over);
}

static void expect_progress(struct guest *g, const char *tool, const char *args, int count)
{
	struct steps st = { .over = LAB_COUNT_INIT };
	struct killick_request rq =
		KILLICK_REQUEST(.op = KILLICK_CALL, .server = "it", .name = tool, .args = args,
				.ctx = &st, .on_progress = on_progress, .on_done = on_done);

	EQ(killick_start(g->s, &rq, NULL, NULL), 0);
	lab_await(&st.over, 1);
	EQ(st.count, count);
	OK(st.last == count);
}

static void expect_cancel(struct guest *g, const char *tool, const char *args)
{
	struct killick_request rq =
		KILLICK_REQUEST(.op = KILLICK_CALL, .server = "it", .name = tool, .args = args);
	struct killick_call *c = NULL;

	EQ(killick_start(g->s, &rq, &c, NULL), 0);
	get(g, KILLICK_TOOLS, NULL, NULL); /* it has arrived */
	killick_cancel(c);
	EQ(killick_wait(c, NULL), KILLICK_ERR_CANCELLED);
	killick_call_free(c);
}

TEST(everything, .timeout_ms = 120000)
{
	struct guest g;

	open_guest(&g, PACKAGE "everything/dist/index.js", ",\"stdio\"", "");
	expect(&g, KILLICK_TOOLS, NULL, NULL, "\"trigger-long-running-operation\"");
	expect(&g, KILLICK_RESOURCES, NULL, NULL, "architecture.md");
	expect(&g, KILLICK_TEMPLATES, NULL, NULL, "demo://resource/dynamic/text/{resourceId}");
	expect(&g, KILLICK_PROMPTS, NULL, NULL, "\"args-prompt\"");
	expect(&g, KILLICK_CALL, "echo", "{\"message\":\"h\\u00e9\"}", "Echo: h");
	expect(&g, KILLICK_CALL, "get-sum", "{\"a\":2,\"b\":40}", "42");
	expect(&g, KILLICK_CALL, "get-structured-content", "{\"location\":\"Chicago\"}",
	       "\"structuredContent\"");
	expect(&g, KILLICK_CALL, "get-tiny-image", NULL, "\"image\"");
	expect(&g, KILLICK_CALL, "echo", NULL, "\"isError\":true"); /* the argument is missing */
	expect(&g, KILLICK_READ, "demo://resource/dynamic/text/1", NULL, "\"text\"");
	expect(&g, KILLICK_PROMPT, "args-prompt", "{\"city\":\"Kiel\"}", "Kiel");
	expect(&g, KILLICK_COMPLETE, NULL,
	       "{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"completable-prompt\"},"
	       "\"argument\":{\"name\":\"department\",\"value\":\"E\"}}",
	       "Engineering");
	expect(&g, KILLICK_PING, NULL, NULL, "{}");
	expect_progress(&g, "trigger-long-running-operation", "{\"duration\":0.5,\"steps\":4}", 4);
	expect_cancel(&g, "trigger-long-running-operation", "{\"duration\":60,\"steps\":1}");
	close_guest(&g);
}

TEST(everything_that_asks_and_tells, .timeout_ms = 120000)
{
	struct guest g;

	open_guest(&g, PACKAGE "everything/dist/index.js", ",\"stdio\"", "");
	expect(&g, KILLICK_CALL, "trigger-sampling-request", "{\"prompt\":\"hi\"}", "sampled here");
	lab_await(&g.asked[0], 1);
	expect(&g, KILLICK_CALL, "trigger-elicitation-request", NULL, "Ada");
	lab_await(&g.asked[1], 1);
	expect(&g, KILLICK_CALL, "get-roots-list", NULL, t_audit.dir);
	lab_await(&g.asked[2], 1);
	expect(&g, KILLICK_LOG_LEVEL, "debug", NULL, "{}");
	get(&g, KILLICK_CALL, "toggle-simulated-logging", NULL);
	lab_await(&g.ev.count[KILLICK_EVENT_LOG], 1);
	expect(&g, KILLICK_SUBSCRIBE, "demo://resource/dynamic/text/1", NULL, "{}");
	get(&g, KILLICK_CALL, "toggle-subscriber-updates", NULL); /* the first comes at once */
	lab_await(&g.ev.count[KILLICK_EVENT_UPDATED], 1);
	STREQ(g.ev.last[KILLICK_EVENT_UPDATED].text, "demo://resource/dynamic/text/1");
	expect(&g, KILLICK_UNSUBSCRIBE, "demo://resource/dynamic/text/1", NULL, "{}");
	close_guest(&g);
}

/* It asks for the roots by itself and allows nothing else. */
TEST(filesystem_with_roots, .timeout_ms = 120000)
{
	struct guest g;
	char args[256], file[160];
	FILE *f;

	snprintf(file, sizeof(file), "%s/note.txt", t_audit.dir);
	f = fopen(file, "we");
	OK(f && fputs("in the root", f) >= 0);
	fclose(f);
	snprintf(args, sizeof(args), ",\"%s\"", t_audit.dir);
	open_guest(&g, PACKAGE "filesystem/dist/index.js", args, "");
	lab_await(&g.asked[2], 1);
	expect(&g, KILLICK_CALL, "list_allowed_directories", NULL, t_audit.dir);
	snprintf(args, sizeof(args), "{\"path\":\"%s\"}", file);
	expect(&g, KILLICK_CALL, "read_text_file", args, "in the root");
	expect(&g, KILLICK_CALL, "read_text_file", "{\"path\":\"/etc/passwd\"}",
	       "\"isError\":true");
	snprintf(args, sizeof(args), "{\"path\":\"%s/new\",\"content\":\"a\\nb\"}", t_audit.dir);
	get(&g, KILLICK_CALL, "write_file", args);
	snprintf(args, sizeof(args), "%s/new", t_audit.dir);
	EQ(access(args, R_OK), 0);
	close_guest(&g);
}

TEST(memory, .timeout_ms = 120000)
{
	struct guest g;
	char more[256];

	snprintf(more, sizeof(more), ",\"env\":{\"MEMORY_FILE_PATH\":\"%s/memory.jsonl\"}",
		 t_audit.dir);
	open_guest(&g, PACKAGE "memory/dist/index.js", "", more);
	get(&g, KILLICK_CALL, "create_entities",
	    "{\"entities\":[{\"name\":\"killick\",\"entityType\":\"anchor\",\"observations\":"
	    "[\"small\"]}]}");
	expect(&g, KILLICK_CALL, "search_nodes", "{\"query\":\"anchor\"}", "small");
	expect(&g, KILLICK_READ, "memory://knowledge-graph", NULL, "killick");
	close_guest(&g);
	open_guest(&g, PACKAGE "memory/dist/index.js", "", more); /* it was written down */
	expect(&g, KILLICK_CALL, "read_graph", NULL, "killick");
	close_guest(&g);
}

static void dual(const char *era, const char *got, const char *protocol)
{
	struct guest g;
	struct killick_status *st = NULL;
	char more[64];

	snprintf(more, sizeof(more), ",\"era\":\"%s\"", era);
	open_guest(&g, "dual-era.mjs", "", more);
	EQ(killick_session_status(g.s, &st, NULL), 0);
	STREQ(st->servers[0]->era, got);
	STREQ(st->servers[0]->protocol, protocol);
	STREQ(st->servers[0]->instructions, "Either way.");
	OK(strstr(st->servers[0]->info, "dual-era"));
	killick_status_free(st);
	expect(&g, KILLICK_TOOLS, NULL, NULL, "\"echo\"");
	expect(&g, KILLICK_RESOURCES, NULL, NULL, "dual://note");
	expect(&g, KILLICK_PROMPTS, NULL, NULL, "\"greet\"");
	expect(&g, KILLICK_READ, "dual://note", NULL, "a note");
	expect(&g, KILLICK_PROMPT, "greet", "{\"who\":\"you\"}", "hello you");
	expect(&g, KILLICK_COMPLETE, NULL,
	       "{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"greet\"},"
	       "\"argument\":{\"name\":\"who\",\"value\":\"\"}}",
	       "alice");
	expect(&g, KILLICK_CALL, "echo", "{\"text\":\"both\"}", "both");
	get(&g, KILLICK_PING, NULL, NULL);
	expect_progress(&g, "progress", "{\"n\":3}", 3);
	expect_cancel(&g, "wait", NULL);
	expect(&g, KILLICK_CALL, "ask", "{\"kind\":\"elicitation\"}", "Ada");
	expect(&g, KILLICK_CALL, "ask", "{\"kind\":\"sampling\"}", "sampled here");
	expect(&g, KILLICK_CALL, "ask", "{\"kind\":\"roots\"}", t_audit.dir);
	get(&g, KILLICK_LOG_LEVEL, "debug", NULL);
	get(&g, KILLICK_CALL, "log", NULL);
	lab_await(&g.ev.count[KILLICK_EVENT_LOG], 1);
	get(&g, KILLICK_SUBSCRIBE, "dual://note", NULL);
	get(&g, KILLICK_CALL, "touch", NULL);
	lab_await(&g.ev.count[KILLICK_EVENT_UPDATED], 1);
	lab_await(&g.ev.count[KILLICK_EVENT_TOOLS], 1);
	get(&g, KILLICK_UNSUBSCRIBE, "dual://note", NULL);
	close_guest(&g);
}

TEST(dual_era_as_legacy, .timeout_ms = 120000)
{
	dual("legacy", "legacy", "2025-11-25");
}

TEST(dual_era_as_modern, .timeout_ms = 120000)
{
	dual("modern", "modern", "2026-07-28");
}

TEST(dual_era_found_out, .timeout_ms = 120000)
{
	dual("auto", "modern", "2026-07-28");
}

/* Servers of the SDK before it: the question does no harm. */
TEST(legacy_found_out, .timeout_ms = 120000)
{
	struct guest g;
	struct killick_status *st = NULL;

	open_guest(&g, PACKAGE "everything/dist/index.js", ",\"stdio\"", ",\"era\":\"auto\"");
	EQ(killick_session_status(g.s, &st, NULL), 0);
	STREQ(st->servers[0]->era, "legacy");
	killick_status_free(st);
	expect(&g, KILLICK_CALL, "echo", "{\"message\":\"x\"}", "Echo: x");
	close_guest(&g);
}

int main(int argc, char **argv)
{
	char path[1024];

	snprintf(path, sizeof(path), "%s/node_modules", t_program("INTEROP", "tests/interop"));
	if (access(path, X_OK)) {
		printf("1..0 # SKIP the servers are not installed: npm ci --prefix "
		       "tests/interop\n");
		return 0;
	}
	return t_main(argc, argv);
}
