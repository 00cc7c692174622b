/* pages.c - joins the pages of a list into one list.
 *
 * A list of one page is returned as the server wrote it. The items of several pages are joined as
 * the server wrote them. A list whose cursors repeat, or that has too many pages, fails.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "mcp/client_internal.h"

#define PAGES_MAX 10000

const char *const pages_key[] = {
	[KILLICK_TOOLS] = "tools",
	[KILLICK_RESOURCES] = "resources",
	[KILLICK_TEMPLATES] = "resourceTemplates",
	[KILLICK_PROMPTS] = "prompts",
	[KILLICK_UNSUBSCRIBE] = NULL,
};

struct pages {
	struct buf text; /* {"tools":[...,... */
	bool filled;
	char *cursor; /* of the next page, as the server wrote it */
	size_t cursor_len;
	uint64_t *seen; /* digests of all cursors */
	size_t count, room;
	int64_t ttl_ms; /* the shortest of all pages */
};

/* FNV-1a is enough to detect cursors that repeat. A server that makes two cursors collide breaks
 * only its own list. */
static uint64_t digest(struct json v)
{
	uint64_t h = 14695981039346656037u;

	for (size_t i = 0; i < v.len; i++)
		h = (h ^ (unsigned char)v.at[i]) * 1099511628211u;
	return h;
}

static bool was_seen(struct pages *p, uint64_t cursor)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->seen[i] == cursor)
			return true;
	if (p->count == p->room) {
		p->room = p->room ? 2 * p->room : 8;
		p->seen = mem_grow(p->seen, p->room, sizeof(*p->seen));
	}
	p->seen[p->count++] = cursor;
	return false;
}

static struct pages *pages_new(const struct client_call *call)
{
	struct pages *p = mem_grow(NULL, 1, sizeof(*p));

	*p = (struct pages){ .text = BUF_INIT(call->client->spec->message_limit) };
	return p;
}

void pages_free(struct pages *p)
{
	if (!p)
		return;
	buf_done(&p->text);
	free(p->cursor);
	free(p->seen);
	free(p);
}

struct json pages_cursor(const struct pages *p)
{
	return p ? (struct json){ p->cursor, p->cursor_len } : JSON_NONE;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Add the items of a list: the text between its brackets. */
static int pages_add_items(struct pages *p, struct json list, const char *key)
{
	const char *at = list.at + 1, *end = list.at + list.len - 1;
	int r = 0;

	while (at < end && is_space(*at))
		at++;
	while (end > at && is_space(end[-1]))
		end--;
	if (p->text.len == 0)
		r = buf_addf(&p->text, "{\"%s\":[", key);
	if (at == end)
		return r;
	if (p->filled)
		r |= buf_add(&p->text, ",", 1);
	p->filled = true;
	return r | buf_add(&p->text, at, (size_t)(end - at));
}

static void next_page(struct client_call *call, struct json cursor)
{
	struct pages *p = call->pages;

	if (was_seen(p, digest(cursor))) {
		call_fail(call, KILLICK_ERR_PROTOCOL,
			  "the list goes in circles: a cursor came twice, after %zu pages",
			  p->count);
	} else if (p->count >= PAGES_MAX) {
		call_fail(call, KILLICK_ERR_PROTOCOL, "the list has more than %d pages", PAGES_MAX);
	} else {
		free(p->cursor);
		p->cursor = mem_try_text(cursor.at, cursor.len);
		p->cursor_len = cursor.len;
		if (p->cursor)
			call_send(call);
		else
			call_fail(call, KILLICK_ERR_PROTOCOL, "there is no memory for a cursor");
	}
}

static int64_t ttl_of(struct json result)
{
	int64_t ms = 0;

	return json_int(json_get(result, "ttlMs"), &ms) && ms > 0 ? ms : 0;
}

void pages_add(struct client_call *call, struct json result)
{
	const char *key = pages_key[call->op];
	struct json list = json_get(result, key), cursor = json_get(result, "nextCursor");
	enum json_type more = json_type(cursor);
	struct client_result r = { .code = KILLICK_OK, .json = result, .ttl_ms = ttl_of(result) };
	int e;

	assert(key);
	if (json_type(list) != JSON_ARRAY) {
		call_fail(call, KILLICK_ERR_PROTOCOL, "the result has no list '%s'", key);
		return;
	}
	if (more != JSON_STRING && more != JSON_NULL && more != JSON_ABSENT) {
		call_fail(call, KILLICK_ERR_PROTOCOL, "the result's nextCursor is no string");
		return;
	}
	if (more != JSON_STRING && !call->pages) {
		call_finish(call, &r);
		return;
	}
	if (!call->pages) {
		call->pages = pages_new(call);
		call->pages->ttl_ms = r.ttl_ms;
	}
	if (r.ttl_ms > call->pages->ttl_ms)
		r.ttl_ms = call->pages->ttl_ms;
	call->pages->ttl_ms = r.ttl_ms;
	e = pages_add_items(call->pages, list, key);
	if (e == 0 && more == JSON_STRING) {
		next_page(call, cursor);
		return;
	}
	e |= buf_add(&call->pages->text, "]}", 2);
	r.json = (struct json){ call->pages->text.data, call->pages->text.len };
	if (e == -ENOMEM)
		call_fail(call, KILLICK_ERR_PROTOCOL, "there is no memory for the list");
	else if (e)
		call_fail(call, KILLICK_ERR_PROTOCOL, "the list is longer than %zu bytes",
			  call->client->spec->message_limit);
	else
		call_finish(call, &r);
}
