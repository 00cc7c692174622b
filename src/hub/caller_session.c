/* caller_session.c - the methods session.*, tool.* and mcp.request of the control API */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/strings.h"
#include "config/config.h"
#include "hub/hub_internal.h"
#include "session/pool.h"
#include "session/runtime.h"
#include "session/server.h"
#include "session/session.h"

#define LEASE_MAX_MS   (7ll * 24 * 3600 * 1000)
#define TIMEOUT_MAX_MS (24ll * 3600 * 1000)

static struct hub_session *caller_session(struct caller *c, const struct reply *r, struct json name)
{
	struct hub_session *s = hub_session_find(c->hub, name);
	char text[48] = "";

	json_string_into(name, text, sizeof(text));
	if (!s)
		reply_error(r, HUB_NOT_FOUND,
			    "there is no session '%s'; session.list names the sessions", text);
	else if (s->closing)
		reply_error(r, HUB_NOT_FOUND, "session '%s' is closing", text);
	else
		return s;
	return NULL;
}

static void caller_refuse_unopened(const struct reply *r, const struct hub_session *s)
{
	reply_error(r, HUB_FAILED, "session 's%u' is not open yet", s->number);
}

/* Read the member `session`. NULL: the request was answered with an error. */
static struct hub_session *caller_session_only(struct caller *c, const struct reply *r,
					       struct json params)
{
	struct caller_param p = { .name = "session", .type = JSON_STRING, .required = true };
	struct err e = ERR_INIT;

	if (caller_params(params, &p, 1, &e) == 0)
		return caller_session(c, r, p.value);
	caller_refuse(r, &e);
	return NULL;
}

/* --- making --- */

enum { CREATE_TAG, CREATE_LEASE, CREATE_FEATURES, CREATE_WAIT, CREATE_PID, CREATE_MEMBERS };

static int caller_read_features(const struct caller_param *p, unsigned *out, struct err *e)
{
	static const struct {
		const char *name;
		unsigned bit;
	} known[] = { { "sampling", KILLICK_SAMPLING },
		      { "elicitation", KILLICK_ELICITATION },
		      { "roots", KILLICK_ROOTS } };
	struct json_iter it = json_iter(p->value);

	while (p->value.at && json_each(&it)) {
		size_t i = 0;

		while (i < sizeof(known) / sizeof(known[0]) && !json_is(it.value, known[i].name))
			i++;
		if (i == sizeof(known) / sizeof(known[0]))
			return err_set(e, RPC_BAD_PARAMS,
				       "'features' must be an array of 'sampling', 'elicitation' "
				       "and 'roots'");
		*out |= known[i].bit;
	}
	return 0;
}

static int caller_read_wait(const struct caller_param *p, unsigned *out, struct err *e)
{
	if (p->value.at && !json_is(p->value, "settled") && !json_is(p->value, "required"))
		return err_set(e, RPC_BAD_PARAMS, "'wait' must be 'settled' or 'required'");
	*out = json_is(p->value, "required") ? KILLICK_WAIT_REQUIRED : KILLICK_WAIT_SETTLED;
	return 0;
}

static int caller_read_tag(const struct caller_param *p, char **out, struct err *e)
{
	char *tag = NULL;

	if (!p->value.at)
		return 0;
	if (!json_string(p->value, &tag) || !*tag || strlen(tag) >= OPTION_LABEL_SIZE ||
	    !config_is_printable(tag)) {
		free(tag);
		return err_set(e, RPC_BAD_PARAMS, "'tag' must be one line of 1 to %d bytes",
			       OPTION_LABEL_SIZE - 1);
	}
	*out = tag;
	return 0;
}

/* Read the params of session.create and session.attach. */
static int caller_read_session(struct caller *c, struct json params, struct hub_session_spec *out,
			       struct err *e)
{
	struct caller_param p[CREATE_MEMBERS] = {
		[CREATE_TAG] = { "tag", JSON_STRING },
		[CREATE_LEASE] = { "lease", JSON_NUMBER },
		[CREATE_FEATURES] = { "features", JSON_ARRAY },
		[CREATE_WAIT] = { "wait", JSON_STRING },
		[CREATE_PID] = { "pid", JSON_NUMBER },
	};
	int64_t pid = c->pid;
	int r = caller_params(params, p, CREATE_MEMBERS, e);

