/* client_forward.c - requests of other clients that are passed on: which bytes change, and how the
 * answers come back. */
#include "base/auto.h"
#include "fake.h"
#include "passed.h"
#include "t.h"

static const struct client_spec legacy = { .era = ERA_LEGACY, .answers = ANSWERS_ALL };
static const struct client_spec modern = { .era = ERA_MODERN, .answers = ANSWERS_ALL };

#define VERSION "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\""
#define INFO    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"c\",\"version\":\"9\"}"
#define CAPS    "\"io.modelcontextprotocol/clientCapabilities\":{\"x\":{}}"
#define OUR_META                                                                                   \
	"\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                              \
	"\"io.modelcontextprotocol/clientInfo\":{\"name\":\"test\",\"version\":\"1\"},"            \
	"\"io.modelcontextprotocol/clientCapabilities\":{\"roots\":{},\"sampling\":{},"            \
	"\"elicitation\":{\"form\":{},\"url\":{}}}"

struct splice_case {
	const char *in, *name, *out;
};

static void check(const struct splice_case *cases, size_t count, const struct client_spec *spec,
		  enum client_era from)
{
	for (size_t i = 0; i < count; i++) {
		AUTO(passed_done) struct passed p;
		struct world w;

		if (spec->era == ERA_LEGACY)
			world_open_legacy(&w, spec);
		else
			world_open_modern(&w, spec);
		pass(&w, &p, NULL, from, cases[i].name, cases[i].in);
		STREQ(world_sent(&w), cases[i].out);
		world_close(&w);
		EQ(p.count, 1);
	}
}

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

TEST(only_id_token_and_name_change)
{
	/* the next id is 2 */
	static const struct splice_case cases[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a/b\"}", NULL,
		  "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"a/b\"}" },
		/* the order of members, spaces, odd numbers, escapes, unknown members */
		{ " { \"params\" : { \"name\" : \"t\" , \"arguments\" : { \"n\" : 1e400 , \"m\": "
		  "-0.0, "
		  "\"s\":\"\\u0041\\/\" } , \"zz\":[ ] } , \"method\" : \"tools/call\" , \"extra\" "
		  ": "
		  "[1 ,2] , \"id\" : \"\\u0031\" , \"jsonrpc\" : \"2.0\" } ",
		  NULL,
		  "{ \"params\" : { \"name\" : \"t\" , \"arguments\" : { \"n\" : 1e400 , \"m\": "
		  "-0.0, "
		  "\"s\":\"\\u0041\\/\" } , \"zz\":[ ] } , \"method\" : \"tools/call\" , \"extra\" "
		  ": "
		  "[1 ,2] , \"id\" : 2 , \"jsonrpc\" : \"2.0\" }" },
		{ "{\"id\":\"a\",\"jsonrpc\":\"2.0\",\"method\":\"tools/"
		  "call\",\"params\":{\"name\":"
		  "\"s__t\",\"_meta\":{\"k\":1,\"progressToken\":\"mine\",\"other/x\":[2]}}}",
		  "\"t\"",
		  "{\"id\":2,\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":{\"name\":"
		  "\"t\",\"_meta\":{\"k\":1,\"progressToken\":2,\"other/x\":[2]}}}" },
		/* a name that is not there is not added */
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{}}", "\"t\"",
		  "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"a\",\"params\":{}}" },
		/* a member "name" inside of the arguments is not the name of the tool */
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"arguments\":{"
		  "\"name\":7,"
		  "\"_meta\":{\"progressToken\":7}},\"n\\u0061me\":\"x\"}}",
		  "\"t\"",
		  "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"a\",\"params\":{\"arguments\":{"
		  "\"name\":7,"
		  "\"_meta\":{\"progressToken\":7}},\"n\\u0061me\":\"t\"}}" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":[1]}", NULL,
		  "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"a\",\"params\":[1]}" },
	};

	check(cases, COUNT(cases), &legacy, ERA_LEGACY);
}

