/* client_input.c - the era without a handshake: results that ask for input, and listening */
#include "t.h"

#include "base/auto.h"
#include "unit/fake.h"

#define NS "io.modelcontextprotocol/"

static const struct client_spec modern = { .era = ERA_MODERN };

/* --- results that ask --- */

#define INPUT(id)                                                                                  \
	"{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"result\":{\"resultType\":\"input_required\","

TEST(input_is_gathered_and_the_request_made_again)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;
	char owner;

	world_open_modern(&w, &(struct client_spec){ .era = ERA_MODERN, .answers = ANSWERS_ALL });
	world_call_of(&w, &d, &owner, KILLICK_CALL, "t");
	world_skip(&w);
	world_say(&w, INPUT(3) "\"inputRequests\":{\"a\":{\"method\":\"elicitation/"
			       "create\",\"params\":{\"m\":1}},"
			       "\"b\\\"\":{\"method\":\"roots/"
			       "list\",\"params\":null}},\"requestState\":\"s\\n1\"}}");
	EQ(w.ask_count, 2);
	STREQ(w.asks[0].method, "elicitation/create");
	STREQ(w.asks[0].params, "{\"m\":1}");
	STREQ(w.asks[1].method, "roots/list");
	OK(w.asks[0].owner == &owner && w.asks[1].owner == &owner);
	EQ(client_in_flight(w.client, &owner), 1);
	client_answer(w.client, w.asks[1].number, "{\"roots\":\n[]}", 13);
	STREQ(world_sent(&w), "");
	client_decline(w.client, w.asks[0].number, "no");
	OK(strstr(world_sent(&w),
		  "\"id\":4,\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"arguments\":{},"
		  "\"inputResponses\":{\"a\":{\"action\":\"decline\"},\"b\\\"\":{\"roots\": []}},"
		  "\"requestState\":\"s\\n1\",\"_meta\":{"));
	world_say(&w, INPUT(4) "\"requestState\":\"s2\"}}"); /* a state alone */
	OK(strstr(world_sent(&w), "\"id\":5,"));
	OK(strstr(w.line, "\"requestState\":\"s2\"") && !strstr(w.line, "inputResponses"));
	world_say(&w, INPUT(5) "\"inputRequests\":{\"c\":{\"method\":\"sampling/"
			       "createMessage\"}}}}"); /* no state */
	client_answer(w.client, w.asks[2].number, "{\"role\":\"assistant\"}", 20);
	OK(strstr(world_sent(&w), "\"inputResponses\":{\"c\":{\"role\":\"assistant\"}}"));
	OK(!strstr(w.line, "requestState"));
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":6,\"result\":{\"resultType\":\"complete\","
		      "\"content\":[]}}");
	EQ(d.count, 1);
	EQ(d.code, KILLICK_OK);
	EQ(w.warnings, 0);
	world_close(&w);
}

TEST(input_may_be_given_at_once)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;

	world_open_modern(&w, &(struct client_spec){ .era = ERA_MODERN, .answers = ANSWERS_ALL });
	w.answer = "{\"roots\":[]}";
	world_call(&w, &d, KILLICK_READ, "u", NULL);
	world_skip(&w);
	world_say(&w, INPUT(3) "\"inputRequests\":{\"a\":{\"method\":\"roots/"
			       "list\"},\"b\":{\"method\":\"roots/list\"}}}}");
	OK(strstr(world_sent(&w),
		  "\"uri\":\"u\",\"inputResponses\":{\"a\":{\"roots\":[]},\"b\":{\"roots\":[]}}"));
	STREQ(world_sent(&w), "");
	world_close(&w);
}

TEST(rounds_are_bounded)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;
	unsigned id = 3;

	world_open_modern(&w, &modern);
	for (world_call(&w, &d, KILLICK_PROMPT, "p", NULL); d.count == 0 && id < 100; id++)
		world_say(&w,
			  "{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":{\"resultType\":\"input_"
			  "required\",\"requestState\":\"%u\"}}",
			  id, id);
	EQ(d.code, KILLICK_ERR_PROTOCOL);
	EQ(id, 3 + 17); /* the first, and 16 more */
	world_close(&w);
}

