/* face_input.c - requests to the client: as requests (legacy), as results that ask for input
 * (modern) */
#include "unit/face_check.h"
#include "mcp/face_internal.h"

#define FORM   "{\"mode\":\"form\",\"message\":\"m\\u0061\",\"n\":1.50}"
#define ALL    "{\"elicitation\":{\"url\":{}},\"sampling\":{},\"roots\":{}}"
#define ELICIT "elicitation/create"

static uint64_t ask(struct face_request *rq, const char *method, const char *params)
{
	return face_ask(w.face, rq, method, params ? world_json(params) : JSON_NONE,
			world_on_answer, &w);
}

/* --- legacy --- */

TEST(a_legacy_client_is_asked_with_a_request)
{
	world_open_legacy(&w, "2025-11-25", ALL);
	world_say(&w, REQUEST("1", "tools/call", "\"name\":\"x\""));
	EQ(ask(world_request(&w, 0), ELICIT, FORM), 1);
	STREQ(world_got(&w),
	      REQUEST("1", ELICIT, "\"mode\":\"form\",\"message\":\"m\\u0061\",\"n\":1.50"));
	EQ(ask(NULL, "roots/list", NULL), 2);
	STREQ(world_got(&w), REQUEST("2", "roots/list", ""));
	EQ(ask(NULL, "sampling/createMessage", "{\"a\":1}"), 3);
	STREQ(world_got(&w), REQUEST("3", "sampling/createMessage", "\"a\":1"));
	world_say(&w, RESULT("2", "{\"roots\":[ ]}"));
	world_say(&w,
		  "{\"jsonrpc\":\"2.0\",\"id\":\"3\",\"error\":{\"code\":-1,\"message\":\"no\"}}");
	world_say(&w, RESULT("1", "{\"action\":\"accept\"}"));
	STREQ(w.answers, "2 {\"roots\":[ ]}|\n3 |{\"code\":-1,\"message\":\"no\"}\n"
			 "1 {\"action\":\"accept\"}|\n");
	world_say(&w, RESULT("1", "{}")); /* twice, and never asked */
	world_say(&w, RESULT("99", "{}"));
	world_say(&w, RESULT("\"x\"", "{}"));
	STREQ(world_got(&w), "");
	world_close(&w);
}

TEST(a_client_is_asked_only_for_what_it_declared)
{
	world_open_legacy(&w, "2025-11-25", "{\"elicitation\":{},\"roots\":{}}");
	world_say(&w, REQUEST("1", "tools/call", "\"name\":\"x\""));
	EQ(ask(world_request(&w, 0), "sampling/createMessage", "{}"), 0);
	EQ(ask(world_request(&w, 0), ELICIT, "{\"mode\":\"url\"}"), 0);
	EQ(ask(world_request(&w, 0), "x/y", "{}"), 0);
	EQ(ask(world_request(&w, 0), ELICIT, "{}"), 1);
	world_skip(&w);
	world_close(&w);
	STREQ(w.answers, "1 |\n"); /* the client is gone */

	world_open_modern(&w);
	world_say(&w, REQUEST("1", "tools/call", "\"name\":\"x\"," MODERN));
	world_say(&w, REQUEST("2", "tools/list", MODERN_WITH(ALL)));
	world_say(&w, REQUEST("3", "tools/call",
			      "\"name\":\"x\"," MODERN_WITH("{\"elicitation\":{}}")));
	EQ(ask(world_request(&w, 0), ELICIT, FORM), 0);
	EQ(ask(world_request(&w, 1), ELICIT, FORM), 0); /* a list cannot ask for input */
	EQ(ask(world_request(&w, 2), ELICIT, "{\"mode\":\"url\"}"), 0);
	EQ(ask(NULL, ELICIT, FORM), 0);
	STREQ(world_got(&w), "");
	world_close(&w);
}

TEST(an_ask_that_is_withdrawn_is_cancelled)
{
	world_open_legacy(&w, "2025-11-25", ALL);
	world_say(&w, REQUEST("1", "tools/call", "\"name\":\"x\""));
	EQ(ask(world_request(&w, 0), ELICIT, FORM), 1);
	world_skip(&w);
	face_ask_drop(w.face, 1);
	STREQ(world_got(&w), CANCEL("1"));
	face_ask_drop(w.face, 1);
	world_say(&w, RESULT("1", "{}")); /* crossed the cancellation */
	STREQ(w.answers, "");
	/* the client cancels the request that the ask belongs to */
	EQ(ask(world_request(&w, 0), ELICIT, FORM), 2);
	world_skip(&w);
	world_say(&w, CANCEL("1"));
	STREQ(w.answers, "2 |\n");
	EQ(w.cancelled, 1);
	STREQ(world_got(&w), CANCEL("2"));
	world_close(&w);
}

