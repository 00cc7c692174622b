/* executor_life.c - processes of an executor over time: reads that wait, ends, bounds. */
#include "unit/executor_talk.h"

/* --- reading --- */

TEST(reads)
{
	struct channel *c;
	struct fake_link *f;

	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	ask(c, READ(""),
	    "{\"error\":{\"code\":-32600,\"message\":\"unknown process id p\"},\"id\":3}");
	f = start(c, START("p", ""));
	ask(c, READ(""),
	    "{\"id\":3,\"result\":{\"chunks\":[],\"nextSeq\":1,\"exited\":false,\"exitCode\":null,"
	    "\"closed\":false" READ_TAIL);
	ask(c, READ(",\"afterSeq\":-1"),
	    "{\"error\":{\"code\":-32602,\"message\":\"invalid number\"},\"id\":3}");
	ask(c, READ(",\"waitMs\":\"1\""),
	    "{\"error\":{\"code\":-32602,\"message\":\"invalid type: string, expected a "
	    "number\"},\"id\":3}");
	far_print(f, "one");
	far_print(f, "two");
	far_skip(c);
	ask(c, READ(",\"maxBytes\":1"), /* at least one chunk */
	    "{\"id\":3,\"result\":{\"chunks\":[{\"seq\":1,\"stream\":\"stdout\",\"chunk\":"
	    "\"b25l\"}],\"nextSeq\":2,\"exited\":false,\"exitCode\":null,\"closed\":"
	    "false" READ_TAIL);
	ask(c, READ(",\"afterSeq\":1,\"maxBytes\":5"),
	    "{\"id\":3,\"result\":{\"chunks\":[{\"seq\":2,\"stream\":\"stdout\",\"chunk\":"
	    "\"dHdv\"}],\"nextSeq\":3,\"exited\":false,\"exitCode\":null,\"closed\":"
	    "false" READ_TAIL);
	ask(c, READ(",\"afterSeq\":18446744073709551615"),
	    "{\"id\":3,\"result\":{\"chunks\":[],\"nextSeq\":3,\"exited\":false,\"exitCode\":null,"
	    "\"closed\":false" READ_TAIL);
	far_close();
}

TEST(reads_that_wait)
{
	struct channel *c;
	struct fake_link *f;

	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	f = start(c, START("p", ""));
	far_say(c, READ(",\"waitMs\":500"));
	STREQ(far_heard(c), "");
	ask(c, "{\"id\":8,\"method\":\"environment/status\"}", /* nothing else waits */
	    "{\"id\":8,\"result\":{\"status\":\"ready\"}}");
	fake_pass(499);
	STREQ(far_heard(c), "");
	fake_pass(1);
	EQ(number(c, "result.nextSeq"), 1);
	far_say(c, READ(",\"waitMs\":500,\"afterSeq\":0"));
	far_say(c, READ(",\"waitMs\":500,\"afterSeq\":1"));
	far_print(f, "x");
	EQ(number(c, "result.nextSeq"), 2); /* the first */
	OK(strstr(far_heard(c), "process/output"));
	STREQ(far_heard(c), "");
	f->link.ev->on_exited(f->link.ctx, 4, 0);
	EQ(number(c, "result.exitCode"), 4);
	EQ(number(c, "params.exitCode"), 4);
	far_say(c, READ(",\"waitMs\":500,\"afterSeq\":2"));
	STREQ(far_heard(c), "");
	f->link.ev->on_eof(f->link.ctx);
	STREQ(far_heard(c), "");
	f->link.ev->on_stderr_eof(f->link.ctx);
	OK(strstr(far_heard(c), "\"closed\":true"));
	OK(strstr(far_heard(c), "process/closed"));
	ask(c, READ(",\"waitMs\":500,\"afterSeq\":9"), /* nothing more can happen */
	    "{\"id\":3,\"result\":{\"chunks\":[],\"nextSeq\":4,\"exited\":true,\"exitCode\":4,"
	    "\"closed\":true" READ_TAIL);
	far_end(f, 4, 0);
	far_close();
}

