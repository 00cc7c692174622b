/* rest.c - servers that are ended when no session uses them, and start again with the same state of
 * their sessions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hubs.h"
#include "session/order.h"
#include "session/rest.h"

#define NONE (&(struct hubs_spec){ 0 })
#define SOON "\"idle\":0.15"

static void set(struct killick_session *s, enum killick_op op, const char *name, int code)
{
	killick_result_free(
		lab_do(s, &KILLICK_REQUEST(.op = op, .server = "zoo", .name = name), code));
}

static size_t count_tools(struct killick_session *s, const char *server)
{
	struct killick_result *r =
		lab_do(s, &KILLICK_REQUEST(.op = KILLICK_TOOLS, .server = server), 0);
	size_t len, count = 0, item;
	const char *json = killick_result_json(r, &len);
	char path[32];

	do
		snprintf(path, sizeof(path), "tools.%zu", count++);
	while (killick_json_find(json, len, path, &item));
	killick_result_free(r);
	return count - 1;
}

TEST(a_server_without_requests_rests_and_comes_back)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo", .more = SOON }));
	struct killick_status *st = NULL;
	pid_t pids[16], first = lab_pid(s, "zoo");

	for (size_t i = 1; i <= 7; i++) { /* more often than a server may fail */
		lab_await_state(s, "zoo", KILLICK_RESTING);
		EQ(lab_living(), 0);
		EQ(count_tools(s, "zoo"), 15);
		EQ(count_tools(s, NULL), 15);
		EQ(lab_state(s, "zoo"), KILLICK_RESTING); /* its list did not start it */
		OK(lab_pid(s, "zoo") != first);
		EQ(lab_pids(pids, 16), i + 1);
	}
	lab_await_state(s, "zoo", KILLICK_RESTING);
	EQ(killick_session_status(s, &st, NULL), 0);
	STREQ(st->servers[0]->why, "rest");
	STREQ(st->servers[0]->error, "");
	OK(st->servers[0]->settled);
	killick_status_free(st);
	STREQ(killick_state_name(KILLICK_RESTING), "resting");
	lab_end(s);
	lab_close(k);
}

TEST(a_list_that_is_not_cached_is_known_during_a_rest)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(
		k, SERVERS({ "zoo", "unannounced", .more = SOON ",\"stateful\":false" },
			   { "other", "ttl", "1", .more = SOON ",\"era\":\"modern\"" }));

	lab_await_state(s, "zoo", KILLICK_RESTING);
	lab_await_state(s, "other", KILLICK_RESTING);
	EQ(count_tools(s, NULL), 30);
	EQ(lab_living(), 0);
	lab_end(s);
	lab_close(k);
}

TEST(a_session_whose_server_rests_can_be_refreshed_and_closed)
{
	const struct lab_server *list = SERVERS({ "zoo", .more = SOON });
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, list);
	struct killick_report *r = NULL;

	lab_await_state(s, "zoo", KILLICK_RESTING);
	lab_refresh(s, list);
	EQ(lab_state(s, "zoo"), KILLICK_RESTING);
	EQ(killick_session_close(s, &r, NULL), 0);
	EQ(r->count, 1);
	STREQ(r->endings[0]->why, "rest");
	OK(r->proved);
	killick_report_free(r);
	killick_session_free(s);
	lab_close(k);
}

TEST(a_request_in_flight_is_not_cut)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(k, SERVERS({ "zoo", .more = SOON }));
	pid_t first = lab_pid(s, "zoo");
	struct killick_call *c = lab_block(s, "zoo");
	struct killick_result *r = NULL;

	lab_call(s, "zoo", "sleep", "{\"ms\":700,\"text\":\"slept\"}", 0, NULL, 0);
	EQ(lab_pid(s, "zoo"), first);
	killick_cancel(c);
	EQ(killick_wait(c, &r), KILLICK_ERR_CANCELLED);
	killick_result_free(r);
	killick_call_free(c);
	lab_await_state(s, "zoo", KILLICK_RESTING);
	lab_end(s);
	lab_close(k);
}

