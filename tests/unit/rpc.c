/* rpc.c - ids, deadlines, replies and lines that are no message, without any MCP in it */
#include "t.h"

#include "base/auto.h"
#include "rpc/lines.h"
#include "rpc/reply.h"
#include "rpc/rpc.h"
#include "unit/fake.h"

struct talk {
	struct fake_link link;
	struct rpc rpc;
	struct lines lines;
	unsigned requests, notifications, oddities;
	unsigned odd[RPC_UNSENT + 1]; /* by kind */
};

struct rq {
	struct rpc_request rq;
	struct talk *talk;
	unsigned answers, spoils, deadlines;
	enum message_kind kind;
	char text[200];
	int64_t again_ms;  /* at the deadline: so long again */
	struct rq *closes; /* at the deadline: that one too */
};

static void on_request(void *ctx, const struct reply *r, struct json params)
{
	struct talk *t = ctx;

	(void)params;
	t->requests++;
	reply_json(r, "{\n}", 3);
}

static void on_notification(void *ctx, const struct reply *r, struct json params)
{
	struct talk *t = ctx;

	(void)params;
	t->notifications++;
	if (strcmp(r->method->name, "stop") == 0)
		rpc_stop(&t->rpc);
}

/* As a tolerant role does it: a broken line or an error without an id ends a request if it shows
 * which. */
static void on_odd(void *ctx, const struct rpc_odd *odd)
{
	struct talk *t = ctx;
	struct rpc_request *rq = NULL;
	uint64_t id;

	t->oddities++;
	t->odd[odd->kind]++;
	if (odd->kind == RPC_BROKEN && lines_guess(odd->text, &id))
		rq = rpc_find(&t->rpc, id);
	if (rq)
		rpc_lose(&t->rpc, rq, odd->reason);
	rq = odd->kind == RPC_NAMELESS ? rpc_find_only(&t->rpc) : NULL;
	if (rq)
		rpc_deliver(&t->rpc, rq, odd->m);
}

static void on_answer(struct rpc_request *rq, const struct message *m)
{
	struct rq *r = CONTAINER_OF(rq, struct rq, rq);
	struct json v = m->kind == MESSAGE_RESULT ? m->result : m->error;

	OK(rpc_id(rq) == 0);
	r->answers++;
	r->kind = m->kind;
	snprintf(r->text, sizeof(r->text), "%.*s", (int)v.len, v.at);
}

static void on_lost(struct rpc_request *rq, const char *why)
{
	struct rq *r = CONTAINER_OF(rq, struct rq, rq);

	OK(rpc_id(rq) == 0);
	r->spoils++;
	snprintf(r->text, sizeof(r->text), "%s", why);
}

static void on_deadline(struct rpc_request *rq)
{
	struct rq *r = CONTAINER_OF(rq, struct rq, rq);

	r->deadlines++;
	if (r->again_ms)
		rpc_extend(&r->talk->rpc, rq, r->again_ms);
	if (r->closes) {
		rpc_withdraw(&r->talk->rpc, &r->closes->rq, NULL);
		rpc_close(&r->closes->rq);
	}
}

static const struct rpc_handler handler = { .on_answer = on_answer,
					    .on_lost = on_lost,
					    .on_deadline = on_deadline };

static void talk_open(struct talk *t, size_t limit)
{
	static const struct rpc_method requests[] = { { "x", 0, on_request }, { NULL, 0, NULL } };
	static const struct rpc_method notifications[] = { { "n", 0, on_notification },
							   { "stop", 0, on_notification },
							   { NULL, 0, NULL } };
	static const struct rpc_role role = { requests, notifications, NULL, on_odd };

	*t = (struct talk){ .link = { .link.ops = &fake_ops, .out = BUF_INIT(1 << 20) } };
	lines_init(&t->lines, &t->rpc, &t->link.link, limit);
	rpc_init(&t->rpc, &(struct rpc_spec){ .transport = &lines_transport,
					      .transport_ctx = &t->lines,
					      .role = &role,
					      .ctx = t,
					      .message_limit = limit,
					      .max_answers = 2 });
}

