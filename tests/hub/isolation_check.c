/* isolation_check.c - the rule of isolation.c: a line that reaches a client has no tag but the
 * client's own, and is one that this client can expect. */
#include <stdio.h>
#include <string.h>

#include "isolation.h"

const char *const isolation_kinds[KINDS] = {
	"echo",        "steps",       "log",       "sleep",        "read", "prompt", "watch",
	"unwatch",     "touch",       "changed",   "level",        "list", "work",   "task get",
	"task result", "task cancel", "task list", "task foreign", "ask",  "link",
};
const char *const isolation_levels[8] = { "debug", "info",     "notice", "warning",
					  "error", "critical", "alert",  "emergency" };

struct isolation_plan isolation_plan;
bool isolation_calm;
struct isolation_seen isolation_seen;

#define MUST(c_, line_, cond_, what_)                                                              \
	do {                                                                                       \
		if (!(cond_))                                                                      \
			FAIL("%s: %s: %.*s", (c_)->tag, what_, (int)(line_).len, (line_).at);      \
	} while (0)

static bool has(struct span s, const char *text)
{
	return s.len > 0 && memmem(s.at, s.len, text, strlen(text));
}

/* Every tag in the line is this client's. */
static void check_tags(const struct client *c, struct span line)
{
	size_t len = strlen(c->tag);
	const char *at = line.at, *end = line.at + line.len;

	while ((at = memmem(at, (size_t)(end - at), "tag-", 4))) {
		bool own = (size_t)(end - at) > len && !memcmp(at, c->tag, len) && at[len] == '.';

		MUST(c, line, own, "the tag of another client");
		at += 4;
	}
	MUST(c, line, !has(line, "tug-"), "a wrong tag");
}

void isolation_uri(const struct client *c, int place, char *out, size_t size)
{
	if (place < SHARED)
		snprintf(out, size, "zoo://shared/%d", place);
	else
		snprintf(out, size, "zoo://%s./x", c->tag);
}

static struct pending *client_pending(struct client *c, struct span id)
{
	for (int i = 0; i < WINDOW; i++)
		if (c->pending[i].used && c->pending[i].id == scan_long(id, -1))
			return &c->pending[i];
	return NULL;
}

static void got_task_answer(struct client *c, struct pending *p, struct span line, bool error)
{
	struct task *t = &c->tasks[p->place];
	struct span result = scan_member(line, "result");

	t->busy = false;
	if (p->kind == WORK) {
		MUST(c, line, !error && has(line, c->tag), "a task that was not created");
		scan_copy(mate_at(result, "task", "taskId", NULL), t->id, sizeof(t->id));
		return;
	}
	if (p->kind == TASK_RESULT && error)
		MUST(c, line, t->cancelled, "a task without result");
	else
		MUST(c, line, !error && has(line, c->tag), "an own task that is not there");
	t->cancelled = t->cancelled || p->kind == TASK_CANCEL;
	if (p->kind == TASK_RESULT)
		*t = (struct task){ 0 };
}

static void got_answer(struct client *c, struct span line)
{
	struct pending *p = client_pending(c, scan_member(line, "id"));
	bool error = scan_member(line, "error").len > 0, cancelled;
	long id = scan_long(scan_member(line, "id"), -1);

	if (!p) {
		for (int i = 0; i < CANCELLED; i++)
			if (c->cancelled[i] == id)
				return; /* it was on its way */
		MUST(c, line, false, "an answer to a request that is not open");
	}
	p->used = false;
	isolation_seen.answers[p->kind]++;
	switch ((int)p->kind) {
	case ECHO:
	case STEPS:
	case LOG:
	case SLEEP:
	case READ:
	case PROMPT:
		MUST(c, line, !error && has(line, c->tag), "an answer without the tag");
		MUST(c, line, p->got == p->expected, "an answer after the wrong number of reports");
		break;
	case ASK:
	case LINK:
		/* while the server may still work for a client that has left, no client is asked */
		cancelled =
			has(line, "{\"action\":\"cancel\"}") || has(line, "\"answer\":{\"error\"");
		MUST(c, line, !error && (has(line, c->tag) || (!isolation_calm && cancelled)),
		     "a question without the answer of this client");
		break;
	case WATCH:
	case UNWATCH:
		MUST(c, line, !error, "an error");
		c->watch[p->place] = p->kind == WATCH ? WATCHED : UNWATCHED;
		break;
	case LEVEL:
		MUST(c, line, !error, "an error");
		c->level = p->place;
		break;
	case TASK_FOREIGN:
		MUST(c, line, scan_long(mate_at(line, "error", "code", NULL), 0) == -32602,
		     "an answer about the task of another client");
		break;
	case WORK:
	case TASK_GET:
	case TASK_RESULT:
	case TASK_CANCEL:
		got_task_answer(c, p, line, error);
		break;
	default:
		MUST(c, line, !error, "an error");
	}
}

