/* control.c - the control API: every method, wrong params, leases, events, reload. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "control_lab.h"
#include "records.h"

TEST(a_session_is_made_used_and_destroyed)
{
	struct control c;
	struct span r;
	const char *id;

	mate_hub_start();
	control_open(&c);
	id = create(&c, "good", "\"tag\":\"one\"");
	STREQ(id, "s1");
	HAS(with_session(&c, "tool.list", id, NULL), "\"echo\"");
	HAS(with_session(&c, "tool.call", id, "\"tool\":\"echo\",\"arguments\":{\"text\":\"hi\"}"),
	    "\"result\"");
	HAS(with_session(&c, "tool.call", id,
			 "\"server\":\"a\",\"tool\":\"echo\",\"arguments\":{\"text\":\"hi\"}"),
	    "\"result\"");
	HAS(with_session(&c, "mcp.request", id, "\"method\":\"resources/list\""), "\"resources\"");
	r = control_do(&c, "session.list", "");
	HAS(r, "\"tag\":\"one\"");
	HAS(r, "\"client\":null");
	r = control_do(&c, "server.list", "\"detail\":true");
	HAS(r, "\"sessions\":[\"s1\"]");
	HAS(r, "\"recent\":[{");
	HAS(r, "\"tokens\":");
	EQ(mate_servers(), 1);
	r = with_session(&c, "session.destroy", id, NULL);
	HAS(r, "\"proved\":true");
	HAS(r, "\"kept\":[]");
	HAS(r, "\"why\":\"close\"");
	EQ(mate_servers(), 0); /* the answer comes after the proof */
	EQ(error_code(with_session(&c, "session.destroy", id, NULL)), -32001);
	control_close(&c);
	mate_hub_stop();
}

/* An optional server that never answers its handshake does not delay the answer. */
TEST(create_waits_only_for_required_servers_when_told)
{
	struct control c;
	char params[800];
	struct span r;

	mate_hub_start();
	control_open(&c);
	snprintf(params, sizeof(params),
		 "\"wait\":\"required\",\"mcpServers\":{"
		 "\"good\":{\"command\":\"%s\",\"args\":[\"mcp\",\"good\"],\"required\":true},"
		 "\"mute\":{\"command\":\"%s\",\"args\":[\"mcp\",\"mute\"]}}",
		 t_program("ZOO", "build/tests/zoo/killick-zoo"),
		 t_program("ZOO", "build/tests/zoo/killick-zoo"));
	r = control_do(&c, "session.create", params);
	HAS(r, "{\"name\":\"good\",\"state\":\"ready\"");
	OK(!has(r, "\"failed\""));
	HAS(with_session(&c, "session.destroy", "s1", NULL), "\"proved\":true");
	control_close(&c);
	mate_hub_stop();
}

TEST(the_calls_of_the_hub_count_those_of_closed_sessions)
{
	struct control c;

	mate_hub_start();
	control_open(&c);
	for (int i = 1; i <= 2; i++) {
		char id[32];

		snprintf(id, sizeof(id), "%s", create(&c, "good", NULL));
		HAS(with_session(&c, "tool.call", id, "\"tool\":\"echo\",\"arguments\":{}"),
		    "\"result\"");
		with_session(&c, "session.destroy", id, NULL);
		EQ(scan_long(scan_member(control_do(&c, "hub.status", ""), "calls"), -1), i);
	}
	control_close(&c);
	mate_hub_stop();
}

TEST(destroy_names_the_servers_that_others_keep)
{
	struct control c;
	char params[800];
	struct span r;

	mate_hub_start();
	control_open(&c);
	snprintf(params, sizeof(params), "%s", servers("good", "\"share\":\"identical\""));
	control_do(&c, "session.create", params);
	control_do(&c, "session.create", params);
	EQ(mate_servers(), 1);
	HAS(control_do(&c, "server.list", ""), "\"sessions\":[\"s1\",\"s2\"],\"shared\":true");
	r = with_session(&c, "session.destroy", "s1", NULL);
	HAS(r, "\"ended\":[]");
	HAS(r, "\"kept\":[{\"server\":\"a\",\"sessions\":1}]");
	EQ(mate_servers(), 1);
	HAS(with_session(&c, "session.destroy", "s2", NULL), "\"kept\":[]");
	EQ(mate_servers(), 0);
	control_close(&c);
	mate_hub_stop();
}

