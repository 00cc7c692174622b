/* client_server.c - the legacy era: lists, what servers lack, and what they ask and tell */
#include "t.h"

#include "base/auto.h"
#include "unit/fake.h"

static const struct client_spec legacy = { .era = ERA_LEGACY };

/* --- lists --- */

TEST(pages_are_joined_as_they_were_written)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;

	world_open_legacy(&w, &legacy);
	world_call(&w, &d, KILLICK_TOOLS, NULL, NULL);
	OK(strstr(world_sent(&w), "\"params\":{}}"));
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"tools\":[ {\"name\" : "
		      "\"a\"},{\"n\":1e2} ],\"nextCursor\":\"\"}}");
	STREQ(world_sent(&w), "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/"
			      "list\",\"params\":{\"cursor\":\"\"}}");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"nextCursor\":\"\\u0041\\n\","
		      "\"tools\":[]}}");
	STREQ(world_sent(&w), "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/"
			      "list\",\"params\":{\"cursor\":\"\\u0041\\n\"}}");
	EQ(client_in_flight(w.client, NULL), 1);
	world_say(&w,
		  "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"tools\":[{}],\"nextCursor\":null}}");
	EQ(d.code, KILLICK_OK);
	STREQ(d.json, "{\"tools\":[{\"name\" : \"a\"},{\"n\":1e2},{}]}");
	world_call(&w, &d, KILLICK_TEMPLATES, NULL, NULL); /* pages without any item */
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"resourceTemplates\":[],"
		      "\"nextCursor\":\"x\"}}");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":6,\"result\":{\"resourceTemplates\":[]}}");
	STREQ(d.json, "{\"resourceTemplates\":[]}");
	world_call(&w, &d, KILLICK_PROMPTS, NULL, NULL); /* one page: as it is */
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{ \"prompts\":[1 ],\"_meta\":{}}}");
	STREQ(d.json, "{ \"prompts\":[1 ],\"_meta\":{}}");
	EQ(d.count, 3);
	world_close(&w);
}

TEST(lists_that_go_wrong)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;
	char big[500];

	world_open_legacy(&w, &(struct client_spec){ .era = ERA_LEGACY, .message_limit = 1000 });
	world_call(&w, &d, KILLICK_TOOLS, NULL, NULL);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
	EQ(d.code, KILLICK_ERR_PROTOCOL);
	OK(strstr(d.text, "'tools'"));
	world_call(&w, &d, KILLICK_TOOLS, NULL, NULL);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"tools\":{}}}");
	EQ(d.code, KILLICK_ERR_PROTOCOL);
	world_call(&w, &d, KILLICK_TOOLS, NULL, NULL);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"tools\":[],\"nextCursor\":7}}");
	EQ(d.code, KILLICK_ERR_PROTOCOL);
	world_call(&w, &d, KILLICK_TOOLS, NULL, NULL); /* in circles */
	world_say(&w,
		  "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"tools\":[],\"nextCursor\":\"a\"}}");
	world_say(&w,
		  "{\"jsonrpc\":\"2.0\",\"id\":6,\"result\":{\"tools\":[],\"nextCursor\":\"b\"}}");
	world_say(&w,
		  "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"tools\":[],\"nextCursor\":\"a\"}}");
	EQ(d.code, KILLICK_ERR_PROTOCOL);
	OK(strstr(d.text, "circles"));
	world_call(&w, &d, KILLICK_TOOLS, NULL, NULL); /* larger than a message may be */
	memset(big, 'x', sizeof(big));
	big[499] = '\0';
	for (unsigned id = 8; id < 11; id++)
		world_say(&w,
			  "{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":{\"tools\":[\"%s\"],"
			  "\"nextCursor\":\"%u\"}}",
			  id, big, id);
	EQ(d.code, KILLICK_ERR_PROTOCOL);
	OK(strstr(d.text, "1000 bytes"));
	EQ(d.count, 5);
	world_call(&w, &d, KILLICK_TOOLS, NULL, NULL); /* an error, and the time, in the middle */
	world_say(&w,
		  "{\"jsonrpc\":\"2.0\",\"id\":10,\"result\":{\"tools\":[],\"nextCursor\":\"a\"}}");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":11,\"error\":{\"code\":1,\"message\":\"m\"}}");
	EQ(d.code, KILLICK_ERR_ANSWER);
	world_call(&w, &d, KILLICK_TOOLS, NULL, NULL);
	fake_pass(600);
	world_say(&w,
		  "{\"jsonrpc\":\"2.0\",\"id\":12,\"result\":{\"tools\":[],\"nextCursor\":\"a\"}}");
	fake_pass(400);
	EQ(d.code, KILLICK_ERR_TIMEOUT);
	world_close(&w);
}

