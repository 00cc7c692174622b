/* raw.c - requests and notifications of any method, and what is declared to servers: the bytes that
 * arrive at the server, and what comes back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab.h"

#define CLIENT "\"clientInfo\":{\"name\":\"killick\",\"version\":\"" KILLICK_VERSION_STRING "\"}"
#define META                                                                                       \
	"\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                              \
	"\"io.modelcontextprotocol/"                                                               \
	"clientInfo\":{\"name\":\"killick\",\"version\":\"" KILLICK_VERSION_STRING                 \
	"\"},\"io.modelcontextprotocol/clientCapabilities\":{}"

static char wire[128]; /* the file with the lines that the server has read */

/* A session with one server, "zoo", whose lines are recorded. */
static struct killick_session *recorded(struct killick *k, const char *way, const char *more,
					const struct killick_session_options *options)
{
	char text[256];

	snprintf(wire, sizeof(wire), "%s/wire", t_audit.dir);
	unlink(wire);
	snprintf(text, sizeof(text), "\"env\":{\"ZOO_WIRE\":\"%s\"}%s", wire, more);
	return lab_session_with(k, SERVERS({ "zoo", way, .more = text }), options);
}

/* Was this line read by the server? */
static bool has_read(const char *line)
{
	FILE *f = fopen(wire, "re");
	char *got = NULL;
	size_t room = 0;
	bool found = false;
	ssize_t n;

	OK(f);
	while (!found && (n = getline(&got, &room, f)) > 0) {
		got[n - 1] = '\0';
		found = !strcmp(got, line);
	}
	free(got);
	fclose(f);
	return found;
}

/* The same for a line without an answer: what was sent before `pid` was called has been read. */
static bool was_read(struct killick_session *s, const char *line)
{
	lab_pid(s, "zoo");
	return has_read(line);
}

static void raw(struct killick_session *s, const char *method, const char *params, int code,
		const char *json)
{
	struct killick_result *r =
		lab_do(s,
		       &KILLICK_REQUEST(.op = KILLICK_RAW, .server = "zoo", .name = method,
					.args = params, .timeout_ms = LAB_MS),
		       code);

	STREQ(killick_result_json(r, NULL), json);
	killick_result_free(r);
}

TEST(a_raw_request_arrives_as_it_was_written)
{
	struct killick *k = LAB();
	struct killick_session *s = recorded(k, "good", "", &KILLICK_SESSION_OPTIONS());

	raw(s, "ping", NULL, 0, "{}");
	OK(was_read(s, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\",\"params\":{}}"));
	raw(s, "prompts/list", "{ \"cursor\" : \"2\",\n\"_meta\":{\"x.y/z\": [1, 2]}, \"q\":1e0}",
	    0, "{\"prompts\":[{\"name\":\"ask\"}]}");
	OK(was_read(s, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"prompts/list\",\"params\":{"
		       "\"cursor\":\"2\",\"q\":1e0,\"_meta\":{\"x.y/z\":[1, 2]}}}"));
	raw(s, "no/such", "{}", KILLICK_ERR_ANSWER,
	    "{\"code\":-32601,\"message\":\"no such method\"}");
	lab_end(s);
	lab_close(k);
}

TEST(every_operation_has_the_meta_of_the_host)
{
	static const struct {
		struct killick_request rq;
		const char *line; /* without its id */
	} sent[] = {
#define META_OF_HOST "\"_meta\":{\"traceparent\":\"00-1\"}}}"
#define SENT(members, line, ...)                                                                   \
	{ { .size = sizeof(struct killick_request),                                                \
	    .server = "zoo",                                                                       \
	    .meta = "{\"traceparent\":\"00-1\"}",                                                  \
	    .refresh = true,                                                                       \
	    __VA_ARGS__ },                                                                         \
	  "\"method\":" line ",\"params\":{" members META_OF_HOST }
		SENT("", "\"tools/list\"", .op = KILLICK_TOOLS),
		SENT("", "\"resources/list\"", .op = KILLICK_RESOURCES),
		SENT("", "\"prompts/list\"", .op = KILLICK_PROMPTS),
		SENT("\"cursor\":\"2\",", "\"prompts/list\"", .op = KILLICK_PROMPTS),
		SENT("\"name\":\"echo\",\"arguments\":{},", "\"tools/call\"", .op = KILLICK_CALL,
		     .name = "echo"),
		SENT("\"uri\":\"zoo://a\",", "\"resources/read\"", .op = KILLICK_READ,
		     .name = "zoo://a"),
		SENT("\"uri\":\"zoo://a\",", "\"resources/subscribe\"", .op = KILLICK_SUBSCRIBE,
		     .name = "zoo://a"),
		SENT("", "\"ping\"", .op = KILLICK_PING),
		SENT("\"a\":1,", "\"x/y\"", .op = KILLICK_RAW, .name = "x/y",
		     .args = "{\"a\":1,\"_meta\":{\"b\":2}}"),
	};
	struct killick *k = LAB();
	struct killick_session *s = recorded(k, "good", "", &KILLICK_SESSION_OPTIONS());
	struct killick_error e;

	for (size_t i = 0; i < sizeof(sent) / sizeof(*sent); i++) {
		char line[256];
		bool found = false;

		killick_do(s, &sent[i].rq, NULL);
		for (int id = 1; id < 60 && !found; id++) {
			snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":%d,%s", id,
				 sent[i].line);
			found = has_read(line);
		}
		if (!found)
			FAIL("not sent: %s", sent[i].line);
	}
	EQ(killick_start(s, &KILLICK_REQUEST(.op = KILLICK_PING, .meta = "[]"), NULL, &e),
	   KILLICK_ERR_USAGE);
	OK(strstr(e.text, "meta is JSON, but not an object"));
	lab_end(s);
	lab_close(k);
}

