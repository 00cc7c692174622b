/* protocol_tools.c - the tools of the whole server. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol.h"
#include "fixtures.h"

extern char **environ;

static struct {
	unsigned cancelled, initialized, roots;
	char level[16];
	struct grow late; /* the answer to an ask that belonged to no call */
} seen;
static long asks;
static double late_due_ms; /* when an ask that belongs to no call is made; 0: none */
static struct open *late_ask;

bool (*tools_on_answer)(struct open *o);

static void say_string(const struct request *rq, const char *s)
{
	struct grow t = { 0 };

	grow_addf(&t, "\"%s\"", s);
	protocol_tool_answer(rq, (struct span){ t.at, t.len }, SPAN_NONE);
	grow_done(&t);
}

static void tool_echo(const struct request *rq)
{
	struct span text = request_arg(rq, "text");

	protocol_tool_answer(rq, text.len > 0 ? text : (struct span){ "\"\"", 2 }, SPAN_NONE);
}

static void tool_sleep(const struct request *rq)
{
	struct open *o = protocol_open(rq, OPEN_SLEEP);

	o->due_ms = protocol_now_ms() + (double)scan_long(request_arg(rq, "ms"), 0);
}

static void tool_block(const struct request *rq)
{
	protocol_open(rq, OPEN_BLOCK);
}

static void tool_pid(const struct request *rq)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	say_string(rq, pid);
}

struct span tools_text(const struct request *rq, const char *otherwise)
{
	struct span text = request_arg(rq, "text");

	return text.len > 0 ? text : (struct span){ otherwise, strlen(otherwise) };
}

static void tool_progress(const struct request *rq)
{
	struct span token = scan_member(rq->meta, "progressToken");
	long n = scan_long(request_arg(rq, "n"), 3), ms = scan_long(request_arg(rq, "ms"), 0);

	for (long i = 1; token.len > 0 && i <= n; i++) {
		if (ms > 0)
			zoo_nap_us(ms * 1000);
		protocol_say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
			     "\"params\":{\"progressToken\":%.*s,\"progress\":%ld,\"total\":%ld,"
			     "\"message\":\"step %ld\"}}",
			     (int)token.len, token.at, i, n, i);
	}
	say_string(rq, "done");
}

static void send_ask(long number, const char *method, struct span params)
{
	struct grow t = { 0 };

	grow_addf(&t, "{\"jsonrpc\":\"2.0\",\"id\":\"zoo-%ld\",\"method\":\"%s\"", number, method);
	if (params.len > 0) {
		grow_adds(&t, ",\"params\":");
		grow_span(&t, params);
	}
	grow_adds(&t, "}");
	protocol_say_text(&t);
}

void tools_ask(const struct request *rq, const char *method, struct span params)
{
	struct open *o = protocol_open(rq, OPEN_ASK);

	o->number = ++asks;
	send_ask(o->number, method, params);
}

/* The modern era asks by answering: the call is made again with what was asked for. */
static void modern_ask(const struct request *rq, const char *method, struct span params)
{
	struct span given = scan_member(scan_member(rq->params, "inputResponses"), "zoo");
	struct grow t = { 0 };

	if (given.len > 0) {
		bool same = scan_is(scan_member(rq->params, "requestState"), "as it was");

		grow_adds(&t, "{\"answer\":{\"result\":");
		grow_span(&t, given);
		grow_addf(&t, "},\"state\":%s}", same ? "true" : "false");
		protocol_tool_answer(rq, (struct span){ "\"answered\"", 10 },
				     (struct span){ t.at, t.len });
		grow_done(&t);
		return;
	}
	grow_addf(&t,
		  "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"resultType\":\"input_required\","
		  "\"requestState\":\"as it was\",\"inputRequests\":{\"zoo\":{\"method\":\"%s\","
		  "\"params\":",
		  (int)rq->id.len, rq->id.at, method);
	grow_span(&t, params.len > 0 ? params : (struct span){ "{}", 2 });
	grow_adds(&t, "}}}}");
	protocol_say_text(&t);
}

