/* call.c - functions of killick.h: to begin a request, to wait for its result, to cancel it. */
#include <string.h>

#include "killick/killick.h"
#include "api/method.h"
#include "api/pull.h"
#include "api/sized.h"
#include "base/json.h"
#include "session/call.h"
#include "session/result.h"
#include "session/session.h"

/* What the `name` of a request is; NULL: the operation needs none. */
static const char *const name_kinds[] = {
	[KILLICK_CALL] = "a tool",
	[KILLICK_READ] = "a resource: its uri",
	[KILLICK_PROMPT] = "a prompt",
	[KILLICK_LOG_LEVEL] = "a log level",
	[KILLICK_SUBSCRIBE] = "a resource: its uri",
	[KILLICK_UNSUBSCRIBE] = "a resource: its uri",
	[KILLICK_RAW] = "a method",
};
_Static_assert(sizeof(name_kinds) / sizeof(*name_kinds) == KILLICK_RAW + 1, "RAW is the last");

/* Read a member of a request that is the text of a JSON object; NULL: JSON_NONE. */
static int request_read_object(const char *member, const char *text, struct json *out,
			       struct killick_error *e)
{
	struct json_fault fault;

	*out = JSON_NONE;
	if (!text)
		return 0;
	if (json_check(text, strlen(text), 0, out, &fault) < 0)
		return error_set(e, KILLICK_ERR_USAGE, "%s is not JSON: %s, at byte %zu", member,
				 fault.reason, fault.offset + 1);
	if (json_type(*out) != JSON_OBJECT)
		return error_set(e, KILLICK_ERR_USAGE, "%s is JSON, but not an object", member);
	return 0;
}

/* Copy the request of the host to *rq and check it. The host may have been compiled with another
 * version of killick.h. The args and the meta are checked only here, without the lock. Returns 0 or
 * KILLICK_ERR_USAGE. */
static int request_check(const struct killick_session *s, const struct killick_request *given,
			 struct killick_request *rq, struct json *out_args, struct json *out_meta,
			 struct killick_error *e)
{
	static const struct sized_name name = { "killick_request", "KILLICK_REQUEST" };

	if (!s || !given)
		return error_set(e, KILLICK_ERR_USAGE, "%s is NULL: give the %s", s ? "rq" : "s",
				 s ? "request" : "session");
	if (sized_read(rq, sizeof(*rq), given, &name, e) < 0)
		return KILLICK_ERR_USAGE;
	if ((unsigned)rq->op > KILLICK_RAW)
		return error_set(e, KILLICK_ERR_USAGE, "op is %d, which is no value of killick_op",
				 (int)rq->op);
	if (rq->timeout_ms < -1)
		return error_set(e, KILLICK_ERR_USAGE,
				 "timeout_ms is %ld: give 0, -1 or a number of milliseconds",
				 rq->timeout_ms);
	if (s->k->pulls && (rq->on_done || rq->on_progress))
		return error_set(e, KILLICK_ERR_USAGE, PULL_NO_CALLBACKS);
	if (name_kinds[rq->op] && !rq->name)
		return error_set(e, KILLICK_ERR_USAGE, "name is NULL: this request needs %s",
				 name_kinds[rq->op]);
	if (rq->op == KILLICK_RAW && !method_is_free(rq->name))
		return error_set(e, KILLICK_ERR_USAGE,
				 "'%.100s' is not a valid method, or is reserved for the library",
				 rq->name);
	if (rq->op == KILLICK_COMPLETE && !rq->args)
		return error_set(e, KILLICK_ERR_USAGE,
				 "args is NULL: give the params of completion/complete");
	if (request_read_object("args", rq->args, out_args, e))
		return KILLICK_ERR_USAGE;
	return request_read_object("meta", rq->meta, out_meta, e);
}

int killick_start(struct killick_session *s, const struct killick_request *given,
		  struct killick_call **out, struct killick_error *e)
{
	struct killick_request rq = { .size = 0 };
	struct killick_call *c;
	struct json args = JSON_NONE, meta = JSON_NONE;
	int r = request_check(s, given, &rq, &args, &meta, e);

	if (r == 0 && s->k->pulls) {
		rq.on_done = pull_on_done;
		rq.on_progress = rq.wants_progress ? pull_on_progress : NULL;
	}
	if (r == 0 && !out && !rq.on_done)
		r = error_set(e, KILLICK_ERR_USAGE,
			      "out and on_done are NULL: nobody would get the result");
	if (r == 0)
		r = runtime_enter(s->k, e);
	if (r)
		return r;
	r = runtime_want(s->k, rq.on_done || rq.on_progress, e);
	if (r < 0) {
		runtime_leave(s->k);
		return r;
	}
	c = call_new(s, &rq, args, meta);
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

/* The request was not made: the result has the reason. */
static int call_give_error(const struct killick_error *e, struct killick_result **out)
{
	if (out)
		*out = result_new(&(struct result_spec){ .code = e->code, .error = e->text });
	return e->code;
}

int killick_do(struct killick_session *s, const struct killick_request *given,
	       struct killick_result **out)
{
	struct killick_request rq = { .size = 0 };
	struct killick_call *c;
	struct killick_result *result;
	struct killick_error e;
	struct json args = JSON_NONE, meta = JSON_NONE;

	if (request_check(s, given, &rq, &args, &meta, &e) || runtime_enter_blocking(s->k, &e) < 0)
		return call_give_error(&e, out);
	if (runtime_want(s->k, rq.on_progress, &e) < 0) {
		runtime_leave(s->k);
		return call_give_error(&e, out);
	}
	c = call_new(s, &rq, args, meta);
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
	struct killick_error e;
	struct killick *k;

	if (!c) {
		error_set(&e, KILLICK_ERR_USAGE, "c is NULL: give the call");
		return call_give_error(&e, out);
	}
	k = c->session->k;
	if (runtime_enter_blocking(k, &e) < 0)
		return call_give_error(&e, out);
	if (c->rq.on_done || c->waited || c->waiter) {
		error_set(&e, KILLICK_ERR_USAGE,
			  c->rq.on_done ? "the result of this call goes to on_done, or is an item"
					: "another killick_wait has, or gets, the result");
		runtime_leave(k);
		return call_give_error(&e, out);
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
