/* bar.h - a progress line on the terminal, removed when the work is done.
 *
 * The line is drawn on stderr, and only if stderr is a terminal; otherwise every function does
 * nothing. In the first second the line is drawn only when there is progress, because most requests
 * end in this second. A caller that writes to the terminal in between must call bar_clear first.
 *
 * Life: bar_begin -> bar_progress, bar_tick ... -> bar_clear.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct bar {
	bool on;    /* stderr is a terminal */
	bool drawn; /* the line is on the screen */
	bool has_progress;
	char title[64];         /* clean */
	char message[256];      /* clean; "": none */
	double progress, total; /* total 0: not known */
	long long begin_us, drawn_us;
};

void bar_begin(struct bar *b, const char *title);
/* Store a progress report of a server; the message is cleaned. Draws the line, with a limited
 * rate. */
void bar_progress(struct bar *b, double progress, double total, const char *message);
/* Show a text behind the time, until there is progress; the text is cleaned. */
void bar_note(struct bar *b, const char *message);
/* Draw the line again, because time has passed. */
void bar_tick(struct bar *b);
/* Returns the milliseconds until the next bar_tick is due; -1: never. */
int bar_due_ms(const struct bar *b);
void bar_clear(struct bar *b);

/* Write the text of the line, for a terminal with this many columns. */
void bar_line(const struct bar *b, long long now_us, size_t columns, char *out, size_t size);