static void talk_close(struct talk *t)
{
	rpc_done(&t->rpc);
	lines_done(&t->lines);
	EQ(fake_timer_count(), 0);
	buf_done(&t->link.out);
}

static void feed(struct talk *t, const char *text)
{
	lines_feed(&t->lines, text, strlen(text));
}

static uint64_t ask(struct talk *t, struct rq *r, int64_t timeout_ms)
{
	struct emit j;

	*r = (struct rq){ .talk = t };
	rpc_open(&t->rpc, &r->rq, &handler, timeout_ms);
	EQ(rpc_begin(&t->rpc, &r->rq, "m", &j), 0);
	EQ(rpc_send(&t->rpc, &r->rq, &j), 0);
	return rpc_id(&r->rq);
}

static void over(struct talk *t, struct rq *r)
{
	if (rpc_id(&r->rq))
		rpc_withdraw(&t->rpc, &r->rq, NULL);
	rpc_close(&r->rq);
}

TEST(answers_find_their_requests)
{
	static struct rq r[1000];
	struct talk t;
	char line[100];

	talk_open(&t, 1 << 20);
	for (int i = 0; i < 1000; i++)
		EQ(ask(&t, &r[i], -1), i + 1);
	EQ(t.rpc.wire.count, 1000);
	for (int i = 999; i >= 0; i -= 2) { /* every other, backwards */
		snprintf(line, sizeof(line),
			 "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"n\":%d}}\n", i + 1, i);
		feed(&t, line);
	}
	for (int i = 0; i < 1000; i++)
		EQ(r[i].answers, i % 2);
	STREQ(r[7].text, "{\"n\":7}");
	EQ(t.oddities, 0);
	EQ(t.rpc.wire.count, 500);
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
	EQ(rpc_withdraw(&t.rpc, &r.rq, &t), 1);
	EQ(t.rpc.late_count, 1);
	OK(t.rpc.late[0].tag == &t);
	feed(&t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
	EQ(t.oddities, 0);
	EQ(t.rpc.late_count, 0);
	feed(&t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
	EQ(t.oddities, 1);
	EQ(t.odd[RPC_TWICE], 1);
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
	OK(t.rpc.late_count <= 1024);
	EQ(t.rpc.late[t.rpc.late_count - 1].id, 3000);
	EQ(t.rpc.wire.count, 0);
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
	OK(t.oddities >= 3);
	EQ(t.odd[RPC_UNASKED] + t.odd[RPC_BROKEN], sizeof(ids) / sizeof(ids[0]));
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
	rpc_extend(&t.rpc, &a.rq, 1000); /* until 1500 */
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
	EQ(t.odd[RPC_UNSENT], 50);
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
	EQ(t.oddities, 1);
	t.rpc.batches = true;
	feed(&t, batch);
	EQ(t.notifications, 1);
	EQ(t.requests, 1);
	EQ(r.answers, 1);
	EQ(t.odd[RPC_BROKEN], 2);
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
	EQ(rpc_notify(&t.rpc, "n", JSON_NONE), -EPIPE);
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
		lines_feed(&t.lines, line, cut);
		lines_feed(&t.lines, line + cut, strlen(line) - cut);
		lines_feed(&t.lines, "\n", 1);
		if (a.spoils != expected || b.spoils || a.answers || b.answers)
			FAIL("cut at %zu: %u %u %u %u: %.60s", cut, a.spoils, a.answers, b.spoils,
			     b.answers, line);
		EQ(t.oddities, 1);
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
	lines_feed(&t.lines, b.data, b.len);
	for (int i = 0; i < 20; i++) {
		EQ(r[i].spoils, i % 2);
		EQ(r[i].answers, !(i % 2));
		over(&t, &r[i]);
	}
	buf_done(&b);
	talk_close(&t);
}

/* --- answers that come later --- */

static unsigned gone;

static void on_gone(void *ctx)
{
	struct answer **a = ctx;

	gone++;
	answer_free(*a);
	*a = NULL;
}

static struct answer *kept[3];

static void keep(void *ctx, const struct reply *r, struct json params)
{
	struct talk *t = ctx;
	struct answer **at = &kept[t->requests++];

	(void)params;
	*at = answer_new(r, on_gone, at);
}

TEST(an_answer_may_come_later_be_cancelled_or_lose_its_reader)
{
	static const struct rpc_method later[] = { { "x", 0, keep }, { NULL, 0, NULL } };
	struct rpc_role role;
	struct talk t;
	struct emit j;

	talk_open(&t, 1 << 20);
	role = *t.rpc.is.role;
	role.requests = later;
	t.rpc.is.role = &role;
	for (int i = 1; i <= 3; i++) {
		char line[80];

		snprintf(line, sizeof(line),
			 "{\"jsonrpc\":\"2.0\",\"id\":\"%d\",\"method\":\"x\"}\n", i);
		feed(&t, line);
	}
	OK(kept[0] && kept[1] && !kept[2]); /* two is the limit */
	STREQ(t.link.out.data, "{\"jsonrpc\":\"2.0\",\"id\":\"3\",\"error\":{\"code\":-32600,"
			       "\"message\":\"too many requests in flight (2)\"}}\n");
	buf_reset(&t.link.out, 1 << 20);
	OK(!reply_cancel(&t.rpc, (struct json){ "1", 1 })); /* another id than "1" */
	OK(reply_cancel(&t.rpc, (struct json){ "\"1\"", 3 }));
	EQ(gone, 1);
	OK(!kept[0]);
	OK(reply_begin(&kept[1]->reply, &j));
	emit_int(&j, "n", -7);
	reply_end(&kept[1]->reply, &j);
	STREQ(t.link.out.data, "{\"jsonrpc\":\"2.0\",\"id\":\"2\",\"result\":{\"n\":-7}}\n");
	rpc_lost(&t.rpc);
	EQ(gone, 2);
	EQ(t.rpc.answer_count, 0);
	talk_close(&t);
}

TEST(a_lost_connection_takes_requests_off_the_wire)
{
	struct talk t;
	struct rq r[40];

	talk_open(&t, 1 << 20);
	for (int i = 0; i < 40; i++)
		ask(&t, &r[i], -1);
	rpc_lost(&t.rpc);
	EQ(t.rpc.wire.count, 0);
	for (int i = 0; i < 40; i++) {
		EQ(rpc_id(&r[i].rq), 0);
		EQ(r[i].answers + r[i].spoils, 0);
		over(&t, &r[i]);
	}
	EQ(ask(&t, &r[0], -1), 41); /* an answer to an old id is nobody's */
	over(&t, &r[0]);
	talk_close(&t);
}

TEST(a_request_that_cannot_be_sent_is_not_on_the_wire)
{
	struct talk t;
	struct rq r = { .talk = &t };
	struct emit j;

	talk_open(&t, 60);
	rpc_open(&t.rpc, &r.rq, &handler, -1);
	t.link.error = -ENOBUFS;
	EQ(rpc_begin(&t.rpc, &r.rq, "m", &j), 0);
	EQ(rpc_send(&t.rpc, &r.rq, &j), -ENOBUFS);
	EQ(rpc_id(&r.rq), 0);
	t.link.error = 0;
	EQ(rpc_begin(&t.rpc, &r.rq, "m", &j), 0);
	emit_str(&j, "long", "012345678901234567890123456789012345678901234567890123456789");
	EQ(rpc_send(&t.rpc, &r.rq, &j), -EMSGSIZE);
	EQ(rpc_id(&r.rq), 0);
	EQ(t.link.writes, 0);
	rpc_close(&r.rq);
	talk_close(&t);
}