TEST(a_raw_request_of_the_modern_era_has_the_members_of_meta_that_the_protocol_wants)
{
	struct killick *k = LAB();
	struct killick_session *s =
		recorded(k, "modern", ",\"era\":\"modern\"", &KILLICK_SESSION_OPTIONS());
	struct killick_result *r = lab_do(
		s,
		&KILLICK_REQUEST(.op = KILLICK_RAW, .server = "zoo", .name = "resources/read",
				 .args = "{\"uri\":\"zoo://"
					 "a\",\"_meta\":{\"traceparent\":\"00-1\"}}"),
		0);
	const char *id = "\"id\":";
	char line[512];
	bool found = false;

	/* what is asked first, and how often, is not what this is about */
	for (int i = 1; i < 9 && !found; i++) {
		snprintf(line, sizeof(line),
			 "{\"jsonrpc\":\"2.0\",%s%d,\"method\":\"resources/read\",\"params\":{"
			 "\"uri\":\"zoo://a\",\"_meta\":{" META ",\"traceparent\":\"00-1\"}}}",
			 id, i);
		found = was_read(s, line);
	}
	OK(found);
	killick_result_free(r);
	lab_end(s);
	lab_close(k);
}

TEST(raw_requests_keep_to_the_tools_that_the_config_allows)
{
	struct killick *k = LAB();
	struct killick_session *s =
		lab_session(k, SERVERS({ "zoo", .more = "\"disabledTools\":[\"pid\"]" }));
	struct killick_result *r;

	raw(s, "tools/call", "{\"name\":\"pid\"}", KILLICK_ERR_NO_SERVER, "");
	r = lab_do(s,
		   &KILLICK_REQUEST(.op = KILLICK_RAW, .server = "zoo", .name = "tools/call",
				    .args = "{\"name\":\"echo\",\"arguments\":{\"text\":\"hi\"}}"),
		   0);
	STREQ(killick_result_text(r), "hi");
	killick_result_free(r);
	lab_end(s);
	lab_close(k);
}

TEST(methods_of_the_connection_are_refused)
{
	static const char *const ours[] = { "initialize",
					    "server/discover",
					    "subscriptions/listen",
					    "notifications/initialized",
					    "notifications/cancelled",
					    "",
					    "a\"b",
					    "a\\b",
					    "a\nb",
					    "a b" };
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));
	struct killick_error e;

	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++) {
		EQ(killick_do(s, &KILLICK_REQUEST(.op = KILLICK_RAW, .name = ours[i]), NULL),
		   KILLICK_ERR_USAGE);
		EQ(killick_notify(s, NULL, ours[i], NULL, &e), KILLICK_ERR_USAGE);
	}
	EQ(killick_do(s, &KILLICK_REQUEST(.op = KILLICK_RAW), NULL), KILLICK_ERR_USAGE);
	lab_end(s);
	lab_close(k);
}

