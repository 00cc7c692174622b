/* client.c - the legacy era: handshake, calls, and their time */
#include "t.h"

#include "base/auto.h"
#include "base/mem.h"
#include "unit/fake.h"

static const struct client_spec legacy = { .era = ERA_LEGACY };

/* --- handshake --- */

TEST(handshake_is_written_as_it_should_be)
{
	struct client_facts facts;
	struct world w;

	world_open(&w, &legacy);
	STREQ(world_sent(&w), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
			      "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
			      "\"clientInfo\":{\"name\":\"test\",\"version\":\"1\"}}}");
	STREQ(world_sent(&w), "");
	EQ(w.ready, 0);
	OK(!client_is_probing(w.client));
	world_greet(&w, "2025-06-18");
	STREQ(world_sent(&w), "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
	STREQ(world_sent(&w), "");
	EQ(w.ready, 1);
	OK(!w.failed);
	client_facts(w.client, &facts);
	EQ(facts.era, ERA_LEGACY);
	STREQ(facts.protocol, "2025-06-18");
	STREQ(facts.info, "{\"name\":\"s\",\"version\":\"1\"}");
	STREQ(facts.capabilities, WORLD_CAPABILITIES);
	STREQ(facts.instructions, "Be kind.");
	fake_pass(1000000);
	EQ(w.ready, 1);
	EQ(w.warnings, 0);
	world_close(&w);
}

TEST(capabilities_are_offered_as_answers_say)
{
	struct world w;

	world_open(&w, &(struct client_spec){ .era = ERA_LEGACY, .answers = ANSWERS_ALL });
	OK(strstr(world_sent(&w), "\"capabilities\":{\"roots\":{},\"sampling\":{},"
				  "\"elicitation\":{\"form\":{},\"url\":{}}}"));
	world_close(&w);
	world_open(&w, &(struct client_spec){ .era = ERA_LEGACY, .answers = 4 });
	OK(strstr(world_sent(&w), "\"capabilities\":{\"roots\":{}}"));
	world_close(&w);
}

TEST(versions_that_are_spoken)
{
	static const char *const good[] = { "2024-11-05", "2025-03-26", "2025-06-18",
					    "2025-11-25" };
	static const char *const bad[] = { "2026-07-28", "2024-10-07", "1.0", "" };
	struct world w;

	for (int i = 0; i < 4; i++) {
		world_open(&w, &legacy);
		world_greet(&w, good[i]);
		EQ(w.ready, 1);
		OK(!w.failed);
		world_close(&w);
		world_open(&w, &legacy);
		world_sent(&w);
		world_greet(&w, bad[i]);
		EQ(w.ready, 1);
		OK(w.failed && strstr(w.error.text, "protocol version") &&
		   strstr(w.error.text, bad[i]));
		STREQ(world_sent(&w), "");
		world_close(&w);
	}
}

TEST(initialize_that_fails)
{
	static const char *const answers[] = {
		"\"error\":{\"code\":-32601,\"message\":\"no such method\"}",
		"\"error\":{}",
		"\"error\":7",
		"\"result\":{}",
		"\"result\":null",
		"\"result\":{\"protocolVersion\":7}",
		"\"result\":{\"protocolVersion\":{}},",
		"\"result\":\"\xff\"",
	};
	struct world w;

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		world_open(&w, &legacy);
		world_sent(&w);
		world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,%s}", answers[i]);
		if (w.ready != 1 || !w.failed || !w.error.text[0])
			FAIL("%s", answers[i]);
		STREQ(world_sent(&w), "");
		world_close(&w);
	}
}