	if (r == 0)
		r = caller_number(&p[CREATE_LEASE], 1, LEASE_MAX_MS, &out->lease_ms, e);
	if (r == 0)
		r = caller_number(&p[CREATE_PID], 0, INT32_MAX, &pid, e);
	if (r == 0)
		r = caller_read_features(&p[CREATE_FEATURES], &out->answers, e);
	if (r == 0)
		r = caller_read_wait(&p[CREATE_WAIT], &out->wait, e);
	if (r == 0)
		r = caller_read_tag(&p[CREATE_TAG], &out->tag, e);
	if (r == 0)
		r = hub_source_read(c->hub, params, &out->source, e);
	if (r != 0)
		free(out->tag);
	out->pid = (long)pid;
	return r;
}

void caller_on_create(void *ctx, const struct reply *r, struct json params)
{
	struct caller *c = ctx;
	struct hub_session_spec spec = { .caller = c, .in = -1, .out = -1 };
	struct hub_session *s;
	struct err e = ERR_INIT;

	if (caller_read_session(c, params, &spec, &e) != 0 ||
	    hub_session_open(c->hub, &spec, &s, &e) < 0) {
		caller_refuse(r, &e);
		return;
	}
	if (!hub_session_await(s, r))
		hub_session_close(s, "too many requests in flight", true);
}

void caller_on_attach(void *ctx, const struct reply *r, struct json params)
{
	struct caller *c = ctx;
	struct hub_session_spec spec = { .caller = c };
	struct hub_session *s = NULL;
	struct err e = ERR_INIT;
	struct net_fds fds;
	struct emit j;

	channel_take_fds(c->channel, &fds);
	if (fds.count != 2) {
		err_set(&e, RPC_BAD_PARAMS,
			"session.attach needs two descriptors with the message (SCM_RIGHTS): the "
			"client's stdin and stdout");
	} else if (c->attached) {
		err_set(&e, RPC_INVALID_REQUEST, "this connection has attached a session already");
	} else if (caller_read_session(c, params, &spec, &e) == 0) {
		spec.lease_ms = 0;
		spec.in = fds.list[0];
		spec.out = fds.list[1];
		fds.count = 0; /* the session owns them from now on */
		hub_session_open(c->hub, &spec, &s, &e);
	}
	if (e.code) {
		net_drop_fds(&fds);
		caller_refuse(r, &e);
		return;
	}
	assert(s);
	c->attached = s;
	if (reply_begin(r, &j)) {
		hub_session_emit_names(&j, s);
		reply_end(r, &j);
	}
}

/* --- renewing, refreshing, ending --- */

void caller_on_renew(void *ctx, const struct reply *r, struct json params)
{
	struct hub_session *s = caller_session_only(ctx, r, params);
	struct emit j;

	if (!s)
		return;
	hub_session_touch(s);
	if (!reply_begin(r, &j))
		return;
	hub_session_emit_names(&j, s);
	if (s->lease_ms)
		emit_int(&j, "leaseMs", s->lease_ms);
	else
		emit_null(&j, "leaseMs");
	reply_end(r, &j);
}

static void caller_on_refresher_gone(void *ctx)
{
	struct wait *w = ctx;

	answer_free(w->answer);
	w->answer = NULL; /* the desk still has w */
}

/* A refresh that is under way. */
struct caller_refresh {
	struct hub_source source; /* of the session, if the refresh succeeds */
	size_t count;
	unsigned servers[]; /* numbers of the servers before the refresh */
};

static struct caller_refresh *caller_refresh_new(const struct hub_session *s,
						 const struct hub_source *source)
{
	const struct killick_session *ks = desk_session(s->desk);
	struct caller_refresh *f =
		mem_grow(NULL, 1, sizeof(*f) + ks->count * sizeof(f->servers[0]));

	*f = (struct caller_refresh){ .source = *source, .count = ks->count };
	for (size_t i = 0; i < ks->count; i++)
		f->servers[i] = ks->table[i]->server ? ks->table[i]->server->number : 0;
	return f;
}

/* Write the names of the servers that the refresh left as they were. */
static void caller_emit_unchanged(struct emit *j, const struct hub_session *s,
				  const struct caller_refresh *f)
{
	const struct killick_session *ks = desk_session(s->desk);

	emit_open(j, "unchanged", '[');
	for (size_t i = 0; ks && i < ks->count; i++) {
		const struct server *sv = ks->table[i]->server;

		for (size_t k = 0; sv && k < f->count; k++)
			if (f->servers[k] == sv->number)
				emit_str(j, NULL, lease_name(ks->table[i]));
	}
	emit_close(j);
}

