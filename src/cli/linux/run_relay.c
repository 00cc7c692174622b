/* run_relay.c - see run_relay.h
 *
 * The main thread drives the loop of the runtime. The relay and its server end when:
 *
 *	stdin is at its end		EOF for the server; grace; SIGTERM; grace; kill
 *	SIGTERM, SIGINT, SIGHUP		the same
 *	the owner is dead		the same
 *	a newer copy was started	the same, once no call is in flight (--supersede)
 *	the server exited or crashed	without --restart
 *
 * SIGKILL of the relay: the keepers of the server notice the end of their owner. SIGSTOP of the
 * relay by its server: the kernel continues the relay when its parent ends, and so do the keepers
 * when the relay does not handle the end of its owner.
 */
#include "run_relay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/exec_log.h"
#include "cli/on.h"
#include "cli/owner.h"
#include "cli/run_words.h"
#include "config/config.h"
#include "hub/desk.h"
#include "killick/killick.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/interrupt.h"
#include "os/ownstdio.h"
#include "os/shrink.h"
#include "session/pool.h"
#include "session/server.h"
#include "session/session.h"
#include "supersede.h"

#define VERB     "run"
#define QUIET_MS 500 /* after the last change, free memory is given back */

struct run_relay {
	struct options run;
	unsigned rest_ms;
	bool restart, supersede;
	char **words;
	int report_fd; /* -1: none */
	struct supersede copies;
	int requests;         /* interrupt.h */
	struct exec_log *log; /* stderr */
	struct killick *k;
	struct desk *desk;
	struct loop_watch signals, owner, newer;
	int owner_fd;            /* 0: none; the keepers use it until the desk is closed */
	struct loop_timer turn;  /* run_relay_look is due */
	struct loop_timer quiet; /* run_relay_shrink is due */
	struct loop_timer claim; /* run_relay_claim is due */
	char fingerprint[FINGERPRINT_SIZE];
	bool asked_to_end; /* by a newer copy */
	bool closing;      /* run_relay_close was called */
	bool over;         /* the desk is closed */
	int status;
	struct killick_error failure; /* the session could not be opened */
	struct killick_report *report;
};

static const char *const run_relay_options[] = { "--rest", "--restart", "--supersede" };

bool run_relay_is_meant(char **argv)
{
	for (; *argv && strcmp(*argv, "--") != 0; argv++)
		for (size_t i = 0; i < sizeof(run_relay_options) / sizeof(char *); i++) {
			size_t len = strlen(run_relay_options[i]);

			if (strncmp(*argv, run_relay_options[i], len) == 0 &&
			    ((*argv)[len] == '\0' || (*argv)[len] == '='))
				return true;
		}
	return false;
}

/* --- reasons to end --- */

static void run_relay_close(struct run_relay *r, const char *why)
{
	r->closing = true;
	if (r->desk)
		desk_close(r->desk, why);
}

static void run_relay_on_signal(struct loop_watch *w, uint32_t events)
{
	struct run_relay *r = CONTAINER_OF(w, struct run_relay, signals);
	int caught = interrupt_take(w->fd);

	(void)events;
	if (!caught)
		return;
	if (!r->status)
		r->status = EXIT_SIGNAL + caught;
	run_relay_close(r, "killick was asked to end");
}

static void run_relay_on_owner_dead(struct loop_watch *w, uint32_t events)
{
	struct run_relay *r = CONTAINER_OF(w, struct run_relay, owner);

	(void)events;
	loop_watch_stop(r->k->loop, w);
	run_relay_close(r, "the owner is gone");
}

static const struct server *run_relay_server(const struct run_relay *r)
{
	const struct killick_session *s = r->desk ? desk_session(r->desk) : NULL;

	return s && s->count ? s->table[0]->server : NULL;
}

/* How the server ended; the same rules as those of `killick run`. */
static int run_relay_status(const struct ending *e)
{
	if (e->exit_signal > 0)
		return EXIT_SIGNAL + e->exit_signal;
	return e->exit_code >= 0 ? e->exit_code : EXIT_TRY_AGAIN;
}

