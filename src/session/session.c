/* session.c - see session.h */
#include "session/session.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/strings.h"
#include "base/trace.h"
#include "os/env.h"
#include "session/ask.h"
#include "session/call.h"
#include "session/event.h"
#include "session/pool.h"
#include "session/server.h"

#define GRACE_MS 2000

static const char cancelled_text[] = "the session was closed before it was open";

/* --- jobs --- */

struct job *job_new(struct killick_session *s, enum job_kind kind)
{
	struct job *j = mem_grow(NULL, 1, sizeof(*j));

	*j = (struct job){ .session = s, .kind = kind, .began_us = loop_now_us() };
	return j;
}

void job_free(struct job *j)
{
	config_done(&j->config);
	free(j->fresh);
	endings_done(&j->endings);
	free(j);
}

/* The session opened; but has the host freed its handle meanwhile? */
static void session_check_handle(struct job *j)
{
	loop_lock(j->session->k->loop);
	if (!j->session->held && !j->error.code)
		error_set(&j->error, KILLICK_ERR_CANCELLED, "%s", cancelled_text);
	loop_unlock(j->session->k->loop);
}

static void session_job_run(struct outbox_item *i)
{
	struct job *j = CONTAINER_OF(i, struct job, item);

	if (!j->on_opened) {
		j->on_ended(j->ctx, j->report, &j->error);
		return;
	}
	session_check_handle(j);
	j->on_opened(j->ctx, j->error.code ? NULL : j->session, &j->error);
}

static void session_job_done(struct outbox_item *i)
{
	struct job *j = CONTAINER_OF(i, struct job, item);

	session_unpin(j->session);
	job_free(j);
}

void job_finish(struct job *j)
{
	static const struct outbox_kind kind = { NULL, session_job_run, session_job_done };
	struct killick *k = j->session->k;

	ring_remove(&j->in_session);
	if (j->kind != JOB_OPEN && !j->error.code && !j->for_runtime)
		j->report = report_new(&j->endings, j->began_us);
	if (j->for_runtime)
		endings_move(&k->endings, &j->endings);
	if (j->on_finished) {
		j->on_finished(j);
		killick_report_free(j->report);
		job_free(j);
	} else if (j->outcome) {
		*j->outcome = (struct outcome){ .session = j->session,
						.report = j->report,
						.error = j->error };
		waiter_tell(k, &j->outcome->waiter);
		job_free(j);
	} else if (j->on_opened || j->on_ended) {
		j->item = (struct outbox_item){ .kind = &kind };
		session_pin(j->session);
		outbox_put(&k->outbox, &j->item);
	} else {
		killick_report_free(j->report);
		job_free(j);
	}
}

void job_tell(struct job *j, struct outcome *out)
{
	*out = (struct outcome){ .waiter = { .told = false } };
	j->outcome = out;
}

/* --- the life of a session --- */

const char *const session_state_names[] = {
	[SESSION_OPENING] = "opening",
	[SESSION_OPEN] = "open",
	[SESSION_CLOSING] = "closing",
	[SESSION_CLOSED] = "closed",
};

static void session_go(struct killick_session *s, enum session_state to, const char *why)
{
	assert(to > s->state);
	TRACE(TRACE_SESSION, "%u %s: %s -> %s (%s)", s->number, s->label ? s->label : "-",
	      session_state_names[s->state], session_state_names[to], why);
	s->state = to;
}

/* Remove all servers except the one at i. */
static void drop_others(struct config *c, size_t i)
{
	struct config others = { .servers = c->servers, .count = c->count };
	struct config_server *one = mem_grow(NULL, 1, sizeof(*one));

	assert(i < c->count);
	*one = c->servers[i];
	c->servers[i] = (struct config_server){ .name = NULL };
	c->servers = one;
	c->count = 1;
	config_done(&others);
}

static int keep_only(struct config *c, const char *name, struct killick_error *e)
{
	AUTO(buf_done) struct buf names = BUF_INIT(300);

	for (size_t i = 0; i < c->count; i++) {
		if (strcmp(c->servers[i].name, name) == 0) {
			drop_others(c, i);
			config_drop_warnings(c, name);
			return 0;
		}
		buf_addf(&names, "%s'%s'", i ? ", " : "", c->servers[i].name);
	}
	error_set(e, KILLICK_ERR_NO_SERVER, "the config has no server '%.100s'; it has %s", name,
		  names.len ? names.data : "none");
	config_done(c);
	return KILLICK_ERR_NO_SERVER;
}

