/* lib_crowd.c - 100 servers launched and initialized, then closed; ours are proved gone as well. */
#include "lib.h"

#include "bench.h"

#define CROWD 100

static void table(struct lib *b, const char *title, const char *const *names, size_t count,
		  struct samples *s, int sdk)
{
	report_text(&b->report, "## %s\n\n", title);
	report_table_of(&b->report, "ms",
			&(struct report_rows){ .names = names,
					       .count = count,
					       .base = { 0, sdk },
					       .base_name = { "raw", "SDK" } },
			s);
}

void lib_crowd(struct lib *b)
{
	struct samples up[LIB_TALKERS] = { 0 }, down[LIB_TALKERS] = { 0 };
	const struct talker *t[LIB_TALKERS];
	const char *names[LIB_TALKERS];
	size_t count = lib_talkers(b, t);
	int own = -1, sdk = -1;

	for (size_t i = 0; i < count; i++) {
		names[i] = t[i]->name;
		own = t[i] == &talker_blocking ? (int)i : own;
		sdk = t[i] == &talker_sdk ? (int)i : sdk;
	}
	for (size_t round = 0; round < lib_rounds(b, 12); round++)
		for (size_t k = 0; k < count; k++) {
			size_t i = bench_turn(count, round, k);
			double ms[2];

			if (t[i]->no_crowd)
				continue;
			ms[0] = t[i]->launch(t[i]->state, b, CROWD);
			ms[1] = ms[0] < 0 ? -1 : t[i]->end(t[i]->state);
			if (ms[0] < 0 || ms[1] < 0)
				lib_die(t[i]->name, "cannot launch and close 100 servers");
			samples_add(&up[i], ms[0]);
			samples_add(&down[i], ms[1]);
		}
	table(b, "100 servers launched and initialized", names, count, up, sdk);
	table(b, "100 servers closed; by libkillick proved gone", names, count, down, sdk);
	report_target(&b->report, "100 servers launched and initialized, libkillick / raw", "%.2f",
		      2.5, samples_median(&up[own]) / samples_median(&up[0]));
	if (sdk >= 0)
		report_target(&b->report, "100 servers launched and initialized, libkillick / SDK",
			      "%.2f", 1, samples_median(&up[own]) / samples_median(&up[sdk]));
	else
		report_unjudged(&b->report, "100 servers launched, libkillick / SDK",
				"no SDK here");
	report_target(&b->report, "100 servers closed and proved gone, libkillick / raw", "%.2f", 6,
		      samples_median(&down[own]) / samples_median(&down[0]));
	for (size_t i = 0; i < count; i++) {
		samples_done(&up[i]);
		samples_done(&down[i]);
	}
}
