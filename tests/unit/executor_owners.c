/* executor_owners.c - owners that are slow, go away, come back or do not; and what is kept for
 * them. */
#include "unit/executor_talk.h"

/* --- output that nobody takes --- */

static char block[64 << 10];

TEST(a_slow_owner_blocks_only_its_own_process)
{
	struct channel *c, *d;
	struct fake_link *f, *g;
	uint64_t said = 0, next = 1;

	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	d = far_client("1.2.3.4:6", NULL);
	f = start(c, START("p", ""));
	g = start(d, START("p", ""));
	c->slow = true;
	while (!f->paused && said < (100u << 20)) {
		memset(block, (int)said / (int)sizeof(block), sizeof(block));
		far_out(f, block, sizeof(block));
		said += sizeof(block);
	}
	OK(said < (2u << 20));
	OK(far.max_unsent < (512u << 10));
	OK(!g->paused);
	far_print(g, "hi");
	OK(strstr(far_heard(d), "aGk="));
	far_skip(c);
	far_say(c, "{\"id\":8,\"method\":\"process/list\"}");
	EQ(number(c, "id"), 8);
	far_end(f, 0, 0); /* what it said last and its end wait */
	for (int i = 0; i < 100 && c->unsent; i++)
		far_drain(c);
	c->read = 0;
	while (*far_heard(c)) {
		struct json v;
		int64_t seq;

		json_check(c->line, strlen(c->line), 0, &v, NULL);
		if (!json_int(json_find(v, "params.seq"), &seq))
			continue;
		EQ(seq, next);
		next++;
	}
	EQ(next, said / sizeof(block) + 2 + 1);
	far_close();
}

TEST(processes_take_turns)
{
	struct channel *c;
	struct fake_link *f, *g;
	unsigned loud = 0;

	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	f = start(c, START("loud", ""));
	g = start(c, START("p", ""));
	c->slow = true;
	while (!f->paused)
		far_out(f, block, sizeof(block));
	far_skip(c);
	far_print(g, "quiet");
	STREQ(far_heard(c), "");
	far_drain(c);
	while (*far_heard(c) && !strstr(c->line, "cXVpZXQ="))
		loud++;
	OK(*c->line);
	OK(loud <= 1);
	OK(f->paused || c->unsent >= CHANNEL_HIGH);
	for (int i = 0; i < 100 && c->unsent; i++)
		far_drain(c);
	OK(!f->paused);
	far_close();
}

TEST(reads_wait_for_room)
{
	struct channel *c;
	struct fake_link *f;

	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	f = start(c, START("p", ""));
	for (int i = 0; i < 20; i++)
		far_out(f, block, sizeof(block));
	c->slow = true;
	far_skip(c);
	for (int i = 0; i < 10; i++)
		far_say(c, READ(""));
	EQ(number(c, "result.nextSeq"), 21);
	STREQ(far_heard(c), "");
	OK(c->unsent < (2u << 20)); /* one of them, not ten */
	for (int i = 0; i < 9; i++) {
		far_drain(c);
		EQ(number(c, "result.nextSeq"), 21);
	}
	STREQ(far_heard(c), "");
	far_close();
}

TEST(a_client_that_does_not_read_is_dropped)
{
	struct channel *c;

	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	start(c, START("p", ""));
	c->slow = true;
	c->send_limit = 1000;
	for (int i = 0; i < 100 && !c->closing; i++)
		far_say(c, "{\"id\":8,\"method\":\"process/list\"}");
	OK(c->closing_now);
	far_hang_up(c, 0);
	OK(strstr(far.log.data, "why=\"the client does not read\""));
	far_close();
}

