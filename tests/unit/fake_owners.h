/* fake_owners.h - an executor without sockets and processes: channels that keep what is sent, links
 * that the test plays, and a clock that stands still.
 *
 * Included once per program: it has the functions of channel.h and link.h in it. Life: far_open ->
 * far_connect, far_say (a client speaks), far_heard (what it was sent), far_link (the process that
 * was started last) -> far_close, after which nothing may be left.
 */
#pragma once

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "executor/executor.h"
#include "wire/wire.h"
#include "link/link.h"
#include "net/channel.h"
#include "rpc/message.h"
#include "fake_clock.h"

#define FAKE_WATCHES 2 /* of threads: for files, for long messages */
#include "fake_watches.h"

/* --- the loop --- */

/* Wait for a thread to be done with something, and let that happen. False: none was. */
static inline bool far_await_thread(void)
{
	struct pollfd all[FAKE_WATCHES];

	for (int i = 0; i < FAKE_WATCHES; i++)
		all[i] = (struct pollfd){ fake_watches[i] ? fake_watches[i]->fd : -1, POLLIN, 0 };
	if (poll(all, FAKE_WATCHES, 20000) <= 0)
		return false;
	for (int i = 0; i < FAKE_WATCHES; i++)
		if (all[i].revents)
			fake_watches[i]->on_ready(fake_watches[i], POLLER_IN);
	return true;
}

/* --- channels --- */

#define FAR_CHANNELS 64

struct channel {
	const struct channel_events *ev;
	void *ctx;
	int number;
	bool closing, closing_now, closed, writing;
	bool broken; /* nothing can be sent */
	bool slow;   /* nothing goes out by itself */
	size_t unsent, send_limit, begun, read;
	struct buf out; /* everything that was sent, a message per line */
	int64_t heard_us;
	unsigned pings, messages;
	bool answers_pings;
	bool let_in; /* no greeting any more */
	bool paused;
	size_t limit; /* of a message that comes */
	char peer[32];
	char *line;
};

/* --- links --- */

#define FAR_LINKS 600

struct fake_link {
	struct link link;
	int number;
	struct buf in; /* what was written, and read by the process */
	size_t waits;  /* bytes that it has not read */
	bool stuck;    /* it reads nothing */
	bool no_stdin; /* it has closed it */
	size_t limit;
	enum stdio stdio;
	unsigned linger_ms;
	char *argv, *envp, *cwd, *arg0, *name, *contain; /* lists are joined with '|' */
	unsigned long long max_procs, memory;
	unsigned stops, interrupts, pauses;
	enum link_stop how;
	long grace_ms;
	bool paused, ended;
};

static struct {
	struct executor *executor;
	struct channel *channels[FAR_CHANNELS];
	struct fake_link *links[FAR_LINKS];
	int channel_count, link_count;
	int open_error; /* what link_open answers */
	bool closed;    /* on_closed was told */
	bool full;      /* nobody is let in who need not be */
	struct buf log; /* a line each */
	unsigned gone;  /* on_gone was told */
	size_t max_unsent;
} far = { .log = BUF_INIT(16u << 20) };

void channel_listen(struct channel *c, const struct channel_events *ev, void *ctx)
{
	c->ev = ev;
	c->ctx = ctx;
}

struct buf *channel_begin(struct channel *c)
{
	assert(!c->writing && !c->closed);
	if (c->closing || c->broken)
		return NULL;
	c->writing = true;
	c->begun = c->out.len;
	return &c->out;
}

int channel_commit(struct channel *c)
{
	size_t len = c->out.len - c->begun;
	const char *reason = "";
	struct message m;

	assert(c->writing && !c->closing);
	c->writing = false;
	assert(message_parse_bare(c->out.data + c->begun, len, &m, &reason) == 0);
	assert(!memchr(c->out.data + c->begun, '\n', len));
	if (c->unsent + len > c->send_limit) {
		c->out.len = c->begun;
		return -ENOBUFS;
	}
	if (c->slow)
		c->unsent += len;
	if (c->unsent > far.max_unsent)
		far.max_unsent = c->unsent;
	buf_add(&c->out, "\n", 1);
	c->messages++;
	return 0;
}

