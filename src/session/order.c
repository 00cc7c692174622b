/* order.c - see order.h */
#include "session/order.h"

#include <assert.h>

#include "session/rest.h"
#include "session/runtime.h"
#include "session/server.h"

static void order_finish(struct server *sv, struct server_order *o, const struct killick_error *e)
{
	const struct killick_error good = { .code = KILLICK_OK };

	ring_remove(&o->in_server);
	o->on_done(o, o->ended ? &sv->ending : NULL, e ? e : &good);
}

static void order_refuse(struct server *sv, struct server_order *o, const char *why)
{
	struct killick_error e;

	error_set(&e, KILLICK_ERR_BUSY, "server '%s' %s", sv->recipe.name, why);
	o->on_done(o, NULL, &e);
}

/* The server has a process, which is to be ended. */
static void order_end(struct server *sv, struct server_order *o)
{
	static const enum ending_why whys[] = { [ORDER_REST] = ENDING_REST,
						[ORDER_STOP] = ENDING_STOP,
						[ORDER_RESTART] = ENDING_RESTART };

	if (sv->active == 0 || sv->state == KILLICK_DRAINING) {
		order_refuse(sv, o, "is being ended, because its last session leaves");
	} else if (o->kind == ORDER_REST && sv->state != KILLICK_READY) {
		order_refuse(sv, o, "is starting; try again when it is ready");
	} else if (o->kind == ORDER_REST && server_is_busy(sv)) {
		order_refuse(sv, o, "has requests in flight; try again later, or stop it");
	} else if (o->kind == ORDER_REST) {
		ring_add(&sv->orders, &o->in_server);
		rest_begin(sv);
	} else {
		ring_add(&sv->orders, &o->in_server);
		sv->ordered = whys[o->kind];
		server_step(sv, EV_ORDER);
	}
}

/* The server has no process. */
static void order_idle(struct server *sv, struct server_order *o)
{
	struct killick_error e;

	if (o->kind != ORDER_RESTART) {
		if (ring_is_in(&sv->in_queue) || sv->timer.slot || sv->awaits)
			order_refuse(sv, o, "is about to start; try again when it is ready");
		else
			order_finish(sv, o, NULL);
		return;
	}
	if (sv->active == 0) {
		order_refuse(sv, o, "is not used by any session");
		return;
	}
	ring_add(&sv->orders, &o->in_server);
	server_forgive(sv);
	server_forgive_sessions(sv);
	if (server_use(sv, &e) < 0)
		order_finish(sv, o, &e);
}

static void order_begin(struct server *sv, struct server_order *o, enum order_kind kind)
{
	assert(o->on_done);
	o->kind = kind;
	o->ended = false;
	o->in_server = (struct ring){ .next = NULL };
	if (sv->state == KILLICK_STOPPING)
		order_refuse(sv, o, "is being ended; try again in a moment");
	else if (sv->link)
		order_end(sv, o);
	else
		order_idle(sv, o);
}

void server_rest(struct server *sv, struct server_order *o)
{
	order_begin(sv, o, ORDER_REST);
}

void server_stop(struct server *sv, struct server_order *o)
{
	order_begin(sv, o, ORDER_STOP);
}

void server_restart(struct server *sv, struct server_order *o)
{
	order_begin(sv, o, ORDER_RESTART);
}

void server_order_forget(struct server_order *o)
{
	ring_remove(&o->in_server);
}

static void orders_finish(struct server *sv, bool restarts, const struct killick_error *e)
{
	RING_EACH(r, &sv->orders) {
		struct server_order *o = CONTAINER_OF(r, struct server_order, in_server);

		if ((o->kind == ORDER_RESTART) == restarts)
			order_finish(sv, o, e);
	}
}

void orders_on_end(struct server *sv)
{
	RING_EACH(r, &sv->orders)
		CONTAINER_OF(r, struct server_order, in_server)->ended = true;
	orders_finish(sv, false, NULL);
}

void orders_on_ready(struct server *sv)
{
	orders_finish(sv, true, NULL);
}

void orders_on_failure(struct server *sv)
{
	struct killick_error e = sv->error;

	if (!e.code)
		error_set(&e, KILLICK_ERR_CLOSED, "server '%s' is not used by any session any more",
			  sv->recipe.name);
	orders_finish(sv, false, NULL);
	orders_finish(sv, true, &e);
}