/* While the server rests, the relay should cost as little as possible. */
static void run_relay_shrink(struct loop_timer *t)
{
	struct run_relay *r = CONTAINER_OF(t, struct run_relay, quiet);

	if (r->desk && desk_in_flight(r->desk) == 0)
		shrink_memory();
}

/* Has the server failed too often, by itself or because of requests? */
static bool run_relay_failed_often(const struct server *sv)
{
	const struct ring *only = ring_first(&sv->leases);

	return server_failed_often(sv) ||
	       (only && CONTAINER_OF(only, struct lease, on_server)->crashes >= FAILURES_MAX);
}

/* Something changed: is there a reason to end now? */
static void run_relay_look(struct loop_timer *t)
{
	struct run_relay *r = CONTAINER_OF(t, struct run_relay, turn);
	const struct server *sv = run_relay_server(r);

	loop_timer_set(r->k->loop, &r->quiet, QUIET_MS, run_relay_shrink);
	if (r->asked_to_end && r->desk && desk_in_flight(r->desk) == 0)
		run_relay_close(r, "a newer copy of this server was started");
	if (!sv || sv->state != KILLICK_GONE || !sv->has_ended || r->closing)
		return;
	if (r->restart && !run_relay_failed_often(sv))
		return;
	r->status = run_relay_status(&sv->ending);
	if (r->restart)
		error_set(&r->failure, KILLICK_ERR_START,
			  "'%.100s' is not started again, because it failed again and again: %s",
			  r->run.recipe.argv[0], sv->error.text + sv->reason_at);
	run_relay_close(r, "the server ended");
}

static void run_relay_look_soon(struct run_relay *r)
{
	if (!r->turn.slot)
		loop_timer_set(r->k->loop, &r->turn, 0, run_relay_look);
}

static void run_relay_on_newer(struct loop_watch *w, uint32_t events)
{
	struct run_relay *r = CONTAINER_OF(w, struct run_relay, newer);

	(void)events;
	if (supersede_is_asked(&r->copies))
		r->asked_to_end = true;
	run_relay_look_soon(r);
}

/* Ask the older copy to end. The server starts, and signals, stdin and owner are watched, while
 * another process has the lock. */
static void run_relay_claim(struct loop_timer *t)
{
	struct run_relay *r = CONTAINER_OF(t, struct run_relay, claim);
	struct err e = ERR_INIT;
	int status = supersede_claim(&r->copies, &r->run, r->fingerprint, &e);

	if (status == -EAGAIN)
		loop_timer_set(r->k->loop, t, SUPERSEDE_RETRY_MS, run_relay_claim);
	else if (status < 0)
		exec_log_line(r->log, e.text);
	else if (r->copies.has_waited)
		exec_log_line(r->log, "--supersede: another process keeps the lock; the older copy "
				      "was asked to end without the lock");
}

/* --- the desk --- */

static void run_relay_on_open(void *ctx, const struct killick_error *e)
{
	struct run_relay *r = ctx;

	if (!e->code)
		return;
	r->failure = *e; /* for stderr at the end */
	r->status = EXIT_UNAVAILABLE;
}

static void run_relay_on_closed(void *ctx, struct killick_report *report, const char *kept_json,
				const char *why)
{
	struct run_relay *r = ctx;

	(void)kept_json;
	if (desk_was_cut(r->desk)) {
		error_set(&r->failure, KILLICK_ERR_CLOSED, "the session was ended: %s", why);
		r->status = EXIT_UNAVAILABLE;
	}
	r->report = report;
	r->over = true;
	loop_notify(r->k->loop);
}

static void run_relay_on_change(void *ctx)
{
	run_relay_look_soon(ctx);
}

static void run_relay_on_server(void *ctx, struct server *sv)
{
	(void)sv;
	run_relay_look_soon(ctx);
}

static void run_relay_on_call(void *ctx, struct server *sv, const struct tally_call *call)
{
	(void)sv;
	(void)call;
	run_relay_look_soon(ctx);
}

static void run_relay_on_stderr(void *ctx, struct server *sv, const char *bytes, size_t len)
{
	struct run_relay *r = ctx;

	(void)sv;
	exec_log_bytes(r->log, bytes, len); /* the loop must not wait for a reader */
}

