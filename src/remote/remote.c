/* remote.c - the life of a server on an executor, see remote.h */
#include "remote/remote.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/random.h"
#include "base/trace.h"
#include "remote/remote_internal.h"
#include "link/end.h"

#define LOST_MS     2000 /* how long a stopped link waits for the connection to come back */
#define KILL_MS     7000 /* in addition to both graces: for the kill and its report */
#define INTERNAL_MS 1000 /* budget of the link of a sweep */
#define SETTLE_MS                                                                                  \
	500 /* from exit to close, before a sweep looks for processes that hold the pipes */
#define STUCK_MS 3000 /* for the answer to terminate from an executor other than killick's */

#define REPORT_LEVELS 8         /* of objects and arrays in a report; a keeper's report has 3 */
#define REPORT_MAX    MEM_SMALL /* bytes of the report of an end; a keeper's report is far smaller */

static void send_terminate(struct remote *r);
static void remote_on_late(struct loop_timer *t);

struct remote *remote_of(struct ring *in_env)
{
	return CONTAINER_OF(in_env, struct remote, in_env);
}

bool remote_is_waiting(const struct remote *r)
{
	return r->state == REMOTE_WAITING;
}

static bool remote_is_ours(const struct remote *r)
{
	return r->env->killick || r->internal;
}

/* --- the end --- */

static void remote_destroy(struct remote *r)
{
	free(r->report);
	free(r);
}

static void unpause(struct remote *r)
{
	if (r->paused)
		environment_pause(r->env, false);
	r->paused = false;
}

const char *const remote_state_names[] = {
	[REMOTE_WAITING] = "waiting", [REMOTE_STARTING] = "starting",
	[REMOTE_RUNNING] = "running", [REMOTE_SWEEPING] = "sweeping",
	[REMOTE_DONE] = "done",
};

static void remote_go(struct remote *r, enum remote_state to, const char *why)
{
	assert(to > r->state);
	TRACE(TRACE_LINK, "process=%s environment=%s tree=%s: %s -> %s (%s)", r->id, r->env->name,
	      r->link.tree, remote_state_names[r->state], remote_state_names[to], why);
	r->state = to;
}

/* Nothing is left to do. r may be freed by this call. */
static void remote_finish(struct remote *r)
{
	struct environment *env = r->env;
	bool told = r->told;

	remote_go(r, REMOTE_DONE, r->end.text[0] ? r->end.text : link_why_name(r->end.why));
	r->told = true;
	ring_remove(&r->in_env);
	loop_timer_stop(env->loop, &r->late);
	loop_timer_stop(env->loop, &r->settle);
	rpc_drop(&env->rpc, &r->start);
	rpc_drop(&env->rpc, &r->terminate);
	rpc_drop(&env->rpc, &r->signal);
	recipe_done(&r->recipe);
	remote_in_done(r);
	remote_out_done(r);
	if (r->sweep)
		sweep_cancel(r->sweep);
	r->sweep = NULL;
	unpause(r);
	r->end.report = r->report ? r->report : "";
	if (!told)
		r->link.ev->on_ended(r->link.ctx, &r->end);
	else if (r->freed)
		remote_destroy(r);
	environment_review(env);
}

static void set_text(struct remote *r, const char *text)
{
	if (!r->end.text[0])
		snprintf(r->end.text, sizeof(r->end.text), "%s", text);
}

/* The server never ran. r may be freed by this call. */
static void remote_refuse(struct remote *r, const char *text)
{
	r->end.refused = text != NULL;
	if (text)
		set_text(r, text);
	r->end.proof = LINK_PROOF_NEVER;
	remote_finish(r);
}

/* Codex's executor ends the group of a process when it is asked to while the process runs. After an
 * exit of the process by itself the others live on, and only a sweep can tell. */
static unsigned proof_without_keeper(const struct remote *r, const struct sweep_result *result)
{
	if (result->windows)
		return 0;
	if (!result->ran)
		return r->group_ended ? LINK_PROOF_GROUP : 0;
	return LINK_PROOF_GROUP | (result->left ? 0 : LINK_PROOF_SWEEP);
}

