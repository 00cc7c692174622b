/* rows_asks.c - requests that a shared server makes reach the session whose call caused them, or no
 * session. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rows.h"

#define ELICIT "{\"elicitation\":{\"form\":{},\"url\":{}}}"
#define ASK_TEXT(text_)                                                                            \
	"\"method\":\"elicitation/create\",\"params\":{\"message\":\"" text_                       \
	"\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}"

static void answer_note(struct mate *m, struct span ask, const char *text)
{
	struct span id = scan_member(ask, "id");

	mate_say(m,
		 "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"action\":\"accept\","
		 "\"content\":{\"word\":\"%s\"}}}",
		 (int)id.len, id.at, text);
}

static void expect_word(struct mate *m, long id, const char *word)
{
	struct span s = mate_result(m, id);

	if (!scan_is(mate_at(s, "structuredContent", "answer", "result", "content", "word", NULL),
		     word))
		FAIL("the answer is not '%s': %.*s", word, (int)s.len, s.at);
}

/* The first question, when nothing else is in flight: the hub learns that the server asks. */
static void ask_alone(struct mate *m)
{
	long id = mate_call(m, "ask", ASK_TEXT("alone"), NULL);

	answer_note(m, mate_note(m, "elicitation/create", "alone"), "alone");
	expect_word(m, id, "alone");
}

TEST(questions_at_once_reach_the_sessions_that_called)
{
	static const char *const words[] = { "of a", "of b" };
	struct rows r;
	struct mate *m[2] = { &r.a, &r.b };
	long ids[2];

	rows_begin_with(&r, "\"maxInstances\":1", ELICIT, NULL, NULL);
	ask_alone(&r.a);
	for (int i = 0; i < 5; i++) {
		int first;

		ids[0] = mate_call(&r.a, "ask", ASK_TEXT("of a"), NULL);
		ids[1] = mate_call(&r.b, "ask", ASK_TEXT("of b"), NULL);
		first = mate_first(&r.a, &r.b); /* one at a time */
		for (int k = 0; k < 2; k++) {
			int now = first ^ k;

			answer_note(m[now], mate_note(m[now], "elicitation/create", words[now]),
				    words[now]);
			expect_word(m[now], ids[now], words[now]);
		}
	}
	EQ(mate_noted(&r.a, "of b", NULL) + mate_noted(&r.b, "of a", NULL), 0);
	rows_end(&r);
}

/* With one instance the call of b waits until the call of a is over. */
TEST(a_server_that_asks_gets_one_call_at_a_time)
{
	struct rows r;
	struct span ask;
	char *kept;
	long a, b;

	rows_begin_with(&r, "\"maxInstances\":1", ELICIT, NULL, NULL);
	ask_alone(&r.a);
	a = mate_call(&r.a, "ask", ASK_TEXT("of a"), NULL);
	ask = mate_note(&r.a, "elicitation/create", "of a");
	kept = strndup(ask.at, ask.len);
	b = mate_call(&r.b, "echo", "\"text\":\"of b\"", NULL);
	EQ(t_wait_fd(r.b.out, POLLIN, 300), 0);
	/* lists do not wait: the hub has read them before */
	OK(mate_at(mate_result(&r.b, mate_ask(&r.b, "tools/list", NULL, NULL)), "tools", NULL).len >
	   0);
	mate_result(&r.b, mate_ask(&r.b, "prompts/list", NULL, NULL));
	answer_note(&r.a, (struct span){ kept, strlen(kept) }, "from a");
	expect_word(&r.a, a, "from a");
	mate_result(&r.b, b);
	EQ(mate_servers(), 1);
	free(kept);
	rows_end(&r);
}

/* A call that hangs must not block the other sessions without a bound. */
TEST(a_call_behind_one_that_hangs_fails_in_bounded_time_and_names_it, .timeout_ms = 90000)
{
	struct rows r;
	struct span s;
	long a, b;

	rows_begin_with(&r, "\"maxInstances\":1", ELICIT, NULL, NULL);
	ask_alone(&r.a);
	a = mate_call(&r.a, "block", "\"secret\":\"of a\"", NULL);
	/* a list comes from the hub: the hub has read the call before */
	mate_result(&r.a, mate_ask(&r.a, "tools/list", NULL, NULL));
	b = mate_call(&r.b, "echo", "\"text\":\"of b\"", NULL);
	r.b.more_ms = 30000 * T_PATIENCE;
	s = mate_answer(&r.b, b);
	if (scan_member(s, "error").len == 0 || !memmem(s.at, s.len, "call 'block'", 12) ||
	    !memmem(s.at, s.len, "maxInstances", 12) || memmem(s.at, s.len, "of a", 4))
		FAIL("the error is not useful: %.*s", (int)s.len, s.at);
	mate_say(&r.a,
		 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
		 "\"requestId\":%ld}}",
		 a);
	STREQ(mate_text(&r.b, "echo", "\"text\":\"of b\""), "of b");
	rows_end(&r);
}

