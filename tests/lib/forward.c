/* forward.c - sessions with a sink, and requests that are passed on to real servers. */
#include "sinks.h"

#define ONE    SERVERS({ "zoo", .more = "\"toolTimeoutSec\":20" })
#define SHARED SERVERS({ "zoo", .more = "\"share\":\"identical\"" })
#define ALL    (KILLICK_SAMPLING | KILLICK_ELICITATION | KILLICK_ROOTS)

/* --- tests --- */

TEST(a_request_is_passed_on_and_its_answer_comes_back)
{
	struct killick *k = enter();
	struct party_of_test p;
	struct sent s;

	open_session(&p, k, ONE, 0);
	OK(p.states > 0);
	send_and_wait(&s, &p, CALL("\"x\\u0031\"", "echo", "{\"text\":\"a\\u0062c\",\"n\":1e400}"),
		      0);
	expect_in(s.line, "\"jsonrpc\"");
	expect_in(s.result, "a\\u0062c");
	EQ(s.era, ERA_LEGACY);
	sent_done(&s);
	send_and_wait(&s, &p, CALL("1", "no-such-tool", "{}"), KILLICK_ERR_ANSWER);
	expect_in(s.result, "\"code\"");
	sent_done(&s);
	/* another name than the client wrote */
	send_line(&s, &p, CALL("1", "zoo__echo", "{\"text\":\"hi\"}"),
		  &(struct forward){ .name = "\"echo\"" });
	await_sent(&s, 0);
	expect_in(s.result, "hi");
	sent_done(&s);
	EQ(p.l->server->tally.calls, 3);
	EQ(p.l->tally.errors, 1);
	STREQ(tally_recent(&p.l->server->tally, 0)->name, "echo");
	STREQ(tally_recent(&p.l->server->tally, 0)->label, "test");
	OK(tally_quantile(&p.l->server->tally, 0.5) > 0);
	close_session(&p);
	leave(k);
}

TEST(forwards_wait_while_the_server_starts)
{
	struct killick *k = enter();
	struct party_of_test p;
	struct sent s[3];

	begin_session(&p, k, ONE, 0);
	for (size_t i = 0; i < 3; i++)
		send_line(&s[i], &p, CALL("7", "echo", "{\"text\":\"early\"}"), NULL);
	EQ(s[0].f.state, FORWARD_PARKED);
	forward_cancel(&s[1].f);
	await_sent(&s[0], 0);
	await_sent(&s[2], 0);
	OK(!s[1].done);
	expect_in(s[2].result, "early");
	sent_done(&s[0]);
	sent_done(&s[2]);
	wait_until(k, is_true, &p.opened);
	close_session(&p);
	leave(k);
}

/* The server ends when it is probed for its era, and is started again without a probe. */
TEST(forwards_survive_the_probe_of_the_era)
{
	static struct sent s[40];
	struct killick *k = enter();
	struct party_of_test p;
	struct sent list;

	begin_session(&p, k, SERVERS({ "zoo", "probedeath", .more = "\"era\":\"auto\"" }), 0);
	for (size_t i = 0; i < 40; i++)
		send_line(&s[i], &p, CALL("7", "echo", "{\"text\":\"early\"}"), NULL);
	op_and_wait(&list, &p, KILLICK_TOOLS, NULL, 0);
	sent_done(&list);
	for (size_t i = 0; i < 40; i++) {
		await_sent(&s[i], 0);
		sent_done(&s[i]);
	}
	EQ(p.l->server->starts, 2);
	wait_until(k, is_true, &p.opened);
	close_session(&p);
	leave(k);
}

TEST(progress_has_the_number_of_the_request)
{
	struct killick *k = enter();
	struct party_of_test p;
	struct sent s;

	open_session(&p, k, ONE, 0);
	send_and_wait(&s, &p,
		      "{\"id\":\"a\",\"params\":{\"_meta\":{\"x\":1,\"progressToken\":\"mine\"},"
		      "\"name\":\"progress\",\"arguments\":{\"n\":3,\"ms\":1}},"
		      "\"method\":\"tools/call\",\"jsonrpc\":\"2.0\"}",
		      0);
	EQ(s.reports, 3);
	expect_in(s.report, "\"progress\":3");
	sent_done(&s);
	/* without a token there is no progress */
	send_and_wait(&s, &p, CALL("1", "progress", "{\"n\":3,\"ms\":1}"), 0);
	EQ(s.reports, 0);
	sent_done(&s);
	close_session(&p);
	leave(k);
}

