/* face_answer.c - answers of servers, byte for byte, and the members that each era needs */
#include "unit/face_check.h"

static unsigned next_id;

/* A request of this era is answered with this line of a server of that era. The face's line. */
static const char *pass(const char *method, const char *params, bool modern, const char *line,
			enum client_era from)
{
	if (modern)
		world_say(&w, REQUEST("\"c%u\"", "%s", "%s" MODERN), ++next_id, method, params);
	else
		world_say(&w, REQUEST("\"c%u\"", "%s", "%s\"_meta\":{}"), ++next_id, method,
			  params);
	world_answer_line(&w, w.count - 1, line, from);
	return world_got(&w);
}

#define ODD_RESULT                                                                                 \
	" {\"z\" : -0.0,\"big\":123456789012345678901234567890,\"a\":[1e+05, 1E5,\t1.0],"          \
	"\"s\":\"\\u00e4\\/\\ud83d\\ude00\xc3\xa4\\\\\",\"z\":{\"id\":5,\"result\":{}},"           \
	"\"result\\u0054ype2\":null, \"content\" :[ ] }"

TEST(a_legacy_client_gets_the_bytes_of_the_server)
{
	static const char *const lines[][2] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":" ODD_RESULT "}",
		  "{\"jsonrpc\":\"2.0\",\"id\":\"c1\",\"result\":" ODD_RESULT "}" },
		{ "{ \"result\" :" ODD_RESULT
		  ", \"x\":{\"id\":1}, \"id\" : \"5\" , \"jsonrpc\":\"2.0\"}",
		  "{ \"result\" :" ODD_RESULT
		  ", \"x\":{\"id\":1}, \"id\" : \"c2\" , \"jsonrpc\":\"2.0\"}" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}",
		  "{\"jsonrpc\":\"2.0\",\"id\":\"c3\",\"result\":{}}" },
		{ "{\"jsonrpc\":\"2.0\",\"error\":{\"message\":\"m\",\"code\":-32002,\"data\":[]},"
		  "\"id\":5}",
		  "{\"jsonrpc\":\"2.0\",\"error\":{\"message\":\"m\",\"code\":-32002,\"data\":[]},"
		  "\"id\":\"c4\"}" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32042,\"message\":\"m\"}}",
		  "{\"jsonrpc\":\"2.0\",\"id\":\"c5\",\"error\":{\"code\":-32042,\"message\":\"m\"}"
		  "}" },
		/* of modern servers: nothing is removed */
		{ "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"resultType\":\"complete\",\"ttlMs\":"
		  "9}}",
		  "{\"jsonrpc\":\"2.0\",\"id\":\"c6\",\"result\":{\"resultType\":\"complete\","
		  "\"ttlMs\":9}}" },
	};

	world_open_legacy(&w, "2025-06-18", "{}");
	next_id = 0;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		STREQ(pass("tools/call", "\"name\":\"x\",", false, lines[i][0],
			   i == 5 ? ERA_MODERN : ERA_LEGACY),
		      lines[i][1]);
	world_close(&w);
}

/* A client that ignores case could read another id, and end a request to another server. */
TEST(members_that_differ_only_in_case_are_not_passed_on)
{
	static const char *const lines[][2] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"a\":1},\"ID\":9}",
		  "{\"jsonrpc\":\"2.0\",\"id\":\"c1\",\"result\":{\"a\":1}}" },
		{ "{\"jsonrpc\":\"2.0\",\"Id\":9,\"id\":5,\"error\":{\"code\":1,\"message\":\"m\"}"
		  "}",
		  "{\"jsonrpc\":\"2.0\",\"id\":\"c2\",\"error\":{\"code\":1,\"message\":\"m\"}}" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":5,\"id\":5,\"result\":{}}",
		  "{\"jsonrpc\":\"2.0\",\"id\":\"c3\",\"result\":{}}" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{},\"RESULT\":{\"b\":2}}",
		  "{\"jsonrpc\":\"2.0\",\"id\":\"c4\",\"result\":{}}" },
	};

	world_open_legacy(&w, "2025-06-18", "{}");
	next_id = 0;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		STREQ(pass("tools/call", "\"name\":\"x\",", false, lines[i][0], ERA_LEGACY),
		      lines[i][1]);
	world_close(&w);
}