TEST(the_meta_of_a_modern_client_reaches_a_modern_server_untouched)
{
	/* the next id is 3 */
	static const struct splice_case cases[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
		  "call\",\"params\":{\"_meta\":{" CAPS ", " VERSION "," INFO
		  ",\"progressToken\":5,\"io.modelcontextprotocol/logLevel\":\"debug\"},"
		  "\"inputResponses\":{\"a\":{}},\"requestState\":\"s\"}}",
		  NULL,
		  "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/"
		  "call\",\"params\":{\"_meta\":{" CAPS ", " VERSION "," INFO
		  ",\"progressToken\":3,\"io.modelcontextprotocol/logLevel\":\"debug\"},"
		  "\"inputResponses\":{\"a\":{}},\"requestState\":\"s\"}}" },
	};

	check(cases, COUNT(cases), &modern, ERA_MODERN);
}

TEST(a_modern_server_gets_the_meta_that_a_legacy_client_does_not_write)
{
	static const struct splice_case cases[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}", NULL,
		  "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"a\",\"params\":{\"_meta\":{" OUR_META
		  "}}}" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{}}", NULL,
		  "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"a\",\"params\":{\"_meta\":{" OUR_META
		  "}}}" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"name\":\"n\", "
		  "\"q\":1}}",
		  "\"m\"",
		  "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"a\",\"params\":{\"_meta\":{" OUR_META
		  "},\"name\":\"m\", \"q\":1}}" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"_meta\":{\"k\":1,"
		  "\"progressToken\":\"x\",\"l\":2}}}",
		  NULL,
		  "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"a\",\"params\":{\"_meta\":{" OUR_META
		  ",\"k\":1,\"progressToken\":3,\"l\":2}}}" },
		/* the client cannot replace our members */
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"_meta\":{" VERSION
		  ",\"k\":1}}}",
		  NULL,
		  "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"a\",\"params\":{\"_meta\":{" OUR_META
		  ",\"k\":1}}}" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"_meta\":null}}",
		  NULL,
		  "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"a\",\"params\":{\"_meta\":{" OUR_META
		  "}}}" },
	};

	check(cases, COUNT(cases), &modern, ERA_LEGACY);
}

TEST(a_legacy_server_does_not_get_the_meta_of_the_modern_era)
{
	static const struct splice_case cases[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"_meta\":{" VERSION
		  "," INFO "," CAPS ",\"io.modelcontextprotocol/logLevel\":\"info\"},\"x\":1}}",
		  NULL,
		  "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"a\",\"params\":{\"_meta\":{},\"x\":1}"
		  "}" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"_meta\":{\"a\":"
		  "1," VERSION ",\"progressToken\":9," INFO ",\"b\\u0063\":{ }," CAPS "}}}",
		  NULL,
		  "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"a\",\"params\":{\"_meta\":{\"a\":1,"
		  "\"progressToken\":2,\"b\\u0063\":{ }}}}" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}", NULL,
		  "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"a\"}" },
	};

	check(cases, COUNT(cases), &legacy, ERA_MODERN);
}

TEST(requests_before_the_handshake_are_kept_and_written_for_the_era_that_was_found)
{
	AUTO(passed_done) struct passed p;
	struct world w;

	world_open(&w, &modern);
	pass(&w, &p, NULL, ERA_LEGACY, "\"inner\"",
	     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
	     "call\",\"params\":{\"name\":\"outer\"}}");
	world_skip(&w);
	world_discover(&w, 1);
	STREQ(world_sent(&w), "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/"
			      "call\",\"params\":{\"_meta\":{" OUR_META "},\"name\":\"inner\"}}");
	world_close(&w);
}

TEST(members_that_occur_twice_are_refused)
{
	static const char *const lines[] = {
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"i\\u0064\":2}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"method\":\"b\"}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"name\":1,\"name\":2}"
		"}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"_meta\":{},\"_meta\":"
		"{}}}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"taskId\":1,"
		"\"taskId\":1}}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"_meta\":{"
		"\"progressToken\":1,\"progressT\\u006fken\":2}}}",
	};

	for (size_t i = 0; i < COUNT(lines); i++) {
		struct client_forward fw;
		struct message m;
		const char *reason;

		EQ(message_parse(lines[i], strlen(lines[i]), &m, &reason), 0);
		EQ(client_forward_read(&fw, &m), -EINVAL);
	}
}