TEST(reads_and_their_connection)
{
	struct channel *c;

	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	start(c, START("p", ""));
	for (int i = 0; i < 10; i++)
		far_say(c, READ(",\"waitMs\":500"));
	far_hang_up(c, 0);
	fake_pass(1000); /* nobody is answered */
	far_close();
}

TEST(too_many_requests_in_flight)
{
	struct channel *c;

	far_open(&(struct executor_options){ .max_requests = 3 });
	c = far_client("1.2.3.4:5", NULL);
	start(c, START("p", ""));
	for (int i = 0; i < 3; i++)
		far_say(c, READ(",\"waitMs\":500"));
	ask(c, READ(",\"waitMs\":500"),
	    "{\"error\":{\"code\":-32600,\"message\":\"too many requests in flight "
	    "(3)\"},\"id\":3}");
	ask(c, START("q", ""),
	    "{\"error\":{\"code\":-32600,\"message\":\"too many requests in flight "
	    "(3)\"},\"id\":7}");
	EQ(far.link_count, 1);
	ask(c, TERMINATE(""), "{\"id\":4,\"result\":{\"running\":true}}");
	fake_pass(500);
	far_skip(c);
	start(c, START("q", ""));
	far_close();
}

TEST(too_many_processes)
{
	struct channel *c, *d;
	struct fake_link *f;

	far_open(&(struct executor_options){ .max_processes = 2 });
	c = far_client("1.2.3.4:5", NULL);
	d = far_client("1.2.3.4:6", NULL);
	f = start(c, START("p", ""));
	start(d, START("p", "")); /* ids are the owner's own */
	ask(c, START("r", ""),
	    "{\"error\":{\"code\":-32600,\"message\":\"too many processes (2)\"},\"id\":7}");
	far_end(f, 0, 0); /* kept, but not counted */
	far_skip(c);
	start(c, START("r", ""));
	far_close();
}

TEST(ids_that_are_too_long)
{
	static char long_id[1200], message[1600];
	struct channel *c;

	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	memset(long_id, 'x', sizeof(long_id) - 1);
	snprintf(message, sizeof(message), "{\"id\":\"%s\",\"method\":\"process/list\"}", long_id);
	far_say(c, "%s", message);
	OK(strstr(far_heard(c), "the id is longer than 512 bytes"));
	far_say(c,
		"{\"id\":1,\"method\":\"process/"
		"start\",\"params\":{\"processId\":\"%s\",\"argv\":[\"x\"],\"cwd\":\"file:///"
		"\",\"env\":{},\"tty\":false}}",
		long_id);
	OK(strstr(far_heard(c), "processId is longer than 1024 bytes"));
	far_say(c, "{\"id\":1,\"method\":\"process/read\",\"params\":{\"processId\":\"%s\"}}",
		long_id);
	OK(strstr(far_heard(c), "unknown process id xxx"));
	far_close();
}

/* --- the end of processes --- */

TEST(terminate)
{
	struct channel *c;
	struct fake_link *f;

	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	ask(c, TERMINATE(""), "{\"id\":4,\"result\":{\"running\":false}}");
	f = start(c, START("p", PIPED));
	ask(c, TERMINATE(",\"graceMs\":1500"), "{\"id\":4,\"result\":{\"running\":true}}");
	EQ(f->how, LINK_STOP_EOF);
	EQ(f->grace_ms, 1500);
	ask(c, TERMINATE(""), "{\"id\":4,\"result\":{\"running\":true}}");
	EQ(f->how, LINK_STOP_KILL);
	far_end(f, 0, 9);
	EQ(number(c, "params.exitCode"), 137);
	OK(strstr(far_heard(c), "process/closed"));
	fake_pass(30000);
	f = start(c, START("p", ""));
	ask(c, TERMINATE(",\"graceMs\":0"), "{\"id\":4,\"result\":{\"running\":true}}");
	EQ(f->how, LINK_STOP_TERM);
	EQ(f->grace_ms, 0);
	ask(c, "{\"id\":4,\"method\":\"process/terminate\",\"params\":{\"processId\":7}}",
	    "{\"error\":{\"code\":-32602,\"message\":\"invalid type: number, expected a "
	    "string\"},\"id\":4}");
	far_close();
}