TEST(sessions_end_with_their_connection)
{
	struct control c;

	mate_hub_start();
	control_open(&c);
	create(&c, "good", NULL);
	create(&c, "stays", "\"features\":[\"roots\"]");
	EQ(mate_servers(), 2);
	control_close(&c);
	await_sessions(0);
	EQ(mate_servers(), 0);
	mate_hub_stop();
}

TEST(a_leased_session_outlives_its_connection)
{
	struct control c;
	char id[32];

	mate_hub_start();
	control_open(&c);
	snprintf(id, sizeof(id), "%s", create(&c, "good", "\"lease\":700"));
	control_close(&c);
	control_open(&c);
	for (int i = 0; i < 3; i++) { /* longer than the lease in all */
		usleep(300000);
		HAS(with_session(&c, "session.renew", id, NULL), "\"leaseMs\":700");
	}
	/* a call in flight holds the session */
	HAS(with_session(&c, "tool.call", id, "\"tool\":\"sleep\",\"arguments\":{\"ms\":1200}"),
	    "\"result\"");
	EQ(hub_sessions(), 1);
	await_sessions(0);
	EQ(mate_servers(), 0);
	control_close(&c);
	mate_hub_stop();
}

static const struct {
	const char *method, *params;
	long code;
} wrong[] = {
	{ "session.create", "", -32602 },
	{ "session.create", "\"mcpServers\":[]", -32602 },
	{ "session.create", "\"mcpServers\":{},\"config\":\"/x\"", -32602 },
	{ "session.create", "\"config\":\"/nonexistent.json\"", -32000 },
	{ "session.create", "\"config\":7", -32602 },
	{ "session.create", "\"command\":[\"x\"],\"share\":\"yes\"", -32602 },
	{ "session.create", "\"command\":[\"x\"],\"idleMs\":-1", -32602 },
	{ "session.create", "\"mcpServers\":{},\"lease\":0", -32602 },
	{ "session.create", "\"mcpServers\":{},\"lease\":\"1s\"", -32602 },
	{ "session.create", "\"mcpServers\":{},\"features\":[\"x\"]", -32602 },
	{ "session.create", "\"mcpServers\":{},\"wait\":\"never\"", -32602 },
	{ "session.create", "\"mcpServers\":{},\"notifications\":[]", -32602 },
	{ "session.create", "\"mcpServers\":{},\"tag\":\"\"", -32602 },
	{ "session.create", "\"mcpServers\":{},\"tag\":\"a\\nb\"", -32602 },
	{ "session.create", "\"mcpServers\":{},\"cwd\":\"here\"", -32602 },
	{ "session.create", "\"mcpServers\":{},\"environ\":{\"A\":1}", -32602 },
	{ "session.create", "\"mcpServers\":{},\"environ\":{\"A=B\":\"1\"}", -32602 },
	{ "session.create", "\"mcpServers\":{},\"only\":[1]", -32602 },
	{ "session.create", "\"mcpServers\":{},\"only\":[\"b\"]", -32000 },
	{ "session.create",
	  "\"mcpServers\":{\"a\":{\"command\":\"/nonexistent\",\"required\":true}}", -32000 },
	{ "session.attach", "\"config\":\"/x\"", -32602 },
	{ "session.renew", "", -32602 },
	{ "session.renew", "\"session\":\"s99\"", -32001 },
	{ "session.renew", "\"session\":\"s0\"", -32001 },
	{ "session.renew", "\"session\":1", -32602 },
	{ "session.refresh", "\"session\":\"s1\"", -32602 },
	{ "session.refresh", "\"session\":\"s1\",\"mcpServers\":7", -32602 },
	{ "session.refresh", "\"session\":\"s1\",\"config\":\"/nonexistent\"", -32000 },
	{ "session.refresh", "\"session\":\"\",\"mcpServers\":{}", -32001 },
	{ "session.destroy", "\"session\":\"v1\"", -32001 },
	{ "server.list", "\"detail\":1", -32602 },
	{ "server.restart", "", -32602 },
	{ "server.restart", "\"server\":\"v99\"", -32001 },
	{ "server.stop", "\"server\":\"nobody\"", -32001 },
	{ "server.rest", "\"server\":{}", -32602 },
	{ "tool.list", "\"session\":\"s1\",\"server\":\"b\"", 0 },
	{ "tool.list", "", -32602 },
	{ "tool.call", "\"session\":\"s1\"", -32602 },
	{ "tool.call", "\"session\":\"s1\",\"tool\":\"echo\",\"arguments\":[]", -32602 },
	{ "tool.call", "\"session\":\"s1\",\"tool\":\"echo\",\"timeoutMs\":-1", -32602 },
	{ "tool.call", "\"session\":\"s1\",\"tool\":\"echo\",\"_meta\":7", -32602 },
	{ "tool.call", "\"session\":\"s1\",\"tool\":\"none\"", 0 },
	{ "mcp.request", "\"session\":\"s1\"", -32602 },
	{ "mcp.request", "\"session\":\"s1\",\"method\":\"initialize\"", 0 },
	{ "mcp.request", "\"session\":\"s1\",\"method\":\"tools/list\",\"params\":1", -32602 },
	{ "events.subscribe", "\"events\":[\"x\"]", -32602 },
	{ "events.subscribe", "\"events\":\"x\"", -32602 },
	{ "hub.status2", "", -32601 },
	{ "", "", -32601 },
};

