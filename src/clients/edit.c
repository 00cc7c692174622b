/* edit.c - see edit.h */
#include "edit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "os/bytes.h"

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

void edits_hide(struct edits *e, struct span secret)
{
	e->hidden = mem_grow(e->hidden, e->hidden_count + 1, sizeof(*e->hidden));
	e->hidden[e->hidden_count++] = secret;
}

size_t edits_pieces(const struct edits *e, const char *text, size_t len, struct fd_piece **out)
{
	struct fd_piece *v = mem_grow(NULL, 2 * e->count + 1, sizeof(*v));
	size_t n = 0, at = 0;

	for (size_t i = 0; i < e->count; i++) {
		const struct edit *d = &e->list[i];

		v[n++] = (struct fd_piece){ (char *)text + at, d->old.at - at };
		v[n++] = (struct fd_piece){ d->text, d->len };
		at = span_end(d->old);
	}
	assert(at <= len);
	v[n++] = (struct fd_piece){ (char *)text + at, len - at };
	*out = v;
	return n;
}

void edits_apply(const struct edits *e, const char *text, size_t len, struct buf *out)
{
	AUTO(mem_drop) struct fd_piece *v = NULL;
	size_t n = edits_pieces(e, text, len, &v);

	for (size_t i = 0; i < n; i++)
		if (v[i].len)
			buf_add(out, v[i].bytes, v[i].len);
}

void edits_done(struct edits *e)
{
	for (size_t i = 0; i < e->count; i++)
		free(e->list[i].text);
	mem_drop(&e->list);
	mem_drop(&e->hidden);
	e->count = e->hidden_count = 0;
	e->overlap = false;
}

/* The diff. A block is the lines that edits touch. A hunk is several blocks that are close
 * together, with CONTEXT lines around them. */

enum { CONTEXT = 2, LINE_SHOWN = 400, AROUND = 120 };

static size_t edits_line_start(const char *text, size_t at)
{
	const char *nl = bytes_last(text, '\n', at);

	return nl ? (size_t)(nl - text) + 1 : 0;
}

/* Returns the position behind the newline of the line that contains `at`. */
static size_t edits_line_end(const char *text, size_t len, size_t at)
{
	const char *nl = memchr(text + at, '\n', len - at);

	return nl ? (size_t)(nl - text) + 1 : len;
}

/* Print the lines of s, each behind `mark`. A byte order mark and the carriage returns at the end
 * of a line are printed as git prints them. A line that is too long is cut to its first and last
 * bytes. Returns the number of lines. */
static size_t edits_print(struct buf *out, char mark, const char *s, size_t len)
{
	size_t lines = 0;

	for (; len > 0; lines++) {
		const char *nl = memchr(s, '\n', len);
		bool bom = len >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0;
		size_t begin = bom ? 3 : 0, n = nl ? (size_t)(nl - s) : len, end = n, shown;
		char clean[4 * LINE_SHOWN];

		while (end > begin && s[end - 1] == '\r')
			end--;
		shown = end - begin < LINE_SHOWN ? end - begin : AROUND;
		text_clean(s + begin, shown, clean, sizeof(clean));
		buf_addf(out, "%c%s%s", mark, bom ? "<U+FEFF>" : "", clean);
		if (shown < end - begin) {
			text_clean(s + end - AROUND, AROUND, clean, sizeof(clean));
			buf_addf(out, " ...%zu bytes... %s", end - begin - 2 * AROUND, clean);
		}
		for (; end < n; end++)
			buf_adds(out, "^M");
		buf_adds(out, "\n");
		n += nl != NULL;
		s += n;
		len -= n;
	}
	return lines;
}

/* Append a part of a hidden value as a mark. Its quotes and newlines are kept, so that lines can be
 * counted. */
static void edits_mask(const char *text, struct span secret, size_t from, size_t to,
		       struct buf *out)
{
	bool begun = false;

	for (size_t i = from; i < to; i++) {
		bool edge = i == secret.at || i + 1 == span_end(secret);

		if ((edge && strchr("\"'", text[i])) || strchr("\r\n", text[i])) {
			buf_add(out, text + i, 1);
			begun = false;
		} else if (!begun) {
			buf_adds(out, text_is_utf8() ? "\xe2\x80\xa6" : "...");
			begun = true;
		}
	}
}

/* Append the bytes from..to of the old text, without hidden values. */
static void edits_shown(const struct edits *e, const char *text, size_t from, size_t to,
			struct buf *out)
{
	while (from < to) {
		const struct span *next = NULL;
		size_t stop = to;

		for (size_t i = 0; i < e->hidden_count; i++) {
			const struct span *h = &e->hidden[i];

			if (h->len && span_end(*h) > from && h->at < stop) {
				next = h;
				stop = h->at > from ? h->at : from;
			}
		}
		buf_add(out, text + from, stop - from);
		from = stop;
		if (!next)
			continue;
		stop = span_end(*next) < to ? span_end(*next) : to;
		edits_mask(text, *next, from, stop, out);
		from = stop;
	}
}

/* Is the hidden value in a range that an edit replaces? Then the edits may have moved its bytes. */
static bool edits_is_moved(const struct edits *e, struct span hidden)
{
	for (size_t i = 0; i < e->count; i++)
		if (hidden.at >= e->list[i].old.at && span_end(hidden) <= span_end(e->list[i].old))
			return true;
	return false;
}

/* Append the text of an edit, without hidden values that it moves. */
static void edits_shown_new(const struct edits *e, const char *text, const struct edit *d,
			    struct buf *out)
{
	for (size_t at = 0; at < d->len;) {
		size_t n = 0;

		for (size_t i = 0; i < e->hidden_count && !n; i++) {
			const struct span *h = &e->hidden[i];

			if (h->len && h->len <= d->len - at && edits_is_moved(e, *h) &&
			    memcmp(d->text + at, text + h->at, h->len) == 0)
				n = h->len;
		}
		if (n)
			edits_mask(d->text, (struct span){ at, n }, at, at + n, out);
		else
			buf_add(out, d->text + at, 1);
		at += n ? n : 1;
	}
}