TEST(a_notification_arrives_as_it_was_written)
{
	struct killick *k = LAB();
	struct killick_session *s = recorded(k, "good", "", &KILLICK_SESSION_OPTIONS());
	struct killick_error e = { 0 };

	EQ(killick_notify(s, "zoo", "notifications/x", NULL, &e), 0);
	OK(was_read(s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}"));
	EQ(killick_notify(s, NULL, "notifications/y", "{\"_meta\":{\"a\":1},\n\"b\": 2}", &e), 0);
	OK(was_read(s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/y\",\"params\":"
		       "{\"_meta\":{\"a\":1}, \"b\": 2}}"));
	EQ(killick_notify(s, "other", "notifications/x", NULL, &e), KILLICK_ERR_NO_SERVER);
	EQ(killick_notify(s, "zoo", "notifications/x", "[]", &e), KILLICK_ERR_USAGE);
	EQ(killick_session_close(s, NULL, NULL), 0);
	EQ(killick_notify(s, "zoo", "notifications/x", NULL, &e), KILLICK_ERR_CLOSED);
	killick_session_free(s);
	lab_close(k);
}

TEST(a_notification_to_a_server_that_does_not_read_is_refused, .timeout_ms = 60000)
{
	enum { SIZE = 4 << 20, TIMES = 64 };
	struct killick *k = LAB();
	struct killick_session *s = lab_session_with(k, SERVERS({ "zoo", "stopread" }),
						     &KILLICK_SESSION_OPTIONS(.grace_ms = 100));
	struct killick_error e = { 0 };
	char *params = malloc(SIZE + 32);
	int code = 0;

	OK(params);
	memcpy(params, "{\"text\":\"", 9);
	memset(params + 9, 'y', SIZE);
	memcpy(params + 9 + SIZE, "\"}", 3);
	for (int i = 0; i < TIMES && code == 0; i++)
		code = killick_notify(s, "zoo", "notifications/x", params, &e);
	EQ(code, KILLICK_ERR_BUSY);
	STREQ(e.text, "server 'zoo': the server does not read its stdin");
	free(params);
	lab_end(s);
	lab_close(k);
}

TEST(a_notification_does_not_start_a_server)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo" }));
	struct killick_error e = { 0 };

	lab_call(s, "zoo", "crash", "{\"code\":1}", KILLICK_ERR_EXITED, NULL, 0);
	EQ(killick_notify(s, "zoo", "notifications/x", NULL, &e), KILLICK_ERR_START);
	OK(strstr(e.text, "'zoo'"));
	EQ(lab_state(s, "zoo"), KILLICK_GONE);
	lab_end(s);
	lab_close(k);
}

/* --- features --- */

static bool declares(struct killick_session *s, const char *capabilities)
{
	char line[512];

	snprintf(line, sizeof(line),
		 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
		 "\"protocolVersion\":\"2025-11-25\",\"capabilities\":%s," CLIENT "}}",
		 capabilities);
	return was_read(s, line);
}

static void expect_declared(const struct killick_session_options *options, const char *capabilities)
{
	struct killick *k = LAB();
	struct killick_session *s = recorded(k, "good", "", options);

	OK(declares(s, capabilities));
	lab_end(s);
	lab_close(k);
}

static void on_ask(void *ctx, struct killick_ask *a)
{
	lab_add(ctx);
	killick_answer(a, "{\"roots\":[]}", NULL);
}

TEST(features_are_declared_as_the_host_chooses)
{
	struct lab_count asked = LAB_COUNT_INIT;
	const struct killick_handlers *h =
		&KILLICK_HANDLERS(.ctx = &asked, .on_ask = on_ask,
				  .answers = KILLICK_ROOTS | KILLICK_SAMPLING);

	expect_declared(&KILLICK_SESSION_OPTIONS(), "{}");
	expect_declared(&KILLICK_SESSION_OPTIONS(.handlers = h), "{\"roots\":{},\"sampling\":{}}");
	expect_declared(&KILLICK_SESSION_OPTIONS(.handlers = h, .features = KILLICK_NO_FEATURES),
			"{}");
	expect_declared(&KILLICK_SESSION_OPTIONS(.handlers = h, .features = KILLICK_ELICITATION),
			"{\"elicitation\":{\"form\":{},\"url\":{}}}");
	expect_declared(&KILLICK_SESSION_OPTIONS(.features = KILLICK_ROOTS | KILLICK_ROOTS_CHANGE),
			"{\"roots\":{\"listChanged\":true}}");
}

TEST(an_elicitation_that_nobody_can_answer_is_cancelled_and_not_declined)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session_with(
		k, SERVERS({ "zoo" }), &KILLICK_SESSION_OPTIONS(.features = KILLICK_ELICITATION));
	struct killick_result *r = lab_try(
		s, "zoo", "ask", "{\"method\":\"elicitation/create\",\"params\":{}}", LAB_MS);
	size_t len;
	const char *json = killick_result_json(r, &len);
	const char *action;

	EQ(killick_result_code(r), 0);
	action = killick_json_find(json, len, "structuredContent.answer.result.action", &len);
	OK(action && len == 8 && memcmp(action, "\"cancel\"", 8) == 0);
	killick_result_free(r);
	lab_end(s);
	lab_close(k);
}