TEST(the_last_output_is_retained)
{
	struct channel *c;
	struct fake_link *f;
	struct json v;
	size_t kept = 0;

	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	f = start(c, START("p", ""));
	for (int i = 0; i < 3000; i++) {
		far_out(f, block, 1000 + (size_t)i % 7);
		if (i % 3 == 0)
			far_print_err(f, "x");
	}
	far_skip(c);
	far_say(c, READ(""));
	far_heard(c);
	json_check(c->line, strlen(c->line), 0, &v, NULL);
	struct json_iter it = json_iter(json_find(v, "result.chunks"));
	int64_t last = 0, seq;
	while (json_each(&it)) {
		struct json chunk = json_get(it.value, "chunk");

		json_int(json_get(it.value, "seq"), &seq);
		OK(!last || seq == last + 1);
		last = seq;
		kept += (chunk.len - 2) / 4 * 3 - (chunk.at[chunk.len - 2] == '=') -
			(chunk.at[chunk.len - 3] == '=');
	}
	EQ(last, 4000);
	OK(kept <= (1u << 20) && kept > (1u << 20) - (70 << 10));
	for (int i = 0; i < 60000; i++) {
		far_print(f, "a");
		far_print_err(f, "b");
	}
	far_skip(c);
	far_say(c, READ(""));
	far_heard(c);
	json_check(c->line, strlen(c->line), 0, &v, NULL);
	EQ(json_count(json_find(v, "result.chunks")), 50000);
	far_close();
}

/* --- owners --- */

TEST(away_and_back)
{
	struct channel *c;
	struct fake_link *f;
	char session[37];

	far_open(NULL);
	c = far_client("1.2.3.4:5", session);
	f = start(c, START("p", PIPED));
	far_print(f, "one");
	far_hang_up(c, -ECONNRESET);
	far_print(f, "two");
	far_print(f, "three"); /* nobody was told of the two: one piece */
	far_print_err(f, "four");
	fake_pass(29000);
	EQ(f->stops, 0);
	c = come_back(session, session);
	STREQ(far_heard(c), ""); /* not before it is ready */
	far_say(c, "{\"method\":\"initialized\"}");
	STREQ(far_heard(c), ""); /* what was pushed before may be lost, and would give way */
	far_say(c, READ(",\"afterSeq\":0"));
	OK(strstr(far_heard(c), "{\"seq\":1,\"stream\":\"stdout\",\"chunk\":\"b25l\"}"));
	STREQ(far_heard(c),
	      "{\"method\":\"process/output\",\"params\":{\"processId\":\"p\",\"seq\":2,"
	      "\"stream\":\"stdout\",\"chunk\":\"dHdvdGhyZWU=\"}}");
	EQ(number(c, "params.seq"), 3);
	EQ(number(c, "x"), -1);
	fake_pass(60000);
	EQ(f->stops, 0);
	far_close();
}

/* One that comes back and does not ask is pushed the rest nevertheless. */
TEST(output_is_pushed_after_a_resume_without_a_read)
{
	struct channel *c;
	struct fake_link *f;
	char session[37];

	far_open(NULL);
	c = far_client("1.2.3.4:5", session);
	f = start(c, START("p", PIPED));
	far_print(f, "one");
	far_hang_up(c, -ECONNRESET);
	far_print(f, "two");
	c = come_back(session, session);
	far_say(c, "{\"method\":\"initialized\"}");
	STREQ(far_heard(c), "");
	fake_pass(2001);
	EQ(number(c, "params.seq"), 2);
	far_close();
}

TEST(output_waits_for_an_owner_that_is_away)
{
	struct channel *c;
	struct fake_link *f;
	char session[37];
	uint64_t said = 0;
	int64_t seq = 0;

	far_open(NULL);
	c = far_client("1.2.3.4:5", session);
	f = start(c, START("p", PIPED));
	far_hang_up(c, 0);
	for (; !f->paused && said < (10u << 20); said += 1000)
		far_out(f, block, 1000);
	OK(said >= WIRE_UNPUSHED_BYTES && said < WIRE_UNPUSHED_BYTES + (64u << 10));
	far_end(f, 0, 0);
	c = come_back(session, session);
	far_say(c, "{\"method\":\"initialized\"}");
	for (size_t got = 0; *far_heard(c);) {
		struct json v, chunk;

		json_check(c->line, strlen(c->line), 0, &v, NULL);
		chunk = json_find(v, "params.chunk");
		json_int(json_find(v, "params.seq"), &seq);
		got += chunk.at ? (chunk.len - 2) / 4 * 3 : 0;
		if (strstr(c->line, "exited"))
			OK(got >= said && got < said + 60);
	}
	OK(seq < 16); /* in large pieces */
	OK(strstr(c->out.data, "process/closed"));
	far_close();
}

