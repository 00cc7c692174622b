/* session.c - functions of killick.h: to open, refresh, close and free a session. */
#include <assert.h>
#include <string.h>

#include "killick/killick.h"
#include "api/pull.h"
#include "api/sized.h"
#include "base/auto.h"
#include "base/path.h"
#include "session/session.h"

#define GRACE_MAX_MS   3600000 /* the limit of `killick run --grace` */
#define STARTUP_MAX_MS 3600000
#define LABEL_MAX      63      /* the limit of `killick run --session` */
#define NEWS_US        1000000 /* time for the handlers to get earlier events */
#define HANDLER_US     1000000 /* time for a running handler to return */

/* --- open --- */

static bool api_session_is_label(const char *text)
{
	return strlen(text) <= LABEL_MAX && config_is_printable(text);
}

/* Read the options of a host that was compiled with this or another version of killick.h. */
static int read_options(struct session_spec *out, const struct killick_session_options *options,
			struct killick_error *e)
{
	static const struct sized_name name = { "killick_session_options",
						"KILLICK_SESSION_OPTIONS" };
	static const struct sized_name handlers = { "killick_handlers", "KILLICK_HANDLERS" };
	int r = sized_read(&out->o, sizeof(out->o), options, &name, e);

	out->handlers = KILLICK_HANDLERS();
	if (r == 0 && out->o.handlers)
		r = sized_read(&out->handlers, sizeof(out->handlers), out->o.handlers, &handlers,
			       e);
	return r;
}

#define FEATURES                                                                                   \
	(unsigned)(KILLICK_SAMPLING | KILLICK_ELICITATION | KILLICK_ROOTS | KILLICK_ROOTS_CHANGE | \
		   KILLICK_NO_FEATURES)

static int check_command(const struct killick_session_options *o, struct killick_error *e)
{
	if (!o->command && (o->env || o->cwd))
		return error_set(e, KILLICK_ERR_USAGE,
				 "env and cwd are for `command`: a config has keys for them");
	if (o->command && (o->user_env || o->user_cwd))
		return error_set(
			e, KILLICK_ERR_USAGE,
			"user_env and user_cwd are for a config: a command has env and cwd");
	if (o->user_cwd && path_kind(o->user_cwd) == PATH_RELATIVE)
		return error_set(e, KILLICK_ERR_USAGE, "user_cwd is not an absolute path");
	if (o->startup_ms > STARTUP_MAX_MS)
		return error_set(e, KILLICK_ERR_USAGE, "startup_ms is more than an hour");
	if (o->features & ~FEATURES)
		return error_set(
			e, KILLICK_ERR_USAGE,
			"features has an unknown bit: use the values of enum killick_answers");
	return 0;
}

/* With KILLICK_DISPATCH_PULL: turn events and asks into items, if the host wants them. */
static int pull_handlers(struct session_spec *spec, struct killick_error *e)
{
	struct killick_handlers *h = &spec->handlers;

	if (h->on_event || h->on_ask)
		return error_set(e, KILLICK_ERR_USAGE, PULL_NO_CALLBACKS);
	if (!spec->o.handlers)
		return 0;
	h->on_event = pull_on_event;
	h->on_ask = h->answers ? pull_on_ask : NULL;
	return 0;
}

/* Read the options and the config, and take the lock. On failure the lock is not held, and e says
 * why. */
static int enter_open(struct killick *k, const struct killick_session_options *options,
		      bool blocking, struct session_spec *out_spec, struct config *out,
		      struct killick_error *e)
{
	const struct killick_session_options *o = &out_spec->o;
	bool given;
	int r;

