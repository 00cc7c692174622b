/* run_on.c - `killick run --on`: a server on another machine with the stdin, stdout and stderr of
 * killick.
 *
 * The main thread runs the loop. One thread reads the input and two threads write the outputs
 * (pump.h): these descriptors may be of any kind and shared with other processes, so they are not
 * made non-blocking. Each direction stops when the other side does not read. While the connection
 * is lost everything waits; the link does not lose or double a byte.
 *
 * link_stop ends the server, and the verb ends with the link:
 *
 *	stdin hangs up, or is at its end	close its stdin; grace; SIGTERM; grace; kill
 *	SIGTERM, SIGINT, SIGHUP		SIGTERM; grace; kill. Another one: kill
 *	the owner is dead		SIGTERM; at most 500 ms; kill
 *	the reader of stdout is gone	SIGTERM; grace; kill
 */
#include "run_on.h"
#include "run_words.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/emit.h"
#include "base/mem.h"
#include "cli.h"
#include "link/end.h"
#include "os/await.h"
#include "os/dirs.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/interrupt.h"
#include "os/thread.h"
#include "owner.h"
#include "pump.h"

#define VERB          "run"
#define PIECE         (64u << 10)  /* bytes of one read */
#define UNWRITTEN_MAX (256u << 10) /* queued bytes of input */
#define WRITE_LIMIT   (4u << 20)   /* never reached: reading stops at UNWRITTEN_MAX */
#define OWNER_DEAD_MS 500
#define LAST_WORDS_US 1000000 /* time to write the outputs when killick must end */

struct run_on {
	struct run_on_options o;
	struct config_place place;
	int report_fd; /* -1: none */
	struct loop *loop;
	struct environment *env;
	struct link *link; /* NULL: the link has ended */
	struct pump out, err;
	bool paused;

	int requests; /* interrupt.h */
	struct loop_watch signals, owner, hangup;
	struct loop_timer patience; /* limits how long queued input may delay the end of stdin */
	unsigned signal_count;
	int signal; /* the first signal; 0: none */
	bool leave; /* do not wait until the outputs are written */

	bool started, lost, ended, freed;
	struct link_end end;
	char *report; /* the report of the keeper */
};

/* --- reasons to end the server --- */

static void run_on_stop(struct run_on *r, enum link_stop how, unsigned grace_ms)
{
	if (r->link && !r->ended)
		link_stop_within(r->link, how, grace_ms);
}

static void run_on_on_signal(struct loop_watch *w, uint32_t events)
{
	struct run_on *r = CONTAINER_OF(w, struct run_on, signals);
	int caught = interrupt_take(w->fd);

	(void)events;
	if (!caught)
		return;
	r->leave = true;
	if (!r->signal)
		r->signal = caught;
	run_on_stop(r, ++r->signal_count > 1 ? LINK_STOP_KILL : LINK_STOP_TERM,
		    r->o.run.recipe.grace_ms);
}

static void on_owner_dead(struct loop_watch *w, uint32_t events)
{
	struct run_on *r = CONTAINER_OF(w, struct run_on, owner);
	unsigned grace_ms = r->o.run.recipe.grace_ms;

	(void)events;
	loop_watch_stop(r->loop, w);
	r->leave = true;
	run_on_stop(r, LINK_STOP_TERM, grace_ms < OWNER_DEAD_MS ? grace_ms : OWNER_DEAD_MS);
}

/* The server had time to read its queued input. While the connection is lost the server cannot
 * read, so the timer starts again. */
static void on_patience_over(struct loop_timer *t)
{
	struct run_on *r = CONTAINER_OF(t, struct run_on, patience);

	if (r->started && !r->lost)
		run_on_stop(r, LINK_STOP_EOF, r->o.run.recipe.grace_ms);
	else
		loop_timer_set(r->loop, t, r->o.run.recipe.grace_ms, on_patience_over);
}

static void lose_patience(struct run_on *r)
{
	if (!r->patience.slot)
		loop_timer_set(r->loop, &r->patience, r->o.run.recipe.grace_ms, on_patience_over);
}