#define CALL                                                                                       \
	"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"tools/call\",\"params\":{\"name\":\"t\","  \
	"\"_meta\":{\"progressToken\":1}}}"

TEST(answers_come_back_as_they_were_written)
{
	AUTO(passed_done) struct passed p;
	struct world w;

	world_open_legacy(&w, &legacy);
	pass(&w, &p, NULL, ERA_LEGACY, NULL, CALL);
	world_say(&w, "{\"result\" : {\"n\":1E5} ,\"id\":2,\"x\":0,\"jsonrpc\":\"2.0\"}");
	EQ(p.count, 1);
	EQ(p.code, 0);
	STREQ(p.line, "{\"result\" : {\"n\":1E5} ,\"id\":2,\"x\":0,\"jsonrpc\":\"2.0\"}");
	passed_done(&p);
	pass(&w, &p, NULL, ERA_LEGACY, NULL, CALL);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-5,\"message\":\"no\"}}");
	EQ(p.code, KILLICK_ERR_ANSWER);
	STREQ(p.line, "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-5,\"message\":\"no\"}}");
	passed_done(&p);
	/* a result may be any value */
	pass(&w, &p, NULL, ERA_LEGACY, NULL, CALL);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":null}");
	EQ(p.code, 0);
	passed_done(&p);
	pass(&w, &p, NULL, ERA_LEGACY, NULL, CALL);
	fake_pass(1001);
	EQ(p.code, KILLICK_ERR_TIMEOUT);
	OK(!p.line);
	world_close(&w);
}

TEST(progress_is_passed_on_as_written_and_extends_the_deadline)
{
	AUTO(passed_done) struct passed p;
	struct world w;

	world_open_legacy(&w, &legacy);
	pass(&w, &p, NULL, ERA_LEGACY, NULL, CALL);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		      "progress\",\"params\":{\"progressToken\":2,\"progress\":0.50,\"z\":[]}}");
	EQ(p.reports, 1);
	STREQ(p.report, "{\"progressToken\":2,\"progress\":0.50,\"z\":[]}");
	/* another number is no report of this request */
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		      "progress\",\"params\":{\"progressToken\":3,\"progress\":1}}");
	EQ(p.reports, 1);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		      "progress\",\"params\":{\"progressToken\":2,\"progress\":1}}");
	EQ(p.reports, 1); /* none after the answer */
	world_close(&w);
}

#define WANTS                                                                                      \
	"{\"resultType\":\"input_required\",\"requestState\":\"st\\u0061te\",\"inputRequests\":{"  \
	"\"q\":{\"method\":\"elicitation/create\",\"params\":{\"message\":\"m\"}}}}"

TEST(results_that_ask_for_input_become_asks_for_a_legacy_client)
{
	AUTO(passed_done) struct passed p;
	struct world w;

	world_open_modern(&w, &modern);
	pass(&w, &p, &w, ERA_LEGACY, "\"t\"",
	     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
	     "call\",\"params\":{\"name\":\"s__t\","
	     "\"a\":1}}");
	world_skip(&w);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":" WANTS "}");
	EQ(w.ask_count, 1);
	STREQ(w.asks[0].method, "elicitation/create");
	OK(w.asks[0].owner == &w);
	client_answer(w.client, w.asks[0].number, "{\"action\":\"accept\"}", 19);
	STREQ(world_sent(&w),
	      "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\",\"params\":{"
	      "\"inputResponses\":{\"q\":{\"action\":\"accept\"}},\"requestState\":\"st\\u0061te\","
	      "\"_meta\":{" OUR_META "},\"name\":\"t\",\"a\":1}}");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"resultType\":\"complete\"}}");
	EQ(p.count, 1);
	EQ(p.code, 0);
	world_close(&w);
}

TEST(results_that_ask_for_input_are_passed_on_to_a_modern_client)
{
	AUTO(passed_done) struct passed p;
	struct world w;

	world_open_modern(&w, &modern);
	pass(&w, &p, &w, ERA_MODERN, NULL, CALL);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":" WANTS "}");
	EQ(w.ask_count, 0);
	STREQ(p.line, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":" WANTS "}");
	world_close(&w);
}

