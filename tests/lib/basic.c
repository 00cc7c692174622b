/* basic.c - requests and their results, through the public header alone. */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"

#define GOOD SERVERS({ "zoo" })

/* How many items a list has: the first index that is not there. */
static size_t count_items(struct killick_result *r, const char *key)
{
	size_t len, n = 0;
	const char *json = killick_result_json(r, &len);
	char path[64];

	for (;; n++) {
		snprintf(path, sizeof(path), "%s.%zu", key, n);
		if (!killick_json_find(json, len, path, NULL))
			return n;
	}
}

static void expect_items(struct killick_session *s, enum killick_op op, const char *key,
			 size_t count)
{
	struct killick_request rq = KILLICK_REQUEST(.op = op, .server = "zoo");
	struct killick_result *r = lab_do(s, &rq, 0);

	EQ(count_items(r, key), count);
	STREQ(killick_result_server(r), "zoo");
	STREQ(killick_result_error(r), "");
	killick_result_free(r);
}

TEST(words_for_codes_and_states)
{
	OK(*killick_version());
	STREQ(killick_code_name(KILLICK_OK), "ok");
	STREQ(killick_code_name(KILLICK_ERR_TIMEOUT), "timeout");
	STREQ(killick_code_name(KILLICK_ERR_CLOSED), "closed");
	STREQ(killick_state_name(KILLICK_READY), "ready");
	OK(killick_code_name(12345));
	for (int code = 0; code >= KILLICK_ERR_FORKED; code--)
		OK(*killick_code_name(code));
	for (int state = KILLICK_IDLE; state <= KILLICK_DISABLED; state++)
		OK(*killick_state_name((enum killick_state)state));
}

TEST(a_runtime_without_sessions)
{
	struct killick *k = LAB();

	EQ(killick_close(k, NULL, NULL), 0);
	EQ(killick_close(k, NULL, NULL), 0); /* again: nothing */
	killick_free(k);
	killick_free(NULL);
	killick_session_free(NULL);
	killick_call_free(NULL);
	killick_result_free(NULL);
	killick_report_free(NULL);
	killick_status_free(NULL);
}

TEST(a_missing_keeper_is_reported)
{
	struct killick_options options = KILLICK_OPTIONS(.keeper = "/nonexistent/killick");
	struct killick_error e = { 0 };
	struct killick_session *s = NULL;
	struct killick *k = NULL;
	char *config = lab_config(SERVERS({ "zoo", .more = "\"required\":true" }));

	/* Either is fine: to say so at once, or when a server is started. */
	if (killick_open(&options, &k, &e) == 0) {
		struct killick_session_options so = KILLICK_SESSION_OPTIONS(.config = config);

		OK(killick_session_open(k, &so, &s, &e) != 0);
		killick_free(k);
	}
	OK(!s && e.code < 0 && strstr(e.text, "killick"));
	free(config);
}

/* What the keeper would refuse is refused at once, and said as what it is. */
TEST(invalid_options_are_refused)
{
	static char label[65] = "";
	struct killick *k = LAB();
	struct killick_session_options so =
		KILLICK_SESSION_OPTIONS(.config = "{\"mcpServers\":{}}");
	struct killick_session *s = NULL;
	struct killick_error e;

	memset(label, 'x', sizeof(label) - 1);
	so.label = label;
	EQ(killick_session_open(k, &so, &s, &e), KILLICK_ERR_USAGE);
	OK(strstr(e.text, "label"));
	so.label = "two\nlines";
	EQ(killick_session_open(k, &so, &s, &e), KILLICK_ERR_USAGE);
	so.label = NULL;
	so.grace_ms = UINT_MAX;
	EQ(killick_session_open(k, &so, &s, &e), KILLICK_ERR_USAGE);
	OK(strstr(e.text, "grace_ms"));
	so.grace_ms = 0;
	EQ(killick_session_open(k, &so, NULL, &e), KILLICK_ERR_USAGE);
	EQ(killick_session_open_start(k, &so, NULL, NULL, NULL, &e), KILLICK_ERR_USAGE);
	OK(!s);
	lab_close(k);
}

