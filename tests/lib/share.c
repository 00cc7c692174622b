/* share.c - one process for several sessions: who gets what, and who is not disturbed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"

#define SHARED SERVERS({ "zoo", .more = "\"share\":\"identical\"" })
#define MODERN SERVERS({ "zoo", "modern", .more = "\"share\":\"identical\",\"era\":\"modern\"" })
#define ALL    (KILLICK_SAMPLING | KILLICK_ELICITATION | KILLICK_ROOTS)

struct pair {
	struct killick *k;
	struct killick_session *a, *b;
	struct lab_events ev_a, ev_b;
};

static struct killick_session *open_one(struct killick *k, const struct lab_server *list,
					struct lab_events *ev)
{
	lab_events_init(ev);
	ev->answer = "{\"roots\":[]}";
	return lab_session_with(k, list,
				&KILLICK_SESSION_OPTIONS(.handlers = lab_handlers(ev, ALL)));
}

static void open_pair(struct pair *p, const struct lab_server *list)
{
	p->k = LAB();
	p->a = open_one(p->k, list, &p->ev_a);
	p->b = open_one(p->k, list, &p->ev_b);
	EQ(lab_pid(p->a, "zoo"), lab_pid(p->b, "zoo"));
	EQ(lab_living(), 1);
}

static void close_pair(struct pair *p)
{
	lab_end(p->a);
	lab_pid(p->b, "zoo"); /* the other is as it was */
	EQ(lab_living(), 1);
	lab_end(p->b);
	EQ(lab_living(), 0); /* the last lease ended it */
	lab_close(p->k);
}

TEST(one_process_for_the_same_fingerprint)
{
	struct pair p;
	struct killick_status *st = NULL;

	open_pair(&p, SHARED);
	EQ(killick_session_status(p.b, &st, NULL), 0);
	OK(st->servers[0]->shared);
	killick_status_free(st);
	close_pair(&p);
}

TEST(another_fingerprint_is_another_process)
{
	struct killick *k = LAB();
	struct killick_session *s[5];
	const struct lab_server *lists[] = {
		SHARED,
		SERVERS({ "zoo", .more = "\"share\":\"identical\",\"env\":{\"A\":\"1\"}" }),
		SERVERS({ "zoo", .more = "\"share\":\"identical\",\"cwd\":\"/\"" }),
		SERVERS({ "zoo", "dual", .more = "\"share\":\"identical\"" }),
		SERVERS({ "zoo" }),
	};

	for (size_t i = 0; i < 5; i++) {
		s[i] = lab_session(k, lists[i]);
		EQ(lab_living(), i + 1);
	}
	for (size_t i = 0; i < 5; i++)
		lab_end(s[i]);
	lab_close(k);
}

/* The name is the session's own affair. */
TEST(servers_with_different_names_are_shared)
{
	struct killick *k = LAB();
	struct killick_session *a = lab_session(k, SHARED);
	struct killick_session *b =
		lab_session(k, SERVERS({ "other", .more = "\"share\":\"identical\"" }));

	EQ(lab_pid(a, "zoo"), lab_pid(b, "other"));
	lab_end(a);
	lab_end(b);
	lab_close(k);
}

TEST(a_report_names_a_shared_server_once)
{
	struct pair p;
	struct killick_report *r = NULL;

	open_pair(&p, SHARED);
	EQ(killick_session_close(p.a, &r, NULL), 0);
	EQ(r->count, 0); /* nothing ended */
	killick_report_free(r);
	EQ(killick_session_close(p.b, &r, NULL), 0);
	EQ(r->count, 1);
	OK(r->proved);
	killick_report_free(r);
	killick_session_free(p.a);
	killick_session_free(p.b);
	lab_close(p.k);
}

struct steps {
	int count; /* of one session: its callbacks come one at a time */
	double total;
	struct lab_count over;
};

static void on_progress(void *ctx, const struct killick_progress *pr)
{
	struct steps *st = ctx;

	st->total = pr->total;
	st->count++;
}

static void on_done(void *ctx, struct killick_result *r)
{
	struct steps *st = ctx;

	EQ(killick_result_code(r), 0);
	killick_result_free(r);
	lab_add(&st->over);
}

static void start_progress(struct killick_session *s, struct steps *st, int n)
{
	char args[32];
	struct killick_request rq = KILLICK_REQUEST(.op = KILLICK_CALL, .server = "zoo",
						    .name = "progress", .args = args, .ctx = st,
						    .on_progress = on_progress, .on_done = on_done);

	*st = (struct steps){ .over = LAB_COUNT_INIT };
	snprintf(args, sizeof(args), "{\"n\":%d}", n);
	EQ(killick_start(s, &rq, NULL, NULL), 0);
}