/* The sweep did not run. r may be freed by this call. */
static void give_up_sweep(struct remote *r)
{
	const struct sweep_result result = { .ran = false };
	char text[sizeof(r->end.text)];

	sweep_text(&result, text, sizeof(text));
	set_text(r, text);
	r->end.proof = proof_without_keeper(r, &result);
	remote_finish(r);
}

/* The connection is lost, and a stopped link has waited long enough: call on_ended. The rest
 * follows if the connection comes back. */
static void tell_lease(struct remote *r)
{
	const struct environment *env = r->env;

	snprintf(r->end.text, sizeof(r->end.text),
		 "environment '%.63s' cannot be reached (%.80s); its executor ends the server by "
		 "itself within %d s",
		 env->name, env->why.text, environment_lease_left(env));
	r->end.proof = LINK_PROOF_LEASE;
	r->end.report = "";
	r->told = true;
	r->link.ev->on_ended(r->link.ctx, &r->end);
}

static void remote_on_late(struct loop_timer *t)
{
	struct remote *r = CONTAINER_OF(t, struct remote, late);

	if (r->state == REMOTE_WAITING) {
		remote_refuse(r, NULL);
	} else if (r->state == REMOTE_SWEEPING) {
		give_up_sweep(r);
	} else if (!environment_is_attached(r->env)) {
		if (!r->told)
			tell_lease(r);
	} else {
		set_text(r, "its executor did not report the end of the server");
		remote_finish(r);
	}
}

/* How long the executor may take to end the server. */
static int64_t budget(const struct remote *r)
{
	return r->internal ? INTERNAL_MS : 2 * (int64_t)r->grace_ms + KILL_MS;
}

/* Call on_ended within `ms`, if no earlier time is set. Reconnects restart the timer, up to twice
 * the budget. */
static void limit(struct remote *r, int64_t ms)
{
	int64_t now = loop_now_us(), due = now + ms * 1000;
	int64_t last = r->stop_us + 2 * budget(r) * 1000;

	if (r->stopping && due > last)
		due = last < now ? now : last;
	if (!r->late.slot || r->late.due_us > due)
		loop_timer_set(r->env->loop, &r->late, (due - now + 999) / 1000, remote_on_late);
}

static void on_swept(void *ctx, const struct sweep_result *result)
{
	struct remote *r = ctx;
	struct buf report = BUF_INIT(BUF_ANY_SIZE);
	char text[sizeof(r->end.text)];

	r->sweep = NULL;
	r->end.proof = proof_without_keeper(r, result);
	sweep_report(&report, result, r->end.exit_code, r->end.proof);
	free(r->report);
	r->report = buf_take(&report);
	sweep_text(result, text, sizeof(text));
	set_text(r, text);
	r->end.survivors = (int)result->left;
	if (r->stopping)
		r->end.stop_ms = (double)(loop_now_us() - r->stop_us) / 1000;
	remote_finish(r);
}

/* The executor reports that the process is gone. r may be freed by this call. */
static void end_process(struct remote *r)
{
	if (r->state == REMOTE_SWEEPING)
		return;
	loop_timer_stop(r->env->loop, &r->settle);
	if (remote_is_ours(r)) {
		remote_finish(r);
		return;
	}
	r->end.why = r->stopping ? LINK_WHY_SIGNAL : LINK_WHY_EXIT;
	r->end.step = r->stopping ? LINK_STEP_KILL : LINK_STEP_NONE;
	remote_go(r, REMOTE_SWEEPING, "look for what it left behind");
	remote_out_close(r);
	if (r->windows) {
		on_swept(r, &(struct sweep_result){ .windows = true });
		return;
	}
	limit(r, budget(r));
	r->sweep = sweep_begin(r->env, r->tag, on_swept, r);
}

/* Has the value at most so many levels of objects and arrays? */
static bool remote_is_flat(struct json v, unsigned levels)
{
	struct json_iter it = json_iter(v);
	bool flat = true;

	while (flat && json_each(&it))
		flat = levels > 0 && remote_is_flat(it.value, levels - 1);
	return flat;
}

