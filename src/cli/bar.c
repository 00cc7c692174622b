/* bar.c - see bar.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bar.h"
#include "base/text.h"
#include "os/console.h"
#include "os/file.h"
#include "os/time.h"

enum { CELLS = 24, QUIET_MS = 1000, TICK_MS = 500, REDRAW_US = 50000 };

void bar_begin(struct bar *b, const char *title)
{
	*b = (struct bar){ .begin_us = time_now_us() };
	b->on = console_can_draw(FILE_STDERR);
	text_clean(title, strlen(title), b->title, sizeof(b->title));
}

static void cells(double part, char *out, size_t size)
{
	const char *full = text_is_utf8() ? "\xe2\x96\x88" : "#";
	const char *rest = text_is_utf8() ? "\xe2\x96\x91" : ".";
	int filled = (int)(part * (double)CELLS);
	size_t len = 0;

	for (int i = 0; i < CELLS && len + 4 < size; i++)
		len += (size_t)snprintf(out + len, size - len, "%s", i < filled ? full : rest);
}

void bar_line(const struct bar *b, long long now_us, size_t columns, char *out, size_t size)
{
	char line[1024], shape[CELLS * 3 + 8], span[24];
	const char *gap = *b->message ? "  " : "";
	double part = b->total > 0 ? b->progress / b->total : 0;

	text_span((now_us - b->begin_us) / 1000, span);
	part = part >= 0 ? part : 0; /* NaN becomes 0, too */
	part = part <= 1 ? part : 1;
	if (b->has_progress && b->total > 0) {
		cells(part, shape, sizeof(shape));
		snprintf(line, sizeof(line), "%s  %s %3d%%  %s%s%s", b->title, shape,
			 (int)(part * 100), span, gap, b->message);
	} else if (b->has_progress) {
		snprintf(line, sizeof(line), "%s  %.6g  %s%s%s", b->title, b->progress, span, gap,
			 b->message);
	} else {
		snprintf(line, sizeof(line), "%s  %s%s%s", b->title, span, gap, b->message);
	}
	text_cut(line, columns, out, size);
}

static void draw(struct bar *b)
{
	size_t columns = console_columns(FILE_STDERR);
	char line[1024];

	b->drawn_us = time_now_us();
	/* use one column less, because some terminals wrap a full line */
	bar_line(b, b->drawn_us, columns ? columns - 1 : 79, line, sizeof(line));
	fprintf(stderr, "\r%s\033[K", line);
	fflush(stderr);
	b->drawn = true;
}

void bar_progress(struct bar *b, double progress, double total, const char *message)
{
	if (!b->on)
		return;
	b->has_progress = true;
	b->progress = progress;
	b->total = total;
	text_clean(message, strlen(message), b->message, sizeof(b->message));
	if (!b->drawn || time_now_us() - b->drawn_us >= REDRAW_US)
		draw(b);
}

void bar_note(struct bar *b, const char *message)
{
	text_clean(message, strlen(message), b->message, sizeof(b->message));
	if (b->drawn)
		draw(b);
}

int bar_due_ms(const struct bar *b)
{
	long long next;

	if (!b->on)
		return -1;
	next = b->drawn ? b->drawn_us + TICK_MS * 1000LL : b->begin_us + QUIET_MS * 1000LL;
	next -= time_now_us();
	return next <= 0 ? 0 : (int)(next / 1000) + 1;
}

void bar_tick(struct bar *b)
{
	if (b->on && bar_due_ms(b) == 0)
		draw(b);
}

void bar_clear(struct bar *b)
{
	if (b->drawn) {
		fputs("\r\033[K", stderr);
		fflush(stderr);
	}
	b->drawn = false;
}
