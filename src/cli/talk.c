/* talk.c - see talk.h */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/strings.h"
#include "base/text.h"
#include "os/interrupt.h"
#include "os/time.h"
#include "show.h"
#include "talk.h"
#include "talk_config.h"
#include "waiting.h"

/* the longest start timeout that the library accepts; extra time for the library, see
 * open_session */
enum { STARTUP_MAX_MS = 3600000, STARTUP_SPARE_MS = 5000 };

void talk_release(struct talk *t)
{
	interrupt_close(t->signals);
	t->signals = -1;
}

static void talk_take_signal(struct talk *t)
{
	int caught = interrupt_take(t->signals);

	if (!caught)
		return;
	t->caught = caught;
	talk_fail(t, EXIT_SIGNAL + t->caught);
	talk_release(t);
	talk_say(t, "interrupted; ending the servers%s",
		 t->caught == INTERRUPT_CTRL_C ? ", Ctrl-C again ends at once" : "");
}

bool talk_pump(struct talk *t, const bool *done, long long until_us)
{
	int caught = t->caught;

	while (!*done && t->caught == caught) {
		long long left_us = until_us ? until_us - time_now_us() : -1;
		int wait_ms = bar_due_ms(&t->bar);

		if (until_us && left_us <= 0)
			return false;
		if (until_us && (wait_ms < 0 || wait_ms > left_us / 1000))
			wait_ms = (int)(left_us / 1000) + 1;
		interrupt_wait(t->signals, waiting_for(t->k), wait_ms);
		killick_dispatch(t->k, NULL);
		talk_take_signal(t);
		if (!*done)
			bar_tick(&t->bar);
	}
	return *done;
}

/* Print lines of a server's stderr, each with the server's name. */
static void show_stderr(struct talk *t, const struct killick_event *ev)
{
	const char *p = ev->text, *end = p + ev->text_len;
	char line[4096];

	bar_clear(&t->bar);
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t n = nl ? (size_t)(nl - p) : (size_t)(end - p);

		text_clean(p, n, line, sizeof(line));
		fprintf(stderr, "%s: %s\n", ev->server ? ev->server : "", line);
		p += n + 1;
	}
}

static void on_event(void *ctx, const struct killick_event *ev)
{
	struct talk *t = ctx;
	char text[4096];

	switch (ev->kind) {
	case KILLICK_EVENT_STDERR:
		if (t->verbose)
			show_stderr(t, ev);
		break;
	case KILLICK_EVENT_WARNING:
		text_clean(ev->text, ev->text_len, text, sizeof(text));
		if (t->verbose || t->warnings)
			talk_say(t, "%s%s%s", ev->server ? ev->server : "", ev->server ? ": " : "",
				 text);
		break;
	case KILLICK_EVENT_LOG:
		text_clean(ev->json, ev->json_len, text, sizeof(text));
		if (t->verbose)
			talk_say(t, "%s logs %s", ev->server, text);
		break;
	case KILLICK_EVENT_STATE:
		t->changed = true;
		break;
	case KILLICK_EVENT_TOOLS:
	case KILLICK_EVENT_RESOURCES:
	case KILLICK_EVENT_PROMPTS:
	case KILLICK_EVENT_UPDATED:
		break;
	}
}

static void talk_on_open(void *ctx, struct killick_session *s, const struct killick_error *e)
{
	struct talk *t = ctx;

	t->opened = true;
	t->s = s;
	if (!s)
		t->error = *e;
}

static bool open_failed(struct talk *t)
{
	bar_clear(&t->bar);
	talk_config_name(t);
	talk_say(t, "%s", t->error.text);
	talk_fail(t, talk_exit_of(t->error.code));
	return false;
}

static bool talk_start_runtime(struct talk *t)
{
	char keeper[PATH_MAX + 32], cache[PATH_MAX];
	struct killick_options runtime = KILLICK_OPTIONS(.dispatch = KILLICK_DISPATCH_HOST);

	if (cli_find_keeper(keeper, sizeof(keeper)))
		runtime.keeper = keeper;
	if (cli_find_cache(cache, sizeof(cache)))
		runtime.cache_dir = cache;
	return killick_open(&runtime, &t->k, &t->error) == 0;
}

