/* desk.c - one session of the hub: both eras on both sides, one server and several. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"
#include "mcp/face.h"

#define LEGACY SERVERS({ "zoo" })
#define MODERN SERVERS({ "zoo", "modern", .more = "\"era\":\"modern\"" })
#define ALL    "{\"elicitation\":{},\"sampling\":{},\"roots\":{}}"

/* The combinations of clients and servers. */
struct combination {
	bool modern; /* the client */
	const struct lab_server *servers;
	bool modern_server;
};
#define COMBINATIONS                                                                               \
	{                                                                                          \
		{ false, LEGACY, false }, { false, MODERN, true }, { true, LEGACY, false },        \
			{ true, MODERN, true },                                                    \
	}
#define EACH_COMBINATION(c)                                                                        \
	for (const struct combination all_[] = COMBINATIONS, *(c) = all_; (c) < all_ + 4; (c)++)

static void meet(struct guest *g, struct killick *k, const struct combination *c)
{
	const char *line;

	guest_open(g, k, c->servers);
	line = c->modern ? guest_discover(g) : guest_meet(g, ALL);
	HAS(line, "\"result\"");
	HAS(line, "killick-zoo");
	HAS(line, "Behave.");
}

TEST(each_era_of_a_client_can_use_each_era_of_a_server, .timeout_ms = 40000)
{
	struct killick *k = LAB();

	EACH_COMBINATION(c)
	{
		struct guest g;

		meet(&g, k, c);
		HAS(guest_call(&g, "echo", "{\"text\":\"hello\"}"), "\"text\":\"hello\"");
		HAS(guest_do(&g, "tools/list", ""), "\"name\":\"env\"");
		HAS(guest_do(&g, "prompts/list", ""), "\"name\":\"ask\"");
		HAS(guest_do(&g, "resources/list", ""), "\"zoo://g\"");
		HAS(guest_do(&g, "resources/templates/list", ""), "zoo://{x}/4");
		HAS(guest_do(&g, "resources/read", "\"uri\":\"zoo://a\""), "of zoo://a");
		HAS(guest_do(&g, "prompts/get",
			     "\"name\":\"greet\",\"arguments\":{\"who\":\"you\"}"),
		    "\"text\":\"you\"");
		HAS(guest_do(&g, "completion/complete",
			     "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"greet\"},\"argument\":"
			     "{\"name\":\"who\",\"value\":\"t\"}"),
		    "[\"one\",\"two\"]");
		HAS(guest_call(&g, "fail", "{}"), "\"isError\":true");
		HAS(guest_call(&g, "nothing", "{}"), "\"code\":-32602");
		HAS(guest_do(&g, "tools/list", "\"cursor\":\"1\""), "\"code\":-32602");
		EQ(guest_leave(&g), 1);
	}
	lab_close(k);
}

TEST(a_session_that_was_never_opened_has_no_report)
{
	struct killick *k = LAB();
	struct guest g;

	guest_open(&g, k, LEGACY);
	EQ(guest_leave(&g), 0);
	lab_close(k);
}

/* --- byte for byte --- */

#define ODD                                                                                        \
	"{\"z\":1e400,\"a\":-0, \"m\" : 1.0,\"a\":[1.50,-0.0,1E-7,123456789012345678901234567890]" \
	",\"\\u0041\":\"\\u0041\\/\\ud83d\\ude00\\u0000\",\"\":{},\"_meta\":{\"x\":null}}"

/* The last call of a tool that the server has read. */
static char *last_read(const char *path)
{
	FILE *f = fopen(path, "re");
	char *line = NULL, *last = NULL;
	size_t room = 0;
	ssize_t len;

	OK(f);
	while ((len = getline(&line, &room, f)) > 0) {
		if (!strstr(line, "tools/call"))
			continue;
		free(last);
		line[len - 1] = '\0';
		last = strdup(line);
	}
	free(line);
	fclose(f);
	OK(last);
	return last;
}

/* Is the line equal to before, some digits, after? */
static bool is_like(const char *line, const char *before, const char *after)
{
	size_t len = strlen(before), digits;

	if (strncmp(line, before, len) != 0)
		return false;
	digits = strspn(line + len, "0123456789");
	return digits > 0 && strcmp(line + len + digits, after) == 0;
}

