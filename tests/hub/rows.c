/* rows.c - the kinds of state that two sessions of one legacy server can confuse, one test for
 * each. (rows_asks.c has the server's own requests, rows_ends.c has ends and limits.)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rows.h"

TEST(a_shared_server_is_initialised_once_and_its_features_are_part_of_the_key)
{
	struct rows r;
	struct mate c;
	struct mate_spec spec = { .capabilities = "{\"elicitation\":{}}" };
	long pid;

	rows_begin(&r, NULL);
	pid = mate_count(&r.a, "pid");
	EQ(mate_count(&r.b, "pid"), pid);
	EQ(mate_count(&r.b, "initialize"), 1);
	EQ(mate_count(&r.a, "notifications/initialized"), 1);
	spec.config = r.config;
	rows_add(&c, &spec);
	OK(mate_count(&c, "pid") != pid);
	OK(mate_at(mate_do(&c, "counts", ""), "structuredContent", "capabilities", "elicitation",
		   NULL)
		   .len > 0);
	OK(mate_at(mate_do(&r.a, "counts", ""), "structuredContent", "capabilities", "elicitation",
		   NULL)
		   .len == 0);
	mate_close(&c);
	rows_end(&r);
}

TEST(clients_of_four_versions_share_one_server)
{
	static const char *const versions[] = { "2024-11-05", "2025-03-26", "2025-06-18",
						"2025-11-25" };
	struct rows r;
	long pid;

	rows_begin(&r, NULL);
	pid = mate_count(&r.a, "pid");
	for (int i = 0; i < 4; i++) {
		struct mate_spec spec = { .config = r.config, .version = versions[i] };
		struct span hello;
		struct mate m;

		rows_add(&m, &spec);
		hello = (struct span){ m.hello, strlen(m.hello) };
		OK(scan_is(scan_member(hello, "protocolVersion"), versions[i]));
		EQ(mate_count(&m, "pid"), pid);
		mate_close(&m);
	}
	rows_end(&r);
}

TEST(equal_ids_at_once_get_their_own_answers)
{
	struct rows r;
	static const char call[] =
		"{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":{"
		"\"name\":\"sleep\",\"arguments\":{\"ms\":50,\"text\":\"of %s\"}}}";
	static const char *const ids[] = { "\"x\"", "1e2", "-7", "123456789012345678" };

	rows_begin(&r, NULL);
	EQ(r.a.next_id, r.b.next_id);
	for (int i = 0; i < 4; i++) {
		mate_say(&r.a, call, ids[i], "a");
		mate_say(&r.b, call, ids[i], "b");
	}
	for (int i = 0; i < 4; i++) {
		char id[64];

		snprintf(id, sizeof(id), "\"id\":%s,", ids[i]);
		mate_note(&r.a, id, "of a");
		mate_note(&r.b, id, "of b");
	}
	EQ(mate_noted(&r.a, "of b", NULL) + mate_noted(&r.b, "of a", NULL), 0);
	rows_end(&r);
}

static void expect_steps(struct mate *m, const char *token, const char *text)
{
	char want[64];

	snprintf(want, sizeof(want), "\"progressToken\":%s", token);
	EQ(mate_noted(m, want, text), 5);
	EQ(mate_noted(m, "notifications/progress", NULL), 5);
	mate_forget(m);
}

TEST(equal_progress_tokens_at_once_reach_their_own_clients)
{
	static const char *const tokens[] = { "7", "\"t\"", "0" };
	struct rows r;

	rows_begin(&r, NULL);
	for (int i = 0; i < 3; i++) {
		char meta[64];
		long a, b;

		snprintf(meta, sizeof(meta), "\"progressToken\":%s", tokens[i]);
		a = mate_call(&r.a, "steps", "\"n\":5,\"ms\":10,\"text\":\"of a\"", meta);
		b = mate_call(&r.b, "steps", "\"n\":5,\"ms\":10,\"text\":\"of b\"", meta);
		mate_result(&r.a, a);
		mate_result(&r.b, b);
		expect_steps(&r.a, tokens[i], "of a");
		expect_steps(&r.b, tokens[i], "of b");
	}
	rows_end(&r);
}

TEST(a_cancellation_hits_only_the_own_request)
{
	struct rows r;
	long a, b;

	rows_begin(&r, NULL);
	a = mate_call(&r.a, "sleep", "\"ms\":300,\"text\":\"of a\"", NULL);
	b = mate_call(&r.b, "sleep", "\"ms\":300,\"text\":\"of b\"", NULL);
	EQ(a, b);
	mate_say(&r.a,
		 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
		 "\"requestId\":%ld,\"reason\":\"enough\"}}",
		 a);
	mate_say(&r.a, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
		       "\"requestId\":999}}");
	mate_result(&r.b, b);
	EQ(mate_count(&r.b, "notifications/cancelled"), 1);
	mate_settle(&r.a);
	EQ(mate_noted(&r.a, "of a", NULL), 0);
	rows_end(&r);
}

TEST(the_answer_for_a_killed_client_reaches_no_other_client)
{
	struct rows r;
	struct mate_spec spec = { 0 };
	struct mate c;

	rows_begin(&r, NULL);
	mate_call(&r.a, "sleep", "\"ms\":100,\"text\":\"of a\"", "\"progressToken\":1");
	mate_call(&r.a, "steps", "\"ms\":10,\"n\":20,\"text\":\"of a\"", "\"progressToken\":2");
	mate_settle(&r.a);
	mate_kill(&r.a);
	spec.config = r.config;
	rows_add(&c, &spec); /* has the same ids */
	mate_result(&c, mate_call(&c, "steps", "\"ms\":10,\"n\":20,\"text\":\"of c\"",
				  "\"progressToken\":1"));
	EQ(mate_noted(&c, "notifications/progress", "of c"), 20);
	EQ(mate_noted(&c, "of a", NULL), 0);
	mate_settle(&r.b);
	EQ(mate_noted(&r.b, "of a", NULL) + mate_noted(&r.b, "of c", NULL), 0);
	OK(mate_count(&r.b, "notifications/cancelled") >= 2); /* the hub's own requests, too */
	rows_await_calls(&r.b, "sleep", 0);
	rows_await_calls(&r.b, "steps", 0);
	mate_close(&c);
	mate_close(&r.b);
	rows_stop();
}