TEST(a_modern_client_gets_the_bytes_of_a_modern_server)
{
	world_open_modern(&w);
	next_id = 0;
	STREQ(pass("tools/call", "\"name\":\"x\",", true,
		   "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":" ODD_RESULT "}", ERA_MODERN),
	      "{\"jsonrpc\":\"2.0\",\"id\":\"c1\",\"result\":" ODD_RESULT "}");
	STREQ(pass("tools/call", "\"name\":\"x\",", true,
		   RESULT("5", "{\"resultType\":\"input_required\",\"requestState\":\"s\"}"),
		   ERA_MODERN),
	      RESULT("\"c2\"", "{\"resultType\":\"input_required\",\"requestState\":\"s\"}"));
	world_close(&w);
}

TEST(members_that_a_legacy_server_did_not_write_are_added)
{
	static const struct {
		const char *method, *params, *result, *expected;
	} rows[] = {
		{ "tools/call", "\"name\":\"x\",", ODD_RESULT,
		  " {\"resultType\":\"complete\"," INFO_META ",\"z\" : -0.0,"
		  "\"big\":123456789012345678901234567890,\"a\":[1e+05, 1E5,\t1.0],"
		  "\"s\":\"\\u00e4\\/\\ud83d\\ude00\xc3\xa4\\\\\",\"z\":{\"id\":5,\"result\":{}},"
		  "\"result\\u0054ype2\":null, \"content\" :[ ] }" },
		{ "tools/call", "\"name\":\"x\",", "{}",
		  "{\"resultType\":\"complete\"," INFO_META "}" },
		{ "tools/call", "\"name\":\"x\",", "{ }",
		  "{\"resultType\":\"complete\"," INFO_META " }" },
		{ "tools/call", "\"name\":\"x\",", "null",
		  "{\"resultType\":\"complete\"," INFO_META "}" },
		{ "tools/list", "", "{\"tools\":[]}",
		  "{\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\"," INFO_META
		  ",\"tools\":[]}" },
		{ "resources/read", "\"uri\":\"u\",", "{\"ttlMs\":5,\"contents\":[]}",
		  "{\"resultType\":\"complete\",\"cacheScope\":\"private\"," INFO_META
		  ",\"ttlMs\":5,\"contents\":[]}" },
		{ "prompts/get", "\"name\":\"p\",", "{\"result\\u0054ype\":\"complete\"}",
		  "{" INFO_META ",\"result\\u0054ype\":\"complete\"}" },
		{ "tools/call", "\"name\":\"x\",", "{\"a\":1,\"_meta\":{\"k\":2}}",
		  "{\"resultType\":\"complete\",\"a\":1,\"_meta\":{\"" NS "serverInfo\":" INFO
		  ",\"k\":2}}" },
		{ "tools/call", "\"name\":\"x\",", "{\"_meta\":{}}",
		  "{\"resultType\":\"complete\",\"_meta\":{\"" NS "serverInfo\":" INFO "}}" },
		{ "tools/call", "\"name\":\"x\",", "{\"_meta\":null,\"b\":1}",
		  "{\"resultType\":\"complete\",\"_meta\":{\"" NS "serverInfo\":" INFO
		  "},\"b\":1}" },
		{ "tools/call", "\"name\":\"x\",", "{\"_meta\":{\"" NS "serverInfo\":7}}",
		  "{\"resultType\":\"complete\",\"_meta\":{\"" NS "serverInfo\":7}}" },
		{ "tools/call", "\"name\":\"x\",",
		  "{\"resultType\":\"complete\",\"_meta\":{\"" NS "serverInfo\":7}}",
		  "{\"resultType\":\"complete\",\"_meta\":{\"" NS "serverInfo\":7}}" },
		{ "resources/list", "", "{}",
		  "{\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\"," INFO_META
		  "}" },
		{ "completion/complete", "", "{\"completion\":{\"values\":[]}}",
		  "{\"resultType\":\"complete\"," INFO_META ",\"completion\":{\"values\":[]}}" },
	};
	char line[800], expected[1000];

	world_open_modern(&w);
	next_id = 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		/* the id before the result, and behind it */
		snprintf(line, sizeof(line), RESULT("5", "%s"), rows[i].result);
		snprintf(expected, sizeof(expected), RESULT("\"c%u\"", "%s"), next_id + 1,
			 rows[i].expected);
		STREQ(pass(rows[i].method, rows[i].params, true, line, ERA_LEGACY), expected);
		if (rows[i].result[0] == 'n')
			continue; /* the face does not copy the bytes */
		snprintf(line, sizeof(line), "{\"result\":%s,\"jsonrpc\":\"2.0\",\"id\":5}",
			 rows[i].result);
		snprintf(expected, sizeof(expected),
			 "{\"result\":%s,\"jsonrpc\":\"2.0\",\"id\":\"c%u\"}", rows[i].expected,
			 next_id + 1);
		STREQ(pass(rows[i].method, rows[i].params, true, line, ERA_LEGACY), expected);
	}
	world_close(&w);
}

