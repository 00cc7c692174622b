/* task.c - see task.h */
#include "task.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/emit.h"
#include "base/mem.h"
#include "base/text.h"
#include "os/time.h"
#include "show.h"

#define TASKS_META                                                                                 \
	"{\"io.modelcontextprotocol/clientCapabilities\":"                                         \
	"{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}}"

enum { POLL_MS = 1000, POLL_MIN_MS = 50, POLL_MAX_MS = 30000, CANCEL_MS = 2000 };

struct task {
	struct talk *talk;
	const struct tool *tool;
	bool modern;
	char *params;       /* {"taskId": ...} */
	char status[32];    /* "working", "completed", ... */
	char message[256];  /* clean; "": none */
	int64_t poll_ms;    /* time until the next tasks/get */
	long long until_us; /* deadline; 0: no limit */
};

static bool task_has_extension(const struct killick_server_status *sv)
{
	struct json_fault fault;
	struct json all = JSON_NONE;

	json_check(sv->capabilities, strlen(sv->capabilities), 0, &all, &fault);
	return json_get(json_get(all, "extensions"), "io.modelcontextprotocol/tasks").at != NULL;
}

enum task_kind task_kind(const struct talk *t, const struct tool *tool)
{
	struct json support = json_get(json_get(tool->item, "execution"), "taskSupport");

	for (size_t i = 0; i < t->status->count; i++) {
		const struct killick_server_status *sv = t->status->servers[i];

		if (strcmp(sv->name, tool->server) == 0 && strcmp(sv->era, "modern") == 0)
			return task_has_extension(sv) ? TASK_MODERN : TASK_NONE;
	}
	return json_is(support, "required") ? TASK_LEGACY : TASK_NONE;
}

/* Write the member that each request about a task has in the modern era. */
static void task_put_meta(const struct task *k, struct emit *j)
{
	if (k->modern)
		emit_raw(j, "_meta", TASKS_META, strlen(TASKS_META));
}

static void task_done(struct task *k)
{
	free(k->params);
}

/* Read a task, as tasks/get returns it. False: the answer is no task; an error was printed. */
static bool task_read(struct task *k, struct json task)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	AUTO(mem_drop) char *id = NULL;
	struct emit j = EMIT_INIT(&text);

	if (!json_string(json_get(task, "taskId"), &id) ||
	    !json_string_into(json_get(task, "status"), k->status, sizeof(k->status))) {
		talk_say(k->talk, "%s: the server did not answer with a task", k->tool->server);
		talk_fail(k->talk, EXIT_UNAVAILABLE);
		return false;
	}
	k->poll_ms = POLL_MS;
	json_int(json_get(task, k->modern ? "pollIntervalMs" : "pollInterval"), &k->poll_ms);
	if (k->poll_ms < POLL_MIN_MS)
		k->poll_ms = POLL_MIN_MS;
	if (k->poll_ms > POLL_MAX_MS)
		k->poll_ms = POLL_MAX_MS;
	show_member(task, "statusMessage", k->message, sizeof(k->message));
	emit_open(&j, NULL, '{');
	emit_text(&j, "taskId", id, strlen(id));
	task_put_meta(k, &j);
	emit_close(&j);
	if (emit_end(&j) < 0)
		abort(); /* the buffer has no limit */
	free(k->params);
	k->params = buf_take(&text);
	return true;
}

static struct killick_result *task_request(struct task *k, const char *method)
{
	struct killick_request rq = KILLICK_REQUEST(.op = KILLICK_RAW, .server = k->tool->server,
						    .name = method, .args = k->params);

	return talk_do(k->talk, &rq);
}

/* Call the tool. Returns the answer; NULL: an error was printed. */
static struct killick_result *task_create(struct task *k, const char *args)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_INIT(&text);
	struct killick_request rq =
		KILLICK_REQUEST(.op = KILLICK_RAW, .server = k->tool->server, .name = "tools/call");

	emit_open(&j, NULL, '{');
	emit_text(&j, "name", k->tool->name, strlen(k->tool->name));
	emit_json(&j, "arguments", args, strlen(args));
	if (!k->modern)
		emit_raw(&j, "task", "{}", 2);
	task_put_meta(k, &j);
	emit_close(&j);
	if (emit_end(&j) < 0)
		abort(); /* the buffer has no limit */
	rq.args = text.data;
	return talk_do(k->talk, &rq);
}

static bool task_is_over(const struct task *k)
{
	return strcmp(k->status, "completed") == 0 || strcmp(k->status, "failed") == 0 ||
	       strcmp(k->status, "cancelled") == 0;
}