static void set_level(struct mate *m, const char *level)
{
	char text[48];

	snprintf(text, sizeof(text), "\"level\":\"%s\"", level);
	mate_result(m, mate_ask(m, "logging/setLevel", text, NULL));
}

static void expect_level(struct mate *m, const char *level, long sets)
{
	struct span counts = scan_member(mate_do(m, "counts", ""), "structuredContent");

	if (!scan_is(scan_member(counts, "level"), level) ||
	    scan_long(scan_member(counts, "logging/setLevel"), 0) != sets)
		FAIL("expected level %s after %ld requests: %.*s", level, sets, (int)counts.len,
		     counts.at);
}

TEST(each_session_has_its_log_level_and_the_server_the_lowest)
{
	struct rows r;

	rows_begin(&r, NULL);
	set_level(&r.a, "debug");
	expect_level(&r.a, "debug", 1);
	set_level(&r.b, "error");
	expect_level(&r.a, "debug", 1);
	mate_do(&r.a, "log", "\"level\":\"debug\",\"text\":\"of a\"");
	mate_do(&r.b, "log", "\"level\":\"warning\",\"text\":\"of b\"");
	mate_do(&r.b, "log", "\"level\":\"error\",\"text\":\"of b\"");
	EQ(mate_noted(&r.a, "notifications/message", "of a"), 1);
	EQ(mate_noted(&r.b, "notifications/message", "of b"), 1);
	EQ(mate_noted(&r.b, "\"level\":\"error\"", "of b"), 1);
	mate_close(&r.a);
	rows_await_count(&r.b, "logging/setLevel", 2);
	expect_level(&r.b, "error", 2);
	mate_close(&r.b);
	rows_stop();
}

TEST(a_log_reaches_the_session_of_the_only_call_in_flight)
{
	struct rows r;
	long b;

	rows_begin(&r, NULL);
	mate_do(&r.a, "log", "\"text\":\"first of a\"");
	mate_note(&r.a, "notifications/message", "first of a");
	b = mate_call(&r.b, "sleep", "\"ms\":200", NULL);
	rows_await_calls(&r.a, "sleep", 1);
	mate_do(&r.a, "log", "\"text\":\"second of a\"");
	/* a progress token in the log says whose it is */
	mate_result(&r.a, mate_call(&r.a, "log", "\"text\":\"third of a\",\"token\":true",
				    "\"progressToken\":5"));
	mate_result(&r.b, b);
	mate_settle(&r.a);
	mate_settle(&r.b);
	EQ(mate_noted(&r.b, "notifications/message", NULL), 0);
	EQ(mate_noted(&r.a, "notifications/message", "second of a"), 0);
	EQ(mate_noted(&r.a, "notifications/message", "third of a"), 1);
	rows_end(&r);
}