TEST(servers_that_know_of_it_are_told_that_the_roots_changed)
{
	const unsigned both = KILLICK_ROOTS | KILLICK_ROOTS_CHANGE;
	struct killick *k = LAB();
	struct killick_session *s =
		recorded(k, "good", "", &KILLICK_SESSION_OPTIONS(.features = both));
	struct killick_session *other =
		lab_session_with(k, SERVERS({ "zoo" }, { "b" }),
				 &KILLICK_SESSION_OPTIONS(.features = KILLICK_ROOTS));
	char text[32];

	EQ(killick_roots_changed(s, NULL), 1);
	OK(was_read(s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\"}"));
	lab_seen(s, "zoo", "roots", text, sizeof(text));
	STREQ(text, "1");
	EQ(killick_roots_changed(other, NULL), 0);
	lab_seen(other, "zoo", "roots", text, sizeof(text));
	STREQ(text, "0");
	EQ(killick_roots_changed(NULL, NULL), KILLICK_ERR_USAGE);
	lab_end(other);
	lab_end(s);
	lab_close(k);
}

/* --- sessions by command --- */

TEST(a_command_has_variables_a_directory_and_a_time_to_start)
{
	char zoo[256], home[160];
	char *argv[] = { zoo, (char[]){ "mcp" }, NULL };
	char *slow[] = { zoo, (char[]){ "mcp" }, (char[]){ "mute" }, NULL };
	char *env[] = { (char[]){ "ZOO_EXTRA=yes" }, home, NULL };
	char *bad[] = { (char[]){ "NOVALUE" }, NULL };
	struct killick *k = LAB();
	struct killick_session *s = NULL;
	struct killick_error e = { 0 };
	char path[64], text[1024], there[512];
	pid_t pid;
	ssize_t n;

	snprintf(zoo, sizeof(zoo), "%s", t_program("ZOO", "build/tests/zoo/killick-zoo"));
	snprintf(home, sizeof(home), "HOME=%s", t_audit.dir);
	EQ(killick_session_open(
		   k, &KILLICK_SESSION_OPTIONS(.command = argv, .env = env, .cwd = t_audit.dir), &s,
		   &e),
	   0);
	lab_call(s, "server", "env", NULL, 0, text, sizeof(text));
	OK(strstr(text, "ZOO_EXTRA") && strstr(text, "PATH"));
	pid = lab_pid(s, "server");
	snprintf(path, sizeof(path), "/proc/%d/cwd", (int)pid);
	n = readlink(path, there, sizeof(there) - 1);
	OK(n > 0);
	there[n] = '\0';
	STREQ(there, t_audit.dir);
	lab_end(s);

	s = NULL; /* no server is left behind when one is too slow; it is not required, so this
		     works */
	EQ(killick_session_open(k, &KILLICK_SESSION_OPTIONS(.command = slow, .startup_ms = 200), &s,
				&e),
	   0);
	lab_errors(s, "server", text, sizeof(text), NULL, 0);
	OK(strstr(text, "within 0.2 s"));
	lab_end(s);

	s = NULL;
	EQ(killick_session_open(k, &KILLICK_SESSION_OPTIONS(.command = argv, .env = bad), &s, &e),
	   KILLICK_ERR_CONFIG);
	OK(strstr(e.text, "NOVALUE"));
	EQ(killick_session_open(
		   k, &KILLICK_SESSION_OPTIONS(.config = "{\"mcpServers\":{}}", .cwd = "/"), &s,
		   &e),
	   KILLICK_ERR_USAGE);
	OK(strstr(e.text, "cwd") && !s);
	lab_close(k);
}

/* --- JSON --- */

TEST(status_and_report_can_be_had_as_json)
{
	struct killick *k = LAB();
	struct killick_session *s =
		lab_session_with(k, SERVERS({ "zoo" }, { "off", .more = "\"disabled\":true" }),
				 &KILLICK_SESSION_OPTIONS(.label = "a \"label\""));
	struct killick_status *st = NULL;
	struct killick_report *r = NULL;
	char *json, *word;
	size_t len;

	EQ(killick_session_status(s, &st, NULL), 0);
	json = killick_status_json(st);
	word = killick_json_string(json, strlen(json), "0.server");
	STREQ(word, "zoo");
	killick_text_free(word);
	word = killick_json_string(json, strlen(json), "1.state");
	STREQ(word, "disabled");
	killick_text_free(word);
	OK(killick_json_find(json, strlen(json), "0.capabilities.tools.listChanged", &len));
	killick_text_free(json);
	killick_status_free(st);

	EQ(killick_session_close(s, &r, NULL), 0);
	json = killick_report_json(r);
	word = killick_json_string(json, strlen(json), "endings.0.session");
	STREQ(word, "a \"label\"");
	killick_text_free(word);
	OK(killick_json_find(json, strlen(json), "endings.0.exit.code", &len));
	OK(killick_json_find(json, strlen(json), "endings.0.proof.0", &len));
	OK(killick_json_find(json, strlen(json), "endings.0.report.tree", &len));
	OK(!strncmp(killick_json_find(json, strlen(json), "proved", &len), "true", 4));
	killick_text_free(json);
	killick_report_free(r);
	OK(!killick_status_json(NULL) && !killick_report_json(NULL));
	killick_session_free(s);
	lab_close(k);
}
