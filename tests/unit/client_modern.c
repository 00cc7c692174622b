/* client_modern.c - the era without a handshake, and how it is told from the other */
#include "t.h"

#include "base/auto.h"
#include "unit/fake.h"

#define NS "io.modelcontextprotocol/"
#define META_PLAIN                                                                                 \
	"\"_meta\":{\"" NS "protocolVersion\":\"2026-07-28\",\"" NS                                \
	"clientInfo\":{\"name\":\"test\",\"version\":\"1\"},\"" NS "clientCapabilities\":{}}"

static const struct client_spec modern = { .era = ERA_MODERN };
static const struct client_spec automatic = { .era = ERA_AUTO };

/* --- discovery --- */

TEST(discovery_instead_of_a_handshake)
{
	struct client_facts facts;
	struct world w;

	world_open(&w, &modern);
	STREQ(world_sent(&w),
	      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{" META_PLAIN
	      "}}");
	OK(!client_is_probing(w.client));
	world_discover(&w, 1);
	EQ(w.ready, 1);
	OK(!w.failed);
	client_facts(w.client, &facts);
	EQ(facts.era, ERA_MODERN);
	STREQ(facts.protocol, "2026-07-28");
	STREQ(facts.info, "{\"name\":\"m\",\"version\":\"2\"}");
	STREQ(facts.instructions, "Be quick.");
	STREQ(world_sent(&w), "");
	fake_pass(0);
	STREQ(world_sent(&w),
	      "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"subscriptions/listen\",\"params\":{"
	      "\"notifications\":{\"toolsListChanged\":true,\"resourcesListChanged\":true}"
	      "," META_PLAIN "}}");
	world_close(&w);
}

TEST(discovery_that_fails)
{
	static const char *const answers[] = {
		"\"result\":{}",
		"\"result\":null",
		"\"result\":{\"resultType\":\"task\",\"supportedVersions\":[\"2026-07-28\"]}",
		"\"result\":{\"supportedVersions\":[\"2030-01-01\"]}",
		"\"result\":{\"supportedVersions\":[\"2025-11-25\"]}",
		"\"error\":{\"code\":-32601,\"message\":\"what?\"}",
		"\"error\":{\"code\":-32021,\"message\":\"more\"}",
		"\"error\":{\"code\":-32022,\"message\":\"v\",\"data\":{\"supported\":[\"2030-01-"
		"01\"]}}",
		"\"error\":{\"code\":-32022,\"message\":\"v\"}",
		"\"result\":\xff",
	};
	struct world w;

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		world_open(&w, &modern);
		world_sent(&w);
		world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,%s}", answers[i]);
		if (w.ready != 1 || !w.failed || !w.error.text[0])
			FAIL("%s", answers[i]);
		STREQ(world_sent(&w), "");
		world_close(&w);
	}
}

TEST(discovery_is_tried_again_with_a_version_that_both_have)
{
	struct world w;

	world_open(&w, &modern);
	world_sent(&w);
	for (unsigned id = 1; id < 3; id++) {
		world_say(&w,
			  "{\"jsonrpc\":\"2.0\",\"id\":%u,\"error\":{\"code\":-32022,\"message\":"
			  "\"v\",\"data\":{"
			  "\"requested\":\"2026-07-28\",\"supported\":[\"2027-01-01\",\"2026-07-"
			  "28\"]}}}",
			  id);
		OK(strstr(world_sent(&w), "server/discover"));
	}
	EQ(w.ready, 0);
	world_discover(&w, 3);
	OK(w.ready && !w.failed);
	world_close(&w);

	world_open(&w, &modern); /* and not for ever */
	for (unsigned id = 1; id < 10 && !w.ready; id++)
		world_say(&w,
			  "{\"jsonrpc\":\"2.0\",\"id\":%u,\"error\":{\"code\":-32022,\"data\":{"
			  "\"supported\":[\"2026-07-28\"]}}}",
			  id);
	OK(w.failed);
	world_close(&w);
}

/* --- auto --- */

TEST(auto_finds_a_modern_server)
{
	struct world w;

	world_open(&w, &automatic);
	OK(client_is_probing(w.client));
	OK(strstr(world_sent(&w), "server/discover"));
	world_discover(&w, 1);
	OK(w.ready && !w.failed && !client_is_probing(w.client));
	fake_pass(10000);
	EQ(w.ready, 1);
	world_close(&w);
}

