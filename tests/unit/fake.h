/* fake.h - a client without a server: a link that keeps what is written, and a clock that stands
 * still.
 *
 * Included once per program: it has the loop's timers in it, so that loop.c is not linked. Life:
 * world_open(&w, &spec) -> world_say (the server speaks), world_sent (what we wrote), world_pass
 * (time goes by) -> world_close.
 */
#pragma once

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/loop.h"
#include "link/link.h"
#include "mcp/client.h"
#include "fake_clock.h"

#define ANSWERS_ALL 7

/* --- the link --- */

struct fake_link {
	struct link link;
	struct buf out; /* all that was written */
	size_t read;    /* of it, by world_sent */
	int error;      /* what write answers instead, 0: nothing */
	unsigned writes;
};

static int fake_write(struct link *l, const char *bytes, size_t len)
{
	struct fake_link *f = (struct fake_link *)l;

	assert(len > 0 && bytes[len - 1] == '\n' && !memchr(bytes, '\n', len - 1));
	assert(!memchr(bytes, '\r', len));
	if (f->error)
		return f->error;
	f->writes++;
	return buf_add(&f->out, bytes, len) < 0 ? -ENOBUFS : 0;
}

static size_t fake_unwritten(const struct link *l)
{
	(void)l;
	return 0;
}

static const struct link_ops fake_ops = { .write = fake_write, .unwritten = fake_unwritten };

/* --- a client on it, and all it tells --- */

struct done { /* of one call */
	unsigned count;
	int code;
	bool over;
	char *json, *text;
	unsigned progresses;
	double progress, total;
	char message[64];
};

struct note {
	enum killick_event_kind note;
	void *owner;
	char text[200];
};

struct asked {
	uint64_t number;
	void *owner;
	char method[32], params[160];
};

#define WORLD_KEPT 64
struct world {
	struct fake_link link;
	struct client_spec spec;
	struct client *client;
	unsigned ready;
	struct err error;
	bool failed;
	struct note notes[WORLD_KEPT];
	unsigned note_count;
	struct asked asks[WORLD_KEPT];
	unsigned ask_count;
	bool refuse_asks;
	const char *answer; /* to every ask, from inside on_ask */
	struct client_call *cancel_on_ask;
	unsigned overs;
	uint64_t over; /* the last */
	unsigned others;
	void *other_owner;
	char other[200];   /* the last: method and params */
	char warning[400]; /* the last */
	unsigned warnings;
	char *line; /* what world_sent has returned */
};

static void world_on_ready(void *ctx, const struct err *e)
{
	struct world *w = ctx;

	w->ready++;
	w->failed = e != NULL;
	if (e)
		w->error = *e;
}

static void world_on_note(void *ctx, enum killick_event_kind note, void *owner, struct json params)
{
	struct world *w = ctx;
	struct note *n = &w->notes[w->note_count++ % WORLD_KEPT];

	n->note = note;
	n->owner = owner;
	snprintf(n->text, sizeof(n->text), "%.*s", (int)params.len, params.at ? params.at : "");
}

static bool world_on_ask(void *ctx, void *owner, uint64_t ask, const char *method,
			 struct json params)
{
	struct world *w = ctx;
	struct asked *a = &w->asks[w->ask_count++ % WORLD_KEPT];

	a->number = ask;
	a->owner = owner;
	snprintf(a->method, sizeof(a->method), "%s", method);
	snprintf(a->params, sizeof(a->params), "%.*s", (int)params.len, params.at ? params.at : "");
	if (w->answer)
		client_answer(w->client, ask, w->answer, strlen(w->answer));
	if (w->cancel_on_ask)
		client_cancel(w->cancel_on_ask);
	w->cancel_on_ask = NULL;
	return !w->refuse_asks;
}

static void world_on_warning(void *ctx, const char *text)
{
	struct world *w = ctx;

	w->warnings++;
	snprintf(w->warning, sizeof(w->warning), "%s", text);
}

static void world_on_other(void *ctx, void *owner, const char *method, struct json params)
{
	struct world *w = ctx;

	w->others++;
	w->other_owner = owner;
	snprintf(w->other, sizeof(w->other), "%s %.*s", method, (int)params.len,
		 params.at ? params.at : "");
}

static void world_on_ask_over(void *ctx, void *owner, uint64_t ask)
{
	struct world *w = ctx;

	(void)owner;
	w->overs++;
	w->over = ask;
}

static const struct client_events world_events = {
	.on_ready = world_on_ready,
	.on_note = world_on_note,
	.on_other = world_on_other,
	.on_ask = world_on_ask,
	.on_ask_over = world_on_ask_over,
	.on_warning = world_on_warning,
};

static inline void world_open(struct world *w, const struct client_spec *spec)
{
	*w = (struct world){ .link = { .link.ops = &fake_ops, .out = BUF_INIT(64 << 20) } };
	w->spec = *spec;
	if (!w->spec.name)
		w->spec.name = "test";
	if (!w->spec.version)
		w->spec.version = "1";
	if (!w->spec.message_limit)
		w->spec.message_limit = 1 << 20;
	if (!w->spec.probe_ms)
		w->spec.probe_ms = 2000;
	w->client = client_new(NULL, &w->link.link, &w->spec, &world_events, w);
}