size_t channel_unsent(const struct channel *c)
{
	return c->unsent;
}

int64_t channel_heard_us(const struct channel *c)
{
	return c->heard_us;
}

void channel_ping(struct channel *c)
{
	c->pings++;
	if (c->answers_pings && strchr(c->peer, ':'))
		c->heard_us = fake_now_us;
}

void channel_set_limit(struct channel *c, size_t limit)
{
	c->limit = limit;
}

char *channel_take(struct channel *c, const char *text, size_t len)
{
	(void)c;
	return mem_text(text, len);
}

void channel_pause(struct channel *c, bool paused)
{
	c->paused = paused;
}

bool channel_let_in(struct channel *c, bool always)
{
	if (far.full && !always)
		return false;
	c->let_in = true;
	return true;
}

void channel_close(struct channel *c, bool now)
{
	assert(!c->closed);
	c->closing = true;
	c->closing_now |= now;
	c->writing = false;
}

bool channel_can_ping(const struct channel *c)
{
	return strchr(channel_peer(c), ':') != NULL; /* those that have a port are WebSockets */
}

const char *channel_peer(const struct channel *c)
{
	return c->peer;
}

void channel_free(struct channel *c)
{
	assert(c->closed);
	far.channels[c->number] = NULL;
	buf_done(&c->out);
	free(c->line);
	free(c);
}

/* --- links --- */

static int fake_link_write(struct link *l, const char *bytes, size_t len)
{
	struct fake_link *f = (struct fake_link *)l;

	assert(len > 0 && !f->ended);
	if (f->no_stdin || f->stops)
		return -EPIPE;
	if (f->waits + len > f->limit)
		return -ENOBUFS;
	buf_add(&f->in, bytes, len);
	if (f->stuck)
		f->waits += len;
	return 0;
}

static size_t fake_link_unwritten(const struct link *l)
{
	return ((const struct fake_link *)l)->waits;
}

static void fake_link_stop(struct link *l, enum link_stop how, long grace_ms)
{
	struct fake_link *f = (struct fake_link *)l;

	f->stops++;
	f->how = how;
	f->grace_ms = grace_ms;
	f->waits = 0;
}

static void fake_link_free(struct link *l)
{
	struct fake_link *f = (struct fake_link *)l;

	assert(f->ended);
	far.links[f->number] = NULL;
	buf_done(&f->in);
	free(f->argv);
	free(f->envp);
	free(f->cwd);
	free(f->arg0);
	free(f->name);
	free(f->contain);
	free(f);
}

static void fake_link_interrupt(struct link *l)
{
	((struct fake_link *)l)->interrupts++;
}

static void fake_link_pause(struct link *l, bool paused)
{
	struct fake_link *f = (struct fake_link *)l;

	f->paused = paused;
	f->pauses += paused;
}

static char *fake_join(char *const *list)
{
	struct buf b = BUF_INIT(BUF_ANY_SIZE);

	for (; *list; list++)
		buf_addf(&b, "%s|", *list);
	return buf_take(&b);
}

static char *fake_copy(const char *text)
{
	return text ? mem_text(text, strlen(text)) : NULL;
}

int link_open(struct loop *loop, const struct recipe *spec, const struct link_events *ev, void *ctx,
	      struct link **out, struct err *e)
{
	static const struct link_ops ops = { .write = fake_link_write,
					     .unwritten = fake_link_unwritten,
					     .stop = fake_link_stop,
					     .free = fake_link_free,
					     .interrupt = fake_link_interrupt,
					     .pause = fake_link_pause };
	struct fake_link *f;

