/* hub_session.c - a session of the hub: see hub_internal.h
 *
 *	hub_session_open -> [the desk opens] -> open
 *	  -> hub_session_close, or the client leaves -> [the desk closes] -> freed
 *
 * The end has one path, hub_session_over, which runs from a timer when the desk is closed: requests
 * that wait are answered, the connection of `killick connect` is closed, the memory is freed.
 */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "hub/hub_internal.h"
#include "os/fd.h"
#include "os/poller.h"
#include "os/process.h"
#include "os/shrink.h"
#include "session/attach.h"
#include "session/catalogue.h"
#include "session/pool.h"
#include "session/runtime.h"
#include "session/server.h"
#include "session/session.h"

#define QUIET_MS 1000 /* after the end of a session */

/* --- answers that are due --- */

struct hub_wait *hub_wait_new(struct hub_session *s, struct ring *list, const struct reply *r,
			      void (*on_gone)(void *ctx))
{
	struct hub_wait *w = mem_grow(NULL, 1, sizeof(*w));

	*w = (struct hub_wait){ .session = s };
	w->answer = answer_new(r, on_gone, w);
	if (!w->answer) {
		free(w);
		return NULL;
	}
	ring_add(list, &w->in_session);
	return w;
}

void hub_wait_hold(struct hub_wait *w, bool full)
{
	if (w->held == full)
		return;
	w->held = full;
	desk_hold(w->session->desk, full);
}

void hub_wait_free(struct hub_wait *w)
{
	hub_wait_hold(w, false);
	ring_remove(&w->in_session);
	if (w->answer)
		answer_free(w->answer);
	free(w);
}

/* --- reports --- */

static const char hub_report_nothing[] =
	"{\"proved\":true,\"survivors\":0,\"ms\":0,\"endings\":[]}";

/* Returns the report as JSON, for free(), and its value in *out. */
static char *hub_report_parse(const struct killick_report *r, struct json *out)
{
	char *text = r ? killick_report_json(r) : mem_dup(hub_report_nothing);
	struct json_fault fault;

	json_check(text, strlen(text), 0, out, &fault);
	return text;
}

void hub_report_emit(struct emit *j, const struct killick_report *r)
{
	static const char *const names[][2] = { { "ended", "endings" },
						{ "survivors", "survivors" },
						{ "proved", "proved" },
						{ "ms", "ms" } };
	struct json all;
	AUTO(mem_drop) char *text = hub_report_parse(r, &all);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct json v = json_get(all, names[i][1]);

		emit_json(j, names[i][0], v.at, v.len);
	}
}

/* The hub is ending: keep the endings for the answer to hub.shutdown. */
static void hub_report_collect(struct hub *h, const struct killick_report *r)
{
	struct json all;
	AUTO(mem_drop) char *text = hub_report_parse(r, &all);
	struct json_iter it = json_iter(json_get(all, "endings"));

	while (json_each(&it)) {
		buf_adds(&h->ended, h->ended.len ? "," : "");
		buf_add(&h->ended, it.value.at, it.value.len);
	}
	h->survivors += r ? r->survivors : 0;
	h->unproved |= r && !r->proved;
}

/* --- servers of a session --- */

/* The number of its tools; -1: not known. */
static long hub_session_tools(const struct lease *l)
{
	const struct catalogue_entry *e = l->server ? lease_catalogue(l) : NULL;
	struct json tools = e ? json_get(e->lists[CATALOGUE_TOOLS], "tools") : JSON_NONE;

	return tools.at ? (long)json_count(tools) : l->tools;
}

static void hub_session_emit_server(struct emit *j, const struct lease *l)
{
	const struct server *sv = l->server;
	const char *error = sv ? sv->error.text : l->error;
	enum killick_state state = lease_server_state(l);

	emit_open(j, NULL, '{');
	emit_str(j, "name", lease_name(l));
	emit_str(j, "state",
		 state == KILLICK_GONE && error && *error ? "failed" : killick_state_name(state));
	if (error && *error)
		emit_str(j, "error", error);
	if (hub_session_tools(l) >= 0)
		emit_int(j, "tools", hub_session_tools(l));
	emit_close(j);
}

