/* rows_ends.c - crashes, greedy sessions, clients that do not read, servers that are restarted. */
#include <poll.h>
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

TEST(a_client_that_does_not_read_is_closed_at_its_limit, .timeout_ms = 60000)
{
	struct rows r;
	struct pollfd p;
	double end;

	rows_begin(&r, NULL);
	for (int i = 0; i < 100; i++)
		mate_call(&r.a, "big", "\"bytes\":1000000", NULL);
	end = t_now_ms() + MATE_MS;
	p = (struct pollfd){ .fd = r.a.in, .events = 0 };
	while (!(poll(&p, 1, 100) > 0 && p.revents & (POLLERR | POLLHUP))) {
		STREQ(mate_text(&r.b, "echo", "\"text\":\"of b\""), "of b");
		if (t_now_ms() > end)
			FAIL("the client that does not read is still served");
	}
	STREQ(mate_text(&r.b, "echo", "\"text\":\"of b\""), "of b");
	mate_kill(&r.a);
	mate_close(&r.b);
	rows_stop();
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