TEST(limits_of_messages)
{
	struct killick *k = lab_open(&KILLICK_OPTIONS(.message_limit = 20));
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));
	char error[512];

	lab_errors(s, "zoo", error, sizeof(error), NULL, 0);
	OK(strstr(error, "message_limit"));
	lab_end(s);
	lab_close(k);
	k = lab_open(&KILLICK_OPTIONS(.message_limit = SIZE_MAX / 2 + 1));
	s = lab_session(k, SERVERS({ "zoo" }));
	lab_pid(s, "zoo");
	lab_end(s);
	lab_close(k);
}

TEST(all_pages_of_all_lists)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, GOOD);

	expect_items(s, KILLICK_TOOLS, "tools", 15);
	expect_items(s, KILLICK_RESOURCES, "resources", 7);
	expect_items(s, KILLICK_TEMPLATES, "resourceTemplates", 4);
	expect_items(s, KILLICK_PROMPTS, "prompts", 3);
	lab_end(s);
	lab_close(k);
}

TEST(a_call_and_its_result)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, GOOD);
	struct killick_result *r = NULL;
	const char *json;
	char *text;
	size_t len;

	EQ(killick_call_tool(s, "zoo", "echo", "{\"text\":\"a\\\"b\\u00e9\\n\"}", &r), 0);
	json = killick_result_json(r, &len);
	/* Byte for byte, escapes and all. */
	STREQ(json, "{\"content\":[{\"type\":\"text\",\"text\":\"a\\\"b\\u00e9\\n\"}]}");
	EQ(len, strlen(json));
	STREQ(killick_result_text(r), "a\"b\xc3\xa9\n");
	OK(!killick_result_is_error(r));
	text = killick_json_string(json, len, "content.0.type");
	STREQ(text, "text");
	killick_text_free(text);
	OK(!killick_json_string(json, len, "content.0"));
	OK(!killick_json_find(json, len, "content.1", NULL));
	killick_result_free(r);
	lab_end(s);
	lab_close(k);
}

/* People write arguments over several lines; a message is one. */
TEST(arguments_on_several_lines)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, GOOD);
	char text[64];

	lab_call(s, "zoo", "echo", "{\n\t\"text\" :\r\n\"on  two\"\n}\n", 0, text, sizeof(text));
	STREQ(text, "on  two");
	lab_end(s);
	lab_close(k);
}

TEST(tools_that_fail)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, GOOD);
	struct killick_result *r = NULL;
	const char *json;
	size_t len;
	char *text;

	EQ(killick_call_tool(s, "zoo", "fail", NULL, &r), 0);
	OK(killick_result_is_error(r));
	STREQ(killick_result_text(r), "it broke");
	killick_result_free(r);

	EQ(killick_call_tool(s, "zoo", "no such tool", NULL, &r), KILLICK_ERR_ANSWER);
	json = killick_result_json(r, &len);
	text = killick_json_string(json, len, "message");
	STREQ(text, "no such tool");
	OK(strstr(killick_result_error(r), "no such tool"));
	killick_text_free(text);
	killick_result_free(r);
	lab_end(s);
	lab_close(k);
}

TEST(read_prompt_complete_ping)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, GOOD);
	struct killick_request read =
		KILLICK_REQUEST(.op = KILLICK_READ, .server = "zoo", .name = "zoo://a");
	struct killick_request prompt =
		KILLICK_REQUEST(.op = KILLICK_PROMPT, .server = "zoo", .name = "greet",
				.args = "{\"who\":\"you\"}");
	struct killick_request complete =
		KILLICK_REQUEST(.op = KILLICK_COMPLETE,
				.args = "{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"greet\"},"
					"\"argument\":{\"name\":\"who\",\"value\":\"\"}}");
	struct killick_request ping = KILLICK_REQUEST(.op = KILLICK_PING); /* there is one server */
	struct killick_result *r = lab_do(s, &read, 0);

	OK(strstr(killick_result_json(r, NULL), "of zoo://a"));
	killick_result_free(r);
	r = lab_do(s, &prompt, 0);
	OK(strstr(killick_result_json(r, NULL), "\"you\""));
	killick_result_free(r);
	r = lab_do(s, &complete, 0);
	EQ(count_items(r, "completion.values"), 2);
	killick_result_free(r);
	killick_result_free(lab_do(s, &ping, 0));
	read.name = "file:///none";
	killick_result_free(lab_do(s, &read, KILLICK_ERR_ANSWER));
	lab_end(s);
	lab_close(k);
}