	(void)loop;
	if (far.open_error)
		return err_set(e, far.open_error, "no such directory");
	f = mem_grow(NULL, 1, sizeof(*f));
	*f = (struct fake_link){ .link = { &ops, ev, ctx, 0 },
				 .number = far.link_count,
				 .in = BUF_INIT(BUF_ANY_SIZE),
				 .limit = spec->write_limit,
				 .stdio = spec->stdio,
				 .linger_ms = spec->linger_ms,
				 .argv = fake_join(spec->argv),
				 .envp = fake_join(spec->envp),
				 .cwd = fake_copy(spec->cwd),
				 .arg0 = fake_copy(spec->arg0),
				 .name = fake_copy(spec->name),
				 .contain = fake_copy(level_name(spec->contain)),
				 .max_procs = spec->limits[LIMIT_PROCS],
				 .memory = spec->limits[LIMIT_MEMORY] };
	assert(far.link_count < FAR_LINKS && strcmp(spec->keeper, "/keeper") == 0);
	far.links[far.link_count++] = f;
	*out = &f->link;
	return 0;
}

/* The process that was started last. */
static inline struct fake_link *far_link(void)
{
	assert(far.link_count && far.links[far.link_count - 1]);
	return far.links[far.link_count - 1];
}

static inline void far_run(struct fake_link *f)
{
	f->link.ev->on_started(f->link.ctx, 100 + f->number, "keeper");
}

static inline void far_out(struct fake_link *f, const char *bytes, size_t len)
{
	f->link.ev->on_bytes(f->link.ctx, bytes, len);
}

static inline void far_print(struct fake_link *f, const char *text)
{
	far_out(f, text, strlen(text));
}

static inline void far_print_err(struct fake_link *f, const char *text)
{
	f->link.ev->on_stderr(f->link.ctx, text, strlen(text));
}

/* It reads all that waits. */
static inline void far_reads(struct fake_link *f)
{
	bool waited = f->waits > 0;

	f->waits = 0;
	if (waited)
		f->link.ev->on_room(f->link.ctx);
}

static inline void far_end(struct fake_link *f, int code, int sig)
{
	struct link_end end = { .pid = 100 + f->number,
				.exit_code = sig ? -1 : code,
				.exit_signal = sig,
				.why = LINK_WHY_EXIT,
				.proof = LINK_PROOF_WAITID,
				.report = "{\"killick\":\"x\"}" };

	f->ended = true;
	f->link.ev->on_ended(f->link.ctx, &end);
}

static inline void far_refuse(struct fake_link *f, const char *text)
{
	struct link_end end = { .refused = true, .exit_code = -1, .report = "" };

	snprintf(end.text, sizeof(end.text), "%s", text);
	f->ended = true;
	f->link.ev->on_ended(f->link.ctx, &end);
}

/* --- clients --- */

static void far_on_log(void *ctx, const char *line)
{
	(void)ctx;
	assert(!strchr(line, '\n'));
	buf_addf(&far.log, "%s\n", line);
	if (far.log.len > (8u << 20))
		buf_reset(&far.log, BUF_ANY_SIZE);
}

static void far_on_closed(void *ctx)
{
	(void)ctx;
	assert(!far.closed);
	far.closed = true;
}

static void far_on_gone(void *ctx)
{
	(void)ctx;
	far.gone++;
}

static inline void far_open(const struct executor_options *given)
{
	static char *const envp[] = { "PATH=/bin",
				      "HOME=/root",
				      "SHELL=/bin/sh",
				      "API_KEY=k",
				      "my_token=t",
				      "LANG=C",
				      "KILLICK_TREE=other",
				      "OTHER=x",
				      "OPENAI_IDENTITY_TOKEN_FILE=f",
				      NULL };
	struct executor_options o = given ? *given : (struct executor_options){ .ctx = NULL };
	struct err e;
	int r;

	o.keeper = "/keeper";
	o.envp = envp;
	o.on_log = far_on_log;
	o.on_closed = far_on_closed;
	far.closed = false;
	far.gone = 0;
	far.max_unsent = 0;
	far.channel_count = far.link_count = 0;
	r = executor_open(NULL, &o, &far.executor, &e);
	assert(r == 0);
	(void)r;
}