TEST(a_list_that_never_ends_is_ended)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;
	unsigned id = 2;

	world_open_legacy(&w, &legacy);
	for (world_call(&w, &d, KILLICK_TOOLS, NULL, NULL); d.count == 0 && id < 20000; id++)
		world_say(&w,
			  "{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":{\"tools\":[],\"nextCursor\":"
			  "\"%u\"}}",
			  id, id);
	EQ(d.code, KILLICK_ERR_PROTOCOL);
	OK(strstr(d.text, "10000 pages"));
	world_close(&w);
}

TEST(requests_without_the_capability_fail_locally)
{
	static const struct {
		enum killick_op op;
		const char *json;
	} lists[] = {
		{ KILLICK_TOOLS, "{\"tools\":[]}" },
		{ KILLICK_RESOURCES, "{\"resources\":[]}" },
		{ KILLICK_TEMPLATES, "{\"resourceTemplates\":[]}" },
		{ KILLICK_PROMPTS, "{\"prompts\":[]}" },
	};
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;

	world_open(&w, &legacy);
	world_call(&w, &d, KILLICK_TOOLS, NULL, NULL); /* also when it waited */
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-11-"
		      "25\",\"capabilities\":{}}}");
	world_skip(&w);
	EQ(d.count, 0);
	fake_pass(0);
	EQ(d.count, 1);
	for (int i = 0; i < 4; i++) {
		world_call(&w, &d, lists[i].op, NULL, NULL);
		fake_pass(0);
		EQ(d.code, KILLICK_OK);
		STREQ(d.json, lists[i].json);
	}
	world_call(&w, &d, KILLICK_COMPLETE, NULL, "{}");
	fake_pass(0);
	EQ(d.code, KILLICK_ERR_PROTOCOL);
	OK(strstr(d.text, "completion"));
	world_call(&w, &d, KILLICK_SUBSCRIBE, "u", NULL);
	fake_pass(0);
	EQ(d.code, KILLICK_ERR_PROTOCOL);
	world_call(&w, &d, KILLICK_LOG_LEVEL, "info", NULL);
	fake_pass(0);
	EQ(d.code, KILLICK_ERR_PROTOCOL);
	EQ(d.count, 8);
	STREQ(world_sent(&w), "");
	world_call(&w, &d, KILLICK_CALL, "t", NULL); /* a call it may refuse itself */
	OK(strstr(world_sent(&w), "tools/call"));
	world_close(&w);
}

TEST(the_first_revision_completes_without_saying_so)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;

	world_open(&w, &legacy);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2024-11-"
		      "05\",\"capabilities\":{}}}");
	world_skip(&w);
	world_call(&w, &d, KILLICK_COMPLETE, NULL, "{}");
	OK(strstr(world_sent(&w), "completion/complete"));
	world_close(&w);
}

/* --- what the server asks --- */

TEST(asks_are_answered_declined_or_refused)
{
	struct world w;

	world_open_legacy(&w, &(struct client_spec){ .era = ERA_LEGACY, .answers = ANSWERS_ALL });
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"sampling/"
		      "createMessage\",\"params\":{\"x\":1}}");
	world_say(&w,
		  "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"elicitation/create\",\"params\":{}}");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"roots/list\"}");
	EQ(w.ask_count, 3);
	STREQ(w.asks[0].method, "sampling/createMessage");
	STREQ(w.asks[0].params, "{\"x\":1}");
	STREQ(w.asks[1].method, "elicitation/create");
	STREQ(w.asks[2].method, "roots/list");
	STREQ(world_sent(&w), "");
	client_answer(w.client, w.asks[2].number, "{\"roots\":\n[]}", 13);
	STREQ(world_sent(&w), "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"roots\": []}}");
	client_decline(w.client, w.asks[0].number, "not \"now\"");
	STREQ(world_sent(&w), "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{\"code\":-1,"
			      "\"message\":\"not \\\"now\\\"\"}}");
	client_decline(w.client, w.asks[1].number, NULL);
	STREQ(world_sent(&w), "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"action\":\"decline\"}}");
	client_answer(w.client, w.asks[1].number, "{}", 2); /* it is over */
	client_decline(w.client, 4711, "x");
	STREQ(world_sent(&w), "");
	w.refuse_asks = true;
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"roots/list\"}");
	STREQ(world_sent(&w), "{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":{\"code\":-32603,"
			      "\"message\":\"no handler can answer this request\"}}");
	w.refuse_asks = false;
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"roots/list\"}");
	client_answer(w.client, w.asks[4].number, "{\"roots\":[}", 11);
	OK(strstr(world_sent(&w), "\"id\":5,\"error\""));
	EQ(w.warnings, 1);
	w.answer = "{\"roots\":[]}"; /* from inside on_ask */
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"roots/list\"}");
	STREQ(world_sent(&w), "{\"jsonrpc\":\"2.0\",\"id\":6,\"result\":{\"roots\":[]}}");
	STREQ(world_sent(&w), "");
	world_close(&w);
}