TEST(a_legacy_ask_survives_the_answer_to_its_request)
{
	world_open_legacy(&w, "2025-11-25", ALL);
	world_say(&w, REQUEST("1", "tools/call", "\"name\":\"x\""));
	EQ(ask(world_request(&w, 0), ELICIT, FORM), 1);
	face_answer_result(world_take(&w, 0), world_json("{}"));
	world_skip(&w);
	world_say(&w, RESULT("1", "{\"action\":\"decline\"}"));
	STREQ(w.answers, "1 {\"action\":\"decline\"}|\n");
	world_close(&w);
}

/* --- modern --- */

#define CALL        "\"name\":\"x\",\"arguments\":{\"a\":[1.0]}"
#define ASKING      MODERN_WITH(ALL)
#define CALL_ASKING CALL "," ASKING

static char state[200]; /* as written, with its quotes */

/* The face asks for input in the answer to this id: these requests. Stores the state. */
static void check_input(const char *id, const char *requests)
{
	const char *line = world_got(&w), *at;
	char head[600];

	snprintf(head, sizeof(head),
		 "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"resultType\":\"input_required\","
		 "\"inputRequests\":%s,\"requestState\":",
		 id, requests);
	if (strncmp(line, head, strlen(head)) != 0)
		FAIL("expected %s..., got %s", head, line);
	at = line + strlen(head);
	snprintf(state, sizeof(state), "%.*s", (int)strcspn(at, ","), at);
	STREQ(at + strlen(state), "," INFO_META "}}");
}

#define ENTRY(key, method, params) "\"" key "\":{\"method\":\"" method "\",\"params\":" params "}"
#define ONE                        "{" ENTRY("ask-1", ELICIT, FORM) "}"

static void open_asking(void)
{
	world_open_modern(&w);
	world_say(&w, REQUEST("1", "tools/call", CALL_ASKING));
}

static void retry(const char *id, const char *params, const char *responses)
{
	world_say(&w, REQUEST("%s", "tools/call", "\"requestState\":%s,%s,\"inputResponses\":%s"),
		  id, state, params, responses);
}

TEST(a_modern_client_answers_by_sending_the_request_again)
{
	open_asking();
	EQ(ask(world_request(&w, 0), ELICIT, FORM), 1);
	check_input("1", ONE);
	EQ(w.cancelled, 0);
	/* progress, logs and answers wait for the retry */
	face_progress(world_request(&w, 0), world_json("{\"progressToken\":1,\"progress\":1}"));
	face_note(w.face, world_request(&w, 0), KILLICK_EVENT_LOG,
		  world_json("{\"level\":\"error\"}"));
	STREQ(world_got(&w), "");
	world_say(&w, CANCEL("1")); /* that request is over */
	EQ(w.cancelled, 0);
	/* other _meta and another order of the members */
	world_say(&w,
		  REQUEST("\"two\"", "tools/call",
			  "\"inputResponses\":{\"ask-1\":{\"action\":\"accept\"},\"other\":7},"
			  "\"arguments\":{\"a\":[1.0]},\"requestState\":%s,\"name\":\"x\",\"_"
			  "meta\":{\"" NS "protocolVersion\":\"2026-07-28\",\"" NS
			  "clientCapabilities\":{},"
			  "\"progressToken\":\"p\",\"" NS "logLevel\":\"info\"}"),
		  state);
	STREQ(w.answers, "1 {\"action\":\"accept\"}|\n");
	EQ(w.count, 1);
	STREQ(world_got(&w), "");
	face_progress(world_request(&w, 0), world_json("{\"progressToken\":1,\"progress\":1}"));
	STREQ(world_got(&w), NOTE("progress", "{\"progressToken\":\"p\",\"progress\":1}"));
	face_note(w.face, world_request(&w, 0), KILLICK_EVENT_LOG,
		  world_json("{\"level\":\"error\"}"));
	STREQ(world_got(&w), NOTE("message", "{\"level\":\"error\"}"));
	face_answer_result(world_take(&w, 0), world_json("{\"content\":[]}"));
	STREQ(world_got(&w),
	      RESULT("\"two\"", "{\"resultType\":\"complete\"," INFO_META ",\"content\":[]}"));
	world_close(&w);
}