TEST(input_that_cannot_be_asked_for)
{
	static const char *const wants[] = {
		"\"x\":1",
		"\"inputRequests\":[]",
		"\"inputRequests\":{\"a\":1}",
		"\"inputRequests\":{\"a\":{}}",
		"\"inputRequests\":{\"a\":{\"method\":\"tools/call\"}}",
		"\"inputRequests\":{\"a\":{\"method\":\"roots/list\"},\"b\":{\"method\":\"sampling/"
		"createMessage\"}}",
		"\"requestState\":7",
		"\"inputRequests\":{\"a\":{\"method\":\"roots/list\",\"params\":[\"x\"]}}",
		"\"inputRequests\":{\"a\":{\"method\":\"roots/list\",\"params\":7}}",
	};
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;

	world_open_modern(&w, &(struct client_spec){ .era = ERA_MODERN, .answers = 4 });
	for (unsigned i = 0; i < sizeof(wants) / sizeof(wants[0]); i++) {
		world_call(&w, &d, KILLICK_CALL, "t", NULL);
		world_skip(&w);
		world_say(&w,
			  "{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":{\"resultType\":\"input_"
			  "required\",%s}}",
			  i + 3, wants[i]);
		EQ(d.count, i + 1);
		EQ(d.code, KILLICK_ERR_PROTOCOL);
		STREQ(world_sent(&w), "");
	}
	EQ(w.ask_count, 0); /* nobody is asked in vain */
	world_close(&w);
}

TEST(questions_are_bounded)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	AUTO(buf_done) struct buf b = BUF_INIT(1 << 20);
	struct world w;

	world_open_modern(&w, &(struct client_spec){ .era = ERA_MODERN, .answers = ANSWERS_ALL });
	world_call(&w, &d, KILLICK_CALL, "t", NULL);
	for (int i = 0; i < 65; i++)
		buf_addf(&b, "%s\"%d\":{\"method\":\"roots/list\"}", i ? "," : "", i);
	world_say(&w, INPUT(3) "\"inputRequests\":{%s}}}", b.data);
	EQ(d.code, KILLICK_ERR_PROTOCOL);
	EQ(w.ask_count, 0);
	*strrchr(b.data, ',') = '\0'; /* 64 may be, of four calls */
	for (unsigned id = 4; id < 9; id++) {
		world_call(&w, &d, KILLICK_CALL, "t", NULL);
		world_say(&w,
			  "{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":{\"resultType\":\"input_"
			  "required\","
			  "\"inputRequests\":{%s}}}",
			  id, b.data);
	}
	EQ(w.ask_count, 256);
	fake_pass(0);
	EQ(d.count, 2);
	OK(strstr(d.text, "too much"));
	world_close(&w);
	EQ(d.count, 6);
}

TEST(declining_an_input_request_may_end_the_call)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;

	world_open_modern(&w, &(struct client_spec){ .era = ERA_MODERN, .answers = ANSWERS_ALL });
	world_call(&w, &d, KILLICK_CALL, "t", NULL);
	world_say(&w, INPUT(3) "\"inputRequests\":{\"a\":{\"method\":\"roots/"
			       "list\"},\"b\":{\"method\":\"sampling/createMessage\"}}}}");
	world_skip(&w);
	client_decline(w.client, w.asks[1].number, "too dear");
	EQ(d.count, 0);
	client_answer(w.client, w.asks[0].number, "{\"roots\":[]}", 12);
	fake_pass(0);
	EQ(d.code, KILLICK_ERR_CANCELLED);
	OK(strstr(d.text, "too dear") && strstr(d.text, "sampling"));
	w.refuse_asks = true; /* at once, the second is not even asked */
	world_call(&w, &d, KILLICK_CALL, "t", NULL);
	world_skip(&w);
	world_say(&w, INPUT(4) "\"inputRequests\":{\"a\":{\"method\":\"roots/"
			       "list\"},\"b\":{\"method\":\"roots/list\"}}}}");
	EQ(w.ask_count, 3);
	fake_pass(0);
	EQ(d.code, KILLICK_ERR_CANCELLED);
	EQ(d.count, 2);
	STREQ(world_sent(&w), "");
	world_close(&w);
}

