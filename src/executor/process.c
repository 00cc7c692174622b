/* process.c - see process.h */
#include "executor/process.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/trace.h"
#include "executor/connection.h"
#include "executor/executor_internal.h"
#include "executor/owner.h"
#include "executor/params.h"
#include "executor/reading.h"
#include "executor/sandbox.h"
#include "executor/spec.h"
#include "link/end.h"
#include "os/time.h"
#include "wire/wire.h"

#define CLOSED_MAX       1024        /* closed processes of one owner that are kept, */
#define CLOSED_BYTES_MAX (32u << 20) /* and bytes of their output */
#define UNHEARD_MAX      512u        /* closed processes of one owner that does not read */

static struct executor *executor_of(const struct process *p)
{
	return p->owner->executor;
}

/* --- states --- */

const char *const process_state_names[] = {
	[PROCESS_STARTING] = "starting", [PROCESS_RUNNING] = "running",
	[PROCESS_EXITED] = "exited",     [PROCESS_CLOSED] = "closed",
	[PROCESS_FORGOTTEN] = "ending",
};

static void process_go(struct process *p, enum process_state to, const char *why)
{
	assert(to > p->state);
	TRACE(TRACE_EXECUTOR, "process %s owner=%u tree=%s: %s -> %s (%s)", p->id, p->owner->number,
	      p->tree, process_state_names[p->state], process_state_names[to], why);
	p->state = to;
}

static void process_destroy(struct process *p)
{
	struct owner *o = p->owner;

	assert(p->state == PROCESS_FORGOTTEN && !p->link && !p->start && !ring_is_in(&p->due));
	ring_remove(&p->in_owner);
	input_done(&p->input);
	free(p->report);
	free(p->argv);
	free(p->name);
	free(p->session);
	free(p);
	owner_settle(o);
}

void process_stop(struct process *p, enum link_stop how, unsigned grace_ms)
{
	if (!p->link)
		return;
	input_break(&p->input, &p->owner->held_bytes);
	link_stop_within(p->link, how, grace_ms);
}

/* Release the id. The client cannot reach the process any more. */
static void hide(struct process *p, const char *why)
{
	struct owner *o = p->owner;

	roster_remove(&executor_of(p)->roster, p);
	loop_timer_stop(executor_of(p)->loop, &p->retain);
	reading_forget(p);
	ring_remove(&p->due);
	p->missed = false;
	if (ring_is_in(&p->closed)) {
		ring_remove(&p->closed);
		o->closed_count--;
		o->closed_bytes -= p->closed_bytes;
	} else if (p->state == PROCESS_CLOSED) {
		o->unheard--;
	}
	output_done(&p->output);
	retention_forget(p);
	process_go(p, PROCESS_FORGOTTEN, why);
}

void process_forget(struct process *p)
{
	hide(p, "nobody asks for it any more");
	if (p->link)
		process_stop(p, LINK_STOP_KILL, 0);
	else
		process_destroy(p);
}

void process_abandon(struct process *p, unsigned grace_ms)
{
	if (p->start) {
		reply_error(&p->start->reply, RPC_INVALID_REQUEST, "process %s start was cancelled",
			    p->id);
		answer_free(p->start);
		p->start = NULL;
	}
	if (p->state != PROCESS_FORGOTTEN)
		hide(p, "its owner ended");
	if (p->link)
		process_stop(p, LINK_STOP_TERM, grace_ms);
	else
		process_destroy(p);
}

static void on_retained(struct loop_timer *t)
{
	process_forget(CONTAINER_OF(t, struct process, retain));
}

/* The close was pushed: keep the process for a while, within the limits of its owner. */
static void retain(struct process *p)
{
	struct owner *o = p->owner;
	int64_t retain_ms = executor_of(p)->o.retain_ms;

	output_trim(&p->output);
	retention_count(p);
	p->closed_bytes = p->output.kept;
	ring_add(&o->closed, &p->closed);
	o->unheard--;
	o->closed_count++;
	o->closed_bytes += p->closed_bytes;
	if (p->link && retain_ms < p->linger_ms) /* forgetting p would kill processes that linger */
		retain_ms = p->linger_ms;
	loop_timer_set(executor_of(p)->loop, &p->retain, retain_ms, on_retained);
	while (o->closed_count > CLOSED_MAX || o->closed_bytes > CLOSED_BYTES_MAX)
		process_forget(CONTAINER_OF(ring_first(&o->closed), struct process, closed));
}