TEST(wrong_params_are_refused_with_a_sentence, .timeout_ms = 30000)
{
	struct control c;

	mate_hub_start();
	control_open(&c);
	create(&c, "good", NULL);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct span line = control_ask(&c, wrong[i].method, wrong[i].params);
		long code = error_code(line);

		if (code == 0 || (wrong[i].code && code != wrong[i].code))
			FAIL("%s {%s}: %.*s", wrong[i].method, wrong[i].params, (int)line.len,
			     line.at);
		OK(mate_at(line, "error", "message", NULL).len > 10);
	}
	EQ(hub_sessions(), 1);
	EQ(mate_servers(), 1);
	control_close(&c);
	mate_hub_stop();
}

/* Write a line and read the answer. */
static void raw(struct control *c, const char *text, const char *expect)
{
	char got[4096];
	ssize_t n;

	EQ(write(c->fd, text, strlen(text)), strlen(text));
	OK(t_wait_fd(c->fd, POLLIN, MATE_MS));
	n = read(c->fd, got, sizeof(got) - 1);
	OK(n > 0);
	got[n] = '\0';
	if (!strstr(got, expect))
		FAIL("%s -> %s", text, got);
}

TEST(broken_messages_are_answered)
{
	struct control c;

	mate_hub_start();
	control_open(&c);
	raw(&c, "{\"jsonrpc\":\"2.0\",\"id\":7}\n", "-32600");
	raw(&c, "nonsense\n", "-32700");
	raw(&c, "{\"a\":\n", "-32700");
	raw(&c, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hub.status\"}]\n", "-32600");
	raw(&c, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"hub.status\",\"params\":[]}\n",
	    "\"id\":\"x\"");
	raw(&c, "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"hub.status\"}\n", "\"id\":1.5");
	control_do(&c, "hub.status", "");
	control_close(&c);
	mate_hub_stop();
}

TEST(a_refresh_keeps_unchanged_servers)
{
	struct control c;
	char params[1200];
	struct span r;

	mate_hub_start();
	control_open(&c);
	create(&c, "good", NULL);
	snprintf(params, sizeof(params), "%s", servers("good", NULL));
	params[strlen(params) - 1] = '\0'; /* one more server */
	strncat(params, ",\"b\":{\"command\":\"", sizeof(params) - strlen(params) - 1);
	strncat(params, ZOO, sizeof(params) - strlen(params) - 1);
	strncat(params, "\",\"args\":[\"mcp\",\"crlf\"]}}", sizeof(params) - strlen(params) - 1);
	r = with_session(&c, "session.refresh", "s1", params);
	HAS(r, "\"ended\":[]");
	HAS(r, "\"unchanged\":[\"a\"]");
	HAS(r, "\"name\":\"b\",\"state\":\"ready\"");
	r = with_session(&c, "session.refresh", "s1", servers("crlf", NULL));
	HAS(r, "\"why\":\"refresh\"");
	HAS(r, "\"proved\":true");
	HAS(r, "\"unchanged\":[]");
	control_close(&c);
	mate_hub_stop();
}

TEST(a_variable_of_a_server_does_not_move_its_record)
{
	struct control c;
	char more[200];

	mate_hub_start();
	control_open(&c);
	snprintf(more, sizeof(more), "\"env\":{\"KILLICK_RUNTIME_DIR\":\"%s\"}", t_audit.dir);
	control_do(&c, "session.create", servers("good", more));
	EQ(records_count(getenv("KILLICK_RUNTIME_DIR")), 1);
	EQ(records_count(t_audit.dir), 0);
	control_close(&c);
	mate_hub_stop();
}