int session_read_config(const struct config_from *from, struct config *out, struct killick_error *e)
{
	AUTO(env_done) struct env env = env_read();
	const struct config_source src = { .file = from->file,
					   .environ_ = from->user_env ? from->user_env : env.list,
					   .cwd = from->user_cwd };
	struct err why = ERR_INIT;
	int r;

	if (!!from->text + !!from->file + !!from->command != 1)
		return error_set(e, KILLICK_ERR_USAGE,
				 "give exactly one of config, config_file and command");
	if (from->command && !from->command[0])
		return error_set(e, KILLICK_ERR_USAGE, "the command is empty");
	if (from->text)
		r = config_parse(from->text, strlen(from->text), &src, out, &why);
	else if (from->file)
		r = from->user_cwd ? config_load(&src, out, &why)
				   : config_read(from->file, src.environ_, out, &why);
	else
		r = config_command("server", from->command, env.list, out, &why);
	if (r == 0 && from->command) {
		r = config_command_more(out, &from->more, &why);
		if (r < 0)
			config_done(out);
	}
	if (r < 0)
		return error_set(e, KILLICK_ERR_CONFIG, "%s", why.text);
	if (from->more.startup_ms)
		config_set_startup(out, from->more.startup_ms);
	return from->only ? keep_only(out, from->only, e) : 0;
}

void session_pin(struct killick_session *s)
{
	s->pins++;
}

static bool is_forgotten(const struct killick_session *s)
{
	return s->state == SESSION_CLOSED && !s->held && s->pins == 0;
}

void session_unpin(struct killick_session *s)
{
	assert(s->pins > 0);
	s->pins--;
	if (is_forgotten(s))
		session_poke(s);
}

void session_free(struct killick_session *s)
{
	assert(s->state == SESSION_CLOSED && ring_is_empty(&s->leases) && ring_is_empty(&s->jobs));
	while (!ring_is_empty(&s->calls))
		call_free(CONTAINER_OF(ring_first(&s->calls), struct killick_call, in_session));
	asks_free(s);
	loop_timer_stop(s->k->loop, &s->turn);
	ring_remove(&s->in_runtime);
	for (size_t i = 0; i < s->count; i++)
		lease_free(s->table[i]);
	free(s->table);
	names_done(&s->names);
	free(s->label);
	free(s->only);
	strings_free(s->user_env);
	free(s->user_cwd);
	free(s);
}

struct lease *session_find(const struct killick_session *s, const char *server)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(lease_name(s->table[i]), server) == 0)
			return s->table[i];
	return NULL;
}

bool session_is_settled(const struct killick_session *s)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct lease *l = s->table[i];

		if (!l->settled && (s->wait == KILLICK_WAIT_SETTLED || lease_config(l)->required))
			return false;
	}
	return true;
}

struct lease *session_failed(const struct killick_session *s)
{
	for (size_t i = 0; i < s->count; i++) {
		struct lease *l = s->table[i];

		if (l->settled && l->failed && lease_config(l)->required)
			return l;
	}
	return NULL;
}

void session_blame(const struct lease *l, struct killick_error *e)
{
	const char *text = l->server ? l->server->error.text : l->error;

	assert(l->failed && text);
	/* of a session with one server, such as that of a command, the user required nothing */
	error_set(e, KILLICK_ERR_START, "%s%s",
		  l->session->count > 1 ? "a required server failed: " : "", text);
}

/* Begin to close: end every refresh and give back every lease. job, which may be NULL, gets the
 * endings. */
static void begin_close(struct killick_session *s, struct job *job, unsigned drain_ms)
{
	assert(s->state < SESSION_CLOSING);
	session_go(s, SESSION_CLOSING, job ? "close" : "a required server failed");
	RING_EACH(r, &s->jobs) {
		struct job *j = CONTAINER_OF(r, struct job, in_session);

		if (j->kind == JOB_REFRESH)
			refresh_abandon(s, j);
	}
	RING_EACH(r, &s->leases) {
		struct lease *l = CONTAINER_OF(r, struct lease, in_session);

		if (l->state == LEASE_HELD)
			lease_leave(l, ENDING_CLOSE, drain_ms, job);
		else
			l->job = job;
	}
	session_poke(s);
}

void session_close(struct killick_session *s, struct job *job)
{
	if (job)
		ring_add(&s->jobs, &job->in_session);
	if (s->state < SESSION_CLOSING)
		begin_close(s, job, s->drain_ms);
	else if (s->state == SESSION_CLOSED && job)
		job_finish(job);
}

void session_release(struct killick_session *s)
{
	assert(s->held);
	session_pin(s);
	s->held = false;
	session_close(s, NULL);
	session_unpin(s);
}