TEST(a_legacy_client_gets_the_version_of_a_modern_server)
{
	AUTO(passed_done) struct passed p;
	struct world w;

	world_open_modern(&w, &modern);
	pass(&w, &p, NULL, ERA_LEGACY, NULL, CALL);
	world_skip(&w);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32022,\"message\":\"\","
		      "\"data\":{\"supported\":[\"2026-07-28\"]}}}");
	EQ(p.count, 0);
	OK(strstr(world_sent(&w), "\"progressToken\":4"));
	world_close(&w);
	EQ(p.count, 1);
}

TEST(a_cancelled_request_is_cancelled_in_the_server)
{
	AUTO(passed_done) struct passed p, q;
	struct world w;

	world_open_legacy(&w, &legacy);
	pass(&w, &p, &p, ERA_LEGACY, NULL, CALL);
	pass(&w, &q, &q, ERA_LEGACY, NULL, CALL);
	world_skip(&w);
	client_lose(w.client, &p);
	OK(strstr(world_sent(&w), "\"notifications/cancelled\",\"params\":{\"requestId\":2"));
	EQ(p.code, KILLICK_ERR_CANCELLED);
	EQ(q.count, 0);
	world_close(&w);
}

static struct world *leaving;

static void leaves_on_done(struct client_call *call, const struct client_result *r)
{
	passed_on_done(call, r);
	client_forget(leaving->client, &leaving, "left");
}

static struct passed again;

static void calls_on_done(struct client_call *call, const struct client_result *r)
{
	passed_on_done(call, r);
	pass(leaving, &again, &leaving, ERA_LEGACY, NULL, CALL);
}

TEST(a_request_that_waits_stays_open_when_the_connection_is_lost)
{
	AUTO(passed_done) struct passed p, q, r;
	struct world w;

	world_open_legacy(&w, &legacy);
	pass(&w, &p, &p, ERA_LEGACY, NULL, CALL);
	pass(&w, &q, &p, ERA_LEGACY, NULL, CALL);
	pass(&w, &r, &p, ERA_LEGACY, NULL, CALL);
	q.call.waits = true;
	client_lose(w.client, &p);
	EQ(p.count, 1);
	EQ(q.count, 0);
	EQ(r.count, 1);
	client_lose(w.client, &p);
	EQ(q.count, 0);
	client_cancel(&q.call);
	EQ(q.count, 1);
	world_close(&w);
}

TEST(handlers_of_cancelled_requests_may_call_again_or_leave)
{
	AUTO(passed_done) struct passed p, q;
	struct world w;

	leaving = &w;
	world_open_legacy(&w, &legacy);
	pass(&w, &p, &leaving, ERA_LEGACY, NULL, CALL);
	pass(&w, &q, &leaving, ERA_LEGACY, NULL, CALL);
	p.call.on_done = calls_on_done;
	client_lose(w.client, &leaving);
	EQ(p.count + q.count, 2);
	EQ(again.count, 0); /* made by the handler: it stays */
	again.call.on_done = leaves_on_done;
	client_lose(w.client, &leaving);
	EQ(again.count, 1);
	passed_done(&again);
	passed_done(&p);
	passed_done(&q);
	pass(&w, &p, &leaving, ERA_LEGACY, NULL, CALL);
	pass(&w, &q, &leaving, ERA_LEGACY, NULL, CALL);
	p.call.on_done = leaves_on_done;
	client_lose(w.client, &leaving);
	EQ(p.count + q.count, 2);
	world_close(&w);
}

TEST(a_request_that_is_longer_than_the_limit_fails)
{
	struct client_spec small = { .era = ERA_LEGACY, .message_limit = 1000 };
	AUTO(passed_done) struct passed p;
	char line[1100];
	struct world w;

	snprintf(line, sizeof(line),
		 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"x\":\"%0990d\"}}",
		 0);
	world_open_legacy(&w, &small);
	pass(&w, &p, NULL, ERA_LEGACY, NULL, line);
	fake_pass(0);
	EQ(p.code, KILLICK_ERR_PROTOCOL);
	STREQ(world_sent(&w), "");
	world_close(&w);
}
