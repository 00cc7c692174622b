/* face.c - the MCP server on a connection: handshakes, requests, refusals, notifications */
#include "unit/face_check.h"

/* --- handshakes --- */

TEST(initialize_is_answered_with_the_version_that_the_client_asked_for)
{
	static const char *const versions[][2] = {
		{ "2024-11-05", "2024-11-05" }, { "2025-03-26", "2025-03-26" },
		{ "2025-06-18", "2025-06-18" }, { "2025-11-25", "2025-11-25" },
		{ "2026-07-28", "2025-11-25" }, { "1.0", "2025-11-25" },
	};
	char expected[600];

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		world_open(&w);
		EQ(strlen(face_version(w.face)), 0);
		world_initialize(&w, versions[i][0],
				 "{\"sampling\":{},\"roots\":{\"listChanged\":true}}");
		snprintf(expected, sizeof(expected),
			 RESULT("0",
				"{\"protocolVersion\":\"%s\",\"capabilities\":" WORLD_CAPABILITIES
				",\"serverInfo\":" INFO ",\"instructions\":\"Be kind.\"}"),
			 versions[i][1]);
		STREQ(world_got(&w), expected);
		snprintf(expected, sizeof(expected),
			 "legacy %s {\"name\":\"c\",\"version\":\"1\"} d", versions[i][1]);
		STREQ(w.hello, expected);
		EQ(w.hellos, 1);
		STREQ(face_version(w.face), versions[i][1]);
		EQ(face_era(w.face), ERA_LEGACY);
		world_close(&w);
	}
}

TEST(initialize_without_params_is_served)
{
	world_open(&w);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\"}");
	OK(strstr(world_got(&w), "\"protocolVersion\":\"2025-11-25\""));
	STREQ(w.hello, "legacy 2025-11-25  0");
	world_close(&w);
}

TEST(discover_is_answered_without_a_handshake)
{
	world_open(&w);
	world_say(&w, REQUEST("\"d\"", "server/discover",
			      MODERN_WITH("{\"elicitation\":{\"url\":{}}}")));
	STREQ(world_got(&w),
	      RESULT("\"d\"",
		     "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],"
		     "\"capabilities\":{\"tools\":{\"listChanged\":true},\"prompts\":{"
		     "\"listChanged\":true},\"resources\":{\"subscribe\":true,\"listChanged\":true}"
		     ","
		     "\"completions\":{},\"logging\":{}},\"instructions\":\"Be kind.\",\"ttlMs\":0,"
		     "\"cacheScope\":\"private\"," INFO_META "}"));
	STREQ(w.hello, "modern 2026-07-28 {\"name\":\"c\",\"version\":\"1\"} 2");
	EQ(face_era(w.face), ERA_MODERN);
	STREQ(face_version(w.face), "2026-07-28");
	world_close(&w);
}

TEST(requests_wait_for_the_welcome_in_their_order)
{
	static const char more[] = REQUEST("5", "tools/call", "\"name\":\"d\"") "\n";

	world_open(&w);
	w.welcome = false;
	world_initialize(&w, "2025-06-18", "{}");
	world_say(&w, REQUEST("1", "tools/call", "\"name\":\"a\""));
	world_say(&w, REQUEST("2", "ping", ""));
	world_say(&w, REQUEST("3", "tools/call", "\"name\":\"b\""));
	world_say(&w, REQUEST("4", "tools/call", "\"name\":\"c\""));
	world_say(&w, CANCEL("3"));
	world_say(&w, CANCEL("0")); /* initialize is never cancelled */
	EQ(w.count, 0);
	STREQ(world_got(&w), RESULT("2", "{}"));
	STREQ(world_got(&w), "");
	face_welcome(w.face, &w.offer);
	EQ(w.count, 0); /* events come from the loop */
	/* this request is read before the waiting ones are run, and waits, too */
	EQ(write(w.fd, more, sizeof(more) - 1), sizeof(more) - 1);
	OK(strstr(world_got(&w), "\"id\":0,\"result\""));
	EQ(w.count, 3);
	STREQ(w.requests[0].name, "\"a\"");
	STREQ(w.requests[1].name, "\"c\"");
	STREQ(w.requests[2].name, "\"d\"");
	EQ(w.cancelled, 0); /* the owner never had it */
	world_close(&w);
	EQ(w.cancelled, 3);
}