TEST(initialize_is_tried_again_with_a_version_that_both_have)
{
	struct client_facts facts;
	struct world w;

	world_open(&w, &legacy);
	world_sent(&w);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"v\","
		      "\"data\":{"
		      "\"supported\":[\"2024-11-05\",\"x\"]}}}");
	OK(strstr(world_sent(&w), "\"id\":2,\"method\":\"initialize\",\"params\":{"
				  "\"protocolVersion\":\"2024-11-05\""));
	world_say(&w,
		  "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"protocolVersion\":\"2024-11-05\"}}");
	EQ(w.ready, 1);
	OK(!w.failed);
	client_facts(w.client, &facts);
	STREQ(facts.capabilities, "{}");
	STREQ(facts.info, "{}");
	STREQ(facts.instructions, "");
	world_close(&w);

	world_open(&w, &legacy); /* and not for ever */
	for (unsigned id = 1; !w.ready && id < 10; id++)
		world_say(&w,
			  "{\"jsonrpc\":\"2.0\",\"id\":%u,\"error\":{\"code\":-32602,\"data\":{"
			  "\"supported\":[\"2025-11-25\"]}}}",
			  id);
	OK(w.failed && strstr(w.error.text, "refuses"));
	world_close(&w);

	world_open(&w, &legacy);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,\"data\":{"
		      "\"supported\":[\"2026-07-28\"]}}}");
	OK(w.failed && strstr(w.error.text, "\"auto\""));
	world_close(&w);
}

TEST(facts_that_are_too_large_are_dropped)
{
	struct client_facts facts;
	struct world w;
	char *big = mem_grow(NULL, 1, (2 << 20) + 1);

	memset(big, 'x', 2 << 20);
	big[2 << 20] = '\0';
	world_open(&w, &(struct client_spec){ .era = ERA_LEGACY, .message_limit = 8 << 20 });
	world_say(&w,
		  "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-11-25\","
		  "\"serverInfo\":{\"name\":\"%s\"},\"instructions\":\"%s\"}}",
		  big, big);
	free(big);
	OK(w.ready == 1 && !w.failed);
	client_facts(w.client, &facts);
	STREQ(facts.info, "{}");
	STREQ(facts.instructions, "");
	EQ(w.warnings, 2);
	world_close(&w);
}

TEST(a_link_that_is_closed_fails_the_handshake_from_the_loop)
{
	struct world w = { .failed = false };

	for (int when = 0; when < 2; when++) {
		struct client_spec spec = legacy;

		spec.name = spec.version = "x";
		spec.message_limit = 1000;
		w = (struct world){ .link = { .link.ops = &fake_ops, .out = BUF_INIT(1 << 20) },
				    .spec = spec };
		w.link.error = when == 0 ? -EPIPE : 0;
		w.client = client_new(NULL, &w.link.link, &w.spec, &world_events, &w);
		if (when == 1) {
			w.link.error = -ENOBUFS;
			world_greet(&w, "2025-11-25");
		}
		EQ(w.ready, 0);
		fake_pass(0);
		EQ(w.ready, 1);
		OK(w.failed);
		world_close(&w);
	}
}

TEST(ping_is_answered_before_the_handshake_and_after)
{
	struct world w;

	world_open(&w, &legacy);
	world_sent(&w);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}");
	STREQ(world_sent(&w), "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{}}");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"roots/list\"}");
	STREQ(world_sent(&w), "{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32601,"
			      "\"message\":\"Method not found\"}}");
	world_greet(&w, "2025-11-25");
	world_sent(&w);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{}}");
	STREQ(world_sent(&w), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2.5,\"method\":\"tasks/get\"}");
	OK(strstr(world_sent(&w), "\"id\":2.5,\"error\":{\"code\":-32601"));
	world_close(&w);
}

/* --- calls --- */

