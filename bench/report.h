/* report.h - the page the benchmark prints: a header, the targets with met or missed, then a table
 * per measure.
 *
 * Life: report_open -> report_text / report_table / report_target ... -> report_print (once).
 * The body is kept until the end because the page begins with the verdicts.
 * Threads: one.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "peer.h"
#include "samples.h"

struct report {
	FILE *body, *targets;
	char *body_text, *targets_text;
	size_t body_len, targets_len;
	int missed;
};

void report_open(struct report *r);

/* Add Markdown text unchanged. */
void report_text(struct report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* One row per peer that has samples: median, p95, n, and the medians' ratio to bare and to tini. */
void report_table(struct report *r, const char *unit, const struct peers *p, struct samples *s);

/* The same for any set of rows, with ratios to two of them; -1: no such row. */
struct report_rows {
	const char *const *names;
	size_t count;
	int base[2];
	const char *base_name[2];
};
void report_table_of(struct report *r, const char *unit, const struct report_rows *rows,
		     struct samples *s);

/* One line of the verdicts. `bound` and `value` are printed with `fmt`, a printf format for one
 * double. */
void report_target(struct report *r, const char *what, const char *fmt, double bound, double value);
/* The same for a number that must not be smaller; marked as such. */
void report_floor(struct report *r, const char *what, const char *fmt, double bound, double value);

/* A target that could not be judged here, and why. Counts as missed, so that a missing measurement
 * does not look like success. */
void report_unjudged(struct report *r, const char *what, const char *why);

/* Print the page to `out`, `header` first. Returns the number of targets missed. */
int report_print(struct report *r, FILE *out, const char *header);
