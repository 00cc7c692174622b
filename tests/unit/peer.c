/* peer.c - ids, deadlines and lines that are no message, without any MCP in it */
#include "t.h"

#include "base/auto.h"
#include "rpc/peer.h"
#include "unit/fake.h"

struct talk {
	struct fake_link link;
	struct peer peer;
	unsigned requests, notifications, warnings;
	char warning[400];
};

struct rq {
	struct peer_request rq;
	struct talk *talk;
	unsigned answers, spoils, deadlines;
	enum message_kind kind;
	char text[200];
	int64_t again_ms;  /* at the deadline: so long again */
	struct rq *closes; /* at the deadline: that one too */
};

static void on_request(void *ctx, const struct message *m)
{
	struct talk *t = ctx;

	t->requests++;
	peer_answer(&t->peer, m->id, "{\n}", 3);
}

static void on_notification(void *ctx, const struct message *m)
{
	struct talk *t = ctx;

	t->notifications++;
	if (json_is(m->method, "stop"))
		peer_stop(&t->peer);
}

static void on_warning(void *ctx, const char *text)
{
	struct talk *t = ctx;

	t->warnings++;
	snprintf(t->warning, sizeof(t->warning), "%s", text);
}

static void on_answer(struct peer_request *rq, const struct message *m)
{
	struct rq *r = PEER_OF(rq, struct rq, rq);
	struct json v = m->kind == MESSAGE_RESULT ? m->result : m->error;

	OK(rq->id == 0);
	r->answers++;
	r->kind = m->kind;
	snprintf(r->text, sizeof(r->text), "%.*s", (int)v.len, v.at);
}

static void on_spoiled(struct peer_request *rq, const char *why)
{
	struct rq *r = PEER_OF(rq, struct rq, rq);

	OK(rq->id == 0);
	r->spoils++;
	snprintf(r->text, sizeof(r->text), "%s", why);
}

static void on_deadline(struct peer_request *rq)
{
	struct rq *r = PEER_OF(rq, struct rq, rq);

	r->deadlines++;
	if (r->again_ms)
		peer_extend(&r->talk->peer, rq, r->again_ms);
	if (r->closes) {
		peer_withdraw(&r->talk->peer, &r->closes->rq, NULL);
		peer_close(&r->talk->peer, &r->closes->rq);
	}
}

static const struct peer_handler handler = { .on_answer = on_answer,
					     .on_spoiled = on_spoiled,
					     .on_deadline = on_deadline };

static void talk_open(struct talk *t, size_t limit)
{
	static const struct peer_events ev = { .on_request = on_request,
					       .on_notification = on_notification,
					       .on_warning = on_warning };

	*t = (struct talk){ .link = { .link.ops = &fake_ops, .out = BUF_INIT(1 << 20) } };
	peer_init(&t->peer, NULL, &t->link.link, limit, &ev, t);
}

static void talk_close(struct talk *t)
{
	peer_done(&t->peer);
	EQ(fake_timer_count(), 0);
	buf_done(&t->link.out);
}

static void feed(struct talk *t, const char *text)
{
	peer_feed(&t->peer, text, strlen(text));
}

static uint64_t ask(struct talk *t, struct rq *r, int64_t timeout_ms)
{
	uint64_t id;

	*r = (struct rq){ .talk = t };
	peer_open(&t->peer, &r->rq, &handler, timeout_ms);
	id = peer_assign(&t->peer, &r->rq);
	EQ(message_request(peer_line(&t->peer), id, "m", NULL, 0), 0);
	EQ(peer_send(&t->peer), 0);
	return id;
}

static void over(struct talk *t, struct rq *r)
{
	if (r->rq.id)
		peer_withdraw(&t->peer, &r->rq, NULL);
	peer_close(&t->peer, &r->rq);
}