TEST(a_lease_ends)
{
	struct channel *c, *d;
	struct fake_link *f, *g;
	char session[37];

	far_open(NULL);
	c = far_client("1.2.3.4:5", session);
	d = far_client("1.2.3.4:6", NULL);
	f = start(c, START("p", PIPED));
	g = start(d, START("p", PIPED));
	far_say(c, START("q", PIPED)); /* is not running yet */
	far_hang_up(c, 0);
	fake_pass(29999);
	EQ(f->stops, 0);
	fake_pass(1);
	EQ(f->stops, 1);
	EQ(f->how, LINK_STOP_TERM);
	EQ(f->grace_ms, 500);
	EQ(far_link()->stops, 1);
	EQ(g->stops, 0);
	c = come_back(session, "\"code\":-32600,\"message\":\"unknown session id ");
	far_say(d, "{\"id\":1,\"method\":\"process/list\"}");
	OK(strstr(far_heard(d), "\"state\":\"ending\",\"attached\":false,\"leaseMs\":0"));
	far_end(f, 0, 15);
	far_end(far_link(), 0, 15);
	OK(strstr(far.log.data, "event=lease client=\"test\" ms=30000\n"));
	OK(strstr(far.log.data, "event=gone client=\"test\"\n"));
	far_close();
}

TEST(silence_is_the_end_of_a_lease)
{
	struct channel *c, *d, *e;
	struct fake_link *f, *g;

	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	f = start(c, START("p", PIPED));
	d = far_client("pid 12 uid 0", NULL); /* the kernel would tell */
	g = start(d, START("p", PIPED));
	e = far_connect("stdio", true);
	far_say(e, "{\"id\":1,\"method\":\"initialize\",\"params\":{\"clientName\":\"x\","
		   "\"heartbeatMs\":5000,\"label\":\"me\"}}");
	fake_pass(29000);
	OK(c->pings >= 2 && !c->closing && !e->closing);
	c->answers_pings = false;
	fake_pass(20000);
	OK(!c->closing);
	OK(e->closing);
	fake_pass(11000);
	OK(c->closing_now);
	far_hang_up(e, 0);
	EQ(far.gone, 1);
	far_hang_up(c, 0);
	fake_pass(0);
	EQ(f->stops, 1); /* its lease ran since it was last heard of */
	OK(!d->closing);
	EQ(g->stops, 0);
	far_close();
}

TEST(a_resume_replaces_a_silent_connection)
{
	struct channel *c, *d;
	char session[37];

	far_open(NULL);
	c = far_client("1.2.3.4:5", session);
	fake_pass(1999);
	d = come_back(session, "\"code\":-32010");
	OK(!c->closing);
	fake_pass(1);
	far_say(d,
		"{\"id\":1,\"method\":\"initialize\",\"params\":{\"clientName\":\"x\","
		"\"resumeSessionId\":\"%s\"}}",
		session);
	OK(strstr(far_heard(d), session));
	OK(c->closing_now);
	far_say(c, "{\"id\":1,\"method\":\"process/list\"}"); /* it is nobody now */
	far_hang_up(c, 0);
	far_say(d, "{\"method\":\"initialized\"}");
	far_say(d, "{\"id\":1,\"method\":\"process/list\"}");
	OK(strstr(far_heard(d), "{\"processes\":[]}"));
	far_close();
}