static void finish_close(struct killick_session *s)
{
	struct killick *k = s->k;

	if (!ring_is_empty(&s->leases) || s->writes > 0)
		return;
	session_go(s, SESSION_CLOSED, "no lease is left");
	RING_EACH(r, &s->jobs) {
		struct job *j = CONTAINER_OF(r, struct job, in_session);

		assert(j->kind != JOB_REFRESH);
		if (j->kind == JOB_OPEN && !j->error.code)
			error_set(&j->error,
				  k->state == RUNTIME_OPEN ? KILLICK_ERR_CANCELLED
							   : KILLICK_ERR_CLOSED,
				  "%s", cancelled_text);
		job_finish(j);
	}
	assert(k->open_sessions > 0);
	k->open_sessions--;
	loop_notify(k->loop);
}

static void finish_open(struct killick_session *s)
{
	struct ring *first = ring_first(&s->jobs);
	struct job *j = CONTAINER_OF(first, struct job, in_session);
	const struct lease *failed = session_failed(s);

	assert(first && j->kind == JOB_OPEN);
	if (failed) { /* reported when no lease is left */
		session_blame(failed, &j->error);
		begin_close(s, NULL, 0);
	} else if (session_is_settled(s)) {
		session_go(s, SESSION_OPEN, "settled");
		s->held = true;
		job_finish(j);
		session_poke(s);
	}
}

static void session_advance(struct loop_timer *t)
{
	struct killick_session *s = CONTAINER_OF(t, struct killick_session, turn);
	struct ring *first = ring_first(&s->jobs);

	switch (s->state) {
	case SESSION_OPENING:
		finish_open(s);
		break;
	case SESSION_OPEN:
		if (first)
			refresh_advance(s, CONTAINER_OF(first, struct job, in_session));
		break;
	case SESSION_CLOSING:
		finish_close(s);
		break;
	case SESSION_CLOSED:
		break;
	}
	if (is_forgotten(s))
		session_free(s);
}

void session_poke(struct killick_session *s)
{
	if (!s->turn.slot)
		loop_timer_set(s->k->loop, &s->turn, 0, session_advance);
}

static unsigned features_of(const struct session_spec *spec)
{
	if (spec->o.features)
		return spec->o.features & ~(unsigned)KILLICK_NO_FEATURES;
	return spec->handlers.on_ask ? spec->handlers.answers : 0;
}

static struct killick_session *session_new(struct killick *k, const struct session_spec *spec)
{
	const struct killick_session_options *o = &spec->o;
	struct killick_session *s = mem_grow(NULL, 1, sizeof(*s));

	assert(!spec->sink || (!spec->handlers.on_event && !spec->handlers.on_ask));
	*s = (struct killick_session){
		.k = k,
		.number = ++k->last_number,
		.state = SESSION_OPENING,
		.label = o->label && *o->label ? mem_dup(o->label) : NULL,
		.only = mem_dup(o->only),
		.user_env = strings_copy(o->user_env),
		.user_cwd = mem_dup(o->user_cwd),
		.wait = o->wait,
		.grace_ms = o->grace_ms ? o->grace_ms : GRACE_MS,
		.drain_ms = o->drain_ms,
		.startup_ms = o->startup_ms,
		.handlers = spec->handlers,
		.sink = spec->sink,
		.sink_ctx = spec->sink_ctx,
		.lazy = spec->lazy,
		.modern = spec->modern,
		.owners = { spec->owners[0], spec->owners[1] },
		.file_owner = spec->file_owner,
		.features = features_of(spec),
		.names = NAMES_INIT,
	};
	if (!s->file_owner)
		s->file_owner = -(long)s->number; /* no pid */
	ring_init(&s->leases);
	ring_init(&s->jobs);
	ring_init(&s->calls);
	ring_init(&s->asks);
	ring_add(&k->sessions, &s->in_runtime);
	if (s->sink)
		catalogue_use_files(&k->catalogue, k->loop, NULL);
	k->open_sessions++;
	return s;
}

struct job *session_begin(struct killick *k, const struct session_spec *spec, struct config *c)
{
	struct killick_session *s = session_new(k, spec);
	struct job *j = job_new(s, JOB_OPEN);

	s->max_servers = c->max_servers;
	s->max_memory = c->max_memory;
	ring_add(&s->jobs, &j->in_session);
	s->table = mem_grow(NULL, c->count, sizeof(struct lease *));
	for (; s->count < c->count; s->count++) {
		s->table[s->count] = lease_new(s, &c->servers[s->count]);
		s->table[s->count]->listed = true;
	}
	for (size_t i = 0; i < c->warning_count; i++)
		event_warning(s, NULL, c->warnings[i].text);
	session_poke(s);
	return j;
}
