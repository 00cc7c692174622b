/* lib_talk.c - calls through each client: one in flight, and many. On one CPU, where a switch costs
 * the same for everybody, and as they come on all CPUs, where it depends on where the scheduler has
 * put client and server, and may be ten times as much for either (see talk.c). */
#include "lib.h"

#include <sched.h>
#include <stdio.h>

#include "bench.h"

#define TARGETS 3

struct case_ {
	const char *title;
	struct burst burst;
	size_t rounds;
	struct {
		const char *what;
		const struct talker *own, *base;
		double floor; /* calls per second, own / base, at least */
	} target[TARGETS];
};

static const struct case_ cases[] = {
	{ "One call of 100 B in flight",
	  { 100, 200, 1 },
	  60,
	  { { "one call in flight, 100 B, calls/s, libkillick / raw", &talker_blocking, &talker_raw,
	      0.80 },
	    { "one call in flight, 100 B, calls/s, host's loop / raw", &talker_host_loop,
	      &talker_raw, 0.60 } } },
	{ "One call of 64 KiB in flight",
	  { 65536, 50, 1 },
	  30,
	  { { "one call in flight, 64 KiB, calls/s, libkillick / raw", &talker_blocking,
	      &talker_raw, 0.60 } } },
	{ "64 calls of 100 B in flight",
	  { 100, 6400, 64 },
	  30,
	  { { "64 in flight, 100 B, calls/s, libkillick / raw", &talker_callback, &talker_raw,
	      0.45 },
	    { "64 in flight, 100 B, calls/s, host's loop / raw", &talker_host_loop, &talker_raw,
	      0.40 },
	    { "64 in flight, 100 B, calls/s, libkillick / SDK", &talker_callback, &talker_sdk,
	      10 } } },
	{ "64 calls of 64 KiB in flight",
	  { 65536, 256, 64 },
	  20,
	  { { "64 in flight, 64 KiB, calls/s, libkillick / raw", &talker_callback, &talker_raw,
	      0.75 } } },
};

static int index_of(const struct talker *const *t, size_t count, const struct talker *which)
{
	for (size_t i = 0; i < count; i++)
		if (t[i] == which)
			return (int)i;
	return -1;
}

static void judge(struct lib *b, const struct case_ *c, const struct talker *const *t, size_t count,
		  struct samples *s)
{
	for (size_t k = 0; k < TARGETS && c->target[k].what; k++) {
		int own = index_of(t, count, c->target[k].own);
		int base = index_of(t, count, c->target[k].base);

		if (base < 0)
			report_unjudged(&b->report, c->target[k].what, "no SDK here");
		else
			report_floor(&b->report, c->target[k].what, "%.2f", c->target[k].floor,
				     samples_median(&s[base]) / samples_median(&s[own]));
	}
}

static void talk(struct lib *b, const struct case_ *c, const struct talker *const *t, size_t count,
		 bool judged)
{
	struct samples s[LIB_TALKERS] = { 0 };
	const char *names[LIB_TALKERS];

	for (size_t round = 0; round < lib_rounds(b, c->rounds); round++)
		for (size_t k = 0; k < count; k++) {
			size_t i = bench_turn(count, round, k);
			double us;

			if (t[i]->one_only && c->burst.window > 1)
				continue;
			us = t[i]->burst(t[i]->state, &c->burst);
			if (us < 0)
				lib_die(t[i]->name, "a call failed");
			if (round > 0) /* the first is for getting warm */
				samples_add(&s[i], us / (double)c->burst.count);
		}
	for (size_t i = 0; i < count; i++)
		names[i] = t[i]->name;
	report_text(&b->report, "### %s\n\n", c->title);
	report_table_of(&b->report, "µs per call",
			&(struct report_rows){
				.names = names,
				.count = count,
				.base = { 0, index_of(t, count, &talker_sdk) },
				.base_name = { "raw", "SDK" },
			},
			s);
	if (judged)
		judge(b, c, t, count, s);
	for (size_t i = 0; i < count; i++)
		samples_done(&s[i]);
}

static void talk_all(struct lib *b, const char *where, bool judged)
{
	const struct talker *t[LIB_TALKERS];
	size_t count = lib_talkers(b, t);

	for (size_t i = 0; i < count; i++)
		if (!t[i]->start(t[i]->state, b))
			lib_die(t[i]->name, "does not start");
	report_text(&b->report,
		    "## Calls, %s\n\nA tool that answers its text. Medians of bursts.\n\n", where);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		talk(b, &cases[i], t, count, judged);
	for (size_t i = 0; i < count; i++)
		t[i]->stop(t[i]->state);
}

void lib_talk(struct lib *b)
{
	cpu_set_t before;

	bench_pin(&before);
	talk_all(b, "on one CPU", true);
	sched_setaffinity(0, sizeof(before), &before);
	talk_all(b, "on all CPUs", false);
}
