/* client_tasks.c - messages that name a task, an elicitation or a progress token, and log messages:
 * which owner gets them when several owners share one client. */
#include "base/auto.h"
#include "fake.h"
#include "passed.h"
#include "t.h"

static const struct client_spec own = { .era = ERA_LEGACY,
					.answers = ANSWERS_ALL,
					.logs = CLIENT_LOGS_OWN };
static const struct client_spec all = { .era = ERA_LEGACY,
					.answers = ANSWERS_ALL,
					.logs = CLIENT_LOGS_ALL };
static const struct client_spec modern = { .era = ERA_MODERN, .answers = ANSWERS_ALL };
static int alice, bob;

#define PARAMS(method, params)                                                                     \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":" params "}"
#define NOTE(method, params) "{\"jsonrpc\":\"2.0\",\"method\":\"" method "\",\"params\":" params "}"
#define RELATED(id)          "\"_meta\":{\"io.modelcontextprotocol/related-task\":{\"taskId\":\"" id "\"}}"

/* Begin a task; the call gets this id. */
static void begin_task(struct world *w, void *owner, unsigned id, const char *task)
{
	struct passed p;

	pass(w, &p, owner, ERA_LEGACY, NULL,
	     PARAMS("tools/call", "{\"name\":\"t\",\"task\":{\"ttl\":1000}}"));
	world_say(w,
		  "{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":{\"task\":{\"taskId\":\"%s\","
		  "\"status\":\"working\"}}}",
		  id, task);
	EQ(p.code, 0);
	passed_done(&p);
	world_skip(w);
}

TEST(requests_about_tasks_of_others_do_not_reach_the_server)
{
	static const char *const foreign[] = {
		PARAMS("tasks/get", "{\"taskId\":\"b1\"}"),
		PARAMS("tasks/result", "{\"taskId\":\"b\\u0031\"}"),
		PARAMS("tasks/cancel", "{\"taskId\":\"none\"}"),
		PARAMS("tasks/get", "{}"),
		PARAMS("tasks/get", "{\"taskId\":7}"),
		PARAMS("tasks/update", "{\"taskId\":\"b1\"}"),
		PARAMS("t\\u0061sks/get", "{\"taskId\":\"b1\"}"),
		/* what the server then asks would reach bob */
		PARAMS("tools/call", "{\"name\":\"t\"," RELATED("b1") "}"),
		PARAMS("tools/call", "{\"name\":\"t\"," RELATED("none") "}"),
		PARAMS("tools/call", "{\"name\":\"t\",\"_meta\":{\"io.modelcontextprotocol/"
				     "related-t\\u0061sk\":7}}"),
	};
	struct passed p;
	struct world w;

	world_open_legacy(&w, &own);
	begin_task(&w, &alice, 2, "a1");
	begin_task(&w, &bob, 3, "b1");
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
		pass(&w, &p, &alice, ERA_LEGACY, NULL, foreign[i]);
		fake_pass(0);
		EQ(p.count, 1);
		EQ(p.code, KILLICK_ERR_ANSWER);
		OK(strstr(p.line, "\"code\":-32602"));
		STREQ(world_sent(&w), "");
		passed_done(&p);
	}
	pass(&w, &p, &alice, ERA_LEGACY, NULL, PARAMS("tasks/get", "{\"taskId\":\"\\u00611\"}"));
	STREQ(world_sent(&w),
	      "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tasks/get\",\"params\":{\"taskId\":"
	      "\"\\u00611\"}}");
	world_close(&w);
	passed_done(&p);
}

TEST(requests_may_name_an_own_task)
{
	AUTO(passed_done) struct passed p;
	struct world w;

	world_open_legacy(&w, &own);
	begin_task(&w, &alice, 2, "a1");
	pass(&w, &p, &alice, ERA_LEGACY, NULL,
	     PARAMS("tools/call", "{\"name\":\"t\"," RELATED("a1") "}"));
	OK(strstr(world_sent(&w), RELATED("a1")));
	world_close(&w);
}

/* The progress token of a server's request is the server's own. */
TEST(the_token_of_an_ask_names_no_owner)
{
	struct passed p, q;
	struct world w;

	world_open_legacy(&w, &own);
	pass(&w, &p, &alice, ERA_LEGACY, NULL, PARAMS("tools/call", "{\"name\":\"t\"}"));
	pass(&w, &q, &bob, ERA_LEGACY, NULL, PARAMS("tools/call", "{\"name\":\"t\"}"));
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"elicitation/create\",\"params\":"
		      "{\"message\":\"for alice\",\"_meta\":{\"progressToken\":3}}}");
	EQ(w.ask_count, 1);
	OK(!w.asks[0].owner);
	world_close(&w);
	passed_done(&p);
	passed_done(&q);
}