/* Get the block that begins with edit i; a long line is cut to the parts near the edits. Returns
 * the index of the first edit behind the block. */
static size_t edits_block(const struct edits *e, const char *text, size_t len, size_t i,
			  struct span *out)
{
	size_t begin = edits_line_start(text, e->list[i].old.at);
	size_t end = edits_line_end(text, len, span_end(e->list[i].old));

	if (e->list[i].old.at - begin > LINE_SHOWN)
		begin = e->list[i].old.at - AROUND;
	for (; i < e->count && e->list[i].old.at <= end; i++) {
		size_t stop = span_end(e->list[i].old);

		if (e->list[i].old.at == end && text[end - 1] == '\n' && end > begin)
			break; /* this edit is at the beginning of the next line */
		end = edits_line_end(text, len, stop);
		if (end - stop > LINE_SHOWN)
			end = stop + AROUND;
	}
	*out = (struct span){ begin, end - begin };
	return i;
}

/* Returns the position up to `lines` lines before `at`, which is the beginning of a line; not
 * before `floor`. */
static size_t edits_back(const char *text, size_t at, size_t floor, int lines)
{
	while (lines-- > 0 && at > floor && text[at - 1] == '\n')
		at = edits_line_start(text, at - 1);
	return at > floor ? at : floor;
}

static size_t edits_forth(const char *text, size_t len, size_t at, int lines)
{
	while (lines-- > 0 && at > 0 && text[at - 1] == '\n' && at < len)
		at = edits_line_end(text, len, at);
	return at;
}

struct edits_count { /* lines of a hunk */
	size_t before, after;
};

static void edits_count_same(struct buf *out, const char *s, size_t len, struct edits_count *count)
{
	size_t lines = edits_print(out, ' ', s, len);

	count->before += lines;
	count->after += lines;
}

/* Print the lines from..to of the old text, which are also in the new text. */
static void edits_print_same(const struct edits *e, const char *text, size_t from, size_t to,
			     struct buf *out, struct edits_count *count)
{
	AUTO(buf_done) struct buf shown = BUF_INIT(BUF_ANY_SIZE);

	edits_shown(e, text, from, to, &shown);
	edits_count_same(out, shown.data, shown.len, count);
}

/* Returns the length of the whole lines at the beginning that are equal. */
static size_t edits_common(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t n = 0, lines = 0;

	while (n < a_len && n < b_len && a[n] == b[n])
		if (a[n++] == '\n')
			lines = n;
	return lines;
}

/* Print the lines of a block, first the old lines, then the new lines. */
static void edits_print_block(const struct edits *e, const char *text, struct span block, size_t i,
			      size_t next, struct buf *out, struct edits_count *count)
{
	AUTO(buf_done) struct buf before = BUF_INIT(BUF_ANY_SIZE), after = BUF_INIT(BUF_ANY_SIZE);
	size_t at = block.at;

	for (; i < next; i++) {
		edits_shown(e, text, at, e->list[i].old.at, &after);
		edits_shown_new(e, text, &e->list[i], &after);
		at = span_end(e->list[i].old);
	}
	edits_shown(e, text, at, span_end(block), &after);
	edits_shown(e, text, block.at, span_end(block), &before);
	/* an edit at the end of a line does not change this line */
	at = edits_common(before.data, before.len, after.data, after.len);
	edits_count_same(out, after.data, at, count);
	count->before += edits_print(out, '-', before.data + at, before.len - at);
	count->after += edits_print(out, '+', after.data + at, after.len - at);
}

/* Print the hunk that begins with edit i. Returns the index of the first edit behind the hunk. */
static size_t edits_print_hunk(const struct edits *e, const char *text, size_t len, size_t i,
			       size_t *floor, struct buf *out, struct edits_count *count)
{
	struct span block;
	size_t next = edits_block(e, text, len, i, &block), at;

	at = edits_back(text, block.at, *floor, CONTEXT);
	for (;;) {
		edits_print_same(e, text, at, block.at, out, count);
		edits_print_block(e, text, block, i, next, out, count);
		at = span_end(block);
		if (next == e->count)
			break;
		i = next;
		next = edits_block(e, text, len, i, &block);
		if (edits_back(text, block.at, at, 2 * CONTEXT) > at) {
			next = i; /* too far away: begin another hunk */
			break;
		}
	}
	*floor = edits_forth(text, len, at, CONTEXT);
	edits_print_same(e, text, at, *floor, out, count);
	return next;
}

void edits_diff(const struct edits *e, const char *text, size_t len, const char *file, FILE *out)
{
	char clean[4200];
	size_t floor = 0, grown = 0;

	text_clean(file, strlen(file), clean, sizeof(clean));
	fprintf(out, "--- %s\n+++ %s\n", clean, clean);
	for (size_t i = 0; i < e->count;) {
		AUTO(buf_done) struct buf body = BUF_INIT(BUF_ANY_SIZE);
		struct edits_count count = { 0, 0 };
		struct span block;
		size_t line;

		edits_block(e, text, len, i, &block);
		line = fault_line(text, edits_back(text, block.at, floor, CONTEXT));
		i = edits_print_hunk(e, text, len, i, &floor, &body, &count);
		fprintf(out, "@@ -%zu,%zu +%zu,%zu @@\n%s", line, count.before, line + grown,
			count.after, body.len ? body.data : "");
		grown += count.after - count.before;
	}
}
