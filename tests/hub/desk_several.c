/* desk_several.c - one session of the hub with several servers; refresh; the control API. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/loop.h"
#include "guest.h"
#include "session/runtime.h"

#define TWO SERVERS({ "one" }, { "two", "modern", .more = "\"era\":\"modern\"" })

static void meet_two(struct guest *g, struct killick *k)
{
	guest_open(g, k, TWO);
	guest_meet(g, NULL);
}

/* How often does the text contain the word? */
static int times(const char *text, const char *word)
{
	int n = 0;

	for (const char *p = text; (p = strstr(p, word)); p += strlen(word))
		n++;
	return n;
}

TEST(lists_of_several_servers_are_one_list_in_the_order_of_the_config)
{
	struct killick *k = LAB();
	struct guest g;
	const char *line;

	guest_open(&g, k, TWO);
	line = guest_meet(&g, NULL);
	HAS(line, "\"serverInfo\":{\"name\":\"killick\"");
	HAS(line, "# one\\u000a\\u000aBehave.\\u000a\\u000a# two\\u000a\\u000aBehave.");
	HAS(line, "\"tools\":{\"listChanged\":true}");
	HAS(line, "\"resources\":{\"subscribe\":true,\"listChanged\":true}");
	line = guest_do(&g, "tools/list", "");
	HAS(line, "{\"name\":\"one__echo\",\"description\":\"\",\"inputSchema\":{\"type\":"
		  "\"object\"}}");
	HAS(line, "\"two__echo\"");
	OK(strstr(line, "one__env") < strstr(line, "two__echo"));
	EQ(times(line, "\"name\""), 30);
	HAS_NOT(line, "nextCursor");
	line = guest_do(&g, "prompts/list", "");
	HAS(line, "\"one__greet\"");
	HAS(line, "\"two__greet\"");
	EQ(times(guest_do(&g, "resources/list", ""), "zoo://a"), 2);
	EQ(times(guest_do(&g, "resources/templates/list", ""), "zoo://{x}/1"), 2);
	EQ(guest_leave(&g), 2);
	lab_close(k);
}

TEST(names_find_their_server_before_they_were_listed)
{
	struct killick *k = LAB();
	struct guest g;

	meet_two(&g, k);
	HAS(guest_call(&g, "two__echo", "{\"text\":\"hello\"}"), "\"text\":\"hello\"");
	HAS(guest_do(&g, "prompts/get", "\"name\":\"one__greet\",\"arguments\":{\"who\":\"me\"}"),
	    "\"text\":\"me\"");
	HAS(guest_do(&g, "completion/complete",
		     "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"two__greet\"},\"argument\":"
		     "{\"name\":\"who\",\"value\":\"t\"}"),
	    "[\"one\",\"two\"]");
	HAS(guest_do(&g, "completion/complete",
		     "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"zoo://{x}/1\"},\"argument\":"
		     "{\"name\":\"x\",\"value\":\"t\"}"),
	    "[\"one\",\"two\"]");
	HAS(guest_call(&g, "echo", "{}"), "\"code\":-32602");
	HAS(guest_call(&g, "three__echo", "{}"), "\"code\":-32602");
	HAS(guest_do(&g, "prompts/get", "\"name\":\"greet\""), "\"code\":-32602");
	HAS(guest_do(&g, "x/y", ""), "\"code\":-32601");
	guest_leave(&g);
	lab_close(k);
}

TEST(resources_are_read_from_the_server_that_has_them)
{
	struct killick *k = LAB();
	struct guest g;

	guest_open(&g, k, SERVERS({ "plain", "bare" }, { "zoo" }, { "odd", "uris", "odd://" }));
	guest_meet(&g, NULL);
	HAS(guest_do(&g, "resources/read", "\"uri\":\"zoo://a\""), "of zoo://a");
	HAS(guest_do(&g, "resources/read", "\"uri\":\"odd://a\""), "of odd://a");
	/* by the template, and by asking one server after the other */
	HAS(guest_do(&g, "resources/read", "\"uri\":\"odd://new/1\""), "of odd://new/1");
	HAS(guest_do(&g, "resources/read", "\"uri\":\"hidden:odd://a\""), "of hidden:odd://a");
	HAS(guest_do(&g, "resources/read", "\"uri\":\"none://a\""), "no such resource");
	HAS(guest_do(&g, "resources/subscribe", "\"uri\":\"odd://a\""), "\"result\":{}");
	guest_call(&g, "odd__notify", "{\"what\":\"updated\",\"uri\":\"odd://a\"}");
	guest_await(&g, "notifications/resources/updated");
	HAS(guest_do(&g, "resources/unsubscribe", "\"uri\":\"odd://a\""), "\"result\":{}");
	guest_call(&g, "odd__notify", "{\"what\":\"updated\",\"uri\":\"odd://a\"}");
	EQ(guest_count(&g, "notifications/resources/updated", 0), 0);
	guest_leave(&g);
	lab_close(k);
}