#ifdef __SANITIZE_THREAD__
#define LARGE (4u << 20) /* the server is slow, too */
#else
#define LARGE (40u << 20)
#endif

TEST(large_answers_and_large_arguments, .timeout_ms = 60000)
{
	const size_t size = LARGE;
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, GOOD);
	char args[64], *big = malloc(size + 32);
	struct killick_result *r;
	size_t len;

	snprintf(args, sizeof(args), "{\"bytes\":%zu}", size);
	r = lab_try(s, "zoo", "big", args, LAB_MS);
	EQ(killick_result_code(r), 0);
	OK(killick_result_json(r, &len) && len > size);
	killick_result_free(r);

	OK(big);
	memcpy(big, "{\"text\":\"", 9);
	memset(big + 9, 'y', size);
	memcpy(big + 9 + size, "\"}", 3);
	r = lab_try(s, "zoo", "echo", big, LAB_MS);
	if (killick_result_code(r))
		FAIL("large arguments: %s", killick_result_error(r));
	EQ(strlen(killick_result_text(r)), size);
	killick_result_free(r);
	free(big);
	lab_end(s);
	lab_close(k);
}

TEST(times_of_calls)
{
	struct killick *k = LAB();
	struct killick_session *s =
		lab_session(k, SERVERS({ "zoo" }, { "short", .more = "\"toolTimeoutSec\":0.2" }));
	struct killick_result *r = lab_try(s, "zoo", "block", NULL, 100);
	char cancelled[16];

	EQ(killick_result_code(r), KILLICK_ERR_TIMEOUT);
	if (!strstr(killick_result_error(r), "zoo"))
		FAIL("'%s' does not say whose time is over", killick_result_error(r));
	killick_result_free(r);
	lab_seen(s, "zoo", "cancelled", cancelled, sizeof(cancelled));
	STREQ(cancelled, "1"); /* the server was told */

	r = lab_try(s, "short", "block", NULL, 0);
	EQ(killick_result_code(r), KILLICK_ERR_TIMEOUT);
	killick_result_free(r);
	/* Its own time does not bind a call that brings another. */
	lab_call(s, "short", "sleep", "{\"ms\":400}", 0, NULL, 0);
	lab_end(s);
	lab_close(k);
}

TEST(a_call_that_is_cancelled)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, GOOD);
	struct killick_call *c = lab_block(s, "zoo");
	struct killick_result *r = NULL;
	char cancelled[16];

	killick_cancel(c);
	killick_cancel(c);
	EQ(killick_wait(c, &r), KILLICK_ERR_CANCELLED);
	EQ(killick_result_code(r), KILLICK_ERR_CANCELLED);
	killick_cancel(c); /* over: harmless */
	killick_result_free(r);
	killick_call_free(c);
	lab_seen(s, "zoo", "cancelled", cancelled, sizeof(cancelled));
	STREQ(cancelled, "1");
	lab_end(s);
	lab_close(k);
}