TEST(a_modern_request_waits_for_the_welcome)
{
	world_open(&w);
	w.welcome = false;
	w.keep = true;
	world_say(&w, REQUEST("1", "tools/call", "\"name\":\"a\"," MODERN));
	world_say(&w, REQUEST("2", "server/discover", MODERN));
	EQ(w.hellos, 1);
	STREQ(world_got(&w), "");
	face_welcome(w.face, &w.offer);
	OK(strstr(world_got(&w), "\"id\":2,\"result\""));
	EQ(w.count, 1);
	OK(memcmp(world_request(&w, 0)->m.method.at, "\"tools/call\"", 12) == 0);
	world_close(&w);
}

TEST(a_refused_client_gets_the_error_and_is_closed)
{
	world_open(&w);
	w.welcome = false;
	world_initialize(&w, "2025-06-18", "{}");
	world_say(&w, REQUEST("1", "tools/list", ""));
	face_refuse(w.face, -32000, "no config: /x");
	STREQ(world_got(&w), "{\"jsonrpc\":\"2.0\",\"id\":0,\"error\":{\"code\":-32000,"
			     "\"message\":\"no config: /x\"}}");
	check_error("1", -32000);
	EQ(w.closed, 1);
	EQ(w.count, 0);
	world_close(&w);
}

TEST(one_connection_may_use_both_eras)
{
	world_open_modern(&w);
	world_say(&w, REQUEST("1", "tools/list", ""));
	check_error("1", -32600);
	world_initialize(&w, "2025-06-18", "{}");
	OK(strstr(world_got(&w), "\"protocolVersion\":\"2025-06-18\""));
	EQ(w.hellos, 1);
	EQ(face_era(w.face), ERA_LEGACY);
	STREQ(face_version(w.face), "2025-06-18");
	world_say(&w, REQUEST("1", "tools/list", ""));
	world_say(&w, REQUEST("2", "tools/list", MODERN));
	EQ(w.count, 2);
	EQ(world_request(&w, 0)->era, ERA_LEGACY);
	EQ(world_request(&w, 1)->era, ERA_MODERN);
	face_answer_result(world_take(&w, 0), world_json("{}"));
	STREQ(world_got(&w), RESULT("1", "{}"));
	face_answer_result(world_take(&w, 1), world_json("{}"));
	STREQ(world_got(&w), RESULT("2", "{\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":"
					 "\"private\"," INFO_META "}"));
	world_close(&w);
}

TEST(a_new_offer_replaces_the_first)
{
	world_open_modern(&w);
	w.offer.info = "{\"name\":\"other\",\n\"version\":\"1\"}";
	w.offer.capabilities = "{}";
	w.offer.instructions = NULL;
	face_welcome(w.face, &w.offer);
	world_say(&w, REQUEST("1", "server/discover", MODERN));
	STREQ(world_got(&w),
	      RESULT("1",
		     "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],"
		     "\"capabilities\":{},\"ttlMs\":0,\"cacheScope\":\"private\",\"_meta\":{\"" NS
		     "serverInfo\":{\"name\":\"other\", \"version\":\"1\"}}}"));
	world_say(&w, REQUEST("1", "tools/list", MODERN));
	check_error("1", -32601); /* not offered any more */
	EQ(w.count, 0);
	world_close(&w);
}

/* --- refusals --- */

