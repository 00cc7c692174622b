/* executor_retention.c - what all processes together may keep of their output. */
#include "executor/executor_internal.h"
#include "unit/executor_talk.h"

#define LIMIT (4u << 20)
#define SOME  100000u /* bytes that are said at once */

static const struct executor_options few = { .max_output = LIMIT };
static char some[SOME];

static size_t kept(void)
{
	return far.executor->retention.bytes;
}

/* One read of each process may be more; memory grows in steps. */
static void is_bounded(int processes)
{
	if (kept() > LIMIT + (size_t)processes * 4 * SOME)
		FAIL("%zu bytes are kept", kept());
}

static struct fake_link *start_number(struct channel *c, int i)
{
	char text[300];

	snprintf(
		text, sizeof(text),
		"{\"id\":7,\"method\":\"process/start\",\"params\":{\"processId\":\"p%d\",\"argv\":"
		"[\"/bin/x\"],\"cwd\":\"file:///"
		"tmp\",\"env\":{},\"tty\":false,\"pipeStdin\":true}}",
		i);
	return start(c, text);
}

/* Drop what it was sent. */
static void skip(struct channel *c)
{
	while (*far_heard(c))
		;
}

static long long first_seq(struct channel *c, int i)
{
	far_say(c,
		"{\"id\":3,\"method\":\"process/read\",\"params\":{\"processId\":\"p%d\","
		"\"afterSeq\":0,\"maxBytes\":1}}",
		i);
	return number(c, "result.chunks.0.seq");
}

/* An owner that reads: what it was told longest ago gives way, processes never wait. */
TEST(output_that_was_pushed_longest_ago_is_freed_first)
{
	struct channel *c;

	far_open(&few);
	c = far_client("1.2.3.4:5", NULL);
	for (int i = 0; i < 40; i++) {
		struct fake_link *f = start_number(c, i);

		for (int k = 0; k < 5; k++) {
			far_out(f, some, SOME);
			OK(!f->paused);
		}
		skip(c);
		is_bounded(1);
	}
	EQ(first_seq(c, 0), -1); /* nothing is left of the first */
	EQ(first_seq(c, 39), 1); /* the last may be on its way: all of it is here */
	far_say(c, "{\"id\":3,\"method\":\"process/read\",\"params\":{\"processId\":\"p0\"}}");
	far_heard(c); /* the numbers go on */
	OK(strstr(c->line, "\"chunks\":[]") && strstr(c->line, "\"nextSeq\":"));
	far_close();
}

/* Nobody reads: processes wait when memory is short, and nothing is lost. */
TEST(processes_wait_when_no_output_can_be_freed)
{
	struct fake_link *f[40];
	size_t said = 0, got = 0;
	struct channel *c;
	char session[37];
	int paused = 0;

	far_open(&few);
	c = far_client("1.2.3.4:5", session);
	for (int i = 0; i < 40; i++)
		f[i] = start_number(c, i);
	skip(c);
	far_hang_up(c, -ECONNRESET);
	for (int k = 0; k < 4; k++) {
		for (int i = 0; i < 40; i++) {
			if (f[i]->paused)
				continue;
			far_out(f[i], some, SOME);
			said += SOME;
		}
	}
	for (int i = 0; i < 40; i++)
		paused += f[i]->paused;
	OK(paused >= 30);
	OK(said < 40u * 2 * SOME + LIMIT);
	is_bounded(40);
	OK(strstr(far.log.data, "event=short-of-memory"));
	c = come_back(session, "\"sessionId\"");
	far_say(c, "{\"method\":\"initialized\",\"params\":{}}");
	fake_pass(3000); /* it does not ask for what it missed: all that is due is pushed */
	while (*far_heard(c)) {
		const char *chunk = strstr(c->line, "\"chunk\":\"");

		if (chunk)
			got += (strcspn(chunk + 9, "\"=") * 3) / 4;
	}
	EQ(got, said);
	fake_pass(40000); /* it has arrived for certain: now it may give way, and all go on */
	for (int i = 0; i < 40; i++)
		OK(!f[i]->paused);
	far_close();
}

/* Others wait for one that is away no longer than its lease. */
TEST(the_end_of_a_lease_makes_room)
{
	struct fake_link *f[30], *mine;
	struct channel *c, *other;

	far_open(&few);
	c = far_client("1.2.3.4:5", NULL);
	for (int i = 0; i < 30; i++)
		f[i] = start_number(c, i);
	far_hang_up(c, -ECONNRESET);
	for (int k = 0; k < 3; k++)
		for (int i = 0; i < 30; i++)
			if (!f[i]->paused)
				far_out(f[i], some, SOME);
	other = far_client("1.2.3.4:6", NULL);
	other->answers_pings = true;
	mine = start(other, START("p", PIPED));
	far_out(mine, some, SOME);
	OK(mine->paused);
	skip(other);
	fake_pass(WIRE_LEASE_MS + 1000);
	OK(!mine->paused);
	EQ(f[0]->stops, 1);
	far_close();
}

/* What may be on its way is kept, whatever else wants memory; a resumed owner finds it. */
TEST(output_in_transit_is_not_freed)
{
	struct fake_link *f;
	struct channel *c, *other;
	char session[37];

	far_open(&few);
	c = far_client("1.2.3.4:5", session);
	f = start_number(c, 0);
	for (int k = 0; k < 6; k++) /* less than WIRE_PUSHED_BYTES */
		far_out(f, some, SOME);
	skip(c);
	far_hang_up(c, -ECONNRESET);
	other = far_client("1.2.3.4:6", NULL);
	for (int i = 1; i < 30; i++) {
		f = start_number(other, i);
		for (int k = 0; k < 4; k++)
			far_out(f, some, SOME);
		skip(other);
	}
	is_bounded(30);
	c = come_back(session, "\"sessionId\"");
	far_say(c, "{\"method\":\"initialized\",\"params\":{}}");
	EQ(first_seq(c, 0), 1);
	far_close();
}