TEST(a_session_that_is_not_open_is_not_refreshed)
{
	struct control c;

	mate_hub_start();
	control_open(&c);
	control_send(&c, "session.create", servers("mute", NULL));
	await_sessions(1);
	EQ(error_code(with_session(&c, "session.refresh", "s1", servers("good", NULL))), -32000);
	HAS(with_session(&c, "session.destroy", "s1", NULL), "\"proved\":true");
	control_close(&c);
	mate_hub_stop();
}

#define ASK(method_)                                                                               \
	"\"tool\":\"ask\",\"arguments\":{\"method\":\"" method_                                    \
	"\",\"params\":{\"message\":\"Name?\"}}"

/* The answer that the server of the session got to its question, as the call returns it. */
static void expect_answer(struct control *c, const char *id, const char *method, const char *text)
{
	char members[160];
	struct span s;

	snprintf(members, sizeof(members),
		 "\"tool\":\"ask\",\"arguments\":{\"method\":\"%s\",\"params\":{}}", method);
	s = with_session(c, "tool.call", id, members);
	HAS(s, text);
	if (has(s, "decline"))
		FAIL("the hub has decided: %.*s", (int)s.len, s.at);
}

static long ask_name(struct control *c, const char *id)
{
	char members[300];

	snprintf(members, sizeof(members), "\"session\":\"%s\"," ASK("elicitation/create"), id);
	return control_send(c, "tool.call", members);
}

TEST(a_program_is_asked_what_it_declared_and_answers)
{
	struct control c;
	struct span s;
	char id[32];
	long call;

	mate_hub_start();
	control_open(&c);
	snprintf(id, sizeof(id), "%s",
		 create(&c, "good", "\"features\":[\"elicitation\",\"sampling\"]"));
	call = ask_name(&c, id);
	s = control_note(&c);
	HAS(s, "\"method\":\"session.question\",\"params\":{\"session\":\"s1\",");
	HAS(s, "\"question\":1,\"server\":\"a\",\"method\":\"elicitation/create\",\"params\":{"
	       "\"message\":\"Name?\"}");
	EQ(error_code(with_session(&c, "session.answer", id, "\"question\":1")), -32602);
	EQ(error_code(with_session(&c, "session.answer", id, "\"question\":2,\"result\":{}")),
	   -32001);
	control_send(&c, "session.answer",
		     "\"session\":\"s1\",\"question\":1,\"result\":{\"action\":\"accept\","
		     "\"content\":{\"name\":\"Ada\"}}");
	HAS(control_wait(&c, call), "{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}");
	/* not open any more */
	EQ(error_code(with_session(&c, "session.answer", id, "\"question\":1,\"result\":{}")),
	   -32001);
	call = ask_name(&c, id);
	HAS(control_note(&c), "\"question\":2");
	control_send(
		&c, "session.answer",
		"\"session\":\"s1\",\"question\":2,\"error\":{\"code\":-7,\"message\":\"no\"}");
	HAS(control_wait(&c, call), "\"error\":{\"code\":-7,\"message\":\"no\"}");
	/* the server ends before the answer */
	ask_name(&c, id);
	HAS(control_note(&c), "\"question\":3");
	control_send(&c, "server.stop", "\"server\":\"a\"");
	HAS(control_note(&c), "\"method\":\"session.withdrawn\",\"params\":{\"session\":\"s1\"");
	control_close(&c);
	await_sessions(0);
	mate_hub_stop();
}

/* Give up a request of this connection. */
static void cancel(struct control *c, long id)
{
	char line[100];

	snprintf(line, sizeof(line),
		 "{\"jsonrpc\":\"2.0\",\"method\":\"cancel\",\"params\":{\"id\":%ld}}\n", id);
	EQ(write(c->fd, line, strlen(line)), strlen(line));
}

TEST(a_cancelled_call_withdraws_its_question, .timeout_ms = 30000)
{
	struct control c;
	char id[32];
	long call;

	mate_hub_start();
	control_open(&c);
	snprintf(id, sizeof(id), "%s", create(&c, "good", "\"features\":[\"elicitation\"]"));
	call = ask_name(&c, id);
	HAS(control_note(&c), "\"question\":1");
	cancel(&c, call);
	HAS(control_note(&c), "\"method\":\"session.withdrawn\",\"params\":{\"session\":\"s1\"");
	EQ(error_code(with_session(&c, "session.answer", id, "\"question\":1,\"result\":{}")),
	   -32001);
	HAS(with_session(&c, "tool.call", id, "\"tool\":\"echo\""), "\"result\""); /* it lives */
	control_close(&c);
	mate_hub_stop();
}

