/* gate.c - limits of forwards in flight, queues, turns between sessions, and servers that ask. */
#include "sinks.h"

#define SHARED SERVERS({ "zoo", .more = "\"share\":\"identical\"" })
#define ASKS   (KILLICK_SAMPLING | KILLICK_ELICITATION)

#define BLOCK CALL("1", "block", "{}")
#define ECHO  CALL("1", "echo", "{\"text\":\"x\"}")
#define ASK   CALL("1", "ask", "{\"method\":\"elicitation/create\",\"params\":{}}")

static void send_many(struct sent *s, size_t count, struct party_of_test *p, const char *line)
{
	for (size_t i = 0; i < count; i++)
		send_line(&s[i], p, line, NULL);
}

static bool is_sent(void *ctx)
{
	return ((struct sent *)ctx)->f.state == FORWARD_SENT;
}

TEST(a_session_has_at_most_32_forwards_in_flight_and_the_rest_wait)
{
	static struct sent s[40], other;
	struct killick *k = enter();
	struct party_of_test a, b;

	open_session(&a, k, SHARED, 0);
	open_session(&b, k, SHARED, 0);
	send_many(s, 40, &a, BLOCK);
	EQ(a.l->gate.in_flight, 32);
	EQ(a.l->gate.queued, 8);
	EQ(a.l->server->gate.queued, 8);
	EQ(s[31].f.state, FORWARD_SENT);
	EQ(s[32].f.state, FORWARD_QUEUED);
	/* another session is not disturbed */
	send_and_wait(&other, &b, ECHO, 0);
	sent_done(&other);
	forward_cancel(&s[32].f); /* waits */
	EQ(a.l->gate.queued, 7);
	forward_cancel(&s[0].f); /* is in flight: the next one goes, from the loop */
	EQ(a.l->gate.in_flight, 31);
	wait_until(k, is_sent, &s[33]);
	EQ(a.l->gate.in_flight, 32);
	EQ(a.l->gate.queued, 6);
	close_session(&a);
	for (size_t i = 0; i < 40; i++) {
		if (i == 0 || i == 32)
			continue;
		OK(s[i].done);
		EQ(s[i].code, KILLICK_ERR_CLOSED);
	}
	EQ(b.l->server->gate.in_flight, 0);
	EQ(b.l->server->gate.queued, 0);
	close_session(&b);
	leave(k);
}

TEST(a_forward_in_the_queue_has_a_deadline)
{
	static struct sent s[32], late;
	struct killick *k = enter();
	struct party_of_test a;

	open_session(&a, k, SHARED, 0);
	send_many(s, 32, &a, BLOCK);
	send_line(&late, &a, ECHO, &(struct forward){ .timeout_ms = 30 });
	EQ(late.f.state, FORWARD_QUEUED);
	await_sent(&late, KILLICK_ERR_TIMEOUT);
	expect_in(late.text, "server 'zoo' was busy");
	close_session(&a);
	leave(k);
}

TEST(a_queue_that_is_full_refuses)
{
	static struct sent s[32 + GATE_QUEUE_MAX], more;
	struct killick *k = enter();
	struct party_of_test a;

	open_session(&a, k, SHARED, 0);
	send_many(s, 32 + GATE_QUEUE_MAX, &a, BLOCK);
	send_and_wait(&more, &a, ECHO, KILLICK_ERR_BUSY);
	expect_in(more.text, "which is the limit");
	EQ(a.l->in_flight, 32 + GATE_QUEUE_MAX);
	close_session(&a);
	leave(k);
}

/* A request of 20 MiB. */
static char *long_line(void)
{
	const size_t len = 20u << 20;
	char *line = malloc(len + 256);
	int n = snprintf(line, 256,
			 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":"
			 "{\"name\":\"echo\",\"arguments\":{\"text\":\"");

	memset(line + n, 'x', len);
	memcpy(line + (size_t)n + len, "\"}}}", 5);
	return line;
}

TEST(requests_that_wait_have_a_limit_of_bytes)
{
	static struct sent s[32], large[3], more, small;
	struct killick *k = enter();
	struct party_of_test a;
	char *line = long_line();

	open_session(&a, k, SHARED, 0);
	send_many(s, 32, &a, BLOCK);
	send_many(large, 3, &a, line);
	EQ(large[2].f.state, FORWARD_QUEUED);
	send_and_wait(&more, &a, line, KILLICK_ERR_BUSY);
	expect_in(more.text, "64 MiB");
	send_line(&small, &a, ECHO, NULL);
	EQ(small.f.state, FORWARD_QUEUED);
	forward_cancel(&large[0].f);
	forward_cancel(&large[1].f);
	forward_cancel(&large[2].f);
	OK(a.l->kept < 1000);
	close_session(&a);
	EQ(small.code, KILLICK_ERR_CLOSED);
	free(line);
	leave(k);
}