/* A session that comes when the server is known to ask gets another instance, up to the limit. */
TEST(a_second_instance_serves_calls_while_the_first_asks)
{
	struct mate_spec spec = { .capabilities = ELICIT };
	struct mate c, d;
	struct rows r;
	struct span ask;
	char *kept;
	long a;

	rows_begin_with(&r, "\"maxInstances\":2", ELICIT, NULL, NULL);
	ask_alone(&r.a);
	EQ(mate_servers(), 1);
	spec.config = r.config;
	rows_add(&c, &spec);
	a = mate_call(&r.a, "ask", ASK_TEXT("of a"), NULL);
	ask = mate_note(&r.a, "elicitation/create", "of a");
	kept = strndup(ask.at, ask.len);
	STREQ(mate_text(&c, "echo", "\"text\":\"of c\""), "of c");
	EQ(mate_servers(), 2);
	answer_note(&r.a, (struct span){ kept, strlen(kept) }, "from a");
	expect_word(&r.a, a, "from a");
	rows_add(&d, &spec);
	mate_settle(&d);
	EQ(mate_servers(), 2);
	free(kept);
	mate_close(&c);
	mate_close(&d);
	rows_end(&r);
}

#define ALL_FEATURES "{\"elicitation\":{\"form\":{},\"url\":{}},\"roots\":{},\"sampling\":{}}"

static void ask_with_array(struct mate *m, const char *method, const char *in)
{
	char arguments[120];
	struct span s;

	snprintf(arguments, sizeof(arguments), "\"method\":\"%s\",\"params\":[\"x\"]", method);
	s = mate_answer(m, mate_call(m, "ask", arguments, NULL));
	if (!memmem(s.at, s.len, in, strlen(in)))
		FAIL("%s is not in %.*s", in, (int)s.len, s.at);
	EQ(mate_noted(m, method, NULL), 0);
}