TEST(a_resource_that_is_not_found_has_the_code_and_the_uri_of_the_modern_era)
{
#define URI "\"file:///\\u0061 b\""
	static const char *const errors[][2] = {
		{ "{\"code\":-32002,\"message\":\"m\"}",
		  "{\"data\":{\"uri\":" URI "},\"code\":-32602,\"message\":\"m\"}" },
		{ "{\"message\":\"m\",\"data\":{\"uri\":\"v\"},\"code\":-32002}",
		  "{\"message\":\"m\",\"data\":{\"uri\":\"v\"},\"code\":-32602}" },
		{ "{\"data\":{},\"code\":-32002,\"message\":\"m\"}",
		  "{\"data\":{\"uri\":" URI "},\"code\":-32602,\"message\":\"m\"}" },
		{ "{\"code\":-32002,\"data\":{\"x\":1},\"message\":\"m\"}",
		  "{\"code\":-32602,\"data\":{\"uri\":" URI ",\"x\":1},\"message\":\"m\"}" },
		{ "{\"code\":-32002,\"data\":\"gone\",\"message\":\"m\"}",
		  "{\"code\":-32602,\"data\":{\"uri\":" URI "},\"message\":\"m\"}" },
		{ "{\"code\":-32603,\"message\":\"m\"}", "{\"code\":-32603,\"message\":\"m\"}" },
	};
	char line[400], expected[500];

	world_open_modern(&w);
	next_id = 0;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		for (enum client_era from = ERA_LEGACY; from <= ERA_MODERN; from++) {
			snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"error\":%s,\"id\":5}",
				 errors[i][0]);
			snprintf(expected, sizeof(expected),
				 "{\"jsonrpc\":\"2.0\",\"error\":%s,\"id\":\"c%u\"}", errors[i][1],
				 next_id + 1);
			STREQ(pass("resources/read", "\"uri\":" URI ",", true, line, from),
			      expected);
		}
	}
	/* another request has no uri */
	STREQ(pass("prompts/get", "\"name\":\"p\",", true,
		   "{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32002,\"message\":\"m\"}}",
		   ERA_LEGACY),
	      "{\"jsonrpc\":\"2.0\",\"id\":\"c13\",\"error\":{\"code\":-32602,\"message\":\"m\"}}");
	world_close(&w);
}

TEST(a_modern_client_never_gets_the_error_that_wants_a_url)
{
	static const char line[] =
		"{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32042,\"message\":\"m\\n\","
		"\"data\":{"
		"\"elicitations\":[{\"mode\":\"url\",\"elicitationId\":\"e\",\"url\":\"https://x\","
		"\"message\":\"go\"}]}}}";

	world_open_modern(&w);
	next_id = 0;
	STREQ(pass("tools/call", "\"name\":\"x\",", true, line, ERA_LEGACY),
	      "{\"jsonrpc\":\"2.0\",\"id\":\"c1\",\"error\":{\"code\":-32021,\"message\":\"m\\n\","
	      "\"data\":{\"requiredCapabilities\":{\"elicitation\":{\"url\":{}}}}}}");
	world_say(&w, REQUEST("1", "tools/call",
			      "\"name\":\"x\"," MODERN_WITH("{\"elicitation\":{\"url\":{}}}")));
	world_answer_line(&w, 1, line, ERA_LEGACY);
	STREQ(world_got(&w),
	      RESULT("1",
		     "{\"resultType\":\"input_required\",\"inputRequests\":{\"url-1\":{\"method\":"
		     "\"elicitation/create\",\"params\":{\"mode\":\"url\",\"url\":\"https://x\","
		     "\"message\":\"go\"}}}," INFO_META "}"));
	world_close(&w);
}

