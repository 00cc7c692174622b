/* protocol_tagged.c - a server with every kind of state that two clients of one process can confuse
 * (`mcp tagged`; `mcp taggednew` is the same in the modern era).
 *
 * A client puts its tag into the arguments of each call, and all messages that belong to the call
 * carry the tag: results, progress, logs, questions, tasks. Tools in addition to those of `good`:
 *
 *	steps {n, ms, text}     n progress reports, ms apart, while other calls go on; then text
 *	counts                  what the client did, as structuredContent: the number of messages
 *	                        of each method, pid, level, capabilities of initialize, logs
 *	mirror {raw}            raw as the result, byte for byte; without raw: the params as they
 *	                        came
 *	keep {text}             store text in the process; the answer is the text stored before
 *	link {text, ms}         elicitation of mode url, whose id is text; ms after the answer its
 *	                        completion is announced
 *	pings                   the answer of the client to a ping of the server
 *	work {text, ms, ask}    a task (2025-11-25): done after ms, with text; ask: asks text
 *	                        inside of the task first, and the result is the answer
 *
 * `mcp taggedlies WORD` is `tagged`, but in every fifth line that contains WORD the first "tag-" is
 * replaced by "tug-": a test of tags must notice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol_ways.h"
#include "fixtures.h"

#define MAX_METHODS 48
#define MAX_TASKS   256
#define RELATED     "\"_meta\":{\"io.modelcontextprotocol/related-task\":{\"taskId\":\"%s\"}}"

static struct {
	char name[64];
	unsigned count;
} methods[MAX_METHODS];
static char *capabilities; /* of initialize, as written */

static void count_method(struct span method)
{
	char name[64];

	scan_copy(method, name, sizeof(name));
	for (int i = 0; i < MAX_METHODS; i++) {
		if (methods[i].count > 0 && strcmp(methods[i].name, name) != 0)
			continue;
		snprintf(methods[i].name, sizeof(methods[i].name), "%s", name);
		methods[i].count++;
		return;
	}
}

static void step_fire(struct open *o)
{
	struct span token = scan_member(o->rq.meta, "progressToken");
	struct span text = tools_text(&o->rq, "\"stepped\"");
	long n = scan_long(request_arg(&o->rq, "n"), 3);

	if (o->left > 0 && token.len > 0)
		protocol_say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
			     "\"params\":{\"progressToken\":%.*s,\"progress\":%ld,\"total\":%ld,"
			     "\"message\":%.*s}}",
			     (int)token.len, token.at, n - o->left + 1, n, (int)text.len, text.at);
	o->due_ms = protocol_now_ms() + (double)scan_long(request_arg(&o->rq, "ms"), 0);
	if (o->left-- > 0)
		return;
	protocol_tool_answer(&o->rq, text, SPAN_NONE);
	protocol_close(o);
}

static void tool_steps(const struct request *rq)
{
	struct open *o = protocol_open(rq, OPEN_SLEEP);

	o->left = scan_long(request_arg(rq, "n"), 3);
	o->fire = step_fire;
	o->due_ms = protocol_now_ms() + (double)scan_long(request_arg(rq, "ms"), 0);
}

static const char *counted_tool;
static unsigned counted;

static void count_open(struct open *o)
{
	counted += request_calls(&o->rq, counted_tool);
}

static void tool_counts(const struct request *rq)
{
	static const char *const open_tools[] = { "sleep", "block", "ask", "steps", "link" };
	struct grow t = { 0 };

	grow_addf(&t, "{\"pid\":%d,\"capabilities\":%s", (int)getpid(),
		  capabilities ? capabilities : "{}");
	for (int i = 0; i < MAX_METHODS && methods[i].count > 0; i++)
		grow_addf(&t, ",\"%s\":%u", methods[i].name, methods[i].count);
	for (size_t i = 0; i < sizeof(open_tools) / sizeof(*open_tools); i++) {
		counted_tool = open_tools[i];
		counted = 0;
		open_each(count_open);
		grow_addf(&t, ",\"open %s\":%u", counted_tool, counted);
	}
	grow_addf(&t, ",\"level\":\"%s\"}", tools_get_level());
	protocol_tool_answer(rq, tools_text(rq, "\"\""), (struct span){ t.at, t.len });
	grow_done(&t);
}

static void tool_mirror(const struct request *rq)
{
	struct span raw = request_arg(rq, "raw");
	struct grow t = { 0 };

	if (raw.len > 2) {
		protocol_answer(rq, raw.at + 1, raw.len - 2, false);
		return;
	}
	grow_adds(&t, "{\"params\":");
	grow_span(&t, rq->params);
	grow_adds(&t, "}");
	protocol_tool_answer(rq, tools_text(rq, "\"\""), (struct span){ t.at, t.len });
	grow_done(&t);
}

static void tool_keep(const struct request *rq)
{
	static char kept[256] = "\"\"";
	struct span text = tools_text(rq, "\"\"");

	protocol_tool_answer(rq, (struct span){ kept, strlen(kept) }, SPAN_NONE);
	snprintf(kept, sizeof(kept), "%.*s", (int)text.len, text.at);
}