TEST(many_calls_at_once)
{
	enum { N = 200 };
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, GOOD);
	struct killick_call *c[N];

	for (int i = 0; i < N; i++) {
		char args[32];
		struct killick_request rq =
			KILLICK_REQUEST(.op = KILLICK_CALL, .server = "zoo",
					.name = i % 10 ? "echo" : "sleep", .args = args);

		snprintf(args, sizeof(args), i % 10 ? "{\"text\":\"%d\"}" : "{\"ms\":%d}", i % 50);
		EQ(killick_start(s, &rq, &c[i], NULL), 0);
	}
	for (int i = N - 1; i >= 0; i--) {
		struct killick_result *r = NULL;
		char want[16];

		EQ(killick_wait(c[i], &r), 0);
		snprintf(want, sizeof(want), "%d", i % 50);
		STREQ(killick_result_text(r), i % 10 ? want : "slept");
		killick_result_free(r);
		killick_call_free(c[i]);
	}
	lab_end(s);
	lab_close(k);
}

static void done(void *ctx, struct killick_result *r)
{
	EQ(killick_result_code(r), 0);
	killick_result_free(r);
	lab_add(ctx);
}

TEST(calls_with_callbacks)
{
	struct lab_count n = LAB_COUNT_INIT;
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, GOOD);
	struct killick_request rq = KILLICK_REQUEST(.op = KILLICK_CALL, .server = "zoo",
						    .name = "pid", .ctx = &n, .on_done = done);
	struct killick_call *c = NULL;

	for (int i = 0; i < 50; i++)
		EQ(killick_start(s, &rq, NULL, NULL), 0);
	EQ(killick_start(s, &rq, &c, NULL), 0);
	killick_call_free(c); /* the call goes on */
	rq.op = KILLICK_TOOLS;
	rq.name = NULL;
	EQ(killick_start(s, &rq, NULL, NULL), 0);
	lab_await(&n, 52);
	lab_end(s);
	EQ(lab_value(&n), 52); /* once each */
	lab_close(k);
}

struct inside {
	struct killick *k;
	struct killick_session *s;
	struct lab_count over;
};

/* Blocking from a callback would wait for itself. */
static void block_inside(void *ctx, struct killick_result *r)
{
	struct inside *in = ctx;
	struct killick_result *again = NULL;
	struct killick_request rq = KILLICK_REQUEST(.op = KILLICK_PING, .server = "zoo");
	struct killick_error e;

	killick_result_free(r);
	EQ(killick_do(in->s, &rq, &again), KILLICK_ERR_USAGE);
	OK(strstr(killick_result_error(again), "called from a callback"));
	killick_result_free(again);
	EQ(killick_session_refresh(in->s, "{\"mcpServers\":{}}", NULL, NULL, &e),
	   KILLICK_ERR_USAGE);
	EQ(killick_session_close(in->s, NULL, NULL), KILLICK_ERR_USAGE);
	EQ(killick_close(in->k, NULL, NULL), KILLICK_ERR_USAGE);
	lab_add(&in->over);
}

TEST(blocking_in_a_callback_is_refused)
{
	struct inside in = { .k = LAB(), .over = LAB_COUNT_INIT };
	struct killick_request rq = KILLICK_REQUEST(.op = KILLICK_PING, .server = "zoo", .ctx = &in,
						    .on_done = block_inside);

	in.s = lab_session(in.k, GOOD);
	EQ(killick_start(in.s, &rq, NULL, NULL), 0);
	lab_await(&in.over, 1);
	lab_end(in.s);
	lab_close(in.k);
}