TEST(answers_find_their_requests)
{
	static struct rq r[1000];
	struct talk t;
	char line[100];

	talk_open(&t, 1 << 20);
	for (int i = 0; i < 1000; i++)
		EQ(ask(&t, &r[i], -1), i + 1);
	EQ(t.peer.on_wire, 1000);
	for (int i = 999; i >= 0; i -= 2) { /* every other, backwards */
		snprintf(line, sizeof(line),
			 "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"n\":%d}}\n", i + 1, i);
		feed(&t, line);
	}
	for (int i = 0; i < 1000; i++)
		EQ(r[i].answers, i % 2);
	STREQ(r[7].text, "{\"n\":7}");
	EQ(t.warnings, 0);
	EQ(t.peer.on_wire, 500);
	for (int i = 0; i < 1000; i++)
		over(&t, &r[i]);
	talk_close(&t);
}

TEST(late_answers_are_dropped_once)
{
	struct talk t;
	struct rq r;

	talk_open(&t, 1 << 20);
	ask(&t, &r, -1);
	EQ(peer_withdraw(&t.peer, &r.rq, &t), 1);
	EQ(t.peer.late_count, 1);
	OK(t.peer.late[0].tag == &t);
	feed(&t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
	EQ(t.warnings, 0);
	EQ(t.peer.late_count, 0);
	feed(&t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
	EQ(t.warnings, 1);
	OK(strstr(t.warning, "again"));
	EQ(r.answers, 0);
	over(&t, &r);
	talk_close(&t);
}

TEST(what_is_kept_of_late_requests_is_bounded)
{
	struct talk t;
	struct rq r;

	talk_open(&t, 1 << 20);
	for (int i = 0; i < 3000; i++) {
		ask(&t, &r, -1);
		over(&t, &r);
	}
	OK(t.peer.late_count <= 1024);
	EQ(t.peer.late[t.peer.late_count - 1].id, 3000);
	EQ(t.peer.on_wire, 0);
	talk_close(&t);
}

TEST(answers_with_unknown_ids_are_ignored)
{
	static const char *const ids[] = { "2",       "0",      "-1",
					   "1.0",     "1e0",    "9007199254740993",
					   "\"abc\"", "\"\"",   "1.5",
					   "01",      "\"01\"", "99999999999999999999999",
					   "[1]",     "{}",     "true" };
	struct talk t;
	struct rq r, other;
	char line[120];

	talk_open(&t, 1 << 20);
	ask(&t, &r, -1);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n",
			 ids[i]);
		feed(&t, line);
		EQ(r.answers, 0);
	}
	OK(t.warnings >= 3);
	EQ(t.peer.odd[PEER_UNKNOWN_ID] + t.peer.odd[PEER_NOT_JSON] + t.peer.odd[PEER_NOT_RPC],
	   sizeof(ids) / sizeof(ids[0]));
	/* a result without an id is nobody's; an error is the only one's */
	feed(&t, "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}\n");
	EQ(r.answers, 0);
	ask(&t, &other, -1);
	feed(&t,
	     "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"?\"}}\n");
	EQ(r.answers + other.answers, 0);
	over(&t, &other);
	feed(&t,
	     "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"?\"}}\n");
	EQ(r.answers, 1);
	EQ(r.kind, MESSAGE_ERROR);
	over(&t, &r);
	talk_close(&t);
}

TEST(deadlines_share_one_timer)
{
	struct talk t;
	struct rq a, b, c;

	talk_open(&t, 1 << 20);
	ask(&t, &a, 1000);
	ask(&t, &b, 500);
	ask(&t, &c, -1);
	EQ(fake_timer_count(), 1);
	fake_pass(499);
	EQ(b.deadlines, 0);
	fake_pass(1);
	EQ(b.deadlines, 1);
	EQ(a.deadlines, 0);
	peer_extend(&t.peer, &a.rq, 1000); /* until 1500 */
	fake_pass(600);
	EQ(a.deadlines, 0);
	fake_pass(400);
	EQ(a.deadlines, 1);
	EQ(fake_timer_count(), 0);
	fake_pass(1000000);
	EQ(a.deadlines + b.deadlines + c.deadlines, 2);
	over(&t, &a);
	over(&t, &b);
	over(&t, &c);
	talk_close(&t);
}