/* Does the config have a required server? The open waits for it. */
static bool talk_requires(const struct talk *t)
{
	AUTO(config_done) struct config c = { .count = 0 };

	if (t->words.command || !talk_config_read(t, &c))
		return false;
	for (size_t i = 0; i < c.count; i++)
		if (c.servers[i].required && (!t->server || !strcmp(c.servers[i].name, t->server)))
			return true;
	return false;
}

/* Start to open the session, and wait for the required servers. The talk itself limits the time of
 * the start, so the library gets a little more time. */
static bool open_session(struct talk *t, long long until_us)
{
	char **env = t->words.command ? talk_environment(t) : NULL;
	unsigned startup_ms = t->timeout_ms ? (unsigned)t->timeout_ms + STARTUP_SPARE_MS : 0;
	struct killick_session_options options =
		KILLICK_SESSION_OPTIONS(.config_file = t->config_text ? NULL : t->source,
					.config = t->config_text, .command = t->words.command,
					.only = t->server, .label = "command line",
					.wait = KILLICK_WAIT_REQUIRED, .env = env,
					.startup_ms = startup_ms < STARTUP_MAX_MS ? startup_ms
										  : STARTUP_MAX_MS,
					.handlers =
						&KILLICK_HANDLERS(.ctx = t, .on_event = on_event));
	char span[24];
	bool begun =
		talk_start_runtime(t) &&
		killick_session_open_start(t->k, &options, talk_on_open, t, NULL, &t->error) == 0;

	strings_free(env);
	if (!begun)
		return open_failed(t);
	bar_begin(&t->bar, t->server ? t->server : "starting");
	/* without a required server the open waits for no server, and talk_wait limits the time */
	if (!talk_pump(t, &t->opened, until_us) &&
	    (t->caught || talk_requires(t) || !talk_pump(t, &t->opened, 0))) {
		bar_clear(&t->bar);
		if (t->caught)
			return false;
		talk_say(t,
			 "a required server did not start within %s; give a longer '--timeout', "
			 "or use '--verbose' to see what the servers do",
			 text_span(t->timeout_ms, span));
		talk_fail(t, EXIT_TRY_AGAIN);
		return false;
	}
	return t->s ? true : open_failed(t);
}

/* No server is ready: print the reasons. Returns false. */
static bool talk_none_ready(struct talk *t)
{
	talk_missing_all(t);
	for (size_t i = 0; i < t->status->count && !t->server; i++)
		if (t->status->servers[i]->state == KILLICK_REMOTE)
			talk_missing(t, t->status->servers[i]);
	if (!t->exit_status) {
		talk_say(t, "every server in %s is disabled", t->source);
		talk_fail(t, EXIT_CONFIG);
	}
	return false;
}

bool talk_open(struct talk *t)
{
	long long until_us = t->timeout_ms ? time_now_us() + t->timeout_ms * 1000LL : 0;

	if (!talk_has_config(t))
		return false;
	t->signals = interrupt_open();
	if (!open_session(t, until_us) || !talk_wait(t, until_us))
		return false;
	if (t->status->count == 0) {
		talk_say(t, "%s has no servers", t->source);
		talk_fail(t, EXIT_CONFIG);
		return false;
	}
	if (t->any_state)
		return true;
	for (size_t i = 0; i < t->status->count; i++)
		if (talk_is_ready(t->status->servers[i]))
			return true;
	return talk_none_ready(t);
}

void talk_missing_all(struct talk *t)
{
	for (size_t i = 0; i < t->status->count; i++) {
		const struct killick_server_status *sv = t->status->servers[i];

		if (sv->settled && !talk_is_ready(sv) && (!talk_is_off(sv) || t->server))
			talk_missing(t, sv);
	}
}

void talk_look(struct talk *t)
{
	struct killick_status *status = NULL;

	if (killick_session_status(t->s, &status, NULL) != 0)
		abort(); /* cannot fail: the session is open */
	killick_status_free(t->status);
	t->status = status;
}

