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
#include "os/fd.h"
#include "session/pool.h"
#include "session/runtime.h"
#include "session/server.h"
#include "session/session.h"

#define LEASE_MAX_MS   (3600ll * 1000)
#define LEASES_OF_ONE  64   /* sessions with a lease, of one process */
#define LEASES_MAX     1024 /* of all processes */
#define SESSIONS_MAX   8192
#define TIMEOUT_MAX_MS (24ll * 3600 * 1000)

/* False: the request was answered with an error. */
static bool caller_may_name(struct caller *c, const struct reply *r, const struct hub_session *s)
{
	const struct hub_tree *tree = caller_tree(c);

	if (!*tree->name || strcmp(tree->name, s->tree.name) == 0)
		return true;
	reply_error(r, HUB_FAILED,
		    "session 's%u' is refused: this process runs inside a tree of killick, and the "
		    "session was made outside of that tree; make a session of its own",
		    s->number);
	return false;
}

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
	else if (caller_may_name(c, r, s))
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

enum {
	CREATE_TAG,
	CREATE_LEASE,
	CREATE_FEATURES,
	CREATE_WAIT,
	CREATE_PID,
	CREATE_NOTIFIED,
	CREATE_MEMBERS
};

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

/* Sessions cost memory, also without a server. Those with a lease do not end with a connection, so
 * they are counted for each process and for all. */
static int caller_count_sessions(const struct caller *c, bool lease, struct err *e)
{
	unsigned all = 0, leased = 0, same = 0;

	RING_EACH(n, &c->hub->sessions) {
		const struct hub_session *s = CONTAINER_OF(n, struct hub_session, in_hub);

		all++;
		leased += s->lease_ms != 0;
		same += s->lease_ms && s->maker_pid == c->pid;
	}
	if (all >= SESSIONS_MAX)
		return err_set(e, HUB_FAILED,
			       "the hub has %u sessions, and no further one is made; close some "
			       "('killick hub sessions' lists them)",
			       all);
	if (lease && (same >= LEASES_OF_ONE || leased >= LEASES_MAX))
		return err_set(
			e, HUB_FAILED,
			"%s %u sessions with a lease already; destroy some, or make sessions "
			"without a lease, which end with their connection",
			same >= LEASES_OF_ONE ? "this process has" : "the hub has",
			same >= LEASES_OF_ONE ? same : leased);
	return 0;
}

/* Read the params of session.create and session.attach. */
static int caller_read_session(struct caller *c, struct json params, struct hub_session_spec *out,
			       struct err *e)
{
	struct caller_param p[CREATE_MEMBERS] = {
		[CREATE_TAG] = { .name = "tag", .type = JSON_STRING },
		[CREATE_LEASE] = { .name = "lease", .type = JSON_NUMBER },
		[CREATE_FEATURES] = { .name = "features", .type = JSON_ARRAY },
		[CREATE_WAIT] = { .name = "wait", .type = JSON_STRING },
		[CREATE_PID] = { .name = "pid", .type = JSON_NUMBER },
		[CREATE_NOTIFIED] = { .name = "notifications", .type = JSON_BOOL },
	};
	int64_t pid = c->pid;
	int r = caller_params(params, p, CREATE_MEMBERS, e);

	if (r == 0)
		r = caller_number(&p[CREATE_LEASE], 1, LEASE_MAX_MS, &out->lease_ms, e);
	if (r == 0 && out->lease_ms && channel_process(c->channel) < 0 && !c->last)
		r = err_set(
			e, RPC_BAD_PARAMS,
			"'lease' needs a process whose end the hub can see; this one is in another "
			"pid namespace");
	if (r == 0)
		r = caller_count_sessions(c, out->lease_ms != 0, e);
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
	else
		out->source.alone = caller_tree(c)->ours;
	out->source.owner = c->pid;
	out->pid = (long)pid;
	json_bool(p[CREATE_NOTIFIED].value, &out->notified);
	return r;
}

/* A session whose config is being read. */
struct caller_opening {
	struct hub_session_spec spec;
	struct answer *answer;
	struct hub_load *load;
};

/* Nothing was opened: free everything. */
static void caller_opening_free(struct caller_opening *o)
{
	if (o->answer)
		answer_free(o->answer);
	if (o->spec.in >= 0)
		o->spec.caller->attaching = false;
	hub_source_done(&o->spec.source);
	free(o->spec.tag);
	fd_drop(&o->spec.in);
	fd_drop(&o->spec.out);
	free(o);
}

static void caller_on_opener_gone(void *ctx)
{
	struct caller_opening *o = ctx;

	hub_load_cancel(o->load);
	caller_opening_free(o);
}

