/* protocol_tasks.c - a server whose tools demand to be called as tasks, as of 2025-11-25, or that
 * answers calls with tasks, as of 2026-07-28.
 *
 * Tools: work {text, polls; limit, mode and deep have no effect} is working for so many looks and
 * then answers with text; forever is never done; asks wants input; breaks fails; gone cancels
 * itself. There is one task at a time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol_ways.h"
#include "fixtures.h"

#define TOOL(name_, schema_)                                                                       \
	"{\"name\":\"" name_ "\",\"inputSchema\":" schema_                                         \
	",\"execution\":{\"taskSupport\":\"required\"}}"
#define NOTHING "{\"type\":\"object\",\"properties\":{}}"

static char task_name[32], task_text[256];
static long task_polls;

static const char *task_status(void)
{
	if (strcmp(task_name, "asks") == 0)
		return "input_required";
	if (strcmp(task_name, "forever") == 0 || task_polls > 0)
		return "working";
	if (strcmp(task_name, "gone") == 0)
		return "cancelled";
	return strcmp(task_name, "breaks") == 0 ? "failed" : "completed";
}

static void task_members(struct grow *t)
{
	grow_addf(
		t,
		"\"taskId\":\"t\\u00311\",\"status\":\"%s\",\"statusMessage\":\"%ld to go\","
		"\"createdAt\":\"2026-01-01T00:00:00Z\",\"lastUpdatedAt\":\"2026-01-01T00:00:00Z\","
		"\"ttl\":60000,\"pollInterval\":60",
		task_status(), task_polls);
}

/* The modern era: the client declares the extension in each request; a task is flat, and has its
 * result inside. */
static bool modern_declared(const struct request *rq)
{
	struct span all = scan_member(rq->meta, "io.modelcontextprotocol/clientCapabilities");

	if (scan_member(scan_member(all, "extensions"), "io.modelcontextprotocol/tasks").len)
		return true;
	protocol_error(rq, -32021, "the client has not declared the extension for tasks");
	return false;
}

static void modern_task(const struct request *rq, const char *type)
{
	const char *status = task_status();
	struct grow t = { 0 };

	grow_adds(&t, "{\"jsonrpc\":\"2.0\",\"id\":");
	grow_span(&t, rq->id);
	grow_addf(&t,
		  ",\"result\":{\"resultType\":\"%s\",\"taskId\":\"m1\",\"status\":\"%s\","
		  "\"ttlMs\":60000,\"pollIntervalMs\":60",
		  type, status);
	if (!strcmp(status, "completed"))
		grow_addf(&t, ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]}",
			  task_text);
	if (!strcmp(status, "failed"))
		grow_adds(&t, ",\"error\":{\"code\":-32603,\"message\":\"it broke\"}");
	grow_adds(&t, "}}");
	protocol_say_text(&t);
}

static void modern_call(const struct request *rq)
{
	scan_copy(scan_member(rq->params, "name"), task_name, sizeof(task_name));
	scan_copy(request_arg(rq, "text"), task_text, sizeof(task_text));
	task_polls = scan_long(request_arg(rq, "polls"), 1);
	if (task_polls < 0) { /* the server decides: not as a task */
		protocol_tool_answer(rq, request_arg(rq, "text"), SPAN_NONE);
		return;
	}
	modern_task(rq, "task");
}

static bool modern_before(const struct request *rq)
{
	if (request_is(rq, "server/discover")) {
		protocol_answers(rq, "\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":"
				     "{\"tools\":{},\"extensions\":"
				     "{\"io.modelcontextprotocol/tasks\":{}}}");
		return true;
	}
	if (request_is(rq, "tools/call")) {
		if (modern_declared(rq))
			modern_call(rq);
		return true;
	}
	if (request_is(rq, "tasks/get") || request_is(rq, "tasks/cancel")) {
		task_polls -= task_polls > 0;
		if (modern_declared(rq))
			modern_task(rq, "complete");
		return true;
	}
	return false;
}

static bool task_create(const struct request *rq)
{
	struct grow t = { 0 };

	if (!scan_member(rq->params, "task").len) {
		protocol_error(rq, -32601, "this tool must be called as a task");
		return true;
	}
	scan_copy(scan_member(rq->params, "name"), task_name, sizeof(task_name));
	scan_copy(request_arg(rq, "text"), task_text, sizeof(task_text));
	task_polls = scan_long(request_arg(rq, "polls"), 1);
	grow_adds(&t, "\"task\":{");
	task_members(&t);
	grow_adds(&t, "}");
	protocol_answer(rq, t.at, t.len, false);
	grow_done(&t);
	return true;
}

static bool task_get(const struct request *rq)
{
	struct grow t = { 0 };

	if (!scan_is(scan_member(rq->params, "taskId"), "t11")) {
		protocol_error(rq, -32602, "no such task");
		return true;
	}
	task_polls -= task_polls > 0;
	task_members(&t);
	protocol_answer(rq, t.at, t.len, false);
	grow_done(&t);
	return true;
}

static bool task_result(const struct request *rq)
{
	struct grow t = { 0 };

	grow_addf(&t, "\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]%s", task_text,
		  strcmp(task_name, "breaks") == 0 ? ",\"isError\":true" : "");
	protocol_answer(rq, t.at, t.len, false);
	grow_done(&t);
	return true;
}

/* Two pages, the second without a task. */
static bool task_list(const struct request *rq)
{
	struct grow t = { 0 };

	if (scan_member(rq->params, "cursor").len) {
		protocol_answers(rq, "\"tasks\":[]");
		return true;
	}
	grow_adds(&t, "\"tasks\":[");
	if (*task_name) {
		grow_adds(&t, "{");
		task_members(&t);
		grow_adds(&t, "}");
	}
	grow_adds(&t, "],\"nextCursor\":\"2\"");
	protocol_answer(rq, t.at, t.len, false);
	grow_done(&t);
	return true;
}

void begin_tasks(void)
{
	protocol_more =
		",\"tasks\":{\"list\":{},\"cancel\":{},\"requests\":{\"tools\":{\"call\":{}}}}";
}

bool before_tasks(const struct request *rq)
{
	if (request_is(rq, "tools/list")) {
		protocol_answers(
			rq,
			"\"tools\":[" TOOL(
				"work",
				"{\"type\":\"object\",\"properties\":{\"text\":{\"type\":"
				"\"string\"},\"polls\":{\"type\":\"number\"},"
				"\"limit\":{\"type\":\"integer\"},"
				"\"mode\":{\"type\":\"string\",\"enum\":[\"r\",\"w\"]},"
				"\"deep\":{\"type\":\"boolean\"}},"
				"\"required\":[\"text\"]}") "," TOOL("forever",
								     NOTHING) "," TOOL("asks",
										       NOTHING) "," TOOL("breaks",
													 NOTHING) "," TOOL("gone",
															   NOTHING) "]");
		return true;
	}
	if (rq->modern)
		return modern_before(rq);
	if (request_is(rq, "tools/call"))
		return task_create(rq);
	if (request_is(rq, "tasks/get"))
		return task_get(rq);
	if (request_is(rq, "tasks/result"))
		return task_result(rq);
	if (request_is(rq, "tasks/cancel"))
		return task_get(rq);
	if (request_is(rq, "tasks/list"))
		return task_list(rq);
	return false;
}