static void tool_link(const struct request *rq)
{
	struct span text = tools_text(rq, "\"\"");
	struct grow t = { 0 };

	grow_addf(&t,
		  "{\"mode\":\"url\",\"elicitationId\":%.*s,\"url\":\"http://127.0.0.1/\","
		  "\"message\":%.*s}",
		  (int)text.len, text.at, (int)text.len, text.at);
	tools_ask(rq, "elicitation/create", (struct span){ t.at, t.len });
	grow_done(&t);
}

static void link_fire(struct open *o)
{
	struct span text = tools_text(&o->rq, "\"\"");

	protocol_say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/elicitation/complete\","
		     "\"params\":{\"elicitationId\":%.*s}}",
		     (int)text.len, text.at);
	protocol_close(o);
}

static bool link_answered(struct open *o)
{
	struct open *timer;

	if (!request_calls(&o->rq, "link"))
		return false;
	timer = protocol_open(&o->rq, OPEN_SLEEP);
	timer->fire = link_fire;
	timer->due_ms = protocol_now_ms() + (double)scan_long(request_arg(&o->rq, "ms"), 0);
	return false;
}

static void tool_pings(const struct request *rq)
{
	tools_ask(rq, "ping", SPAN_NONE);
}

/* Tasks. */

enum task_state { TASK_WORKING, TASK_ASKING, TASK_DONE, TASK_CANCELLED };
static const char *const task_states[] = { "working", "input_required", "completed", "cancelled" };

static struct task {
	char id[32];
	char text[128]; /* quoted */
	char *answer;   /* of the client, if the task asked; NULL: none */
	enum task_state state;
	bool asks;
	struct open *waiter; /* tasks/result */
	unsigned long number;
} tasks[MAX_TASKS];
static unsigned long task_number;

static struct task *task_find(struct span id)
{
	for (int i = 0; i < MAX_TASKS; i++)
		if (tasks[i].number && scan_is(id, tasks[i].id))
			return &tasks[i];
	return NULL;
}

/* A free place: an unused one, or that of the oldest task that is over. */
static struct task *task_place(void)
{
	struct task *best = NULL;

	for (int i = 0; i < MAX_TASKS; i++) {
		if (!tasks[i].number)
			return &tasks[i];
		if (tasks[i].state >= TASK_DONE && !tasks[i].waiter &&
		    (!best || tasks[i].number < best->number))
			best = &tasks[i];
	}
	if (!best)
		abort();
	free(best->answer);
	return best;
}

static void task_add(struct grow *t, const struct task *k)
{
	grow_addf(t,
		  "\"taskId\":\"%s\",\"status\":\"%s\",\"statusMessage\":%s,"
		  "\"createdAt\":\"2026-01-01T00:00:00Z\",\"lastUpdatedAt\":"
		  "\"2026-01-01T00:00:00Z\",\"ttl\":60000,\"pollInterval\":10",
		  k->id, task_states[k->state], k->text);
}

static void task_result(const struct request *rq, const struct task *k)
{
	struct grow t = { 0 };

	grow_addf(&t, "\"content\":[{\"type\":\"text\",\"text\":%s}],", k->text);
	if (k->answer)
		grow_addf(&t, "\"structuredContent\":{\"answer\":%s},", k->answer);
	grow_addf(&t, RELATED, k->id);
	protocol_answer(rq, t.at, t.len, false);
	grow_done(&t);
}

static void task_go(struct task *k, enum task_state state)
{
	struct grow t = { 0 };

	k->state = state;
	grow_adds(&t,
		  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tasks/status\",\"params\":{");
	task_add(&t, k);
	grow_adds(&t, "}}");
	protocol_say_text(&t);
	if (state < TASK_DONE || !k->waiter)
		return;
	if (state == TASK_DONE)
		task_result(&k->waiter->rq, k);
	else
		protocol_error(&k->waiter->rq, -32603, "the task was cancelled");
	protocol_close(k->waiter);
	k->waiter = NULL;
}

static void task_fire(struct open *o)
{
	struct task *k = NULL;

	for (int i = 0; i < MAX_TASKS; i++)
		if (tasks[i].number == (unsigned long)o->left)
			k = &tasks[i];
	protocol_close(o);
	if (!k || k->state != TASK_WORKING)
		return;
	if (!k->asks) {
		task_go(k, TASK_DONE);
		return;
	}
	task_go(k, TASK_ASKING);
	protocol_say("{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"elicitation/create\","
		     "\"params\":{\"message\":%s,\"requestedSchema\":{\"type\":\"object\","
		     "\"properties\":{}}," RELATED "}}",
		     k->id, k->text, k->id);
}