static void caller_on_refreshed(void *ctx, struct killick_report *report,
				const struct killick_error *e)
{
	struct wait *w = ctx;
	struct hub_session *s = w->session;
	struct caller_refresh *f = w->more;
	bool failed = e && e->code;
	struct emit j;

	if (w->answer && failed) {
		reply_error(&w->answer->reply, HUB_FAILED, "%s", e->text);
	} else if (w->answer && reply_begin(&w->answer->reply, &j)) {
		hub_session_emit_names(&j, s);
		hub_report_emit(&j, report);
		caller_emit_unchanged(&j, s, f);
		hub_session_emit_servers(&j, s);
		reply_end(&w->answer->reply, &j);
	}
	hub_source_done(failed ? &f->source : &s->source);
	if (!failed)
		s->source = f->source;
	free(f);
	killick_report_free(report);
	hub_session_touch(s);
	wait_free(w);
}

void caller_on_refresh(void *ctx, const struct reply *r, struct json params)
{
	struct caller *c = ctx;
	struct hub_session *s = caller_session_only(c, r, params);
	struct hub_source source;
	struct config config;
	struct err e = ERR_INIT;
	struct wait *w;

	if (!s)
		return;
	if (!s->opened) {
		caller_refuse_unopened(r, s);
		return;
	}
	if (hub_source_read(c->hub, params, &source, &e) != 0) {
		caller_refuse(r, &e);
		return;
	}
	if (hub_source_load(c->hub, &source, &config, &e) < 0) {
		hub_source_done(&source);
		caller_refuse(r, &e);
		return;
	}
	w = wait_new(s, &s->refreshes, r, caller_on_refresher_gone);
	if (!w) {
		hub_source_done(&source);
		config_done(&config);
		return;
	}
	w->more = caller_refresh_new(s, &source);
	desk_refresh(s->desk, &config, caller_on_refreshed, w);
	config_done(&config);
}

static void caller_on_closer_gone(void *ctx)
{
	wait_free(ctx);
}

void caller_on_destroy(void *ctx, const struct reply *r, struct json params)
{
	struct caller *c = ctx;
	struct caller_param p = { .name = "session", .type = JSON_STRING, .required = true };
	struct err e = ERR_INIT;
	struct hub_session *s;

	if (caller_params(params, &p, 1, &e) != 0) {
		caller_refuse(r, &e);
		return;
	}
	s = hub_session_find(c->hub, p.value); /* also one that is closing */
	if (!s) {
		caller_session(c, r, p.value);
		return;
	}
	if (wait_new(s, &s->closers, r, caller_on_closer_gone))
		hub_session_close(s, "the session was destroyed", true);
}

static void caller_emit_session(struct emit *j, const struct hub_session *s)
{
	emit_open(j, NULL, '{');
	hub_session_emit_names(j, s);
	emit_int(j, "pid", s->pid);
	emit_int(j, "ageMs", (loop_now_us() - s->began_us) / 1000);
	if (s->lease_ms)
		emit_int(j, "leaseMs", s->lease_ms);
	else
		emit_null(j, "leaseMs");
	if (s->desk)
		desk_emit(s->desk, j);
	emit_close(j);
}

void caller_on_sessions(void *ctx, const struct reply *r, struct json params)
{
	struct caller *c = ctx;
	struct emit j;

	(void)params;
	if (!reply_begin(r, &j))
		return;
	emit_open(&j, "sessions", '[');
	RING_EACH(n, &c->hub->sessions)
		caller_emit_session(&j, CONTAINER_OF(n, struct hub_session, in_hub));
	emit_close(&j);
	reply_end(r, &j);
}

/* --- requests to the servers of a session --- */

static void caller_on_requester_gone(void *ctx)
{
	struct wait *w = ctx;

	if (w->session->desk)
		desk_forget(w->session->desk, w);
	wait_free(w);
}

/* Answer with the error object of a server or a desk. */
static void caller_pass_error(const struct reply *r, struct json error)
{
	AUTO(mem_drop) char *text = NULL;
	struct json data = json_get(error, "data");
	int64_t code = HUB_FAILED;
	struct emit j;

	json_int(json_get(error, "code"), &code);
	json_string(json_get(error, "message"), &text);
	if (!reply_begin_error(r, &j, (int)code, text ? text : "the server answered with an error"))
		return;
	if (data.at)
		emit_json(&j, "data", data.at, data.len);
	reply_end_error(r, &j);
}