TEST(legacy_requests_that_are_refused)
{
	world_open(&w);
	world_say(&w, REQUEST("1", "tools/list", ""));
	check_error("1", -32600);
	world_say(&w, REQUEST("\"p\"", "ping", ""));
	STREQ(world_got(&w), RESULT("\"p\"", "{}"));
	EQ(w.hellos, 0);
	world_initialize(&w, "2025-11-25", "{}");
	world_skip(&w);
	world_initialize(&w, "2025-11-25", "{}");
	check_error("0", -32600);
	world_say(&w, REQUEST("1", "server/discover", ""));
	check_error("1", -32602);
	world_say(&w, REQUEST("1", "subscriptions/listen", "\"notifications\":{}"));
	check_error("1", -32602);
	world_say(&w, REQUEST("1", "tools/call", ""));
	check_error("1", -32602);
	world_say(&w, REQUEST("1", "resources/read", "\"uri\":7"));
	check_error("1", -32602);
	/* a server could take it for the notification: the id in it may be one of another client */
	world_say(&w, REQUEST("1", "notifications/cancelled", "\"requestId\":3"));
	check_error("1", -32601);
	world_say(&w, REQUEST("1", "notific\\u0061tions/cancelled", "\"requestId\":3"));
	check_error("1", -32601);
	EQ(w.count, 0);
	world_close(&w);
}

TEST(modern_requests_that_are_refused)
{
	static const char *const gone[] = { "initialize",
					    "ping",
					    "logging/setLevel",
					    "resources/subscribe",
					    "resources/unsubscribe",
					    "tasks/list",
					    "tasks/result" };

	world_open(&w);
	world_say(&w, REQUEST("1", "tools/list",
			      "\"_meta\":{\"" NS "protocolVersion\":\"2030-01-01\"}"));
	STREQ(world_got(&w), "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,\"message\":"
			     "\"Unsupported protocol version\",\"data\":{\"supported\":"
			     "[\"2026-07-28\"],\"requested\":\"2030-01-01\"}}}");
	world_say(&w, REQUEST("1", "tools/list",
			      "\"_meta\":{\"" NS "protocolVersion\":\"2025-11-25\"}"));
	check_error("1", -32022);
	world_say(&w, REQUEST("1", "tools/list", "\"_meta\":{\"" NS "protocolVersion\":7}"));
	check_error("1", -32602);
	world_say(&w, REQUEST("1", "tools/list",
			      "\"_meta\":{\"" NS "protocolVersion\":\"2026-07-28\"}"));
	check_error("1", -32602);
	OK(strstr(w.line, "clientCapabilities"));
	world_say(&w, REQUEST("1", "tools/list",
			      "\"_meta\":{\"" NS "protocolVersion\":\"2026-07-28\",\"" NS
			      "clientCapabilities\":[]}"));
	check_error("1", -32602);
	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
		world_say(&w, REQUEST("1", "%s", MODERN), gone[i]);
		check_error("1", -32601);
	}
	EQ(w.hellos, 0);
	world_close(&w);
}

TEST(a_modern_client_may_not_use_what_is_not_offered)
{
	static const char *const methods[] = { "tools/list",          "tools/call",
					       "resources/list",      "resources/templates/list",
					       "resources/read",      "prompts/list",
					       "prompts/get",         "completion/complete",
					       "subscriptions/listen" };

	world_open(&w);
	w.offer.capabilities = "{\"logging\":{}}";
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		world_say(&w, REQUEST("%zu", "%s", "\"name\":\"x\",\"notifications\":{}," MODERN),
			  i, methods[i]);
		OK(strstr(world_got(&w), "\"code\":-32601,"));
	}
	EQ(w.count, 0);
	world_close(&w);
}