TEST(every_kind_of_request_is_written_as_it_should_be)
{
	static const struct {
		enum killick_op op;
		const char *name, *args, *line;
	} cases[] = {
		{ KILLICK_CALL, "t\"x", "{\"a\":\r\n[1, 2]}",
		  "tools/call\",\"params\":{\"name\":\"t\\\"x\",\"arguments\":{\"a\":  [1, 2]}}}" },
		{ KILLICK_CALL, "t", NULL,
		  "tools/call\",\"params\":{\"name\":\"t\",\"arguments\":{}}}" },
		{ KILLICK_READ, "file:///a b", NULL,
		  "resources/read\",\"params\":{\"uri\":\"file:///a b\"}}" },
		{ KILLICK_PROMPT, "p", "{\"x\":\"1\"}",
		  "prompts/get\",\"params\":{\"name\":\"p\",\"arguments\":{\"x\":\"1\"}}}" },
		{ KILLICK_PROMPT, "p", NULL, "prompts/get\",\"params\":{\"name\":\"p\"}}" },
		{ KILLICK_COMPLETE, NULL,
		  "{\"ref\":{\"type\":\"ref/"
		  "prompt\",\"name\":\"p\"},\"argument\":{\"name\":\"a\",\"value\":\"\"}}",
		  "completion/complete\",\"params\":{\"ref\":{\"type\":\"ref/"
		  "prompt\",\"name\":\"p\"},\"argument\":{\"name\":\"a\",\"value\":\"\"}}}" },
		{ KILLICK_COMPLETE, NULL, "{\"_meta\":{\"x\":1},\"ref\":1}",
		  "completion/complete\",\"params\":{\"ref\":1,\"_meta\":{\"x\":1}}}" },
		{ KILLICK_PING, NULL, NULL, "ping\",\"params\":{}}" },
		{ KILLICK_LOG_LEVEL, "warning", NULL,
		  "logging/setLevel\",\"params\":{\"level\":\"warning\"}}" },
		{ KILLICK_SUBSCRIBE, "u", NULL,
		  "resources/subscribe\",\"params\":{\"uri\":\"u\"}}" },
		{ KILLICK_UNSUBSCRIBE, "v", NULL,
		  "resources/unsubscribe\",\"params\":{\"uri\":\"v\"}}" },
		{ KILLICK_TOOLS, NULL, NULL, "tools/list\",\"params\":{}}" },
		{ KILLICK_RESOURCES, NULL, NULL, "resources/list\",\"params\":{}}" },
		{ KILLICK_TEMPLATES, NULL, NULL, "resources/templates/list\",\"params\":{}}" },
		{ KILLICK_PROMPTS, NULL, NULL, "prompts/list\",\"params\":{}}" },
	};
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;
	char line[400];

	world_open_legacy(&w, &legacy);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		world_call(&w, &d, cases[i].op, cases[i].name, cases[i].args);
		EQ(d.count, i);
		snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"%s",
			 i + 2, cases[i].line);
		STREQ(world_sent(&w), line);
		world_say(
			&w,
			"{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":{\"tools\":[],\"resources\":[],"
			"\"resourceTemplates\":[],\"prompts\":[], \"x\" : %u}}",
			i + 2, i);
		EQ(d.count, i + 1);
		EQ(d.code, KILLICK_OK);
		OK(strstr(d.json, "\"x\" : ")); /* byte for byte */
		OK(!d.text);
	}
	EQ(w.warnings, 0);
	EQ(client_in_flight(w.client, NULL), 0);
	world_close(&w);
}

TEST(calls_before_the_handshake_wait_in_order)
{
	AUTO(done_drop) struct done a = { .count = 0 };
	AUTO(done_drop) struct done b = { .count = 0 };
	AUTO(done_drop) struct done c = { .count = 0 };
	char name[] = "first", args[] = "{\"x\":1}";
	struct client_call *second;
	struct world w;

	world_open(&w, &legacy);
	world_sent(&w);
	world_call(&w, &a, KILLICK_CALL, name, args);
	second = world_call(&w, &b, KILLICK_CALL, "second", NULL);
	world_call(&w, &c, KILLICK_CALL, "third", NULL);
	memset(name, 'X', 5);
	memset(args, 'X', 7);
	STREQ(world_sent(&w), "");
	EQ(client_in_flight(w.client, NULL), 3);
	client_cancel(second);
	EQ(b.count, 1);
	EQ(b.code, KILLICK_ERR_CANCELLED);
	STREQ(world_sent(&w), "");
	world_greet(&w, "2025-11-25");
	world_sent(&w);
	STREQ(world_sent(&w), "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{"
			      "\"name\":\"first\",\"arguments\":{\"x\":1}}}");
	OK(strstr(world_sent(&w), "third"));
	fake_pass(1000);
	EQ(a.code, KILLICK_ERR_TIMEOUT);
	EQ(c.count, 1);
	world_close(&w);
}

