/* protocol_lists.c - resources, templates, prompts and completion, in pages. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol.h"

#define PAGES    3
#define MAX_SUBS 256

static char subscribed[MAX_SUBS][128]; /* "": free */

static const char *const resources[] = {
	"{\"uri\":\"zoo://a\",\"name\":\"a\"}", "{\"uri\":\"zoo://b\",\"name\":\"b\"}",
	"{\"uri\":\"zoo://c\",\"name\":\"c\"}", "{\"uri\":\"zoo://d\",\"name\":\"d\"}",
	"{\"uri\":\"zoo://e\",\"name\":\"e\"}", "{\"uri\":\"zoo://f\",\"name\":\"f\"}",
	"{\"uri\":\"zoo://g\",\"name\":\"g\"}",
};
static const char *const templates[] = {
	"{\"uriTemplate\":\"zoo://{x}/1\",\"name\":\"t1\"}",
	"{\"uriTemplate\":\"zoo://{x}/2\",\"name\":\"t2\"}",
	"{\"uriTemplate\":\"zoo://{x}/3\",\"name\":\"t3\"}",
	"{\"uriTemplate\":\"zoo://{x}/4\",\"name\":\"t4\"}",
};
static const char *const prompts[] = {
	"{\"name\":\"greet\",\"arguments\":[{\"name\":\"who\",\"required\":true}]}",
	"{\"name\":\"part\"}",
	"{\"name\":\"ask\"}",
};

/* With the scheme of the way in place of zoo:// */
static void add_item(struct grow *t, const char *item)
{
	const char *uri = strstr(item, "zoo://");

	if (!uri) {
		grow_adds(t, item);
		return;
	}
	grow_add(t, item, (size_t)(uri - item));
	grow_adds(t, protocol_scheme);
	grow_adds(t, uri + 6);
}

/* A third of the items; the cursor is the page's number. */
void lists_page(const struct request *rq, const char *key, const char *const *items, size_t count)
{
	struct span cursor = scan_member(rq->params, "cursor");
	char number[16];
	struct grow t = { 0 };
	long page;
	size_t first, last;

	scan_copy(cursor, number, sizeof(number));
	page = cursor.len > 0 ? atol(number) : 0;
	if (page < 0 || page >= PAGES) {
		protocol_error(rq, -32602, "no such page");
		return;
	}
	first = count * (size_t)page / PAGES;
	last = count * (size_t)(page + 1) / PAGES;
	grow_addf(&t, "\"%s\":[", key);
	for (size_t i = first; i < last; i++) {
		grow_adds(&t, i > first ? "," : "");
		add_item(&t, items[i]);
	}
	grow_adds(&t, "]");
	if (page + 1 < PAGES)
		grow_addf(&t, ",\"nextCursor\":\"%ld\"", page + 1);
	protocol_answer(rq, t.at, t.len, true);
	grow_done(&t);
}

static void read_resource(const struct request *rq)
{
	struct span uri = scan_member(rq->params, "uri");
	struct grow t = { 0 };

	size_t hidden = uri.len > 8 && !strncmp(uri.at, "\"hidden:", 8) ? 8 : 1; /* not listed */

	if (uri.len < 2 ||
	    strncmp(uri.at + hidden, protocol_scheme, strlen(protocol_scheme)) != 0) {
		protocol_error(rq, rq->modern ? -32602 : -32002, "no such resource");
		return;
	}
	grow_addf(&t, "\"contents\":[{\"uri\":%.*s,\"text\":\"of %.*s\"}]", (int)uri.len, uri.at,
		  (int)uri.len - 2, uri.at + 1);
	protocol_answer(rq, t.at, t.len, true);
	grow_done(&t);
}

static void get_prompt(const struct request *rq)
{
	struct span who = request_arg(rq, "who");
	struct grow t = { 0 };

	if (!scan_is(scan_member(rq->params, "name"), "greet")) {
		protocol_error(rq, -32602, "no such prompt");
		return;
	}
	grow_addf(
		&t,
		"\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":%.*s}}]",
		who.len > 0 ? (int)who.len : 2, who.len > 0 ? who.at : "\"\"");
	protocol_answer(rq, t.at, t.len, false);
	grow_done(&t);
}

static void subscribe(const struct request *rq)
{
	struct span uri = scan_member(rq->params, "uri");
	bool on = request_is(rq, "resources/subscribe");

	if (uri.len > 10 && !memcmp(uri.at, "\"refused:", 9)) {
		protocol_error(rq, -32002, "there is no such resource");
		return;
	}
	for (int i = 0; i < MAX_SUBS; i++) {
		if (!on && scan_is(uri, subscribed[i]))
			subscribed[i][0] = '\0';
		if (on && !subscribed[i][0]) {
			scan_copy(uri, subscribed[i], sizeof(subscribed[i]));
			break;
		}
	}
	protocol_answers(rq, "");
}

void lists_updated(struct span uri, bool forced)
{
	bool wanted = forced;

	for (int i = 0; i < MAX_SUBS; i++)
		wanted = wanted || scan_is(uri, subscribed[i]);
	if (wanted)
		protocol_say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\","
			     "\"params\":{\"uri\":%.*s}}",
			     (int)uri.len, uri.at);
}

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

bool lists_answer(const struct request *rq)
{
	bool watches =
		request_is(rq, "resources/subscribe") || request_is(rq, "resources/unsubscribe");

	if (request_is(rq, "resources/list"))
		lists_page(rq, "resources", resources, COUNT(resources));
	else if (request_is(rq, "resources/templates/list"))
		lists_page(rq, "resourceTemplates", templates, COUNT(templates));
	else if (request_is(rq, "prompts/list"))
		lists_page(rq, "prompts", prompts, COUNT(prompts));
	else if (request_is(rq, "resources/read"))
		read_resource(rq);
	else if (request_is(rq, "prompts/get"))
		get_prompt(rq);
	else if (request_is(rq, "completion/complete"))
		protocol_answers(rq, "\"completion\":{\"values\":[\"one\",\"two\"],\"total\":2,"
				     "\"hasMore\":false}");
	else if (!rq->modern && watches)
		subscribe(rq);
	else
		return false;
	return true;
}