TEST(a_program_that_declares_nothing_is_not_asked)
{
	struct control c;
	char id[32];

	mate_hub_start();
	control_open(&c);
	snprintf(id, sizeof(id), "%s", create(&c, "good", NULL));
	expect_answer(&c, id, "elicitation/create", "\"answer\":{\"error\":{\"code\":-32601");
	expect_answer(&c, id, "sampling/createMessage", "\"answer\":{\"error\":{\"code\":-32601");
	control_close(&c);
	mate_hub_stop();
}

/* The session has a lease and goes on without the connection that could answer. */
TEST(a_question_of_a_program_that_has_left_is_cancelled_and_not_declined)
{
	struct control c, d;
	char id[32];

	mate_hub_start();
	control_open(&c);
	control_open(&d);
	snprintf(id, sizeof(id), "%s",
		 create(&c, "good", "\"lease\":60000,\"features\":[\"elicitation\"]"));
	ask_name(&c, id);
	HAS(control_note(&c), "\"question\":1");
	control_close(&c);
	expect_answer(&d, id, "elicitation/create", "{\"action\":\"cancel\"}");
	with_session(&d, "session.destroy", id, NULL);
	control_close(&d);
	mate_hub_stop();
}

/* Read until the connection has sent this text. */
static void await_text(struct control *c, const char *text)
{
	double end = t_now_ms() + MATE_MS;

	while (!(c->len && memmem(c->at, c->len, text, strlen(text)))) {
		ssize_t n;

		if (t_now_ms() > end || !t_wait_fd(c->fd, POLLIN, MATE_MS))
			FAIL("%s did not come: %.*s", text, (int)c->len, c->at ? c->at : "");
		c->at = realloc(c->at, c->len + 65536);
		OK(c->at);
		n = read(c->fd, c->at + c->len, 65536);
		OK(n > 0);
		c->len += (size_t)n;
	}
}

/* Make a session with a server of any era; its id. */
static void create_any(struct control *c, const char *way, const char *more, char id[32])
{
	char params[800];

	snprintf(params, sizeof(params), "%s,%s", servers(way, "\"era\":\"auto\""), more);
	scan_copy(scan_member(control_do(c, "session.create", params), "session"), id, 32);
}

/* The params of tool.call. */
static const char *call_of(const char *id, const char *tool, const char *arguments)
{
	static char params[200];

	snprintf(params, sizeof(params), "\"session\":\"%s\",\"tool\":\"%s\",\"arguments\":{%s}",
		 id, tool, arguments);
	return params;
}

/* Wait for a notification that has this text, behind others; with further text. */
static void await_note(struct control *c, const char *text, const char *more)
{
	struct span note;

	do
		note = control_note(c);
	while (!has(note, text));
	HAS(note, more);
}