void hub_session_emit_servers(struct emit *j, const struct hub_session *s)
{
	const struct killick_session *ks = s->desk ? desk_session(s->desk) : NULL;

	emit_open(j, "servers", '[');
	for (size_t i = 0; ks && i < ks->count; i++)
		hub_session_emit_server(j, ks->table[i]);
	emit_close(j);
}

/* --- leases --- */

static void hub_session_on_lease(struct loop_timer *t)
{
	struct hub_session *s = CONTAINER_OF(t, struct hub_session, lease);

	if (!ring_is_empty(&s->calls) || !ring_is_empty(&s->refreshes))
		hub_session_touch(s); /* a request is in flight */
	else
		hub_session_close(s, "the lease of the session is over", true);
}

void hub_session_touch(struct hub_session *s)
{
	if (s->lease_ms && !s->closing)
		loop_timer_set(s->hub->loop, &s->lease, s->lease_ms, hub_session_on_lease);
}

/* --- the processes that own the session --- */

static void hub_session_on_maker(struct loop_watch *w, uint32_t events)
{
	struct hub_session *s = CONTAINER_OF(w, struct hub_session, maker);

	(void)events;
	loop_watch_stop(s->hub->loop, w);
	hub_session_close(s,
			  s->attached ? "killick connect has ended"
				      : "the process that made the session has ended",
			  false);
}

static void hub_session_on_client(struct loop_watch *w, uint32_t events)
{
	struct hub_session *s = CONTAINER_OF(w, struct hub_session, client);

	(void)events;
	loop_watch_stop(s->hub->loop, w);
	hub_session_close(s, "the client has ended", false);
}

/* Watch the process; the session owns fd from now on. -errno: fd is no descriptor, or cannot be
 * watched. */
static int hub_session_watch(struct hub_session *s, struct loop_watch *w, int fd,
			     void (*on_end)(struct loop_watch *w, uint32_t events))
{
	int r = fd < 0 ? fd : loop_watch(s->hub->loop, w, fd, POLLER_IN, on_end);

	if (r == 0)
		s->owners[w == &s->client] = fd;
	else if (fd >= 0)
		fd_close(fd);
	return r;
}

/* The connection is not enough: children of these processes may have copies of it. A process that
 * the hub cannot see (-ENOSYS), or that has ended meanwhile (-ESRCH), is not watched: the end of
 * the connection is noticed in any case. */
static int hub_session_watch_owners(struct hub_session *s, const struct caller *c, struct err *e)
{
	int process = channel_process(c->channel), r = 0;

	if (process >= 0)
		r = hub_session_watch(s, &s->maker, process_again(process), hub_session_on_maker);
	if (r >= 0 && s->attached && c->pid)
		r = hub_session_watch(s, &s->client, process_open_parent((int)c->pid),
				      hub_session_on_client);
	if (r >= 0 || r == -ENOSYS || r == -ESRCH)
		return 0;
	return err_set(e, HUB_FAILED, "cannot wait for the end of the caller: %s%s", strerror(-r),
		       err_next(r));
}

/* --- the end --- */

void hub_session_close(struct hub_session *s, const char *why, bool asked)
{
	if (s->closing)
		return;
	s->closing = true;
	s->asked = asked;
	snprintf(s->why, sizeof(s->why), "%s", why);
	loop_timer_stop(s->hub->loop, &s->lease);
	desk_close(s->desk, why);
}

static void hub_session_answer_closers(struct hub_session *s)
{
	struct emit j;

	for (struct ring *n; (n = ring_take(&s->closers));) {
		struct hub_wait *w = CONTAINER_OF(n, struct hub_wait, in_session);

		if (w->answer && reply_begin(&w->answer->reply, &j)) {
			char id[16];

			snprintf(id, sizeof(id), "s%u", s->number);
			emit_str(&j, "session", id);
			hub_report_emit(&j, s->report);
			emit_raw(&j, "kept", s->kept, strlen(s->kept));
			reply_end(&w->answer->reply, &j);
		}
		hub_wait_free(w);
	}
}

