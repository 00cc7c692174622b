/* edits.c - see edits.h */
#include "mcp/edits.h"

#include <assert.h>

void text_edits_add(struct text_edits *e, const char *at, size_t cut, struct json put)
{
	size_t i = e->count++;

	assert(e->count <= TEXT_EDITS_MAX && (put.at || !put.len));
	for (; i > 0 && e->list[i - 1].at > at; i--)
		e->list[i] = e->list[i - 1];
	e->list[i] = (struct text_edit){ at, cut, put };
}

int text_edits_copy(struct buf *b, struct json text, const struct text_edits *e)
{
	const char *from = text.at, *end = text.at + text.len;
	size_t size = text.len + 1;
	int r;

	assert(from);
	for (size_t i = 0; i < e->count; i++)
		size += e->list[i].put.len;
	r = buf_reserve(b, size);
	if (r < 0)
		return r;
	for (size_t i = 0; i < e->count; i++) {
		const struct text_edit *one = &e->list[i];

		assert(one->at >= from);
		buf_add(b, from, (size_t)(one->at - from));
		if (one->put.len)
			buf_add(b, one->put.at, one->put.len);
		from = one->at + one->cut;
	}
	assert(from <= end);
	buf_add(b, from, (size_t)(end - from));
	return 0;
}