static void caller_on_answered(void *ctx, struct json result, struct json error)
{
	struct wait *w = ctx;
	const struct reply *r = &w->answer->reply;

	hub_session_touch(w->session);
	if (result.at)
		reply_json(r, result.at, result.len);
	else
		caller_pass_error(r, error);
	wait_free(w);
}

enum {
	REQUEST_SESSION,
	REQUEST_SERVER,
	REQUEST_METHOD,
	REQUEST_PARAMS,
	REQUEST_TIMEOUT,
	REQUEST_MEMBERS
};

/* Read the params that all three methods have, and pass the request to the desk. method NULL: use
 * the member `method`. given: the params of the request; JSON_NONE: use the member `params`. */
static void caller_pass(struct caller *c, const struct reply *r, struct caller_param *p,
			const char *method, struct json given)
{
	AUTO(mem_drop) char *server = NULL, *name = NULL;
	int64_t timeout_ms = 0;
	struct hub_session *s;
	struct err e = ERR_INIT;
	struct wait *w;

	if (caller_number(&p[REQUEST_TIMEOUT], 1, TIMEOUT_MAX_MS, &timeout_ms, &e) != 0) {
		caller_refuse(r, &e);
		return;
	}
	s = caller_session(c, r, p[REQUEST_SESSION].value);
	if (!s)
		return;
	if (!s->opened) {
		caller_refuse_unopened(r, s);
		return;
	}
	json_string(p[REQUEST_SERVER].value, &server);
	json_string(p[REQUEST_METHOD].value, &name);
	w = wait_new(s, &s->calls, r, caller_on_requester_gone);
	if (!w)
		return;
	hub_session_touch(s);
	desk_request(s->desk, server, method ? method : name, given, timeout_ms, caller_on_answered,
		     w);
}

static const struct json caller_no_params = { "{}", 2 };

void caller_on_request(void *ctx, const struct reply *r, struct json params)
{
	struct caller_param p[] = {
		[REQUEST_SESSION] = { "session", JSON_STRING, true },
		[REQUEST_SERVER] = { "server", JSON_STRING },
		[REQUEST_METHOD] = { "method", JSON_STRING, true },
		[REQUEST_PARAMS] = { "params", JSON_OBJECT },
		[REQUEST_TIMEOUT] = { "timeoutMs", JSON_NUMBER },
	};
	struct err e = ERR_INIT;

	if (caller_params(params, p, REQUEST_MEMBERS, &e) != 0)
		caller_refuse(r, &e);
	else
		caller_pass(ctx, r, p, NULL,
			    p[REQUEST_PARAMS].value.at ? p[REQUEST_PARAMS].value
						       : caller_no_params);
}

void caller_on_tools(void *ctx, const struct reply *r, struct json params)
{
	struct caller_param p[] = {
		[REQUEST_SESSION] = { "session", JSON_STRING, true },
		[REQUEST_SERVER] = { "server", JSON_STRING },
		[REQUEST_METHOD] = { "", JSON_ABSENT },
		[REQUEST_PARAMS] = { "", JSON_ABSENT },
		[REQUEST_TIMEOUT] = { "timeoutMs", JSON_NUMBER },
	};
	struct err e = ERR_INIT;

	if (caller_params(params, p, REQUEST_MEMBERS, &e) != 0)
		caller_refuse(r, &e);
	else
		caller_pass(ctx, r, p, "tools/list", caller_no_params);
}

void caller_on_call(void *ctx, const struct reply *r, struct json params)
{
	struct caller_param p[] = {
		[REQUEST_SESSION] = { "session", JSON_STRING, true },
		[REQUEST_SERVER] = { "server", JSON_STRING },
		[REQUEST_METHOD] = { "tool", JSON_STRING, true },
		[REQUEST_PARAMS] = { "arguments", JSON_OBJECT },
		[REQUEST_TIMEOUT] = { "timeoutMs", JSON_NUMBER },
	};
	AUTO(buf_done) struct buf b = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_INIT(&b);
	struct err e = ERR_INIT;

	if (caller_params(params, p, REQUEST_MEMBERS, &e) != 0) {
		caller_refuse(r, &e);
		return;
	}
	emit_open(&j, NULL, '{');
	emit_raw(&j, "name", p[REQUEST_METHOD].value.at, p[REQUEST_METHOD].value.len);
	if (p[REQUEST_PARAMS].value.at)
		emit_raw(&j, "arguments", p[REQUEST_PARAMS].value.at, p[REQUEST_PARAMS].value.len);
	emit_close(&j);
	emit_end(&j);
	caller_pass(ctx, r, p, "tools/call", (struct json){ b.data, b.len });
}