TEST(progress_goes_to_its_call)
{
	struct steps a, b;
	struct pair p;

	open_pair(&p, SHARED);
	start_progress(p.a, &a, 7);
	start_progress(p.b, &b, 11);
	lab_await(&a.over, 1);
	lab_await(&b.over, 1);
	EQ(a.count, 7); /* all of them before the result */
	EQ(b.count, 11);
	OK(a.total == 7 && b.total == 11);
	close_pair(&p);
}

static void finish(struct killick_call *c, int code)
{
	struct killick_result *r = NULL;

	EQ(killick_wait(c, &r), code);
	killick_result_free(r);
	killick_call_free(c);
}

TEST(a_cancel_is_of_one_call)
{
	struct pair p;
	struct killick_call *ca, *cb;
	char cancelled[16];

	open_pair(&p, SHARED);
	ca = lab_block(p.a, "zoo");
	cb = lab_block(p.b, "zoo");
	killick_cancel(ca);
	finish(ca, KILLICK_ERR_CANCELLED);
	lab_seen(p.b, "zoo", "cancelled", cancelled, sizeof(cancelled));
	STREQ(cancelled, "1");
	lab_end(p.a);
	killick_cancel(cb);
	finish(cb, KILLICK_ERR_CANCELLED);
	lab_end(p.b);
	lab_close(p.k);
}

TEST(the_end_of_one_session_ends_only_its_calls)
{
	struct pair p;
	struct killick_call *ca, *cb;
	char cancelled[16];

	open_pair(&p, SHARED);
	ca = lab_block(p.a, "zoo");
	cb = lab_block(p.b, "zoo");
	lab_end(p.a);
	finish(ca, KILLICK_ERR_CLOSED);
	lab_seen(p.b, "zoo", "cancelled", cancelled, sizeof(cancelled));
	STREQ(cancelled, "1"); /* the server does not work on for nobody */
	lab_end(p.b);
	finish(cb, KILLICK_ERR_CLOSED);
	lab_close(p.k);
}

TEST(logs_go_to_the_session_that_caused_them)
{
	struct pair p;

	open_pair(&p, SHARED);
	lab_call(p.a, "zoo", "log", "{\"n\":2}", 0, NULL, 0);
	lab_await(&p.ev_a.count[KILLICK_EVENT_LOG], 2);
	lab_call(p.b, "zoo", "log", "{\"n\":3}", 0, NULL, 0);
	lab_await(&p.ev_b.count[KILLICK_EVENT_LOG], 3);
	close_pair(&p);
	EQ(lab_value(&p.ev_a.count[KILLICK_EVENT_LOG]), 2);
	EQ(lab_value(&p.ev_b.count[KILLICK_EVENT_LOG]), 3);
}

static void subscribe(struct killick_session *s, enum killick_op op, const char *uri)
{
	struct killick_request rq = KILLICK_REQUEST(.op = op, .server = "zoo", .name = uri);

	killick_result_free(lab_do(s, &rq, 0));
}

static void subscriptions(const struct lab_server *list)
{
	static const char update_a[] = "{\"what\":\"updated\",\"uri\":\"zoo://a\"}";
	static const char update_b[] = "{\"what\":\"updated\",\"uri\":\"zoo://b\"}";
	struct pair p;

	open_pair(&p, list);
	subscribe(p.a, KILLICK_SUBSCRIBE, "zoo://a");
	subscribe(p.b, KILLICK_SUBSCRIBE, "zoo://b");
	lab_call(p.b, "zoo", "notify", update_a, 0, NULL, 0);
	lab_await(&p.ev_a.count[KILLICK_EVENT_UPDATED], 1);
	subscribe(p.b, KILLICK_SUBSCRIBE, "zoo://a"); /* now both */
	lab_call(p.b, "zoo", "notify", update_a, 0, NULL, 0);
	lab_await(&p.ev_a.count[KILLICK_EVENT_UPDATED], 2);
	lab_await(&p.ev_b.count[KILLICK_EVENT_UPDATED], 1);
	subscribe(p.a, KILLICK_UNSUBSCRIBE, "zoo://a"); /* b still has it */
	lab_call(p.a, "zoo", "notify", update_a, 0, NULL, 0);
	lab_await(&p.ev_b.count[KILLICK_EVENT_UPDATED], 2);
	lab_end(p.a);
	lab_call(p.b, "zoo", "notify", update_b, 0, NULL, 0);
	lab_await(&p.ev_b.count[KILLICK_EVENT_UPDATED], 3);
	lab_end(p.b);
	EQ(lab_value(&p.ev_a.count[KILLICK_EVENT_UPDATED]), 2);
	EQ(lab_value(&p.ev_b.count[KILLICK_EVENT_UPDATED]), 3);
	lab_close(p.k);
}

