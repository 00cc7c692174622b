/* lists.h - the lists of one kind (tools, resources, prompts) of all servers, requested at once.
 *
 * Life: lists_get -> lists_of ... -> lists_done.
 */
#pragma once

#include "talk.h"

struct list {
	struct killick_result *result; /* NULL: not requested, or failed */
};
struct lists {
	struct list *list; /* one per server of talk.status */
	size_t count;
};
#define LISTS_INIT                                                                                 \
	{                                                                                          \
		.list = NULL                                                                       \
	}

/* Ask every ready server that has `capability`. Failures are printed. False: interrupted. */
bool lists_get(struct talk *t, enum killick_op op, const char *capability, struct lists *out);

/* Returns the array `key` of server i, or JSON_NONE. */
struct json lists_of(const struct lists *l, size_t i, const char *key);
/* Returns the number of items of all servers. */
size_t lists_count(const struct lists *l, const char *key);

/* Find the only server with an item in array `key` whose `member` is `value`; *out_server is
 * borrowed from the status. False: no server or several servers have such an item; an error was
 * printed. */
bool lists_owner(struct talk *t, const struct lists *l, const char *key, const char *member,
		 const char *value, const char **out_server);

struct list_kind {
	enum killick_op op;
	const char *capability, *key; /* "resources", "resourceTemplates" */
};
/* Print these lists as one JSON array with an object per server, items as the servers wrote them:
 * [{"server":"files","tools":[...]}]. A server that failed has an "error" instead. */
void lists_json(struct talk *t, const struct list_kind *kinds, size_t count);

void lists_done(struct lists *l);
