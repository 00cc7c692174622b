/* next.c - items that are pulled, where callbacks cannot be had. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"

static struct killick *pulling(void)
{
	return lab_open(&KILLICK_OPTIONS(.dispatch = KILLICK_DISPATCH_PULL));
}

/* The next item of a kind; others, which must be events, are freed. */
static struct killick_item *next_of(struct killick *k, enum killick_item_kind kind)
{
	struct killick_item *i = NULL;

	for (;;) {
		EQ(killick_next(k, LAB_MS, &i, NULL), 1);
		OK(i);
		if (i->kind == kind)
			return i;
		if (i->kind != KILLICK_ITEM_EVENT)
			FAIL("an item of kind %d instead of %d", (int)i->kind, (int)kind);
		killick_item_free(i);
	}
}

static struct killick_session *pull_session(struct killick *k, const struct lab_server *list,
					    const struct killick_handlers *h)
{
	char *config = lab_config(list);
	struct killick_error e = { 0 };
	struct killick_session *s;
	struct killick_item *i;

	EQ(killick_session_open_start(k, &KILLICK_SESSION_OPTIONS(.config = config, .handlers = h),
				      NULL, config, NULL, &e),
	   0);
	i = next_of(k, KILLICK_ITEM_OPENED);
	OK(i->ctx == config && i->error && i->error->code == 0);
	s = i->session;
	OK(s && !i->result && !i->event && !i->report && !i->ask);
	killick_item_free(i);
	free(config);
	return s;
}

TEST(results_come_as_items)
{
	struct killick *k = pulling();
	struct killick_session *s = pull_session(k, SERVERS({ "zoo" }), NULL);
	struct killick_call *c = NULL;
	struct killick_item *i = NULL;
	char tags[3];

	for (int n = 0; n < 3; n++)
		EQ(killick_start(s,
				 &KILLICK_REQUEST(.op = KILLICK_CALL, .server = "zoo",
						  .name = "echo", .args = "{\"text\":\"hi\"}",
						  .ctx = &tags[n]),
				 n == 2 ? &c : NULL, NULL),
		   0);
	OK(t_wait_fd(killick_fd(k), POLLIN, LAB_MS));
	for (int n = 0; n < 3; n++) { /* in order: one server, one line after the other */
		i = next_of(k, KILLICK_ITEM_RESULT);
		OK(i->ctx == &tags[n]);
		STREQ(killick_result_text(i->result), "hi");
		killick_result_free(i->result);
		killick_item_free(i);
	}
	EQ(killick_next(k, 0, &i, NULL), 0);
	OK(!i);
	OK(!t_wait_fd(killick_fd(k), POLLIN, 0));
	EQ(killick_wait(c, NULL), KILLICK_ERR_USAGE);
	killick_call_free(c);
	lab_call(s, "zoo", "pid", NULL, 0, NULL, 0); /* blocking calls work as ever */
	lab_end(s);
	lab_close(k);
}