TEST(answers_that_no_client_could_read_become_errors)
{
	static const char *const lines[][2] = {
		{ "\"result\":[1]",
		  "{\"code\":-32603,\"message\":\"the server answered with a result "
		  "that is no object\",\"data\":[1]}" },
		{ "\"result\":\"x\"",
		  "{\"code\":-32603,\"message\":\"the server answered with a result "
		  "that is no object\",\"data\":\"x\"}" },
		{ "\"error\":\"x\"",
		  "{\"code\":-32603,\"message\":\"the server answered with an invalid "
		  "error\",\"data\":\"x\"}" },
		{ "\"error\":{\"code\":\"E\",\"message\":\"m\"}",
		  "{\"code\":-32603,\"message\":\"the server answered with an invalid "
		  "error\",\"data\":{\"code\":\"E\",\"message\":\"m\"}}" },
		{ "\"error\":{\"code\":1}",
		  "{\"code\":-32603,\"message\":\"the server answered with an invalid "
		  "error\",\"data\":{\"code\":1}}" },
	};
	char line[200], expected[300];

	for (unsigned modern = 0; modern < 2; modern++) {
		if (modern)
			world_open_modern(&w);
		else
			world_open_legacy(&w, "2025-11-25", "{}");
		next_id = 0;
		for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
			snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":5,%s}",
				 lines[i][0]);
			snprintf(expected, sizeof(expected),
				 "{\"jsonrpc\":\"2.0\",\"id\":\"c%u\",\"error\":%s}", next_id + 1,
				 lines[i][1]);
			STREQ(pass("tools/call", "\"name\":\"x\",", modern, line, ERA_LEGACY),
			      expected);
		}
		world_close(&w);
	}
}

TEST(an_error_without_an_id_answers_the_request)
{
	world_open_legacy(&w, "2025-11-25", "{}");
	next_id = 0;
	STREQ(pass("tools/call", "\"name\":\"x\",", false,
		   "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"m\"}}",
		   ERA_LEGACY),
	      "{\"jsonrpc\":\"2.0\",\"id\":\"c1\",\"error\":{\"code\":-32700,\"message\":\"m\"}}");
	world_close(&w);
}

TEST(the_owner_answers_with_a_failure)
{
	world_open_modern(&w);
	world_say(&w, REQUEST("1", "resources/read", "\"uri\":\"u\"," MODERN));
	world_say(&w, REQUEST("2", "tools/call", "\"name\":\"x\"," MODERN));
	world_say(&w, REQUEST("3", "tools/call", "\"name\":\"x\"," MODERN));
	face_answer_fail(world_take(&w, 0), -32602, "no resource '%s'", "u\n");
	STREQ(world_got(&w), "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":"
			     "\"no resource 'u\\u000a'\",\"data\":{\"uri\":\"u\"}}}");
	face_answer_fail(world_take(&w, 1), -32603, "x");
	STREQ(world_got(&w),
	      "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32603,\"message\":\"x\"}}");
	face_answer_error(world_take(&w, 2), world_json("{\"code\":-32002,\r\n\"message\":\"y\"}"));
	STREQ(world_got(&w),
	      "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32602,  \"message\":\"y\"}}");
	world_close(&w);
}

TEST(a_large_answer_arrives_whole)
{
	size_t len = 20u << 20;
	char *line = malloc(len + 100);
	int head = snprintf(line, 100, "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"t\":\"");

	memset(line + head, 'x', len);
	snprintf(line + head + len, 10, "\"}}");
	world_open_modern(&w);
	next_id = 0;
	pass("tools/call", "\"name\":\"x\",", true, line, ERA_LEGACY);
	EQ(strlen(w.line), strlen(line) + strlen("\"resultType\":\"complete\"," INFO_META ",") + 3);
	free(line);
	world_close(&w);
}
