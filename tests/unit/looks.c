/* looks.c - which keeper is told to look, and for which others its look counts. */
#include "link/looks.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "t.h"

#define COUNT 4

static struct loop *loop;

static struct fake {
	struct looks looks;
	char said[128]; /* words to its keeper, each with a comma behind it */
} fakes[COUNT];

static void fake_say(struct looks *l, const char *word)
{
	struct fake *f = CONTAINER_OF(l, struct fake, looks);
	size_t len = strlen(f->said);

	snprintf(f->said + len, sizeof(f->said) - len, "%s,", word);
}

/* Open the loop, keep its lock, and let `count` links join. */
static void looks_start(int count)
{
	EQ(loop_open(&loop, NULL, NULL, NULL), 0);
	loop_lock(loop);
	for (int i = 0; i < count; i++)
		looks_join(&fakes[i].looks, loop, fake_say);
}

static void looks_finish(void)
{
	for (int i = 0; i < COUNT; i++)
		looks_leave(&fakes[i].looks);
	loop_unlock(loop);
	loop_close(loop);
}

static void promise(int count)
{
	for (int i = 0; i < count; i++)
		OK(looks_promise(&fakes[i].looks));
}

static void ask(int first, int last)
{
	for (int i = first; i <= last; i++)
		looks_ask(&fakes[i].looks);
}

/* How many keepers were told this, and nothing else. */
static int told(const char *words)
{
	int n = 0;

	for (int i = 0; i < COUNT; i++)
		n += strcmp(fakes[i].said, words) == 0;
	return n;
}

static int leader(void)
{
	for (int i = 0; i < COUNT; i++)
		if (fakes[i].looks.state == LOOKS_LEADS)
			return i;
	FAIL("nobody was told to look");
	return 0;
}

TEST(one_keeper_looks_when_all_have_asked)
{
	looks_start(COUNT);
	promise(COUNT);
	ask(0, COUNT - 2);
	EQ(told(""), COUNT);
	ask(COUNT - 1, COUNT - 1);
	EQ(told("look,"), 1);
	EQ(told(""), COUNT - 1);
	looks_answer(&fakes[leader()].looks, "0 pid:[1]");
	EQ(told("clear 0 pid:[1],"), COUNT - 1);
	EQ(told("look,"), 1);
	looks_finish();
}

TEST(a_link_that_is_alone_asks_nobody)
{
	looks_start(1);
	OK(!looks_promise(&fakes[0].looks));
	looks_ask(&fakes[0].looks);
	EQ(told(""), COUNT);
	looks_finish();
}

TEST(links_of_another_loop_are_no_company)
{
	struct loop *other;

	looks_start(1);
	EQ(loop_open(&other, NULL, NULL, NULL), 0);
	looks_join(&fakes[1].looks, other, fake_say);
	OK(!looks_promise(&fakes[0].looks));
	looks_leave(&fakes[1].looks);
	loop_close(other);
	looks_finish();
}

TEST(a_look_does_not_count_for_a_keeper_that_asked_later)
{
	looks_start(COUNT);
	promise(COUNT - 1);
	ask(0, COUNT - 2);
	OK(looks_promise(&fakes[COUNT - 1].looks));
	ask(COUNT - 1, COUNT - 1);
	STREQ(fakes[COUNT - 1].said, "");
	looks_answer(&fakes[leader()].looks, "who");
	STREQ(fakes[COUNT - 1].said, "look,");
	EQ(told("clear who,"), COUNT - 2);
	looks_finish();
}

TEST(each_keeper_looks_when_the_first_one_ends_without_an_answer)
{
	looks_start(COUNT);
	promise(COUNT);
	ask(0, COUNT - 1);
	looks_leave(&fakes[leader()].looks);
	EQ(told("look,"), COUNT);
	looks_finish();
}

TEST(a_link_that_ends_without_asking_is_not_waited_for)
{
	looks_start(COUNT);
	promise(COUNT);
	ask(0, COUNT - 2);
	EQ(told(""), COUNT);
	looks_leave(&fakes[COUNT - 1].looks);
	EQ(told("look,"), 1);
	looks_finish();
}

TEST(a_keeper_that_does_not_ask_is_waited_for_20_ms)
{
	looks_start(2);
	promise(2);
	ask(0, 0);
	STREQ(fakes[0].said, "");
	for (int i = 0; i < 4000 && !fakes[0].said[0]; i++) {
		loop_unlock(loop);
		poll(NULL, 0, 2);
		loop_lock(loop);
	}
	STREQ(fakes[0].said, "look,");
	looks_finish();
}

TEST(an_answer_of_a_keeper_that_was_not_told_to_look_counts_for_nobody)
{
	looks_start(COUNT);
	promise(COUNT);
	ask(0, COUNT - 1);
	looks_answer(&fakes[(leader() + 1) % COUNT].looks, "who");
	EQ(told("look,"), 1);
	EQ(told(""), COUNT - 1);
	looks_finish();
}