static inline void world_close(struct world *w)
{
	client_fail(w->client, -1, "the test is over");
	client_free(w->client);
	assert(fake_timer_count() == 0);
	buf_done(&w->link.out);
	free(w->line);
	w->line = NULL;
}

/* The server writes a line. */
static inline __attribute__((format(printf, 2, 3))) void world_say(struct world *w, const char *fmt,
								   ...)
{
	char *text;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	assert(n >= 0);
	client_feed(w->client, text, (size_t)n);
	client_feed(w->client, "\n", 1);
	free(text);
}

/* The next line that was written, without its newline; "" if there is none. */
static inline const char *world_sent(struct world *w)
{
	const char *at = w->link.out.data ? w->link.out.data + w->link.read : "";
	const char *end = strchr(at, '\n');

	free(w->line);
	w->line = strndup(at, end ? (size_t)(end - at) : 0);
	if (end)
		w->link.read += (size_t)(end - at) + 1;
	return w->line;
}

static inline void world_skip(struct world *w)
{
	w->link.read = w->link.out.len;
}

struct world_call {
	struct client_call call;
	struct done *done;
};

static inline void world_done(struct client_call *call, const struct client_result *r)
{
	struct world_call *c = (struct world_call *)call;
	struct done *d = c->done;

	d->count++;
	d->code = r->code;
	d->over = r->over;
	free(d->json);
	free(d->text);
	d->json = r->json.at ? strndup(r->json.at, r->json.len) : NULL;
	d->text = r->text ? strdup(r->text) : NULL;
	free(c);
}

static inline void world_progress(struct client_call *call, const struct killick_progress *p)
{
	struct done *d = ((struct world_call *)call)->done;

	d->progresses++;
	d->progress = p->progress;
	d->total = p->total;
	snprintf(d->message, sizeof(d->message), "%s", p->message);
}

static inline void done_drop(struct done *d)
{
	free(d->json);
	free(d->text);
	d->json = d->text = NULL;
}

/* Begin a call like this one; it is gone when it is done. */
static inline struct client_call *world_begin(struct world *w, struct done *d,
					      const struct client_call *like)
{
	struct world_call *c = malloc(sizeof(*c));

	assert(c);
	*c = (struct world_call){ .call = *like, .done = d };
	c->call.on_done = world_done;
	client_call(w->client, &c->call);
	return &c->call;
}

static inline struct client_call *world_call(struct world *w, struct done *d, enum killick_op op,
					     const char *name, const char *args)
{
	return world_begin(w, d,
			   &(struct client_call){ .op = op,
						  .name = name,
						  .args = { args, args ? strlen(args) : 0 },
						  .timeout_ms = 1000 });
}

/* For somebody. */
static inline struct client_call *world_call_of(struct world *w, struct done *d, void *owner,
						enum killick_op op, const char *name)
{
	return world_begin(w, d,
			   &(struct client_call){
				   .op = op, .name = name, .owner = owner, .timeout_ms = 1000 });
}

/* --- handshakes --- */

#define WORLD_CAPABILITIES                                                                         \
	"{\"tools\":{\"listChanged\":true},\"resources\":{\"subscribe\":true,\"listChanged\":"     \
	"true},"                                                                                   \
	"\"prompts\":{},\"completions\":{},\"logging\":{}}"

/* Answer initialize, which has the id 1. */
static inline void world_greet(struct world *w, const char *version)
{
	world_say(w,
		  "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"%s\","
		  "\"capabilities\":" WORLD_CAPABILITIES
		  ",\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"},\"instructions\":\"Be "
		  "kind.\"}}",
		  version);
}

/* Answer server/discover. */
static inline void world_discover(struct world *w, unsigned id)
{
	world_say(w,
		  "{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":{\"resultType\":\"complete\","
		  "\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":" WORLD_CAPABILITIES
		  ",\"instructions\":\"Be quick.\",\"ttlMs\":0,\"cacheScope\":\"private\","
		  "\"_meta\":{\"io.modelcontextprotocol/"
		  "serverInfo\":{\"name\":\"m\",\"version\":\"2\"}}}}",
		  id);
}

/* A client that is ready, on the newest legacy revision. The next id is 2. */
static inline void world_open_legacy(struct world *w, const struct client_spec *spec)
{
	world_open(w, spec);
	world_greet(w, "2025-11-25");
	assert(w->ready == 1 && !w->failed);
	world_skip(w);
}

static inline void world_acknowledge(struct world *w, unsigned id, const char *filter)
{
	world_say(w,
		  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\","
		  "\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":%u},"
		  "\"notifications\":%s}}",
		  id, filter);
}

/* One that is ready without a handshake; its server has these capabilities. The next id is 2. */
static inline void world_open_modern_with(struct world *w, const struct client_spec *spec,
					  const char *capabilities)
{
	world_open(w, spec);
	world_say(
		w,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"supportedVersions\":[\"2026-07-28\"],"
		"\"capabilities\":%s}}",
		capabilities);
	assert(w->ready == 1 && !w->failed);
}

/* One that is ready without a handshake, and listens with id 2. The next id is 3. */
static inline void world_open_modern(struct world *w, const struct client_spec *spec)
{
	world_open(w, spec);
	world_discover(w, 1);
	assert(w->ready == 1 && !w->failed);
	fake_pass(0);
	world_acknowledge(w, 2, "{\"toolsListChanged\":true}");
	assert(w->warnings == 0);
	world_skip(w);
}
