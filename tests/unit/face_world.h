/* face_world.h - a face on a pair of sockets, an owner that keeps what it hears, and a loop of the
 * test: a clock that stands still, and handlers that run only inside world_turn.
 *
 * Included once per program: it has the loop's functions in it, so that loop.c is not linked.
 * Life: world_open -> world_say (the client writes), world_got (what the face wrote), world_pass
 * (time goes by) -> world_close.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/loop.h"
#include "mcp/face.h"
#include "fake_loop.h"
#include "../t_line.h"

/* --- the owner --- */

#ifndef WORLD_KEPT
#define WORLD_KEPT 8192
#endif
struct world_request {
	struct face_request *rq; /* NULL: answered, cancelled */
	enum face_method kind;
	char name[64];
	bool cancelled;
};

struct world {
	struct face *face;
	int fd; /* of the client */
	unsigned hellos;
	char hello[400];
	struct world_request requests[WORLD_KEPT];
	unsigned count, cancelled;
	char notes[2000]; /* notifications of the client, a line each */
	char watched[400];
	bool slow_watches; /* on_watch: face_watched follows */
	bool full; /* the last on_full */
	unsigned closed;
	char why[240];
	char answers[2000]; /* to asks, a line each */
	struct buf got;
	size_t read;
	char *line;
	/* what the owner does in its handlers */
	bool welcome; /* in on_hello */
	struct face_offer offer;
	bool keep;
	void (*on_request)(struct world *w, struct face_request *rq); /* NULL: keep it open */
	void (*on_answer)(struct world *w, uint64_t ask);
};

static void world_add(char *text, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void world_add(char *text, size_t size, const char *fmt, ...)
{
	size_t len = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + len, size - len, fmt, ap);
	va_end(ap);
}

static void world_on_hello(void *ctx, const struct face_hello *h)
{
	struct world *w = ctx;

	w->hellos++;
	snprintf(w->hello, sizeof(w->hello), "%s %s %.*s %x",
		 h->era == ERA_MODERN ? "modern" : "legacy", h->version, (int)h->info.len,
		 h->info.at ? h->info.at : "", h->answers);
	if (w->welcome)
		face_welcome(w->face, &w->offer);
}

static void world_on_request(void *ctx, struct face_request *rq)
{
	struct world *w = ctx;
	struct world_request *r = &w->requests[w->count];

	assert(w->count < WORLD_KEPT);
	r->rq = rq;
	r->kind = rq->kind;
	snprintf(r->name, sizeof(r->name), "%.*s", (int)rq->name.len,
		 rq->name.at ? rq->name.at : "");
	rq->owner = r;
	w->count++;
	if (w->keep)
		face_keep(rq);
	if (w->on_request)
		w->on_request(w, rq);
}

static void world_on_cancelled(void *ctx, struct face_request *rq)
{
	struct world *w = ctx;
	struct world_request *r = rq->owner;

	assert(r->rq == rq && !r->cancelled);
	r->rq = NULL;
	r->cancelled = true;
	w->cancelled++;
}

static void world_on_notification(void *ctx, const struct message *m)
{
	struct world *w = ctx;

	world_add(w->notes, sizeof(w->notes), "%.*s %.*s\n", (int)m->method.len, m->method.at,
		  (int)m->params.len, m->params.at ? m->params.at : "");
}

static void world_on_full(void *ctx, bool full)
{
	struct world *w = ctx;

	assert(w->full != full);
	w->full = full;
}

static bool world_on_watch(void *ctx, const char *uri, bool on)
{
	struct world *w = ctx;

	world_add(w->watched, sizeof(w->watched), "%c%s ", on ? '+' : '-', uri);
	return w->slow_watches;
}

static void world_on_closed(void *ctx, const char *why)
{
	struct world *w = ctx;

	w->closed++;
	snprintf(w->why, sizeof(w->why), "%s", why);
}

static const struct face_events world_events = {
	.on_hello = world_on_hello,
	.on_request = world_on_request,
	.on_cancelled = world_on_cancelled,
	.on_notification = world_on_notification,
	.on_watch = world_on_watch,
	.on_full = world_on_full,
	.on_closed = world_on_closed,
};

static inline void world_on_answer(void *ctx, uint64_t ask, struct json result, struct json error)
{
	struct world *w = ctx;

	world_add(w->answers, sizeof(w->answers), "%u %.*s|%.*s\n", (unsigned)ask, (int)result.len,
		  result.at ? result.at : "", (int)error.len, error.at ? error.at : "");
	if (w->on_answer)
		w->on_answer(w, ask);
}

/* --- life --- */

#define WORLD_LIMIT (1u << 20)
#define WORLD_CAPABILITIES                                                                         \
	"{\"tools\":{\"listChanged\":true},\"prompts\":{\"listChanged\":true},"                    \
	"\"resources\":{\"subscribe\":true,\"listChanged\":true},\"completions\":{},"              \
	"\"logging\":{},\"tasks\":{\"list\":{}}}"