TEST(asks_of_one_turn_are_shown_together)
{
	open_asking();
	EQ(ask(world_request(&w, 0), ELICIT, FORM), 1);
	EQ(ask(world_request(&w, 0), "roots/list", NULL), 2);
	EQ(ask(world_request(&w, 0), "sampling/createMessage", "{\"a\":\n1}"), 3);
	check_input(
		"1",
		"{" ENTRY("ask-1", ELICIT, FORM) ",\"ask-2\":{\"method\":\"roots/list\"}," ENTRY(
			"ask-3", "sampling/createMessage", "{\"a\": 1}") "}");
	face_ask_drop(w.face, 2);
	/* two of three: the missing one is asked again; one that was dropped is ignored */
	retry("2", CALL_ASKING, "{\"ask-3\":{\"x\":3},\"ask-2\":{}}");
	check_input("2", ONE);
	STREQ(w.answers, "3 {\"x\":3}|\n");
	retry("3", CALL_ASKING, "{\"ask-1\":7}"); /* no object */
	check_input("3", ONE);
	retry("4", CALL_ASKING, "[]");
	check_input("4", ONE);
	retry("5", CALL_ASKING, "{\"ask-1\":{\"x\":1}}");
	STREQ(w.answers, "3 {\"x\":3}|\n1 {\"x\":1}|\n");
	face_answer_fail(world_take(&w, 0), -32603, "x");
	check_error("5", -32603);
	EQ(w.count, 1);
	world_close(&w);
}

TEST(an_ask_that_comes_while_the_request_is_parked_is_shown_with_the_retry)
{
	open_asking();
	EQ(ask(world_request(&w, 0), ELICIT, FORM), 1);
	check_input("1", ONE);
	EQ(ask(world_request(&w, 0), "roots/list", "{}"), 2);
	STREQ(world_got(&w), "");
	retry("2", CALL_ASKING, "{\"ask-1\":{\"x\":1},\"ask-2\":{\"x\":2}}"); /* 2 was not shown */
	check_input("2", "{" ENTRY("ask-2", "roots/list", "{}") "}");
	STREQ(w.answers, "1 {\"x\":1}|\n");
	retry("3", CALL_ASKING, "{\"ask-2\":{\"x\":2}}");
	STREQ(w.answers, "1 {\"x\":1}|\n2 {\"x\":2}|\n");
	/* and once more, after all were answered */
	EQ(ask(world_request(&w, 0), ELICIT, FORM), 3);
	check_input("3", "{" ENTRY("ask-3", ELICIT, FORM) "}");
	world_close(&w);
	STREQ(w.answers, "1 {\"x\":1}|\n2 {\"x\":2}|\n3 |\n");
	EQ(w.cancelled, 1);
}

TEST(a_retry_that_does_not_belong_to_the_request_is_refused)
{
	static const char answer[] = "{\"ask-1\":{}}";
	char good[200];

	open_asking();
	EQ(ask(world_request(&w, 0), ELICIT, FORM), 1);
	check_input("1", ONE);
	snprintf(good, sizeof(good), "%s", state);
	retry("2", "\"name\":\"y\",\"arguments\":{\"a\":[1.0]}," ASKING, answer);
	check_error("2", -32602);
	retry("2", "\"name\":\"x\",\"arguments\":{\"a\":[1]}," ASKING, answer);
	check_error("2", -32602);
	retry("2", "\"name\":\"x\"," ASKING, answer);
	check_error("2", -32602);
	retry("2", CALL ",\"more\":1," ASKING, answer);
	check_error("2", -32602);
	/* another method with the same params */
	world_say(&w, REQUEST("2", "prompts/get", "\"requestState\":%s," CALL_ASKING), state);
	check_error("2", -32602);
	for (size_t i = strlen("\"killick-input."); i < strlen(good) - 1; i++) {
		state[i] = state[i] == '7' ? '8' : '7';
		retry("2", CALL_ASKING, answer);
		check_error("2", -32602);
		state[i] = good[i];
	}
	state[strlen(state) - 2] = '"'; /* cut */
	state[strlen(state) - 1] = '\0';
	retry("2", CALL_ASKING, answer);
	check_error("2", -32602);
	STREQ(w.answers, "");
	EQ(w.count, 1);
	snprintf(state, sizeof(state), "%s", good);
	retry("2", CALL_ASKING, answer);
	STREQ(w.answers, "1 {}|\n");
	retry("3", CALL_ASKING, answer); /* used */
	check_error("3", -32602);
	/* the state of the first round in the second */
	EQ(ask(world_request(&w, 0), ELICIT, FORM), 2);
	check_input("2", "{" ENTRY("ask-2", ELICIT, FORM) "}");
	snprintf(state, sizeof(state), "%s", good);
	retry("3", CALL_ASKING, "{\"ask-2\":{}}");
	check_error("3", -32602);
	world_close(&w);
}