TEST(a_wrong_request_is_refused_with_the_argument_and_the_reason)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }, { "two" }));
	struct {
		struct killick_request rq;
		const char *text;
	} bad[] = {
		{ KILLICK_REQUEST(.op = KILLICK_CALL, .server = "zoo"), "name is NULL" },
		{ KILLICK_REQUEST(.op = KILLICK_READ, .server = "zoo"), "its uri" },
		{ KILLICK_REQUEST(.op = KILLICK_CALL, .server = "zoo", .name = "echo", .args = "{"),
		  "args is not JSON: " },
		{ KILLICK_REQUEST(.op = KILLICK_CALL, .server = "zoo", .name = "echo",
				  .args = "[]"),
		  "args is JSON, but not an object" },
		{ KILLICK_REQUEST(.op = (enum killick_op)99, .server = "zoo"), "op is 99" },
		{ KILLICK_REQUEST(.op = KILLICK_PING, .timeout_ms = -5), "timeout_ms is -5" },
		{ KILLICK_REQUEST(.op = KILLICK_COMPLETE, .server = "zoo"), "args is NULL" },
		{ KILLICK_REQUEST(.op = KILLICK_RAW, .name = "initialize"), "'initialize'" },
	};
	struct killick_request many = KILLICK_REQUEST(.op = KILLICK_PING);
	struct killick_request unknown = KILLICK_REQUEST(.op = KILLICK_PING, .server = "three");
	struct killick_result *r = NULL;
	struct killick_error e = { 0 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct killick_call *c = NULL;

		EQ(killick_do(s, &bad[i].rq, &r), KILLICK_ERR_USAGE);
		if (!strstr(killick_result_error(r), bad[i].text))
			FAIL("'%s' without '%s'", killick_result_error(r), bad[i].text);
		EQ(killick_start(s, &bad[i].rq, &c, &e), KILLICK_ERR_USAGE);
		STREQ(e.text, killick_result_error(r));
		EQ(e.code, killick_result_code(r));
		OK(!c);
		killick_result_free(r);
	}
	EQ(killick_do(NULL, &many, &r), KILLICK_ERR_USAGE);
	OK(strstr(killick_result_error(r), "s is NULL"));
	killick_result_free(r);
	EQ(killick_call_tool(s, "zoo", NULL, NULL, &r), KILLICK_ERR_USAGE);
	OK(strstr(killick_result_error(r), "name is NULL: this request needs a tool"));
	killick_result_free(r);
	EQ(killick_start(s, &unknown, NULL, &e), KILLICK_ERR_USAGE);
	OK(strstr(e.text, "on_done"));
	EQ(killick_wait(NULL, &r), KILLICK_ERR_USAGE);
	OK(strstr(killick_result_error(r), "c is NULL"));
	killick_result_free(r);
	killick_result_free(lab_do(s, &many, KILLICK_ERR_NO_SERVER));
	killick_result_free(lab_do(s, &unknown, KILLICK_ERR_NO_SERVER));
	lab_end(s);
	lab_close(k);
}

static void never_opened_at_all(void *ctx, struct killick_session *s, const struct killick_error *e)
{
	(void)ctx;
	(void)s;
	FAIL("%s", e->text);
}

TEST(the_status_counts_requests_and_their_latency)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }, { "idle" }));
	struct killick_status *st = NULL;
	char *json;
	size_t len;

	for (int i = 0; i < 10; i++)
		lab_call(s, "zoo", "echo", "{\"text\":\"x\"}", 0, NULL, 0);
	lab_call(s, "zoo", "no_such_tool", NULL, KILLICK_ERR_ANSWER, NULL, 0);
	killick_result_free(lab_try(s, "zoo", "block", NULL, 20));
	EQ(killick_session_status(s, &st, NULL), 0);
	EQ(st->servers[0]->calls, 12);
	EQ(st->servers[0]->errors, 2);
	OK(st->servers[0]->p50_ms > 0 && st->servers[0]->p50_ms <= st->servers[0]->p99_ms);
	OK(st->servers[0]->p99_ms >= 15); /* that of `block`, within 19 % */
	EQ(st->servers[1]->calls, 0);
	OK(st->servers[1]->p99_ms <= 0);
	json = killick_status_json(st);
	OK(killick_json_find(json, strlen(json), "0.calls", &len) && len == 2);
	OK(killick_json_find(json, strlen(json), "1.p99_ms", &len));
	killick_text_free(json);
	killick_status_free(st);
	lab_end(s);
	lab_close(k);
}