TEST(a_call_may_end_while_it_asks)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct client_call *call;
	struct world w;

	world_open_modern(&w, &(struct client_spec){ .era = ERA_MODERN, .answers = ANSWERS_ALL });
	call = world_call(&w, &d, KILLICK_CALL, "t", NULL);
	w.cancel_on_ask = call; /* from inside */
	world_say(&w, INPUT(3) "\"inputRequests\":{\"a\":{\"method\":\"roots/"
			       "list\"},\"b\":{\"method\":\"roots/list\"}}}}");
	EQ(d.code, KILLICK_ERR_CANCELLED);
	EQ(w.ask_count, 1);
	world_call(&w, &d, KILLICK_CALL, "t", NULL);
	world_say(&w, INPUT(4) "\"inputRequests\":{\"a\":{\"method\":\"roots/list\"}}}}");
	world_skip(&w);
	fake_pass(1000);
	EQ(d.code, KILLICK_ERR_TIMEOUT);
	EQ(d.count, 2);
	client_answer(w.client, w.asks[1].number, "{}", 2);
	STREQ(world_sent(&w), ""); /* nothing was on the wire */
	call = world_call(&w, &d, KILLICK_CALL, "t", NULL);
	world_say(&w, INPUT(5) "\"inputRequests\":{\"a\":{\"method\":\"roots/list\"}}}}");
	client_cancel(call);
	EQ(d.count, 3);
	world_call(&w, &d, KILLICK_CALL, "t", NULL);
	world_say(&w, INPUT(6) "\"inputRequests\":{\"a\":{\"method\":\"roots/list\"}}}}");
	w.link.error = -ENOBUFS; /* and when the retry cannot be sent */
	client_answer(w.client, w.asks[3].number, "{}", 2);
	fake_pass(0);
	EQ(d.code, KILLICK_ERR_BUSY);
	world_close(&w);
}

/* --- listening --- */

TEST(subscriptions_change_the_stream)
{
	AUTO(done_drop) struct done a = { .count = 0 };
	AUTO(done_drop) struct done b = { .count = 0 };
	struct world w;

	world_open_modern(&w, &modern);
	world_call(&w, &a, KILLICK_SUBSCRIBE, "file:///a", NULL);
	world_call(&w, &b, KILLICK_SUBSCRIBE, "file:///\"b", NULL);
	STREQ(world_sent(&w), "");
	fake_pass(0); /* one stream for both */
	OK(strstr(world_sent(&w),
		  "\"id\":3,\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":{"
		  "\"toolsListChanged\":true,\"resourcesListChanged\":true,"
		  "\"resourceSubscriptions\":[\"file:///a\",\"file:///\\\"b\"]},\"_meta\":{"));
	STREQ(world_sent(&w), "");
	world_acknowledge(&w, 3, "{\"resourceSubscriptions\":[\"file:///a\"]}");
	STREQ(world_sent(&w),
	      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
	      "\"requestId\":2,\"reason\":\"there is a newer one\"}}");
	EQ(a.code, KILLICK_OK);
	STREQ(a.json, "{}");
	EQ(b.code, KILLICK_ERR_PROTOCOL);
	fake_pass(0); /* without the one that was not accepted */
	OK(strstr(world_sent(&w), "\"id\":4,"));
	OK(!strstr(w.line, "\\\"b"));
	world_acknowledge(&w, 4, "{}");
	OK(strstr(world_sent(&w), "\"requestId\":3"));
	world_say(&w,
		  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{"
		  "\"uri\":\"file:///a\",\"_meta\":{\"" NS "subscriptionId\":4}}}");
	EQ(w.note_count, 1);
	EQ(w.notes[0].note, KILLICK_EVENT_UPDATED);
	world_say(&w,
		  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{"
		  "\"uri\":\"file:///a\",\"_meta\":{\"" NS "subscriptionId\":3}}}");
	EQ(w.note_count, 1); /* the same, on the stream that was left */
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"resultType\":\"complete\"}}");
	EQ(w.warnings, 0);
	world_call(&w, &a, KILLICK_UNSUBSCRIBE, "file:///a", NULL);
	fake_pass(0);
	EQ(a.count, 2);
	EQ(a.code, KILLICK_OK);
	OK(strstr(world_sent(&w), "\"id\":5,"));
	OK(!strstr(w.line, "resourceSubscriptions"));
	world_close(&w);
}

TEST(a_stream_that_the_server_ends_is_opened_again)
{
	struct world w;

	world_open_modern(&w, &modern);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"resultType\":\"complete\"}}");
	STREQ(world_sent(&w), "");
	fake_pass(1000);
	OK(strstr(world_sent(&w), "\"id\":3,\"method\":\"subscriptions/listen\""));
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		      "cancelled\",\"params\":{\"requestId\":3}}");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}"); /* both are sent by some */
	fake_pass(1000);
	STREQ(world_sent(&w), "");
	fake_pass(1000); /* less eagerly */
	OK(strstr(world_sent(&w), "\"id\":4,\"method\":\"subscriptions/listen\""));
	EQ(w.warnings, 0);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":{\"code\":-32601,\"message\":"
		      "\"never heard of it\"}}");
	EQ(w.warnings, 1);
	fake_pass(1000000);
	STREQ(world_sent(&w), ""); /* that was clear */
	w.link.error = -ENOBUFS;
	world_close(&w);
}

