/* desk_tasks.c - tasks of several servers.
 *
 * Each server chooses the ids of its tasks. If one server of the session has tasks, its ids are
 * passed on as they are. If several servers have tasks, the client sees "kN." and the id, where N
 * is the number of the server (struct backend).
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/emit.h"
#include "base/mem.h"
#include "hub/desk_internal.h"
#include "rpc/message.h"
#include "session/pool.h"

#define RELATED_TASK "io.modelcontextprotocol/related-task"

/* The only server with tasks; NULL: none, or several. */
static struct lease *tasks_only(struct desk *d, unsigned *out_count)
{
	struct lease *only = NULL;
	size_t at = 0;

	*out_count = 0;
	for (struct lease *l = desk_each(d, &at); l; l = desk_each(d, &at)) {
		if (!(backend_of(d, l)->can & OFFER_TASKS))
			continue;
		only = l;
		++*out_count;
	}
	return *out_count == 1 ? only : NULL;
}

bool tasks_are_wrapped(struct desk *d)
{
	unsigned count;

	tasks_only(d, &count);
	return count > 1;
}

/* --- ids in messages of servers --- */

struct places { /* where ids begin */
	const char **at;
	size_t count;
};

static void places_add(struct places *p, struct json id)
{
	if (json_type(id) != JSON_STRING)
		return;
	p->at = mem_grow(p->at, p->count + 1, sizeof(*p->at));
	p->at[p->count++] = id.at + 1;
}

static int places_compare(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;

	return x < y ? -1 : x > y;
}

struct json tasks_related(struct json params)
{
	return json_get(json_get(json_get(params, "_meta"), RELATED_TASK), "taskId");
}

static void places_find(struct places *p, struct json v)
{
	struct json_iter it = json_iter(json_get(v, "tasks"));

	places_add(p, json_get(v, "taskId"));
	places_add(p, json_get(json_get(v, "task"), "taskId"));
	places_add(p, tasks_related(v));
	while (json_each(&it))
		places_add(p, json_get(it.value, "taskId"));
	if (p->count)
		qsort(p->at, p->count, sizeof(*p->at), places_compare);
}

bool tasks_wrap(const struct backend *b, struct json v, struct buf *out)
{
	struct places p = { .at = NULL };
	const char *from = v.at;
	bool found;

	places_find(&p, v);
	found = p.count > 0;
	for (size_t i = 0; i < p.count; i++) {
		buf_add(out, from, (size_t)(p.at[i] - from));
		buf_addf(out, "k%u.", b->number);
		from = p.at[i];
	}
	if (found)
		buf_add(out, from, (size_t)(v.at + v.len - from));
	free(p.at);
	return found;
}

void tasks_answer(struct errand *e, const struct backend *b, const struct forward_done *done)
{
	AUTO(buf_done) struct buf line = BUF_INIT(BUF_ANY_SIZE), result = BUF_INIT(BUF_ANY_SIZE);
	const struct message *m = done->line;
	size_t before = (size_t)(m->result.at - m->whole.at);
	const char *reason;
	struct message wrapped;

	if (m->kind != MESSAGE_RESULT || !tasks_wrap(b, m->result, &result)) {
		errand_answer(e, m, done->era);
		return;
	}
	buf_add(&line, m->whole.at, before);
	buf_add(&line, result.data, result.len);
	buf_add(&line, m->result.at + m->result.len, m->whole.len - before - m->result.len);
	if (message_parse(line.data, line.len, &wrapped, &reason) < 0)
		errand_fail(e, RPC_INTERNAL, "the answer of the server could not be used");
	else
		errand_answer(e, &wrapped, done->era);
}

/* --- requests about a task --- */

/* The server and the real id of an id that was wrapped. */
static struct lease *tasks_find(struct desk *d, const char *id, const char **out_real)
{
	unsigned number;
	int used = 0;

	if (sscanf(id, "k%u.%n", &number, &used) != 1 || used == 0)
		return NULL;
	RING_EACH(r, &d->backends) {
		struct backend *b = CONTAINER_OF(r, struct backend, in_desk);

		if (b->number == number) {
			*out_real = id + used;
			return backend_lease(d, b);
		}
	}
	return NULL;
}

void tasks_errand(struct errand *e)
{
	struct desk *d = e->desk;
	unsigned count;
	struct lease *only = tasks_only(d, &count), *l = desk_only(d);
	AUTO(mem_drop) char *id = NULL;
	const char *real = NULL;

	if (e->server || l) {
		route_errand(e);
		return;
	}
	if (!json_string(errand_name(e), &id)) {
		errand_fail(e, RPC_BAD_PARAMS, "the request has no taskId");
	} else if (only) {
		errand_send(e, only, NULL);
	} else if ((l = tasks_find(d, id, &real))) {
		errand_send_renamed(e, l, errand_name(e), real);
	} else {
		errand_fail(
			e, count ? RPC_BAD_PARAMS : RPC_UNKNOWN_METHOD,
			count ? "the session has no task '%.200s'"
			      : "no server of the session has tasks; task '%.200s' is not known",
			id);
	}
}

/* --- tasks/list --- */

static void tasks_on_all(struct errand *e, struct gather *g)
{
	AUTO(buf_done) struct buf all = BUF_INIT(BUF_ANY_SIZE);
	bool first = true;

	buf_adds(&all, "{\"tasks\":[");
	for (size_t i = 0; i < g->count; i++) {
		const struct piece *p = &g->pieces[i];

		if (p->code != KILLICK_OK) {
			notes_log(e->desk, NOTES_WARNING, p->text ? p->text : "");
			continue;
		}
		if (p->page.len == 0)
			continue;
		buf_adds(&all, first ? "" : ",");
		buf_add(&all, p->page.data, p->page.len);
		first = false;
	}
	buf_adds(&all, "]}");
	errand_answer_result(e, (struct json){ all.data, all.len });
}

int tasks_add_page(const struct backend *b, struct json result, struct buf *out)
{
	AUTO(buf_done) struct buf wrapped = BUF_INIT(BUF_ANY_SIZE);
	struct json_iter it;
	int r = 0;

	if (tasks_wrap(b, result, &wrapped))
		result = (struct json){ wrapped.data, wrapped.len };
	it = json_iter(json_get(result, "tasks"));
	while (r == 0 && json_each(&it)) {
		r = out->len ? buf_add(out, ",", 1) : 0;
		if (r == 0)
			r = buf_add(out, it.value.at, it.value.len);
	}
	return r;
}

void tasks_list_errand(struct errand *e)
{
	struct desk *d = e->desk;
	unsigned count;
	struct lease *only = tasks_only(d, &count);
	struct json cursor = json_get(errand_message(e)->params, "cursor");

	if (e->server || desk_only(d))
		route_errand(e);
	else if (only)
		errand_send(e, only, NULL);
	else if (count == 0)
		errand_fail(e, RPC_UNKNOWN_METHOD, "no server of the session has tasks");
	else if (cursor.at && json_type(cursor) != JSON_NULL)
		errand_fail(e, RPC_BAD_PARAMS, "unknown cursor: the whole list is one page");
	else
		gather_begin(e, &(struct gather_spec){ .op = KILLICK_RAW,
						       .can = OFFER_TASKS,
						       .m = errand_message(e),
						       .on_all = tasks_on_all });
}