TEST(every_method_reaches_the_owner)
{
	static const struct {
		const char *method, *params;
		enum face_method kind;
		const char *name;
	} rows[] = {
		{ "tools/list", "", FACE_TOOLS, "" },
		{ "resources/list", "\"cursor\":\"x\"", FACE_RESOURCES, "" },
		{ "resources/templates/list", "", FACE_TEMPLATES, "" },
		{ "prompts/list", "", FACE_PROMPTS, "" },
		{ "tools/call", "\"arguments\":{\"name\":1},\"name\":\"x\\n\"", FACE_CALL,
		  "\"x\\n\"" },
		{ "tools\\/call", "\"n\\u0061me\":\"x\"", FACE_CALL, "\"x\"" },
		{ "resources/read", "\"uri\":\"a:b\"", FACE_READ, "\"a:b\"" },
		{ "prompts/get", "\"name\":\"p\"", FACE_PROMPT, "\"p\"" },
		{ "completion/complete", "\"ref\":{}", FACE_COMPLETE, "" },
		{ "logging/setLevel", "\"level\":\"info\"", FACE_LEVEL, "\"info\"" },
		{ "resources/subscribe", "\"uri\":\"u\"", FACE_SUBSCRIBE, "\"u\"" },
		{ "resources/unsubscribe", "\"uri\":\"u\"", FACE_UNSUBSCRIBE, "\"u\"" },
		{ "tasks/get", "\"taskId\":\"t\"", FACE_TASK, "\"t\"" },
		{ "tasks/result", "\"taskId\":\"t\"", FACE_TASK, "\"t\"" },
		{ "tasks/cancel", "\"taskId\":\"t\"", FACE_TASK, "\"t\"" },
		{ "tasks/list", "", FACE_TASKS, "" },
		{ "x/y", "\"name\":\"x\"", FACE_OTHER, "" },
	};
	size_t count = sizeof(rows) / sizeof(rows[0]);

	world_open_legacy(&w, "2025-11-25", "{}");
	for (size_t i = 0; i < count; i++) {
		world_say(&w, REQUEST("%zu", "%s", "%s"), i + 1, rows[i].method, rows[i].params);
		EQ(w.count, i + 1);
		EQ(w.requests[i].kind, rows[i].kind);
		STREQ(w.requests[i].name, rows[i].name);
	}
	STREQ(world_got(&w), "");
	world_close(&w);
	EQ(w.cancelled, count);
}

/* --- ids, cancellation, progress --- */

TEST(the_id_is_returned_as_it_was_written)
{
	static const char *const ids[] = {
		"0",
		"-1",
		"12345678901234567890",
		"1.50",
		"\"\"",
		"\"a\\u0062\"",
		"\"\\n\"",
		"\"7\"",
		"\"0123456789012345678901234567890123456789012345678901234"
		"56789012345678901234567890123456789012345678901234567890\""
	};
	char expected[400];

	world_open_legacy(&w, "2025-11-25", "{}");
	for (unsigned i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		world_say(&w, REQUEST("%s", "tools/list", ""), ids[i]);
		face_answer_result(world_take(&w, i), world_json("{\"a\":\n1}"));
		snprintf(expected, sizeof(expected), RESULT("%s", "{\"a\": 1}"), ids[i]);
		STREQ(world_got(&w), expected);
	}
	world_close(&w);
}

TEST(an_id_that_is_open_is_refused)
{
	world_open_legacy(&w, "2025-11-25", "{}");
	world_say(&w, REQUEST("1", "tools/list", ""));
	world_say(&w, REQUEST("\"1\"", "tools/list", "")); /* another id */
	EQ(w.count, 2);
	world_say(&w, REQUEST("1", "tools/list", ""));
	check_error("1", -32600);
	world_say(&w, REQUEST("1", "ping", ""));
	check_error("1", -32600);
	EQ(w.count, 2);
	face_answer_result(world_take(&w, 0), world_json("{}"));
	STREQ(world_got(&w), RESULT("1", "{}"));
	world_say(&w, REQUEST("1", "tools/list", "")); /* free again */
	EQ(w.count, 3);
	world_close(&w);
}