static void caller_on_loaded(void *ctx, struct config *config, const struct err *e)
{
	struct caller_opening *o = ctx;
	struct caller *c = o->spec.caller;
	const struct reply *r = &o->answer->reply;
	struct hub_session *s = NULL;
	struct err why = ERR_INIT;
	struct emit j;

	if (e)
		why = *e;
	else if (c->hub->closing)
		err_set(&why, HUB_FAILED, "the hub is ending");
	else /* again: others were opened while the config was read */
		caller_count_sessions(c, o->spec.lease_ms != 0, &why);
	if (why.code) {
		caller_refuse(r, &why);
		caller_opening_free(o);
		return;
	}
	if (o->spec.in >= 0) /* session.create may come while the config of an attach is read */
		c->attaching = false;
	o->spec.config = config;
	if (hub_session_open(c->hub, &o->spec, &s, &why) < 0) {
		caller_refuse(r, &why);
		answer_free(o->answer);
	} else if (s->attached) {
		c->attached = s;
		if (reply_begin(r, &j)) {
			hub_session_emit_names(&j, s);
			reply_end(r, &j);
		}
		answer_free(o->answer);
	} else {
		hub_session_await(s, o->answer);
	}
	free(o);
}

/* Read the config of the session, which owns everything in spec, and open the session then. */
static void caller_open(const struct hub_session_spec *spec, const struct reply *r)
{
	struct caller_opening *o = mem_grow(NULL, 1, sizeof(*o));

	*o = (struct caller_opening){ .spec = *spec };
	o->answer = answer_new(r, caller_on_opener_gone, o);
	if (!o->answer) {
		caller_opening_free(o);
		return;
	}
	spec->caller->attaching |= spec->in >= 0;
	o->load = hub_load_begin(spec->caller->hub, &o->spec.source, caller_on_loaded, o);
}

void caller_on_create(void *ctx, const struct reply *r, struct json params)
{
	struct caller *c = ctx;
	struct hub_session_spec spec = { .caller = c, .in = -1, .out = -1 };
	struct err e = ERR_INIT;

	if (caller_read_session(c, params, &spec, &e) != 0)
		caller_refuse(r, &e);
	else
		caller_open(&spec, r);
}