TEST(logs_all_gives_logs_to_every_session)
{
	struct rows r;
	long b;

	rows_begin(&r, "\"logs\":\"all\"");
	b = mate_call(&r.b, "sleep", "\"ms\":200", NULL);
	rows_await_calls(&r.a, "sleep", 1);
	mate_do(&r.a, "log", "\"text\":\"of a\"");
	mate_result(&r.b, b);
	mate_note(&r.a, "notifications/message", "of a");
	mate_note(&r.b, "notifications/message", "of a");
	rows_end(&r);
}

static void subscribe(struct mate *m, bool on, const char *uri)
{
	char text[96];

	snprintf(text, sizeof(text), "\"uri\":\"%s\"", uri);
	mate_result(m,
		    mate_ask(m, on ? "resources/subscribe" : "resources/unsubscribe", text, NULL));
}

static void touch(struct mate *m, const char *uri, const char *more)
{
	char text[160];

	snprintf(text, sizeof(text), "\"what\":\"updated\",\"uri\":\"%s\"%s", uri, more);
	mate_do(m, "notify", text);
}

/* Settings that hold for the whole server must be equal. */
TEST(sessions_with_another_stateful_or_logs_do_not_share)
{
	static const char *const words[][2] = { { "\"stateful\":true", "'stateful'" },
						{ "\"logs\":\"all\"", "'logs'" } };
	struct mate_spec spec = { .config = NULL };
	struct control c;
	struct rows r;

	rows_begin(&r, NULL);
	control_open(&c);
	for (size_t i = 0; i < 2; i++) {
		char more[80];
		struct mate m;
		struct span s;

		snprintf(more, sizeof(more), "\"share\":\"identical\",%s", words[i][0]);
		spec.config = MATE_CONFIG("other.json", { "one", NULL, NULL, more });
		rows_add(&m, &spec);
		mate_settle(&m);
		EQ(mate_servers(), 2);
		s = control_do(&c, "server.list", "");
		if (!memmem(s.at, s.len, words[i][1], strlen(words[i][1])))
			FAIL("no difference is named: %.*s", (int)s.len, s.at);
		mate_close(&m);
		mate_await_servers(1);
	}
	control_close(&c);
	rows_end(&r);
}

TEST(subscriptions_are_counted_for_each_resource)
{
	struct rows r;

	rows_begin(&r, NULL);
	subscribe(&r.a, true, "zoo://a");
	subscribe(&r.b, true, "zoo://a");
	subscribe(&r.a, true, "zoo://a"); /* twice by one session is once */
	EQ(mate_count(&r.a, "resources/subscribe"), 1);
	touch(&r.b, "zoo://a", "");
	mate_note(&r.a, "resources/updated", "zoo://a");
	mate_note(&r.b, "resources/updated", "zoo://a");
	subscribe(&r.b, false, "zoo://a");
	EQ(mate_count(&r.a, "resources/unsubscribe"), 0);
	touch(&r.b, "zoo://a", "");
	mate_note(&r.a, "resources/updated", "zoo://a");
	mate_settle(&r.b);
	EQ(mate_noted(&r.b, "resources/updated", NULL), 0);
	mate_kill(&r.a);
	rows_await_count(&r.b, "resources/unsubscribe", 1);
	mate_close(&r.b);
	rows_stop();
}

TEST(a_session_has_a_limit_of_subscriptions)
{
	enum { LIMIT = 1024 };
	struct rows r;
	char uri[40];

	rows_begin(&r, NULL);
	for (int i = 0; i < LIMIT; i++) {
		snprintf(uri, sizeof(uri), "zoo://%d", i);
		subscribe(&r.a, true, uri);
	}
	EQ(mate_error(&r.a, mate_ask(&r.a, "resources/subscribe", "\"uri\":\"zoo://x\"", NULL)),
	   -32602);
	subscribe(&r.a, true, uri); /* is known */
	subscribe(&r.b, true, "zoo://x");
	subscribe(&r.a, false, uri);
	subscribe(&r.a, true, "zoo://x");
	rows_end(&r);
}