static void hub_session_free(struct hub_session *s)
{
	loop_timer_stop(s->hub->loop, &s->lease);
	loop_timer_stop(s->hub->loop, &s->end);
	loop_watch_stop(s->hub->loop, &s->maker);
	loop_watch_stop(s->hub->loop, &s->client);
	for (int i = 0; i < 2; i++)
		if (s->owners[i])
			fd_close(s->owners[i]);
	ring_remove(&s->in_hub);
	ring_remove(&s->in_caller);
	if (s->opening)
		answer_free(s->opening);
	hub_source_done(&s->source);
	killick_report_free(s->report);
	free(s->kept);
	free(s->tag);
	free(s);
}

/* Many sessions may have ended together. */
static void hub_session_on_quiet(struct loop_timer *t)
{
	(void)t;
	shrink_memory();
}

static void hub_session_over(struct loop_timer *t)
{
	struct hub_session *s = CONTAINER_OF(t, struct hub_session, end);
	struct killick_error closed;
	struct hub *h = s->hub;

	error_set(&closed, KILLICK_ERR_CLOSED,
		  "the session was closed before the refresh was done");
	RING_EACH(r, &s->refreshes) {
		struct hub_wait *w = CONTAINER_OF(r, struct hub_wait, in_session);

		if (!w->load)
			continue;
		hub_load_cancel(w->load);
		w->refreshed(w, NULL, &closed);
	}
	/* the desk has answered its requests, and the session its refreshes, before they closed */
	assert(ring_is_empty(&s->calls) && ring_is_empty(&s->refreshes));
	desk_free(s->desk);
	s->desk = NULL;
	if (s->opening)
		reply_error(&s->opening->reply, HUB_FAILED, "%s",
			    *s->why ? s->why : "the session was closed");
	hub_session_answer_closers(s);
	if (h->closing)
		hub_report_collect(h, s->report);
	news_session(s, NEWS_CLOSED);
	hub_log(h, "event=closed session=s%u why=\"%s\"", s->number, s->why);
	if (s->attached && s->caller)
		caller_tell_over(s->caller, s);
	hub_session_free(s);
	loop_timer_set(h->loop, &h->quiet, QUIET_MS, hub_session_on_quiet);
	hub_settle(h);
}

/* --- events of the desk --- */

static void hub_session_log_failures(const struct hub_session *s)
{
	const struct killick_session *ks = desk_session(s->desk);

	for (size_t i = 0; ks && i < ks->count; i++) {
		const struct lease *l = ks->table[i];
		const char *error = l->server ? l->server->error.text : l->error;

		if (l->failed && error && *error)
			hub_log(s->hub, "event=failed session=s%u server=\"%s\" why=\"%s\"",
				s->number, lease_name(l), error);
	}
}

static void hub_session_on_open(void *ctx, const struct killick_error *e)
{
	struct hub_session *s = ctx;
	struct answer *a = s->opening;
	struct emit j;

	s->opening = NULL;
	if (e->code) {
		snprintf(s->why, sizeof(s->why), "%s", e->text);
		s->bad_config = e->code == KILLICK_ERR_CONFIG;
		s->asked = s->asked || e->code != KILLICK_ERR_CLOSED; /* the client did not leave */
		if (a)
			reply_error(&a->reply, HUB_FAILED, "%s", e->text);
	} else {
		s->opened = true;
		hub_session_touch(s);
		hub_session_log_failures(s);
		if (a && reply_begin(&a->reply, &j)) {
			hub_session_emit_names(&j, s);
			hub_session_emit_servers(&j, s);
			reply_end(&a->reply, &j);
		}
		news_session(s, NEWS_OPENED);
	}
	if (a)
		answer_free(a);
}

static void hub_session_on_closed(void *ctx, struct killick_report *report, const char *kept,
				  const char *why)
{
	struct hub_session *s = ctx;

	if (!*s->why && why)
		snprintf(s->why, sizeof(s->why), "%s", why);
	s->asked = s->asked || desk_was_cut(s->desk); /* the client did not leave */
	s->closing = true;
	s->report = report;
	s->kept = mem_dup(kept ? kept : "[]");
	loop_timer_set(s->hub->loop, &s->end, 0, hub_session_over);
}

/* A caller that does not read gets no further questions and notifications: their number has no
 * limit. */
static bool hub_session_may_tell(const struct caller *c)
{
	return !c->ended && channel_unsent(c->channel) <= CALLER_UNREAD_MAX;
}

