/* bar.h - one line on the terminal that says how far something is, and goes away when it is over.
 *
 * On stderr, and only where that is a terminal; elsewhere every function does nothing. Nothing is
 * drawn in the first second unless there is progress to show: most things are over by then. Whoever
 * writes to the terminal in between calls bar_clear first.
 * Life: bar_begin -> bar_progress, bar_tick ... -> bar_clear.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct bar {
	bool on;    /* there is a terminal */
	bool drawn; /* a line of ours stands there */
	bool has_progress;
	char title[64];         /* clean */
	char message[256];      /* clean; "" without */
	double progress, total; /* total 0: not known */
	long long begin_us, drawn_us;
};

void bar_begin(struct bar *b, const char *title);
/* A report from a peer: the message is cleaned. Drawn now unless that was just done. */
void bar_progress(struct bar *b, double progress, double total, const char *message);
/* Time passes: draw again. */
void bar_tick(struct bar *b);
/* Milliseconds until the next bar_tick is due; -1: never. */
int bar_due_ms(const struct bar *b);
void bar_clear(struct bar *b);

/* The line itself, for a terminal of so many columns. */
void bar_line(const struct bar *b, long long now_us, size_t columns, char *out, size_t size);