/* Tell the server that the result is not needed. The talk may be interrupted already. */
static void task_cancel(struct task *k)
{
	struct talk_ask ask = { .rq = KILLICK_REQUEST(.op = KILLICK_RAW, .server = k->tool->server,
						      .name = "tasks/cancel", .args = k->params) };
	long timeout_ms = k->talk->timeout_ms;

	k->talk->timeout_ms = CANCEL_MS;
	if (talk_all(k->talk, &ask, 1))
		killick_result_free(ask.result);
	k->talk->timeout_ms = timeout_ms;
}

/* Wait until the next tasks/get is due. False: interrupted, or timed out. */
static bool task_sleep(struct task *k)
{
	struct talk *t = k->talk;
	long long next_us = time_now_us() + k->poll_ms * 1000LL;
	const bool never = false;
	char span[24];

	bar_begin(&t->bar, k->tool->name);
	bar_note(&t->bar, *k->message ? k->message : k->status);
	talk_pump(t, &never, k->until_us && k->until_us < next_us ? k->until_us : next_us);
	bar_clear(&t->bar);
	if (t->caught)
		return false;
	if (!k->until_us || time_now_us() < k->until_us)
		return true;
	talk_say(t, "%s: the task of tool '%s' was not done within %s and was cancelled",
		 k->tool->server, k->tool->name, text_span(t->timeout_ms, span));
	talk_fail(t, EXIT_TRY_AGAIN);
	return false;
}

/* Poll the task until it is over. Returns the last answer; NULL: an error was printed. `r` is the
 * answer that created the task. */
static struct killick_result *task_follow(struct task *k, struct killick_result *r)
{
	while (!task_is_over(k)) {
		killick_result_free(r);
		if (strcmp(k->status, "input_required") == 0) {
			talk_say(k->talk,
				 "%s: the task of tool '%s' asks for input, which the command "
				 "line cannot give",
				 k->tool->server, k->tool->name);
			talk_fail(k->talk, EXIT_UNAVAILABLE);
			return NULL;
		}
		r = task_sleep(k) ? task_request(k, "tasks/get") : NULL;
		if (!r)
			return NULL;
		if (!task_read(k, talk_json(r))) {
			killick_result_free(r);
			return NULL;
		}
	}
	return r;
}

/* In the modern era the task contains the result, or the error. */
static struct killick_result *task_result_inside(struct task *k, struct killick_result *r,
						 struct json *out)
{
	char text[512];

	*out = json_get(talk_json(r), "result");
	if (json_type(*out) == JSON_OBJECT)
		return r;
	show_member(json_get(talk_json(r), "error"), "message", text, sizeof(text));
	talk_say(k->talk, "%s: the task of tool '%s' failed%s%s", k->tool->server, k->tool->name,
		 *text ? ": " : "", text);
	talk_fail(k->talk, EXIT_REFUSED);
	killick_result_free(r);
	return NULL;
}

/* The task is over, and r is the last answer about it: get the result. */
static struct killick_result *task_fetch(struct task *k, struct killick_result *r, struct json *out)
{
	if (strcmp(k->status, "cancelled") == 0) {
		talk_say(k->talk, "%s: the task of tool '%s' was cancelled%s%s", k->tool->server,
			 k->tool->name, *k->message ? ": " : "", k->message);
		talk_fail(k->talk, EXIT_REFUSED);
		killick_result_free(r);
		return NULL;
	}
	if (k->modern)
		return task_result_inside(k, r, out);
	killick_result_free(r);
	r = task_request(k, "tasks/result");
	if (r)
		*out = talk_json(r);
	return r;
}

struct killick_result *task_call(struct talk *t, const struct tool *tool, enum task_kind kind,
				 const char *args, struct json *out)
{
	AUTO(task_done) struct task k = { .talk = t, .tool = tool, .modern = kind == TASK_MODERN };
	struct killick_result *r;
	struct json made;

	k.until_us = t->timeout_ms ? time_now_us() + t->timeout_ms * 1000LL : 0;
	r = task_create(&k, args);
	if (!r)
		return NULL;
	*out = talk_json(r);
	if (k.modern && !json_is(json_get(*out, "resultType"), "task"))
		return r;
	made = k.modern ? *out : json_get(*out, "task");
	if (!task_read(&k, made)) {
		killick_result_free(r);
		return NULL;
	}
	r = task_follow(&k, r);
	if (!r && !task_is_over(&k))
		task_cancel(&k);
	return r ? task_fetch(&k, r, out) : NULL;
}