static inline void world_open(struct world *w)
{
	struct err e = ERR_INIT;
	int fds[2];

	memset(w, 0, sizeof(*w));
	w->got = (struct buf)BUF_INIT(BUF_ANY_SIZE);
	w->welcome = true;
	w->offer = (struct face_offer){ .name = "hub",
					.version = "9",
					.capabilities = WORLD_CAPABILITIES,
					.instructions = "Be kind." };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) < 0 ||
	    face_new(NULL, fds[1], fds[1], WORLD_LIMIT, &world_events, w, &w->face, &e) < 0)
		abort();
	w->fd = fds[0];
	world_turn();
}

/* The same with two pipes; *out_in is where the client writes. world_read reads w->fd. */
static inline void world_open_pipes(struct world *w, int *out_in)
{
	struct err e = ERR_INIT;
	int in[2], out[2];

	world_open(w);
	close(w->fd);
	world_turn();
	assert(w->closed == 1);
	face_free(w->face);
	w->closed = 0;
	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 ||
	    face_new(NULL, in[0], out[1], WORLD_LIMIT, &world_events, w, &w->face, &e) < 0)
		abort();
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	w->fd = out[0];
	*out_in = in[1];
	world_turn();
}

/* Read what the face has written. */
static inline void world_read(struct world *w)
{
	char chunk[65536];
	ssize_t n;

	do {
		world_turn();
		n = w->fd < 0 ? 0 : read(w->fd, chunk, sizeof(chunk));
		if (n > 0)
			buf_add(&w->got, chunk, (size_t)n);
	} while (n > 0);
}

/* The client is gone. */
static inline void world_leave(struct world *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
	world_turn();
}

static inline void world_close(struct world *w)
{
	if (!w->closed)
		face_close(w->face);
	world_read(w);
	world_leave(w);
	fake_pass(1000);
	assert(w->closed == 1);
	for (unsigned i = 0; i < w->count; i++)
		assert(!w->requests[i].rq);
	face_free(w->face);
	assert(fake_timer_count() == 0);
	buf_done(&w->got);
	free(w->line);
	w->line = NULL;
}

/* --- talk --- */

static inline void world_write(struct world *w, const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(w->fd, bytes, len);

		if (n < 0 && errno == EAGAIN) {
			world_turn();
			continue;
		}
		assert(n > 0);
		bytes += n;
		len -= (size_t)n;
	}
	world_turn();
}

static inline __attribute__((format(printf, 2, 3))) void world_say(struct world *w, const char *fmt,
								   ...)
{
	va_list ap;
	size_t len;
	char *line;

	va_start(ap, fmt);
	line = t_line(fmt, ap, &len);
	va_end(ap);
	world_write(w, line, len);
	free(line);
}

/* The next line that the face wrote, without its newline; "" if there is none. */
static inline const char *world_got(struct world *w)
{
	const char *at, *end;

	world_read(w);
	at = w->got.data + w->read;
	end = strchr(at, '\n');
	free(w->line);
	w->line = strndup(at, end ? (size_t)(end - at) : 0);
	if (end)
		w->read += (size_t)(end - at) + 1;
	return w->line;
}

static inline void world_skip(struct world *w)
{
	world_read(w);
	w->read = w->got.len;
}

static inline void world_pass(int64_t ms)
{
	world_turn();
	fake_pass(ms);
	world_turn();
}

/* The n-th request of the owner, from 0. */
static inline struct face_request *world_request(struct world *w, unsigned n)
{
	assert(n < w->count && w->requests[n].rq);
	return w->requests[n].rq;
}

static inline struct face_request *world_take(struct world *w, unsigned n)
{
	struct face_request *rq = world_request(w, n);

	w->requests[n].rq = NULL;
	return rq;
}

static inline struct json world_json(const char *text)
{
	return (struct json){ text, strlen(text) };
}

/* Answer the n-th request with a line that a server wrote. */
static inline void world_answer_line(struct world *w, unsigned n, const char *line,
				     enum client_era from)
{
	struct face_request *rq = world_take(w, n);
	const char *reason = "";
	struct message m;

	if (message_parse(line, strlen(line), &m, &reason) < 0)
		abort();
	face_answer_line(rq, &m, from);
}

/* --- handshakes --- */

#define NS "io.modelcontextprotocol/"
#define MODERN_WITH(capabilities)                                                                  \
	"\"_meta\":{\"" NS "protocolVersion\":\"2026-07-28\",\"" NS                                \
	"clientInfo\":{\"name\":\"c\",\"version\":\"1\"},\"" NS                                    \
	"clientCapabilities\":" capabilities "}"
#define MODERN MODERN_WITH("{}")

static inline void world_initialize(struct world *w, const char *version, const char *capabilities)
{
	world_say(w,
		  "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
		  "\"protocolVersion\":\"%s\",\"capabilities\":%s,"
		  "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}",
		  version, capabilities);
}

static inline void world_open_legacy(struct world *w, const char *version, const char *capabilities)
{
	world_open(w);
	world_initialize(w, version, capabilities);
	world_say(w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
	world_skip(w);
}

/* After a first request, server/discover. */
static inline void world_open_modern(struct world *w)
{
	world_open(w);
	world_say(w, "{\"jsonrpc\":\"2.0\",\"id\":\"d\",\"method\":\"server/"
		     "discover\",\"params\":{" MODERN "}}");
	world_skip(w);
}