/* As many x as the argument `bytes` says, between two texts; empty without. */
static struct grow padding(const struct request *rq, const char *before, const char *after)
{
	struct span bytes = request_arg(rq, "bytes");
	struct grow t = { 0 };
	char *x;
	size_t len;

	if (bytes.len == 0)
		return t;
	len = (size_t)scan_long(bytes, 0);
	x = malloc(len + 1);
	if (!x)
		abort();
	memset(x, 'x', len);
	grow_adds(&t, before);
	grow_add(&t, x, len);
	grow_adds(&t, after);
	free(x);
	return t;
}

static void tool_ask(const struct request *rq)
{
	struct span late = request_arg(rq, "late"), params = request_arg(rq, "params");
	struct grow pad = padding(rq, "{\"x\":\"", "\"}");
	char method[64];

	if (pad.len > 0)
		params = (struct span){ pad.at, pad.len };
	scan_copy(request_arg(rq, "method"), method, sizeof(method));
	if (rq->modern) {
		modern_ask(rq, method, params);
	} else if (late.len > 0) {
		late_ask = protocol_open(rq, OPEN_BLOCK);
		late_due_ms = protocol_now_ms() + (double)scan_long(late, 0);
		say_string(rq, "later");
	} else {
		tools_ask(rq, method, params);
	}
	grow_done(&pad);
}

static int level_rank(struct span level, int otherwise)
{
	static const char *const levels[] = { "debug", "info",     "notice", "warning",
					      "error", "critical", "alert",  "emergency" };

	for (int i = 0; i < 8; i++)
		if (scan_is(level, levels[i]))
			return i;
	return otherwise;
}

/* Does the client want logs of the argument `level`? */
static bool level_is_wanted(const struct request *rq)
{
	int level = level_rank(request_arg(rq, "level"), 7);
	struct span asked = scan_member(rq->meta, "io.modelcontextprotocol/logLevel");
	char quoted[24];

	if (rq->modern)
		return asked.len > 0 && level >= level_rank(asked, 0);
	snprintf(quoted, sizeof(quoted), "\"%s\"", seen.level);
	return level >= level_rank((struct span){ quoted, strlen(quoted) }, 0);
}

static void tool_log(const struct request *rq)
{
	long n = scan_long(request_arg(rq, "n"), 1);
	struct span text = request_arg(rq, "text"), level = request_arg(rq, "level");
	struct span token = request_arg(rq, "token").len > 0
				    ? scan_member(rq->meta, "progressToken")
				    : SPAN_NONE;
	bool wanted = level_is_wanted(rq);
	char meta[96] = "";
	struct grow pad = padding(rq, "\"", "\"");

	if (pad.len > 0)
		text = (struct span){ pad.at, pad.len };
	if (text.len == 0)
		text = (struct span){ "\"a line\"", 8 };
	if (level.len == 0)
		level = (struct span){ "\"info\"", 6 };
	if (token.len > 0)
		snprintf(meta, sizeof(meta), "\"_meta\":{\"progressToken\":%.*s},", (int)token.len,
			 token.at);
	for (long i = 0; wanted && i < n; i++)
		protocol_say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":"
			     "{%s\"level\":%.*s,\"logger\":\"zoo\",\"data\":%.*s}}",
			     meta, (int)level.len, level.at, (int)text.len, text.at);
	grow_done(&pad);
	protocol_tool_answer(rq, tools_text(rq, "\"logged\""), SPAN_NONE);
}

static void tool_big(const struct request *rq)
{
	size_t bytes = (size_t)scan_long(request_arg(rq, "bytes"), 1024);
	char *text = malloc(bytes + 2);

	if (!text)
		abort();
	memset(text, 'x', bytes + 2);
	text[0] = text[bytes + 1] = '"';
	protocol_tool_answer(rq, (struct span){ text, bytes + 2 }, SPAN_NONE);
	free(text);
}

static void tool_crash(const struct request *rq)
{
	long sig = scan_long(request_arg(rq, "signal"), 0);

	fprintf(stderr, "zoo: about to crash\n");
	if (sig > 0) {
		zoo_default((int)sig);
		raise((int)sig);
	}
	_exit((int)scan_long(request_arg(rq, "code"), 1));
}

