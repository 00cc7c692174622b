/* rows_ends.c - crashes, greedy sessions, clients that do not read, servers that are restarted. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rows.h"

TEST(a_crash_fails_the_calls_of_all_sessions_and_is_followed_by_one_restart)
{
	struct rows r;
	long a[3], b[3], pid;
	double began;

	rows_begin(&r, NULL);
	pid = mate_count(&r.a, "pid");
	mate_result(&r.a, mate_ask(&r.a, "logging/setLevel", "\"level\":\"notice\"", NULL));
	mate_result(&r.a, mate_ask(&r.a, "resources/subscribe", "\"uri\":\"zoo://a\"", NULL));
	for (int i = 0; i < 3; i++) {
		a[i] = mate_call(&r.a, "block", NULL, NULL);
		b[i] = mate_call(&r.b, "block", NULL, NULL);
	}
	rows_await_calls(&r.a, "block", 6);
	began = t_now_ms();
	EQ(mate_error(&r.b, mate_call(&r.b, "crash", "\"code\":9", NULL)) < 0, true);
	for (int i = 0; i < 3; i++) {
		OK(mate_error(&r.a, a[i]) < 0);
		OK(mate_error(&r.b, b[i]) < 0);
	}
	OK(t_now_ms() - began < 5000);
	OK(mate_count(&r.a, "pid") != pid);
	EQ(mate_count(&r.b, "initialize"), 1);
	/* replayed: handshake, level, subscriptions; never a call */
	rows_await_count(&r.b, "resources/subscribe", 1);
	EQ(mate_count(&r.b, "logging/setLevel"), 1);
	EQ(scan_long(mate_at(mate_do(&r.b, "counts", ""), "structuredContent", "open block", NULL),
		     -1),
	   0);
	mate_do(&r.b, "notify", "\"what\":\"updated\",\"uri\":\"zoo://a\"");
	mate_note(&r.a, "resources/updated", "zoo://a");
	EQ(mate_servers(), 1);
	rows_end(&r);
}

/* The state and the reason of the only server. */
static void expect_no_reason(const char *state)
{
	struct control c;
	struct span s;

	control_open(&c);
	s = mate_item(scan_member(control_do(&c, "server.list", ""), "servers"), 0);
	OK(scan_is(scan_member(s, "state"), state));
	s = scan_member(s, "reason");
	if (s.len != 4 || memcmp(s.at, "null", 4) != 0)
		FAIL("the reason is %.*s", (int)s.len, s.at);
	control_close(&c);
}

static bool answer_has(struct mate *m, long id, const char *text)
{
	struct span s = mate_answer(m, id);

	return memmem(s.at, s.len, text, strlen(text)) != NULL;
}

/* Crash the server until the session is refused; returns how many crashes that took. */
static int crash_until_refused(struct mate *m)
{
	for (int i = 0; i < 12; i++) {
		struct span s;

		s = mate_answer(m, mate_call(m, "crash", "\"code\":9", NULL));
		OK(scan_member(s, "error").len > 0);
		if (memmem(s.at, s.len, "times in a row", 14))
			return i;
		if (!memmem(s.at, s.len, "during call 'crash' of session 'crasher'", 40))
			FAIL("%.*s", (int)s.len, s.at);
	}
	FAIL("the session that crashes the server is not refused");
	return 0;
}

TEST(a_session_that_crashes_a_shared_server_is_refused_and_the_others_are_not, .timeout_ms = 60000)
{
	struct mate_spec spec = { .tag = "crasher" };
	struct rows r;
	struct mate crasher;
	double end;

	rows_begin(&r, NULL);
	spec.config = r.config;
	rows_add(&crasher, &spec);
	OK(crash_until_refused(&crasher) >= 5);
	/* the others have a restarted server, also a session that comes later */
	STREQ(mate_text(&r.a, "echo", "\"text\":\"of a\""), "of a");
	STREQ(mate_text(&r.b, "echo", "\"text\":\"of b\""), "of b");
	expect_no_reason("ready");
	/* after the pause one call is the trial, and its success ends the pause */
	end = t_now_ms() + MATE_MS;
	while (answer_has(&crasher, mate_call(&crasher, "echo", "\"text\":\"again\"", NULL),
			  "times in a row")) {
		OK(t_now_ms() < end);
		usleep(20000);
	}
	STREQ(mate_text(&crasher, "echo", "\"text\":\"again\""), "again");
	EQ(mate_servers(), 1);
	mate_close(&crasher);
	rows_end(&r);
}