TEST(the_state_of_another_connection_is_refused)
{
	static struct world other;

	open_asking();
	EQ(ask(world_request(&w, 0), ELICIT, FORM), 1);
	check_input("1", ONE);
	world_open_modern(&other);
	world_say(&other, REQUEST("1", "tools/call", CALL_ASKING));
	face_ask(other.face, world_request(&other, 0), ELICIT, world_json(FORM), world_on_answer,
		 &other);
	OK(strstr(world_got(&other), "input_required"));
	world_say(&other,
		  REQUEST("2", "tools/call",
			  "\"requestState\":%s," CALL_ASKING ",\"inputResponses\":{\"ask-1\":{}}"),
		  state);
	OK(strstr(world_got(&other), "-32602"));
	STREQ(other.answers, "");
	buf_done(&other.got);
	free(other.line);
	face_close(other.face);
	world_turn();
	close(other.fd);
	face_free(other.face);
	world_close(&w);
}

TEST(a_state_of_a_modern_server_reaches_the_owner)
{
	open_asking();
	snprintf(state, sizeof(state), "\"opaque\"");
	retry("2", CALL_ASKING, "{\"k\":{}}");
	snprintf(state, sizeof(state), "7");
	retry("3", CALL_ASKING, "{\"k\":{}}");
	EQ(w.count, 3);
	world_close(&w);
}

TEST(an_answer_to_a_parked_request_waits_for_the_retry)
{
	static const char *const lines[][2] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"a\":1}}",
		  "{\"jsonrpc\":\"2.0\",\"id\":\"r\",\"result\":{\"resultType\":"
		  "\"complete\"," INFO_META ",\"a\":1}}" },
		{ "{\"result\":{\"a\":1},\"id\":5,\"jsonrpc\":\"2.0\"}",
		  "{\"result\":{\"resultType\":\"complete\"," INFO_META
		  ",\"a\":1},\"id\":\"r\",\"jsonrpc\":\"2.0\"}" },
		{ "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32002,\"message\":\"m\"},\"id\":5}",
		  "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32602,\"message\":\"m\"},\"id\":"
		  "\"r\"}" },
	};

	for (size_t i = 0; i <= sizeof(lines) / sizeof(lines[0]); i++) {
		open_asking();
		EQ(ask(world_request(&w, 0), ELICIT, FORM), 1);
		check_input("1", ONE);
		if (i < sizeof(lines) / sizeof(lines[0]))
			world_answer_line(&w, 0, lines[i][0], ERA_LEGACY);
		else
			face_answer_fail(world_take(&w, 0), -32603, "gone");
		STREQ(w.answers, ""); /* from the loop */
		STREQ(world_got(&w), "");
		STREQ(w.answers, "1 |\n"); /* the ask is over */
		retry("\"r\"", CALL_ASKING, "{\"ask-1\":{}}");
		if (i < sizeof(lines) / sizeof(lines[0]))
			STREQ(world_got(&w), lines[i][1]);
		else
			check_error("\"r\"", -32603);
		STREQ(w.answers, "1 |\n");
		EQ(w.cancelled, 0);
		world_close(&w);
	}
}