/* Every function that has an error for its argument fills in the error. */
TEST(each_function_says_why_it_failed)
{
	struct killick *k = LAB();
	struct killick_error e;
	struct killick_status *st = NULL;
	struct killick_item *i = NULL;
	char *server, *tool;

#define SAYS(code_, words, call)                                                                   \
	do {                                                                                       \
		e = (struct killick_error){ 0 };                                                   \
		EQ((call), code_);                                                                 \
		EQ(e.code, code_);                                                                 \
		OK(strstr(e.text, words));                                                         \
	} while (0)

	SAYS(KILLICK_ERR_USAGE, "k is NULL", killick_close(NULL, NULL, &e));
	SAYS(KILLICK_ERR_USAGE, "k is NULL", killick_dispatch(NULL, &e));
	SAYS(KILLICK_ERR_USAGE, "KILLICK_DISPATCH_HOST", killick_dispatch(k, &e));
	SAYS(KILLICK_ERR_USAGE, "KILLICK_DISPATCH_PULL", killick_next(k, 0, &i, &e));
	SAYS(KILLICK_ERR_USAGE, "k and out", killick_next(k, 0, NULL, &e));
	SAYS(KILLICK_ERR_USAGE, "s is NULL", killick_session_close(NULL, NULL, &e));
	SAYS(KILLICK_ERR_USAGE, "s is NULL", killick_session_close_start(NULL, NULL, NULL, &e));
	SAYS(KILLICK_ERR_USAGE, "s is NULL", killick_session_refresh(NULL, "", NULL, NULL, &e));
	SAYS(KILLICK_ERR_USAGE, "s and out", killick_session_status(NULL, &st, &e));
	SAYS(KILLICK_ERR_USAGE, "s is NULL", killick_roots_changed(NULL, &e));
	SAYS(KILLICK_ERR_USAGE, "s is NULL", killick_notify(NULL, NULL, "x", NULL, &e));
	SAYS(KILLICK_ERR_USAGE, "qualified", killick_tool_find(NULL, NULL, &server, &tool, &e));
	SAYS(KILLICK_ERR_USAGE, "a is NULL", killick_answer(NULL, "{}", &e));
	SAYS(KILLICK_ERR_USAGE, "a is NULL", killick_decline(NULL, NULL, &e));
	SAYS(KILLICK_ERR_USAGE, "k is NULL",
	     killick_session_open_start(NULL, NULL, never_opened_at_all, NULL, NULL, &e));
#undef SAYS
	lab_close(k);
}

TEST(names_for_models)
{
	struct killick *k = LAB();
	struct killick_session *s =
		lab_session(k, SERVERS({ "a b" }, { "off", .more = "\"disabled\":true" },
				       { "few", .more = "\"enabledTools\":[\"pid\",\"echo\"],"
							"\"disabledTools\":[\"echo\"]" }));
	struct killick_request all = KILLICK_REQUEST(.op = KILLICK_TOOLS);
	struct killick_request call = KILLICK_REQUEST(.op = KILLICK_CALL, .name = "a_b__pid");
	struct killick_result *r = lab_do(s, &all, 0);
	char *server = NULL, *tool = NULL;

	EQ(count_items(r, "tools"), 16);
	OK(strstr(killick_result_json(r, NULL), "\"a_b__echo\""));
	OK(strstr(killick_result_json(r, NULL), "\"few__pid\""));
	OK(!strstr(killick_result_json(r, NULL), "few__echo"));
	killick_result_free(r);
	EQ(killick_tool_find(s, "a_b__echo", &server, &tool, NULL), 0);
	STREQ(server, "a b");
	STREQ(tool, "echo");
	killick_text_free(server);
	killick_text_free(tool);
	EQ(killick_tool_find(s, "a_b__nothing", &server, &tool, NULL), KILLICK_ERR_NO_SERVER);
	killick_result_free(lab_do(s, &call, 0));
	call.name = "few__echo";
	killick_result_free(lab_do(s, &call, KILLICK_ERR_NO_SERVER));
	/* What is not enabled cannot be called by its own name either. */
	r = lab_try(s, "few", "echo", NULL, LAB_MS);
	EQ(killick_result_code(r), KILLICK_ERR_NO_SERVER);
	killick_result_free(r);
	EQ(lab_state(s, "off"), KILLICK_DISABLED);
	lab_end(s);
	lab_close(k);
}