static void tool_spawn(const struct request *rq)
{
	zoo_make_daemon();
	say_string(rq, "spawned");
}

static void tool_stderr(const struct request *rq)
{
	long lines = scan_long(request_arg(rq, "lines"), 1);

	for (long i = 1; i <= lines; i++)
		fprintf(stderr, "stderr line %ld\n", i);
	say_string(rq, "written");
}

static const struct {
	const char *what, *filter, *method;
} notes[] = {
	{ "tools", "toolsListChanged", "notifications/tools/list_changed" },
	{ "resources", "resourcesListChanged", "notifications/resources/list_changed" },
	{ "prompts", "promptsListChanged", "notifications/prompts/list_changed" },
	{ "updated", "resourceSubscriptions", "notifications/resources/updated" },
};

static void tool_notify(const struct request *rq)
{
	struct span what = request_arg(rq, "what"), uri = request_arg(rq, "uri");

	bool forced = request_arg(rq, "force").len > 0;

	for (size_t i = 0; i < sizeof(notes) / sizeof(*notes); i++) {
		if (!scan_is(what, notes[i].what))
			continue;
		if (rq->modern)
			modern_notify(notes[i].filter, notes[i].method, uri);
		else if (uri.len > 0)
			lists_updated(uri, forced);
		for (long n = scan_long(request_arg(rq, "n"), 1); !rq->modern && !uri.len && n > 0;
		     n--)
			protocol_say("{\"jsonrpc\":\"2.0\",\"method\":\"%s\"}", notes[i].method);
	}
	protocol_tool_answer(rq, tools_text(rq, "\"notified\""), SPAN_NONE);
}

static void tool_fail(const struct request *rq)
{
	protocol_answers(rq, "\"content\":[{\"type\":\"text\",\"text\":\"it broke\"}],"
			     "\"isError\":true");
}

static void tool_seen(const struct request *rq)
{
	struct grow t = { 0 };

	grow_addf(&t, "{\"cancelled\":%u,\"initialized\":%u,\"roots\":%u,\"level\":\"%s\"",
		  seen.cancelled, seen.initialized, seen.roots, seen.level);
	if (seen.late.len > 0)
		grow_addf(&t, ",\"late\":%s", seen.late.at);
	grow_adds(&t, "}");
	protocol_tool_answer(rq, (struct span){ "\"\"", 2 }, (struct span){ t.at, t.len });
	grow_done(&t);
}

static void tool_env(const struct request *rq)
{
	struct grow t = { 0 };

	for (char **e = environ; *e; e++)
		grow_addf(&t, "%s%.*s", t.len ? " " : "", (int)strcspn(*e, "=\"\\"), *e);
	say_string(rq, t.at ? t.at : "");
	grow_done(&t);
}

static const struct zoo_tool tools[] = {
	{ "echo", tool_echo },   { "sleep", tool_sleep },       { "block", tool_block },
	{ "pid", tool_pid },     { "progress", tool_progress }, { "ask", tool_ask },
	{ "log", tool_log },     { "big", tool_big },           { "crash", tool_crash },
	{ "spawn", tool_spawn }, { "stderr", tool_stderr },     { "notify", tool_notify },
	{ "fail", tool_fail },   { "seen", tool_seen },         { "env", tool_env },
};
#define TOOLS (sizeof(tools) / sizeof(*tools))

#define MORE_TOOLS 16

/* The tools of this process; how many. */
static size_t all_tools(const struct zoo_tool **out)
{
	size_t n = 0;

	for (; n < TOOLS; n++)
		out[n] = &tools[n];
	for (const struct zoo_tool *t = protocol_more_tools; t && t->name && n < TOOLS + MORE_TOOLS;
	     t++)
		out[n++] = t;
	return n;
}