TEST(a_stream_whose_end_cannot_be_read_has_ended)
{
	struct world w;

	world_open_modern(&w, &modern);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":oops}");
	fake_pass(1000);
	OK(strstr(world_sent(&w), "\"id\":3,\"method\":\"subscriptions/listen\""));
	fake_pass(61000); /* it was there for long: eagerly again */
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}");
	fake_pass(1000);
	OK(strstr(world_sent(&w), "\"id\":4,\"method\":\"subscriptions/listen\""));
	world_close(&w);
}

TEST(a_stream_that_is_refused_refuses_its_subscriptions)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;

	world_open_modern(&w, &modern);
	world_call(&w, &d, KILLICK_SUBSCRIBE, "u", NULL);
	fake_pass(0);
	world_skip(&w);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32602,\"message\":\"no "
		      "such\"}}");
	EQ(d.code, KILLICK_ERR_ANSWER);
	OK(strstr(d.json, "no such"));
	fake_pass(0); /* and the rest is listened to again */
	OK(strstr(world_sent(&w), "\"id\":4,\"method\":\"subscriptions/listen\""));
	OK(!strstr(w.line, "\"u\""));
	world_close(&w);
}

TEST(a_server_that_never_acknowledges)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;
	unsigned opened = 0, left = 0;

	world_open_modern(&w, &modern);
	for (int i = 0; i < 50; i++) {
		char uri[16];

		snprintf(uri, sizeof(uri), "u%d", i);
		world_call(&w, &d, KILLICK_SUBSCRIBE, uri, NULL);
		fake_pass(1);
	}
	EQ(d.count, 0);
	fake_pass(1000);
	EQ(d.count, 50);
	EQ(d.code, KILLICK_ERR_TIMEOUT);
	while (world_sent(&w)[0]) {
		opened += strstr(w.line, "subscriptions/listen") != NULL;
		left += strstr(w.line, "notifications/cancelled") != NULL;
	}
	OK(opened >= 50 && opened - left <= 4);
	world_acknowledge(&w, 3, "{}"); /* long ago */
	EQ(w.warnings, 1);
	world_close(&w);
}

TEST(no_stream_is_opened_without_subscriptions)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;

	world_open_modern_with(&w, &modern, "{\"resources\":{\"subscribe\":true}}");
	world_skip(&w);
	fake_pass(100000);
	STREQ(world_sent(&w), "");
	world_call(&w, &d, KILLICK_SUBSCRIBE, "u", NULL);
	fake_pass(0);
	OK(strstr(world_sent(&w), "\"notifications\":{\"resourceSubscriptions\":[\"u\"]}"));
	world_acknowledge(&w, 2, "null");
	EQ(d.code, KILLICK_OK);
	world_call(&w, &d, KILLICK_UNSUBSCRIBE, "u", NULL);
	fake_pass(0);
	OK(strstr(world_sent(&w), "\"requestId\":2"));
	STREQ(world_sent(&w), "");
	world_close(&w);
}