TEST(a_server_that_ends_ends_all_forwards)
{
	struct killick *k = enter();
	struct party_of_test a, b;
	struct sent s[3];

	open_session(&a, k, SHARED, 0);
	open_session(&b, k, SHARED, 0);
	OK(a.l->server == b.l->server);
	send_line(&s[0], &a, CALL("1", "block", "{}"), NULL);
	send_line(&s[1], &b, CALL("1", "block", "{}"), NULL);
	send_line(&s[2], &b, CALL("1", "crash", "{\"code\":3}"), NULL);
	for (size_t i = 0; i < 3; i++) {
		await_sent(&s[i], KILLICK_ERR_EXITED);
		expect_in(s[i].text, "zoo");
	}
	/* the next request starts the server again */
	send_and_wait(&s[0], &a, CALL("1", "echo", "{\"text\":\"again\"}"), 0);
	sent_done(&s[0]);
	close_session(&a);
	close_session(&b);
	leave(k);
}

TEST(a_lease_that_leaves_ends_its_forwards_only)
{
	struct killick *k = enter();
	struct party_of_test a, b;
	struct sent mine, other;

	open_session(&a, k, SHARED, 0);
	open_session(&b, k, SHARED, 0);
	send_line(&mine, &a, CALL("1", "block", "{}"), NULL);
	send_line(&other, &b, CALL("1", "sleep", "{\"ms\":50}"), NULL);
	close_session(&a);
	OK(mine.done);
	EQ(mine.code, KILLICK_ERR_CLOSED);
	STREQ(mine.text, "the session was closed");
	await_sent(&other, 0);
	sent_done(&other);
	close_session(&b);
	leave(k);
}

TEST(a_cancelled_forward_is_cancelled_in_the_server)
{
	struct killick *k = enter();
	struct party_of_test p;
	struct sent s, seen;

	open_session(&p, k, ONE, 0);
	send_line(&s, &p, CALL("1", "block", "{}"), NULL);
	EQ(p.l->in_flight, 1);
	forward_cancel(&s.f);
	EQ(s.f.state, FORWARD_OVER);
	EQ(p.l->in_flight, 0);
	forward_cancel(&s.f); /* no effect */
	send_and_wait(&seen, &p, CALL("1", "seen", "{}"), 0);
	expect_in(seen.result, "\"cancelled\":1");
	OK(!s.done);
	sent_done(&seen);
	close_session(&p);
	leave(k);
}

TEST(a_forward_fails_at_its_deadline)
{
	struct killick *k = enter();
	struct party_of_test p;
	struct sent s;

	open_session(&p, k, ONE, 0);
	send_line(&s, &p, CALL("1", "block", "{}"), &(struct forward){ .timeout_ms = 50 });
	await_sent(&s, KILLICK_ERR_TIMEOUT);
	expect_in(s.text, "server 'zoo'");
	close_session(&p);
	leave(k);
}

TEST(requests_that_could_be_read_in_two_ways_are_refused)
{
	static const char *const lines[] = {
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
		"call\",\"params\":{\"name\":\"pid\"},"
		"\"id\":2}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
		"call\",\"params\":{\"name\":\"pid\","
		"\"n\\u0061me\":\"echo\"}}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"_meta\":{"
		"\"progressToken\":1,\"progressToken\":2}}}",
	};
	struct killick *k = enter();
	struct party_of_test p;
	struct sent s;

	open_session(&p, k, ONE, 0);
	for (size_t i = 0; i < 3; i++)
		send_and_wait(&s, &p, lines[i], KILLICK_ERR_USAGE);
	close_session(&p);
	leave(k);
}