TEST(a_deadline_that_is_huge_is_none)
{
	struct talk t;
	struct rq a;

	talk_open(&t, 1 << 20);
	ask(&t, &a, INT64_MAX);
	EQ(fake_timer_count(), 0);
	over(&t, &a);
	talk_close(&t);
}

TEST(handlers_may_close_others_and_extend_themselves)
{
	struct talk t;
	struct rq a, b, c;

	talk_open(&t, 1 << 20);
	ask(&t, &a, 100);
	ask(&t, &b, 100);
	ask(&t, &c, 0);
	a.closes = &b;
	c.again_ms = 50;
	fake_pass(0);
	EQ(c.deadlines, 1);
	fake_pass(50);
	EQ(c.deadlines, 2);
	fake_pass(50);
	EQ(c.deadlines, 3);
	EQ(a.deadlines, 1);
	EQ(b.deadlines, 0);
	over(&t, &a);
	over(&t, &c);
	talk_close(&t);
}

TEST(requests_are_answered_on_one_line)
{
	struct talk t;

	talk_open(&t, 1 << 20);
	feed(&t, "{\"jsonrpc\":\"2.0\",\"id\":\"a\\nb\",\"method\":\"x\"}\n");
	EQ(t.requests, 1);
	STREQ(t.link.out.data, "{\"jsonrpc\":\"2.0\",\"id\":\"a\\nb\",\"result\":{ }}\n");
	t.link.error = -ENOBUFS;
	for (int i = 0; i < 50; i++)
		feed(&t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}\n");
	EQ(t.warnings, 4); /* 1, 2, 3, 10 */
	OK(strstr(t.warning, "10 times"));
	talk_close(&t);
}

TEST(batches_only_where_they_exist)
{
	static const char batch[] =
		"[{\"jsonrpc\":\"2.0\",\"method\":\"n\"},{\"jsonrpc\":\"2.0\",\"id\":1,"
		"\"result\":{}},7,[],{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"x\"}]\n";
	struct talk t;
	struct rq r;

	talk_open(&t, 1 << 20);
	ask(&t, &r, -1);
	feed(&t, batch);
	EQ(t.notifications + t.requests + r.answers, 0);
	EQ(t.warnings, 1);
	t.peer.batches = true;
	feed(&t, batch);
	EQ(t.notifications, 1);
	EQ(t.requests, 1);
	EQ(r.answers, 1);
	EQ(t.peer.odd[PEER_NOT_RPC], 2);
	over(&t, &r);
	talk_close(&t);
}

TEST(after_a_stop_nothing_is_read_or_sent)
{
	struct talk t;
	struct rq r;

	talk_open(&t, 1 << 20);
	ask(&t, &r, 100);
	feed(&t, "{\"jsonrpc\":\"2.0\",\"method\":\"stop\"}\n{\"jsonrpc\":\"2.0\",\"id\":1,"
		 "\"result\":{}}\n");
	EQ(t.notifications, 1);
	EQ(r.answers, 0);
	EQ(fake_timer_count(), 0);
	EQ(message_notification(peer_line(&t.peer), "n", NULL, 0), 0);
	EQ(peer_send(&t.peer), -EPIPE);
	over(&t, &r);
	talk_close(&t);
}

/* --- answers that cannot be read --- */