	if (!k || !options)
		return error_set(e, KILLICK_ERR_USAGE, "%s is NULL: give the %s",
				 k ? "options" : "k", k ? "options" : "runtime");
	if (read_options(out_spec, options, e) < 0)
		return KILLICK_ERR_USAGE;
	given = !blocking || out_spec->handlers.on_event || out_spec->handlers.on_ask;
	if (k->pulls && pull_handlers(out_spec, e) < 0)
		return KILLICK_ERR_USAGE;
	if (o->label && !api_session_is_label(o->label))
		return error_set(e, KILLICK_ERR_USAGE,
				 "the label is not one printable line of at most %d bytes",
				 LABEL_MAX);
	if (o->grace_ms > GRACE_MAX_MS)
		return error_set(e, KILLICK_ERR_USAGE, "grace_ms is more than an hour");
	r = check_command(o, e);
	if (r == 0)
		r = session_read_config(
			&(struct config_from){
				.text = o->config,
				.file = o->config_file,
				.command = o->command,
				.only = o->only,
				.more = { .env = o->env,
					  .cwd = o->cwd,
					  .startup_ms = o->startup_ms },
				.user_env = o->user_env,
				.user_cwd = o->user_cwd,
			},
			out, e);
	if (r == 0)
		r = blocking ? runtime_enter_blocking(k, e) : runtime_enter(k, e);
	if (r < 0)
		return r;
	if (k->state != RUNTIME_OPEN)
		r = error_set(e, KILLICK_ERR_CLOSED, "the runtime is closed");
	else
		r = runtime_want(k, given, e);
	if (r < 0)
		runtime_leave(k);
	return r;
}

int killick_session_open(struct killick *k, const struct killick_session_options *options,
			 struct killick_session **out, struct killick_error *e)
{
	AUTO(config_done) struct config c = { .count = 0 };
	struct session_spec spec = { .sink = NULL };
	struct outcome o;
	int r = out ? enter_open(k, options, true, &spec, &c, e)
		    : error_set(e, KILLICK_ERR_USAGE,
				"out is NULL: it must point to the place for the session");

	if (r < 0)
		return r;
	assert(out);
	job_tell(session_begin(k, &spec, &c), &o);
	waiter_wait(k, &o.waiter);
	r = o.error.code;
	if (r < 0)
		error_set(e, r, "%s", o.error.text);
	else
		*out = o.session;
	runtime_save(k);
	runtime_leave(k);
	return r;
}

int killick_session_open_start(struct killick *k, const struct killick_session_options *options,
			       killick_opened_fn done, void *ctx, struct killick_session **out,
			       struct killick_error *e)
{
	AUTO(config_done) struct config c = { .count = 0 };
	struct session_spec spec = { .sink = NULL };
	struct job *j;
	int r;

	if (k && k->pulls && done)
		return error_set(e, KILLICK_ERR_USAGE, PULL_NO_CALLBACKS);
	if (k && k->pulls)
		done = pull_on_opened;
	if (!done)
		return error_set(e, KILLICK_ERR_USAGE,
				 "done is NULL: it must be the function that gets the session");
	r = enter_open(k, options, false, &spec, &c, e);
	if (r < 0)
		return r;
	j = session_begin(k, &spec, &c);
	j->on_opened = done;
	j->ctx = ctx;
	if (out) {
		j->session->held = j->session->early = true;
		*out = j->session;
	}
	runtime_attend(k);
	runtime_leave(k);
	return 0;
}

/* --- refresh --- */

static int read_config(struct killick_session *s, const char *config, const char *config_file,
		       struct config *out, struct killick_error *e)
{
	if (!s)
		return error_set(e, KILLICK_ERR_USAGE, "s is NULL: give the session");
	return session_read_config(&(struct config_from){ .text = config,
							  .file = config_file,
							  .only = s->only,
							  .more = { .startup_ms = s->startup_ms },
							  .user_env = s->user_env,
							  .user_cwd = s->user_cwd },
				   out, e);
}

int killick_session_refresh(struct killick_session *s, const char *config, const char *config_file,
			    struct killick_report **out_report, struct killick_error *e)
{
	AUTO(config_done) struct config c = { .count = 0 };
	struct outcome o;
	struct killick *k = s ? s->k : NULL;
	struct job *j = NULL;
	int r = read_config(s, config, config_file, &c, e);

	if (r == 0)
		r = runtime_enter_blocking(k, e);
	if (r < 0)
		return r;
	assert(s); /* read_config fails without a session */
	r = session_refresh(s, &c, &j, e);
	if (r == 0) {
		assert(j);
		session_pin(s);
		job_tell(j, &o);
		waiter_wait(s->k, &o.waiter);
		r = o.error.code;
		if (r < 0)
			error_set(e, r, "%s", o.error.text);
		else if (out_report)
			*out_report = o.report;
		if (!out_report)
			killick_report_free(o.report);
		session_unpin(s);
	}
	runtime_save(k);
	runtime_leave(k);
	return r;
}

