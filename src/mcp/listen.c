/* listen.c - the modern stream on which a server reports changes.
 *
 * One request, subscriptions/listen, names the set of all watched lists and resources and stays
 * open. When the set changes a new request is made; the old request is cancelled when the new one
 * was acknowledged, so that no change is missed in between. Several changes of the set in one turn
 * of the loop make one request. A stream that the server ends is opened again, with a delay that
 * doubles each time.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "mcp/client_internal.h"

#define DELAY_MIN_MS 1000
#define DELAY_MAX_MS 60000

static void on_listen_time(struct loop_timer *t);

bool listen_has(const struct client *c)
{
	const struct ring *at = NULL;

	return (c->can & (CAN_TOOLS_CHANGE | CAN_PROMPTS_CHANGE | CAN_RESOURCES_CHANGE)) ||
	       subscriptions_each(c, &at);
}

static void set_timer(struct client *c, int64_t delay_ms)
{
	loop_timer_set(c->loop, &c->listen_timer, delay_ms, on_listen_time);
}

void listen_changed(struct client *c)
{
	assert(c->era == ERA_MODERN && c->state == CLIENT_READY);
	c->generation++;
	c->listen_delay_ms = DELAY_MIN_MS;
	set_timer(c, 0);
}

/* Cancel the request of the stream. */
static void client_listen_leave(struct listen *l)
{
	struct client *c = l->client;

	if (rpc_id(&l->rq))
		call_cancelled(c, rpc_withdraw(&c->rpc, &l->rq, NULL), "there is a newer one");
	rpc_close(&l->rq);
}

static void leave_before(struct client *c, uint64_t generation)
{
	for (int i = 0; i < LISTEN_MAX; i++)
		if (rpc_is_open(&c->listens[i].rq) && c->listens[i].generation < generation)
			client_listen_leave(&c->listens[i]);
}

/* Returns a free slot. If there is none, the oldest stream is cancelled. */
static struct listen *client_listen_find_place(struct client *c)
{
	struct listen *oldest = &c->listens[0];

	for (int i = 0; i < LISTEN_MAX; i++) {
		if (!rpc_is_open(&c->listens[i].rq))
			return &c->listens[i];
		if (c->listens[i].generation < oldest->generation)
			oldest = &c->listens[i];
	}
	client_listen_leave(oldest);
	return oldest;
}

static struct listen *find_by_id(struct client *c, struct json id)
{
	int64_t number;

	if (!json_int(id, &number) || number <= 0)
		return NULL;
	for (int i = 0; i < LISTEN_MAX; i++)
		if (rpc_is_open(&c->listens[i].rq) && rpc_id(&c->listens[i].rq) == (uint64_t)number)
			return &c->listens[i];
	return NULL;
}

/* While a new stream replaces an old one, both may report the same change. A report counts only if
 * its stream is open, or if the server did not name a stream. */
bool listen_is_open(struct client *c, struct json params)
{
	struct json id = json_get(json_get(params, "_meta"), META("subscriptionId"));

	return !id.at || find_by_id(c, id);
}

/* Returns a call that waits for a stream of this generation or an older one; NULL: no call
 * waits. */
static struct client_call *find_waiting(struct client *c, uint64_t generation)
{
	for (struct ring *n = c->rpc.open.next; n != &c->rpc.open; n = n->next) {
		struct rpc_request *rq = CONTAINER_OF(n, struct rpc_request, node);
		struct client_call *call = CONTAINER_OF(rq, struct client_call, rq);

		if (rq->handler == &call_handler && call->state == CALL_LISTENING &&
		    call->generation <= generation)
			return call;
	}
	return NULL;
}

static bool has_newer(const struct client *c, uint64_t generation)
{
	for (int i = 0; i < LISTEN_MAX; i++)
		if (rpc_is_open(&c->listens[i].rq) && c->listens[i].generation > generation)
			return true;
	return false;
}

/* The server has ended the stream. Open another one, unless a newer stream exists. */
static void client_listen_ended(struct listen *l)
{
	struct client *c = l->client;

	rpc_close(&l->rq);
	if (has_newer(c, l->generation) || c->listen_timer.slot)
		return;
	if (loop_now_us() - l->since_us > DELAY_MAX_MS * 1000)
		c->listen_delay_ms = DELAY_MIN_MS;
	set_timer(c, c->listen_delay_ms);
	c->listen_delay_ms =
		c->listen_delay_ms >= DELAY_MAX_MS / 2 ? DELAY_MAX_MS : 2 * c->listen_delay_ms;
}

