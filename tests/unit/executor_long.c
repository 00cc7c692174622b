/* executor_long.c - messages that are read by a thread: in order, once, and nobody else waits. */
#include <poll.h>

#include "unit/executor_talk.h"

#define LONG (1u << 20)

/* A write of so many zeros to p, and of "AAA" (which is 0, 0, 0) at its end. */
static char *long_write(size_t base64, const char *id)
{
	struct buf b = BUF_INIT(BUF_ANY_SIZE);

	buf_addf(&b,
		 "{\"id\":\"%s\",\"method\":\"process/write\",\"params\":{\"processId\":\"p\","
		 "\"writeId\":\"%s\",\"chunk\":\"",
		 id, id);
	for (size_t i = 0; i < base64; i += 4)
		buf_adds(&b, "QUJD"); /* ABC */
	buf_adds(&b, "\"}}");
	return buf_take(&b);
}

static void say_and_leave(struct channel *c, const char *text)
{
	far_say_and_leave(c, text, strlen(text));
}

static void say_long_and_leave(struct channel *c, const char *id)
{
	char *text = long_write(LONG, id);

	say_and_leave(c, text);
	free(text);
}

static void until_read(struct channel *c)
{
	while (c->paused)
		OK(far_await_thread());
}

static struct fake_link *begin(struct channel **c, char *session)
{
	far_open(NULL);
	*c = far_client("1.2.3.4:5", session);
	return start(*c, START("p", PIPED));
}

TEST(others_are_answered_while_a_long_message_is_read)
{
	struct channel *c, *other;
	struct fake_link *f = begin(&c, NULL);

	f->limit = 4u << 20;
	other = far_client("1.2.3.4:6", NULL);
	say_long_and_leave(c, "w");
	OK(c->paused);
	EQ(f->in.len, 0);
	ask(other, "{\"id\":3,\"method\":\"environment/status\"}",
	    "{\"id\":3,\"result\":{\"status\":\"ready\"}}");
	STREQ(far_heard(c), "");
	until_read(c);
	EQ(f->in.len, LONG / 4 * 3);
	EQ(memcmp(f->in.data, "ABCABC", 6), 0);
	STREQ(far_heard(c), "{\"id\":\"w\",\"result\":{\"status\":\"accepted\"}}");
	far_close();
}

/* What came behind it waits for it; another long one among that, too. */
TEST(messages_behind_a_long_one_keep_their_order)
{
	struct channel *c;
	struct fake_link *f = begin(&c, NULL);

	f->limit = 4u << 20;
	say_long_and_leave(c, "1");
	say_and_leave(c, "{\"id\":2,\"method\":\"process/write\",\"params\":{\"processId\":\"p\","
			 "\"writeId\":\"2\",\"chunk\":\"eHl6\"}}");
	say_long_and_leave(c, "3");
	say_and_leave(c, "{\"id\":4,\"method\":\"environment/status\"}");
	STREQ(far_heard(c), "");
	until_read(c);
	OK(strstr(far_heard(c), "\"1\""));
	OK(strstr(far_heard(c), "\"id\":2"));
	OK(strstr(far_heard(c), "\"3\""));
	OK(strstr(far_heard(c), "\"id\":4"));
	EQ(f->in.len, 2 * (LONG / 4 * 3) + 3);
	EQ(memcmp(f->in.data + LONG / 4 * 3, "xyzABC", 6), 0);
	far_close();
}

/* A client that writes much, ends the process and goes. */
TEST(last_words_behind_a_long_message_are_heard)
{
	struct channel *c;
	struct fake_link *f = begin(&c, NULL);

	f->limit = 4u << 20;
	say_long_and_leave(c, "1");
	say_and_leave(c, TERMINATE(""));
	far_hang_up(c, 0);
	EQ(f->stops, 0);
	while (!f->stops)
		OK(far_await_thread());
	EQ(f->in.len, LONG / 4 * 3);
	far_close();
}

/* Its owner is back on another connection before the thread is. */
TEST(an_owner_comes_back_while_its_long_message_is_read)
{
	char session[37];
	struct channel *c, *again;
	struct fake_link *f = begin(&c, session);

	f->limit = 4u << 20;
	say_long_and_leave(c, "1");
	far_hang_up(c, -ECONNRESET);
	again = come_back(session, "\"sessionId\"");
	far_say(again, "{\"method\":\"initialized\",\"params\":{}}");
	OK(far_await_thread()); /* what it said on the old one is of no interest */
	EQ(f->in.len, 0);
	ask(again, "{\"id\":3,\"method\":\"environment/status\"}",
	    "{\"id\":3,\"result\":{\"status\":\"ready\"}}");
	far_close();
}

TEST(the_executor_ends_while_a_long_message_is_read)
{
	struct channel *c;

	begin(&c, NULL);
	say_long_and_leave(c, "1");
	executor_close(far.executor, 0);
	OK(far_await_thread());
	far_close();
}

/* Only what can need it may be long. */
TEST(long_messages_that_are_refused)
{
	struct buf b = BUF_INIT(BUF_ANY_SIZE);
	struct channel *c;
	size_t head;

	begin(&c, NULL);
	buf_adds(&b, "{\"id\":1,\"method\":\"environment/status\",\"params\":{\"x\":\"");
	head = b.len;
	for (size_t i = 0; i < LONG; i += 16)
		buf_adds(&b, "0123456789abcdef");
	buf_adds(&b, "\"}}");
	far_say_bytes(c, b.data, b.len);
	OK(strstr(far_heard(c), "a message for environment/status has at most 131072 bytes"));
	far_say_bytes(c, b.data, b.len - 1);
	OK(strstr(far_heard(c), "failed to parse JSON-RPC message"));
	EQ(number(c, "id"), -1);
	memcpy(b.data + head - 40, "process/nothing", 15);
	far_say_bytes(c, b.data, b.len);
	far_heard(c);
	OK(strstr(c->line, "error"));
	buf_reset(&b, 0);
	buf_adds(&b, "{\"method\":\"initialized\",\"params\":{\"x\":\"");
	for (size_t i = 0; i < LONG; i += 16)
		buf_adds(&b, "0123456789abcdef");
	buf_adds(&b, "\"}}");
	far_say_and_leave(c, b.data, b.len);
	OK(far_await_thread());
	OK(c->closing);
	OK(strstr(far.log.data, "a long message that is not a request"));
	buf_done(&b);
	far_close();
}

/* More than the process takes: it waits, and is not copied; what does not fit is refused. */
TEST(a_long_write_waits_for_the_process)
{
	const size_t size = 12u << 20;
	struct channel *c;
	struct fake_link *f = begin(&c, NULL);
	char *text = long_write(size / 3 * 4, "1");

	f->stuck = true;
	far_say_bytes(c, text, strlen(text));
	STREQ(far_heard(c), "");
	free(text);
	while (f->in.len < size)
		far_reads(f);
	STREQ(far_heard(c), "{\"id\":\"1\",\"result\":{\"status\":\"accepted\"}}");
	EQ(memcmp(f->in.data + size - 6, "ABCABC", 6), 0);
	far_close();
}