TEST(queued_forwards_end_with_their_server)
{
	static struct sent s[40], crash;
	struct killick *k = enter();
	struct party_of_test a, b;

	open_session(&a, k, SHARED, 0);
	open_session(&b, k, SHARED, 0);
	send_many(s, 40, &a, BLOCK);
	send_line(&crash, &b, CALL("1", "crash", "{\"code\":3}"), NULL);
	for (size_t i = 0; i < 40; i++)
		await_sent(&s[i], KILLICK_ERR_EXITED);
	await_sent(&crash, KILLICK_ERR_EXITED);
	EQ(a.l->gate.in_flight + a.l->gate.queued, 0);
	send_and_wait(&crash, &a, ECHO, 0);
	sent_done(&crash);
	close_session(&a);
	close_session(&b);
	leave(k);
}

static bool has_asked(void *ctx)
{
	return ((struct party_of_test *)ctx)->asks > 0;
}

/* The first request of the server cannot be attributed, and is cancelled. From then on the server
 * works for one call at a time. */
TEST(a_shared_server_that_asks_gets_one_forward_at_a_time)
{
	static struct sent block, s[2], queued[3];
	struct killick *k = enter();
	struct party_of_test a, b, later;

	open_session(&a, k, SHARED, ASKS);
	open_session(&b, k, SHARED, ASKS);
	OK(!a.l->server->gate.asks);
	send_line(&block, &a, BLOCK, NULL);
	send_and_wait(&s[0], &b, ASK, 0);
	expect_in(s[0].result, "\"cancel\"");
	EQ(a.asks + b.asks, 0);
	sent_done(&s[0]);
	OK(a.l->server->gate.asks);
	/* the blocked call of A is in flight: the others wait */
	send_line(&s[0], &b, ASK, NULL);
	send_line(&s[1], &a, ASK, NULL);
	EQ(s[0].f.state, FORWARD_QUEUED);
	EQ(s[1].f.state, FORWARD_QUEUED);
	forward_cancel(&block.f);
	wait_until(k, is_sent, &s[0]);
	EQ(s[1].f.state, FORWARD_QUEUED);
	/* B waited first; its question goes to nobody, because a call of A was given up lately */
	await_sent(&s[0], 0);
	EQ(b.asks, 0);
	wait_until(k, has_asked, &a);
	client_decline(a.l->server->client, a.ask, "no");
	await_sent(&s[1], 0);
	sent_done(&s[0]);
	sent_done(&s[1]);
	close_session(&b);
	/* alone, there is no need for turns */
	send_many(queued, 3, &a, BLOCK);
	EQ(a.l->gate.in_flight, 3);
	close_session(&a);
	/* the runtime remembers */
	open_session(&later, k, SHARED, ASKS);
	OK(later.l->server->gate.asks);
	close_session(&later);
	leave(k);
}

TEST(turns_make_the_owner_of_a_question_known)
{
	static struct sent first, s[2];
	struct killick *k = enter();
	struct party_of_test a, b;

	open_session(&a, k, SHARED, ASKS);
	open_session(&b, k, SHARED, ASKS);
	gate_asked(a.l->server);
	send_line(&first, &b, CALL("1", "sleep", "{\"ms\":30}"), NULL);
	send_line(&s[0], &a, ASK, NULL);
	send_line(&s[1], &b, ASK, NULL);
	wait_until(k, has_asked, &a);
	OK(first.done && b.asks == 0);
	client_answer(a.l->server->client, a.ask, "{\"action\":\"accept\"}", 19);
	wait_until(k, has_asked, &b);
	OK(s[0].done);
	expect_in(s[0].result, "accept");
	client_decline(b.l->server->client, b.ask, "no");
	await_sent(&s[1], 0);
	EQ(a.asks, 1);
	EQ(b.asks, 1);
	sent_done(&first);
	sent_done(&s[0]);
	sent_done(&s[1]);
	close_session(&a);
	close_session(&b);
	leave(k);
}

static size_t order[64], order_count;

static void ordered_on_done(struct forward *f, const struct forward_done *d)
{
	struct sent *s = CONTAINER_OF(f, struct sent, f);

	EQ(d->code, 0);
	order[order_count++] = (size_t)s->reports; /* the number of the session */
	s->done = true;
}

TEST(sessions_take_turns)
{
	static struct sent first, s[3][6];
	struct killick *k = enter();
	struct party_of_test p[3];

	for (size_t i = 0; i < 3; i++)
		open_session(&p[i], k, SHARED, ASKS);
	gate_asked(p[0].l->server);
	send_line(&first, &p[0], CALL("1", "sleep", "{\"ms\":20}"), NULL);
	/* the first session is greedy: its requests come first, and are more */
	for (size_t i = 0; i < 3; i++) {
		for (size_t n = 0; n < (i ? 2 : 6); n++) {
			send_line(&s[i][n], &p[i], ECHO, NULL);
			s[i][n].f.on_done = ordered_on_done;
			s[i][n].reports = (unsigned)i;
		}
	}
	wait_until(k, is_true, &s[0][5].done);
	EQ(order_count, 10);
	for (size_t n = 0; n < 6; n++)
		EQ(order[n], n % 3);
	for (size_t n = 6; n < 10; n++)
		EQ(order[n], 0);
	sent_done(&first);
	for (size_t i = 0; i < 3; i++)
		close_session(&p[i]);
	leave(k);
}
