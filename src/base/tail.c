/* tail.c - see tail.h */
#include "base/tail.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

void tail_add(struct tail *t, const char *bytes, size_t len)
{
	size_t at, first;

	if (len == 0)
		return;
	if (!t->ring)
		t->ring = mem_grow(NULL, TAIL_SIZE, 1);
	if (len > TAIL_SIZE) {
		bytes += len - TAIL_SIZE;
		len = TAIL_SIZE;
	}
	at = (t->start + t->len) % TAIL_SIZE;
	first = len < TAIL_SIZE - at ? len : TAIL_SIZE - at;
	memcpy(t->ring + at, bytes, first);
	memcpy(t->ring, bytes + first, len - first);
	t->len += len;
	if (t->len > TAIL_SIZE) {
		t->start = (t->start + t->len) % TAIL_SIZE;
		t->len = TAIL_SIZE;
	}
	assert(t->start < TAIL_SIZE);
}

void tail_text(const struct tail *t, char out[TAIL_SIZE + 1])
{
	size_t len = t->len;
	char *line;

	for (size_t i = 0; i < len; i++) {
		char c = t->ring[(t->start + i) % TAIL_SIZE];

		out[i] = c ? c : ' ';
	}
	out[len] = '\0';
	line = len == TAIL_SIZE ? strchr(out, '\n') : NULL;
	if (line && line[1])
		memmove(out, line + 1, strlen(line + 1) + 1);
}

/* Remove white space at the end; returns the end. */
static char *tail_trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && strchr("\n\r\t ", end[-1]))
		end--;
	*end = '\0';
	return end;
}

static bool tail_is_reason(const char *line)
{
	static const char *const words[] = { "error",   "err!",      "fatal",   "panic",
					     "cannot",  "can't",     "unable",  "could not",
					     "failed",  "not found", "refused", "denied",
					     "invalid", "missing",   "enoent",  "timed out" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		for (const char *at = line; *at; at++)
			if (strncasecmp(at, words[i], strlen(words[i])) == 0)
				return true;
	return false;
}

void tail_reason(const struct tail *t, unsigned lines, char *out, size_t size)
{
	char text[TAIL_SIZE + 1], *last, *rest = text, *line;
	size_t used = 0;

	assert(size > 0 && lines > 0);
	*out = '\0';
	tail_text(t, text);
	for (last = tail_trim(text); last > text && lines; last--)
		lines -= last[-1] == '\n';
	*last = '\0'; /* at the line break in front of the last lines, or nothing is left */
	while ((line = strsep(&rest, "\n")) != NULL)
		if (tail_is_reason(line))
			break;
	for (; line && *line && used + 1 < size; line++)
		if ((unsigned char)*line >= ' ')
			out[used++] = *line;
	out[used] = '\0';
}

void tail_last(const struct tail *t, unsigned lines, char *out, size_t size)
{
	char text[TAIL_SIZE + 1], *end, *from;
	size_t used = 0;

	assert(size > 0 && lines > 0);
	tail_text(t, text);
	end = tail_trim(text);
	for (from = end; from > text && (size_t)(end - from) < size / 4 * 3; from--)
		if (from[-1] == '\n' && --lines == 0)
			break;
	for (; *from && used + 4 < size; from++) {
		if (*from == '\n') {
			memcpy(out + used, " | ", 3);
			used += 3;
		} else if ((unsigned char)*from >= ' ') {
			out[used++] = *from;
		}
	}
	out[used] = '\0';
}

void tail_done(struct tail *t)
{
	free(t->ring);
	*t = (struct tail){ .ring = NULL };
}
