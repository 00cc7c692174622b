/* call.c - functions of killick.h: to begin a request, to wait for its result, to cancel it. */
#include <string.h>

#include "killick/killick.h"
#include "api/method.h"
#include "api/pull.h"
#include "api/sized.h"
#include "base/json.h"
#include "session/call.h"
#include "session/session.h"

#define OP_COUNT (KILLICK_RAW + 1)
#define NEEDS_NAME                                                                                 \
	(1u << KILLICK_CALL | 1u << KILLICK_READ | 1u << KILLICK_PROMPT |                          \
	 1u << KILLICK_LOG_LEVEL | 1u << KILLICK_SUBSCRIBE | 1u << KILLICK_UNSUBSCRIBE |           \
	 1u << KILLICK_RAW)

/* Copy the request of the host to *rq and check it. The host may have been compiled with another
 * version of killick.h. The args are checked only here, without the lock. Returns 0 or
 * KILLICK_ERR_USAGE. */
static int request_check(const struct killick_session *s, const struct killick_request *given,
			 struct killick_request *rq, struct json *out_args)
{
	static const struct sized_name name = { "killick_request", "KILLICK_REQUEST" };
	struct json_fault fault;

	if (!s || !given || sized_read(rq, sizeof(*rq), given, &name, NULL) < 0)
		return KILLICK_ERR_USAGE;
	if ((unsigned)rq->op >= OP_COUNT || rq->timeout_ms < -1)
		return KILLICK_ERR_USAGE;
	if (s->k->pulls && (rq->on_done || rq->on_progress))
		return KILLICK_ERR_USAGE;
	if ((NEEDS_NAME >> rq->op & 1) && !rq->name)
		return KILLICK_ERR_USAGE;
	if (rq->op == KILLICK_RAW && !method_is_free(rq->name))
		return KILLICK_ERR_USAGE;
	*out_args = JSON_NONE;
	if (rq->args && (json_check(rq->args, strlen(rq->args), 0, out_args, &fault) < 0 ||
			 json_type(*out_args) != JSON_OBJECT))
		return KILLICK_ERR_USAGE;
	return rq->op == KILLICK_COMPLETE && !rq->args ? KILLICK_ERR_USAGE : 0;
}

int killick_start(struct killick_session *s, const struct killick_request *given,
		  struct killick_call **out)
{
	struct killick_request rq;
	struct killick_call *c;
	struct json args;
	int r = request_check(s, given, &rq, &args);

	if (r == 0 && s->k->pulls) {
		rq.on_done = pull_on_done;
		rq.on_progress = rq.wants_progress ? pull_on_progress : NULL;
	}
	if (r == 0 && !out && !rq.on_done)
		r = KILLICK_ERR_USAGE;
	if (r == 0)
		r = runtime_enter(s->k, NULL);
	if (r < 0)
		return r;
	r = runtime_want(s->k, rq.on_done || rq.on_progress, NULL);
	if (r < 0) {
		runtime_leave(s->k);
		return r;
	}
	c = call_new(s, &rq, args);
	c->held = out != NULL;
	if (out)
		*out = c;
	call_begin(c);
	if (rq.on_done)
		runtime_attend(s->k);
	runtime_leave(s->k);
	return 0;
}

/* With the lock: wait for the result and take it out of the call. */
static struct killick_result *call_await(struct killick_call *c)
{
	struct killick_result *r;
	struct waiter w = { .told = false };

	if (!c->over) {
		c->waiter = &w;
		waiter_wait(c->session->k, &w);
		c->waiter = NULL;
	}
	c->waited = true;
	if (c->progress)
		runtime_quiet(c->session->k, c, INT64_MAX);
	r = c->result;
	c->result = NULL;
	return r;
}

static int call_give_result(struct killick_result *r, struct killick_result **out)
{
	int code = killick_result_code(r);

	if (out)
		*out = r;
	else
		killick_result_free(r);
	return code;
}

int killick_do(struct killick_session *s, const struct killick_request *given,
	       struct killick_result **out)
{
	struct killick_request rq;
	struct killick_call *c;
	struct killick_result *result;
	struct json args;
	int r = request_check(s, given, &rq, &args);

	if (out)
		*out = NULL;
	if (r == 0)
		r = runtime_enter_blocking(s->k, NULL);
	if (r < 0)
		return r;
	r = runtime_want(s->k, rq.on_progress, NULL);
	if (r < 0) {
		runtime_leave(s->k);
		return r;
	}
	c = call_new(s, &rq, args);
	c->rq.on_done = NULL;
	c->held = true;
	call_begin(c);
	result = call_await(c);
	c->held = false;
	call_free_if_forgotten(c);
	runtime_leave(s->k);
	return call_give_result(result, out);
}

int killick_wait(struct killick_call *c, struct killick_result **out)
{
	struct killick_result *result;
	struct killick *k;
	int r;

	if (out)
		*out = NULL;
	if (!c)
		return KILLICK_ERR_USAGE;
	k = c->session->k;
	r = runtime_enter_blocking(k, NULL);
	if (r < 0)
		return r;
	if (c->rq.on_done || c->waited || c->waiter) {
		runtime_leave(k);
		return KILLICK_ERR_USAGE;
	}
	result = call_await(c);
	runtime_leave(k);
	return call_give_result(result, out);
}

void killick_cancel(struct killick_call *c)
{
	struct killick *k = c ? c->session->k : NULL;

	if (!c || runtime_enter(k, NULL) < 0)
		return;
	if (!c->over) {
		c->cancelled = true;
		if (parked_is_in(&c->parked)) {
			c->parked.fail(&c->parked, KILLICK_ERR_CANCELLED, "the call was cancelled");
		} else { /* c stays valid, because the host has its handle */
			for (size_t i = 0; i < c->part_count; i++)
				client_cancel(&c->parts[i].op);
		}
	}
	runtime_leave(k);
}

void killick_call_free(struct killick_call *c)
{
	struct killick *k = c ? c->session->k : NULL;

	if (!c || runtime_enter(k, NULL) < 0)
		return;
	c->held = false;
	call_free_if_forgotten(c);
	runtime_leave(k);
}

int killick_call_tool(struct killick_session *s, const char *server, const char *tool,
		      const char *args, struct killick_result **out)
{
	return killick_do(
		s,
		&KILLICK_REQUEST(.op = KILLICK_CALL, .server = server, .name = tool, .args = args),
		out);
}