/* A connection from `peer`: one with a ':' is a WebSocket. */
static inline struct channel *far_connect(const char *peer, bool last)
{
	struct channel *c = mem_grow(NULL, 1, sizeof(*c));

	assert(far.channel_count < FAR_CHANNELS);
	*c = (struct channel){ .number = far.channel_count,
			       .out = BUF_INIT(BUF_ANY_SIZE),
			       .send_limit = 32u << 20,
			       .heard_us = fake_now_us,
			       .answers_pings = true };
	snprintf(c->peer, sizeof(c->peer), "%s", peer);
	far.channels[far.channel_count++] = c;
	executor_adopt(far.executor, c, last, far_on_gone, NULL);
	return c;
}

static inline void far_say_and_leave(struct channel *c, const char *text, size_t len)
{
	char *exact = mem_grow(NULL, len, 1); /* reading past its end is seen */

	if (len)
		memcpy(exact, text, len);
	c->heard_us = fake_now_us;
	c->ev->on_message(c->ctx, exact, len);
	free(exact);
}

/* A long one is read by a thread: that is waited for. */
static inline void far_say_bytes(struct channel *c, const char *text, size_t len)
{
	far_say_and_leave(c, text, len);
	while (c->paused)
		assert(far_await_thread());
}

static inline __attribute__((format(printf, 2, 3))) void far_say(struct channel *c, const char *fmt,
								 ...)
{
	char *text;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	assert(n >= 0);
	far_say_bytes(c, text, (size_t)n);
	free(text);
}

/* The next message that was sent; "" if there is none. */
static inline const char *far_heard(struct channel *c)
{
	const char *at = c->out.data ? c->out.data + c->read : "";
	const char *end = strchr(at, '\n');

	free(c->line);
	c->line = strndup(at, end ? (size_t)(end - at) : 0);
	if (end)
		c->read += (size_t)(end - at) + 1;
	return c->line;
}

static inline void far_skip(struct channel *c)
{
	c->read = c->out.len;
}

/* What is unsent goes out. */
static inline void far_drain(struct channel *c)
{
	bool was_high = c->unsent >= CHANNEL_HIGH;

	c->unsent = 0;
	if (was_high && !c->closing)
		c->ev->on_room(c->ctx);
}

/* The connection ends, or its closing does. */
static inline void far_hang_up(struct channel *c, int code)
{
	struct err why = { .code = code, .text = "hung up" };

	c->closed = true;
	c->ev->on_closed(c->ctx, &why);
}

/* A client that is ready; *out_session (37 bytes) unless NULL. */
static inline struct channel *far_client(const char *peer, char *out_session)
{
	struct channel *c = far_connect(peer, false);
	struct json v;

	far_say(c, "{\"id\":1,\"method\":\"initialize\",\"params\":{\"clientName\":\"test\"}}");
	far_heard(c);
	json_check(c->line, strlen(c->line), 0, &v, NULL);
	if (out_session)
		json_string_into(json_find(v, "result.sessionId"), out_session, 37);
	far_say(c, "{\"method\":\"initialized\",\"params\":{}}");
	return c;
}

/* Closings that were asked for end now. */
static inline void far_settle(void)
{
	for (int i = 0; i < far.channel_count; i++)
		if (far.channels[i] && far.channels[i]->closing)
			far_hang_up(far.channels[i], 0);
}

static inline void far_close(void)
{
	executor_close(far.executor, 100);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < far.link_count; i++)
			if (far.links[i])
				far_end(far.links[i], 0, 15);
		far_settle();
	}
	fake_pass(0);
	assert(far.closed);
	executor_free(far.executor);
	assert(fake_timer_count() == 0);
	for (int i = 0; i < far.channel_count; i++)
		assert(!far.channels[i]);
	buf_done(&far.log);
	far.log.max = 16u << 20;
}