TEST(updates_reach_only_subscribers)
{
	struct rows r;

	rows_begin(&r, NULL);
	subscribe(&r.a, true, "zoo://a");
	subscribe(&r.b, true, "zoo://dir/");
	touch(&r.b, "zoo://a", "");
	touch(&r.a, "zoo://dir/file", ",\"force\":true");
	touch(&r.a, "zoo://other", ",\"force\":true");
	mate_note(&r.a, "resources/updated", "zoo://a");
	mate_note(&r.b, "resources/updated", "zoo://dir/file");
	mate_settle(&r.a);
	mate_settle(&r.b);
	EQ(mate_noted(&r.a, "resources/updated", NULL), 0);
	EQ(mate_noted(&r.b, "resources/updated", NULL), 0);
	/* not in a warning either */
	EQ(mate_noted(&r.a, "zoo://", NULL) + mate_noted(&r.b, "zoo://", NULL), 0);
	rows_end(&r);
}

TEST(changed_lists_are_announced_to_all_and_listed_again)
{
	struct rows r;
	long lists;

	rows_begin(&r, NULL);
	mate_result(&r.a, mate_ask(&r.a, "tools/list", NULL, NULL));
	lists = mate_count(&r.a, "tools/list");
	mate_do(&r.a, "notify", "\"what\":\"tools\",\"n\":5");
	mate_note(&r.a, "notifications/tools/list_changed", NULL);
	mate_note(&r.b, "notifications/tools/list_changed", NULL);
	mate_result(&r.a, mate_ask(&r.a, "tools/list", NULL, NULL));
	OK(mate_count(&r.a, "tools/list") > lists);
	mate_result(&r.b, mate_ask(&r.b, "tools/list", NULL, NULL));
	mate_do(&r.b, "notify", "\"what\":\"prompts\"");
	mate_note(&r.a, "notifications/prompts/list_changed", NULL);
	mate_note(&r.b, "notifications/prompts/list_changed", NULL);
	/* five at once are one */
	EQ(mate_noted(&r.a, "tools/list_changed", NULL) +
		   mate_noted(&r.b, "tools/list_changed", NULL),
	   0);
	rows_end(&r);
}

TEST(lists_are_whole_and_an_unknown_cursor_is_refused)
{
	static const char *const lists[][2] = { { "tools/list", "tools" },
						{ "resources/list", "resources" },
						{ "resources/templates/list", "resourceTemplates" },
						{ "prompts/list", "prompts" } };
	static const size_t counts[] = { 22, 7, 4, 3 };
	struct rows r;

	rows_begin(&r, NULL);
	for (int i = 0; i < 4; i++) {
		struct span result = mate_result(&r.a, mate_ask(&r.a, lists[i][0], NULL, NULL));
		struct span items = scan_member(result, lists[i][1]);
		size_t n = 0;

		while (mate_item(items, n).len > 0)
			n++;
		EQ(n, counts[i]);
		EQ(scan_member(result, "nextCursor").len, 0);
		EQ(mate_error(&r.b, mate_ask(&r.b, lists[i][0], "\"cursor\":\"1\"", NULL)), -32602);
	}
	rows_end(&r);
}

TEST(tasks_belong_to_the_session_that_made_them)
{
	static const char *const methods[] = { "tasks/get", "tasks/result", "tasks/cancel" };
	struct rows r;
	struct span s;
	char id[64], member[96];

	rows_begin(&r, NULL);
	s = mate_result(&r.a, mate_ask(&r.a, "tools/call",
				       "\"name\":\"work\",\"arguments\":{\"text\":\"of a\","
				       "\"ms\":50},\"task\":{}",
				       NULL));
	scan_copy(mate_at(s, "task", "taskId", NULL), id, sizeof(id));
	OK(id[0]);
	snprintf(member, sizeof(member), "\"taskId\":\"%s\"", id);
	for (int i = 0; i < 3; i++)
		EQ(mate_error(&r.b, mate_ask(&r.b, methods[i], member, NULL)), -32602);
	s = mate_result(&r.b, mate_ask(&r.b, "tasks/list", NULL, NULL));
	EQ(mate_item(scan_member(s, "tasks"), 0).len, 0);
	s = mate_result(&r.a, mate_ask(&r.a, "tasks/list", NULL, NULL));
	OK(scan_is(scan_member(mate_item(scan_member(s, "tasks"), 0), "taskId"), id));
	mate_note(&r.a, "notifications/tasks/status", "\"completed\"");
	mate_result(&r.a, mate_ask(&r.a, "tasks/result", member, NULL));
	s = mate_result(&r.a, mate_ask(&r.a, "tasks/get", member, NULL));
	OK(scan_is(scan_member(s, "status"), "completed"));
	mate_settle(&r.b);
	EQ(mate_noted(&r.b, "of a", NULL) + mate_noted(&r.b, "tasks/status", NULL), 0);
	rows_end(&r);
}