int killick_session_refresh_start(struct killick_session *s, const char *config,
				  const char *config_file, killick_ended_fn done, void *ctx,
				  struct killick_error *e)
{
	AUTO(config_done) struct config c = { .count = 0 };
	struct job *j = NULL;
	int r = read_config(s, config, config_file, &c, e);

	if (r == 0 && s->k->pulls && done)
		r = error_set(e, KILLICK_ERR_USAGE, PULL_NO_CALLBACKS);
	if (r == 0)
		r = runtime_enter(s->k, e);
	if (r < 0)
		return r;
	if (s->k->pulls)
		done = pull_on_ended;
	r = runtime_want(s->k, done, e);
	if (r == 0)
		r = session_refresh(s, &c, &j, e);
	if (r == 0) {
		assert(j);
		j->on_ended = done;
		j->ctx = ctx;
		runtime_attend(s->k);
	}
	runtime_leave(s->k);
	return r;
}

/* --- close --- */

static bool is_told_all(void *ctx)
{
	return ((struct killick_session *)ctx)->news == 0;
}

/* Stop the calls of the session's handlers. If the callback thread calls the handlers, they get all
 * earlier events first, for at most NEWS_US. A handler that blocks delays the close for at most
 * HANDLER_US; then KILLICK_ERR_TIMEOUT says that the handler still runs. */
static int session_silence(struct killick_session *s, struct killick_error *e)
{
	struct killick *k = s->k;

	if (k->outbox.fd < 0 && s->news > 0 && !s->muted)
		runtime_wait_for_callbacks(k, is_told_all, s, loop_now_us() + NEWS_US);
	s->muted = true;
	if (runtime_quiet(k, s, loop_now_us() + HANDLER_US))
		return 0;
	return error_set(e, KILLICK_ERR_TIMEOUT,
			 "the session is closed, but a handler of the session still runs; close "
			 "the session again to wait for the handler");
}

int killick_session_close(struct killick_session *s, struct killick_report **out_report,
			  struct killick_error *e)
{
	struct killick *k;
	struct outcome o;
	struct job *j;
	int r;

	if (!s)
		return error_set(e, KILLICK_ERR_USAGE, "s is NULL: give the session");
	k = s->k;
	r = runtime_enter_blocking(k, e);
	if (r < 0)
		return r;
	session_pin(s);
	j = job_new(s, JOB_CLOSE);
	job_tell(j, &o);
	session_close(s, j);
	waiter_wait(k, &o.waiter);
	r = session_silence(s, e);
	if (out_report)
		*out_report = o.report;
	else
		killick_report_free(o.report);
	session_unpin(s);
	runtime_save(k);
	runtime_leave(k);
	return r;
}

int killick_session_close_start(struct killick_session *s, killick_ended_fn done, void *ctx,
				struct killick_error *e)
{
	struct job *j;
	int r;

	if (!s)
		return error_set(e, KILLICK_ERR_USAGE, "s is NULL: give the session");
	if (s->k->pulls && done)
		return error_set(e, KILLICK_ERR_USAGE, PULL_NO_CALLBACKS);
	r = runtime_enter(s->k, e);
	if (r < 0)
		return r;
	if (s->k->pulls)
		done = pull_on_ended;
	r = runtime_want(s->k, done, e);
	if (r == 0) {
		j = job_new(s, JOB_CLOSE);
		j->on_ended = done;
		j->ctx = ctx;
		session_close(s, j);
		runtime_attend(s->k);
	}
	runtime_leave(s->k);
	return r;
}

void killick_session_free(struct killick_session *s)
{
	struct killick *k = s ? s->k : NULL;

	if (!s || runtime_enter(k, NULL) < 0)
		return;
	assert(s->held);
	s->muted = true;
	session_pin(s);
	runtime_quiet(k, s, loop_now_us() + HANDLER_US);
	session_release(s);
	session_unpin(s);
	runtime_leave(k);
}