TEST(a_cancelled_request_is_not_answered)
{
	world_open_legacy(&w, "2025-11-25", "{}");
	world_say(&w, REQUEST("1", "tools/call", "\"name\":\"x\""));
	world_say(&w, REQUEST("\"1\"", "tools/call", "\"name\":\"y\""));
	world_say(&w, CANCEL("\"1\""));
	EQ(w.cancelled, 1);
	OK(w.requests[1].cancelled);
	world_say(&w, CANCEL("\"1\"")); /* again, and of an unknown id */
	world_say(&w, CANCEL("77"));
	world_say(&w, NOTE("cancelled", "{}"));
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}");
	EQ(w.cancelled, 1);
	face_answer_result(world_take(&w, 0), world_json("{}"));
	STREQ(world_got(&w), RESULT("1", "{}"));
	STREQ(world_got(&w), "");
	world_close(&w);
}

TEST(equal_progress_tokens_stay_apart)
{
	world_open_legacy(&w, "2025-11-25", "{}");
	world_say(&w,
		  REQUEST("1", "tools/call", "\"name\":\"x\",\"_meta\":{\"progressToken\":\"t\"}"));
	world_say(&w,
		  REQUEST("2", "tools/call", "\"name\":\"x\",\"_meta\":{\"progressToken\":\"t\"}"));
	world_say(&w, REQUEST("3", "tools/call", "\"name\":\"x\""));
	face_progress(world_request(&w, 1),
		      world_json("{\"total\":2.0,\"progressToken\":17,\"progress\":1e0}"));
	STREQ(world_got(&w),
	      NOTE("progress", "{\"total\":2.0,\"progressToken\":\"t\",\"progress\":1e0}"));
	/* only rising values */
	face_progress(world_request(&w, 1), world_json("{\"progressToken\":17,\"progress\":1}"));
	face_progress(world_request(&w, 1), world_json("{\"progressToken\":17,\"progress\":0.5}"));
	face_progress(world_request(&w, 1),
		      world_json("{\"progressToken\":17,\"progress\":\"2\"}"));
	face_progress(world_request(&w, 1), world_json("{\"progress\":2}"));
	STREQ(world_got(&w), "");
	face_progress(world_request(&w, 0), world_json("{\"progressToken\":16,\"progress\":-3}"));
	STREQ(world_got(&w), NOTE("progress", "{\"progressToken\":\"t\",\"progress\":-3}"));
	face_progress(world_request(&w, 1), world_json("{\"progressToken\":17,\"progress\":1.5}"));
	STREQ(world_got(&w), NOTE("progress", "{\"progressToken\":\"t\",\"progress\":1.5}"));
	face_progress(world_request(&w, 2), world_json("{\"progressToken\":18,\"progress\":1}"));
	STREQ(world_got(&w), ""); /* not wanted */
	world_say(&w,
		  REQUEST("4", "tools/call", "\"name\":\"x\",\"_meta\":{\"progressToken\":{}}"));
	face_progress(world_request(&w, 3), world_json("{\"progressToken\":18,\"progress\":1}"));
	STREQ(world_got(&w), ""); /* no token */
	world_close(&w);
}

/* --- notifications --- */

TEST(notifications_of_the_client_reach_the_owner)
{
	world_open(&w);
	world_say(&w, NOTE("roots/list_changed", "{}"));
	world_initialize(&w, "2025-11-25", "{}");
	world_say(&w, NOTE("initialized", "{}"));
	world_say(&w, NOTE("roots/list_changed", "{\"a\":1}"));
	STREQ(w.notes, "\"notifications/roots/list_changed\" {\"a\":1}\n");
	world_close(&w);
}