TEST(the_last_connection)
{
	struct channel *c;
	struct fake_link *f;

	far_open(NULL);
	c = far_connect("stdio", true);
	far_say(c, "{\"id\":1,\"method\":\"initialize\",\"params\":{\"clientName\":\"x\"}}");
	far_say(c, "{\"method\":\"initialized\"}");
	far_skip(c);
	f = start(c, START("p", PIPED));
	fake_pass(3600000); /* may be silent for ever */
	OK(!c->closing);
	far_hang_up(c, 0);
	EQ(far.gone, 0);
	EQ(f->stops, 1);
	far_end(f, 0, 15);
	EQ(far.gone, 1);
	far_close();
}

/* The last words of a client that is gone are heard. */
TEST(a_connection_that_cannot_be_answered)
{
	struct channel *c;
	struct fake_link *f;

	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	f = start(c, START("p", PIPED));
	c->broken = true;
	far_print(f, "x");
	far_say(c, READ(",\"waitMs\":5"));
	far_say(c, READ(""));
	far_say(c, TERMINATE(""));
	EQ(f->how, LINK_STOP_KILL);
	fake_pass(10);
	far_hang_up(c, -ECONNRESET);
	far_end(f, 0, 9);
	far_close();
}

TEST(owners_without_processes_are_limited)
{
	far_open(NULL);
	for (int i = 0; i < 100; i++) {
		far_hang_up(far_client("1.2.3.4:5", NULL), 0);
		far.channel_count = 0;
		fake_pass(1000);
	}
	OK(fake_timer_count() <= 31);
	far_close();
}

TEST(the_list)
{
	struct channel *c, *d;
	char session[37];

	far_open(NULL);
	c = far_client("1.2.3.4:5", session);
	start(c, START("p", ",\"name\":\"n\",\"session\":\"s\""));
	far_hang_up(c, 0);
	fake_pass(1000);
	d = far_client("1.2.3.4:6", NULL);
	far_say(d, "{\"id\":1,\"method\":\"process/list\",\"params\":null}");
	far_heard(d);
	OK(strstr(d->line, "{\"processId\":\"p\",\"pid\":100,\"argv\":[\"/bin/x\",\"a\"],\"name\":"
			   "\"n\",\"session\":\"s\",\"client\":\"test\",\"state\":\"running\","
			   "\"attached\":false,\"leaseMs\":29000,\"startedMs\":"));
	far_close();
}

/* Nobody is let in any more, but an owner that comes back is: it has servers to lose. */
TEST(a_full_executor_lets_owners_come_back)
{
	struct channel *c, *late;
	char session[37];

	far_open(NULL);
	c = far_client("1.2.3.4:5", session);
	OK(c->let_in);
	EQ(c->limit, WIRE_MESSAGE_MAX);
	start(c, START("p", PIPED));
	far.full = true;
	late = far_connect("1.2.3.4:6", false);
	EQ(late->limit, WIRE_GREETING_MAX);
	far_say(late, "{\"id\":1,\"method\":\"initialize\",\"params\":{\"clientName\":\"x\"}}");
	OK(strstr(far_heard(late), "--max-connections"));
	OK(late->closing && !late->let_in);
	far_hang_up(c, 0);
	c = come_back(session, "\"sessionId\"");
	OK(c->let_in);
	EQ(c->limit, WIRE_MESSAGE_MAX);
	far.full = false;
	far_close();
}

TEST(a_connection_without_initialize_is_dropped)
{
	struct channel *web, *stdio;

	far_open(NULL);
	web = far_connect("1.2.3.4:5", false);
	stdio = far_connect("stdio", true);
	web->answers_pings = true;
	fake_pass(WIRE_INITIALIZE_MS + 10);
	OK(web->closing && !stdio->closing);
	OK(strstr(far.log.data, "timed out before initialize"));
	far_close();
}