static void spoiled_by(const char *line, bool expected)
{
	struct talk t;
	struct rq a, b;

	/* whole, and cut at every place */
	for (size_t cut = 0; cut < strlen(line); cut++) {
		talk_open(&t, 200);
		ask(&t, &a, -1);
		ask(&t, &b, -1);
		peer_feed(&t.peer, line, cut);
		peer_feed(&t.peer, line + cut, strlen(line) - cut);
		peer_feed(&t.peer, "\n", 1);
		if (a.spoils != expected || b.spoils || a.answers || b.answers)
			FAIL("cut at %zu: %u %u %u %u: %.60s", cut, a.spoils, a.answers, b.spoils,
			     b.answers, line);
		EQ(t.warnings, 1);
		feed(&t, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n"); /* and on it goes */
		EQ(b.answers, 1);
		over(&t, &a);
		over(&t, &b);
		talk_close(&t);
	}
}

TEST(an_answer_that_is_broken_ends_its_request)
{
	spoiled_by("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"x\":\"\xff\"}}", true);
	spoiled_by("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":}", true);
	spoiled_by("{ \"id\" : 1 , \"jsonrpc\":\"2.0\"}", true);
	spoiled_by("{\"id\":1,\"result\":{}}", true);
	spoiled_by("{\"result\":{\"x\":\"\xff\"},\"jsonrpc\":\"2.0\",\"id\":1}", true);
	spoiled_by("{\"result\":{\"x\":nul},\"id\" : 1 }\r", true);
	/* not clear enough */
	spoiled_by("listening on {\"id\":1}", false);
	spoiled_by("{\"a\":{\"id\":1}", false);
	spoiled_by("{\"result\":{\"id\":1}}", false);
	spoiled_by("{\"jsonrpc\":\"2.0\",\"id\":12x", false);
	spoiled_by("{\"jsonrpc\":\"2.0\",\"id\":184467440737095516161,\"result\":}", false);
	spoiled_by("{", false);
	spoiled_by("}", false);
	spoiled_by("\"id\"", false);
	spoiled_by("{\"id\"", false);
	spoiled_by("{\"id\":", false);
}

/* A line of 300 bytes where 200 are allowed: all of its cuts. */
static void long_by(const char *head, const char *tail, bool expected)
{
	char line[400];
	int room = 300 - (int)strlen(head) - (int)strlen(tail);

	memset(line, 'x', sizeof(line));
	memcpy(line, head, strlen(head));
	memcpy(line + strlen(head) + room, tail, strlen(tail) + 1);
	spoiled_by(line, expected);
}

TEST(an_answer_that_is_too_long_ends_its_request)
{
	long_by("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"", "\"}}", true);
	long_by("{\"result\":{\"a\":\"", "\"},\"jsonrpc\":\"2.0\",\"id\":1}", true);
	long_by("{\"result\":{\"a\":\"", "\"},\"jsonrpc\":\"2.0\",\"id\":1}\r", true);
	long_by("{\"result\":{\"a\":\"", "\",\"id\":1}}", false);
	long_by("{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{\"a\":\"", "\"}}", false);
	long_by("", "", false);
}

TEST(a_long_line_of_unknown_id_ends_the_only_request)
{
	struct talk t;
	struct rq a;
	char line[401];

	talk_open(&t, 200);
	memset(line, 'x', sizeof(line));
	line[400] = '\0';
	ask(&t, &a, -1);
	memcpy(line, "{\"jsonrpc\":\"2.0\",\"method\":\"m\"", 30);
	feed(&t, line);
	feed(&t, "\n");
	EQ(a.spoils, 0);
	memset(line, 'x', 400);
	feed(&t, line);
	EQ(a.spoils, 0);
	feed(&t, "\n");
	EQ(a.spoils, 1);
	STREQ(a.text, "its answer is longer than 200 bytes");
	over(&t, &a);
	talk_close(&t);
}

TEST(many_long_lines_in_one_chunk)
{
	struct buf b = BUF_INIT(1 << 20);
	static struct rq r[20];
	struct talk t;

	talk_open(&t, 100);
	for (int i = 0; i < 20; i++) {
		ask(&t, &r[i], -1);
		buf_addf(&b, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"%*d\":1}}\n", i + 1,
			 i % 2 ? 200 : 1, 0);
	}
	peer_feed(&t.peer, b.data, b.len);
	for (int i = 0; i < 20; i++) {
		EQ(r[i].spoils, i % 2);
		EQ(r[i].answers, !(i % 2));
		over(&t, &r[i]);
	}
	buf_done(&b);
	talk_close(&t);
}

TEST(warnings_of_a_kind_become_rare)
{
	struct talk t;

	talk_open(&t, 1 << 20);
	for (int i = 0; i < 100000; i++)
		feed(&t, "Hello!\x1b[31m\xff\n");
	EQ(t.warnings, 3 + 5);
	OK(strstr(t.warning, "Hello!?[31m? (100000 times by now)"));
	talk_close(&t);
}