TEST(a_question_whose_params_are_an_array_is_refused_and_the_hub_goes_on)
{
	static const struct {
		const char *more, *way, *version, *answer;
	} rows[] = {
		{ NULL, NULL, NULL, "-32602" },
		{ NULL, NULL, "2026-07-28", "-32602" },
		{ "\"era\":\"modern\"", "taggednew", NULL,
		  "a question whose params are no object" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct mate c;
		struct rows r;

		rows_begin_with(&r, rows[i].more, ALL_FEATURES, rows[i].way, rows[i].version);
		ask_with_array(&r.a, "elicitation/create", rows[i].answer);
		ask_with_array(&r.a, "sampling/createMessage", rows[i].answer);
		/* a server that may be shared gets no roots, and so no modern server does */
		rows_add(&c, &(struct mate_spec){
				     .config = MATE_CONFIG("alone.json", { "alone", rows[i].way,
									   NULL, rows[i].more }),
				     .capabilities = ALL_FEATURES,
				     .version = rows[i].version });
		if (!rows[i].way)
			ask_with_array(&c, "roots/list", rows[i].answer);
		STREQ(mate_text(&c, "echo", "\"text\":\"of c\""), "of c");
		STREQ(mate_text(&r.a, "echo", "\"text\":\"of a\""), "of a");
		STREQ(mate_text(&r.b, "echo", "\"text\":\"of b\""), "of b");
		mate_close(&c);
		rows_end(&r);
	}
}

/* Two calls are in flight: the question reaches no client, and from then on the server gets one
 * call at a time. */
TEST(a_question_with_two_calls_in_flight_is_cancelled_and_then_calls_are_serialised)
{
	struct rows r;
	struct span s;
	long a, b;

	rows_begin_with(&r, "\"maxInstances\":1", ELICIT, NULL, NULL);
	a = mate_call(&r.a, "sleep", "\"ms\":100", NULL);
	rows_await_calls(&r.b, "sleep", 1);
	s = mate_do(&r.b, "ask", ASK_TEXT("of b"));
	/* no person has declined */
	OK(scan_is(mate_at(s, "structuredContent", "answer", "result", "action", NULL), "cancel"));
	mate_result(&r.a, a);
	EQ(mate_noted(&r.a, "elicitation/create", NULL), 0);
	EQ(mate_noted(&r.b, "elicitation/create", NULL), 0);
	/* at most one of these is in the server at a time */
	a = mate_call(&r.a, "sleep", "\"ms\":150", NULL);
	b = mate_call(&r.b, "counts", NULL, NULL);
	s = mate_result(&r.b, b);
	EQ(scan_long(mate_at(s, "structuredContent", "open sleep", NULL), -1), 0);
	mate_result(&r.a, a);
	rows_end(&r);
}

/* Wait until the server has read the answer to its late question; the answer. The test makes no
 * call meanwhile, because the question would belong to that call. */
static struct span await_late_answer(const char *wire, char *line, int size)
{
	double end = t_now_ms() + MATE_MS;

	while (t_now_ms() < end) {
		FILE *f = fopen(wire, "re");
		bool found = false;

		OK(f);
		while (!found && fgets(line, size, f))
			found = strchr(line, '\n') && strstr(line, "\"id\":\"zoo-0\"");
		fclose(f);
		if (found)
			return (struct span){ line, strcspn(line, "\n") };
		usleep(2000);
	}
	FAIL("the hub did not answer the late question");
}

/* The server writes what it reads into the file `wire`. */
static void begin_with_wire(struct rows *r, char *wire, size_t size)
{
	char more[160];

	snprintf(wire, size, "%s/wire", t_audit.dir);
	snprintf(more, sizeof(more), "\"env\":{\"ZOO_WIRE\":\"%s\"}", wire);
	rows_begin_with(r, more, ELICIT, NULL, NULL);
}

static void expect_late_cancel(const char *wire)
{
	char line[4096];
	struct span late = await_late_answer(wire, line, sizeof(line));

	if (scan_member(late, "error").len == 0 &&
	    !scan_is(mate_at(late, "result", "action", NULL), "cancel"))
		FAIL("the late question was answered: %.*s", (int)late.len, late.at);
}

TEST(a_question_after_the_answer_reaches_no_client)
{
	char wire[96];
	struct rows r;

	begin_with_wire(&r, wire, sizeof(wire));
	mate_do(&r.a, "ask", ASK_TEXT("of a") ",\"late\":20");
	expect_late_cancel(wire);
	mate_settle(&r.a);
	mate_settle(&r.b);
	EQ(mate_noted(&r.a, "elicitation/create", NULL), 0);
	EQ(mate_noted(&r.b, "elicitation/create", NULL), 0);
	rows_end(&r);
}

/* The client that called is gone, and the server was alone with the other client. */
TEST(a_question_for_a_client_that_has_left_reaches_no_client)
{
	char wire[96];
	struct rows r;

	begin_with_wire(&r, wire, sizeof(wire));
	mate_settle(&r.a);
	mate_do(&r.b, "ask", ASK_TEXT("of b") ",\"late\":300");
	mate_close(&r.b);
	expect_late_cancel(wire);
	mate_settle(&r.a);
	EQ(mate_noted(&r.a, "elicitation/create", NULL), 0);
	mate_close(&r.a);
	rows_stop();
}

/* A question that came while no call was in flight, to the only client. Then another client joins.
 */
static void ask_without_a_call(struct rows *r, const char *wire)
{
	struct mate_spec spec = { .capabilities = ELICIT };
	char more[200];

	snprintf(more, sizeof(more),
		 "\"share\":\"identical\",\"maxInstances\":1,\"env\":{\"ZOO_WIRE\":\"%s\"}", wire);
	mate_hub_start();
	snprintf(r->config, sizeof(r->config), "%s",
		 MATE_CONFIG("config.json", { "one", NULL, NULL, more }));
	spec.config = r->config;
	rows_add(&r->a, &spec);
	mate_do(&r->a, "ask", ASK_TEXT("of a") ",\"late\":20");
	mate_note(&r->a, "elicitation/create", "of a");
	rows_add(&r->b, &spec);
	mate_settle(&r->b);
	EQ(mate_servers(), 1);
}

TEST(a_question_without_a_call_is_withdrawn_when_the_server_is_restarted)
{
	struct control c;
	struct rows r;

	ask_without_a_call(&r, "/dev/null");
	control_open(&c);
	control_do(&c, "server.restart", "\"server\":\"one\"");
	mate_note(&r.a, "notifications/cancelled", NULL);
	EQ(mate_noted(&r.b, "notifications/cancelled", NULL), 0);
	control_close(&c);
	rows_end(&r);
}

TEST(a_question_without_a_call_is_cancelled_when_its_session_is_destroyed)
{
	char wire[96];
	struct control c;
	struct rows r;
	int status;

	snprintf(wire, sizeof(wire), "%s/wire", t_audit.dir);
	ask_without_a_call(&r, wire);
	control_open(&c);
	control_do(&c, "session.destroy", "\"session\":\"s1\"");
	expect_late_cancel(wire);
	control_close(&c);
	status = t_wait_child(r.a.pid, MATE_MS); /* the session was ended by another program */
	OK(WIFEXITED(status));
	mate_done(&r.a);
	mate_close(&r.b);
	rows_stop();
}

/* Wait until the server `other` has rested so many times. */
static void await_rests(struct control *c, long count)
{
	double end = t_now_ms() + MATE_MS;
	long rests = 0;

	while (rests < count) {
		struct span list = scan_member(control_do(c, "server.list", ""), "servers");

		for (size_t i = 0; i < 2; i++)
			if (scan_is(scan_member(mate_item(list, i), "name"), "other"))
				rests = scan_long(scan_member(mate_item(list, i), "rests"), 0);
		if (t_now_ms() > end)
			FAIL("the server has rested %ld times", rests);
		usleep(5000);
	}
}

TEST(a_server_does_not_rest_while_its_question_is_open)
{
	static const char more[] = "\"idle\":0.2,\"stateful\":false";
	struct mate_spec spec = { .capabilities = ELICIT };
	struct control c;
	struct mate m;

	mate_hub_start();
	control_open(&c);
	spec.config = MATE_CONFIG("config.json", { "one", NULL, NULL, more },
				  { "other", NULL, NULL, more });
	rows_add(&m, &spec);
	mate_do(&m, "one__ask", ASK_TEXT("open") ",\"late\":20");
	mate_note(&m, "elicitation/create", "open");
	for (long i = 1; i <= 3; i++) { /* each rest shows that the time of `one` is over, too */
		mate_do(&m, "other__echo", "\"text\":\"x\"");
		await_rests(&c, i);
	}
	EQ(mate_noted(&m, "notifications/cancelled", NULL), 0);
	mate_close(&m);
	control_close(&c);
	rows_stop();
}

TEST(the_question_of_a_task_reaches_the_owner_of_the_task)
{
	struct rows r;
	struct span s;
	char id[64], member[96];
	long b;

	rows_begin_with(&r, NULL, ELICIT, NULL, NULL);
	s = mate_result(&r.a, mate_ask(&r.a, "tools/call",
				       "\"name\":\"work\",\"arguments\":{\"text\":\"of a\","
				       "\"ms\":30,\"ask\":true},\"task\":{}",
				       NULL));
	scan_copy(mate_at(s, "task", "taskId", NULL), id, sizeof(id));
	snprintf(member, sizeof(member), "\"taskId\":\"%s\"", id);
	b = mate_call(&r.b, "sleep", "\"ms\":200,\"text\":\"of b\"", NULL);
	answer_note(&r.a, mate_note(&r.a, "elicitation/create", "of a"), "from a");
	mate_note(&r.a, "notifications/tasks/status", "\"completed\"");
	s = mate_result(&r.a, mate_ask(&r.a, "tasks/result", member, NULL));
	OK(scan_is(mate_at(s, "structuredContent", "answer", "content", "word", NULL), "from a"));
	mate_result(&r.b, b);
	EQ(mate_noted(&r.b, "of a", NULL), 0);
	rows_end(&r);
}

/* The end of a call says nothing about a question that may belong to another call. */
static void cancel_and_answer(struct rows *r, long call, const char *text)
{
	struct span ask = mate_note(&r->a, "elicitation/create", text);
	char *kept = strndup(ask.at, ask.len);

	mate_say(&r->a,
		 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
		 "\"params\":{\"requestId\":%ld}}",
		 call);
	/* the hub itself answers, after it has handled the cancellation */
	mate_result(&r->a, mate_ask(&r->a, "ping", NULL, NULL));
	EQ(mate_noted(&r->a, "notifications/cancelled", NULL), 0);
	answer_note(&r->a, (struct span){ kept, strlen(kept) }, "from a");
	free(kept);
}

TEST(the_question_of_a_task_stays_when_another_call_is_cancelled)
{
	struct rows r;
	struct span s;
	char member[96];
	long a;

	rows_begin_with(&r, NULL, ELICIT, NULL, NULL);
	a = mate_call(&r.a, "sleep", "\"ms\":60000", NULL);
	rows_await_calls(&r.b, "sleep", 1);
	s = mate_result(&r.a, mate_ask(&r.a, "tools/call",
				       "\"name\":\"work\",\"arguments\":{\"text\":\"of a\","
				       "\"ask\":true},\"task\":{}",
				       NULL));
	s = mate_at(s, "task", "taskId", NULL);
	snprintf(member, sizeof(member), "\"taskId\":%.*s", (int)s.len, s.at);
	cancel_and_answer(&r, a, "of a");
	mate_note(&r.a, "notifications/tasks/status", "\"completed\"");
	s = mate_result(&r.a, mate_ask(&r.a, "tasks/result", member, NULL));
	OK(scan_is(mate_at(s, "structuredContent", "answer", "content", "word", NULL), "from a"));
	rows_end(&r);
}

TEST(a_question_with_two_calls_of_one_session_stays_when_one_is_cancelled)
{
	struct rows r;
	long sleeps, asks;

	rows_begin_with(&r, "\"maxInstances\":1", ELICIT, NULL, NULL);
	sleeps = mate_call(&r.a, "sleep", "\"ms\":60000", NULL);
	rows_await_calls(&r.b, "sleep", 1);
	asks = mate_call(&r.a, "ask", ASK_TEXT("of a"), NULL);
	cancel_and_answer(&r, sleeps, "of a");
	expect_word(&r.a, asks, "from a");
	rows_end(&r);
}

TEST(the_question_of_a_task_whose_owner_was_killed_reaches_no_client)
{
	struct rows r;
	long b;

	rows_begin_with(&r, NULL, ELICIT, NULL, NULL);
	mate_result(&r.a, mate_ask(&r.a, "tools/call",
				   "\"name\":\"work\",\"arguments\":{\"text\":\"of a\","
				   "\"ms\":100,\"ask\":true},\"task\":{}",
				   NULL));
	mate_kill(&r.a);
	b = mate_call(&r.b, "sleep", "\"ms\":300,\"text\":\"of b\"", NULL);
	mate_result(&r.b, b);
	mate_settle(&r.b);
	EQ(mate_noted(&r.b, "of a", NULL), 0);
	mate_close(&r.b);
	rows_stop();
}

TEST(the_completion_of_a_url_question_reaches_the_session_that_saw_it)
{
	struct rows r;
	struct span ask, id;
	long a;

	rows_begin_with(&r, NULL, ELICIT, NULL, NULL);
	a = mate_call(&r.a, "link", "\"text\":\"link of a\",\"ms\":30", NULL);
	ask = mate_note(&r.a, "elicitation/create", "link of a");
	id = scan_member(ask, "id");
	mate_say(&r.a, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"action\":\"accept\"}}",
		 (int)id.len, id.at);
	mate_result(&r.a, a);
	mate_note(&r.a, "notifications/elicitation/complete", "link of a");
	mate_settle(&r.b);
	EQ(mate_noted(&r.b, "link of a", NULL), 0);
	rows_end(&r);
}

/* No roots are declared to a shared server, or each session has its own instance. */
TEST(roots_of_one_session_never_reach_the_server_of_another)
{
	struct rows r;
	struct span s;
	bool apart;

	rows_begin_with(&r, NULL, "{\"roots\":{\"listChanged\":true}}", NULL, NULL);
	apart = mate_count(&r.a, "pid") != mate_count(&r.b, "pid");
	s = mate_at(mate_do(&r.a, "counts", ""), "structuredContent", "capabilities", "roots",
		    NULL);
	OK(apart || s.len == 0);
	if (!apart) {
		s = mate_do(&r.a, "ask", "\"method\":\"roots/list\"");
		OK(mate_at(s, "structuredContent", "answer", NULL).len > 0);
		EQ(mate_noted(&r.a, "roots/list", NULL) + mate_noted(&r.b, "roots/list", NULL), 0);
		mate_say(&r.a, "{\"jsonrpc\":\"2.0\",\"method\":"
			       "\"notifications/roots/list_changed\"}");
		mate_settle(&r.a);
		EQ(mate_count(&r.a, "notifications/roots/list_changed"), 0);
	}
	rows_end(&r);
}

TEST(the_hub_answers_pings_of_the_server)
{
	struct rows r;
	struct span s;

	rows_begin(&r, NULL);
	s = mate_do(&r.a, "pings", "");
	OK(mate_at(s, "structuredContent", "answer", "result", NULL).len > 0);
	EQ(mate_noted(&r.a, "\"ping\"", NULL) + mate_noted(&r.b, "\"ping\"", NULL), 0);
	rows_end(&r);
}