/* The report becomes part of a larger JSON text, which must not be nested too deep. */
void remote_closed(struct remote *r, const char *report, size_t len)
{
	struct json v;

	if (report && len <= REPORT_MAX && json_check(report, len, 0, &v, NULL) == 0 &&
	    json_type(v) == JSON_OBJECT && remote_is_flat(v, REPORT_LEVELS)) {
		free(r->report);
		r->report = mem_text(v.at, v.len);
		link_end_read(&r->end, v);
	}
	end_process(r);
}

void remote_vanished(struct remote *r)
{
	if (r->end.refused) {
		r->end.proof = LINK_PROOF_NEVER; /* the start did not arrive */
	} else if (!r->exited) {
		set_text(r, "its executor does not know the server any more");
	}
	end_process(r);
}

static void on_settle(struct loop_timer *t)
{
	struct remote *r = CONTAINER_OF(t, struct remote, settle);

	/* Codex's executor handles its requests one after the other, and one of them may wait for a
	 * server that does not read. Only a new connection helps. */
	if (rpc_id(&r->terminate) && !r->env->program)
		environment_drop(r->env, CLOSE_LOST, -ETIMEDOUT, "no answer within %d s",
				 STUCK_MS / 1000);
	else if (r->exited)
		end_process(r); /* another process holds its pipes */
}

void remote_exited(struct remote *r, int code)
{
	bool lingers = r->stdio != STDIO_PIPES && (r->linger_ms || !remote_is_ours(r));

	r->exited = true;
	r->end.exit_code = code;
	if (lingers && !r->told && r->link.ev->on_exited)
		r->link.ev->on_exited(r->link.ctx, code, 0);
	if (!remote_is_ours(r))
		loop_timer_set(r->env->loop, &r->settle,
			       lingers && r->linger_ms ? r->linger_ms : SETTLE_MS, on_settle);
}

/* --- stopping --- */

static void on_terminated(struct rpc_request *p, const struct message *m)
{
	struct remote *r = CONTAINER_OF(p, struct remote, terminate);
	bool running = false;

	json_bool(json_get(m->result, "running"), &running);
	r->denied = !running;
	r->group_ended |= running;
	/* A read tells whether the process is closed or was never started. */
	if (!running && r->state == REMOTE_RUNNING)
		remote_read(r);
}

static const struct rpc_handler terminate_handler = { .on_answer = on_terminated };

static void send_terminate(struct remote *r)
{
	struct emit j;

	if (r->state != REMOTE_STARTING && r->state != REMOTE_RUNNING)
		return;
	rpc_drop(&r->env->rpc, &r->terminate);
	if (!environment_begin(r->env, &j, &r->terminate, "process/terminate", &terminate_handler))
		return;
	emit_str(&j, "processId", r->id);
	if (r->how != LINK_STOP_KILL && r->env->killick)
		emit_int(&j, "graceMs", r->grace_ms);
	if (r->how == LINK_STOP_TERM && r->env->killick)
		emit_bool(&j, "eof", false);
	environment_commit(r->env, &j);
	if (!remote_is_ours(r) && !r->exited)
		loop_timer_set(r->env->loop, &r->settle, STUCK_MS, on_settle);
}

static void remote_send_stop(struct remote *r, enum link_stop how)
{
	unpause(r); /* otherwise the end would not be received */
	r->stopping = true;
	r->how = how;
	if (!r->stop_us)
		r->stop_us = loop_now_us();
	if (r->state == REMOTE_WAITING) {
		limit(r, 0);
	} else if (environment_is_attached(r->env)) {
		send_terminate(r);
		limit(r, budget(r));
	} else {
		limit(r, LOST_MS);
	}
}

static void remote_stop(struct link *link, enum link_stop how, long grace_ms)
{
	struct remote *r = CONTAINER_OF(link, struct remote, link);

	if (r->told || (r->stopping && how <= r->how))
		return;
	if (grace_ms >= 0)
		r->grace_ms = (unsigned)grace_ms;
	remote_out_close(r);
	remote_send_stop(r, how);
}