static void on_hangup(struct loop_watch *w, uint32_t events)
{
	struct run_on *r = CONTAINER_OF(w, struct run_on, hangup);

	(void)events;
	loop_watch_stop(r->loop, w);
	lose_patience(r);
}

/* --- events of the link --- */

static void look_at_pumps(void *ctx)
{
	struct run_on *r = ctx;
	bool full = pump_is_full(&r->out) || pump_is_full(&r->err);

	if (!r->link || r->ended)
		return;
	if (full != r->paused)
		link_pause(r->link, full);
	r->paused = full;
	if (r->out.broken)
		run_on_stop(r, LINK_STOP_TERM, r->o.run.recipe.grace_ms);
}

static void run_on_on_started(void *ctx, int pid, const char *level)
{
	((struct run_on *)ctx)->started = true;
	(void)pid;
	(void)level;
}

static void run_on_on_bytes(void *ctx, const char *bytes, size_t len)
{
	struct run_on *r = ctx;

	pump_add(&r->out, bytes, len);
	look_at_pumps(r);
}

static void run_on_on_stderr(void *ctx, const char *bytes, size_t len)
{
	struct run_on *r = ctx;

	pump_add(&r->err, bytes, len);
	look_at_pumps(r);
}

static void run_on_on_eof(void *ctx)
{
	(void)ctx;
}

/* End the background jobs of the server: killick must hold all its processes. */
static void run_on_on_exited(void *ctx, int exit_code, int exit_signal)
{
	(void)exit_code;
	(void)exit_signal;
	run_on_stop(ctx, LINK_STOP_KILL, 0);
}

static void say_later(struct run_on *r, const char *text, const char *more)
{
	char line[400];
	int len = snprintf(line, sizeof(line), "killick: " VERB ": %.300s%s\n", text, more);

	pump_add(&r->err, line, (size_t)len < sizeof(line) ? (size_t)len : sizeof(line) - 1);
}

static void run_on_on_lost(void *ctx, const char *why)
{
	((struct run_on *)ctx)->lost = true;
	say_later(ctx, why, "; waiting for a new connection");
}

static void run_on_on_back(void *ctx)
{
	((struct run_on *)ctx)->lost = false;
	say_later(ctx, "the connection is back", "");
}

static void run_on_on_ended(void *ctx, const struct link_end *end)
{
	struct run_on *r = ctx;

	r->end = *end;
	r->report = mem_dup(end->report);
	r->end.report = r->report;
	r->ended = true;
}

static const struct link_events link_events = {
	.on_started = run_on_on_started,
	.on_bytes = run_on_on_bytes,
	.on_stderr = run_on_on_stderr,
	.on_eof = run_on_on_eof,
	.on_ended = run_on_on_ended,
	.on_exited = run_on_on_exited,
	.on_lost = run_on_on_lost,
	.on_back = run_on_on_back,
};

/* --- stdin --- */

static ssize_t read_input(char *bytes, size_t size)
{
	for (;;) {
		ssize_t n = fd_read(FILE_STDIN, bytes, size);

		if (n != -EINTR && n != -EAGAIN)
			return n;
		if (n == -EAGAIN)
			await_readable(FILE_STDIN);
	}
}

static bool has_room(void *ctx)
{
	const struct run_on *r = ctx;

	return r->ended || link_unwritten(r->link) < UNWRITTEN_MAX;
}

/* While input is queued, stdin is not read, so a hang-up must be watched for separately. */
static void wait_for_room(struct run_on *r)
{
	if (has_room(r))
		return;
	loop_watch(r->loop, &r->hangup, FILE_STDIN, POLLER_RDHUP, on_hangup); /* fails for a file */
	loop_wait(r->loop, has_room, r, INT64_MAX);
	if (r->hangup.fd >= 0)
		loop_watch_stop(r->loop, &r->hangup);
}

static bool is_taken(void *ctx)
{
	const struct run_on *r = ctx;

	return r->ended || (r->started && !r->lost && link_unwritten(r->link) == 0);
}