TEST(a_subscription_counts_as_use)
{
	struct killick *k = LAB();
	struct killick_session *s =
		lab_session(k, SERVERS({ "zoo", .more = SOON }, { "other", .more = SOON }));
	pid_t first = lab_pid(s, "zoo");

	set(s, KILLICK_SUBSCRIBE, "zoo://a", 0);
	for (int i = 0; i < 3; i++) { /* each rest shows that the time of zoo is over, too */
		lab_await_state(s, "other", KILLICK_RESTING);
		lab_pid(s, "other");
	}
	EQ(lab_state(s, "zoo"), KILLICK_READY);
	set(s, KILLICK_UNSUBSCRIBE, "zoo://a", 0);
	EQ(lab_pid(s, "zoo"), first);
	lab_await_state(s, "zoo", KILLICK_RESTING);
	lab_end(s);
	lab_close(k);
}

/* The server ignores EOF and SIGTERM, so that its end takes a while. */
TEST(a_request_that_comes_during_the_rest_gets_the_new_process)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session_with(k, SERVERS({ "zoo", "stays", .more = SOON }),
						     &KILLICK_SESSION_OPTIONS(.grace_ms = 400));
	pid_t first = lab_pid(s, "zoo");

	lab_await_state(s, "zoo", KILLICK_STOPPING);
	OK(lab_pid(s, "zoo") != first);
	EQ(lab_living(), 1);
	lab_end(s);
	lab_close(k);
}

/* Of three servers in one session, the one that has no state rests alone. */
TEST(a_server_that_keeps_state_does_not_rest)
{
	struct killick *k = LAB();
	struct killick_session *s = lab_session(
		k, SERVERS({ "browser", "browses", .more = SOON },
			   { "said", .more = SOON ",\"stateful\":true" },
			   { "denied", "browses", .more = SOON ",\"stateful\":false" }));
	pid_t a = lab_pid(s, "browser"), b = lab_pid(s, "said");

	for (int i = 0; i < 3; i++) { /* each rest shows that the time of the others is over, too */
		lab_await_state(s, "denied", KILLICK_RESTING);
		lab_pid(s, "denied");
	}
	EQ(lab_pid(s, "browser"), a);
	EQ(lab_pid(s, "said"), b);
	lab_end(s);
	lab_close(k);
}

/* --- orders --- */

struct obeyed {
	struct server_order o;
	bool done;
	int code;
	char why[16];
	char text[512];
};

static void on_obeyed(struct server_order *o, const struct ending *ending,
		      const struct killick_error *e)
{
	struct obeyed *ob = CONTAINER_OF(o, struct obeyed, o);

	OK(!ob->done);
	ob->done = true;
	ob->code = e->code;
	snprintf(ob->why, sizeof(ob->why), "%s", ending ? ending_why_name(ending->why) : "");
	snprintf(ob->text, sizeof(ob->text), "%s", e->code ? e->text : "");
	if (ending)
		OK(ending->survivors == 0 && ending->proof != 0);
}

static bool is_obeyed(void *ctx)
{
	return ((struct obeyed *)ctx)->done;
}

static struct obeyed order(struct killick_session *s,
			   void (*fn)(struct server *sv, struct server_order *o))
{
	struct obeyed ob = { .o.on_done = on_obeyed };

	EQ(runtime_enter(s->k, NULL), 0);
	fn(session_find(s, "zoo")->server, &ob.o);
	runtime_leave(s->k);
	hubs_await(s->k, is_obeyed, &ob);
	return ob;
}

