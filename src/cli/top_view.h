/* top_view.h - one frame of `killick top` as lines of text.
 *
 * A pure function of the model and the state of the keys. Widths of columns do not depend on the
 * values in them, so that the picture stands still while the numbers change.
 * Threads: any.  Blocking: never.
 */
#pragma once

#include "top_keys.h"
#include "top_lines.h"
#include "top_model.h"

/* Append the whole frame, without limit of its height and without a selection: for --once. */
void top_view_all(const struct top_model *m, const struct top_keys *k, struct top_lines *out);
/* Append a frame of at most `rows` lines: totals, the servers and sessions around the selection,
 * and the keys or a question in the last line. */
void top_view_frame(const struct top_model *m, const struct top_keys *k, size_t rows,
		    struct top_lines *out);

/* Append what is known about one server, below its row (top_detail.c). */
void top_detail(const struct top_server *s, struct top_lines *out);

/* "0.42ms", "4.2ms", "180ms", "1.3s": six characters at most below 100 days; "-": not known. */
const char *top_view_time(double ms, char out[24]);
/* "3s", "12m", "3h12m"; "-": not known. */
const char *top_view_age(long long ms, char out[24]);