TEST(auto_falls_back_to_legacy_when_discovery_is_refused)
{
	static const char *const answers[] = {
		"1,\"error\":{\"code\":-32601,\"message\":\"what?\"}",
		"1,\"error\":{\"code\":-32602,\"message\":\"not initialized\"}",
		"1,\"error\":{\"code\":0}",
		"null,\"error\":{\"code\":-32600,\"message\":\"no id\"}",
		"1,\"result\":{}",
		"1,\"result\":{\"supportedVersions\":7}",
		"1,\"result\":\xff",
		"1",
		"1,\"result\":{\"resultType\":\"complete\",\"supportedVersions\":[\"2025-11-25\"]}",
		"1,\"error\":{\"code\":-32022,\"message\":\"v\",\"data\":{\"supported\":[\"2025-11-"
		"25\"]}}",
	};
	struct client_facts facts;
	struct world w;

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		world_open(&w, &automatic);
		world_sent(&w);
		world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":%s}", answers[i]);
		if (w.ready || client_is_probing(w.client))
			FAIL("%s", answers[i]);
		STREQ(world_sent(&w),
		      "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"initialize\",\"params\":{"
		      "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
		      "\"clientInfo\":{\"name\":\"test\",\"version\":\"1\"}}}");
		world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"protocolVersion\":"
			      "\"2025-06-18\"}}");
		OK(w.ready == 1 && !w.failed);
		OK(strstr(world_sent(&w), "initialized"));
		client_facts(w.client, &facts);
		EQ(facts.era, ERA_LEGACY);
		world_close(&w);
	}
}

TEST(auto_does_not_fall_back_from_a_modern_error)
{
	struct world w;

	world_open(&w, &automatic);
	world_sent(&w);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,\"data\":{"
		      "\"supported\":[\"2031-01-01\"]}}}");
	OK(w.failed && strstr(w.error.text, "2031-01-01"));
	STREQ(world_sent(&w), "");
	world_close(&w);
	world_open(&w, &automatic);
	world_sent(&w);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32021,\"message\":"
		      "\"needs sampling\"}}");
	OK(w.failed && strstr(w.error.text, "needs sampling"));
	world_close(&w);
}

TEST(auto_falls_back_to_legacy_when_the_server_is_silent)
{
	struct world w;

	world_open(&w, &automatic);
	world_sent(&w);
	fake_pass(1999);
	STREQ(world_sent(&w), "");
	fake_pass(1);
	OK(strstr(world_sent(&w), "\"id\":2,\"method\":\"initialize\""));
	STREQ(world_sent(&w),
	      ""); /* the question is not cancelled: who does not know it chokes on that too */
	OK(client_is_probing(w.client));
	world_say(
		&w,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"late\"}}");
	EQ(w.ready, 0);
	OK(!client_is_probing(w.client));
	world_say(&w,
		  "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"protocolVersion\":\"2025-11-25\"}}");
	OK(w.ready == 1 && !w.failed);
	EQ(w.warnings, 0);
	world_close(&w);
}

static enum client_era era_of(const struct world *w)
{
	struct client_facts facts;

	client_facts(w->client, &facts);
	STREQ(facts.protocol, facts.era == ERA_MODERN ? "2026-07-28" : "2025-11-25");
	return facts.era;
}

#define REFUSED                                                                                    \
	"{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32601,\"message\":\"no handshake "     \
	"here\"}}"