TEST(events_asks_and_progress_come_as_items)
{
	struct killick *k = pulling();
	int tag;
	struct killick_session *s = pull_session(
		k, SERVERS({ "zoo" }), &KILLICK_HANDLERS(.ctx = &tag, .answers = KILLICK_ROOTS));
	struct killick_item *i;
	bool logged = false;

	EQ(killick_start(s,
			 &KILLICK_REQUEST(.op = KILLICK_CALL, .server = "zoo", .name = "log",
					  .args = "{\"n\":1}"),
			 NULL, NULL),
	   0);
	for (bool over = false; !over;) {
		EQ(killick_next(k, LAB_MS, &i, NULL), 1);
		if (i->kind == KILLICK_ITEM_EVENT && i->event->kind == KILLICK_EVENT_LOG) {
			OK(i->ctx == &tag && i->event->json_len > 0);
			STREQ(i->event->server, "zoo");
			OK(strstr(i->event->json, "\"a line\""));
			logged = true;
		}
		over = i->kind == KILLICK_ITEM_RESULT;
		killick_result_free(i->result);
		killick_item_free(i);
	}
	OK(logged);

	EQ(killick_start(s,
			 &KILLICK_REQUEST(.op = KILLICK_CALL, .server = "zoo", .name = "ask",
					  .args = "{\"method\":\"roots/list\",\"params\":{}}"),
			 NULL, NULL),
	   0);
	i = next_of(k, KILLICK_ITEM_ASK);
	OK(i->ctx == &tag);
	STREQ(killick_ask_method(i->ask), "roots/list");
	EQ(killick_answer(i->ask, "{\"roots\":[]}", NULL), 0);
	killick_item_free(i);
	i = next_of(k, KILLICK_ITEM_RESULT);
	EQ(killick_result_code(i->result), 0);
	killick_result_free(i->result);
	killick_item_free(i);

	EQ(killick_start(s,
			 &KILLICK_REQUEST(.op = KILLICK_CALL, .server = "zoo", .name = "progress",
					  .args = "{\"n\":3}", .ctx = k, .wants_progress = true),
			 NULL, NULL),
	   0);
	for (int n = 1; n <= 3; n++) {
		i = next_of(k, KILLICK_ITEM_PROGRESS);
		OK(i->ctx == k && (int)i->progress->progress == n && i->progress->message);
		killick_item_free(i);
	}
	i = next_of(k, KILLICK_ITEM_RESULT);
	killick_result_free(i->result);
	killick_item_free(i);
	lab_end(s);
	lab_close(k);
}

TEST(refresh_and_close_end_as_items)
{
	struct killick *k = pulling();
	struct killick_session *s = pull_session(k, SERVERS({ "a" }), NULL);
	char *config = lab_config(SERVERS({ "b" }));
	struct killick_item *i;
	struct killick_error e = { 0 };

	EQ(killick_session_refresh_start(s, config, NULL, NULL, &e, &e), 0);
	i = next_of(k, KILLICK_ITEM_ENDED);
	OK(i->ctx == &e && i->error->code == 0 && i->report && i->report->proved);
	STREQ(i->report->endings[0]->server, "a");
	killick_report_free(i->report);
	killick_item_free(i);
	EQ(killick_session_close_start(s, NULL, NULL, NULL), 0);
	i = next_of(k, KILLICK_ITEM_ENDED);
	STREQ(i->report->endings[0]->server, "b");
	killick_report_free(i->report);
	killick_item_free(i);
	killick_session_free(s);
	free(config);
	lab_close(k);
}

TEST(a_session_that_fails_to_open_says_so)
{
	struct killick *k = pulling();
	char *config = lab_config(SERVERS({ "zoo", "refuses", .more = "\"required\":true" }));
	struct killick_item *i;

	EQ(killick_session_open_start(k, &KILLICK_SESSION_OPTIONS(.config = config), NULL, NULL,
				      NULL, NULL),
	   0);
	i = next_of(k, KILLICK_ITEM_OPENED);
	OK(!i->session);
	EQ(i->error->code, KILLICK_ERR_START);
	OK(strstr(i->error->text, "database"));
	killick_item_free(i);
	free(config);
	lab_close(k);
}

TEST(an_open_that_is_given_up_ends_as_an_item)
{
	struct killick *k = pulling();
	char *config = lab_config(SERVERS({ "zoo", "mute" }));
	struct killick_session *s = NULL;
	struct killick_item *i;

	EQ(killick_session_open_start(
		   k, &KILLICK_SESSION_OPTIONS(.config = config, .startup_ms = 600000), NULL, &s,
		   &s, NULL),
	   0);
	lab_await_pids(1);
	EQ(killick_session_close_start(s, NULL, k, NULL), 0);
	i = next_of(k, KILLICK_ITEM_OPENED);
	OK(!i->session && i->ctx == &s);
	EQ(i->error->code, KILLICK_ERR_CANCELLED);
	killick_item_free(i);
	i = next_of(k, KILLICK_ITEM_ENDED);
	OK(i->ctx == k && i->report->count == 1 && i->report->proved);
	EQ(lab_living(), 0);
	killick_report_free(i->report);
	killick_item_free(i);
	killick_session_free(s);
	free(config);
	lab_close(k);
}