TEST(a_call_that_waits_for_the_handshake_has_a_deadline)
{
	AUTO(done_drop) struct done a = { .count = 0 };
	struct world w;

	world_open(&w, &legacy);
	world_sent(&w);
	world_call(&w, &a, KILLICK_CALL, "t", NULL);
	fake_pass(999);
	EQ(a.count, 0);
	fake_pass(1);
	EQ(a.code, KILLICK_ERR_TIMEOUT);
	OK(strstr(a.text, "ready"));
	STREQ(world_sent(&w), ""); /* nothing to cancel */
	world_close(&w);
}

TEST(answers_with_errors)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;

	world_open_legacy(&w, &legacy);
	world_call(&w, &d, KILLICK_CALL, "t", NULL);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32602, \"message\":\"bad "
		      "\\u00e4\"}}");
	EQ(d.code, KILLICK_ERR_ANSWER);
	STREQ(d.json, "{\"code\":-32602, \"message\":\"bad \\u00e4\"}");
	OK(strstr(d.text, "-32602: bad \xc3\xa4"));
	world_call(&w, &d, KILLICK_CALL, "t", NULL);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":\"oops\"}");
	EQ(d.code, KILLICK_ERR_ANSWER);
	STREQ(d.json, "\"oops\"");
	world_call(&w, &d, KILLICK_CALL, "t", NULL);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{},\"error\":{\"code\":1,"
		      "\"message\":\"both\"}}");
	EQ(d.code, KILLICK_ERR_ANSWER);
	world_call(&w, &d, KILLICK_CALL, "t", NULL);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":[1]}");
	EQ(d.code, KILLICK_ERR_PROTOCOL);
	world_call(&w, &d, KILLICK_CALL, "t", NULL);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":6}");
	EQ(d.code, KILLICK_ERR_PROTOCOL);
	world_call(&w, &d, KILLICK_PING, NULL, NULL);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":null}");
	EQ(d.code, KILLICK_OK);
	world_call(&w, &d, KILLICK_CALL, "t", NULL); /* resultType is nothing here */
	world_say(&w,
		  "{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{\"resultType\":\"input_required\"}}");
	EQ(d.code, KILLICK_OK);
	EQ(d.count, 7);
	world_close(&w);
}

TEST(cancelling_tells_the_server_and_drops_the_late_answer)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct client_call *call;
	struct world w;

	world_open_legacy(&w, &legacy);
	call = world_call(&w, &d, KILLICK_CALL, "t", NULL);
	world_skip(&w);
	client_cancel(call);
	EQ(d.count, 1);
	EQ(d.code, KILLICK_ERR_CANCELLED);
	STREQ(world_sent(&w),
	      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
	      "\"requestId\":2,\"reason\":\"the caller gave it up\"}}");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
	EQ(d.count, 1);
	EQ(w.warnings, 0);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
	EQ(w.warnings, 1);
	fake_pass(100000);
	EQ(d.count, 1);
	world_close(&w);
}

TEST(timeouts_tell_the_server)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;

	world_open_legacy(&w, &legacy);
	world_call(&w, &d, KILLICK_CALL, "t", NULL);
	world_skip(&w);
	fake_pass(1000);
	EQ(d.count, 1);
	EQ(d.code, KILLICK_ERR_TIMEOUT);
	OK(strstr(d.text, "1000 ms"));
	STREQ(world_sent(&w),
	      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
	      "\"requestId\":2,\"reason\":\"its time is over\"}}");
	world_say(
		&w,
		"{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":0,\"message\":\"cancelled\"}}");
	EQ(w.warnings, 0);
	EQ(d.count, 1);
	world_close(&w);
}