TEST(completions_and_pings_are_answered)
{
	struct rows r;
	struct span s;

	rows_begin(&r, NULL);
	s = mate_result(&r.a, mate_ask(&r.a, "completion/complete",
				       "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"greet\"},"
				       "\"argument\":{\"name\":\"who\",\"value\":\"o\"}",
				       NULL));
	OK(scan_is(mate_item(mate_at(s, "completion", "values", NULL), 0), "one"));
	mate_result(&r.b, mate_ask(&r.b, "ping", NULL, NULL));
	EQ(mate_count(&r.b, "ping"), 0);
	rows_end(&r);
}

/* Environment and directory are part of the key. */
TEST(servers_with_another_environment_are_not_shared)
{
	struct rows r;
	struct mate c, d;
	long pid;
	struct mate_spec spec = { 0 };

	rows_begin(&r, "\"env\":{\"TOKEN\":\"1\"}");
	pid = mate_count(&r.a, "pid");
	EQ(mate_count(&r.b, "pid"), pid);
	spec.config = MATE_CONFIG("other.json", { "one", NULL, NULL,
						  "\"share\":\"identical\","
						  "\"env\":{\"TOKEN\":\"2\"}" });
	rows_add(&c, &spec);
	OK(mate_count(&c, "pid") != pid);
	spec.config = MATE_CONFIG("third.json", { "one", NULL, NULL,
						  "\"share\":\"identical\",\"cwd\":\"/\","
						  "\"env\":{\"TOKEN\":\"1\"}" });
	rows_add(&d, &spec);
	OK(mate_count(&d, "pid") != pid);
	EQ(mate_servers(), 3);
	mate_close(&c);
	mate_close(&d);
	rows_end(&r);
}

static void expect_same_bytes(struct mate *m, const char *raw)
{
	char *arguments = NULL;
	struct span result;

	OK(asprintf(&arguments, "\"raw\":%s", raw) > 0);
	result = mate_do(m, "mirror", arguments);
	if (result.len != strlen(raw) || memcmp(result.at, raw, result.len) != 0)
		FAIL("the result has other bytes: %.*s instead of %s", (int)result.len, result.at,
		     raw);
	free(arguments);
}

TEST(unknown_members_numbers_and_escapes_keep_their_bytes)
{
	static const char params[] =
		"\"zeta\":1e400,\"name\":\"mirror\",\"_meta\":{\"x/y\":{\"deep\":[1,2.50,-0,1E+2]},"
		"\"progressToken\":77,\"\\u00e9\":\"\\/\\u0000\"},\"arguments\":{\"b\":1,\"a\":"
		"\"\\ud83d\\ude00 "
		"\xc3\xa9\",\"big\":123456789012345678901234567890},\"alpha\":null";
	struct rows r;
	struct span seen;
	char *got;
	long id;

	rows_begin(&r, NULL);
	expect_same_bytes(&r.a, "{\"_meta\":{\"k\":1.0,\"j\":[]},\"content\":[],\"zzz\":"
				"-0.0,\"aaa\":1e-7,\"text\":\"\\u0041\\/ \\ud800\"}");
	expect_same_bytes(&r.b,
			  "{\"content\":[{\"type\":\"new\",\"x\":18446744073709551616}],"
			  "\"isError\":false,\"structuredContent\":{\"b\":{},\"a\":\"\\t\"}}");
	id = r.a.next_id++;
	mate_say(&r.a, "{\"id\":%ld,\"params\":{%s},\"method\":\"tools/call\",\"jsonrpc\":\"2.0\"}",
		 id, params);
	seen = mate_at(mate_result(&r.a, id), "structuredContent", "params", NULL);
	/* equal but for the token, which is the hub's */
	got = strndup(seen.at, seen.len);
	OK(got);
	{
		const char *split = strstr(params, "77,"), *at = strstr(got, "\"progressToken\":");
		size_t before = (size_t)(split - params);

		OK(at && !memcmp(got + 1, params, before));
		at = strchr(at, ',');
		OK(at && !strncmp(at, split + 2, strlen(split + 2)));
	}
	free(got);
	rows_end(&r);
}