TEST(subscriptions_go_to_subscribers)
{
	subscriptions(SHARED);
}

TEST(subscriptions_go_to_subscribers_in_the_modern_era)
{
	subscriptions(MODERN);
}

TEST(changes_of_lists_concern_all)
{
	struct pair p;

	open_pair(&p, SHARED);
	lab_call(p.a, "zoo", "notify", "{\"what\":\"tools\"}", 0, NULL, 0);
	lab_await(&p.ev_a.count[KILLICK_EVENT_TOOLS], 1);
	lab_await(&p.ev_b.count[KILLICK_EVENT_TOOLS], 1);
	close_pair(&p);
}

static const char ask_roots[] = "{\"method\":\"roots/list\"}";

/* What the tool was answered: "result" or "error". */
static void ask(struct killick_session *s, const char *want)
{
	struct killick_result *r = lab_try(s, "zoo", "ask", ask_roots, LAB_MS);
	char path[64];
	const char *json;
	size_t len;

	EQ(killick_result_code(r), 0);
	json = killick_result_json(r, &len);
	snprintf(path, sizeof(path), "structuredContent.answer.%s", want);
	if (!killick_json_find(json, len, path, NULL))
		FAIL("no %s in %s", want, json);
	killick_result_free(r);
}

TEST(questions_go_to_the_only_caller)
{
	struct pair p;

	open_pair(&p, SHARED);
	ask(p.a, "result");
	EQ(lab_value(&p.ev_a.asks), 1);
	EQ(lab_value(&p.ev_b.asks), 0);
	ask(p.b, "result");
	EQ(lab_value(&p.ev_a.asks), 1);
	EQ(lab_value(&p.ev_b.asks), 1);
	close_pair(&p);
}

/* Both have calls open: nobody knows whose question it is, so nobody gets it. */
TEST(questions_without_a_clear_owner_are_declined)
{
	struct killick_request rq = KILLICK_REQUEST(.op = KILLICK_CALL, .server = "zoo",
						    .name = "sleep", .args = "{\"ms\":500}");
	struct killick_call *c = NULL;
	struct pair p;

	open_pair(&p, SHARED);
	EQ(killick_start(p.b, &rq, &c, NULL), 0);
	lab_pid(p.b, "zoo"); /* it has arrived */
	ask(p.a, "error");
	EQ(lab_value(&p.ev_a.asks), 0);
	EQ(lab_value(&p.ev_b.asks), 0);
	finish(c, 0);
	ask(p.a, "result");
	EQ(lab_value(&p.ev_a.asks), 1);
	close_pair(&p);
}

/* In the modern era the question is part of the answer to a call: there is no doubt. */
TEST(questions_of_the_modern_era_have_an_owner)
{
	struct pair p;
	struct killick_call *c;

	open_pair(&p, MODERN);
	c = lab_block(p.b, "zoo");
	ask(p.a, "result");
	EQ(lab_value(&p.ev_a.asks), 1);
	EQ(lab_value(&p.ev_b.asks), 0);
	killick_cancel(c);
	finish(c, KILLICK_ERR_CANCELLED);
	close_pair(&p);
}

TEST(questions_without_any_caller_are_declined)
{
	struct pair p;
	char late[256] = "";
	double end = t_now_ms() + LAB_MS;

	open_pair(&p, SHARED);
	lab_call(p.a, "zoo", "ask", "{\"method\":\"roots/list\",\"late\":100}", 0, NULL, 0);
	while (!*late && t_now_ms() < end) {
		t_wait_fd(-1, 0, 150); /* no call may be open when it asks */
		lab_seen(p.b, "zoo", "late.error.code", late, sizeof(late));
	}
	OK(*late == '-');
	EQ(lab_value(&p.ev_a.asks), 0);
	EQ(lab_value(&p.ev_b.asks), 0);
	close_pair(&p);
}

/* The owner of an open question leaves: it is declined for it, the server goes on. */
static void keep(void *ctx, struct killick_ask *ask_)
{
	__atomic_store_n((struct killick_ask **)ctx, ask_, __ATOMIC_RELEASE);
}