static bool hub_session_on_ask(void *ctx, uint64_t ask, const char *server, const char *method,
			       struct json params)
{
	struct hub_session *s = ctx;
	struct emit j;

	if (!s->asked_at)
		return false;
	caller_count(s->asked_at, s, params.len);
	if (!hub_session_may_tell(s->asked_at) ||
	    rpc_begin(&s->asked_at->rpc, NULL, "session.question", &j) < 0)
		return false;
	hub_session_emit_names(&j, s);
	emit_int(&j, "question", (long long)ask);
	emit_str(&j, "server", server);
	emit_str(&j, "method", method);
	if (params.at)
		emit_json(&j, "params", params.at, params.len);
	else
		emit_raw(&j, "params", "{}", 2);
	return rpc_send(&s->asked_at->rpc, NULL, &j) >= 0;
}

static void hub_session_on_ask_over(void *ctx, uint64_t ask)
{
	struct hub_session *s = ctx;
	struct emit j;

	if (!s->asked_at || !hub_session_may_tell(s->asked_at) ||
	    rpc_begin(&s->asked_at->rpc, NULL, "session.withdrawn", &j) < 0)
		return;
	hub_session_emit_names(&j, s);
	emit_int(&j, "question", (long long)ask);
	rpc_send(&s->asked_at->rpc, NULL, &j);
}

/* Begin session.notification, up to its params. False: the caller cannot get it. While the caller
 * does not read, the servers that work for it are held; notifications of others are dropped in the
 * end. */
static bool hub_session_begin_note(struct hub_session *s, struct caller *c, const char *server,
				   const char *method, struct emit *j)
{
	if (!hub_session_may_tell(c) || rpc_begin(&c->rpc, NULL, "session.notification", j) < 0)
		return false;
	hub_session_emit_names(j, s);
	if (server)
		emit_str(j, "server", server);
	emit_str(j, "method", method);
	return true;
}

static void hub_session_on_note(void *ctx, const char *server, const char *method,
				struct json params)
{
	struct hub_session *s = ctx;
	struct emit j;

	if (!s->notified || !s->asked_at)
		return;
	caller_count(s->asked_at, s, params.len);
	if (!hub_session_begin_note(s, s->asked_at, server, method, &j))
		return;
	if (params.at)
		emit_json(&j, "params", params.at, params.len);
	else
		emit_raw(&j, "params", "{}", 2);
	rpc_send(&s->asked_at->rpc, NULL, &j);
}

/* The connection that made the request gets its progress, under the token of the request. */
static void hub_session_on_progress(void *request, const char *server, struct json token,
				    struct json params)
{
	struct hub_wait *w = request;
	struct caller *c = w->answer->reply.rpc->is.ctx;
	struct json_iter it = json_iter(params);
	struct emit j;

	caller_count(c, w->session, params.len);
	if (!hub_session_begin_note(w->session, c, server, "notifications/progress", &j))
		return;
	emit_open(&j, "params", '{');
	while (json_each(&it))
		emit_member(&j, it.key, json_is(it.key, "progressToken") ? token : it.value);
	emit_close(&j);
	rpc_send(&c->rpc, NULL, &j);
}

static void hub_session_on_change(void *ctx)
{
	(void)ctx; /* the hub gets changes from the events of servers */
}

/* --- start --- */

/* The caller does not know the id of the session, so no program can use or end the session. */
static void hub_session_on_opener_gone(void *ctx)
{
	struct hub_session *s = ctx;

	answer_free(s->opening);
	s->opening = NULL;
	hub_session_close(s, "its creation was cancelled", true);
}

void hub_session_await(struct hub_session *s, struct answer *a)
{
	s->opening = a;
	a->on_gone = hub_session_on_opener_gone;
	a->ctx = s;
}

static int hub_session_open_desk(struct hub_session *s, const struct hub_session_spec *spec,
				 struct err *e)
{
	static const struct desk_events events = { .on_open = hub_session_on_open,
						   .on_closed = hub_session_on_closed,
						   .on_ask = hub_session_on_ask,
						   .on_ask_over = hub_session_on_ask_over,
						   .on_note = hub_session_on_note,
						   .on_progress = hub_session_on_progress,
						   .on_change = hub_session_on_change };
	struct desk_spec d = { .k = s->hub->k,
			       .config = spec->config,
			       .tag = s->tag,
			       .in = spec->in,
			       .out = spec->out,
			       .answers = spec->answers,
			       .wait = spec->wait,
			       .owners = { s->owners[0], s->owners[1] },
			       .stall_ms = s->hub->o.stall_ms,
			       .file_owner = s->maker_pid };