TEST(progress_goes_to_its_call_and_may_extend_it)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	AUTO(done_drop) struct done e = { .count = 0 };
	struct client_call like = {
		.op = KILLICK_CALL,
		.name = "t",
		.timeout_ms = 1000,
		.progress_extends = true,
		.on_progress = world_progress,
	};
	struct world w;

	world_open_legacy(&w, &legacy);
	world_begin(&w, &d, &like);
	OK(strstr(world_sent(&w), "\"arguments\":{},\"_meta\":{\"progressToken\":2}}}"));
	world_call(&w, &e, KILLICK_CALL, "quiet", NULL);
	OK(!strstr(world_sent(&w), "progressToken"));
	fake_pass(900);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		      "progress\",\"params\":{\"progressToken\":2,"
		      "\"progress\":0.5,\"total\":2,\"message\":\"half\\n\"}}");
	EQ(d.progresses, 1);
	OK(d.progress == 0.5 && d.total == 2);
	STREQ(d.message, "half\n");
	fake_pass(900);
	EQ(e.code, KILLICK_ERR_TIMEOUT);
	EQ(d.count, 0);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		      "progress\",\"params\":{\"progressToken\":2,\"progress\":1}}");
	EQ(d.progresses, 2);
	OK(d.total == 0);
	STREQ(d.message, "");
	/* to the one that did not want any, to late ones, to nothing */
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		      "progress\",\"params\":{\"progressToken\":3,\"progress\":1}}");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		      "progress\",\"params\":{\"progressToken\":1,\"progress\":1}}");
	EQ(w.warnings, 0);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		      "progress\",\"params\":{\"progressToken\":\"x\"}}");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}");
	EQ(w.warnings, 2);
	EQ(d.progresses, 2);
	fake_pass(1000);
	EQ(d.code, KILLICK_ERR_TIMEOUT);
	world_close(&w);
}

static void cancel_on_progress(struct client_call *call, const struct killick_progress *p)
{
	(void)p;
	client_cancel(call);
}

static unsigned cancelled;
static void count_done(struct client_call *call, const struct client_result *r)
{
	client_cancel(call); /* harmless now */
	cancelled += r->code == KILLICK_ERR_CANCELLED;
}

TEST(a_call_may_be_cancelled_from_its_own_callbacks)
{
	struct client_call call = {
		.op = KILLICK_CALL,
		.name = "t",
		.timeout_ms = -1,
		.on_progress = cancel_on_progress,
		.on_done = count_done,
	};
	struct world w;

	world_open_legacy(&w, &legacy);
	client_call(w.client, &call);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		      "progress\",\"params\":{\"progressToken\":2,\"progress\":1}}");
	EQ(cancelled, 1);
	EQ(client_in_flight(w.client, NULL), 0);
	world_close(&w);
}

TEST(limits_make_calls_fail_as_busy)
{
	AUTO(done_drop) struct done a = { .count = 0 };
	AUTO(done_drop) struct done b = { .count = 0 };
	AUTO(done_drop) struct done c = { .count = 0 };
	struct world w;

	world_open_legacy(&w, &(struct client_spec){ .era = ERA_LEGACY, .max_in_flight = 2 });
	world_call(&w, &a, KILLICK_CALL, "t", NULL);
	world_call(&w, &a, KILLICK_CALL, "t", NULL);
	world_call(&w, &b, KILLICK_CALL, "t", NULL);
	EQ(b.count, 0); /* never from inside client_call */
	fake_pass(0);
	EQ(b.code, KILLICK_ERR_BUSY);
	OK(strstr(b.text, "2 requests"));
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
	w.link.error = -ENOBUFS;
	world_call(&w, &c, KILLICK_CALL, "t", NULL);
	EQ(c.count, 0);
	fake_pass(0);
	EQ(c.code, KILLICK_ERR_BUSY);
	STREQ(c.text, "the server does not read its stdin");
	w.link.error = -EPIPE;
	world_call(&w, &c, KILLICK_CALL, "t", NULL);
	fake_pass(0);
	EQ(c.code, KILLICK_ERR_BUSY);
	STREQ(c.text, "the server has closed its stdin");
	EQ(c.count, 2);
	w.link.error = 0;
	EQ(client_in_flight(w.client, NULL), 1);
	world_close(&w);
	EQ(a.count, 2);
}