TEST(messages_pass_byte_for_byte_in_both_directions)
{
	struct killick *k = LAB();
	char path[128], more[256];
	struct guest g;
	char *read;

	snprintf(path, sizeof(path), "%s/wire", t_audit.dir);
	snprintf(more, sizeof(more), "\"env\":{\"ZOO_WIRE\":\"%s\"}", path);
	guest_open(&g, k, SERVERS({ "zoo", .more = more }));
	guest_meet(&g, ALL);
	guest_send(&g, "{ \"params\" : {\"x\":1e400,\"name\":\"echo\",\"arguments\":{\"n\":-0,"
		       "\"text\":" ODD "},\"_meta\":{\"q\":1.0}},\"extra\":[ ],\"id\":\"a\\u0041\","
		       "\"method\" :\"tools/call\",\"jsonrpc\":\"2.0\"}");
	STREQ(guest_line(&g),
	      "{\"jsonrpc\":\"2.0\",\"id\":\"a\\u0041\",\"result\":{\"content\":[{\"type\":"
	      "\"text\",\"text\":" ODD "}]}}");
	read = last_read(path);
	if (!is_like(read,
		     "{ \"params\" : {\"x\":1e400,\"name\":\"echo\",\"arguments\":{\"n\":-0,"
		     "\"text\":" ODD "},\"_meta\":{\"q\":1.0}},\"extra\":[ ],\"id\":",
		     ",\"method\" :\"tools/call\",\"jsonrpc\":\"2.0\"}"))
		FAIL("the server has read %s", read);
	free(read);
	guest_leave(&g);
	unlink(path);
	lab_close(k);
}

TEST(a_qualified_name_is_the_only_change_with_several_servers)
{
	struct killick *k = LAB();
	char path[128], more[256];
	struct guest g;
	char *read;

	snprintf(path, sizeof(path), "%s/wire", t_audit.dir);
	snprintf(more, sizeof(more), "\"env\":{\"ZOO_WIRE\":\"%s\"}", path);
	guest_open(&g, k, SERVERS({ "one" }, { "two", .more = more }));
	guest_meet(&g, ALL);
	guest_send(&g, "{\"jsonrpc\":\"2.0\",\"id\":-0,\"method\":\"tools/call\",\"params\":{"
		       "\"arguments\":{\"text\":" ODD "},\"name\" : \"two__\\u0065cho\"}}");
	STREQ(guest_line(&g), "{\"jsonrpc\":\"2.0\",\"id\":-0,\"result\":{\"content\":[{\"type\":"
			      "\"text\",\"text\":" ODD "}]}}");
	read = last_read(path);
	if (!is_like(read, "{\"jsonrpc\":\"2.0\",\"id\":",
		     ",\"method\":\"tools/call\",\"params\":{\"arguments\":{\"text\":" ODD
		     "},\"name\" : \"echo\"}}"))
		FAIL("the server has read %s", read);
	free(read);
	EQ(guest_leave(&g), 2);
	unlink(path);
	lab_close(k);
}

/* --- requests in flight --- */

TEST(progress_has_the_token_of_its_request)
{
	struct killick *k = LAB();

	EACH_COMBINATION(c)
	{
		struct guest g;
		long a, b;

		meet(&g, k, c);
		g.meta = "\"progressToken\":\"t\\u0041\"";
		if (c->modern) {
			a = guest_ask(&g, "tools/call",
				      "\"name\":\"progress\",\"arguments\":{\"n\":2}");
			b = guest_ask(&g, "tools/call",
				      "\"name\":\"progress\",\"arguments\":{\"n\":3}");
		} else {
			a = guest_ask(&g, "tools/call",
				      "\"name\":\"progress\",\"arguments\":{\"n\":2},\"_meta\":"
				      "{\"progressToken\":\"t\\u0041\"}");
			b = guest_ask(&g, "tools/call",
				      "\"name\":\"progress\",\"arguments\":{\"n\":3},\"_meta\":"
				      "{\"progressToken\":\"t\\u0041\"}");
		}
		HAS(guest_answer(&g, a), "done");
		HAS(guest_answer(&g, b), "done");
		EQ(guest_count(&g, "\"progressToken\":\"t\\u0041\"", 0), 5);
		EQ(guest_count(&g, "\"total\":3", 0), 3);
		guest_leave(&g);
	}
	lab_close(k);
}