TEST(a_failed_server_is_left_out_and_a_log_message_says_why)
{
	struct killick *k = LAB();
	struct guest g;

	guest_open(&g, k, SERVERS({ "bad", "diesnow" }, { "zoo", "bare" })); /* without logging */
	HAS(guest_meet(&g, NULL), "\"logging\":{}");
	HAS(guest_await(&g, "notifications/message"), "cannot open the database");
	HAS(guest_do(&g, "logging/setLevel", "\"level\":\"info\""), "\"result\":{}");
	EQ(times(guest_do(&g, "tools/list", ""), "\"zoo__echo\""), 1);
	HAS(guest_call(&g, "zoo__echo", "{\"text\":\"x\"}"), "\"text\":\"x\"");
	guest_leave(&g);
	lab_close(k);
}

TEST(log_messages_of_killick_follow_the_level_of_the_client)
{
	struct killick *k = LAB();
	struct guest g;

	guest_open(&g, k, SERVERS({ "long", "pages" }, { "zoo" }));
	guest_meet(&g, NULL);
	guest_do(&g, "logging/setLevel", "\"level\":\"error\"");
	HAS(guest_do(&g, "tools/list", ""), "\"zoo__echo\"");
	EQ(guest_count(&g, "\"logger\":\"killick\"", 0), 0);
	guest_do(&g, "logging/setLevel", "\"level\":\"warning\"");
	HAS(guest_do(&g, "tools/list", ""), "\"zoo__echo\"");
	HAS(guest_await(&g, "\"logger\":\"killick\""), "\"level\":\"warning\"");
	guest_leave(&g);
	lab_close(k);
}

TEST(a_program_that_names_the_server_uses_the_ids_of_tasks_of_that_server)
{
	struct killick *k = LAB();
	struct guest g;

	guest_open_bare(&g, k, SERVERS({ "one", "tasks" }, { "two", "tasks" }));
	HAS(guest_request(&g, "one", "tools/call",
			  "{\"name\":\"work\",\"arguments\":{\"text\":\"first\",\"polls\":0},"
			  "\"task\":{}}"),
	    "\"taskId\":\"t\\u00311\"");
	HAS(guest_request(&g, "one", "tasks/result", "{\"taskId\":\"t11\"}"), "first");
	guest_leave(&g);
	lab_close(k);
}

TEST(initialize_fails_with_the_reason_when_no_server_can_be_used)
{
	struct killick *k = LAB();
	const struct lab_server *const lists[] = {
		SERVERS({ "bad", "diesnow" }),
		SERVERS({ "bad", "diesnow" }, { "worse", "dies" }),
		SERVERS({ "zoo" }, { "bad", "diesnow", .more = "\"required\":true" }),
	};

	for (size_t i = 0; i < 3; i++) {
		struct guest g;
		const char *line;

		guest_open(&g, k, lists[i]);
		line = guest_meet(&g, NULL);
		HAS(line, "\"error\"");
		HAS(line, "cannot open the database");
		lab_await(&g.closed, 1);
		EQ(g.error.code, KILLICK_ERR_START);
		guest_bury(&g);
		EQ(lab_living(), 0);
	}
	lab_close(k);
}