void tools_list(const struct request *rq)
{
	static char items[TOOLS + MORE_TOOLS][128];
	const char *list[TOOLS + MORE_TOOLS];
	const struct zoo_tool *all[TOOLS + MORE_TOOLS];
	size_t n = all_tools(all);

	protocol_lists++;
	for (size_t i = 0; i < n; i++) {
		snprintf(items[i], sizeof(items[i]),
			 "{\"name\":\"%s\",\"description\":\"\",\"inputSchema\":{\"type\":"
			 "\"object\"}%s}",
			 all[i]->name, protocol_tool_more);
		list[i] = items[i];
	}
	lists_page(rq, "tools", list, n);
}

void tools_call(const struct request *rq)
{
	const struct zoo_tool *all[TOOLS + MORE_TOOLS];
	size_t n = all_tools(all);

	for (size_t i = 0; i < n; i++) {
		if (request_calls(rq, all[i]->name)) {
			all[i]->call(rq);
			return;
		}
	}
	protocol_error(rq, -32602, "no such tool");
}

static double next_ms;

static void look_due(struct open *o)
{
	if (o->kind == OPEN_SLEEP && (next_ms == 0 || o->due_ms < next_ms))
		next_ms = o->due_ms;
}

double tools_next_ms(void)
{
	next_ms = late_due_ms;
	open_each(look_due);
	return next_ms;
}

static void wake(struct open *o)
{
	if (o->kind != OPEN_SLEEP || o->due_ms > protocol_now_ms())
		return;
	if (o->fire) {
		o->fire(o);
		return;
	}
	protocol_tool_answer(&o->rq, tools_text(&o->rq, "\"slept\""), SPAN_NONE);
	protocol_close(o);
}

void tools_wake(void)
{
	char method[64];

	open_each(wake);
	if (late_due_ms > 0 && protocol_now_ms() >= late_due_ms) {
		scan_copy(request_arg(&late_ask->rq, "method"), method, sizeof(method));
		send_ask(0, method, request_arg(&late_ask->rq, "params"));
		protocol_close(late_ask);
		late_due_ms = 0;
	}
}

static struct span wanted_id;
static long wanted_number;
static struct open *found;

static void look_number(struct open *o)
{
	if (o->kind == OPEN_ASK && o->number == wanted_number)
		found = o;
}

static void look_id(struct open *o)
{
	if (o->rq.id.len == wanted_id.len && !memcmp(o->rq.id.at, wanted_id.at, wanted_id.len))
		found = o;
}

/* {"result":...} or {"error":...}, as it came. */
static void add_outcome(struct grow *t, struct span whole)
{
	struct span result = scan_member(whole, "result"), error = scan_member(whole, "error");

	grow_adds(t, result.len > 0 ? "{\"result\":" : "{\"error\":");
	grow_span(t, result.len > 0 ? result : error.len > 0 ? error : (struct span){ "null", 4 });
	grow_adds(t, "}");
}

bool tools_answered(struct span id, struct span whole)
{
	struct grow t = { 0 };
	char name[32];

	scan_copy(id, name, sizeof(name));
	if (strncmp(name, "zoo-", 4) != 0)
		return false;
	wanted_number = atol(name + 4);
	if (wanted_number == 0) {
		grow_done(&seen.late);
		add_outcome(&seen.late, whole);
		return true;
	}
	found = NULL;
	open_each(look_number);
	if (!found || (tools_on_answer && tools_on_answer(found)))
		return found;
	grow_adds(&t, "{\"answer\":");
	add_outcome(&t, whole);
	grow_adds(&t, "}");
	protocol_tool_answer(&found->rq, (struct span){ "\"answered\"", 10 },
			     (struct span){ t.at, t.len });
	protocol_close(found);
	grow_done(&t);
	return true;
}

void tools_cancelled(struct span id)
{
	seen.cancelled++;
	wanted_id = id;
	found = NULL;
	open_each(look_id);
	if (found)
		protocol_close(found);
}

void tools_note(const char *what)
{
	seen.initialized += !strcmp(what, "initialized");
	seen.roots += !strcmp(what, "roots");
}

void tools_level(struct span level)
{
	scan_copy(level, seen.level, sizeof(seen.level));
}

const char *tools_get_level(void)
{
	return seen.level;
}