/* The process has written something, exited or closed. */
static void happened(struct process *p)
{
	reading_wake(p);
	owner_due(p->owner, p);
	owner_push(p->owner);
}

static void exit_with(struct process *p, int code, int sig)
{
	process_go(p, PROCESS_EXITED, "its main process ended");
	p->exit_code = sig ? 128 + sig : code;
	output_exited(&p->output);
	input_break(&p->input, &p->owner->held_bytes);
}

static void close_it(struct process *p)
{
	process_go(p, PROCESS_CLOSED, p->link ? "its output ended" : "its tree is gone");
	p->owner->unheard++;
	output_closed(&p->output);
}

/* Processes that the main process left behind may linger, but their output has ended. */
static void close_if_silent(struct process *p)
{
	if (p->state != PROCESS_EXITED || !p->linger_ms || !p->out_eof)
		return;
	if (!p->err_eof && p->stdio != STDIO_TERMINAL)
		return;
	close_it(p);
	happened(p);
}

/* --- events of the link --- */

static void process_on_started(void *ctx, int pid, const char *level)
{
	struct process *p = ctx;
	struct emit j;

	p->pid = pid;
	memcpy(p->tree, p->link->tree, sizeof(p->tree));
	snprintf(p->level, sizeof(p->level), "%s", level);
	if (p->state != PROCESS_STARTING)
		return;
	process_go(p, PROCESS_RUNNING, level);
	executor_log(executor_of(p), "event=start process=%s pid=%d level=%s client=%s argv=%s",
		     executor_quote(p->id), pid, level, executor_quote(p->owner->client),
		     executor_quote(p->argv));
	if (reply_begin(&p->start->reply, &j)) {
		emit_text(&j, "processId", p->id, strlen(p->id));
		emit_str(&j, "sandboxType", p->sandboxed ? "linuxSeccomp" : "none");
		emit_int(&j, "pid", pid);
		emit_str(&j, "level", level);
		if (p->tree[0])
			emit_str(&j, "tree", p->tree);
		reply_end(&p->start->reply, &j);
	}
	answer_free(p->start);
	p->start = NULL;
	/* Output may have come before this event. It waited, because it could have been the
	 * keeper's. */
	happened(p);
}

/* Pause or resume reading the output of the process. */
static void pause_link(struct process *p)
{
	bool paused = p->full || ring_is_in(&p->retained.in_starved);

	if (p->paused == paused || !p->link)
		return;
	p->paused = paused;
	link_pause(p->link, paused);
}

void process_read_on(struct process *p)
{
	pause_link(p);
}

static void process_take(struct process *p, enum stream s, const char *bytes, size_t len)
{
	if (p->state >= PROCESS_CLOSED || !len)
		return;
	output_add(&p->output, s, bytes, len);
	retention_count(p);
	happened(p);
	p->full |= output_is_full(&p->output);
	retention_check(p);
	pause_link(p);
}

static void process_on_bytes(void *ctx, const char *bytes, size_t len)
{
	struct process *p = ctx;

	process_take(p, p->stdio == STDIO_TERMINAL ? STREAM_PTY : STREAM_STDOUT, bytes, len);
}

static void process_on_stderr(void *ctx, const char *bytes, size_t len)
{
	process_take(ctx, STREAM_STDERR, bytes, len);
}

static void process_on_eof(void *ctx)
{
	struct process *p = ctx;

	p->out_eof = true;
	close_if_silent(p);
}

static void on_stderr_eof(void *ctx)
{
	struct process *p = ctx;

	p->err_eof = true;
	close_if_silent(p);
}

static void process_on_exited(void *ctx, int exit_code, int exit_signal)
{
	struct process *p = ctx;

	if (p->state != PROCESS_RUNNING)
		return;
	exit_with(p, exit_code, exit_signal);
	happened(p);
	close_if_silent(p);
}

static void process_on_room(void *ctx)
{
	struct process *p = ctx;

	if (!p->input.broken)
		input_flush(&p->input, p->link, &p->owner->held_bytes);
}