/* --- start --- */

static bool run_relay_read_options(struct run_relay *r, int argc, char **argv)
{
	const char *on = NULL;
	const struct option ours[] = {
		{ "rest", OPTION_TIME, "a time such as 5m", .ms = &r->rest_ms, .least = 1 },
		{ "restart", .flag = &r->restart },
		{ "supersede", .flag = &r->supersede },
		{ "on", OPTION_TEXT, "a place", .text = &on },
		{ .name = NULL },
	};
	struct run_words words = { .verb = VERB, .ours = ours };
	const char *wrong;

	words.words = r->words = mem_grow(NULL, (size_t)argc + 1, sizeof(char *));
	if (!run_words_parse(&words, argc, argv, &r->run))
		return false;
	wrong = on ? "--on" : run_words_misplaced(&r->run);
	if (wrong)
		cli_usage(VERB, "'%s' cannot be used with --rest, --restart or --supersede", wrong);
	return !wrong;
}

/* The server gets all variables of this process, as `killick run` gives them. */
static int run_relay_config(const struct run_relay *r, struct config *out, struct err *e)
{
	const struct recipe *given = &r->run.recipe;
	struct config_server *cs;
	int status = config_command(given->name, given->argv, cli_environment(), out, e);

	if (status == 0)
		status = config_command_more(
			out, &(struct config_more){ .env = cli_environment(), .cwd = given->cwd },
			e);
	if (status < 0)
		return status;
	cs = &out->servers[0];
	cs->rest_ms = r->rest_ms;
	cs->stateful = CONFIG_STATELESS; /* --rest says so */
	cs->share = CONFIG_SHARE_NEVER;
	cs->restart = r->restart ? RESTART_NOW : RESTART_NEVER;
	cs->era = CONFIG_AUTO; /* the client may speak either era, and so may the server */
	cs->required = true;
	cs->recipe.contain = given->contain;
	memcpy(cs->recipe.limits, given->limits, sizeof(cs->recipe.limits));
	return 0;
}

static int run_relay_open_desk(struct run_relay *r, struct err *e)
{
	static const struct desk_events events = { .on_open = run_relay_on_open,
						   .on_closed = run_relay_on_closed,
						   .on_change = run_relay_on_change };
	AUTO(config_done) struct config c = { .count = 0 };
	struct desk_spec spec = { .k = r->k,
				  .config = &c,
				  .tag = r->run.recipe.session,
				  .grace_ms = r->run.recipe.grace_ms,
				  .owners = { r->owner_fd } };
	int status = run_relay_config(r, &c, e);

	if (status < 0)
		return status;
	if (r->supersede) {
		memcpy(r->fingerprint, c.servers[0].fingerprint, sizeof(r->fingerprint));
		run_relay_claim(&r->claim);
	}
	status = ownstdio_take(&spec.in, &spec.out);
	if (status < 0)
		return err_set(e, status, "cannot use stdin and stdout: %s", strerror(-status));
	return desk_open(&spec, &events, r, &r->desk, e);
}

/* With the lock. Returns 0 or an exit status. */
static int run_relay_start(struct run_relay *r)
{
	static const struct runtime_watcher watcher = { .on_state = run_relay_on_server,
							.on_stderr = run_relay_on_stderr,
							.on_call = run_relay_on_call };
	struct err e = ERR_INIT;
	struct loop *loop = r->k->loop;
	int status = owner_watch(loop, VERB, &r->run, &r->owner, run_relay_on_owner_dead);
	int code;

	if (status)
		return status;
	r->owner_fd = r->owner.fd > 0 ? r->owner.fd : 0;
	r->k->watcher = &watcher;
	r->k->watcher_ctx = r;
	code = r->requests < 0
		       ? r->requests
		       : loop_watch(loop, &r->signals, r->requests, POLLER_IN, run_relay_on_signal);
	if (code == 0 && r->supersede)
		code = loop_watch(loop, &r->newer, r->copies.requests, POLLER_IN,
				  run_relay_on_newer);
	if (code < 0)
		err_set(&e, code, "cannot wait for signals: %s%s", strerror(-code), err_next(code));
	if (code < 0 || run_relay_open_desk(r, &e) < 0) {
		cli_say(VERB, "%s", e.text);
		return EXIT_UNAVAILABLE;
	}
	return 0;
}