/* A call that was in the server when another session crashed it does not count. */
TEST(a_session_with_calls_in_flight_is_not_refused_for_the_crashes_of_another, .timeout_ms = 60000)
{
	struct mate_spec spec = { .tag = "crasher" };
	struct rows r;
	struct mate crasher;

	rows_begin(&r, NULL);
	spec.config = r.config;
	rows_add(&crasher, &spec);
	for (int i = 0; i < 7; i++) {
		long open;

		STREQ(mate_text(&r.a, "echo", "\"text\":\"of a\""), "of a");
		open = mate_call(&r.a, "block", NULL, NULL);
		rows_await_calls(&r.b, "block", 1);
		if (mate_error(&crasher, mate_call(&crasher, "crash", NULL, NULL)) >= 0)
			FAIL("a crash has an error");
		if (i < 5)
			OK(answer_has(&r.a, open, "with 2 calls in flight, among them 'block'"));
		else
			break; /* the crash was refused, and the call goes on */
	}
	STREQ(mate_text(&r.a, "echo", "\"text\":\"of a\""), "of a");
	STREQ(mate_text(&r.b, "echo", "\"text\":\"of b\""), "of b");
	mate_kill(&crasher);
	rows_end(&r);
}

TEST(a_restart_by_the_control_api_ends_the_pause_of_a_session, .timeout_ms = 60000)
{
	struct mate_spec spec = { .tag = "crasher" };
	struct rows r;
	struct mate crasher;
	struct control c;

	rows_begin(&r, NULL);
	spec.config = r.config;
	rows_add(&crasher, &spec);
	for (int i = 0; i < 3; i++) {
		crash_until_refused(&crasher);
		control_open(&c);
		control_do(&c, "server.restart", "\"server\":\"one\"");
		control_close(&c);
		STREQ(mate_text(&crasher, "echo", "\"text\":\"again\""), "again");
	}
	mate_close(&crasher);
	rows_end(&r);
}

static void expect_no_stderr(struct mate *m, long id)
{
	struct span s = mate_answer(m, id);

	OK(scan_member(s, "error").len > 0);
	if (memmem(s.at, s.len, "about to crash", 14))
		FAIL("stderr of another session is quoted: %.*s", (int)s.len, s.at);
}

/* The stderr of a shared server may have secrets of any session: only the user of the hub sees it.
 */
TEST(an_error_of_a_shared_server_does_not_quote_its_stderr, .timeout_ms = 60000)
{
	struct mate_spec spec = { 0 };
	struct rows r;
	struct mate late, alone;
	struct control c;
	struct span s;
	long open;

	rows_begin(&r, NULL);
	open = mate_call(&r.a, "block", NULL, NULL);
	rows_await_calls(&r.b, "block", 1);
	expect_no_stderr(&r.b, mate_call(&r.b, "crash", NULL, NULL));
	expect_no_stderr(&r.a, open);
	control_open(&c);
	s = control_do(&c, "server.list", "\"detail\":true");
	OK(memmem(s.at, s.len, "about to crash", 14));
	control_close(&c);
	rows_end(&r);

	/* the only session of a server gets the last words of the server */
	mate_hub_start();
	spec.config =
		MATE_CONFIG("alone.json",
			    { "one", NULL, NULL, "\"share\":\"identical\",\"restart\":\"never\"" });
	rows_add(&alone, &spec);
	OK(answer_has(&alone, mate_call(&alone, "crash", NULL, NULL), "about to crash"));
	OK(answer_has(&alone, mate_call(&alone, "echo", NULL, NULL), "about to crash"));
	/* but a session that joins later does not */
	rows_add(&late, &spec);
	expect_no_stderr(&alone, mate_call(&alone, "crash", NULL, NULL));
	expect_no_stderr(&late, mate_call(&late, "echo", NULL, NULL));
	mate_close(&late);
	mate_close(&alone);
	rows_stop();
}