TEST(a_stored_answer_is_dropped_after_ten_minutes)
{
	open_asking();
	world_say(&w, REQUEST("2", "tools/call", CALL_ASKING));
	EQ(ask(world_request(&w, 0), ELICIT, FORM), 1);
	EQ(ask(world_request(&w, 1), ELICIT, FORM), 2);
	world_skip(&w);
	face_answer_result(world_take(&w, 0), world_json("{}"));
	world_pass(FACE_PARKED_MS); /* the second one is cancelled */
	EQ(w.cancelled, 1);
	OK(!w.requests[0].cancelled);
	STREQ(world_got(&w), "");
	world_say(&w, REQUEST("1", "tools/call", CALL_ASKING));
	EQ(ask(world_request(&w, 2), ELICIT, FORM), 3);
	world_skip(&w);
	face_answer_result(world_take(&w, 2), world_json("{}"));
	world_close(&w);
	EQ(w.cancelled, 1);
}

TEST(answers_to_parked_requests_have_a_limit)
{
	size_t len = 30u << 20;
	char *result = malloc(len + 20);

	snprintf(result, 20, "{\"t\":\"");
	memset(result + 6, 'x', len);
	snprintf(result + 6 + len, 10, "\"}");
	open_asking();
	world_say(&w, REQUEST("2", "tools/call", CALL_ASKING));
	world_say(&w, REQUEST("3", "tools/call", CALL_ASKING));
	for (unsigned i = 0; i < 3; i++)
		EQ(ask(world_request(&w, i), ELICIT, FORM), i + 1);
	check_input("1", ONE);
	world_got(&w);
	check_input("3", "{" ENTRY("ask-3", ELICIT, FORM) "}");
	for (unsigned i = 0; i < 3; i++)
		face_answer_result(world_take(&w, i), world_json(result));
	retry("4", CALL_ASKING, "{}");
	check_error("4", -32603);
	world_pass(FACE_PARKED_MS);
	world_say(&w, REQUEST("5", "tools/call", CALL_ASKING)); /* there is room again */
	EQ(ask(world_request(&w, 3), ELICIT, FORM), 4);
	check_input("5", "{" ENTRY("ask-4", ELICIT, FORM) "}");
	face_answer_result(world_take(&w, 3), world_json(result));
	retry("6", CALL_ASKING, "{}");
	OK(strlen(world_got(&w)) > len);
	free(result);
	world_close(&w);
}

/* The error in place of an answer counts as well. */
TEST(answers_to_parked_requests_keep_to_the_limit_when_it_is_reached)
{
	open_asking();
	world_say(&w, REQUEST("2", "tools/call", CALL_ASKING));
	for (unsigned i = 0; i < 2; i++)
		EQ(ask(world_request(&w, i), ELICIT, FORM), i + 1);
	check_input("1", ONE);
	check_input("2", "{" ENTRY("ask-2", ELICIT, FORM) "}");
	w.face->stored += FACE_UNSENT_MAX - 10;
	face_answer_result(world_take(&w, 0), world_json("{\"t\":1}"));
	face_answer_result(world_take(&w, 1), world_json("{\"t\":2}"));
	retry("3", CALL_ASKING, "{}");
	check_error("3", -32603);
	w.face->stored -= FACE_UNSENT_MAX - 10;
	world_close(&w);
}

TEST(a_request_that_is_answered_in_the_same_turn_does_not_ask)
{
	open_asking();
	EQ(ask(world_request(&w, 0), ELICIT, FORM), 1);
	face_answer_result(world_take(&w, 0), world_json("{}"));
	STREQ(world_got(&w), RESULT("1", "{\"resultType\":\"complete\"," INFO_META "}"));
	STREQ(world_got(&w), "");
	STREQ(w.answers, "1 |\n");
	world_close(&w);
}

TEST(a_parked_request_is_cancelled_after_ten_minutes)
{
	open_asking();
	world_say(&w, REQUEST("2", "tools/call", CALL_ASKING));
	EQ(ask(world_request(&w, 0), ELICIT, FORM), 1);
	check_input("1", ONE);
	world_pass(5 * 60 * 1000);
	EQ(ask(world_request(&w, 1), ELICIT, FORM), 2);
	world_skip(&w);
	world_pass(5 * 60 * 1000 - 1);
	EQ(w.cancelled, 0);
	world_pass(1);
	EQ(w.cancelled, 1);
	OK(w.requests[0].cancelled);
	STREQ(w.answers, "1 |\n");
	retry("3", CALL_ASKING, "{\"ask-1\":{}}");
	check_error("3", -32602);
	world_pass(5 * 60 * 1000);
	EQ(w.cancelled, 2);
	STREQ(w.answers, "1 |\n2 |\n");
	world_close(&w);
}

