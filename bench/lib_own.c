/* lib_own.c - libkillick's client: blocking calls, callbacks on the library's thread, and callbacks
 * that the host's own loop dispatches (killick_fd, killick_dispatch). */
#include "lib.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <killick/killick.h>

#include "server.h"

enum own_mode { OWN_BLOCKING, OWN_CALLBACKS, OWN_HOST_LOOP };

struct own {
	struct killick *k;
	struct killick_session *s;
	enum own_mode mode;
};

struct flight { /* calls under way, for the callbacks */
	struct own *own;
	struct killick_request rq;
	pthread_mutex_t lock;
	pthread_cond_t over;
	size_t to_start, to_end;
	bool failed;
};

char *own_config(const char *echo, size_t count)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		exit(70);
	fprintf(f, "{\"mcpServers\":{");
	for (size_t i = 0; i < count; i++)
		fprintf(f, "%s\"s%zu\":{\"command\":\"%s\",\"args\":[\"mcp\"]}", i ? "," : "", i,
			echo);
	fprintf(f, "}}");
	fclose(f);
	return text;
}

static bool own_open(struct own *o, const struct lib *b, size_t count)
{
	char *config = own_config(b->echo, count);
	struct killick_session_options options = KILLICK_SESSION_OPTIONS(.config = config);
	struct killick_options runtime =
		KILLICK_OPTIONS(.keeper = b->killick,
				.dispatch = o->mode == OWN_HOST_LOOP ? KILLICK_DISPATCH_HOST
								     : KILLICK_DISPATCH_THREAD);
	struct killick_error e = { 0 };
	int r = 0;

	if (!o->k)
		r = killick_open(&runtime, &o->k, &e);
	if (!r)
		r = killick_session_open(o->k, &options, &o->s, &e);
	if (r)
		fprintf(stderr, "bench: libkillick: %s\n", e.text);
	free(config);
	return !r;
}

static bool own_start(void *state, const struct lib *b)
{
	return own_open(state, b, 1);
}

static void own_stop(void *state)
{
	struct own *o = state;

	killick_session_close(o->s, NULL, NULL);
	killick_session_free(o->s);
	killick_free(o->k);
	o->s = NULL;
	o->k = NULL;
}

static void fly(struct flight *f);

static void landed(void *ctx, struct killick_result *r)
{
	struct flight *f = ctx;
	bool bad = killick_result_code(r) != 0, last;

	killick_result_free(r);
	pthread_mutex_lock(&f->lock);
	f->failed |= bad;
	last = --f->to_end == 0;
	if (last)
		pthread_cond_signal(&f->over);
	pthread_mutex_unlock(&f->lock);
	if (!last) /* after the last one the flight is no more */
		fly(f);
}

static void fly(struct flight *f)
{
	bool more;

	pthread_mutex_lock(&f->lock);
	more = f->to_start > 0;
	f->to_start -= more;
	pthread_mutex_unlock(&f->lock);
	if (more && killick_start(f->own->s, &f->rq, NULL, NULL))
		exit(70);
}

/* The loop of a host that waits for one descriptor. */
static bool own_dispatch(struct flight *f)
{
	struct pollfd p = { .fd = killick_fd(f->own->k), .events = POLLIN };

	while (f->to_end > 0)
		if (poll(&p, 1, SERVER_DEADLINE_MS) <= 0 || killick_dispatch(f->own->k, NULL) < 0)
			return false;
	return true;
}

static void own_await(struct flight *f)
{
	pthread_mutex_lock(&f->lock);
	while (f->to_end > 0)
		pthread_cond_wait(&f->over, &f->lock);
	pthread_mutex_unlock(&f->lock);
}

static bool by_callbacks(struct own *o, const struct burst *u, const char *args)
{
	struct flight f = {
		.own = o,
		.rq = KILLICK_REQUEST(.op = KILLICK_CALL, .server = "s0", .name = "echo",
				      .args = args),
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.over = PTHREAD_COND_INITIALIZER,
		.to_start = u->count,
		.to_end = u->count,
	};

	f.rq.ctx = &f;
	f.rq.on_done = landed;
	for (size_t i = 0; i < u->window; i++)
		fly(&f);
	if (o->mode == OWN_CALLBACKS)
		own_await(&f);
	else if (!own_dispatch(&f))
		return false;
	return !f.failed;
}

static bool one_by_one(struct own *o, const struct burst *u, const char *args)
{
	for (size_t i = 0; i < u->count; i++) {
		struct killick_result *r = NULL;
		int code = killick_call_tool(o->s, "s0", "echo", args, &r);

		killick_result_free(r);
		if (code)
			return false;
	}
	return true;
}

static double own_burst(void *state, const struct burst *u)
{
	struct own *o = state;
	char *args = malloc(u->len + 16);
	double t0;
	bool ok;

	if (!args)
		exit(70);
	memcpy(args, "{\"text\":\"", 9);
	memset(args + 9, 'x', u->len);
	memcpy(args + 9 + u->len, "\"}", 3);
	t0 = now_us();
	ok = o->mode == OWN_BLOCKING ? one_by_one(o, u, args) : by_callbacks(o, u, args);
	t0 = now_us() - t0;
	free(args);
	return ok ? t0 : -1;
}

static double own_launch(void *state, const struct lib *b, size_t count)
{
	struct own *o = state;
	struct killick_status *st = NULL;
	double t0 = now_us(), ms;
	size_t ready = 0;

	if (!own_open(o, b, count))
		return -1;
	ms = (now_us() - t0) / 1e3;
	if (!killick_session_status(o->s, &st, NULL))
		for (size_t i = 0; i < st->count; i++)
			ready += st->servers[i]->state == KILLICK_READY;
	killick_status_free(st);
	return ready == count ? ms : -1;
}

static double own_end(void *state)
{
	struct own *o = state;
	struct killick_report *report = NULL;
	double t0 = now_us(), ms;
	bool proved;

	killick_session_close(o->s, &report, NULL);
	ms = (now_us() - t0) / 1e3;
	proved = report && report->proved;
	killick_report_free(report);
	killick_session_free(o->s);
	o->s = NULL;
	return proved ? ms : -1;
}

static struct own blocking, callback = { .mode = OWN_CALLBACKS },
			    host_loop = { .mode = OWN_HOST_LOOP };

const struct talker talker_blocking = {
	.name = "libkillick",
	.state = &blocking,
	.start = own_start,
	.burst = own_burst,
	.stop = own_stop,
	.launch = own_launch,
	.end = own_end,
	.one_only = true,
};
const struct talker talker_callback = {
	.name = "libkillick, callbacks",
	.state = &callback,
	.start = own_start,
	.burst = own_burst,
	.stop = own_stop,
	.no_crowd = true,
};
const struct talker talker_host_loop = {
	.name = "libkillick, host's loop",
	.state = &host_loop,
	.start = own_start,
	.burst = own_burst,
	.stop = own_stop,
	.no_crowd = true,
};