bool talk_is_ready(const struct killick_server_status *sv)
{
	return sv->state == KILLICK_READY;
}

bool talk_is_off(const struct killick_server_status *sv)
{
	return sv->state == KILLICK_DISABLED || sv->state == KILLICK_REMOTE;
}

bool talk_offers(const struct killick_server_status *sv, const char *capability)
{
	size_t len;

	return killick_json_find(sv->capabilities, strlen(sv->capabilities), capability, &len) !=
	       NULL;
}

const struct killick_server_status *talk_only(const struct talk *t)
{
	const struct killick_server_status *found = NULL;

	for (size_t i = 0; i < t->status->count; i++) {
		if (talk_is_off(t->status->servers[i]))
			continue;
		if (found)
			return NULL;
		found = t->status->servers[i];
	}
	return found;
}

struct pending { /* the requests of one talk_all */
	struct talk *talk;
	size_t left;
	bool done;
};

struct slot { /* one request */
	struct pending *all;
	struct talk_ask *ask;
	struct killick_call *call;
};

static void talk_on_done(void *ctx, struct killick_result *r)
{
	struct slot *s = ctx;

	s->ask->result = r;
	if (--s->all->left == 0)
		s->all->done = true;
}

static void talk_on_progress(void *ctx, const struct killick_progress *p)
{
	struct slot *s = ctx;

	bar_progress(&s->all->talk->bar, p->progress, p->total, p->message ? p->message : "");
}

static void talk_begin(struct talk *t, struct slot *s)
{
	struct killick_request *rq = &s->ask->rq;

	rq->ctx = s;
	rq->on_done = talk_on_done;
	rq->on_progress = talk_on_progress;
	rq->timeout_ms = t->timeout_ms;
	rq->progress_extends = !t->timeout_ms;
	s->ask->result = NULL;
	if (killick_start(t->s, rq, &s->call, &t->error) == 0)
		s->all->left++;
}

/* Free the calls. Returns false if a result is missing; then all results were freed, too. */
static bool end(struct talk *t, struct slot *slots, size_t count)
{
	bool whole = !t->caught;

	for (size_t i = 0; i < count; i++) {
		killick_call_free(slots[i].call);
		if (slots[i].ask->result || t->caught)
			continue;
		talk_say(t, "the library refuses the request: %s", t->error.text);
		talk_fail(t, EXIT_BUG);
		whole = false;
	}
	for (size_t i = 0; i < count && !whole; i++) {
		killick_result_free(slots[i].ask->result);
		slots[i].ask->result = NULL;
	}
	return whole;
}

bool talk_all(struct talk *t, struct talk_ask *asks, size_t count)
{
	struct pending all = { .talk = t };
	AUTO(mem_drop) struct slot *slots = mem_grow(NULL, count + 1, sizeof(*slots));

	bar_begin(&t->bar, count == 1 && asks->rq.name ? asks->rq.name : t->verb);
	for (size_t i = 0; i < count; i++) {
		slots[i] = (struct slot){ .all = &all, .ask = &asks[i] };
		talk_begin(t, &slots[i]);
	}
	all.done = all.left == 0;
	if (!talk_pump(t, &all.done, 0)) {
		for (size_t i = 0; i < count; i++)
			if (slots[i].call && !asks[i].result)
				killick_cancel(slots[i].call);
		talk_pump(t, &all.done, 0); /* a cancelled request ends at once */
	}
	bar_clear(&t->bar);
	return end(t, slots, count);
}

struct killick_result *talk_do(struct talk *t, const struct killick_request *rq)
{
	struct talk_ask ask = { .rq = *rq };

	if (!talk_all(t, &ask, 1))
		return NULL;
	if (killick_result_code(ask.result) == KILLICK_OK)
		return ask.result;
	talk_refused(t, ask.result);
	killick_result_free(ask.result);
	return NULL;
}

struct json talk_json(const struct killick_result *r)
{
	struct json v = JSON_NONE;
	struct json_fault fault;
	size_t len;
	const char *text = killick_result_json(r, &len);

	if (json_check(text, len, 0, &v, &fault) < 0)
		return JSON_NONE;
	return v;
}