TEST(the_config_hides_tools)
{
	struct killick *k = LAB();
	struct guest g;
	const char *line;

	guest_open(&g, k, SERVERS({ "zoo", .more = "\"disabledTools\":[\"crash\"]" }));
	guest_meet(&g, NULL);
	line = guest_do(&g, "tools/list", "");
	HAS(line, "\"echo\"");
	HAS_NOT(line, "\"crash\"");
	HAS(guest_call(&g, "crash", "{}"), "\"code\":-32602");
	guest_leave(&g);
	lab_close(k);
}

/* --- tasks --- */

TEST(ids_of_tasks_of_several_servers_are_told_apart)
{
	struct killick *k = LAB();
	struct guest g;
	const char *line;
	char one[64], two[64], params[128];

	guest_open(&g, k, SERVERS({ "one", "tasks" }, { "two", "tasks" }, { "zoo" }));
	HAS(guest_meet(&g, NULL), "\"tasks\":{");
	line = guest_do(&g, "tools/call",
			"\"name\":\"one__work\",\"arguments\":{\"text\":\"first\",\"polls\":0},"
			"\"task\":{}");
	OK(sscanf(strstr(line, "\"taskId\":\"") + 10, "%63[^\"]", one) == 1);
	line = guest_do(&g, "tools/call",
			"\"name\":\"two__work\",\"arguments\":{\"text\":\"second\",\"polls\":0},"
			"\"task\":{}");
	OK(sscanf(strstr(line, "\"taskId\":\"") + 10, "%63[^\"]", two) == 1);
	OK(strcmp(one, two) != 0);
	snprintf(params, sizeof(params), "\"taskId\":\"%s\"", one);
	HAS(guest_do(&g, "tasks/get", params), params);
	HAS(guest_do(&g, "tasks/result", params), "first");
	snprintf(params, sizeof(params), "\"taskId\":\"%s\"", two);
	HAS(guest_do(&g, "tasks/get", params), params);
	HAS(guest_do(&g, "tasks/result", params), "second");
	line = guest_do(&g, "tasks/list", "");
	HAS(line, one);
	HAS(line, two);
	HAS(guest_do(&g, "tasks/get", "\"taskId\":\"t11\""), "\"code\":-32602");
	HAS(guest_do(&g, "tasks/get", "\"taskId\":\"k77.t11\""), "\"code\":-32602");
	guest_leave(&g);
	lab_close(k);
}

TEST(ids_of_tasks_of_one_server_are_not_changed)
{
	struct killick *k = LAB();
	struct guest g;

	guest_open(&g, k, SERVERS({ "one", "tasks" }, { "zoo" }));
	guest_meet(&g, NULL);
	HAS(guest_do(&g, "tools/call",
		     "\"name\":\"one__work\",\"arguments\":{\"text\":\"first\",\"polls\":0},"
		     "\"task\":{}"),
	    "\"taskId\":\"t\\u00311\"");
	HAS(guest_do(&g, "tasks/result", "\"taskId\":\"t11\""), "first");
	guest_leave(&g);
	lab_close(k);
}

/* --- the catalogue --- */

TEST(a_known_server_is_listed_without_a_process)
{
	struct killick *k = LAB();
	struct guest g;

	meet_two(&g, k);
	guest_do(&g, "tools/list", "");
	guest_do(&g, "prompts/list", "");
	EQ(guest_leave(&g), 2);
	EQ(lab_living(), 0);
	meet_two(&g, k);
	EQ(times(guest_do(&g, "tools/list", ""), "\"name\""), 30);
	HAS(guest_do(&g, "prompts/list", ""), "two__greet");
	EQ(lab_living(), 0);
	HAS(guest_call(&g, "two__echo", "{\"text\":\"now\"}"), "\"text\":\"now\"");
	EQ(lab_living(), 1);
	guest_leave(&g);
	lab_close(k);
}