TEST(the_retry_is_cancelled_by_its_own_id)
{
	open_asking();
	EQ(ask(world_request(&w, 0), ELICIT, FORM), 1);
	check_input("1", ONE);
	retry("2", CALL_ASKING, "{\"ask-1\":{}}");
	world_say(&w, CANCEL("2"));
	EQ(w.cancelled, 1);
	STREQ(world_got(&w), "");
	world_close(&w);
}

static void answer_first(struct world *unused, uint64_t number)
{
	(void)unused;
	(void)number;
	face_answer_result(world_take(&w, 0), world_json("{}"));
}

TEST(the_owner_may_answer_from_inside_on_answer)
{
	open_asking();
	w.on_answer = answer_first;
	EQ(ask(world_request(&w, 0), ELICIT, FORM), 1);
	check_input("1", ONE);
	retry("2", CALL_ASKING, "{\"ask-1\":{}}");
	STREQ(world_got(&w), RESULT("2", "{\"resultType\":\"complete\"," INFO_META "}"));
	world_close(&w);
}

/* --- subscriptions/listen --- */

#define LISTEN(id, filter)                                                                         \
	REQUEST(id, "subscriptions/listen", "\"notifications\":" filter "," MODERN)
#define SUBSCRIPTION(id) "\"_meta\":{\"" NS "subscriptionId\":" id "}"
#define ACK(id, filter)                                                                            \
	NOTE("subscriptions/acknowledged", "{" SUBSCRIPTION(id) ",\"notifications\":" filter "}")

TEST(a_listen_stream_sends_the_accepted_notifications)
{
	world_open_modern(&w);
	world_say(&w, LISTEN("\"s\"", "{\"toolsListChanged\":true,\"promptsListChanged\":false,"
				      "\"resourceSubscriptions\":[\"a:b\",\"a:c\",7]}"));
	STREQ(world_got(&w),
	      ACK("\"s\"",
		  "{\"toolsListChanged\":true,\"resourceSubscriptions\":[\"a:b\",\"a:c\"]}"));
	STREQ(w.watched, "+a:b +a:c ");
	world_say(&w, LISTEN("2", "{\"promptsListChanged\":true,\"x\":1,\"resourceSubscriptions\":"
				  "[\"a:b\"],\"resourcesListChanged\":true}"));
	STREQ(world_got(&w), ACK("2", "{\"promptsListChanged\":true,\"resourcesListChanged\":true,"
				      "\"resourceSubscriptions\":[\"a:b\"]}"));
	STREQ(w.watched, "+a:b +a:c ");
	face_note(w.face, NULL, KILLICK_EVENT_TOOLS, world_json("{\"_meta\":{\"k\":1}}"));
	STREQ(world_got(&w), NOTE("tools/list_changed", "{" SUBSCRIPTION("\"s\"") "}"));
	face_note(w.face, NULL, KILLICK_EVENT_PROMPTS, JSON_NONE);
	STREQ(world_got(&w), NOTE("prompts/list_changed", "{" SUBSCRIPTION("2") "}"));
	face_note(w.face, NULL, KILLICK_EVENT_RESOURCES, JSON_NONE);
	STREQ(world_got(&w), NOTE("resources/list_changed", "{" SUBSCRIPTION("2") "}"));
	face_note(w.face, NULL, KILLICK_EVENT_UPDATED, world_json("{\"uri\":\"a:c\",\"x\":1}"));
	STREQ(world_got(&w),
	      NOTE("resources/updated", "{" SUBSCRIPTION("\"s\"") ",\"uri\":\"a:c\",\"x\":1}"));
	face_note(w.face, NULL, KILLICK_EVENT_UPDATED, world_json("{\"uri\":\"a:b/part\"}"));
	STREQ(world_got(&w),
	      NOTE("resources/updated", "{" SUBSCRIPTION("\"s\"") ",\"uri\":\"a:b/part\"}"));
	STREQ(world_got(&w),
	      NOTE("resources/updated", "{" SUBSCRIPTION("2") ",\"uri\":\"a:b/part\"}"));
	face_note(w.face, NULL, KILLICK_EVENT_UPDATED, world_json("{\"uri\":\"a:d\"}"));
	face_note(w.face, NULL, KILLICK_EVENT_UPDATED, world_json("{}"));
	STREQ(world_got(&w), "");
	world_say(&w, LISTEN("2", "{}"));
	check_error("2", -32600); /* the id is open */
	/* the end of a stream */
	world_say(&w, CANCEL("\"s\""));
	STREQ(w.watched, "+a:b +a:c -a:c ");
	EQ(w.cancelled, 0); /* the owner never had it */
	face_note(w.face, NULL, KILLICK_EVENT_TOOLS, JSON_NONE);
	STREQ(world_got(&w), "");
	face_close(w.face);
	STREQ(world_got(&w), RESULT("2", "{\"resultType\":\"complete\"," SUBSCRIPTION("2") "}"));
	STREQ(world_got(&w), CANCEL("2"));
	STREQ(w.watched, "+a:b +a:c -a:c -a:b ");
	world_close(&w);
}