static bool run_relay_is_over(void *ctx)
{
	return ((struct run_relay *)ctx)->over;
}

static void run_relay_stop(struct run_relay *r)
{
	struct loop *loop = r->k->loop;

	if (r->desk)
		desk_free(r->desk);
	r->desk = NULL;
	loop_timer_stop(loop, &r->turn);
	loop_timer_stop(loop, &r->quiet);
	loop_timer_stop(loop, &r->claim);
	loop_watch_stop(loop, &r->signals);
	loop_watch_stop(loop, &r->newer);
	loop_watch_stop(loop, &r->owner);
	if (r->owner_fd)
		fd_close(r->owner_fd);
	r->k->watcher = NULL;
}

/* --- the end --- */

static void run_relay_write_report(const struct run_relay *r)
{
	AUTO(mem_drop) char *json = killick_report_json(r->report);
	AUTO(buf_done) struct buf line = BUF_INIT(BUF_ANY_SIZE);

	if (r->report_fd < 0 || !json)
		return;
	buf_addf(&line, "%s\n", json);
	run_report_write(VERB, r->run.report, r->report_fd, &line);
}

/* The client closed stdin: the exit status is that of the server, if it ran. */
static int run_relay_finish(struct run_relay *r)
{
	const struct killick_report *report = r->report;

	run_relay_write_report(r);
	if (r->failure.code)
		cli_say(VERB, "%s", r->failure.text);
	if (report && report->survivors > 0) {
		cli_say(VERB, "%d process%s of '%.100s' could not be killed", report->survivors,
			report->survivors == 1 ? "" : "es", r->run.recipe.argv[0]);
		return EXIT_TRY_AGAIN;
	}
	if (!r->status && report && report->count) {
		const struct killick_ending *end = report->endings[0];

		if (end->exit_signal > 0)
			return EXIT_SIGNAL + end->exit_signal;
		return end->exit_code > 0 ? end->exit_code : EXIT_SUCCESS;
	}
	return r->status;
}

static int run_relay_serve(struct run_relay *r, const char *keeper)
{
	struct killick_error e;
	int status;

	if (killick_open(&KILLICK_OPTIONS(.keeper = keeper), &r->k, &e) < 0) {
		cli_say(VERB, "%s", e.text);
		return EXIT_UNAVAILABLE;
	}
	loop_lock(r->k->loop);
	status = run_relay_start(r);
	if (status == 0)
		loop_wait(r->k->loop, run_relay_is_over, r, INT64_MAX);
	run_relay_stop(r);
	loop_unlock(r->k->loop);
	if (status == 0)
		status = run_relay_finish(r);
	killick_report_free(r->report);
	killick_free(r->k);
	return status;
}

int run_relay(int argc, char **argv)
{
	struct run_relay r = { .report_fd = -1, .signals.fd = -1, .owner.fd = -1, .newer.fd = -1 };
	AUTO(mem_drop) char *keeper = NULL;
	struct err e = ERR_INIT;
	int status = EXIT_USAGE;

	if (run_relay_read_options(&r, argc, argv) &&
	    run_report_open(VERB, r.run.report, &r.report_fd, &status)) {
		keeper = on_keeper(VERB);
		r.requests = interrupt_open(); /* before any thread exists */
		interrupt_ignore_pipes();
		if (!keeper) {
			status = EXIT_UNAVAILABLE;
		} else if (r.supersede && supersede_open(&r.copies, &e) < 0) {
			cli_say(VERB, "%s", e.text);
			status = EXIT_UNAVAILABLE;
		} else {
			r.log = exec_log_open(FILE_STDERR);
			status = run_relay_serve(&r, keeper);
			if (r.supersede)
				supersede_close(&r.copies);
			exec_log_close(r.log);
		}
	}
	free(r.words);
	return status;
}