static void never_event(void *ctx, const struct killick_event *ev)
{
	(void)ctx;
	(void)ev;
}

static void never_done(void *ctx, struct killick_result *r)
{
	(void)ctx;
	(void)r;
}

static void never_ended(void *ctx, struct killick_report *r, const struct killick_error *e)
{
	(void)ctx;
	(void)r;
	(void)e;
}

TEST(callbacks_are_refused_where_items_are_pulled_and_the_other_way_round)
{
	struct killick *k = pulling(), *other = LAB();
	struct killick_session *s = pull_session(k, SERVERS({ "zoo" }), NULL), *none = NULL;
	struct killick_item *i = NULL;
	struct killick_error e = { 0 };

	EQ(killick_session_open(
		   k,
		   &KILLICK_SESSION_OPTIONS(.config = "{\"mcpServers\":{}}",
					    .handlers = &KILLICK_HANDLERS(.on_event = never_event)),
		   &none, &e),
	   KILLICK_ERR_USAGE);
	OK(!none && strstr(e.text, "killick_next"));
	EQ(killick_start(s, &KILLICK_REQUEST(.op = KILLICK_PING, .on_done = never_done), NULL,
			 NULL),
	   KILLICK_ERR_USAGE);
	EQ(killick_session_close_start(s, never_ended, NULL, NULL), KILLICK_ERR_USAGE);
	EQ(killick_dispatch(k, NULL), KILLICK_ERR_USAGE);
	EQ(killick_next(other, 0, &i, NULL), KILLICK_ERR_USAGE);
	EQ(killick_next(NULL, 0, &i, NULL), KILLICK_ERR_USAGE);
	EQ(killick_next(k, -2, &i, NULL), KILLICK_ERR_USAGE);
	lab_end(s);
	lab_close(k);
	lab_close(other);
}

static void *next_until_closed(void *arg)
{
	struct killick_item *i = NULL;
	int r;

	while ((r = killick_next(arg, -1, &i, NULL)) == 1) {
		killick_result_free(i->result);
		killick_item_free(i);
	}
	return r == KILLICK_ERR_CLOSED ? arg : NULL;
}

TEST(threads_that_wait_for_items_return_when_the_runtime_is_closed)
{
	struct killick *k = pulling();
	struct killick_session *s = pull_session(k, SERVERS({ "zoo" }), &KILLICK_HANDLERS());
	pthread_t threads[3];
	void *closed;

	for (int n = 0; n < 3; n++)
		threads[n] = lab_thread(next_until_closed, k);
	for (int n = 0; n < 100; n++)
		EQ(killick_start(s, &KILLICK_REQUEST(.op = KILLICK_PING, .server = "zoo"), NULL,
				 NULL),
		   0);
	killick_session_free(s);
	EQ(killick_close(k, NULL, NULL), 0);
	for (int n = 0; n < 3; n++) {
		pthread_join(threads[n], &closed);
		OK(closed == k);
	}
	killick_free(k);
}

TEST(items_that_nobody_fetches_are_let_go_of)
{
	struct killick *k = pulling();
	struct killick_session *s =
		pull_session(k, SERVERS({ "zoo" }), &KILLICK_HANDLERS(.answers = KILLICK_ROOTS));
	char *config = lab_config(SERVERS({ "other" }));

	for (int n = 0; n < 10; n++)
		EQ(killick_start(s, &KILLICK_REQUEST(.op = KILLICK_PING, .server = "zoo"), NULL,
				 NULL),
		   0);
	EQ(killick_start(s,
			 &KILLICK_REQUEST(.op = KILLICK_CALL, .server = "zoo", .name = "ask",
					  .args = "{\"method\":\"roots/list\",\"params\":{}}"),
			 NULL, NULL),
	   0);
	EQ(killick_session_open_start(k, &KILLICK_SESSION_OPTIONS(.config = config), NULL, NULL,
				      NULL, NULL),
	   0);
	lab_pid(s, "zoo"); /* the pings are answered, and the ask has come */
	killick_session_close_start(s, NULL, NULL, NULL);
	free(config);
	lab_close(k);
}
