/* bench-json - what the check of a message costs, next to yyjson.
 *
 *	bench-json [--percent N] [--only WORD] [--versions TEXT] [--killick X] [--echo X]
 *
 * Each text is checked whole by killick's reader, as every message of a server is, and read by
 * yyjson (and freed). All readers take turns, in another order each round. The ratio is that of the
 * medians, to the yyjson that is the fastest for that text. --only: texts whose title has WORD.
 * --killick and --echo are what bench/run gives to every part; they mean nothing here.
 */
#include "json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "bench.h"

enum { READERS = 2 + JSON_YYJSONS, ROUNDS = 400 };

static bool check_plain(const char *text, size_t len)
{
	struct json v;

	return json_check(text, len, 0, &v, NULL) == 0;
}

static void json_bench_member(void *ctx, unsigned depth, struct json key, struct json value)
{
	size_t *sum = ctx;

	(void)depth;
	*sum += key.len + value.len;
}

static bool check_members(const char *text, size_t len)
{
	struct json v;
	size_t sum = 0;

	return json_check_members(text, len, 0, json_bench_member, &sum, &v, NULL) == 0 && sum;
}

/* Nanoseconds of one check. */
static double time_reader(const struct json_reader *r, const struct json_text *t)
{
	double t0 = now_us();

	for (size_t i = 0; i < t->repeat; i++)
		if (!r->check(t->at, t->len)) {
			fprintf(stderr, "bench: %s refuses: %s\n", r->name, t->title);
			exit(1);
		}
	return (now_us() - t0) * 1000 / (double)t->repeat;
}

static size_t fastest(struct samples *s, size_t from, size_t count)
{
	size_t best = from;

	for (size_t i = from + 1; i < count; i++)
		if (samples_median(&s[i]) < samples_median(&s[best]))
			best = i;
	return best;
}

/* The table of a text, the spread of its ratio, and its verdict. */
static void report_check(struct report *r, const struct json_text *t, const struct json_reader *rd,
			 size_t count, double *rounds, size_t n, struct samples *s)
{
	size_t peer = fastest(s, 2, count);
	struct samples ratio = { 0 };
	const char *names[READERS];

	for (size_t i = 0; i < count; i++)
		names[i] = rd[i].name;
	report_text(r, "## %s\n\n%zu bytes.\n\n", t->title, t->len);
	report_table_of(r, "ns",
			&(struct report_rows){ .names = names,
					       .count = count,
					       .base = { (int)peer, 2 },
					       .base_name = { "fastest yyjson", rd[2].name } },
			s);
	for (size_t i = 0; i < n; i++)
		samples_add(&ratio, rounds[i * READERS] / rounds[i * READERS + peer]);
	report_text(r, "killick / %s, round by round: median %.2f, p5 %.2f, p95 %.2f.\n\n",
		    rd[peer].name, samples_median(&ratio), samples_rank(&ratio, 0.05),
		    samples_p95(&ratio));
	if (t->judged)
		report_target(r, t->judged, "%.2f", t->bound,
			      samples_median(&s[0]) / samples_median(&s[peer]));
	samples_done(&ratio);
}

static void measure(struct report *r, const struct json_text *t, const struct json_reader *rd,
		    size_t count, size_t rounds)
{
	struct samples s[READERS] = { 0 };
	double *all = calloc(rounds * READERS, sizeof(*all));

	for (size_t round = 0; all && round < rounds; round++)
		for (size_t k = 0; k < count; k++) {
			size_t i = bench_turn(count, round, k);

			all[round * READERS + i] = time_reader(&rd[i], t);
			samples_add(&s[i], all[round * READERS + i]);
		}
	if (all)
		report_check(r, t, rd, count, all, rounds, s);
	for (size_t i = 0; i < count; i++)
		samples_done(&s[i]);
	free(all);
}

static void measure_all(const char *versions, const char *only, size_t percent)
{
	size_t rounds = ROUNDS * percent / 100 < 3 ? 3 : ROUNDS * percent / 100;
	struct json_reader rd[READERS] = { { "killick", check_plain },
					   { "killick, members told", check_members } };
	size_t count = 2 + json_yyjson(rd + 2);
	struct json_text texts[JSON_TEXTS];
	struct report report;
	char header[512];
	double load = 0;

	getloadavg(&load, 1);
	report_open(&report);
	for (size_t i = 0, n = json_texts(texts); i < n; i++)
		if (!only || strstr(texts[i].title, only))
			measure(&report, &texts[i], rd, count, rounds);
	snprintf(header, sizeof(header),
		 "# Benchmarks of the JSON check\n\nLoad %.1f before; %s, compiled by %s; yyjson "
		 "%s. "
		 "All readers take turns on one CPU. Ratios are of medians, to the form of yyjson "
		 "that is the fastest for the text.\n",
		 load, versions ? versions : "killick", __VERSION__, json_yyjson_version());
	report_print(&report, stdout, header);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "percent", required_argument, NULL, 'c' },
		{ "only", required_argument, NULL, 'o' },
		{ "versions", required_argument, NULL, 'v' },
		{ "killick", required_argument, NULL, 'k' },
		{ "echo", required_argument, NULL, 'e' },
		{ NULL, 0, NULL, 0 },
	};
	const char *text[128] = { NULL };
	cpu_set_t before;

	if (!bench_options(argc, argv, options, text)) {
		fprintf(stderr,
			"usage: bench-json [--percent N] [--only WORD] [--versions TEXT]\n");
		return 64;
	}
	if (!json_yyjson_version()) {
		puts("# Benchmarks of the JSON check\n\nNot measured: libyyjson-dev was not there "
		     "when this was built (bench/run says how to get it).\n");
		return 0;
	}
	bench_pin(&before);
	measure_all(text['v'], text['o'], text['c'] ? strtoul(text['c'], NULL, 10) : 100);
	return 0;
}