TEST(a_cancelled_request_is_cancelled_in_the_server_and_not_answered)
{
	struct killick *k = LAB();

	EACH_COMBINATION(c)
	{
		struct guest g;
		long id;

		meet(&g, k, c);
		id = guest_ask(&g, "tools/call", "\"name\":\"block\",\"arguments\":{}");
		guest_call(&g, "pid", "{}");
		guest_send(&g,
			   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
			   "\"params\":{\"requestId\":%ld}}",
			   id);
		HAS(guest_call(&g, "seen", "{}"), "\"cancelled\":1");
		guest_send(&g, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
			       "\"params\":{\"requestId\":987654}}");
		HAS(guest_call(&g, "seen", "{}"), "\"cancelled\":1");
		EQ(g.note_count, 0);
		guest_leave(&g);
	}
	lab_close(k);
}

TEST(a_client_that_leaves_ends_its_calls_and_its_servers)
{
	struct killick *k = LAB();

	EACH_COMBINATION(c)
	{
		struct guest g;

		meet(&g, k, c);
		guest_ask(&g, "tools/call", "\"name\":\"block\",\"arguments\":{}");
		guest_ask(&g, "tools/call", "\"name\":\"sleep\",\"arguments\":{\"ms\":100}");
		guest_call(&g, "pid", "{}");
		EQ(guest_leave(&g), 1);
		EQ(lab_living(), 0);
	}
	lab_close(k);
}

TEST(a_crash_fails_the_calls_in_flight_and_the_next_call_starts_the_server)
{
	struct killick *k = LAB();
	struct guest g;
	long id;

	guest_open(&g, k, LEGACY);
	guest_meet(&g, NULL);
	id = guest_ask(&g, "tools/call", "\"name\":\"block\",\"arguments\":{}");
	HAS(guest_call(&g, "crash", "{}"), "\"code\":-32603");
	HAS(guest_answer(&g, id), "exited with status 1");
	HAS(guest_call(&g, "echo", "{\"text\":\"again\"}"), "\"text\":\"again\"");
	guest_leave(&g);
	lab_close(k);
}

TEST(a_call_that_takes_too_long_is_answered_with_a_timeout)
{
	struct killick *k = LAB();
	struct guest g;

	guest_open(&g, k, SERVERS({ "zoo", .more = "\"toolTimeoutSec\":0.2" }));
	guest_meet(&g, NULL);
	HAS(guest_call(&g, "block", "{}"), "\"code\":-32001");
	HAS(guest_call(&g, "seen", "{}"), "\"cancelled\":1");
	guest_leave(&g);
	lab_close(k);
}

/* --- questions of servers --- */

#define QUESTION                                                                                   \
	"{\"method\":\"elicitation/create\",\"params\":{\"message\":\"m\",\"requestedSchema\":"    \
	"{\"type\":\"object\",\"properties\":{}},\"n\":1.0}}"

TEST(a_legacy_client_is_asked_by_a_request)
{
	struct killick *k = LAB();
	const struct combination all[] = { { false, LEGACY, false }, { false, MODERN, true } };

	for (size_t i = 0; i < 2; i++) {
		struct guest g;
		char id[64] = "";
		const char *ask;
		long call;

		meet(&g, k, &all[i]);
		call = guest_ask(&g, "tools/call", "\"name\":\"ask\",\"arguments\":" QUESTION);
		ask = guest_await(&g, "\"method\":\"elicitation/create\"");
		HAS(ask, "\"n\":1.0");
		sscanf(strstr(ask, "\"id\":") + 5, "%63[^,]", id);
		guest_send(&g,
			   "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"action\":\"accept\","
			   "\"content\":{\"v\":1e400}}}",
			   id);
		HAS(guest_answer(&g, call),
		    "{\"answer\":{\"result\":{\"action\":\"accept\",\"content\":{\"v\":1e400}}}");
		guest_leave(&g);
	}
	lab_close(k);
}