TEST(terminate_before_it_runs)
{
	struct channel *c;
	struct fake_link *f;

	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	far_say(c, START("p", PIPED));
	f = far_link();
	far_say(c, TERMINATE(""));
	STREQ(far_heard(c), "{\"id\":4,\"result\":{\"running\":true}}");
	EQ(f->stops, 1);
	STREQ(far_heard(c), ""); /* it may be there still: nobody is told that it is not */
	far_run(f);
	OK(strstr(far_heard(c), "{\"id\":7,\"result\":{\"processId\":\"p\""));
	far_end(f, 0, 9);
	OK(strstr(far_heard(c), "process/exited"));
	OK(strstr(far_heard(c), "process/closed"));
	far_close();
}

TEST(terminate_before_it_runs_and_it_never_does)
{
	struct channel *c;
	struct fake_link *f;

	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	far_say(c, START("p", PIPED));
	f = far_link();
	far_say(c, TERMINATE(""));
	STREQ(far_heard(c), "{\"id\":4,\"result\":{\"running\":true}}");
	far_end(f, 0, 9);
	OK(strstr(far_heard(c), "\"code\":-32603"));
	start(c, START("p", PIPED)); /* the id is free */
	far_close();
}

TEST(signals)
{
	struct channel *c;
	struct fake_link *f;

	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	f = start(c, START("p", ""));
	ask(c,
	    "{\"id\":1,\"method\":\"process/signal\",\"params\":{\"processId\":\"p\",\"signal\":"
	    "\"interrupt\"}}",
	    "{\"id\":1,\"result\":{}}");
	EQ(f->interrupts, 1);
	ask(c,
	    "{\"id\":1,\"method\":\"process/signal\",\"params\":{\"processId\":\"p\",\"signal\":"
	    "\"term\"}}",
	    "{\"error\":{\"code\":-32602,\"message\":\"unknown variant `term`, expected "
	    "`interrupt`\"},\"id\":1}");
	ask(c,
	    "{\"id\":1,\"method\":\"process/signal\",\"params\":{\"processId\":\"no\",\"signal\":"
	    "\"interrupt\"}}",
	    "{\"id\":1,\"result\":{}}");
	EQ(f->interrupts, 1);
	far_close();
}

TEST(leftovers_of_a_command)
{
	struct channel *c;
	struct fake_link *f;

	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	f = start(c, START("p", ""));
	f->link.ev->on_exited(f->link.ctx, -1, 2);
	EQ(number(c, "params.exitCode"), 130);
	far_print(f, "late");
	STREQ(far_heard(c),
	      "{\"method\":\"process/output\",\"params\":{\"processId\":\"p\",\"seq\":2,"
	      "\"stream\":\"stdout\",\"chunk\":\"bGF0ZQ==\"}}");
	ask(c, READ(",\"afterSeq\":0"),
	    "{\"id\":3,\"result\":{\"chunks\":[{\"seq\":2,\"stream\":\"stdout\",\"chunk\":"
	    "\"bGF0ZQ==\"}],\"nextSeq\":3,\"exited\":true,\"exitCode\":130,\"closed\":"
	    "false" READ_TAIL);
	f->link.ev->on_eof(f->link.ctx);
	f->link.ev->on_stderr_eof(f->link.ctx);
	STREQ(far_heard(c),
	      "{\"method\":\"process/closed\",\"params\":{\"processId\":\"p\",\"seq\":3}}");
	ask(c, TERMINATE(""), "{\"id\":4,\"result\":{\"running\":false}}");
	EQ(f->stops, 0); /* background jobs have their time */
	fake_pass(30000);
	EQ(f->stops, 1); /* which is over */
	EQ(f->how, LINK_STOP_KILL);
	far_end(f, 0, 2);
	f = start(c, START("p", ""));
	f->link.ev->on_exited(f->link.ctx, 0, 0);
	EQ(number(c, "params.exitCode"), 0);
	ask(c, TERMINATE(""), "{\"id\":4,\"result\":{\"running\":false}}");
	EQ(f->stops, 1); /* they hold its output, and their owner has had enough */
	far_end(f, 0, 0);
	STREQ(far_heard(c), "{\"method\":\"process/closed\",\"params\":{\"processId\":\"p\","
			    "\"seq\":2,\"report\":{\"killick\":\"x\"}}}");
	far_close();
}