static void tool_work(const struct request *rq)
{
	struct span text = tools_text(rq, "\"\"");
	struct grow t = { 0 };
	struct open *timer;
	struct task *k;

	if (!scan_member(rq->params, "task").len) {
		protocol_tool_answer(rq, text, SPAN_NONE);
		return;
	}
	k = task_place();
	*k = (struct task){ .number = ++task_number, .asks = request_arg(rq, "ask").len > 0 };
	snprintf(k->id, sizeof(k->id), "task-%lu", k->number);
	snprintf(k->text, sizeof(k->text), "%.*s", (int)text.len, text.at);
	timer = protocol_open(rq, OPEN_SLEEP);
	timer->fire = task_fire;
	timer->left = (long)k->number;
	timer->due_ms = protocol_now_ms() + (double)scan_long(request_arg(rq, "ms"), 0);
	grow_adds(&t, "\"task\":{");
	task_add(&t, k);
	grow_adds(&t, "}");
	protocol_answer(rq, t.at, t.len, false);
	grow_done(&t);
}

static void tasks_list(const struct request *rq)
{
	struct grow t = { 0 };

	grow_adds(&t, "\"tasks\":[");
	for (int i = 0; i < MAX_TASKS; i++) {
		if (!tasks[i].number)
			continue;
		grow_adds(&t, t.at[t.len - 1] == '[' ? "{" : ",{");
		task_add(&t, &tasks[i]);
		grow_adds(&t, "}");
	}
	grow_adds(&t, "]");
	protocol_answer(rq, t.at, t.len, false);
	grow_done(&t);
}

static bool tasks_answer(const struct request *rq)
{
	struct task *k = task_find(scan_member(rq->params, "taskId"));
	struct grow t = { 0 };

	if (request_is(rq, "tasks/list")) {
		tasks_list(rq);
	} else if (!request_is(rq, "tasks/get") && !request_is(rq, "tasks/result") &&
		   !request_is(rq, "tasks/cancel")) {
		return false;
	} else if (!k) {
		protocol_error(rq, -32602, "no such task");
	} else if (request_is(rq, "tasks/result")) {
		if (k->state == TASK_DONE)
			task_result(rq, k);
		else if (k->state == TASK_CANCELLED || k->waiter)
			protocol_error(rq, -32602, "the task has no result");
		else
			k->waiter = protocol_open(rq, OPEN_BLOCK);
	} else {
		if (request_is(rq, "tasks/cancel") && k->state < TASK_DONE)
			task_go(k, TASK_CANCELLED);
		task_add(&t, k);
		protocol_answer(rq, t.at, t.len, false);
		grow_done(&t);
	}
	return true;
}

/* The answer of the client to a question inside a task. */
static bool task_answered(const struct request *rq)
{
	struct task *k = task_find(rq->id);
	struct span result = scan_member(rq->whole, "result");

	if (rq->method.len > 0 || !k)
		return false;
	if (k->state == TASK_ASKING) {
		k->answer = strndup(result.len > 0 ? result.at : "null",
				    result.len > 0 ? result.len : 4);
		task_go(k, TASK_DONE);
	}
	return true;
}

static void task_drop_waiter(struct open *o)
{
	for (int i = 0; i < MAX_TASKS; i++)
		if (tasks[i].waiter == o)
			tasks[i].waiter = NULL;
}

static struct span dropped_id;

static void task_drop_cancelled(struct open *o)
{
	if (o->rq.id.len == dropped_id.len && !memcmp(o->rq.id.at, dropped_id.at, dropped_id.len))
		task_drop_waiter(o);
}

static const struct zoo_tool tagged_tools[] = {
	{ "steps", tool_steps },   { "counts", tool_counts },
	{ "mirror", tool_mirror }, { "keep", tool_keep },
	{ "link", tool_link },     { "pings", tool_pings },
	{ "work", tool_work },     { NULL, NULL },
};

void begin_tagged(void)
{
	protocol_more =
		",\"tasks\":{\"list\":{},\"cancel\":{},\"requests\":{\"tools\":{\"call\":{}}}}";
	protocol_more_tools = tagged_tools;
	tools_on_answer = link_answered;
}

void begin_folds(void)
{
	begin_tagged();
	scan_folds = true;
}

bool before_tagged(const struct request *rq)
{
	struct span declared = scan_member(rq->params, "capabilities");

	if (rq->method.len > 0)
		count_method(rq->method);
	if (request_is(rq, "initialize")) {
		free(capabilities);
		capabilities = strndup(declared.at, declared.len);
	}
	if (request_is(rq, "notifications/cancelled")) {
		dropped_id = scan_member(rq->params, "requestId");
		open_each(task_drop_cancelled);
	}
	return task_answered(rq) || (!rq->modern && tasks_answer(rq));
}

void put_lies(const char *line, size_t len)
{
	static unsigned lines;
	const char *word = memmem(line, len, way_argument, strlen(way_argument));
	char *tag = word ? memmem(line, len, "tag-", 4) : NULL;

	if (tag && ++lines % 5 == 0)
		tag[1] = 'u'; /* the line is ours: a buffer of protocol_say */
	protocol_raw(line, len);
}