TEST(a_question_whose_owner_leaves)
{
	struct killick_ask *kept = NULL;
	struct killick *k = LAB();
	struct killick_session *a = lab_session_with(
		k, SHARED,
		&KILLICK_SESSION_OPTIONS(.handlers = &KILLICK_HANDLERS(.ctx = &kept, .on_ask = keep,
								       .answers = ALL)));
	struct killick_session *b = lab_session(k, SHARED);
	struct killick_request rq = KILLICK_REQUEST(.op = KILLICK_CALL, .server = "zoo",
						    .name = "ask", .args = ask_roots);
	struct killick_call *c = NULL;
	double end = t_now_ms() + LAB_MS;

	EQ(killick_start(a, &rq, &c, NULL), 0);
	while (!__atomic_load_n(&kept, __ATOMIC_ACQUIRE) && t_now_ms() < end)
		t_wait_fd(-1, 0, 1);
	OK(kept);
	lab_end(a);
	finish(c, KILLICK_ERR_CLOSED);
	lab_pid(b, "zoo");
	killick_answer(kept, "{\"roots\":[]}", NULL); /* to nobody */
	lab_end(b);
	lab_close(k);
}

/* A question that was the only session's is not the next one's when that leaves; and the server is
 * not left waiting. */
TEST(a_question_of_no_call_whose_session_leaves)
{
	struct killick_ask *kept = NULL;
	struct killick *k = LAB();
	struct killick_session *a = lab_session_with(
		k, SHARED,
		&KILLICK_SESSION_OPTIONS(.handlers = &KILLICK_HANDLERS(.ctx = &kept, .on_ask = keep,
								       .answers = ALL)));
	struct lab_events ev;
	struct killick_session *b;
	char late[256] = "";
	double end = t_now_ms() + LAB_MS;

	lab_call(a, "zoo", "ask", "{\"method\":\"roots/list\",\"late\":1}", 0, NULL, 0);
	while (!__atomic_load_n(&kept, __ATOMIC_ACQUIRE) && t_now_ms() < end)
		t_wait_fd(-1, 0, 1);
	OK(kept);
	b = open_one(k, SHARED, &ev);
	lab_end(a);
	while (!*late && t_now_ms() < end)
		lab_seen(b, "zoo", "late.error.code", late, sizeof(late));
	OK(*late == '-');
	EQ(lab_value(&ev.asks), 0);
	killick_answer(kept, "{\"roots\":[]}", NULL); /* to nobody */
	lab_end(b);
	lab_close(k);
}

TEST(a_crash_is_told_to_all)
{
	struct pair p;
	struct killick_call *cb;
	struct killick_result *r;

	open_pair(&p, SHARED);
	cb = lab_block(p.b, "zoo");
	r = lab_try(p.a, "zoo", "crash", "{\"code\":9}", LAB_MS);
	EQ(killick_result_code(r), KILLICK_ERR_EXITED);
	killick_result_free(r);
	finish(cb, KILLICK_ERR_EXITED);
	EQ(lab_pid(p.a, "zoo"), lab_pid(p.b, "zoo")); /* one again */
	EQ(lab_living(), 1);
	close_pair(&p);
}

TEST(a_refresh_of_one_leaves_the_other)
{
	struct pair p;
	pid_t pid;

	open_pair(&p, SHARED);
	pid = lab_pid(p.a, "zoo");
	lab_refresh(p.a,
		    SERVERS({ "zoo", .more = "\"share\":\"identical\",\"env\":{\"N\":\"2\"}" }));
	OK(lab_pid(p.a, "zoo") != pid);
	EQ(lab_pid(p.b, "zoo"), pid);
	EQ(lab_living(), 2);
	lab_refresh(p.a, SHARED); /* back to the one that is there */
	EQ(lab_pid(p.a, "zoo"), pid);
	EQ(lab_living(), 1);
	close_pair(&p);
}

/* One opens while the other is still in the handshake: they wait for the same process. */
TEST(opened_at_the_same_time)
{
	const struct lab_server list[] = { { "zoo", "slowstart", "300", "\"share\":\"identical\"" },
					   { 0 } };
	char *config = lab_config(list);
	struct killick_session_options options =
		KILLICK_SESSION_OPTIONS(.config = config, .wait = KILLICK_WAIT_REQUIRED);
	struct killick_session *s[8];
	struct killick_error e = { 0 };
	struct killick *k = LAB();

	for (int i = 0; i < 8; i++)
		EQ(killick_session_open(k, &options, &s[i], &e), 0);
	for (int i = 0; i < 8; i++)
		lab_pid(s[i], "zoo");
	EQ(lab_living(), 1);
	for (int i = 0; i < 8; i++)
		lab_end(s[i]);
	free(config);
	lab_close(k);
}