TEST(status_has_the_parts_of_an_error)
{
	struct killick *k = LAB();
	const struct killick_server_status *const *list;
	struct killick_session *s = NULL;
	struct killick_status *st = NULL;
	struct killick_error e;

	EQ(killick_session_open(
		   k,
		   &KILLICK_SESSION_OPTIONS(.config = "{\"mcpServers\":{\"a\":{\"command\":\"/bin/"
						      "sh\",\"args\":"
						      "[\"-c\",\"echo oops >&2; exit 3\"]},"
						      "\"b\":{\"command\":\"/no/such\"},"
						      "\"c\":{\"url\":\"https://c\"}}}"),
		   &s, &e),
	   0);
	EQ(killick_session_status(s, &st, NULL), 0);
	list = st->servers;
	STREQ(list[0]->reason,
	      "exited with status 3 during its handshake; its stderr ends with: oops");
	EQ(list[0]->quoted, strlen("; its stderr ends with: oops"));
	EQ(strlen(list[0]->error), strlen(list[0]->reason) + strlen("server 'a' "));
	STREQ(list[0]->why, "crash");
	OK(strncmp(list[1]->reason, "could not be started: cannot run '/no/such'", 43) == 0);
	EQ(list[1]->quoted, 0);
	STREQ(list[1]->why, "start");
	OK(strncmp(list[2]->reason, "is remote (url, https://c); ", 28) == 0);
	STREQ(list[2]->why, "");
	killick_status_free(st);
	lab_end(s);
	lab_close(k);
}

/* npm ends with lines about its log. */
TEST(an_error_has_the_line_of_stderr_that_is_the_reason)
{
	struct killick *k = LAB();
	struct killick_session *s = NULL;
	struct killick_error e;

	EQ(killick_session_open(
		   k,
		   &KILLICK_SESSION_OPTIONS(
				   .config =
					   "{\"mcpServers\":{\"a\":{\"required\":true,\"command\":"
					   "\"/bin/sh\",\"args\":[\"-c\",\"printf 'npm info "
					   "ok\\nnpm ERR! "
					   "code ECONNREFUSED\\nnpm ERR! more\\n1\\n2\\n3\\n' >&2; "
					   "exit 1\"]}}}"),
		   &s, &e),
	   KILLICK_ERR_START);
	OK(strstr(e.text, "its stderr says: npm ERR! code ECONNREFUSED; it ends with: 1 | 2 | 3"));
	lab_close(k);
}

TEST(status_of_a_server)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, GOOD);
	const struct killick_server_status *one;
	struct killick_status *st = NULL;
	pid_t pid = lab_pid(s, "zoo");
	struct killick_call *c = lab_block(s, "zoo");

	expect_items(s, KILLICK_TOOLS, "tools", 15);
	EQ(killick_session_status(s, &st, NULL), 0);
	EQ(st->count, 1);
	one = st->servers[0];
	STREQ(one->name, "zoo");
	EQ(one->state, KILLICK_READY);
	EQ(one->pid, pid);
	OK(*one->level);
	STREQ(one->era, "legacy");
	STREQ(one->protocol, "2025-11-25");
	OK(strstr(one->info, "killick-zoo"));
	OK(strstr(one->capabilities, "listChanged"));
	STREQ(one->instructions, "Behave.");
	EQ(one->tools, 15);
	EQ(one->restarts, 0);
	EQ(one->in_flight, 1);
	if (one->bytes_in < 100 || one->bytes_out < 100)
		FAIL("%llu bytes in, %llu out", one->bytes_in, one->bytes_out);
	STREQ(one->error, "");
	OK(!one->required && !one->shared);
	killick_status_free(st);
	killick_call_free(c);
	lab_end(s);
	lab_close(k);
}