TEST(the_log_level_is_sent_to_a_server_that_starts_later)
{
	struct killick *k = LAB();
	struct guest g;

	guest_open(&g, k, SERVERS({ "zoo" }));
	guest_meet(&g, NULL);
	guest_do(&g, "tools/list", "");
	guest_leave(&g);
	guest_open(&g, k, SERVERS({ "zoo" }));
	guest_meet(&g, NULL);
	HAS(guest_do(&g, "logging/setLevel", "\"level\":\"error\""), "\"result\":{}");
	EQ(lab_living(), 0);
	guest_call(&g, "pid", "{}");
	/* the level is sent when the server is ready, which the desk learns in another turn */
	for (double end = t_now_ms() + LAB_MS;
	     !strstr(guest_call(&g, "seen", "{}"), "\"level\":\"error\"");)
		OK(t_now_ms() < end);
	HAS(guest_call(&g, "crash", "{}"), "\"error\"");
	for (double end = t_now_ms() + LAB_MS;
	     !strstr(guest_call(&g, "seen", "{}"), "\"level\":\"error\"");)
		OK(t_now_ms() < end);
	guest_leave(&g);
	lab_close(k);
}

/* --- refresh --- */

TEST(a_refresh_keeps_unchanged_servers_and_reports_changed_lists)
{
	struct killick *k = LAB();
	struct guest g;
	char pid[512], line[512];

	guest_open(&g, k, SERVERS({ "zoo" }));
	guest_meet(&g, NULL);
	snprintf(pid, sizeof(pid), "%s", strstr(guest_call(&g, "pid", "{}"), "\"text\":"));
	guest_count(&g, "x", 100);
	while (g.note_count)
		guest_line(&g);
	guest_refresh(&g, TWO);
	guest_await(&g, "notifications/tools/list_changed");
	HAS(guest_do(&g, "tools/list", ""), "two__echo");
	guest_refresh(&g, SERVERS({ "zoo" }, { "two", "modern", .more = "\"era\":\"modern\"" }));
	guest_await(&g, "notifications/tools/list_changed");
	HAS_NOT(guest_do(&g, "tools/list", ""), "one__echo");
	snprintf(line, sizeof(line), "%s", guest_call(&g, "zoo__pid", "{}"));
	snprintf(pid, sizeof(pid), "%s", strstr(line, "\"text\":"));
	guest_count(&g, "x", 100);
	while (g.note_count)
		guest_line(&g);
	guest_refresh(&g, SERVERS({ "zoo" }));
	guest_await(&g, "notifications/tools/list_changed");
	HAS(guest_do(&g, "tools/list", ""), "\"name\":\"echo\"");
	HAS(guest_call(&g, "pid", "{}"), pid);
	EQ(lab_living(), 1);
	guest_leave(&g);
	lab_close(k);
}

TEST(a_refresh_takes_subscriptions_and_the_level_to_the_new_server)
{
	struct killick *k = LAB();
	struct guest g;

	guest_open(&g, k, SERVERS({ "zoo" }));
	guest_meet(&g, NULL);
	guest_do(&g, "resources/subscribe", "\"uri\":\"zoo://a\"");
	guest_do(&g, "logging/setLevel", "\"level\":\"error\"");
	guest_refresh(&g, SERVERS({ "zoo", .more = "\"env\":{\"A\":\"1\"}" }));
	guest_await(&g, "notifications/tools/list_changed");
	HAS(guest_call(&g, "seen", "{}"), "\"level\":\"error\"");
	guest_call(&g, "notify", "{\"what\":\"updated\",\"uri\":\"zoo://a\"}");
	guest_await(&g, "notifications/resources/updated");
	guest_do(&g, "resources/unsubscribe", "\"uri\":\"zoo://a\"");
	guest_call(&g, "notify", "{\"what\":\"updated\",\"uri\":\"zoo://a\"}");
	EQ(guest_count(&g, "notifications/resources/updated", 0), 0);
	guest_leave(&g);
	lab_close(k);
}