TEST(a_modern_client_is_asked_by_a_result)
{
	struct killick *k = LAB();
	const struct combination all[] = { { true, LEGACY, false }, { true, MODERN, true } };

	for (size_t i = 0; i < 2; i++) {
		struct guest g;
		const char *line, *state;
		char key[64] = "", retry[1024], text[512];

		meet(&g, k, &all[i]);
		line = guest_do(&g, "tools/call", "\"name\":\"ask\",\"arguments\":" QUESTION);
		HAS(line, "\"resultType\":\"input_required\"");
		HAS(line, "\"n\":1.0");
		sscanf(strstr(line, "\"inputRequests\":{") + 17, "%63[^:]", key);
		state = strstr(line, "\"requestState\":\"");
		OK(state);
		sscanf(state + 16, "%511[^\"]", text);
		snprintf(
			retry, sizeof(retry),
			"\"name\":\"ask\",\"arguments\":" QUESTION
			",\"inputResponses\":{%s:{\"action\":\"accept\",\"content\":{\"v\":1e400}}}"
			",\"requestState\":\"%s\"",
			key, text);
		line = guest_do(&g, "tools/call", retry);
		HAS(line, "{\"answer\":{\"result\":{\"action\":\"accept\",\"content\":{\"v\":"
			  "1e400}}}");
		HAS(line, "\"resultType\":\"complete\"");
		guest_leave(&g);
	}
	lab_close(k);
}

/* The question of one call must not be attached to another call: the first one is cancelled, and
 * from then on the server gets one call of this client at a time. */
TEST(a_question_with_two_calls_of_a_modern_client_reaches_its_own_call)
{
	const struct combination modern = { true, LEGACY, false };
	struct killick *k = LAB();
	struct guest g;

	meet(&g, k, &modern);
	for (int round = 0; round < 2; round++) {
		long sleeps = guest_ask(&g, "tools/call",
					"\"name\":\"sleep\",\"arguments\":{\"ms\":400}");
		long asks = guest_ask(&g, "tools/call", "\"name\":\"ask\",\"arguments\":" QUESTION);

		HAS(guest_answer(&g, asks), round ? "\"input_required\"" : "\"cancel\"");
		HAS_NOT(guest_answer(&g, sleeps), "input_required");
	}
	guest_leave(&g);
	lab_close(k);
}

TEST(a_server_that_asks_for_an_undeclared_feature_is_refused)
{
	struct killick *k = LAB();
	struct guest g;

	guest_open(&g, k, LEGACY);
	guest_meet(&g, "{}");
	HAS(guest_do(&g, "tools/call", "\"name\":\"ask\",\"arguments\":" QUESTION),
	    "{\"answer\":{\"error\":");
	guest_leave(&g);
	lab_close(k);
}

TEST(a_question_of_a_server_that_starts_waits_for_the_client)
{
	struct killick *k = LAB();
	struct guest g;
	char id[64] = "";

	/* the session is open when the second server is ready */
	guest_open(&g, k, SERVERS({ "zoo", "asksroots" }, { "slow", "slowstart", "200" }));
	guest_meet(&g, ALL);
	sscanf(strstr(guest_await(&g, "\"method\":\"roots/list\""), "\"id\":") + 5, "%63[^,]", id);
	guest_send(&g, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"roots\":[]}}", id);
	HAS(guest_call(&g, "zoo__seen", "{}"), "\"late\":{\"result\":{\"roots\":[]}}");
	guest_leave(&g);
	lab_close(k);
}

TEST(an_error_of_the_client_declines_the_question)
{
	struct killick *k = LAB();
	struct guest g;
	char id[64] = "";
	long call;

	guest_open(&g, k, LEGACY);
	guest_meet(&g, ALL);
	call = guest_ask(&g, "tools/call",
			 "\"name\":\"ask\",\"arguments\":{\"method\":\"sampling/createMessage\","
			 "\"params\":{\"messages\":[],\"maxTokens\":1}}");
	sscanf(strstr(guest_await(&g, "sampling/createMessage"), "\"id\":") + 5, "%63[^,]", id);
	guest_send(&g,
		   "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"data\":-0,\"code\":-77,\"message\":"
		   "\"n\\u006f\"}}",
		   id);
	HAS(guest_answer(&g, call),
	    "{\"answer\":{\"error\":{\"data\":-0,\"code\":-77,\"message\":\"n\\u006f\"}}");
	guest_leave(&g);
	lab_close(k);
}

/* --- notifications --- */

