/* json_dump.h - a JSON value in a form that two readers can be compared by.
 *
 * n, t, f; # and the bits of a double; strings decoded and quoted by emit.h; [..], {..} without
 * space.
 */
#pragma once

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/emit.h"
#include "base/json.h"

static inline void json_dump_double(struct buf *b, double d)
{
	uint64_t bits;
	int r;

	memcpy(&bits, &d, sizeof(bits));
	r = buf_addf(b, "#%016llx", (unsigned long long)bits);
	assert(r == 0);
}

struct json_dump_member {
	char *key;
	struct json value;
	size_t index;
};

static inline int json_dump_compare(const void *a, const void *b)
{
	const struct json_dump_member *x = a, *y = b;
	int r = strcmp(x->key, y->key);

	return r ? r : (x->index > y->index) - (x->index < y->index);
}

static inline void json_dump(struct buf *b, struct json v, bool sorted);

/* Members by key, of duplicates the last. */
static inline void json_dump_sorted(struct buf *b, struct json v)
{
	struct json_dump_member *list = calloc(json_count(v) + 1, sizeof(*list));
	struct json_iter it = json_iter(v);
	size_t count = 0, shown = 0;

	assert(list);
	for (; json_each(&it); count++) {
		bool string = json_string(it.key, &list[count].key);

		assert(string);
		list[count].value = it.value;
		list[count].index = count;
	}
	qsort(list, count, sizeof(*list), json_dump_compare);
	buf_adds(b, "{");
	for (size_t i = 0; i < count; i++) {
		if (i + 1 == count || strcmp(list[i].key, list[i + 1].key) != 0) {
			buf_adds(b, shown++ ? "," : "");
			emit_quoted(b, list[i].key, strlen(list[i].key));
			buf_adds(b, ":");
			json_dump(b, list[i].value, true);
		}
		free(list[i].key);
	}
	buf_adds(b, "}");
	free(list);
}

static inline void json_dump_items(struct buf *b, struct json v, bool sorted)
{
	struct json_iter it = json_iter(v);
	size_t count = 0;

	buf_adds(b, it.object ? "{" : "[");
	while (json_each(&it)) {
		buf_adds(b, count++ ? "," : "");
		if (it.object) {
			json_dump(b, it.key, sorted);
			buf_adds(b, ":");
		}
		json_dump(b, it.value, sorted);
	}
	buf_adds(b, it.object ? "}" : "]");
}

/* sorted: members by key, of duplicates the last; else all of them as they come. */
static inline void json_dump(struct buf *b, struct json v, bool sorted)
{
	char *text = NULL;
	double d = 0;

	if (json_string(v, &text)) {
		emit_quoted(b, text, strlen(text));
		free(text);
	} else if (json_double(v, &d)) {
		json_dump_double(b, d);
	} else if (json_type(v) == JSON_OBJECT && sorted) {
		json_dump_sorted(b, v);
	} else if (json_type(v) == JSON_OBJECT || json_type(v) == JSON_ARRAY) {
		json_dump_items(b, v, sorted);
	} else {
		buf_add(b, v.at, 1);
	}
}
