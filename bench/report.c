#include "report.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

void report_open(struct report *r)
{
	*r = (struct report){ 0 };
	r->body = open_memstream(&r->body_text, &r->body_len);
	r->targets = open_memstream(&r->targets_text, &r->targets_len);
	if (!r->body || !r->targets) {
		perror("bench: open_memstream");
		exit(70);
	}
}

void report_text(struct report *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(r->body, fmt, ap);
	va_end(ap);
}

static void ratio(FILE *f, double value, double base)
{
	if (base > 0)
		fprintf(f, " %.2f |", value / base);
	else
		fprintf(f, " |");
}

void report_table_of(struct report *r, const char *unit, const struct report_rows *rows,
		     struct samples *s)
{
	double base[2];

	fprintf(r->body, "| | median %s | p95 %s | n |", unit, unit);
	for (int k = 0; k < 2; k++) {
		base[k] = rows->base[k] >= 0 ? samples_median(&s[rows->base[k]]) : 0;
		fprintf(r->body, " x %s |", rows->base_name[k]);
	}
	fprintf(r->body, "\n|---|--:|--:|--:|--:|--:|\n");
	for (size_t i = 0; i < rows->count; i++) {
		double m = samples_median(&s[i]);
		int digits = m < 10 ? 2 : m < 1000 ? 1 : 0;

		if (!s[i].count)
			continue;
		fprintf(r->body, "| %s | %.*f | %.*f | %zu |", rows->names[i], digits, m, digits,
			samples_p95(&s[i]), s[i].count);
		ratio(r->body, m, base[0]);
		ratio(r->body, m, base[1]);
		fprintf(r->body, "\n");
	}
	fprintf(r->body, "\n");
}

void report_table(struct report *r, const char *unit, const struct peers *p, struct samples *s)
{
	const char *names[PEER_MAX];
	struct report_rows rows = { .names = names,
				    .count = p->count,
				    .base = { peer_named(p, "bare"), peer_named(p, "tini") },
				    .base_name = { "bare", "tini" } };

	for (size_t i = 0; i < p->count; i++)
		names[i] = p->at[i].name;
	report_table_of(r, unit, &rows, s);
}

static void verdict(struct report *r, const char *what, const char *fmt, const char *kind,
		    double bound, double value, bool met)
{
	char a[64], b[64];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(a, sizeof(a), fmt, bound);
	snprintf(b, sizeof(b), fmt, value);
#pragma GCC diagnostic pop
	fprintf(r->targets, "| %s | %s%s | %s | %s |\n", what, kind, a,
		isinf(value) ? "escapes" : b, met ? "met" : "**missed**");
	r->missed += !met;
}

void report_target(struct report *r, const char *what, const char *fmt, double bound, double value)
{
	verdict(r, what, fmt, "", bound, value, value <= bound); /* INFINITY: it never ended */
}

void report_floor(struct report *r, const char *what, const char *fmt, double bound, double value)
{
	verdict(r, what, fmt, "at least ", bound, value, value >= bound);
}

void report_unjudged(struct report *r, const char *what, const char *why)
{
	fprintf(r->targets, "| %s | | %s | **not judged** |\n", what, why);
	r->missed++;
}

int report_print(struct report *r, FILE *out, const char *header)
{
	fclose(r->body);
	fclose(r->targets);
	fprintf(out, "%s\n## Targets\n\n| | at most | measured | |\n|---|--:|--:|---|\n%s\n%s",
		header, r->targets_text, r->body_text);
	free(r->body_text);
	free(r->targets_text);
	return r->missed;
}