TEST(auto_takes_the_late_answer_of_a_modern_server)
{
	struct world w;

	world_open(&w, &automatic);
	fake_pass(2000);
	world_discover(&w, 1);
	EQ(w.ready, 0);
	world_say(&w, REFUSED);
	OK(w.ready == 1 && !w.failed && w.warnings == 0);
	EQ(era_of(&w), ERA_MODERN);
	world_close(&w);

	world_open(&w, &automatic); /* refused by name of what we know already */
	fake_pass(2000);
	world_discover(&w, 1);
	world_skip(&w);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32022,\"message\":\"v\","
		      "\"data\":{\"supported\":[\"2026-07-28\"]}}}");
	OK(w.ready == 1 && !w.failed);
	EQ(era_of(&w), ERA_MODERN);
	STREQ(world_sent(&w), "");
	world_close(&w);

	world_open(&w, &automatic); /* the other way round */
	fake_pass(2000);
	world_say(&w, REFUSED);
	EQ(w.ready, 0);
	world_discover(&w, 1);
	OK(w.ready == 1 && !w.failed);
	EQ(era_of(&w), ERA_MODERN);
	world_close(&w);

	world_open(&w, &automatic); /* no answer to initialize at all */
	fake_pass(2000);
	world_discover(&w, 1);
	fake_pass(1999);
	EQ(w.ready, 0);
	fake_pass(1);
	OK(w.ready == 1 && !w.failed);
	EQ(era_of(&w), ERA_MODERN);
	world_say(&w, REFUSED);
	OK(w.ready == 1 && w.warnings == 0);
	world_close(&w);

	world_open(&w, &automatic); /* both refused */
	fake_pass(2000);
	world_say(&w, REFUSED);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":"
		      "\"neither\"}}");
	OK(w.ready == 1 && w.failed && strstr(w.error.text, "no handshake here"));
	world_close(&w);
}

TEST(auto_stays_legacy_when_initialize_was_answered)
{
	struct client_facts facts;
	struct world w;

	world_open(&w, &automatic); /* a slow server of both eras: it is in the one it was greeted
				       in last */
	fake_pass(2000);
	world_discover(&w, 1);
	world_skip(&w);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"protocolVersion\":\"2025-11-"
		      "25\",\"capabilities\":{}}}");
	OK(w.ready == 1 && !w.failed);
	EQ(era_of(&w), ERA_LEGACY);
	client_facts(w.client, &facts);
	STREQ(facts.capabilities, "{}");
	STREQ(facts.info, "{}");
	OK(strstr(world_sent(&w), "notifications/initialized"));
	fake_pass(100000);
	EQ(w.ready, 1);
	STREQ(world_sent(&w), "");
	world_close(&w);
}

/* --- requests --- */

TEST(every_request_names_the_client)
{
	static const struct {
		enum killick_op op;
		const char *name, *args, *line;
	} cases[] = {
		{ KILLICK_CALL, "t", "{\"a\":1}",
		  "tools/call\",\"params\":{\"name\":\"t\",\"arguments\":{\"a\":1}," META_PLAIN
		  "}}" },
		{ KILLICK_READ, "u", NULL,
		  "resources/read\",\"params\":{\"uri\":\"u\"," META_PLAIN "}}" },
		{ KILLICK_PROMPT, "p", NULL,
		  "prompts/get\",\"params\":{\"name\":\"p\"," META_PLAIN "}}" },
		{ KILLICK_COMPLETE, NULL, "{\"ref\":1}",
		  "completion/complete\",\"params\":{\"ref\":1," META_PLAIN "}}" },
		{ KILLICK_PING, NULL, NULL, "server/discover\",\"params\":{" META_PLAIN "}}" },
		{ KILLICK_TOOLS, NULL, NULL, "tools/list\",\"params\":{" META_PLAIN "}}" },
	};
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;
	char line[500];

	world_open_modern(&w, &modern);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		world_call(&w, &d, cases[i].op, cases[i].name, cases[i].args);
		snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"%s",
			 i + 3, cases[i].line);
		STREQ(world_sent(&w), line);
		world_say(&w,
			  "{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":{\"resultType\":\"complete\","
			  "\"tools\":[]}}",
			  i + 3);
		EQ(d.count, i + 1);
		EQ(d.code, KILLICK_OK);
	}
	world_call(&w, &d, KILLICK_COMPLETE, NULL,
		   "{\"_meta\":{\"mine\":[1],\"progressToken\":7,\"" NS
		   "logLevel\":\"debug\"},\"x\":1}");
	OK(strstr(world_sent(&w), "\"params\":{\"x\":1,\"_meta\":{"));
	OK(strstr(w.line, "\"" NS "clientCapabilities\":{},\"mine\":[1]}}}"));
	OK(!strstr(w.line, "progressToken") && !strstr(w.line, "logLevel"));
	/* an extension is declared for one request; other capabilities are ours */
	world_call(&w, &d, KILLICK_COMPLETE, NULL,
		   "{\"_meta\":{\"" NS
		   "clientCapabilities\":{\"roots\":{},\"extensions\":{\"x/y\":{}}},"
		   "\"" NS "protocolVersion\":\"1\"}}");
	OK(strstr(world_sent(&w), "\"" NS "protocolVersion\":\"2026-07-28\""));
	OK(strstr(w.line, "\"" NS "clientCapabilities\":{\"extensions\":{\"x/y\":{}}}}}}"));
	OK(!strstr(w.line, "roots"));
	world_call(&w, &d, KILLICK_COMPLETE, NULL, "{}");
	OK(strstr(world_sent(&w), "\"" NS "clientCapabilities\":{}}}}"));
	world_close(&w);
}

