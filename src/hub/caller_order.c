/* caller_order.c - the methods server.restart, server.stop and server.rest: see hub_internal.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "hub/hub_internal.h"
#include "session/order.h"
#include "session/report.h"
#include "session/runtime.h"
#include "session/server.h"

typedef void (*caller_order_fn)(struct server *sv, struct server_order *o);

struct caller_order {
	struct server_order order;
	unsigned number; /* of the server */
	char name[CONFIG_NAME_MAX + 1];
	struct answer *answer;
};

/* Find the server that the member names: by its id, or by a name that only one server has. NULL:
 * not found, and e has the reason. */
static struct server *caller_find_server(struct hub *h, struct json name, struct err *e)
{
	unsigned number = hub_id_read(name, 'v'), count = 0;
	struct server *found = NULL;
	char text[80];

	RING_EACH(r, &h->k->pool.servers) {
		struct server *sv = CONTAINER_OF(r, struct server, in_pool);

		if (sv->number == number)
			return sv;
		if (json_is(name, sv->recipe.name)) {
			found = sv;
			count++;
		}
	}
	json_string_into(name, text, sizeof(text));
	if (count > 1)
		err_set(e, RPC_BAD_PARAMS, "%u servers are called '%s'; give an id of server.list",
			count, text);
	else if (!count)
		err_set(e, HUB_NOT_FOUND, "there is no server '%s'; server.list names the servers",
			text);
	return count == 1 ? found : NULL;
}

/* Write the ending as one object of killick_report_json. */
static void caller_emit_ending(struct emit *j, const char *server, const struct ending *ending)
{
	struct endings list = { .count = 0 };
	struct killick_report *report;
	AUTO(mem_drop) char *text = NULL;
	struct json_fault fault;
	struct json all, one;

	endings_add(&list, "", server, ending);
	report = report_new(&list, loop_now_us());
	text = killick_report_json(report);
	killick_report_free(report);
	json_check(text, strlen(text), 0, &all, &fault);
	one = json_find(all, "endings.0");
	emit_json(j, "ending", one.at, one.len);
}

static void caller_order_done(struct server_order *so, const struct ending *ending,
			      const struct killick_error *e)
{
	struct caller_order *o = CONTAINER_OF(so, struct caller_order, order);
	const struct reply *r = &o->answer->reply;
	struct emit j;
	char id[16];

	if (e->code) {
		reply_error(r, HUB_FAILED, "%s", e->text);
	} else if (reply_begin(r, &j)) {
		snprintf(id, sizeof(id), "v%u", o->number);
		emit_str(&j, "server", id);
		if (ending)
			caller_emit_ending(&j, o->name, ending);
		else
			emit_null(&j, "ending");
		reply_end(r, &j);
	}
	answer_free(o->answer);
	free(o);
}

static void caller_order_gone(void *ctx)
{
	struct caller_order *o = ctx;

	server_order_forget(&o->order);
	answer_free(o->answer);
	free(o);
}

static void caller_order(struct caller *c, const struct reply *r, struct json params,
			 caller_order_fn fn)
{
	struct caller_param p = { .name = "server", .type = JSON_STRING, .required = true };
	struct server *sv = NULL;
	struct err e = ERR_INIT;
	struct caller_order *o;

	if (caller_params(params, &p, 1, &e) == 0)
		sv = caller_find_server(c->hub, p.value, &e);
	if (!sv) {
		caller_refuse(r, &e);
		return;
	}
	o = mem_grow(NULL, 1, sizeof(*o));
	*o = (struct caller_order){ .order.on_done = caller_order_done, .number = sv->number };
	snprintf(o->name, sizeof(o->name), "%s", sv->recipe.name);
	o->answer = answer_new(r, caller_order_gone, o);
	if (o->answer)
		fn(sv, &o->order);
	else
		free(o);
}

void caller_on_restart(void *ctx, const struct reply *r, struct json params)
{
	caller_order(ctx, r, params, server_restart);
}

void caller_on_stop(void *ctx, const struct reply *r, struct json params)
{
	caller_order(ctx, r, params, server_stop);
}

void caller_on_rest(void *ctx, const struct reply *r, struct json params)
{
	caller_order(ctx, r, params, server_rest);
}