static void log_end(struct process *p, const struct link_end *end)
{
	char proof[LINK_PROOF_TEXT];

	executor_log(executor_of(p),
		     "event=end process=%s pid=%d client=%s exit=%d why=%s step=%s proof=%s "
		     "survivors=%d ms=%lld",
		     executor_quote(p->id), p->pid, executor_quote(p->owner->client),
		     end->exit_signal ? 128 + end->exit_signal : end->exit_code,
		     link_why_name(end->why), link_step_name(end->step),
		     link_proof_text(end->proof, proof), end->survivors,
		     (long long)((loop_now_us() - p->started_us) / 1000));
}

/* "exitStatus" is the exit status that `killick run` would have had, if it is known. */
static void refuse_start(struct process *p, const struct link_end *end)
{
	const char *text = end->text[0] ? end->text : "the process could not be started";
	struct emit j;

	executor_log(executor_of(p), "event=refused process=%s client=%s argv=%s text=%s",
		     executor_quote(p->id), executor_quote(p->owner->client),
		     executor_quote(p->argv), executor_quote(text));
	if (reply_begin_error(&p->start->reply, &j, RPC_INTERNAL, text)) {
		if (end->status) {
			emit_open(&j, "data", '{');
			emit_int(&j, "exitStatus", end->status);
			emit_close(&j);
		}
		reply_end_error(&p->start->reply, &j);
	}
	answer_free(p->start);
	p->start = NULL;
	hide(p, text);
}

static void process_on_ended(void *ctx, const struct link_end *end)
{
	struct process *p = ctx;
	struct executor *x = executor_of(p);
	struct link *link = p->link; /* freed last: `end` is part of the link */

	p->link = NULL;
	x->process_count--;
	if (p->pid)
		log_end(p, end);
	if (end->report[0])
		p->report = mem_dup(end->report);
	if (p->state == PROCESS_STARTING)
		refuse_start(p, end);
	if (p->state == PROCESS_RUNNING)
		exit_with(p, end->exit_code, end->exit_signal);
	input_break(&p->input, &p->owner->held_bytes);
	if (p->state == PROCESS_EXITED) {
		close_it(p);
		happened(p);
	} else if (p->state == PROCESS_FORGOTTEN) {
		process_destroy(p);
	}
	link_free(link);
	executor_settle(x);
}

static const struct link_events link_events = {
	.on_started = process_on_started,
	.on_bytes = process_on_bytes,
	.on_stderr = process_on_stderr,
	.on_eof = process_on_eof,
	.on_ended = process_on_ended,
	.on_stderr_eof = on_stderr_eof,
	.on_exited = process_on_exited,
	.on_room = process_on_room,
};

/* --- process/start --- */

static struct process *make(struct owner *o, struct spec *s)
{
	size_t len = strlen(s->id);
	struct process *p = mem_grow(NULL, sizeof(*p) + len + 1, 1);

	*p = (struct process){
		.owner = o,
		.stdio = s->recipe.stdio,
		.sandboxed = s->sandbox != NULL,
		.started_us = loop_now_us(),
		.started_ms = time_wall_ns() / 1000000,
		.argv = s->argv_json,
		.name = mem_dup(s->recipe.name),
		.session = mem_dup(s->recipe.session),
	};
	s->argv_json = NULL;
	memcpy(p->id, s->id, len + 1);
	ring_init(&p->readers);
	input_init(&p->input);
	ring_add(&o->processes, &p->in_owner);
	roster_add(&o->executor->roster, p);
	return p;
}

static int process_open_link(struct process *p, struct spec *s, struct err *e)
{
	struct executor *x = executor_of(p);
	struct recipe *recipe = &s->recipe;
	int r;

	recipe->keeper = x->o.keeper;
	if (!s->says_contain)
		recipe->contain = x->o.contain;
	if (recipe->stdio != STDIO_PIPES && !s->says_linger)
		recipe->linger_ms = (unsigned)x->o.retain_ms;
	p->linger_ms = recipe->linger_ms;
	if (s->sandbox) {
		sandbox_wrap(recipe, x->o.sandbox, s->sandbox);
		s->sandbox = NULL;
	}
	recipe->sweep = x->process_count == 0;
	r = link_open(x->loop, recipe, &link_events, p, &p->link, e);
	if (r == 0)
		x->process_count++;
	return r;
}

