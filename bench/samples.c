#include "samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void samples_add(struct samples *s, double value)
{
	if (s->count == s->room) {
		s->room = s->room ? 2 * s->room : 64;
		s->at = realloc(s->at, s->room * sizeof(*s->at));
		if (!s->at) {
			perror("bench: realloc");
			exit(70);
		}
	}
	s->at[s->count++] = value;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double samples_rank(struct samples *s, double part)
{
	size_t i;

	if (!s->count)
		return 0;
	qsort(s->at, s->count, sizeof(*s->at), compare);
	i = (size_t)(part * (double)s->count);
	return s->at[i < s->count ? i : s->count - 1];
}

double samples_median(struct samples *s)
{
	return samples_rank(s, 0.5);
}

double samples_p95(struct samples *s)
{
	return samples_rank(s, 0.95);
}

void samples_done(struct samples *s)
{
	free(s->at);
	*s = (struct samples){ 0 };
}

double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}