/* --- the end --- */

TEST(the_end_of_an_executor)
{
	struct channel *c, *d;
	struct fake_link *f, *g;

	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	f = start(c, START("p", PIPED));
	d = far_client("1.2.3.4:6", NULL);
	g = start(d, START("p", PIPED));
	far_hang_up(d, 0);
	executor_close(far.executor, 700);
	EQ(f->how, LINK_STOP_TERM);
	EQ(f->grace_ms, 700);
	EQ(g->stops, 1);
	ask(c, "{\"id\":1,\"method\":\"environment/status\"}",
	    "{\"error\":{\"code\":-32600,\"message\":\"the executor is ending\"},\"id\":1}");
	ask(c, TERMINATE(""), "{\"id\":4,\"result\":{\"running\":true}}");
	EQ(f->how, LINK_STOP_KILL);
	d = far_connect("1.2.3.4:7", false);
	OK(d->closing);
	far_end(f, 0, 15);
	EQ(number(c, "params.exitCode"), 143);
	OK(strstr(far_heard(c), "process/closed"));
	OK(!c->closing);
	far_end(g, 0, 15);
	OK(c->closing && !c->closing_now);
	fake_pass(0);
	OK(!far.closed);
	far_close();
}

TEST(the_end_of_an_idle_executor)
{
	far_open(NULL);
	far_close();
}

/* --- many that have ended --- */

/* Starts `count` processes, "q0" and on, that say `size` bytes each and end. */
static void run_many(struct channel *c, int count, size_t size)
{
	char *bytes = calloc(1, 1 << 16);

	for (int i = 0; i < count; i++) {
		far_say(c,
			"{\"id\":1,\"method\":\"process/start\",\"params\":{\"processId\":\"q%d\","
			"\"argv\":[\"x\"],\"cwd\":\"file:///\",\"env\":{},\"tty\":false,"
			"\"pipeStdin\":true}}",
			i);
		far_run(far_link());
		for (size_t said = 0; said < size; said += 1 << 16)
			far_out(far_link(), bytes, 1 << 16);
		far_end(far_link(), 0, 0);
	}
	free(bytes);
}

/* One that ended while its owner was away takes the place of another that is kept. */
TEST(the_oldest_closed_process_is_forgotten_after_a_resume)
{
	struct channel *c;
	struct fake_link *f;
	char session[37];

	far_open(NULL);
	c = far_client("1.2.3.4:5", session);
	f = start(c, START("p", PIPED));
	far_print(f, "one");
	run_many(c, 32, 1 << 20); /* as much as is kept of one owner */
	far_hang_up(c, -ECONNRESET);
	far_print(f, "two");
	far_end(f, 0, 0);
	c = come_back(session, session);
	far_say(c, "{\"method\":\"initialized\"}");
	fake_pass(2001);
	OK(strstr(c->out.data, "process/closed"));
	far_skip(c);
	far_say(c, "{\"id\":1,\"method\":\"process/list\"}");
	far_heard(c);
	OK(!strstr(c->line, "\"q0\"") && strstr(c->line, "\"q1\"") && strstr(c->line, "\"p\""));
	far_close();
}