static bool may_start(struct owner *o, const struct spec *s, const struct reply *r)
{
	struct executor *x = o->executor;

	if (roster_find(&x->roster, o, s->id))
		reply_error(r, RPC_INVALID_REQUEST, "process %s already exists", s->id);
	else if (x->process_count >= x->o.max_processes)
		reply_error(r, RPC_INVALID_REQUEST, "too many processes (%u)", x->o.max_processes);
	else if (o->unheard >= UNHEARD_MAX)
		reply_error(r, RPC_INVALID_REQUEST,
			    "too many ended processes (%u) that the client has not read yet",
			    UNHEARD_MAX);
	else if (s->says_sandbox && !x->o.sandbox)
		reply_error(r, RPC_INVALID_REQUEST,
			    "this executor has no sandbox: nothing was started; start the executor "
			    "with --sandbox bwrap");
	else if (s->sandbox_error.code)
		reply_error(r, s->sandbox_error.code, "%s", s->sandbox_error.text);
	else
		return true;
	return false;
}

void process_start_as(struct owner *o, const struct reply *r, struct spec *s)
{
	struct err e = ERR_INIT;
	struct answer *a;
	struct process *p;

	if (!may_start(o, s, r))
		return;
	a = answer_new(r, NULL, NULL);
	if (!a)
		return;
	p = make(o, s);
	p->start = a;
	if (process_open_link(p, s, &e) == 0)
		return;
	reply_error(&a->reply, RPC_INTERNAL, "%s", e.text);
	answer_free(a);
	p->start = NULL;
	hide(p, e.text);
	process_destroy(p);
}

void process_start(void *connection, const struct reply *r, struct json params)
{
	struct owner *o = ((struct connection *)connection)->owner;
	AUTO(spec_done) struct spec s;
	struct err e = ERR_INIT;

	if (spec_read(&s, params, o->executor->o.envp, &e) < 0)
		reply_error(r, e.code, "%s", e.text);
	else
		process_start_as(o, r, &s);
}

/* --- for other modules --- */

struct process *process_find_id(struct owner *o, const char *id)
{
	if (strlen(id) > PROCESS_ID_MAX)
		return NULL;
	return roster_find(&o->executor->roster, o, id);
}

struct process *process_find(struct owner *o, struct json id, char out_id[PROCESS_ID_MAX + 8])
{
	json_string_into(id, out_id, PROCESS_ID_MAX + 8);
	return process_find_id(o, out_id);
}

void process_resume(struct process *p)
{
	p->missed = p->output.pushed_seq > 0;
}

void process_caught_up(struct process *p)
{
	if (!p->missed)
		return;
	p->missed = false;
	owner_due(p->owner, p);
}

static void write_event(const struct process *p, enum output_event what,
			const struct output_piece *piece, struct emit *j)
{
	emit_text(j, "processId", p->id, strlen(p->id));
	emit_int(j, "seq", (long long)piece->seq);
	if (what == OUTPUT_PIECE) {
		emit_str(j, "stream", stream_name(piece->stream));
		wire_chunk(j, "chunk", piece->bytes, piece->len);
	} else if (what == OUTPUT_EXITED) {
		emit_int(j, "exitCode", p->exit_code);
		emit_bool(j, "sandboxDenied", false);
	} else if (p->report) {
		emit_raw(j, "report", p->report, strlen(p->report));
	}
}

bool process_push(struct process *p, struct connection *c)
{
	static const char *const methods[] = { [OUTPUT_PIECE] = "process/output",
					       [OUTPUT_EXITED] = "process/exited",
					       [OUTPUT_CLOSED] = "process/closed" };
	struct output_piece piece;
	enum output_event what = output_next(&p->output, &piece);
	struct emit j;

	if (what == OUTPUT_NONE || p->missed || p->state == PROCESS_STARTING)
		return false;
	if (rpc_begin(&c->rpc, NULL, methods[what], &j) < 0)
		return true;
	write_event(p, what, &piece, &j);
	if (rpc_send(&c->rpc, NULL, &j) < 0)
		return true;
	output_pushed(&p->output);
	if (what == OUTPUT_PIECE)
		retention_pushed(p, piece.len);
	if (p->full && output_has_room(&p->output)) {
		p->full = false;
		pause_link(p);
	}
	if (what == OUTPUT_CLOSED)
		retain(p);
	return output_next(&p->output, &piece) != OUTPUT_NONE;
}