TEST(a_greedy_session_does_not_delay_a_calm_one)
{
	enum { GREEDY = 400 };
	struct rows r;
	long first, last = 0;
	double began, took;

	rows_begin(&r, NULL);
	first = r.a.next_id;
	for (int i = 0; i < GREEDY; i++)
		last = mate_call(&r.a, "sleep", "\"ms\":20,\"text\":\"of a\"", NULL);
	began = t_now_ms();
	for (int i = 0; i < 10; i++)
		STREQ(mate_text(&r.b, "echo", "\"text\":\"of b\""), "of b");
	took = t_now_ms() - began;
	/* the greedy session has a limited number in flight */
	OK(scan_long(mate_at(mate_do(&r.b, "counts", ""), "structuredContent", "open sleep", NULL),
		     -1) <= 32);
	OK(t_wait_fd(r.a.out, POLLIN, MATE_MS));
	for (long id = first; id <= last; id++) {
		char text[32];

		/* in any order */
		snprintf(text, sizeof(text), "\"id\":%ld,", id);
		mate_note(&r.a, text, "of a");
	}
	t_note("ten calls of the calm session took %.1f ms", took);
	OK(took < 1500 * T_PATIENCE);
	rows_end(&r);
}

/* Calls in the queue are dropped when their client is gone. */
TEST(queued_calls_of_a_killed_client_do_not_reach_the_server)
{
	enum { CALLS = 100, LIMIT = 32 };
	struct rows r;

	rows_begin(&r, NULL);
	for (int i = 0; i < CALLS; i++)
		mate_call(&r.a, "block", NULL, NULL);
	rows_await_calls(&r.b, "block", LIMIT);
	mate_kill(&r.a);
	rows_await_calls(&r.b, "block", 0);
	OK(mate_count(&r.b, "notifications/cancelled") < CALLS / 2);
	mate_close(&r.b);
	rows_stop();
}

/* A session of a program on the shared server. */
static void program_begin(struct control *c, const char *config, char id[16])
{
	char members[256];

	control_open(c);
	snprintf(members, sizeof(members), "\"config\":\"%s\",\"lease\":60000", config);
	scan_copy(scan_member(control_do(c, "session.create", members), "session"), id, 16);
}

static long program_count(struct control *c, const char *id, const char *key)
{
	char members[80];

	snprintf(members, sizeof(members), "\"session\":\"%s\",\"tool\":\"counts\"", id);
	return scan_long(
		mate_at(control_do(c, "tool.call", members), "structuredContent", key, NULL), 0);
}

static void program_await(struct control *c, const char *id, const char *key, long count)
{
	double end = t_now_ms() + MATE_MS;

	while (program_count(c, id, key) != count) {
		OK(t_now_ms() < end);
		usleep(5000);
	}
}

/* The same for the requests of a program. */
TEST(queued_calls_of_a_closed_connection_do_not_reach_the_server)
{
	enum { CALLS = 100, LIMIT = 32 };
	struct control c, d;
	struct rows r;
	char members[80], busy[16], calm[16];

	rows_begin(&r, NULL);
	program_begin(&c, r.config, busy);
	program_begin(&d, r.config, calm);
	snprintf(members, sizeof(members), "\"session\":\"%s\",\"tool\":\"block\"", busy);
	for (int i = 0; i < CALLS; i++)
		control_send(&c, "tool.call", members);
	program_await(&d, calm, "open block", LIMIT);
	control_close(&c);
	program_await(&d, calm, "open block", 0);
	OK(program_count(&d, calm, "notifications/cancelled") < CALLS / 2);
	control_close(&d);
	mate_close(&r.a);
	mate_close(&r.b);
	mate_hub_stop();
}

TEST(stderr_belongs_to_the_server)
{
	struct rows r;
	struct control c;
	struct span s;

	rows_begin(&r, NULL);
	mate_do(&r.a, "stderr", "\"lines\":3");
	mate_settle(&r.b);
	EQ(mate_noted(&r.a, "stderr line", NULL) + mate_noted(&r.b, "stderr line", NULL), 0);
	control_open(&c);
	s = control_do(&c, "server.list", "\"detail\":true");
	OK(memmem(s.at, s.len, "stderr line 3", 13));
	control_close(&c);
	rows_end(&r);
}