/* A busy neighbour must not push out what others have. */
TEST(many_tasks_of_one_owner_leave_those_of_others)
{
	AUTO(passed_done) struct passed p;
	struct world w;
	char name[16];

	world_open_legacy(&w, &own);
	begin_task(&w, &bob, 2, "b1");
	for (unsigned i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "a%u", i);
		begin_task(&w, &alice, 3 + i, name);
	}
	pass(&w, &p, &bob, ERA_LEGACY, NULL, PARAMS("tasks/get", "{\"taskId\":\"b1\"}"));
	OK(strstr(world_sent(&w), "\"b1\""));
	world_close(&w);
}

TEST(an_id_that_is_used_again_belongs_to_the_new_task_when_the_old_one_has_expired)
{
	struct passed p;
	struct world w;

	world_open_legacy(&w, &own);
	for (int i = 0; i < 2; i++) {
		pass(&w, &p, i ? &bob : &alice, ERA_LEGACY, NULL,
		     PARAMS("tools/call", "{\"name\":\"t\",\"task\":{\"ttl\":100}}"));
		world_say(&w,
			  "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"task\":{\"taskId\":\"job\","
			  "\"ttl\":100,\"status\":\"working\"}}}",
			  2 + i);
		passed_done(&p);
		world_skip(&w);
		fake_pass(i ? 0 : 101);
	}
	pass(&w, &p, &bob, ERA_LEGACY, NULL, PARAMS("tasks/get", "{\"taskId\":\"job\"}"));
	OK(strstr(world_sent(&w), "\"job\""));
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}");
	passed_done(&p);
	pass(&w, &p, &alice, ERA_LEGACY, NULL, PARAMS("tasks/get", "{\"taskId\":\"job\"}"));
	fake_pass(0);
	EQ(p.code, KILLICK_ERR_ANSWER);
	STREQ(world_sent(&w), "");
	passed_done(&p);
	world_close(&w);
}

/* A server with a task must not rest. */
TEST(a_task_counts_until_its_time_is_over_or_its_owner_leaves)
{
	struct passed p;
	struct world w;

	world_open_legacy(&w, &own);
	OK(!client_has_tasks(w.client));
	pass(&w, &p, &alice, ERA_LEGACY, NULL,
	     PARAMS("tools/call", "{\"name\":\"t\",\"task\":{\"ttl\":1000}}"));
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"task\":{\"taskId\":\"a1\","
		      "\"ttl\":5000,\"status\":\"working\"}}}");
	passed_done(&p);
	fake_pass(4000);
	OK(client_has_tasks(w.client));
	fake_pass(1001);
	OK(!client_has_tasks(w.client));
	begin_task(&w, &bob, 3, "b1"); /* without a limit */
	fake_pass(3600000);
	OK(client_has_tasks(w.client));
	client_forget(w.client, &bob, "left");
	OK(!client_has_tasks(w.client));
	world_close(&w);
}

TEST(a_list_of_tasks_has_only_tasks_of_the_owner)
{
	AUTO(passed_done) struct passed p;
	struct world w;

	world_open_legacy(&w, &own);
	begin_task(&w, &alice, 2, "a1");
	begin_task(&w, &bob, 3, "b1");
	begin_task(&w, &alice, 4, "a2");
	pass(&w, &p, &alice, ERA_LEGACY, NULL, PARAMS("tasks/list", "{\"cursor\":\"c\"}"));
	world_say(
		&w,
		"{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"x\":1,\"tasks\":[{\"taskId\":\"b1\"},"
		"{\"taskId\":\"a2\",\"n\":1.0},{\"taskId\":\"?\"},{\"taskId\":\"a1\"}],"
		"\"nextCursor\":\"d\"}}");
	STREQ(p.line,
	      "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"x\":1,\"tasks\":[{\"taskId\":\"a2\","
	      "\"n\":1.0},{\"taskId\":\"a1\"}],\"nextCursor\":\"d\"}}");
	world_close(&w);
}

TEST(an_owner_that_leaves_takes_its_tasks_along)
{
	AUTO(passed_done) struct passed p;
	struct world w;

	world_open_legacy(&w, &own);
	begin_task(&w, &alice, 2, "a1");
	client_forget(w.client, &alice, "left");
	world_skip(&w);
	pass(&w, &p, &alice, ERA_LEGACY, NULL, PARAMS("tasks/get", "{\"taskId\":\"a1\"}"));
	fake_pass(0);
	EQ(p.code, KILLICK_ERR_ANSWER);
	world_close(&w);
}