TEST(log_messages_follow_the_level_of_the_client)
{
	struct killick *k = LAB();

	EACH_COMBINATION(c)
	{
		struct guest g;

		meet(&g, k, c);
		if (c->modern) {
			guest_call(&g, "log", "{\"text\":\"quiet\"}");
			g.meta = "\"io.modelcontextprotocol/logLevel\":\"error\"";
			guest_call(&g, "log", "{\"text\":\"quiet\"}");
			g.meta = "\"io.modelcontextprotocol/logLevel\":\"info\"";
		} else {
			HAS(guest_do(&g, "logging/setLevel", "\"level\":\"error\""),
			    "\"result\":{}");
			guest_call(&g, "log", "{\"text\":\"quiet\"}");
			HAS(guest_do(&g, "logging/setLevel", "\"level\":\"loud\""), "-32602");
			HAS(guest_do(&g, "logging/setLevel", "\"level\":\"info\""),
			    "\"result\":{}");
		}
		guest_call(&g, "log", "{\"text\":\"heard\",\"n\":2}");
		EQ(guest_count(&g, "\"data\":\"heard\"", 0), 2);
		EQ(guest_count(&g, "\"data\":\"quiet\"", 0), 0);
		guest_leave(&g);
	}
	lab_close(k);
}

#define LISTEN                                                                                     \
	"\"notifications\":{\"toolsListChanged\":true,\"resourceSubscriptions\":[\"zoo://a\"]}"

TEST(changes_of_lists_are_reported_once)
{
	struct killick *k = LAB();

	EACH_COMBINATION(c)
	{
		struct guest g;

		meet(&g, k, c);
		if (c->modern) {
			guest_ask(&g, "subscriptions/listen", LISTEN);
			guest_await(&g, "notifications/subscriptions/acknowledged");
		}
		guest_count(&g, "x", 100); /* what the first lists of the server made */
		while (g.note_count)
			guest_line(&g);
		guest_call(&g, "notify", "{\"what\":\"tools\"}");
		guest_call(&g, "notify", "{\"what\":\"tools\"}");
		guest_call(&g, "notify", "{\"what\":\"tools\"}");
		guest_await(&g, "notifications/tools/list_changed");
		EQ(guest_count(&g, "notifications/tools/list_changed", 100), 0);
		guest_leave(&g);
	}
	lab_close(k);
}

TEST(changes_of_a_resource_reach_the_client_that_subscribed)
{
	struct killick *k = LAB();

	EACH_COMBINATION(c)
	{
		struct guest g;

		meet(&g, k, c);
		if (c->modern) {
			guest_ask(&g, "subscriptions/listen", LISTEN);
			guest_await(&g, "notifications/subscriptions/acknowledged");
		} else {
			HAS(guest_do(&g, "resources/subscribe", "\"uri\":\"zoo://a\""),
			    "\"result\":{}");
		}
		/* the desk of a modern client subscribes without a request of the client */
		guest_do(&g, "resources/read", "\"uri\":\"zoo://a\"");
		guest_call(&g, "notify", "{\"what\":\"updated\",\"uri\":\"zoo://b\"}");
		guest_call(&g, "notify", "{\"what\":\"updated\",\"uri\":\"zoo://a\"}");
		HAS(guest_await(&g, "notifications/resources/updated"), "\"uri\":\"zoo://a\"");
		if (!c->modern) {
			guest_do(&g, "resources/unsubscribe", "\"uri\":\"zoo://a\"");
			guest_call(&g, "notify", "{\"what\":\"updated\",\"uri\":\"zoo://a\"}");
		}
		EQ(guest_count(&g, "notifications/resources/updated", 0), 0);
		guest_leave(&g);
	}
	lab_close(k);
}

TEST(refused_subscriptions_do_not_count_for_the_limit)
{
	const struct combination legacy = { false, LEGACY, false };
	struct killick *k = LAB();
	struct guest g;

	meet(&g, k, &legacy);
	for (int i = 0; i < FACE_WATCHES_MAX + 1; i++) {
		char params[64];

		snprintf(params, sizeof(params), "\"uri\":\"refused://%d\"", i);
		HAS(guest_do(&g, "resources/subscribe", params), "\"error\"");
	}
	HAS(guest_do(&g, "resources/subscribe", "\"uri\":\"zoo://a\""), "\"result\"");
	guest_leave(&g);
	lab_close(k);
}

TEST(a_server_with_roots_is_notified_when_they_change)
{
	struct killick *k = LAB();
	struct guest g;

	guest_open(&g, k, LEGACY);
	guest_meet(&g, "{\"roots\":{\"listChanged\":true}}");
	guest_send(&g, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\"}");
	HAS(guest_call(&g, "seen", "{}"), "\"roots\":1");
	guest_leave(&g);
	lab_close(k);
}