void remote_break(struct remote *r, const char *text)
{
	set_text(r, text);
	remote_out_close(r);
	if (!r->stopping || r->how != LINK_STOP_KILL)
		remote_send_stop(r, LINK_STOP_KILL);
}

static void remote_interrupt(struct link *link)
{
	struct remote *r = CONTAINER_OF(link, struct remote, link);
	struct emit j;

	if (r->state != REMOTE_RUNNING || rpc_id(&r->signal) ||
	    !environment_begin(r->env, &j, &r->signal, "process/signal", &environment_ignores))
		return;
	emit_str(&j, "processId", r->id);
	emit_str(&j, "signal", "interrupt");
	environment_commit(r->env, &j);
}

static void remote_pause(struct link *link, bool paused)
{
	struct remote *r = CONTAINER_OF(link, struct remote, link);

	if (r->stopping || r->state == REMOTE_DONE || r->paused == paused)
		return;
	r->paused = paused;
	environment_pause(r->env, paused);
}

/* --- starting --- */

static void on_start_failed(struct remote *r, const struct message *m)
{
	char reason[ENVIRONMENT_TEXT];
	int64_t status = 0;
	struct err e;

	environment_error_text(m, reason);
	if (json_int(json_find(m->error, "data.exitStatus"), &status) && status > 0 && status < 128)
		r->end.status = (int)status;
	err_set(&e, -ENOEXEC, "%s: %s", r->env->title, reason);
	if (r->stopping && !remote_is_ours(r)) { /* "cancelled", perhaps after the fork */
		r->end.refused = true;
		set_text(r, e.text);
		end_process(r);
	} else {
		remote_refuse(r, e.text);
	}
}

static void on_start_answered(struct rpc_request *p, const struct message *m)
{
	struct remote *r = CONTAINER_OF(p, struct remote, start);
	char level[16] = "group";
	int64_t pid = -1; /* unknown */

	recipe_done(&r->recipe);
	if (m->kind == MESSAGE_ERROR) {
		on_start_failed(r, m);
		return;
	}
	json_int(json_get(m->result, "pid"), &pid);
	json_string_into(json_get(m->result, "level"), level, sizeof(level));
	json_string_into(json_get(m->result, "tree"), r->link.tree, sizeof(r->link.tree));
	r->end.pid = (int)pid;
	remote_go(r, REMOTE_RUNNING, level);
	if (!r->told)
		r->link.ev->on_started(r->link.ctx, r->end.pid, level);
	if (!r->told)
		environment_tell_skipped(r->env, &r->link);
	if (r->stopping && r->denied) { /* terminate was handled before the start */
		r->denied = false;
		send_terminate(r);
	}
	remote_pump(r);
	remote_in_begin(r);
}

static const struct rpc_handler start_handler = { .on_answer = on_start_answered };

static void send_start(struct remote *r)
{
	struct emit j;

	if (!environment_begin(r->env, &j, &r->start, "process/start", &start_handler))
		return;
	remote_go(r, REMOTE_STARTING, "process/start was sent");
	emit_str(&j, "processId", r->id);
	plan_emit(&r->recipe, &j, remote_is_ours(r) ? NULL : r->tag);
	environment_commit(r->env, &j);
	if (r->env->killick)
		remote_pump(r); /* the executor handles requests in order: send input at once */
}

void remote_attach(struct remote *r)
{
	struct err e, why;

	r->lost = false;
	if (r->state != REMOTE_WAITING || r->stopping)
		return;
	if (r->env->killick || plan_check_plain(&r->recipe, &e) == 0) {
		send_start(r);
		return;
	}
	err_set(&why, e.code, "%s: %s", r->env->title, e.text);
	remote_refuse(r, why.text);
}

/* --- lost and resumed --- */

void remote_lose(struct remote *r, const char *why)
{
	r->lost = true;
	r->in.again = false;
	loop_timer_stop(r->env->loop, &r->settle);
	remote_out_lost(r);
	if (r->stopping && r->state != REMOTE_WAITING)
		limit(r, LOST_MS);
	if (!r->told && r->link.ev->on_lost)
		r->link.ev->on_lost(r->link.ctx, why);
}