TEST(the_extension_of_the_modern_era_has_owners_too)
{
	AUTO(passed_done) struct passed p = { .count = 0 };
	struct world w;

	world_open_modern_with(&w, &modern,
			       "{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}");
	fake_pass(0);
	pass(&w, &p, &alice, ERA_MODERN, NULL, PARAMS("tools/call", "{\"name\":\"t\"}"));
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"resultType\":\"task\","
		      "\"taskId\":\"m\"}}");
	EQ(p.code, 0);
	passed_done(&p);
	world_skip(&w);
	pass(&w, &p, &bob, ERA_MODERN, NULL, PARAMS("tasks/get", "{\"taskId\":\"m\"}"));
	fake_pass(0);
	EQ(p.code, KILLICK_ERR_ANSWER);
	STREQ(world_sent(&w), "");
	passed_done(&p);
	pass(&w, &p, &alice, ERA_MODERN, NULL, PARAMS("tasks/get", "{\"taskId\":\"m\"}"));
	OK(strstr(world_sent(&w), "tasks/get"));
	world_close(&w);
}

#define PROGRESS(token)                                                                            \
	NOTE("notifications/progress", "{\"progress\":1,\"progressToken\":" token ",\"z\":2}")

TEST(progress_of_a_task_has_the_token_of_the_client)
{
	AUTO(passed_done) struct passed p;
	struct world w;

	world_open_legacy(&w, &own);
	pass(&w, &p, &alice, ERA_LEGACY, NULL,
	     PARAMS("tools/call", "{\"task\":{},\"_meta\":{\"progressToken\":\"mine\"}}"));
	world_say(&w, PROGRESS("2"));
	EQ(p.reports, 1);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"task\":{\"taskId\":\"a1\"}}}");
	EQ(p.count, 1);
	world_say(&w, PROGRESS("2"));
	EQ(p.reports, 1);
	OK(w.others == 1 && w.other_owner == &alice);
	STREQ(w.other,
	      "notifications/progress {\"progress\":1,\"progressToken\":\"mine\",\"z\":2}");
	world_say(&w, PROGRESS("3"));
	EQ(w.others, 1);
	client_forget(w.client, &alice, "left");
	world_say(&w, PROGRESS("2"));
	EQ(w.others, 1);
	world_close(&w);
}

TEST(messages_about_a_task_go_to_its_owner)
{
	AUTO(passed_done) struct passed p, q;
	struct world w;

	world_open_legacy(&w, &own);
	begin_task(&w, &alice, 2, "a1");
	begin_task(&w, &bob, 3, "b1");
	/* both owners have requests in the server, so nothing else tells them apart */
	pass(&w, &p, &alice, ERA_LEGACY, NULL, PARAMS("x", "{}"));
	pass(&w, &q, &bob, ERA_LEGACY, NULL, PARAMS("x", "{}"));
	world_say(&w,
		  NOTE("notifications/tasks/status", "{\"taskId\":\"b1\",\"status\":\"failed\"}"));
	OK(w.others == 1 && w.other_owner == &bob);
	STREQ(w.other, "notifications/tasks/status {\"taskId\":\"b1\",\"status\":\"failed\"}");
	world_say(&w, NOTE("notifications/tasks/status", "{\"taskId\":\"?\"}"));
	EQ(w.others, 1); /* it may be a task of an owner that has left */
	world_say(&w, NOTE("notifications/message", "{\"level\":\"info\"," RELATED("a1") "}"));
	OK(w.note_count == 1 && w.notes[0].owner == &alice);
	world_say(&w, NOTE("notifications/message",
			   "{\"level\":\"info\",\"_meta\":{\"progressToken\":5}}"));
	OK(w.note_count == 2 && w.notes[1].owner == &bob);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":\"s\",\"method\":\"elicitation/"
		      "create\",\"params\":{" RELATED("b1") "}}");
	OK(w.ask_count == 1 && w.asks[0].owner == &bob);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":\"t\",\"method\":\"elicitation/"
		      "create\",\"params\":{}}");
	OK(w.ask_count == 2 && !w.asks[1].owner);
	world_close(&w);
}

TEST(the_end_of_an_elicitation_goes_to_the_owner_that_saw_it)
{
	AUTO(passed_done) struct passed p = { .count = 0 };
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;

	world_open_legacy(&w, &own);
	pass(&w, &p, &alice, ERA_LEGACY, NULL, PARAMS("tools/call", "{}"));
	world_say(&w,
		  "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32042,\"message\":\"\","
		  "\"data\":{"
		  "\"elicitations\":[{\"elicitationId\":\"e1\"},{\"elicitationId\":\"e2\"}]}}}");
	world_call_of(&w, &d, &bob, KILLICK_CALL, "t");
	world_say(&w,
		  "{\"jsonrpc\":\"2.0\",\"id\":\"s\",\"method\":\"elicitation/create\",\"params\":{"
		  "\"mode\":\"url\",\"elicitationId\":\"e3\"}}");
	OK(w.ask_count == 1 && w.asks[0].owner == &bob);
	world_say(&w, NOTE("notifications/elicitation/complete", "{\"elicitationId\":\"e2\"}"));
	OK(w.others == 1 && w.other_owner == &alice);
	world_say(&w, NOTE("notifications/elicitation/complete", "{\"elicitationId\":\"e3\"}"));
	OK(w.others == 2 && w.other_owner == &bob);
	world_say(&w, NOTE("notifications/elicitation/complete", "{\"elicitationId\":\"e4\"}"));
	EQ(w.others, 2); /* bob is the only one at work, but did not see it */
	world_close(&w);
}