static void got_progress(struct client *c, struct span line, struct span params)
{
	struct pending *p = client_pending(c, scan_member(params, "progressToken"));
	long id = scan_long(scan_member(params, "progressToken"), -1);

	MUST(c, line, has(line, c->tag), "progress without the tag");
	for (int i = 0; !p && i < CANCELLED; i++)
		if (c->cancelled[i] == id)
			return;
	MUST(c, line, p && p->kind == STEPS, "progress of a request that is not open");
	p->got++;
	MUST(c, line, scan_long(scan_member(params, "progress"), 0) == p->got,
	     "progress out of order");
	isolation_seen.progress++;
}

static void got_log(struct client *c, struct span line, struct span params)
{
	int lowest = c->level < c->level_asked ? c->level : c->level_asked, level = -1;

	for (int i = 0; i < 8; i++)
		if (scan_is(scan_member(params, "level"), isolation_levels[i]))
			level = i;
	MUST(c, line, has(line, c->tag), "a log without the tag");
	MUST(c, line, level >= (c->m.modern ? 1 : lowest), "a log below the level");
	isolation_seen.logs++;
}

static void got_update(struct client *c, struct span line, struct span params)
{
	char uri[96];
	int found = -1;

	for (int i = 0; i <= SHARED; i++) {
		isolation_uri(c, i, uri, sizeof(uri));
		if (scan_is(scan_member(params, "uri"), uri))
			found = i;
	}
	MUST(c, line, found >= 0 && c->watch[found] != UNWATCHED,
	     "an update of a resource that the client does not watch");
	isolation_seen.updates++;
}

static void got_ask(struct client *c, struct span line)
{
	struct span id = scan_member(line, "id");
	bool waits = false;

	for (int i = 0; i < WINDOW; i++)
		waits = waits || (c->pending[i].used &&
				  (c->pending[i].kind == ASK || c->pending[i].kind == LINK));
	for (int i = 0; i < TASKS; i++)
		waits = waits || c->tasks[i].asks;
	MUST(c, line, isolation_plan.asks && has(line, c->tag) && waits,
	     "a question to the wrong client");
	mate_say(&c->m,
		 "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"action\":\"accept\",\"role\":"
		 "\"assistant\",\"model\":\"m\",\"content\":{\"type\":\"text\",\"text\":\"%s.\"}}}",
		 (int)id.len, id.at, c->tag);
	isolation_seen.asks++;
}

void isolation_check(struct client *c, struct span line)
{
	struct span method = scan_member(line, "method"), params = scan_member(line, "params");

	isolation_seen.received++;
	check_tags(c, line);
	if (method.len == 0) {
		got_answer(c, line);
	} else if (scan_member(line, "id").len > 0) {
		got_ask(c, line);
	} else if (scan_is(method, "notifications/progress")) {
		got_progress(c, line, params);
	} else if (scan_is(method, "notifications/message")) {
		got_log(c, line, params);
	} else if (scan_is(method, "notifications/resources/updated")) {
		got_update(c, line, params);
	} else if (scan_is(method, "notifications/tasks/status")) {
		MUST(c, line, has(line, c->tag), "the status of the task of another client");
		isolation_seen.status++;
	} else if (scan_is(method, "notifications/elicitation/complete")) {
		MUST(c, line, has(line, c->tag), "the end of the question of another client");
	} else {
		MUST(c, line, has(method, "list_changed"), "an unexpected message");
	}
}
