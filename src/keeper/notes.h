/* notes.h - the fallbacks of a keeper, as texts for its report.
 *
 * The zero value has no notes. Notes past NOTES_MAX are dropped.
 * Threads: one.  Blocking: never.  Allocates: never.
 */
#pragma once

#define NOTES_MAX 6

struct notes {
	int count;
	char list[NOTES_MAX][240]; /* longer texts are cut */
};

void notes_add(struct notes *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