TEST(log_levels_travel_with_requests)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct client_call like = {
		.op = KILLICK_CALL, .name = "t", .timeout_ms = -1, .on_progress = world_progress
	};
	struct world w;

	world_open_modern(&w, &modern);
	world_call(&w, &d, KILLICK_LOG_LEVEL, "notice", NULL);
	EQ(d.count, 0);
	fake_pass(0);
	EQ(d.code, KILLICK_OK);
	STREQ(d.json, "{}");
	STREQ(world_sent(&w), "");
	world_begin(&w, &d, &like);
	OK(strstr(world_sent(&w), "\"" NS "logLevel\":\"notice\",\"progressToken\":3}"));
	world_call(&w, &d, KILLICK_LOG_LEVEL, "loud", NULL);
	fake_pass(0);
	EQ(d.code, KILLICK_ERR_PROTOCOL);
	world_close(&w);
}

TEST(results_of_unknown_types_are_errors)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;

	world_open_modern(&w, &modern);
	world_call(&w, &d, KILLICK_CALL, "t", NULL);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"resultType\":\"task\"}}");
	EQ(d.code, KILLICK_ERR_PROTOCOL);
	world_call(&w, &d, KILLICK_TOOLS, NULL, NULL);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"resultType\":\"input_required\","
		      "\"requestState\":\"x\"}}");
	EQ(d.code, KILLICK_ERR_PROTOCOL);
	world_call(&w, &d, KILLICK_CALL, "t", NULL); /* none: complete */
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"content\":[]}}");
	EQ(d.code, KILLICK_OK);
	world_call(&w, &d, KILLICK_CALL, "t", NULL);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":6,\"result\":{\"resultType\":7}}");
	EQ(d.code, KILLICK_ERR_PROTOCOL);
	world_close(&w);
}

TEST(a_request_is_tried_again_once_when_its_version_was_refused)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;

	world_open_modern(&w, &modern);
	world_call(&w, &d, KILLICK_CALL, "t", "{\"a\":1}");
	world_skip(&w);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32022,\"message\":\"v\","
		      "\"data\":{\"supported\":[\"2026-07-28\"]}}}");
	OK(strstr(world_sent(&w), "\"id\":4,\"method\":\"tools/"
				  "call\",\"params\":{\"name\":\"t\",\"arguments\":{\"a\":1}"));
	EQ(d.count, 0);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":{\"code\":-32022,\"message\":\"v\","
		      "\"data\":{\"supported\":[\"2026-07-28\"]}}}");
	EQ(d.code, KILLICK_ERR_ANSWER);
	world_call(&w, &d, KILLICK_CALL, "t", NULL);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32022,\"message\":\"v\","
		      "\"data\":{\"supported\":[\"2031-01-01\"]}}}");
	EQ(d.code, KILLICK_ERR_ANSWER);
	EQ(d.count, 2);
	world_close(&w);
}

TEST(a_modern_server_may_ping_and_nothing_else)
{
	struct world w;

	world_open_modern(&w, &(struct client_spec){ .era = ERA_MODERN, .answers = ANSWERS_ALL });
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
	OK(strstr(world_sent(&w), "\"result\":{}"));
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"roots/list\"}");
	OK(strstr(world_sent(&w), "-32601"));
	EQ(w.ask_count, 0);
	world_close(&w);
}