/* The server refused the stream: fail the subscriptions that wait for it. The stream is not
 * requested again until the set changes. */
static void refused(struct listen *l, const struct message *m)
{
	struct client *c = l->client;
	struct client_result r = { .code = KILLICK_ERR_ANSWER,
				   .json = m->error,
				   .text = "the server refused the subscription" };
	char text[160] = "";

	rpc_close(&l->rq);
	json_string_into(json_get(m->error, "message"), text, sizeof(text));
	odd_warn(c, ODD_LISTEN, "the server does not tell of changes: %s", text);
	for (struct client_call *call; (call = find_waiting(c, l->generation)) != NULL;)
		call_finish(call, &r);
}

static void client_listen_on_answer(struct rpc_request *rq, const struct message *m)
{
	struct listen *l = CONTAINER_OF(rq, struct listen, rq);

	if (m->kind == MESSAGE_ERROR)
		refused(l, m);
	else
		client_listen_ended(l);
}

static void client_listen_on_lost(struct rpc_request *rq, const char *why)
{
	(void)why;
	client_listen_ended(CONTAINER_OF(rq, struct listen, rq));
}

static const struct rpc_handler listen_handler = {
	.on_answer = client_listen_on_answer,
	.on_lost = client_listen_on_lost,
};

static void issue(struct client *c)
{
	struct listen *l = client_listen_find_place(c);
	struct emit j;
	int r;

	*l = (struct listen){ .client = c,
			      .generation = c->generation,
			      .since_us = loop_now_us(),
			      .rq.standing = true };
	rpc_open(&c->rpc, &l->rq, &listen_handler, -1);
	r = rpc_begin(&c->rpc, &l->rq, "subscriptions/listen", &j);
	if (r == 0) {
		params_listen(&j, c);
		r = rpc_send(&c->rpc, &l->rq, &j);
	}
	if (r < 0) /* the server does not read: try again later */
		client_listen_ended(l);
}

static void on_listen_time(struct loop_timer *t)
{
	struct client *c = CONTAINER_OF(t, struct client, listen_timer);

	if (listen_has(c))
		issue(c);
	else
		leave_before(c, c->generation + 1);
}

static bool is_accepted(const char *uri, struct json filter)
{
	struct json_iter it = json_iter(json_get(filter, "resourceSubscriptions"));

	if (json_type(filter) != JSON_OBJECT)
		return true; /* the server did not say which parts it accepts */
	while (json_each(&it))
		if (json_is(it.value, uri))
			return true;
	return false;
}

void listen_acknowledged(struct client *c, struct json params)
{
	struct json filter = json_get(params, "notifications");
	struct listen *l =
		find_by_id(c, json_get(json_get(params, "_meta"), META("subscriptionId")));
	struct client_result r = { .code = KILLICK_OK, .json = { "{}", 2 } };
	uint64_t generation;

	if (!l || l->acknowledged) {
		odd_warn(c, ODD_LISTEN, "the server acknowledged a subscription that is not open");
		return;
	}
	l->acknowledged = true;
	generation = l->generation;
	leave_before(c, generation);
	for (struct client_call *call; (call = find_waiting(c, generation)) != NULL;) {
		if (is_accepted(call->name, filter))
			call_finish(call, &r);
		else
			call_fail(call, KILLICK_ERR_PROTOCOL,
				  "the server did not accept the subscription");
	}
}

bool listen_cancelled(struct client *c, struct json id)
{
	struct listen *l = find_by_id(c, id);

	if (!l)
		return false;
	rpc_withdraw(&c->rpc, &l->rq, NULL); /* a result may still follow */
	client_listen_ended(l);
	return true;
}

void listen_done(struct client *c)
{
	loop_timer_stop(c->loop, &c->listen_timer);
	for (int i = 0; i < LISTEN_MAX; i++) {
		struct listen *l = &c->listens[i];

		if (rpc_id(&l->rq))
			rpc_withdraw(&c->rpc, &l->rq, NULL);
		rpc_close(&l->rq);
	}
}