TEST(tools_that_the_config_forbids_are_refused)
{
	struct killick *k = enter();
	struct party_of_test p;
	struct sent s;

	open_session(&p, k, SERVERS({ "zoo", .more = "\"disabledTools\":[\"pid\"]" }), 0);
	send_and_wait(&s, &p, CALL("1", "pi\\u0064", "{}"), KILLICK_ERR_NO_SERVER);
	expect_in(s.text, "disabledTools");
	send_and_wait(&s, &p, CALL("1", "echo", "{\"text\":\"x\"}"), 0);
	sent_done(&s);
	close_session(&p);
	leave(k);
}

TEST(lists_have_all_pages_and_tools_are_cached)
{
	struct killick *k = enter();
	struct party_of_test p;
	struct sent s, again;

	open_session(&p, k, ONE, 0);
	op_and_wait(&s, &p, KILLICK_TOOLS, NULL, 0);
	op_and_wait(&again, &p, KILLICK_TOOLS, NULL, 0);
	expect_in(s.result, "\"name\":\"echo\"");
	STREQ(s.result, again.result);
	OK(p.l->tools > 10);
	OK(names_of(&p.s->names, "zoo", "echo"));
	sent_done(&s);
	sent_done(&again);
	op_and_wait(&s, &p, KILLICK_LOG_LEVEL, "error", 0);
	sent_done(&s);
	op_and_wait(&s, &p, KILLICK_LOG_LEVEL, "loud", KILLICK_ERR_PROTOCOL);
	expect_in(s.text, "server 'zoo'");
	op_and_wait(&s, &p, KILLICK_PING, NULL, 0);
	sent_done(&s);
	close_session(&p);
	leave(k);
}

static bool has_asked(void *ctx)
{
	return ((struct party_of_test *)ctx)->asks > 0;
}

TEST(the_sink_gets_asks_and_answers_them)
{
	static const char ask[] =
		CALL("1", "ask", "{\"method\":\"elicitation/create\",\"params\":{}}");
	struct killick *k = enter();
	struct party_of_test p;
	struct sent s;

	open_session(&p, k, ONE, ALL);
	send_line(&s, &p, ask, NULL);
	wait_until(k, has_asked, &p);
	STREQ(p.method, "elicitation/create");
	client_answer(p.l->server->client, p.ask, "{\"action\":\"accept\"}", 19);
	await_sent(&s, 0);
	expect_in(s.result, "accept");
	sent_done(&s);
	EQ(p.overs, 0);
	p.asks = 0;
	send_line(&s, &p, ask, NULL);
	wait_until(k, has_asked, &p);
	close_session(&p);
	EQ(p.overs, 1);
	OK(s.done);
	leave(k);
}

#define NEW_META                                                                                   \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                   \
	"\"io.modelcontextprotocol/clientInfo\":{\"name\":\"c\",\"version\":\"1\"},"               \
	"\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{\"form\":{}}}}"
#define NEW_CALL(tool, args)                                                                       \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"" tool     \
	"\"," NEW_META ",\"arguments\":" args "}}"
#define ASK_FOR "{\"method\":\"elicitation/create\",\"params\":{\"message\":\"m\"}}"

TEST(a_legacy_client_uses_a_modern_server)
{
	struct killick *k = enter();
	struct party_of_test p;
	struct sent s;

	open_session(&p, k, SERVERS({ "zoo", "modern", .more = "\"era\":\"modern\"" }), ALL);
	send_and_wait(&s, &p, CALL("1", "echo", "{\"text\":\"x\"}"), 0);
	EQ(s.era, ERA_MODERN);
	expect_in(s.result, "\"resultType\":\"complete\"");
	sent_done(&s);
	send_line(&s, &p, CALL("1", "ask", ASK_FOR), NULL);
	wait_until(k, has_asked, &p);
	STREQ(p.method, "elicitation/create");
	client_answer(p.l->server->client, p.ask, "{\"action\":\"accept\"}", 19);
	await_sent(&s, 0);
	expect_in(s.result, "accept");
	sent_done(&s);
	OK(!p.l->server->gate.asks); /* such a question names its call */
	close_session(&p);
	leave(k);
}