TEST(a_modern_client_uses_several_servers_and_hears_of_a_refresh)
{
	struct killick *k = LAB();
	struct guest g;
	long id;

	guest_open(&g, k, TWO);
	HAS(guest_discover(&g), "\"name\":\"killick\"");
	HAS(guest_call(&g, "one__echo", "{\"text\":\"hello\"}"), "\"resultType\":\"complete\"");
	HAS(guest_call(&g, "two__echo", "{\"text\":\"hello\"}"), "\"text\":\"hello\"");
	HAS(guest_do(&g, "tools/list", ""), "\"ttlMs\":");
	id = guest_ask(&g, "subscriptions/listen",
		       "\"notifications\":{\"toolsListChanged\":true,\"resourceSubscriptions\":"
		       "[\"zoo://a\"]}");
	guest_await(&g, "notifications/subscriptions/acknowledged");
	guest_do(&g, "resources/read", "\"uri\":\"zoo://a\"");
	guest_call(&g, "one__notify", "{\"what\":\"updated\",\"uri\":\"zoo://a\"}");
	guest_await(&g, "notifications/resources/updated");
	guest_count(&g, "x", 100);
	while (g.note_count)
		guest_line(&g);
	guest_refresh(&g, SERVERS({ "one" }));
	guest_await(&g, "notifications/tools/list_changed");
	HAS(guest_call(&g, "echo", "{\"text\":\"plain\"}"), "\"text\":\"plain\"");
	guest_send(&g,
		   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
		   "{\"requestId\":%ld}}",
		   id);
	guest_call(&g, "pid", "{}");
	guest_call(&g, "notify", "{\"what\":\"updated\",\"uri\":\"zoo://a\"}");
	guest_call(&g, "notify", "{\"what\":\"tools\"}");
	EQ(guest_count(&g, "notifications/", 100), 0);
	guest_leave(&g);
	lab_close(k);
}

TEST(a_server_that_recovers_appears_in_the_lists)
{
	struct killick *k = LAB();
	struct guest g;
	char flag[128], more[512];

	snprintf(flag, sizeof(flag), "%s/ready", t_audit.dir);
	snprintf(more, sizeof(more), "\"env\":{\"ZOO_FLAG\":\"%s\"}", flag);
	guest_open(&g, k, SERVERS({ "zoo" }, { "late", "flagged", .more = more }));
	guest_meet(&g, NULL);
	HAS_NOT(guest_do(&g, "tools/list", ""), "late__echo");
	guest_count(&g, "x", 100);
	while (g.note_count)
		guest_line(&g);
	fclose(fopen(flag, "we"));
	/* a refresh with the same servers tries the failed one again */
	guest_refresh(&g, SERVERS({ "zoo" }, { "late", "flagged", .more = more }));
	guest_await(&g, "notifications/tools/list_changed");
	HAS(guest_do(&g, "tools/list", ""), "late__echo");
	HAS(guest_call(&g, "late__echo", "{\"text\":\"x\"}"), "\"text\":\"x\"");
	guest_leave(&g);
	unlink(flag);
	lab_close(k);
}

TEST(a_list_that_is_cancelled_is_not_answered)
{
	struct killick *k = LAB();
	struct guest g;
	long id;

	guest_open(&g, k, SERVERS({ "zoo" }, { "stuck", "stopread" }));
	guest_meet(&g, NULL);
	guest_do(&g, "tools/list", "");
	guest_ask(&g, "tools/call", "\"name\":\"stuck__echo\",\"arguments\":{}");
	id = guest_ask(&g, "prompts/list", "");
	guest_call(&g, "zoo__pid", "{}");
	guest_send(&g,
		   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
		   "{\"requestId\":%ld}}",
		   id);
	guest_call(&g, "zoo__pid", "{}");
	EQ(guest_count(&g, "\"result\"", 0), 0);
	guest_leave(&g);
	lab_close(k);
}

/* --- the control API --- */

TEST(a_program_uses_a_session_without_a_client)
{
	struct killick *k = LAB();
	struct guest g;

	guest_open_bare(&g, k, TWO);
	HAS(guest_request(&g, NULL, "tools/list", NULL), "\"two__echo\"");
	HAS(guest_request(&g, "two", "tools/list", "{}"), "\"name\":\"echo\"");
	STREQ(guest_request(&g, NULL, "tools/call",
			    "{\"name\":\"one__echo\",\"arguments\":{\"text\":1e400}}"),
	      "{\"content\":[{\"type\":\"text\",\"text\":1e400}]}");
	STREQ(guest_request(&g, "one", "tools/call",
			    "{\"name\":\"echo\",\"arguments\":{\"text\":-0}}"),
	      "{\"content\":[{\"type\":\"text\",\"text\":-0}]}");
	HAS(guest_request(&g, "one", "resources/read", "{\"uri\":\"zoo://a\"}"), "of zoo://a");
	HAS(guest_request(&g, NULL, "logging/setLevel", "{\"level\":\"info\"}"), "{}");
	OK(!guest_request(&g, "three", "tools/list", NULL));
	HAS(g.answer_error, "\"code\":-32001,\"message\":\"the session has no server 'three'\"");
	OK(!guest_request(&g, NULL, "initialize", NULL));
	HAS(g.answer_error, "\"code\":-32602");
	OK(!guest_request(&g, NULL, "prompts/get", "{\"name\":\"greet\"}"));
	HAS(g.answer_error, "\"code\":-32602");
	OK(!guest_request(&g, "one", "tools/call", "{\"name\":\"nothing\"}"));
	HAS(g.answer_error, "\"message\":\"no such tool\"");
	/* no client can answer a question */
	HAS(guest_request(&g, "one", "tools/call",
			  "{\"name\":\"ask\",\"arguments\":{\"method\":\"elicitation/create\"}}"),
	    "\"error\"");
	EQ(guest_leave(&g), 2);
	lab_close(k);
}