TEST(a_request_that_is_too_long_fails)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;
	char args[3000];

	world_open_legacy(&w, &(struct client_spec){ .era = ERA_LEGACY, .message_limit = 2000 });
	memset(args, ' ', sizeof(args));
	args[0] = '{';
	memcpy(args + sizeof(args) - 2, "}", 2);
	world_call(&w, &d, KILLICK_CALL, "t", args);
	STREQ(world_sent(&w), "");
	fake_pass(0);
	EQ(d.code, KILLICK_ERR_PROTOCOL);
	OK(strstr(d.text, "2000 bytes"));
	world_call(&w, &d, KILLICK_CALL, "t", "{}");
	OK(strstr(world_sent(&w), "\"id\":3"));
	world_close(&w);
}

TEST(failing_ends_everything_once_and_sends_nothing)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct client_call *call;
	struct world w;

	world_open_legacy(&w, &(struct client_spec){ .era = ERA_LEGACY, .answers = ANSWERS_ALL });
	for (int i = 0; i < 100; i++)
		world_call(&w, &d, i % 2 ? KILLICK_CALL : KILLICK_TOOLS, "t", NULL);
	world_call(&w, &d, KILLICK_SUBSCRIBE, "u", NULL);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":\"r\",\"method\":\"roots/list\"}");
	EQ(w.ask_count, 1);
	world_skip(&w);
	client_fail(w.client, -5, "it exited with status 1");
	EQ(d.count, 101);
	OK(d.over);
	EQ(d.code, -5);
	STREQ(d.text, "it exited with status 1");
	client_fail(w.client, -6, "again");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
	client_answer(w.client, w.asks[0].number, "{\"roots\":[]}", 12);
	world_call(&w, &d, KILLICK_CALL, "t", NULL);
	EQ(d.count, 101);
	fake_pass(0);
	EQ(d.count, 102);
	EQ(d.code, -5);
	call = world_call(&w, &d, KILLICK_CALL, "t", NULL);
	client_cancel(call);
	EQ(d.count, 103);
	EQ(d.code, KILLICK_ERR_CANCELLED);
	world_call(&w, &d, KILLICK_CALL, "t", NULL);
	STREQ(world_sent(&w), "");
	EQ(w.warnings, 0);
	world_close(&w);
	EQ(d.count, 104);
	OK(d.over);
}

static struct client *failing;
static void fail_all(struct client_call *call, const struct client_result *r)
{
	(void)call;
	(void)r;
	client_fail(failing, -6, "from inside");
}

TEST(a_handler_may_fail_the_client)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;

	for (int how = 0; how < 2; how++) {
		struct client_call call = { .op = KILLICK_CALL,
					    .timeout_ms = 10,
					    .on_done = fail_all };

		world_open_legacy(&w, &legacy);
		failing = w.client;
		client_call(w.client, &call);
		world_call(&w, &d, KILLICK_CALL, "t", NULL);
		if (how == 0)
			world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n{\"jsonrpc\":"
				      "\"2.0\",\"id\":3,\"result\":{}}");
		else
			fake_pass(10);
		EQ(d.count, how + 1);
		OK(d.over);
		world_close(&w);
	}
}