void caller_on_attach(void *ctx, const struct reply *r, struct json params)
{
	struct caller *c = ctx;
	struct hub_session_spec spec = { .caller = c };
	struct err e = ERR_INIT;
	struct net_fds fds;

	channel_take_fds(c->channel, &fds);
	if (fds.count != 2)
		err_set(&e, RPC_BAD_PARAMS,
			"session.attach needs two descriptors with the message (SCM_RIGHTS): the "
			"client's stdin and stdout");
	else if (c->attached || c->attaching)
		err_set(&e, RPC_INVALID_REQUEST, "this connection has attached a session already");
	else
		caller_read_session(c, params, &spec, &e);
	if (e.code) {
		net_drop_fds(&fds);
		caller_refuse(r, &e);
		return;
	}
	spec.lease_ms = 0;
	spec.in = fds.list[0];
	spec.out = fds.list[1];
	caller_open(&spec, r);
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

void caller_on_answer(void *ctx, const struct reply *r, struct json params)
{
	struct caller_param p[] = {
		{ .name = "session", .type = JSON_STRING, .required = true },
		{ .name = "question", .type = JSON_NUMBER, .required = true },
		{ .name = "result", .type = JSON_OBJECT },
		{ .name = "error", .type = JSON_OBJECT },
	};
	struct hub_session *s;
	struct err e = ERR_INIT;
	int64_t question = 0;

	if (caller_params(params, p, sizeof(p) / sizeof(p[0]), &e) != 0 ||
	    caller_number(&p[1], 1, INT64_MAX, &question, &e) != 0) {
		caller_refuse(r, &e);
		return;
	}
	s = caller_session(ctx, r, p[0].value);
	if (!s)
		return;
	if (!p[2].value.at == !p[3].value.at)
		reply_error(r, RPC_BAD_PARAMS, "give 'result' or 'error'");
	else if (!desk_answer(s->desk, (uint64_t)question, p[2].value, p[3].value))
		reply_error(r, HUB_NOT_FOUND, "question %lld is not open any more",
			    (long long)question);
	else
		reply_json(r, "{}", 2);
}

static void caller_on_refresher_gone(void *ctx)
{
	struct hub_wait *w = ctx;

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
	struct hub_wait *w = ctx;
	struct hub_session *s = w->session;
	struct caller_refresh *f = w->more;
	bool failed = e && e->code;
	struct err why;
	struct emit j;

	if (w->answer && failed) {
		int code = HUB_FAILED;

		if (e->code == KILLICK_ERR_CONFIG)
			code = HUB_SOURCE_CONFIG;
		else if (e->code == KILLICK_ERR_NO_SERVER)
			code = HUB_SOURCE_SERVER;
		err_set(&why, code, "%s", e->text);
		caller_refuse(&w->answer->reply, &why);
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
	hub_wait_free(w);
}

void caller_on_refresh(void *ctx, const struct reply *r, struct json params)
{
	struct caller *c = ctx;
	struct hub_session *s = caller_session_only(c, r, params);
	struct hub_source source;
	struct err e = ERR_INIT;
	struct hub_wait *w;

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
	source.alone = s->tree.ours;
	source.owner = c->pid;
	w = hub_wait_new(s, &s->refreshes, r, caller_on_refresher_gone);
	if (!w) {
		hub_source_done(&source);
		return;
	}
	w->more = caller_refresh_new(s, &source);
	hub_session_refresh(s, w, &source, caller_on_refreshed);
}

static void caller_on_closer_gone(void *ctx)
{
	hub_wait_free(ctx);
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
	if (caller_may_name(c, r, s) && hub_wait_new(s, &s->closers, r, caller_on_closer_gone))
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

void caller_on_requester_gone(void *ctx)
{
	struct hub_wait *w = ctx;

	if (w->session->desk)
		desk_forget(w->session->desk, w);
	hub_wait_free(w);
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
	struct hub_wait *w = ctx;
	struct hub_session *s = w->session;
	const struct reply *r = &w->answer->reply;
	struct caller *c = r->rpc->is.ctx;

	hub_session_touch(s);
	caller_count(c, s, result.len + error.len);
	if (channel_unsent(c->channel) > CALLER_UNREAD_MAX)
		caller_refuse_unread(r);
	else if (result.at)
		reply_json(r, result.at, result.len);
	else
		caller_pass_error(r, error);
	hub_wait_free(w);
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
	struct hub_wait *w;

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
	w = hub_wait_new(s, &s->calls, r, caller_on_requester_gone);
	if (!w)
		return;
	caller_look_full(c, w);
	hub_session_touch(s);
	desk_request(s->desk, server, method ? method : name, given, timeout_ms, caller_on_answered,
		     w);
}

static const struct json caller_no_params = { "{}", 2 };

void caller_on_request(void *ctx, const struct reply *r, struct json params)
{
	struct caller_param p[] = {
		[REQUEST_SESSION] = { .name = "session", .type = JSON_STRING, .required = true },
		[REQUEST_SERVER] = { .name = "server", .type = JSON_STRING },
		[REQUEST_METHOD] = { .name = "method", .type = JSON_STRING, .required = true },
		[REQUEST_PARAMS] = { .name = "params", .type = JSON_OBJECT },
		[REQUEST_TIMEOUT] = { .name = "timeoutMs", .type = JSON_NUMBER },
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
		[REQUEST_SESSION] = { .name = "session", .type = JSON_STRING, .required = true },
		[REQUEST_SERVER] = { .name = "server", .type = JSON_STRING },
		[REQUEST_METHOD] = { .name = "", .type = JSON_ABSENT },
		[REQUEST_PARAMS] = { .name = "", .type = JSON_ABSENT },
		[REQUEST_TIMEOUT] = { .name = "timeoutMs", .type = JSON_NUMBER },
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
		[REQUEST_SESSION] = { .name = "session", .type = JSON_STRING, .required = true },
		[REQUEST_SERVER] = { .name = "server", .type = JSON_STRING },
		[REQUEST_METHOD] = { .name = "tool", .type = JSON_STRING, .required = true },
		[REQUEST_PARAMS] = { .name = "arguments", .type = JSON_OBJECT },
		[REQUEST_TIMEOUT] = { .name = "timeoutMs", .type = JSON_NUMBER },
	};
	struct caller_param meta = { .name = "_meta", .type = JSON_OBJECT };
	AUTO(buf_done) struct buf b = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_INIT(&b);
	struct err e = ERR_INIT;

	if (caller_params(params, p, REQUEST_MEMBERS, &e) != 0 ||
	    caller_params(params, &meta, 1, &e) != 0) {
		caller_refuse(r, &e);
		return;
	}
	emit_open(&j, NULL, '{');
	emit_raw(&j, "name", p[REQUEST_METHOD].value.at, p[REQUEST_METHOD].value.len);
	if (p[REQUEST_PARAMS].value.at)
		emit_raw(&j, "arguments", p[REQUEST_PARAMS].value.at, p[REQUEST_PARAMS].value.len);
	if (meta.value.at)
		emit_raw(&j, "_meta", meta.value.at, meta.value.len);
	emit_close(&j);
	emit_end(&j);
	caller_pass(ctx, r, p, "tools/call", (struct json){ b.data, b.len });
}
