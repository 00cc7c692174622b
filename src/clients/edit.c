/* edit.c - see edit.h */
#include "edit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"

void edits_add(struct edits *e, struct span old, struct buf *text)
{
	size_t i = e->count, len = text->len;

	while (i > 0 && e->list[i - 1].old.at > old.at)
		i--;
	if ((i > 0 && span_end(e->list[i - 1].old) > old.at) ||
	    (i < e->count && span_end(old) > e->list[i].old.at)) {
		e->overlap = true;
		return;
	}
	e->list = mem_grow(e->list, e->count + 1, sizeof(*e->list));
	memmove(&e->list[i + 1], &e->list[i], (e->count - i) * sizeof(*e->list));
	e->list[i] = (struct edit){ .old = old, .text = buf_take(text), .len = len };
	e->count++;
}

size_t edits_pieces(const struct edits *e, const char *text, size_t len, struct iovec **out)
{
	struct iovec *v = mem_grow(NULL, 2 * e->count + 1, sizeof(*v));
	size_t n = 0, at = 0;

	for (size_t i = 0; i < e->count; i++) {
		const struct edit *d = &e->list[i];

		v[n++] = (struct iovec){ (char *)text + at, d->old.at - at };
		v[n++] = (struct iovec){ d->text, d->len };
		at = span_end(d->old);
	}
	assert(at <= len);
	v[n++] = (struct iovec){ (char *)text + at, len - at };
	*out = v;
	return n;
}

void edits_apply(const struct edits *e, const char *text, size_t len, struct buf *out)
{
	AUTO(mem_drop) struct iovec *v = NULL;
	size_t n = edits_pieces(e, text, len, &v);

	for (size_t i = 0; i < n; i++)
		if (v[i].iov_len)
			buf_add(out, v[i].iov_base, v[i].iov_len);
}

void edits_done(struct edits *e)
{
	for (size_t i = 0; i < e->count; i++)
		free(e->list[i].text);
	mem_drop(&e->list);
	e->count = 0;
	e->overlap = false;
}

/* The diff: a hunk is the lines of edits that are close together, with CONTEXT lines around. */

enum { CONTEXT = 2, LINE_SHOWN = 400, AROUND = 120 };

static size_t edits_line_start(const char *text, size_t at)
{
	const char *nl = memrchr(text, '\n', at);

	return nl ? (size_t)(nl - text) + 1 : 0;
}

/* Behind the newline of the line that `at` is in. */
static size_t edits_line_end(const char *text, size_t len, size_t at)
{
	const char *nl = memchr(text + at, '\n', len - at);

	return nl ? (size_t)(nl - text) + 1 : len;
}

/* Print the lines of s, each behind `mark`. Of a line that is too long the first and last bytes. */
static void edits_print(FILE *out, char mark, const char *s, size_t len)
{
	while (len > 0) {
		const char *nl = memchr(s, '\n', len);
		size_t n = nl ? (size_t)(nl - s) : len, shown = n < LINE_SHOWN ? n : AROUND;
		char clean[4 * LINE_SHOWN];

		text_clean(s, shown, clean, sizeof(clean));
		fprintf(out, "%c%s", mark, clean);
		if (shown < n) {
			text_clean(s + n - AROUND, AROUND, clean, sizeof(clean));
			fprintf(out, " ...%zu bytes... %s", n - 2 * AROUND, clean);
		}
		fputc('\n', out);
		n += nl != NULL;
		s += n;
		len -= n;
	}
}

/* Where a hunk with edits i.. begins and ends, cut to the neighbourhood of the edits in long lines.
 * Returns the edit behind the hunk. */
static size_t edits_hunk(const struct edits *e, const char *text, size_t len, size_t i,
			 struct span *out)
{
	size_t begin = edits_line_start(text, e->list[i].old.at);
	size_t end = edits_line_end(text, len, span_end(e->list[i].old));

	if (e->list[i].old.at - begin > LINE_SHOWN)
		begin = e->list[i].old.at - AROUND;
	for (; i < e->count && e->list[i].old.at <= end; i++) {
		size_t stop = span_end(e->list[i].old);

		end = edits_line_end(text, len, stop);
		if (end - stop > LINE_SHOWN)
			end = stop + AROUND;
	}
	*out = (struct span){ begin, end - begin };
	return i;
}

static void edits_context(const char *text, size_t len, struct span hunk, bool before, FILE *out)
{
	size_t begin = hunk.at, end = span_end(hunk);

	if (before) {
		for (int i = 0; i < CONTEXT && begin > 0 && text[begin - 1] == '\n'; i++)
			begin = edits_line_start(text, begin - 1);
		edits_print(out, ' ', text + begin, hunk.at - begin);
		return;
	}
	begin = end;
	for (int i = 0; i < CONTEXT && end > 0 && text[end - 1] == '\n' && end < len; i++)
		end = edits_line_end(text, len, end);
	edits_print(out, ' ', text + begin, end - begin);
}

void edits_diff(const struct edits *e, const char *text, size_t len, const char *file, FILE *out)
{
	char clean[4200];
	size_t next;

	text_clean(file, strlen(file), clean, sizeof(clean));
	fprintf(out, "--- %s\n+++ %s\n", clean, clean);
	for (size_t i = 0; i < e->count; i = next) {
		AUTO(buf_done) struct buf after = BUF_INIT(BUF_ANY_SIZE);
		struct span hunk;
		size_t at;

		next = edits_hunk(e, text, len, i, &hunk);
		at = hunk.at;
		for (size_t k = i; k < next; k++) {
			buf_add(&after, text + at, e->list[k].old.at - at);
			buf_add(&after, e->list[k].text, e->list[k].len);
			at = span_end(e->list[k].old);
		}
		buf_add(&after, text + at, span_end(hunk) - at);
		fprintf(out, "@@ line %u @@\n", fault_line(text, hunk.at));
		edits_context(text, len, hunk, true, out);
		edits_print(out, '-', text + hunk.at, hunk.len);
		edits_print(out, '+', after.data, after.len);
		edits_context(text, len, hunk, false, out);
	}
}