TEST(level_and_subscriptions_are_set_again)
{
	struct killick *k = LAB();
	struct killick_session *s = hubs_session(k, SERVERS({ "zoo" }), NONE);
	pid_t first = lab_pid(s, "zoo");
	struct obeyed ob;
	char level[16];

	set(s, KILLICK_LOG_LEVEL, "debug", 0);
	set(s, KILLICK_SUBSCRIBE, "zoo://a", 0);
	set(s, KILLICK_SUBSCRIBE, "zoo://b", 0);
	set(s, KILLICK_UNSUBSCRIBE, "zoo://b", 0);
	ob = order(s, server_rest);
	EQ(ob.code, 0);
	STREQ(ob.why, "rest");
	EQ(lab_state(s, "zoo"), KILLICK_RESTING);
	EQ(lab_living(), 0);
	lab_seen(s, "zoo", "level", level, sizeof(level)); /* the first request of the new one */
	STREQ(level, "\"debug\"");
	OK(lab_pid(s, "zoo") != first);
	lab_call(s, "zoo", "notify", "{\"what\":\"updated\",\"uri\":\"zoo://b\"}", 0, NULL, 0);
	EQ(hubs_seen.notes[KILLICK_EVENT_UPDATED], 0);
	lab_call(s, "zoo", "notify", "{\"what\":\"updated\",\"uri\":\"zoo://a\"}", 0, NULL, 0);
	EQ(hubs_seen.notes[KILLICK_EVENT_UPDATED], 1);

	lab_call(s, "zoo", "crash", "{}", KILLICK_ERR_EXITED, NULL, 0); /* and after a crash */
	lab_seen(s, "zoo", "level", level, sizeof(level));
	STREQ(level, "\"debug\"");
	lab_call(s, "zoo", "notify", "{\"what\":\"updated\",\"uri\":\"zoo://a\"}", 0, NULL, 0);
	EQ(hubs_seen.notes[KILLICK_EVENT_UPDATED], 2);
	lab_end(s);
	lab_close(k);
}

TEST(orders_end_and_start_a_server)
{
	struct killick *k = LAB();
	struct killick_session *s =
		hubs_session(k, SERVERS({ "zoo", .more = "\"restart\":\"never\"" }), NONE);
	pid_t first = lab_pid(s, "zoo"), second;
	struct killick_call *c = lab_block(s, "zoo");
	struct killick_result *r = NULL;
	struct obeyed ob = order(s, server_rest);

	EQ(ob.code, KILLICK_ERR_BUSY);
	STREQ(ob.text, "server 'zoo' has requests in flight; try again later, or stop it");
	ob = order(s, server_restart);
	EQ(ob.code, 0);
	STREQ(ob.why, "restart");
	EQ(lab_state(s, "zoo"), KILLICK_READY);
	EQ(killick_wait(c, &r), KILLICK_ERR_EXITED);
	STREQ(killick_result_error(r), "server 'zoo' was restarted on request");
	killick_result_free(r);
	killick_call_free(c);
	second = lab_pid(s, "zoo");
	OK(second != first);

	ob = order(s, server_stop);
	EQ(ob.code, 0);
	STREQ(ob.why, "stop");
	EQ(lab_state(s, "zoo"), KILLICK_GONE);
	EQ(lab_living(), 0);
	ob = order(s, server_stop); /* nothing to end */
	EQ(ob.code, 0);
	STREQ(ob.why, "");
	OK(lab_pid(s, "zoo") != second); /* the next use starts it, "restart" or not */

	lab_await_state(s, "zoo",
			KILLICK_READY); /* the answer may come before the keeper's report */
	ob = order(s, server_rest);
	EQ(ob.code, 0);
	ob = order(s, server_restart); /* wakes it */
	EQ(ob.code, 0);
	STREQ(ob.why, "");
	EQ(lab_state(s, "zoo"), KILLICK_READY);
	lab_end(s);
	lab_close(k);
}

TEST(a_restart_that_fails_says_why)
{
	struct killick *k = LAB();
	struct killick_session *s = hubs_session(k, SERVERS({ "zoo", "diesnow" }), NONE);
	struct obeyed ob = order(s, server_restart);

	EQ(ob.code, KILLICK_ERR_START);
	OK(strstr(ob.text, "exited with status 5"));
	lab_end(s);
	lab_close(k);
}

TEST(sessions_that_share_a_resting_server_wake_it_once)
{
	const struct lab_server *list = SERVERS({ "zoo", .more = "\"share\":\"identical\"," SOON });
	struct killick *k = LAB();
	struct killick_session *a = hubs_session(k, list, NONE), *b = hubs_session(k, list, NONE),
			       *c;
	pid_t pids[8];

	lab_await_state(a, "zoo", KILLICK_RESTING);
	EQ(lab_state(b, "zoo"), KILLICK_RESTING);
	c = hubs_session(k, list, NONE); /* joins without waking it */
	EQ(lab_state(c, "zoo"), KILLICK_RESTING);
	EQ(lab_pids(pids, 8), 1);
	EQ(lab_pid(b, "zoo"), lab_pid(c, "zoo"));
	EQ(lab_pids(pids, 8), 2);
	lab_end(a);
	lab_end(b);
	lab_end(c);
	lab_close(k);
}