TEST(a_modern_client_uses_servers_of_both_eras)
{
	const struct forward modern = { .era = ERA_MODERN };
	struct killick *k = enter();
	struct party_of_test p;
	struct sent s;

	open_session(&p, k, ONE, 0);
	send_line(&s, &p, NEW_CALL("echo", "{\"text\":\"old\"}"), &modern);
	await_sent(&s, 0);
	expect_in(s.result, "old");
	EQ(s.era, ERA_LEGACY);
	sent_done(&s);
	close_session(&p);
	open_session(&p, k, SERVERS({ "zoo", "modern", .more = "\"era\":\"modern\"" }), 0);
	send_line(&s, &p, NEW_CALL("ask", ASK_FOR), &modern);
	await_sent(&s, 0);
	expect_in(s.result, "\"resultType\":\"input_required\"");
	EQ(p.asks, 0);
	sent_done(&s);
	close_session(&p);
	leave(k);
}

static void closes_on_done(struct forward *f, const struct forward_done *d)
{
	struct killick_session *s = f->lease->session;
	struct party_of_test *p = s->sink_ctx;
	struct job *j;

	sent_on_done(f, d);
	if (s->state != SESSION_OPEN)
		return;
	j = job_new(s, JOB_CLOSE);
	j->on_finished = test_on_closed;
	j->ctx = p;
	session_close(s, j);
}

TEST(on_done_may_close_its_session)
{
	static struct sent s[2][40], crash;
	struct killick *k = enter();
	struct party_of_test p[2], other;

	open_session(&other, k, SHARED, 0);
	for (size_t i = 0; i < 2; i++) {
		open_session(&p[i], k, SHARED, 0);
		for (size_t n = 0; n < 40; n++) { /* some wait in the queue */
			send_line(&s[i][n], &p[i], CALL("1", "block", "{}"), NULL);
			s[i][n].f.on_done = closes_on_done;
		}
	}
	send_line(&crash, &other, CALL("1", "crash", "{\"code\":3}"), NULL);
	for (size_t i = 0; i < 2; i++) {
		wait_until(k, is_true, &p[i].closed);
		killick_report_free(p[i].report);
		session_release(p[i].s);
		for (size_t n = 0; n < 40; n++)
			OK(s[i][n].done && s[i][n].code < 0);
	}
	await_sent(&crash, KILLICK_ERR_EXITED);
	close_session(&other);
	leave(k);
}

#define PAIRS 40 /* the last 8 forwards wait in the queue */
static struct sent paired[PAIRS];

static void cancels_its_neighbour(struct forward *f, const struct forward_done *d)
{
	struct sent *s = CONTAINER_OF(f, struct sent, f);

	sent_on_done(f, d);
	forward_cancel(&paired[(s - paired) ^ 1].f);
}

/* One forward of each pair has ended, the other one was cancelled. */
static void expect_one_of_each_pair(int code)
{
	for (size_t i = 0; i < PAIRS; i += 2) {
		OK(paired[i].done != paired[i + 1].done);
		EQ(paired[i].done ? paired[i].code : paired[i + 1].code, code);
		EQ(paired[i].f.state, FORWARD_OVER);
		EQ(paired[i + 1].f.state, FORWARD_OVER);
	}
}

static void send_pairs(struct party_of_test *p)
{
	for (size_t i = 0; i < PAIRS; i++) {
		send_line(&paired[i], p, CALL("1", "block", "{}"), NULL);
		paired[i].f.on_done = cancels_its_neighbour;
	}
	EQ(p->l->gate.queued, PAIRS - GATE_LEASE_MAX);
}

TEST(on_done_may_cancel_forwards_that_fail_with_it)
{
	struct killick *k = enter();
	struct party_of_test p, other;
	struct sent s;

	open_session(&p, k, SHARED, 0);
	open_session(&other, k, SHARED, 0);
	send_pairs(&p);
	send_and_wait(&s, &other, CALL("1", "crash", "{\"code\":3}"), KILLICK_ERR_EXITED);
	expect_one_of_each_pair(KILLICK_ERR_EXITED);
	EQ(p.l->gate.in_flight + p.l->gate.queued + p.l->in_flight, 0);
	send_and_wait(&s, &p, CALL("1", "echo", "{\"text\":\"again\"}"), 0);
	sent_done(&s);
	send_pairs(&p);
	close_session(&p);
	expect_one_of_each_pair(KILLICK_ERR_CLOSED);
	EQ(other.l->server->gate.in_flight + other.l->server->gate.queued, 0);
	close_session(&other);
	leave(k);
}