/* A modern server is shared by default. Ids and progress tokens of its clients must not mix. */
TEST(modern_clients_of_a_modern_server_share_it_by_default)
{
	struct mate_spec spec = { .version = "2026-07-28" };
	struct mate a, b;
	long ia, ib;

	mate_hub_start();
	spec.config =
		MATE_CONFIG("config.json", { "one", "taggednew", NULL, "\"era\":\"modern\"" });
	rows_add(&a, &spec);
	rows_add(&b, &spec);
	EQ(mate_count(&a, "pid"), mate_count(&b, "pid"));
	ia = mate_call(&a, "steps", "\"n\":5,\"ms\":10,\"text\":\"of a\"", "\"progressToken\":1");
	ib = mate_call(&b, "steps", "\"n\":5,\"ms\":10,\"text\":\"of b\"", "\"progressToken\":1");
	mate_result(&a, ia);
	mate_result(&b, ib);
	EQ(mate_noted(&a, "notifications/progress", "of a"), 5);
	EQ(mate_noted(&b, "notifications/progress", "of b"), 5);
	mate_forget(&a);
	mate_forget(&b);
	/* one listen per session */
	ia = mate_ask(&a, "subscriptions/listen",
		      "\"notifications\":{\"resourceSubscriptions\":[\"zoo://a\"]}", NULL);
	mate_note(&a, "subscriptions/acknowledged", NULL);
	mate_do(&b, "notify", "\"what\":\"updated\",\"uri\":\"zoo://a\"");
	mate_note(&a, "resources/updated", "zoo://a");
	mate_settle(&b);
	EQ(mate_noted(&b, "resources/updated", NULL), 0);
	mate_close(&a);
	mate_close(&b);
	mate_hub_stop();
}

/* A legacy server is not shared unless the config says so. */
TEST(legacy_servers_are_not_shared_by_default)
{
	struct mate_spec spec = { 0 };
	struct mate a, b;

	mate_hub_start();
	spec.config = MATE_CONFIG("config.json", { "one", NULL, NULL, NULL });
	rows_add(&a, &spec);
	rows_add(&b, &spec);
	OK(mate_count(&a, "pid") != mate_count(&b, "pid"));
	STREQ(mate_text(&a, "keep", "\"text\":\"of a\""), "");
	STREQ(mate_text(&b, "keep", "\"text\":\"of b\""), "");
	STREQ(mate_text(&a, "keep", "\"text\":\"of a\""), "of a");
	EQ(mate_servers(), 2);
	mate_kill(&a);
	mate_await_servers(1);
	mate_close(&b);
	mate_await_servers(0);
	mate_hub_stop();
}

TEST(nothing_is_left_when_the_hub_is_killed)
{
	struct rows r;

	rows_begin(&r, NULL);
	mate_settle(&r.a);
	mate_kill(&r.a);
	mate_call(&r.b, "block", NULL, NULL);
	mate_hub_kill_only();
	mate_kill(&r.b);
	mate_reap();
}

/* --- a crash is reported as a crash --- */

/* The parent and the state of a process, from /proc. */
static char process_state(long pid, long *out_parent)
{
	char path[64], line[512] = "", state = '?';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	f = fopen(path, "re");
	OK(f && fgets(line, sizeof(line), f));
	fclose(f);
	OK(sscanf(strrchr(line, ')') + 2, "%c %ld", &state, out_parent) == 2);
	return state;
}

static void await_state(long pid, char wanted)
{
	double end = t_now_ms() + MATE_MS;
	long parent;

	while (process_state(pid, &parent) != wanted) {
		OK(t_now_ms() < end);
		usleep(2000);
	}
}

/* The keepers get no CPU for a while, as on a busy machine: the hub sees the end of the server's
 * stdout long before the exit status comes. */
TEST(a_crash_is_reported_as_a_crash_when_the_keepers_are_slow)
{
	long id, server, hold, watch;
	struct rows r;
	struct span s;

	rows_begin(&r, NULL);
	server = strtol(mate_text(&r.a, "pid", ""), NULL, 10);
	process_state(server, &hold);
	process_state(hold, &watch);
	OK(!kill((pid_t)watch, SIGSTOP)); /* first, because the watch continues a stopped hold */
	await_state(watch, 'T');
	OK(!kill((pid_t)hold, SIGSTOP));
	await_state(hold, 'T');
	id = mate_call(&r.a, "crash", "\"signal\":11", NULL);
	await_state(server, 'Z');
	EQ(t_wait_fd(r.a.out, POLLIN, 1200), 0); /* the reason is not known yet */
	OK(!kill((pid_t)watch, SIGCONT));
	kill((pid_t)hold, SIGCONT); /* the watch may have continued it already */
	s = mate_answer(&r.a, id);
	if (!memmem(s.at, s.len, "was ended by signal SEGV", 24))
		FAIL("the reason is wrong: %.*s", (int)s.len, s.at);
	rows_end(&r);
}