static void on_answered(void *ctx, struct json result, struct json error)
{
	struct guest *g = ctx;

	OK(!result.at && error.at);
	lab_add(&g->answers);
}

static void on_forgotten(void *ctx, struct json result, struct json error)
{
	(void)ctx;
	(void)result;
	(void)error;
	abort();
}

/* With the lock. */
static void start(struct guest *g, desk_answered_fn done, void *ctx)
{
	static const char params[] = "{\"name\":\"block\",\"arguments\":{}}";

	desk_request(g->desk, NULL, "tools/call", (struct json){ params, sizeof(params) - 1 }, 0,
		     done, ctx);
	loop_attend(g->k->loop);
}

TEST(calls_in_flight_are_answered_when_the_session_is_closed)
{
	struct killick *k = LAB();
	struct guest g;
	int other;

	guest_open_bare(&g, k, SERVERS({ "zoo" }));
	loop_lock(g.k->loop);
	start(&g, on_answered, &g);
	start(&g, on_forgotten, &other);
	loop_unlock(g.k->loop);
	HAS(guest_request(&g, NULL, "tools/call", "{\"name\":\"pid\"}"), "content");
	loop_lock(g.k->loop);
	EQ(desk_in_flight(g.desk), 2);
	desk_forget(g.desk, &other);
	EQ(desk_in_flight(g.desk), 1);
	loop_unlock(g.k->loop);
	HAS(guest_request(&g, NULL, "tools/call", "{\"name\":\"seen\"}"), "\"cancelled\":1");
	loop_lock(g.k->loop);
	desk_close(g.desk, "it is late");
	desk_close(g.desk, "again");
	EQ(lab_value(&g.answers), 3);
	start(&g, on_answered, &g); /* too late */
	loop_unlock(g.k->loop);
	lab_await(&g.answers, 4);
	lab_await(&g.closed, 1);
	STREQ(g.why, "it is late");
	STREQ(g.kept, "[]");
	EQ(guest_bury(&g), 1);
	lab_close(k);
}

TEST(a_shared_server_is_kept_for_the_other_sessions)
{
	struct killick *k = LAB();
	const struct lab_server *shared = SERVERS({ "zoo", .more = "\"share\":\"identical\"" });
	struct guest a, b;
	long id;

	guest_open(&a, k, shared);
	guest_meet(&a, NULL);
	guest_open(&b, k, shared);
	guest_meet(&b, NULL);
	guest_call(&a, "pid", "{}");
	guest_call(&b, "pid", "{}");
	EQ(lab_living(), 1);
	id = guest_ask(&b, "tools/call", "\"name\":\"sleep\",\"arguments\":{\"ms\":300}");
	guest_ask(&a, "tools/call", "\"name\":\"block\",\"arguments\":{}");
	guest_call(&a, "pid", "{}");
	close(a.fd);
	a.fd = -1;
	lab_await(&a.closed, 1);
	STREQ(a.kept, "[{\"server\":\"zoo\",\"sessions\":1}]");
	EQ(guest_bury(&a), 0);
	HAS(guest_answer(&b, id), "slept");
	HAS(guest_call(&b, "seen", "{}"), "\"cancelled\":1");
	EQ(guest_leave(&b), 1);
	lab_close(k);
}
