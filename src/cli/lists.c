/* lists.c - see lists.h */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/emit.h"
#include "base/mem.h"
#include "lists.h"
#include "show.h"
#include "talk_config.h"

enum { LIST_KINDS = 4 };

bool lists_get(struct talk *t, enum killick_op op, const char *capability, struct lists *out)
{
	size_t count = t->status->count, asked = 0;
	AUTO(mem_drop) struct talk_ask *asks = mem_grow(NULL, count, sizeof(*asks));
	AUTO(mem_drop) size_t *where = mem_grow(NULL, count, sizeof(*where));

	for (size_t i = 0; i < count; i++) {
		const struct killick_server_status *sv = t->status->servers[i];

		if (!talk_is_ready(sv) || !talk_offers(sv, capability))
			continue;
		where[asked] = i;
		asks[asked++] =
			(struct talk_ask){ .rq = KILLICK_REQUEST(.op = op, .server = sv->name) };
	}
	if (!talk_all(t, asks, asked))
		return false;
	out->count = count;
	out->list = mem_grow(NULL, count, sizeof(*out->list));
	memset(out->list, 0, count * sizeof(*out->list));
	for (size_t i = 0; i < asked; i++) {
		struct killick_result *r = asks[i].result;

		if (killick_result_code(r) == KILLICK_OK) {
			out->list[where[i]].result = r;
			continue;
		}
		talk_refused(t, r);
		killick_result_free(r);
	}
	return true;
}

struct json lists_of(const struct lists *l, size_t i, const char *key)
{
	const struct killick_result *r = i < l->count ? l->list[i].result : NULL;

	return r ? json_get(talk_json(r), key) : JSON_NONE;
}

size_t lists_count(const struct lists *l, const char *key)
{
	size_t n = 0;

	for (size_t i = 0; i < l->count; i++)
		n += json_count(lists_of(l, i, key));
	return n;
}

static bool has_item(struct json items, const char *member, const char *value)
{
	struct json_iter it = json_iter(items);

	while (json_each(&it))
		if (json_is(json_get(it.value, member), value))
			return true;
	return false;
}

bool lists_owner(struct talk *t, const struct lists *l, const char *key, const char *member,
		 const char *value, const char **out_server)
{
	size_t count = 0;

	for (size_t i = 0; i < l->count; i++)
		if (has_item(lists_of(l, i, key), member, value)) {
			*out_server = t->status->servers[i]->name;
			count++;
		}
	if (count == 1)
		return true;
	if (count == 0) {
		talk_missing_all(t); /* a server that failed may have the item */
		talk_say(t,
			 "no server lists '%.200s'; 'killick %s' shows the lists, and "
			 "'--server NAME' asks that server anyway",
			 value, key);
	} else {
		talk_say(t, "%zu servers have '%.200s'; give '--server NAME'", count, value);
	}
	talk_fail(t, EXIT_USAGE);
	return false;
}

static void json_server(struct emit *j, const struct talk *t, size_t i, const struct lists *lists,
			const struct list_kind *kinds, size_t count)
{
	const struct killick_server_status *sv = t->status->servers[i];
	char named[1024];

	emit_open(j, NULL, '{');
	emit_str(j, "server", sv->name);
	for (size_t k = 0; k < count && talk_is_ready(sv); k++) {
		struct json items = lists_of(&lists[k], i, kinds[k].key);

		if (items.at)
			emit_raw(j, kinds[k].key, items.at, items.len);
		else
			emit_raw(j, kinds[k].key, "[]", 2);
	}
	if (!talk_is_ready(sv))
		emit_str(j, "error",
			 *sv->error ? talk_config_say(t, sv->error, named, sizeof(named))
				    : killick_state_name(sv->state));
	emit_close(j);
}

void lists_json(struct talk *t, const struct list_kind *kinds, size_t count)
{
	struct lists lists[LIST_KINDS] = { LISTS_INIT };
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_LINES(&text);
	bool whole = true;

	assert(count <= LIST_KINDS);
	talk_missing_all(t);
	for (size_t k = 0; k < count && whole; k++)
		whole = lists_get(t, kinds[k].op, kinds[k].capability, &lists[k]);
	if (whole) {
		emit_open(&j, NULL, '[');
		for (size_t i = 0; i < t->status->count; i++)
			json_server(&j, t, i, lists, kinds, count);
		emit_close(&j);
		show_emitted(&j);
	}
	for (size_t k = 0; k < count; k++)
		lists_done(&lists[k]);
}

void lists_done(struct lists *l)
{
	for (size_t i = 0; i < l->count; i++)
		killick_result_free(l->list[i].result);
	free(l->list);
	*l = (struct lists)LISTS_INIT;
}
