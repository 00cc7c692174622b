/* samples.h - a set of measured numbers and its order statistics.
 *
 * Life: zero value -> samples_add ... -> samples_median / samples_p95 -> samples_done.
 * Threads: one.  Blocking: never.
 */
#pragma once

#include <stddef.h>

struct samples {
	double *at;
	size_t count, room;
};

/* Ends the program when memory is short, because results with missing samples would be wrong. */
void samples_add(struct samples *s, double value);

/* Nearest rank: `part` 0.5 is the median, 0.95 the p95. 0 for an empty set. Sorts in place. */
double samples_rank(struct samples *s, double part);
double samples_median(struct samples *s);
double samples_p95(struct samples *s);

/* May be called on the zero value, and twice. */
void samples_done(struct samples *s);

/* CLOCK_MONOTONIC in microseconds. */
double now_us(void);