	return desk_open(&d, &events, s, &s->desk, e);
}

int hub_session_open(struct hub *h, struct hub_session_spec *spec, struct hub_session **out,
		     struct err *e)
{
	struct hub_session *s = mem_grow(NULL, 1, sizeof(*s));
	int r;

	*s = (struct hub_session){ .hub = h,
				   .number = h->last_session + 1,
				   .tag = spec->tag,
				   .source = spec->source,
				   .pid = spec->pid,
				   .lease_ms = spec->lease_ms,
				   .attached = spec->in >= 0,
				   .tree = *caller_tree(spec->caller),
				   .maker_pid = spec->caller->pid,
				   .asked_at = spec->in < 0 ? spec->caller : NULL,
				   .notified = spec->notified,
				   .maker.fd = -1,
				   .client.fd = -1,
				   .began_us = loop_now_us() };
	ring_init(&s->closers);
	ring_init(&s->calls);
	ring_init(&s->refreshes);
	r = hub_session_watch_owners(s, spec->caller, e);
	if (r == 0) {
		r = hub_session_open_desk(s, spec, e);
	} else {
		fd_drop(&spec->in);
		fd_drop(&spec->out);
	}
	if (r < 0) {
		hub_session_free(s);
		return r;
	}
	h->last_session++;
	ring_add(&h->sessions, &s->in_hub);
	if (spec->lease_ms == 0) {
		s->caller = spec->caller;
		ring_add(&spec->caller->sessions, &s->in_caller);
	}
	hub_check_idle(h);
	hub_log(h, "event=session session=s%u tag=\"%s\" pid=%ld", s->number, s->tag ? s->tag : "",
		s->pid);
	*out = s;
	return 0;
}

/* --- refresh --- */

static void hub_session_on_loaded(void *ctx, struct config *config, const struct err *e)
{
	struct hub_wait *w = ctx;
	struct killick_error why;

	w->load = NULL;
	if (!e) {
		desk_refresh(w->session->desk, config, w->refreshed, w);
		return;
	}
	error_set(&why, e->code == HUB_SOURCE_SERVER ? KILLICK_ERR_NO_SERVER : KILLICK_ERR_CONFIG,
		  "%s", e->text);
	w->refreshed(w, NULL, &why);
}

void hub_session_refresh(struct hub_session *s, struct hub_wait *w, const struct hub_source *source,
			 desk_refreshed_fn done)
{
	w->refreshed = done;
	w->load = hub_load_begin(s->hub, source, hub_session_on_loaded, w);
}

/* --- lookup --- */

unsigned hub_id_read(struct json v, char letter)
{
	char text[16], *end;
	unsigned long n;

	if (!json_string_into(v, text, sizeof(text)) || text[0] != letter || text[1] < '1' ||
	    text[1] > '9')
		return 0;
	n = strtoul(text + 1, &end, 10);
	return *end || n > UINT_MAX ? 0 : (unsigned)n;
}

struct hub_session *hub_session_find(struct hub *h, struct json v)
{
	unsigned number = hub_id_read(v, 's');

	RING_EACH(r, &h->sessions) {
		struct hub_session *s = CONTAINER_OF(r, struct hub_session, in_hub);

		if (s->number == number)
			return s;
	}
	return NULL;
}

struct hub_session *hub_session_of(struct hub *h, const struct killick_session *ks)
{
	RING_EACH(r, &h->sessions) {
		struct hub_session *s = CONTAINER_OF(r, struct hub_session, in_hub);

		if (s->desk && desk_session(s->desk) == ks)
			return s;
	}
	return NULL;
}

void hub_session_emit_names(struct emit *j, const struct hub_session *s)
{
	char id[16];

	snprintf(id, sizeof(id), "s%u", s->number);
	emit_str(j, "session", id);
	emit_str(j, "tag", s->tag);
}