TEST(other_notifications_go_to_the_only_owner_at_work)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;

	world_open_legacy(&w, &own);
	world_say(&w, NOTE("notifications/x", "{}"));
	OK(w.others == 1 && !w.other_owner);
	world_call_of(&w, &d, &alice, KILLICK_CALL, "t");
	world_say(&w, NOTE("notifications/x", "{}"));
	OK(w.others == 2 && w.other_owner == &alice);
	world_call_of(&w, &d, &bob, KILLICK_CALL, "t");
	world_say(&w, NOTE("notifications/x", "{}"));
	OK(w.others == 3 && !w.other_owner);
	client_forget(w.client, &alice, "left");
	world_say(&w, NOTE("notifications/x", "{}"));
	EQ(w.others, 3); /* it may belong to alice */
	world_close(&w);
}

#define LOG(level) NOTE("notifications/message", "{\"level\":\"" level "\",\"data\":\"x\"}")

TEST(with_logs_own_no_owner_sees_logs_of_another)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;

	world_open_legacy(&w, &own);
	world_say(&w, LOG("info"));
	OK(w.note_count == 1 && !w.notes[0].owner); /* nobody has called yet */
	world_call_of(&w, &d, &alice, KILLICK_LOG_LEVEL, "debug");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
	world_say(&w, LOG("debug"));
	OK(w.note_count == 2 && w.notes[1].owner == &alice); /* the only one */
	world_call_of(&w, &d, &bob, KILLICK_LOG_LEVEL, "debug");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}");
	world_say(&w, LOG("error"));
	EQ(w.note_count, 2); /* it may be about either of them */
	world_call_of(&w, &d, &bob, KILLICK_CALL, "t");
	world_say(&w, LOG("debug"));
	OK(w.note_count == 3 && w.notes[2].owner == &bob);
	world_call_of(&w, &d, &alice, KILLICK_CALL, "t");
	world_say(&w, LOG("error"));
	EQ(w.note_count, 3);
	client_forget(w.client, &alice, "left");
	world_say(&w, LOG("error"));
	EQ(w.note_count, 3);
	world_close(&w);
}

TEST(with_logs_all_every_owner_gets_them_from_its_level_on)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;

	world_open_legacy(&w, &all);
	world_call_of(&w, &d, &alice, KILLICK_LOG_LEVEL, "error");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
	world_call_of(&w, &d, &bob, KILLICK_CALL, "t");
	world_say(&w, LOG("info"));
	OK(w.note_count == 1 && w.notes[0].owner == &bob); /* his call is the only one */
	world_say(&w, LOG("error"));
	OK(w.note_count == 2 && w.notes[1].owner == &bob);
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}");
	world_say(&w, LOG("info")); /* belongs to no call */
	OK(w.note_count == 3 && w.notes[2].owner == &bob);
	world_say(&w, LOG("error"));
	EQ(w.note_count, 5);
	world_close(&w);
}

TEST(the_host_learns_when_an_ask_is_over)
{
	AUTO(done_drop) struct done d = { .count = 0 };
	struct world w;

	world_open_legacy(&w, &own);
	world_call_of(&w, &d, &alice, KILLICK_CALL, "t");
	for (int i = 0; i < 4; i++)
		world_say(&w,
			  "{\"jsonrpc\":\"2.0\",\"id\":\"s%d\",\"method\":\"elicitation/create\"}",
			  i);
	EQ(w.ask_count, 4);
	client_answer(w.client, w.asks[0].number, "{}", 2);
	EQ(w.overs, 0);
	world_say(&w, NOTE("notifications/cancelled", "{\"requestId\":\"s1\"}"));
	OK(w.overs == 1 && w.over == w.asks[1].number);
	client_decline(w.client, w.asks[1].number, "too late"); /* no effect */
	client_forget(w.client, &alice, "left");
	EQ(w.overs, 3);
	world_call_of(&w, &d, &bob, KILLICK_CALL, "t");
	world_close(&w);
	EQ(w.overs, 3);
}