/* --- members that a server may take for others --- */

/* A server may ignore the case of members: then the client could choose the id under which the
 * server answers, and so the session that gets the answer. */
TEST(an_id_in_other_letters_does_not_reach_a_server_that_ignores_case)
{
	enum { TRIES = 60 };
	char name[16];
	struct rows r;
	struct span s;
	long id;

	rows_begin_with(&r, NULL, NULL, "taggedfolds", NULL);
	id = mate_call(&r.a, "sleep", "\"ms\":1500", NULL);
	rows_await_calls(&r.b, "sleep", 1);
	for (int i = 1; i <= TRIES; i++)
		mate_say(&r.b,
			 "{\"jsonrpc\":\"2.0\",\"id\":\"x%d\",\"method\":\"tools/call\",\"params\":"
			 "{\"name\":\"echo\",\"arguments\":{\"text\":\"of b\"}},\"ID\":%d}",
			 i, i);
	for (int i = 1; i <= TRIES; i++) {
		snprintf(name, sizeof(name), "\"x%d\"", i);
		mate_note(&r.b, name, "-32600");
	}
	s = mate_result(&r.a, id);
	if (memmem(s.at, s.len, "of b", 4))
		FAIL("the answer to another session: %.*s", (int)s.len, s.at);
	rows_end(&r);
}

TEST(members_that_differ_only_in_case_are_refused)
{
#define CALL "\"method\":\"tools/call\""
#define ECHO "\"name\":\"echo\",\"arguments\":{\"text\":\"t\"}"
	static const struct {
		const char *members;
		const char *code;
	} rows[] = {
		{ CALL ",\"params\":{" ECHO "},\"Id\":1", "-32600" },
		{ CALL ",\"params\":{" ECHO "},\"\\u0049d\":1", "-32600" },
		{ CALL ",\"params\":{" ECHO "},\"METHOD\":\"tools/list\"", "-32600" },
		{ CALL ",\"params\":{" ECHO "},\"Params\":{\"name\":\"pid\"}", "-32600" },
		{ CALL ",\"params\":{" ECHO "},\"param\xc5\xbf\":{\"name\":\"pid\"}", "-32600" },
		{ CALL ",\"params\":{" ECHO "},\"method\":\"tools/list\"", "-32600" },
		{ CALL ",\"params\":{" ECHO ",\"NAME\":\"pid\"}", "-32602" },
		{ CALL ",\"params\":{" ECHO ",\"_META\":{\"progressToken\":1}}", "-32602" },
		{ CALL ",\"params\":{" ECHO ",\"_meta\":{\"PROGRESSTOKEN\":1}}", "-32602" },
		{ CALL ",\"params\":{" ECHO ",\"_meta\":{\"progress\\u0054o\xe2\x84\xaa"
		       "en\":1}}",
		  "-32602" },
		{ CALL ",\"params\":{" ECHO ",\"task\":{},\"Task\":{}}", "-32602" },
		{ CALL ",\"params\":{" ECHO ",\"RequestState\":\"s\"}", "-32602" },
	};
	char id[16];
	struct rows r;

	rows_begin_with(&r, NULL, NULL, "taggedfolds", NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(id, sizeof(id), "\"r%zu\"", i);
		mate_say(&r.a, "{\"jsonrpc\":\"2.0\",\"id\":%s,%s}", id, rows[i].members);
		mate_note(&r.a, id, rows[i].code);
	}
	/* other members may be there */
	mate_say(&r.a, "{\"jsonrpc\":\"2.0\",\"id\":\"o\"," CALL ",\"params\":{" ECHO
		       ",\"Extra\":1},\"idx\":1,\"X\":2}");
	mate_note(&r.a, "\"o\"", "\"result\"");
	rows_end(&r);
}