/* It is unknown whether process/start arrived. If it arrived, the process is ended. process/start
 * is not sent again. */
static void doubt_start(struct remote *r)
{
	char text[sizeof(r->end.text)];

	snprintf(text, sizeof(text),
		 "the connection to %s was lost while the server was being started", r->env->title);
	recipe_done(&r->recipe);
	r->end.refused = true;
	remote_go(r, REMOTE_RUNNING, "nobody knows whether process/start arrived");
	remote_break(r, text);
}

void remote_resume(struct remote *r)
{
	if (!r->lost)
		return;
	r->lost = false;
	if (r->state == REMOTE_STARTING)
		doubt_start(r);
	if (r->stopping) {
		loop_timer_stop(r->env->loop, &r->late);
		limit(r, budget(r));
	}
	if (r->state == REMOTE_SWEEPING)
		return; /* the sweep has a link of its own */
	r->in.resyncing = true;
	r->in.rounds = 0;
	if (r->stopping && !rpc_id(&r->terminate))
		send_terminate(r);
	remote_read(r);
	remote_out_resume(r);
	if (r->exited && !remote_is_ours(r))
		loop_timer_set(r->env->loop, &r->settle, SETTLE_MS, on_settle);
}

void remote_abandon(struct remote *r, const char *text)
{
	if (r->state == REMOTE_WAITING) {
		remote_refuse(r, text);
		return;
	}
	if (r->state == REMOTE_SWEEPING) {
		give_up_sweep(r);
		return;
	}
	set_text(r, text);
	r->end.proof = LINK_PROOF_LEASE;
	remote_finish(r);
}

/* --- open and free --- */

static void remote_free(struct link *link)
{
	struct remote *r = CONTAINER_OF(link, struct remote, link);
	struct environment *env = r->env;

	assert(r->told && !r->freed);
	r->freed = true;
	if (!r->internal)
		env->users--;
	if (r->state == REMOTE_DONE)
		remote_destroy(r);
	environment_review(env);
}

static const struct link_ops ops = {
	.write = remote_write,
	.unwritten = remote_unwritten,
	.stop = remote_stop,
	.free = remote_free,
	.interrupt = remote_interrupt,
	.pause = remote_pause,
};

int remote_open(struct environment *env, const struct remote_spec *spec, struct link **out,
		struct err *e)
{
	const struct recipe *recipe = spec->recipe;
	struct remote *r;
	int error = plan_check(recipe, e);

	if (error == 0 && environment_is_attached(env) && !env->killick && !spec->internal)
		error = plan_check_plain(recipe, e);
	if (error < 0)
		return error;
	r = mem_grow(NULL, 1, sizeof(*r));
	*r = (struct remote){
		.link = { .ops = &ops, .ev = spec->ev, .ctx = spec->ctx },
		.env = env,
		.number = ++env->last_number,
		.recipe = recipe_copy(recipe),
		.stdio = recipe->stdio,
		.grace_ms = recipe->grace_ms,
		.linger_ms = recipe->linger_ms,
		.internal = spec->internal,
		.windows = path_is_windows(recipe->cwd),
		.out = { .queue = BUF_INIT(BUF_ANY_SIZE),
			 .limit = recipe->write_limit,
			 .first_id = 1,
			 .closed = recipe->stdio == STDIO_NULL },
		.end = { .exit_code = -1, .why = LINK_WHY_EXECUTOR },
	};
	snprintf(r->id, sizeof(r->id), "k%llu", (unsigned long long)r->number);
	memcpy(r->link.id, r->id, sizeof(r->link.id));
	random_hex(r->tag, PLAN_TAG_SIZE - 1);
	ring_init(&r->in.early);
	ring_add(&env->remotes, &r->in_env);
	env->users += !spec->internal;
	*out = &r->link;
	if (environment_is_attached(env))
		send_start(r);
	return 0;
}