/* A read that waited for room is answered; what is pushed behind it makes its process give way. */
TEST(read_by_one_that_is_back_and_then_gone)
{
	struct channel *c;
	struct fake_link *f;
	char session[37];

	far_open(NULL);
	c = far_client("1.2.3.4:5", session);
	run_many(c, 32, 1 << 20);
	f = start(c, START("p", PIPED));
	far_hang_up(c, -ECONNRESET);
	far_print(f, "two");
	far_end(f, 0, 0);
	c = come_back(session, session);
	c->slow = true;
	c->unsent = CHANNEL_HIGH;
	far_say(c, "{\"method\":\"initialized\"}");
	for (int i = 0; i < 2; i++)
		far_say(c, "{\"id\":5,\"method\":\"process/read\",\"params\":{\"processId\":\"q0\","
			   "\"afterSeq\":15}}");
	c->slow = false;
	far_drain(c);
	OK(strstr(far_heard(c), "\"result\":{\"chunks\":[{\"seq\":16"));
	OK(strstr(far_heard(c), "\"result\":{\"chunks\":[{\"seq\":16"));
	OK(strstr(c->out.data, "process/closed"));
	far_skip(c);
	far_say(c, "{\"id\":1,\"method\":\"process/list\"}");
	OK(!strstr(far_heard(c), "\"q0\""));
	far_close();
}

/* It is forgotten while its owner, who is back, has not said that it is ready. */
TEST(a_process_is_forgotten_before_its_owner_caught_up)
{
	struct channel *c;
	struct fake_link *f;
	char session[37];

	far_open(NULL);
	c = far_client("1.2.3.4:5", session);
	f = start(c, START("p", ""));
	far_print(f, "one");
	f->link.ev->on_exited(f->link.ctx, 0, 0);
	f->link.ev->on_eof(f->link.ctx);
	f->link.ev->on_stderr_eof(f->link.ctx); /* closed, and something lingers */
	OK(strstr(c->out.data, "process/closed"));
	fake_pass(27000);
	far_hang_up(c, -ECONNRESET);
	fake_pass(1500);
	c = come_back(session, session);
	fake_pass(3000);
	EQ(f->how, LINK_STOP_KILL);
	far_end(f, 0, 0);
	far_say(c, "{\"method\":\"initialized\"}");
	far_say(c, "{\"id\":1,\"method\":\"process/list\"}");
	OK(strstr(far_heard(c), "{\"processes\":[]}"));
	far_close();
}

/* It asked for more time than closed ones are kept. */
TEST(linger_ms_may_exceed_the_retention)
{
	struct channel *c;
	struct fake_link *f;

	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	f = start(c, START("p", ",\"lingerMs\":60000"));
	f->link.ev->on_exited(f->link.ctx, 0, 0);
	f->link.ev->on_eof(f->link.ctx);
	f->link.ev->on_stderr_eof(f->link.ctx);
	OK(strstr(c->out.data, "process/closed"));
	fake_pass(59000);
	EQ(f->stops, 0);
	fake_pass(1001);
	EQ(f->how, LINK_STOP_KILL);
	far_close();
}

/* A client that starts and starts and never reads: what it did not hear of is bounded. */
TEST(unread_ended_processes_are_limited)
{
	struct channel *c;

	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	c->slow = true;
	c->unsent = CHANNEL_HIGH;
	run_many(c, 512, 0);
	far_skip(c);
	far_say(c, START("p", PIPED));
	OK(strstr(far_heard(c), "\"code\":-32600,\"message\":\"too many ended processes "));
	c->slow = false;
	far_drain(c);
	far_skip(c);
	start(c, START("p", PIPED));
	far_close();
}

/* The second call does not wait for those that the first has asked. */
TEST(closed_twice)
{
	struct channel *c, *d;
	struct fake_link *f, *g;

	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	d = far_client("1.2.3.4:6", NULL);
	f = start(c, START("p", PIPED));
	g = start(d, START("p", PIPED));
	far_hang_up(d, 0);
	executor_close(far.executor, 2000);
	EQ(f->how, LINK_STOP_TERM);
	EQ(g->how, LINK_STOP_TERM);
	executor_close(far.executor, 0);
	EQ(f->how, LINK_STOP_KILL);
	EQ(g->how, LINK_STOP_KILL);
	far_close();
}