TEST(a_legacy_client_gets_notifications_as_they_are)
{
	world_open_legacy(&w, "2025-11-25", "{}");
	face_note(w.face, NULL, KILLICK_EVENT_LOG, world_json("{\"level\":\"debug\",\"data\":1}"));
	STREQ(world_got(&w), NOTE("message", "{\"level\":\"debug\",\"data\":1}"));
	face_note(w.face, NULL, KILLICK_EVENT_TOOLS, JSON_NONE);
	STREQ(world_got(&w),
	      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
	face_note(w.face, NULL, KILLICK_EVENT_RESOURCES, world_json("{\"x\":1}"));
	STREQ(world_got(&w), NOTE("resources/list_changed", "{\"x\":1}"));
	face_note(w.face, NULL, KILLICK_EVENT_PROMPTS, JSON_NONE);
	STREQ(world_got(&w),
	      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/prompts/list_changed\"}");
	face_note(w.face, NULL, KILLICK_EVENT_UPDATED, world_json("{\"uri\":\"u\"}"));
	STREQ(world_got(&w), NOTE("resources/updated", "{\"uri\":\"u\"}"));
	face_note(w.face, NULL, KILLICK_EVENT_STDERR, JSON_NONE);
	face_notify(w.face, "notifications/elicitation/complete",
		    world_json("{\"elicitationId\":\"e\"}"));
	STREQ(world_got(&w), NOTE("elicitation/complete", "{\"elicitationId\":\"e\"}"));
	STREQ(world_got(&w), "");
	world_close(&w);
}

TEST(no_notification_comes_before_the_welcome)
{
	world_open(&w);
	w.welcome = false;
	face_note(w.face, NULL, KILLICK_EVENT_TOOLS, JSON_NONE);
	world_initialize(&w, "2025-11-25", "{}");
	face_note(w.face, NULL, KILLICK_EVENT_TOOLS, JSON_NONE);
	face_notify(w.face, "notifications/x", JSON_NONE);
	STREQ(world_got(&w), "");
	world_close(&w);
}

TEST(a_modern_client_gets_logs_of_the_level_that_a_request_wants)
{
	static const char log[] = "{\"level\":\"notice\",\"data\":1}";

	world_open_modern(&w);
	world_say(&w, REQUEST("1", "tools/call", "\"name\":\"x\"," MODERN));
	face_note(w.face, NULL, KILLICK_EVENT_LOG, world_json(log));
	face_note(w.face, world_request(&w, 0), KILLICK_EVENT_LOG, world_json(log));
	STREQ(world_got(&w), "");
	world_say(&w, REQUEST("2", "tools/call",
			      "\"name\":\"x\",\"_meta\":{\"" NS "logLevel\":\"warning\",\"" NS
			      "protocolVersion\":\"2026-07-28\",\"" NS "clientCapabilities\":{}}"));
	face_note(w.face, NULL, KILLICK_EVENT_LOG, world_json(log));
	face_note(w.face, world_request(&w, 1), KILLICK_EVENT_LOG, world_json(log));
	STREQ(world_got(&w), "");
	face_note(w.face, world_request(&w, 0), KILLICK_EVENT_LOG,
		  world_json("{\"level\":\"error\"}"));
	STREQ(world_got(&w), "");
	face_note(w.face, NULL, KILLICK_EVENT_LOG, world_json("{\"level\":\"warning\"}"));
	STREQ(world_got(&w), NOTE("message", "{\"level\":\"warning\"}"));
	face_note(w.face, world_request(&w, 1), KILLICK_EVENT_LOG,
		  world_json("{\"level\":\"error\"}"));
	STREQ(world_got(&w), NOTE("message", "{\"level\":\"error\"}"));
	face_answer_result(world_take(&w, 1), world_json("{}"));
	world_skip(&w);
	face_note(w.face, NULL, KILLICK_EVENT_LOG, world_json("{\"level\":\"error\"}"));
	face_note(w.face, NULL, KILLICK_EVENT_TOOLS, JSON_NONE); /* no stream wants it */
	STREQ(world_got(&w), "");
	world_close(&w);
}