/* stdin has ended. Queued input is sent first, if the server reads it in time. */
static void end_input(struct run_on *r)
{
	if (!is_taken(r))
		lose_patience(r);
	loop_wait(r->loop, is_taken, r, INT64_MAX);
	loop_timer_stop(r->loop, &r->patience);
	run_on_stop(r, LINK_STOP_EOF, r->o.run.recipe.grace_ms);
}

/* Called with the lock. Returns false when no more input is needed. A server that closed its stdin
 * may still run: then input is read and dropped until its end. */
static bool run_on_feed(struct run_on *r, const char *bytes, ssize_t n)
{
	if (r->ended || !r->link)
		return false;
	if (n <= 0) {
		end_input(r);
		return false;
	}
	link_write(r->link, bytes, (size_t)n);
	wait_for_room(r);
	return !r->ended;
}

static void *read_stdin(void *arg)
{
	struct run_on *r = arg;
	char *bytes = mem_grow(NULL, PIECE, 1);
	bool more = true;

	while (more) {
		ssize_t n = read_input(bytes, PIECE);

		loop_lock(r->loop);
		more = run_on_feed(r, bytes, n);
		loop_unlock(r->loop);
	}
	free(bytes);
	return NULL;
}

static int start_input(struct run_on *r, struct err *e)
{
	struct thread thread;
	int status;

	if (file_has_no_stdin())
		return 0;
	status = thread_start(&thread, THREAD_OURS, "killick-stdin", read_stdin, r);
	if (status < 0)
		return err_set(e, status, "cannot start a thread: %s", strerror(-status));
	thread_detach(&thread);
	return 0;
}

/* --- start --- */

static int run_on_open_link(struct run_on *r, struct err *e)
{
	struct recipe recipe = r->o.run.recipe;
	char here[PATH_MAX];

	if (!recipe.cwd && !dirs_current(here, sizeof(here)))
		return err_set(
			e, -ENOENT,
			"cannot get the name of the working directory (%s); give '--cwd DIR'",
			strerror(ENOENT));
	if (!recipe.cwd)
		recipe.cwd = here;
	recipe.stdio = file_has_no_stdin() ? STDIO_NULL : STDIO_PIPES;
	recipe.write_limit = WRITE_LIMIT;
	return environment_open_link(r->env, &recipe, &link_events, r, &r->link, e);
}

/* Called with the lock. Returns 0 or an exit status. */
static int run_on_start(struct run_on *r, const char *keeper)
{
	struct err e = ERR_INIT;
	int status = owner_watch(r->loop, VERB, &r->o.run, &r->owner, on_owner_dead), code;

	if (status)
		return status;
	r->out = (struct pump){ .fd = FILE_STDOUT };
	r->err = (struct pump){ .fd = FILE_STDERR };
	r->out.loop = r->err.loop = r->loop;
	r->out.on_change = r->err.on_change = look_at_pumps;
	r->out.ctx = r->err.ctx = r;
	r->hangup.fd = -1;
	r->env = on_open(r->loop, &r->place, VERB, keeper);
	code = r->requests < 0
		       ? r->requests
		       : loop_watch(r->loop, &r->signals, r->requests, POLLER_IN, run_on_on_signal);
	if (code < 0)
		err_set(&e, code, "cannot wait for signals: %s%s", strerror(-code), err_next(code));
	if (code < 0 || pump_start(&r->out, &e) < 0 || pump_start(&r->err, &e) < 0 ||
	    run_on_open_link(r, &e) < 0) {
		cli_say(VERB, "%s", e.text);
		return EXIT_UNAVAILABLE;
	}
	if (start_input(r, &e) < 0) {
		cli_say(VERB, "%s", e.text);
		run_on_stop(r, LINK_STOP_KILL, 0);
	}
	return 0;
}

/* --- the report and the exit status --- */

static void write_report(const struct run_on *r)
{
	AUTO(buf_done) struct buf line = BUF_INIT(BUF_ANY_SIZE);
	struct emit j = EMIT_INIT(&line);
	char proof[LINK_PROOF_TEXT];

	if (r->report_fd < 0)
		return;
	if (*r->report) {
		buf_adds(&line, r->report);
	} else { /* no keeper wrote a report: write the known facts */
		emit_open(&j, NULL, '{');
		emit_str(&j, "environment", r->place.name);
		emit_str(&j, "proof", link_proof_text(r->end.proof, proof));
		emit_str(&j, "text", r->end.text);
		emit_close(&j);
		emit_end(&j);
	}
	buf_adds(&line, "\n");
	run_report_write(VERB, r->o.run.report, r->report_fd, &line);
}