TEST(a_stream_is_acknowledged_when_its_resources_are_watched)
{
	world_open_modern(&w);
	w.slow_watches = true;
	world_say(&w, LISTEN("1", "{\"resourceSubscriptions\":[\"a:b\",\"a:c\"]}"));
	STREQ(world_got(&w), "");
	face_watched(w.face, "a:c");
	face_watched(w.face, "a:d"); /* not watched */
	STREQ(world_got(&w), "");
	world_say(&w, LISTEN("2", "{\"resourceSubscriptions\":[\"a:c\"]}"));
	STREQ(world_got(&w), ACK("2", "{\"resourceSubscriptions\":[\"a:c\"]}"));
	face_watched(w.face, "a:b");
	STREQ(world_got(&w), ACK("1", "{\"resourceSubscriptions\":[\"a:b\",\"a:c\"]}"));
	/* a server that does not answer; and a change that comes before the other resource */
	world_say(&w, LISTEN("3", "{\"resourceSubscriptions\":[\"a:e\"]}"));
	fake_pass(FACE_LISTEN_MS - 1);
	STREQ(world_got(&w), "");
	fake_pass(2);
	STREQ(world_got(&w), ACK("3", "{\"resourceSubscriptions\":[\"a:e\"]}"));
	world_say(&w, LISTEN("4", "{\"resourceSubscriptions\":[\"a:f\"]}"));
	face_note(w.face, NULL, KILLICK_EVENT_UPDATED, world_json("{\"uri\":\"a:f\"}"));
	STREQ(world_got(&w), ACK("4", "{\"resourceSubscriptions\":[\"a:f\"]}"));
	STREQ(world_got(&w), NOTE("resources/updated", "{" SUBSCRIPTION("4") ",\"uri\":\"a:f\"}"));
	world_close(&w);
}

TEST(streams_have_a_limit_of_resources)
{
	struct buf all = BUF_INIT(BUF_ANY_SIZE);

	world_open_modern(&w);
	buf_adds(&all, "\"a\"");
	for (int i = 1; i < FACE_WATCHES_MAX; i++)
		buf_adds(&all, ",\"a\"");
	world_say(&w,
		  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{"
		  "\"notifications\":{\"resourceSubscriptions\":[%s]}," MODERN "}}",
		  all.data);
	world_skip(&w);
	world_say(&w, LISTEN("2", "{\"resourceSubscriptions\":[\"b\"]}"));
	check_error("2", -32602);
	world_say(&w, CANCEL("1"));
	world_say(&w, LISTEN("3", "{\"resourceSubscriptions\":[\"b\"]}"));
	STREQ(world_got(&w), ACK("3", "{\"resourceSubscriptions\":[\"b\"]}"));
	buf_done(&all);
	world_close(&w);
}

TEST(a_stream_gets_only_what_is_offered)
{
	world_open(&w);
	w.offer.capabilities = "{\"tools\":{\"listChanged\":true},\"resources\":{},\"prompts\":{"
			       "\"listChanged\":false}}";
	world_say(&w,
		  LISTEN("1", "{\"toolsListChanged\":true,\"promptsListChanged\":true,"
			      "\"resourcesListChanged\":true,\"resourceSubscriptions\":[\"a\"]}"));
	STREQ(world_got(&w), ACK("1", "{\"toolsListChanged\":true}"));
	world_say(&w, LISTEN("2", "{}"));
	STREQ(world_got(&w), ACK("2", "{}"));
	world_say(&w, LISTEN("3", "7"));
	check_error("3", -32602);
	STREQ(w.watched, "");
	world_close(&w);
}
