/* lib_cases.c - runs bursts of calls through all clients, interleaved, and judges the targets. */
#include "lib.h"

#include "bench.h"

static int index_of(const struct talker *const *t, size_t count, const struct talker *which)
{
	for (size_t i = 0; i < count; i++)
		if (t[i] == which)
			return (int)i;
	return -1;
}

static void judge(struct lib *b, const struct talk_case *c, const struct talk *t, struct samples *s)
{
	for (size_t k = 0; k < TALK_TARGETS && c->target[k].what; k++) {
		const char *what = c->target[k].what;
		int own = index_of(t->talkers, t->count, c->target[k].own);
		int base = index_of(t->talkers, t->count, c->target[k].base);
		double us = own < 0 ? 0 : samples_median(&s[own]);

		if (own >= 0 && !c->target[k].base)
			report_floor(&b->report, what, "%.0f", c->target[k].floor, 1e6 / us);
		else if (own < 0 || base < 0)
			report_unjudged(&b->report, what, "no such peer here");
		else if (c->target[k].ceiling > 0)
			report_target(&b->report, what, "%.2f", c->target[k].ceiling,
				      us / samples_median(&s[base]));
		else
			report_floor(&b->report, what, "%.2f", c->target[k].floor,
				     samples_median(&s[base]) / us);
	}
}

static void talk(struct lib *b, const struct talk_case *c, const struct talk *t, bool judged)
{
	struct samples s[LIB_TALKERS] = { 0 };
	const char *names[LIB_TALKERS];

	for (size_t round = 0; round < lib_rounds(b, c->rounds); round++)
		for (size_t k = 0; k < t->count; k++) {
			size_t i = bench_turn(t->count, round, k);
			const struct talker *one = t->talkers[i];
			struct burst burst = c->burst;
			double us;

			if (one->one_only && burst.window > 1)
				continue;
			if (one->slower > 1 && burst.count / one->slower > burst.window)
				burst.count /= one->slower;
			us = one->burst(one->state, &burst);
			if (us < 0)
				lib_die(one->name, "a call failed");
			if (round > 0) /* the first is for getting warm */
				samples_add(&s[i], us / (double)burst.count);
		}
	for (size_t i = 0; i < t->count; i++)
		names[i] = t->talkers[i]->name;
	report_text(&b->report, "### %s\n\n", c->title);
	report_table_of(&b->report, "µs per call",
			&(struct report_rows){
				.names = names,
				.count = t->count,
				.base = { 0, index_of(t->talkers, t->count, t->second) },
				.base_name = { "raw", t->second_name },
			},
			s);
	if (judged)
		judge(b, c, t, s);
	for (size_t i = 0; i < t->count; i++)
		samples_done(&s[i]);
}

void lib_talk_run(struct lib *b, const struct talk *t, const char *where, bool judged)
{
	for (size_t i = 0; i < t->count; i++)
		if (!t->talkers[i]->start(t->talkers[i]->state, b))
			lib_die(t->talkers[i]->name, "does not start");
	report_text(&b->report,
		    "## Calls, %s\n\nA tool that answers its text. Medians of bursts.\n\n", where);
	for (size_t i = 0; i < t->case_count; i++)
		talk(b, &t->cases[i], t, judged);
	for (size_t i = 0; i < t->count; i++)
		t->talkers[i]->stop(t->talkers[i]->state);
}