static int exit_status(const struct run_on *r)
{
	const struct link_end *end = &r->end;

	if (end->refused || end->proof == LINK_PROOF_LEASE) {
		cli_say(VERB, "%s", end->text);
		return end->refused && end->status ? end->status : EXIT_UNAVAILABLE;
	}
	if (end->proof == LINK_PROOF_NEVER) /* ended before the start */
		return r->signal ? EXIT_SIGNAL + r->signal : EXIT_UNAVAILABLE;
	if (r->out.broken && r->out.broken != EPIPE) { /* EPIPE has ended the server already */
		cli_say(VERB, "cannot write to stdout: %s", strerror(r->out.broken));
		return EXIT_TRY_AGAIN;
	}
	if (end->survivors > 0)
		cli_say(VERB, "%d process%s of '%.100s' could not be killed", end->survivors,
			end->survivors == 1 ? "" : "es", r->o.run.recipe.argv[0]);
	if (!end->proof && *end->text && end->exit_code != -1)
		cli_say(VERB, "%s", end->text);
	if (end->exit_signal > 0)
		return EXIT_SIGNAL + end->exit_signal;
	if (end->exit_code != -1)
		return end->exit_code;
	if (*end->text)
		cli_say(VERB, "%s", end->text);
	else
		cli_say(VERB, "the exit status of '%.100s' is not known", r->o.run.recipe.argv[0]);
	return EXIT_TRY_AGAIN;
}

static bool has_ended(void *ctx)
{
	return ((struct run_on *)ctx)->ended;
}

static void run_on_on_freed(void *ctx)
{
	((struct run_on *)ctx)->freed = true;
}

static bool is_written(void *ctx)
{
	const struct run_on *r = ctx;

	return pump_is_done(&r->out) && pump_is_done(&r->err);
}

static bool run_on_is_over(void *ctx)
{
	const struct run_on *r = ctx;

	return r->freed && (r->leave || is_written(ctx));
}

/* Wait for the end. Threads that hang in a read or a write end with the program. */
static int run_on_finish(struct run_on *r)
{
	loop_wait(r->loop, has_ended, r, INT64_MAX);
	link_free(r->link);
	r->link = NULL;
	loop_timer_stop(r->loop, &r->patience);
	environment_free(r->env, run_on_on_freed, r);
	pump_finish(&r->out);
	pump_finish(&r->err);
	loop_wait(r->loop, run_on_is_over, r, INT64_MAX);
	loop_wait(r->loop, is_written, r, loop_now_us() + LAST_WORDS_US);
	write_report(r);
	return exit_status(r);
}

static void run_on_on_turn(void *ctx)
{
	(void)ctx;
}

int run_on(int argc, char **argv)
{
	static struct run_on all; /* static, because threads that hang use it after this function */
	struct run_on *r = &all;
	AUTO(mem_drop) char *keeper = NULL;
	struct err e = ERR_INIT;
	int status;

	if (!run_on_options(argc, argv, &r->o, &status) ||
	    !on_find(VERB, &r->o.on, &r->place, &status))
		return status;
	if (!run_report_open(VERB, r->o.run.report, &r->report_fd, &status))
		return status;
	keeper = on_keeper(VERB);
	if (!keeper)
		return EXIT_UNAVAILABLE;
	r->requests = interrupt_open(); /* before any thread exists */
	interrupt_ignore_pipes();
	if (loop_open(&r->loop, run_on_on_turn, NULL, &e) < 0) {
		cli_say(VERB, "%s", e.text);
		return EXIT_TRY_AGAIN;
	}
	loop_lock(r->loop);
	status = run_on_start(r, keeper);
	if (status == 0)
		status = run_on_finish(r);
	loop_unlock(r->loop);
	return status;
}
