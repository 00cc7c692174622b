/* tally.c - counts of calls, quantiles of their latency, and the last calls. */
#include "session/tally.h"

#include <stdio.h>
#include <string.h>

#include "t.h"

static void add(struct tally *t, struct tally_lease *tl, int64_t us, const char *name, bool ok)
{
	tally_add(t, tl,
		  &(struct tally_note){ .session = 7,
					.label = "agent",
					.name = name,
					.began_us = 1000,
					.ended_us = 1000 + us,
					.ok = ok });
}

TEST(calls_and_errors_are_counted)
{
	struct tally t = { .calls = 0 };
	struct tally_lease a = { .calls = 0 }, b = { .calls = 0 };

	EQ(tally_quantile(&t, 0.5), 0);
	OK(!tally_recent(&t, 0));
	add(&t, &a, 10, "x", true);
	add(&t, &a, 10, "x", false);
	add(&t, &b, 10, "x", true);
	EQ(t.calls, 3);
	EQ(t.errors, 1);
	EQ(a.calls, 2);
	EQ(a.errors, 1);
	EQ(b.errors, 0);
	EQ(t.last_us, 1010);
}

TEST(quantiles_are_exact_within_a_fifth)
{
	for (int64_t us = 1; us < INT64_C(60000000000); us = us * 7 / 5 + 1) {
		struct tally t = { .calls = 0 };
		struct tally_lease a = { .calls = 0 };
		double ms = (double)us / 1000, p50, p99;

		for (int i = 0; i < 98; i++)
			add(&t, &a, us, "x", true);
		add(&t, &a, 20 * us, "x", true);
		add(&t, &a, 20 * us, "x", true);
		p50 = tally_quantile(&t, 0.5);
		p99 = tally_quantile(&t, 0.99);
		OK(p50 >= 0.8 * ms && p50 <= 1.2 * ms);
		OK(us > INT64_C(3000000000) || (p99 >= 16 * ms && p99 <= 24 * ms));
	}
}

TEST(the_last_calls_come_newest_first_with_their_names_cut)
{
	struct tally t = { .calls = 0 };
	struct tally_lease a = { .calls = 0 };
	char name[64];

	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "tool-%d", i);
		add(&t, &a, 2500, name, i % 2 == 0);
	}
	for (size_t i = 0; i < TALLY_RECENT; i++) {
		const struct tally_call *c = tally_recent(&t, i);

		snprintf(name, sizeof(name), "tool-%zu", 49 - i);
		STREQ(c->name, name);
		STREQ(c->label, "agent");
		EQ(c->session, 7);
		OK(c->ms == 2.5 && c->ok == (i % 2 == 1));
	}
	OK(!tally_recent(&t, TALLY_RECENT));
	/* not in the middle of a character */
	memset(name, 'a', 46);
	memcpy(name + 46, "\xc3\xa4\xc3\xa4", 5);
	add(&t, &a, 1, name, true);
	EQ(strlen(tally_recent(&t, 0)->name), 46);
}