static void expect_notifications(struct control *c, const char *way)
{
	char id[32], members[200];

	/* a session of the same connection that does not want notifications */
	create_any(c, way, "\"notifications\":false", id);
	with_session(c, "mcp.request", id,
		     "\"method\":\"logging/setLevel\",\"params\":{\"level\":\"debug\"}");
	control_send(c, "tool.call", call_of(id, "log", "\"text\":\"unwanted\""));
	await_text(c, "\"result\":");
	OK(!memmem(c->at, c->len, "notification", strlen("notification")));

	create_any(c, way, "\"tag\":\"t\",\"notifications\":true", id);
	with_session(c, "mcp.request", id,
		     "\"method\":\"logging/setLevel\",\"params\":{\"level\":\"info\"}");
	control_send(c, "tool.call", call_of(id, "log", "\"text\":\"wanted\""));
	snprintf(members, sizeof(members),
		 "\"method\":\"session.notification\",\"params\":{\"session\":\"%s\",\"tag\":\"t\","
		 "\"server\":\"a\",\"method\":\"notifications/message\",\"params\":{",
		 id);
	await_note(c, "\"data\":", members);

	/* a modern server reports changes as soon as it has answered the subscription */
	HAS(with_session(c, "mcp.request", id,
			 "\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"zoo://a\"}"),
	    "\"result\"");
	control_send(c, "tool.call",
		     call_of(id, "notify", "\"what\":\"updated\",\"uri\":\"zoo://a\""));
	await_note(c, "\"method\":\"notifications/resources/updated\"", "\"uri\":\"zoo://a\"");
	control_send(c, "tool.call", call_of(id, "notify", "\"what\":\"tools\""));
	/* of the session and not of a server */
	await_note(c, "notifications/tools/list_changed",
		   "\"tag\":\"t\",\"method\":\"notifications/tools/list_changed\",\"params\":{}");
}

TEST(a_program_gets_the_notifications_that_it_wants, .timeout_ms = 30000)
{
	struct control c;

	mate_hub_start();
	control_open(&c);
	expect_notifications(&c, "good");
	expect_notifications(&c, "modern");
	control_close(&c);
	mate_hub_stop();
}

/* Read three reports with this token, and then the answer. */
static void expect_progress(struct control *c, const char *method, const char *members,
			    const char *token)
{
	char params[200];
	long call = control_send(c, method, members);

	for (int i = 1; i <= 3; i++) {
		snprintf(params, sizeof(params),
			 "\"server\":\"a\",\"method\":\"notifications/progress\",\"params\":{"
			 "\"progressToken\":%s,\"progress\":%d,\"total\":3,",
			 token, i);
		HAS(control_note(c), params);
	}
	HAS(control_wait(c, call), "\"result\"");
}

TEST(a_caller_gets_the_progress_of_its_own_requests)
{
	struct control c, d;
	char id[32];

	mate_hub_start();
	control_open(&c);
	control_open(&d);
	STREQ(create(&c, "good", "\"lease\":60000"), "s1");
	expect_progress(&c, "tool.call",
			"\"session\":\"s1\",\"tool\":\"progress\",\"_meta\":{\"progressToken\":7}",
			"7");
	/* another connection than that which made the session */
	expect_progress(&d, "tool.call",
			"\"session\":\"s1\",\"tool\":\"progress\",\"_meta\":{\"progressToken\":7}",
			"7");
	expect_progress(
		&d, "mcp.request",
		"\"session\":\"s1\",\"method\":\"tools/call\",\"params\":{\"name\":\"progress\","
		"\"_meta\":{\"progressToken\":\"x y\"}}",
		"\"x y\"");
	with_session(&c, "session.destroy", "s1", NULL);
	create_any(&c, "modern", "\"tag\":\"t\"", id);
	STREQ(id, "s2");
	expect_progress(&c, "tool.call",
			"\"session\":\"s2\",\"tool\":\"progress\",\"_meta\":{\"progressToken\":8}",
			"8");
	control_close(&c);
	control_close(&d);
	mate_hub_stop();
}

/* Whether the hub or the server knows that there is no such tool. */
TEST(an_unknown_tool_and_a_forbidden_tool_have_the_code_of_wrong_params)
{
	char params[1200], id[32];
	struct control c;

	mate_hub_start();
	control_open(&c);
	snprintf(params, sizeof(params),
		 "\"mcpServers\":{\"a\":{\"command\":\"%s\",\"args\":[\"mcp\",\"good\"],"
		 "\"disabledTools\":[\"echo\"]},\"b\":{\"command\":\"%s\",\"args\":[\"mcp\","
		 "\"good\"]}}",
		 ZOO, ZOO);
	scan_copy(scan_member(control_do(&c, "session.create", params), "session"), id, sizeof(id));
	EQ(error_code(with_session(&c, "tool.call", id, "\"tool\":\"none\"")), -32602);
	EQ(error_code(with_session(&c, "tool.call", id, "\"tool\":\"a__echo\"")), -32602);
	EQ(error_code(with_session(&c, "tool.call", id, "\"server\":\"b\",\"tool\":\"none\"")),
	   -32602);
	EQ(error_code(with_session(&c, "tool.call", id, "\"server\":\"a\",\"tool\":\"echo\"")),
	   -32602);
	EQ(error_code(with_session(&c, "tool.call", id, "\"server\":\"x\",\"tool\":\"echo\"")),
	   -32001);
	control_close(&c);
	mate_hub_stop();
}

TEST(reload_refreshes_the_sessions_of_files)
{
	struct mate_spec spec = { .config = NULL };
	struct control c;
	struct mate m;
	struct span r;
	long before;

	mate_hub_start();
	spec.config =
		MATE_CONFIG("mcp.json", { "a", "good", NULL, NULL }, { "b", "good", NULL, NULL });
	mate_open(&m, &spec);
	mate_hello(&m, &spec);
	before = atol(mate_text(&m, "a__pid", ""));
	mate_text(&m, "b__pid", "");
	control_open(&c);
	create(&c, "crlf", NULL); /* not made from a file */
	HAS(control_do(&c, "hub.reload", ""), "\"session\":\"s1\",\"tag\":null,\"ended\":[],");
	MATE_CONFIG("mcp.json", { "a", "good", NULL, NULL }, { "c", "drip", NULL, NULL });
	r = control_do(&c, "hub.reload", "");
	HAS(r, "\"server\":\"b\"");
	OK(!has(r, "\"session\":\"s2\""));
	EQ(atol(mate_text(&m, "a__pid", "")), before);
	mate_text(&m, "c__pid", "");
	r = control_do(&c, "server.list", "");
	OK(!has(r, "\"name\":\"b\""));
	/* a file that cannot be used changes nothing */
	OK(truncate(spec.config, 10) == 0);
	HAS(control_do(&c, "hub.reload", ""), "\"error\":\"");
	EQ(atol(mate_text(&m, "a__pid", "")), before);
	control_close(&c);
	mate_close(&m);
	mate_hub_stop();
}

TEST(servers_are_restarted_stopped_and_sent_to_rest)
{
	struct control c;
	struct span r;
	long first, second;

	mate_hub_start();
	control_open(&c);
	create(&c, "good", NULL);
	first = scan_long(
		mate_at(mate_item(scan_member(control_do(&c, "server.list", ""), "servers"), 0),
			"pid", NULL),
		0);
	r = control_do(&c, "server.restart", "\"server\":\"a\"");
	HAS(r, "\"why\":\"restart\"");
	second = scan_long(
		mate_at(mate_item(scan_member(control_do(&c, "server.list", ""), "servers"), 0),
			"pid", NULL),
		0);
	OK(first > 0 && second > 0 && first != second);
	EQ(mate_servers(), 1);
	r = control_do(&c, "server.rest", "\"server\":\"a\"");
	HAS(r, "\"why\":\"rest\"");
	EQ(mate_servers(), 0);
	HAS(control_do(&c, "server.list", ""), "\"state\":\"resting\"");
	EQ(scan_long(scan_member(control_do(&c, "hub.status", ""), "resting"), -1), 1);
	HAS(with_session(&c, "tool.call", "s1", "\"tool\":\"pid\""), "\"result\"");
	EQ(mate_servers(), 1);
	r = control_do(&c, "server.stop", "\"server\":\"a\"");
	HAS(r, "\"why\":\"stop\"");
	EQ(mate_servers(), 0);
	HAS(with_session(&c, "tool.call", "s1", "\"tool\":\"pid\""), "\"result\"");
	control_close(&c);
	mate_hub_stop();
}

TEST(events_reach_subscribers)
{
	struct control c, all, some;

	mate_hub_start();
	control_open(&c);
	control_open(&all);
	control_open(&some);
	control_do(&all, "events.subscribe", "");
	control_do(&some, "events.subscribe", "\"events\":[\"session.closed\"]");
	create(&c, "good", "\"tag\":\"t\"");
	await_text(&all, "\"event\":\"session.opened\",\"session\":\"s1\",\"tag\":\"t\"");
	await_text(&all, "\"state\":\"ready\"");
	with_session(&c, "tool.call", "s1",
		     "\"tool\":\"stderr\",\"arguments\":{\"text\":\"oops\"}");
	await_text(&all, "\"event\":\"server.stderr\"");
	await_text(&all, "\"event\":\"server.call\"");
	await_text(&all, "\"tool\":\"stderr\"");
	with_session(&c, "session.destroy", "s1", NULL);
	await_text(&all, "\"event\":\"session.closed\"");
	await_text(&some, "\"event\":\"session.closed\"");
	OK(!memmem(some.at, some.len, "opened", 6));
	control_close(&c);
	control_close(&all);
	control_close(&some);
	mate_hub_stop();
}

TEST(a_request_can_be_cancelled)
{
	struct control c;
	long id;

	mate_hub_start();
	control_open(&c);
	create(&c, "good", NULL);
	id = control_send(&c, "tool.call", "\"session\":\"s1\",\"tool\":\"block\"");
	cancel(&c, id);
	HAS(control_do(&c, "session.list", ""), "\"inFlight\":0");
	/* the server has got the cancellation */
	HAS(with_session(&c, "tool.call", "s1", "\"tool\":\"seen\""), "\"result\"");
	control_close(&c);
	mate_hub_stop();
}

TEST(the_environment_and_directory_of_the_caller_are_used)
{
	char params[1200], path[64], cwd[200] = "", text[8192];
	struct control c;
	long pid;
	ssize_t n;
	int fd;

	mate_hub_start();
	control_open(&c);
	snprintf(params, sizeof(params),
		 "\"mcpServers\":{\"a\":{\"command\":\"%s\",\"args\":[\"mcp\",\"good\"],\"env\":{"
		 "\"WORD\":\"${CALLER_WORD}\"}}},\"environ\":{\"CALLER_WORD\":\"w1\",\"PATH\":"
		 "\"/usr/bin:/bin\"},\"cwd\":\"%s\"",
		 ZOO, t_audit.dir);
	control_do(&c, "session.create", params);
	pid = scan_long(
		mate_at(mate_item(scan_member(control_do(&c, "server.list", ""), "servers"), 0),
			"pid", NULL),
		0);
	snprintf(path, sizeof(path), "/proc/%ld/cwd", pid);
	OK(readlink(path, cwd, sizeof(cwd) - 1) > 0);
	STREQ(cwd, t_audit.dir);
	snprintf(path, sizeof(path), "/proc/%ld/environ", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = read(fd, text, sizeof(text));
	close(fd);
	OK(n > 0 && memmem(text, (size_t)n, "WORD=w1", 8));
	control_close(&c);
	mate_hub_stop();
}

TEST(sessions_without_a_config_get_that_of_the_hub)
{
	const char *words[] = { "--config", NULL, NULL };
	struct control c;
	char relative[200];

	words[1] = MATE_CONFIG("hub.json", { "a", "good", NULL, NULL });
	mate_hub_start_with(words);
	control_open(&c);
	HAS(control_do(&c, "session.create", ""), "\"name\":\"a\"");
	/* a relative path is one of the caller's directory */
	MATE_CONFIG("own.json", { "b", "crlf", NULL, NULL });
	snprintf(relative, sizeof(relative), "\"config\":\"own.json\",\"cwd\":\"%s\"", t_audit.dir);
	HAS(control_do(&c, "session.create", relative), "\"name\":\"b\"");
	HAS(control_do(&c, "hub.reload", ""), "\"session\":\"s2\"");
	control_close(&c);
	mate_hub_stop();
}

TEST(the_limit_of_servers_holds_for_all_sessions)
{
	const char *words[] = { "--max-servers", "1", NULL };
	struct control c;
	struct span r;

	mate_hub_start_with(words);
	control_open(&c);
	control_do(&c, "session.create", servers("good", "\"stateful\":true"));
	r = control_do(&c, "session.create", servers("crlf", "\"startupTimeoutSec\":0.3"));
	HAS(r, "\"state\":\"failed\"");
	HAS(r, "maxServers");
	EQ(mate_servers(), 1);
	with_session(&c, "session.destroy", "s1", NULL);
	HAS(with_session(&c, "tool.call", "s2", "\"tool\":\"pid\""), "\"result\"");
	/* a server that keeps no state rests for another one */
	create(&c, "bom", NULL);
	HAS(control_do(&c, "server.list", ""), "\"state\":\"resting\"");
	EQ(mate_servers(), 1);
	control_close(&c);
	mate_hub_stop();
}

/* The files of the catalogue are written and read by threads of the hub. */
TEST(the_next_hub_knows_the_lists_of_a_server)
{
	double end = t_now_ms() + MATE_MS;
	struct control c;
	struct span r;

	mate_hub_start();
	control_open(&c);
	HAS(control_do(&c, "session.create", servers("good", NULL)), "\"state\":\"ready\"");
	while (!has(control_do(&c, "session.create", servers("good", NULL)), "\"tools\":")) {
		OK(t_now_ms() < end);
		usleep(5000);
	}
	control_close(&c);
	mate_hub_stop();
	mate_hub_start();
	control_open(&c);
	r = control_do(&c, "session.create", servers("good", NULL));
	HAS(r, "\"state\":\"idle\"");
	HAS(r, "\"tools\":");
	EQ(mate_servers(), 0);
	HAS(with_session(&c, "tool.call", "s1", "\"tool\":\"pid\""), "\"result\"");
	control_close(&c);
	mate_hub_stop();
}