TEST(asks_that_were_not_offered_are_refused)
{
	struct world w;

	world_open_legacy(&w, &(struct client_spec){ .era = ERA_LEGACY, .answers = 1 });
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}");
	OK(strstr(world_sent(&w), "-32601"));
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"elicitation/create\"}");
	OK(strstr(world_sent(&w), "-32601"));
	EQ(w.ask_count, 0);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"sampling/createMessage\"}");
	EQ(w.ask_count, 1);
	world_close(&w);
}

TEST(asks_whose_params_are_an_array_are_refused)
{
	static const char *const methods[] = { "roots/list", "elicitation/create",
					       "sampling/createMessage" };
	struct world w;

	world_open_legacy(&w, &(struct client_spec){ .era = ERA_LEGACY, .answers = ANSWERS_ALL });
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"%s\",\"params\":[\"x\"]}",
			  methods[i]);
		STREQ(world_sent(&w), "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32602,"
				      "\"message\":\"params are no object\"}}");
	}
	EQ(w.ask_count, 0);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"roots/list\",\"params\":{}}");
	EQ(w.ask_count, 1);
	world_close(&w);
}

TEST(the_server_may_cancel_what_it_asked)
{
	struct world w;

	world_open_legacy(&w, &(struct client_spec){ .era = ERA_LEGACY, .answers = ANSWERS_ALL });
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"roots/list\"}");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		      "cancelled\",\"params\":{\"requestId\":\"7\"}}");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		      "cancelled\",\"params\":{\"requestId\":7}}");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		      "cancelled\",\"params\":{\"requestId\":7}}");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}");
	client_answer(w.client, w.asks[0].number, "{\"roots\":[]}", 12);
	STREQ(world_sent(&w), "");
	world_close(&w);
}

TEST(open_asks_are_bounded)
{
	struct world w;
	unsigned refused = 0;

	world_open_legacy(&w, &(struct client_spec){ .era = ERA_LEGACY, .answers = ANSWERS_ALL });
	for (int i = 0; i < 1000; i++)
		world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"roots/list\"}", i);
	while (strstr(world_sent(&w), "too many"))
		refused++;
	EQ(w.ask_count + refused, 1000);
	EQ(w.ask_count, 256);
	world_close(&w);
}

TEST(batches_exist_in_one_revision)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;

	for (int i = 0; i < 2; i++) {
		world_open(&w, &legacy);
		world_greet(&w, i ? "2025-03-26" : "2025-06-18");
		world_skip(&w);
		world_call(&w, &d, KILLICK_CALL, "t", NULL);
		world_say(&w, "[{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"},{\"jsonrpc\":"
			      "\"2.0\",\"id\":2,\"result\":{}}]");
		EQ(d.count, i ? 2 : 0);
		EQ(w.warnings, !i);
		world_close(&w);
		EQ(d.count, i + 1);
	}
}

TEST(notifications_are_delivered)
{
	struct world w;

	world_open(&w, &legacy);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
	EQ(w.note_count, 0); /* too early to mean anything */
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		      "message\",\"params\":{\"level\":\"info\",\"data\":\"hi\"}}");
	EQ(w.note_count, 1);
	world_greet(&w, "2025-11-25");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/"
		      "list_changed\",\"params\":{}}");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/prompts/list_changed\"}");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unheard_of\"}");
	EQ(w.note_count, 4);
	EQ(w.notes[0].note, KILLICK_EVENT_LOG);
	STREQ(w.notes[0].text, "{\"level\":\"info\",\"data\":\"hi\"}");
	EQ(w.notes[1].note, KILLICK_EVENT_TOOLS);
	EQ(w.notes[2].note, KILLICK_EVENT_RESOURCES);
	EQ(w.notes[3].note, KILLICK_EVENT_PROMPTS);
	OK(!w.notes[3].owner);
	EQ(w.warnings, 0);
	world_close(&w);
}

/* --- what a server should not do --- */

TEST(warnings_of_a_kind_become_rare)
{
	struct world w;

	world_open_legacy(&w, &legacy);
	for (int i = 0; i < 100000; i++)
		world_say(&w, "%s", "Hello!\x1b[31m\xff");
	EQ(w.warnings, 3 + 5);
	OK(strstr(w.warning, "Hello!?[31m? (100000 times by now)"));
	world_close(&w);
}

TEST(a_server_that_answers_twice_or_does_not_read_is_warned_of)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;

	world_open_legacy(&w, &legacy);
	world_call(&w, &d, KILLICK_PING, NULL, NULL);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
	EQ(w.warnings, 0);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
	STREQ(w.warning, "the server answered request 2 again");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}");
	STREQ(w.warning, "the server answered a request that was never made: id \"x\"");
	w.link.error = -ENOBUFS;
	w.warnings = 0;
	for (int i = 0; i < 50; i++)
		world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
	EQ(w.warnings, 4); /* 1, 2, 3, 10 */
	STREQ(w.warning,
	      "a request of the server could not be answered: it does not read (10 times by now)");
	world_close(&w);
}
