/* fake_executor.h - an environment without an executor: a channel that keeps what is sent, and a
 * clock that stands still. The test plays the executor.
 *
 * Included once per program: it has the functions of channel.h in it. Life: far_open(&f, ...) ->
 * far_attach (the handshake), far_asked (what was sent), far_answer, far_say -> far_close. All that
 * a link tells is kept in struct user.
 */
#pragma once

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "remote/environment.h"
#include "net/channel.h"
#include "rpc/message.h"
#include "fake_clock.h"

/* --- the channel --- */

struct channel {
	const struct channel_events *ev;
	void *ctx;
	bool open, closing, closing_now, writing;
	struct err why;
	struct loop_timer ended;
	int64_t heard_us;
	size_t begun; /* where the message began that is being written */
};

static struct {
	struct channel *channel;  /* the one there is */
	unsigned connects, pings; /* since the beginning */
	struct buf out;           /* what was sent on the newest, a message per line */
	size_t read;
	size_t unsent;    /* what channel_unsent says */
	int commit_error; /* what channel_commit answers instead */
	int connect_error;
	bool paused;
	char token[64], url_host[64], program[64];
	int64_t timeout_ms;
} fake = { .out = BUF_INIT(64u << 20) };

static inline struct channel *fake_connect(const struct channel_events *ev, void *ctx)
{
	struct channel *c = mem_grow(NULL, 1, sizeof(*c));

	assert(!fake.channel); /* one at a time */
	*c = (struct channel){ .ev = ev, .ctx = ctx, .heard_us = fake_now_us };
	fake.channel = c;
	fake.connects++;
	buf_reset(&fake.out, BUF_ANY_SIZE);
	fake.read = 0;
	return c;
}

int channel_connect(struct loop *loop, const struct channel_target *to,
		    const struct channel_events *ev, void *ctx, struct channel **out, struct err *e)
{
	(void)loop;
	if (fake.connect_error)
		return err_set(e, fake.connect_error, "there are no descriptors");
	snprintf(fake.token, sizeof(fake.token), "%s", to->token ? to->token : "");
	snprintf(fake.url_host, sizeof(fake.url_host), "%.60s", to->url->host);
	fake.timeout_ms = to->timeout_ms;
	*out = fake_connect(ev, ctx);
	return 0;
}

int channel_over_program(struct loop *loop, const struct recipe *spec,
			 const struct channel_events *ev, void *ctx, struct channel **out,
			 struct err *e)
{
	(void)loop;
	(void)e;
	snprintf(fake.program, sizeof(fake.program), "%s", spec->argv[0]);
	*out = fake_connect(ev, ctx);
	return 0;
}

struct buf *channel_begin(struct channel *c)
{
	assert(!c->writing);
	if (!c->open || c->closing)
		return NULL;
	c->writing = true;
	c->begun = fake.out.len;
	return &fake.out;
}

int channel_commit(struct channel *c)
{
	struct message m;
	const char *reason = "";

	assert(c->writing);
	c->writing = false;
	if (fake.commit_error)
		return fake.commit_error;
	assert(message_parse_bare(fake.out.data + c->begun, fake.out.len - c->begun, &m, &reason) ==
	       0);
	assert(!memchr(fake.out.data + c->begun, '\n', fake.out.len - c->begun));
	return buf_add(&fake.out, "\n", 1);
}

size_t channel_unsent(const struct channel *c)
{
	(void)c;
	return fake.unsent;
}

int64_t channel_heard_us(const struct channel *c)
{
	return c->heard_us;
}

void channel_ping(struct channel *c)
{
	assert(c->open && !c->closing);
	fake.pings++;
}

bool channel_can_ping(const struct channel *c)
{
	(void)c;
	return !*fake.program;
}

void channel_pause(struct channel *c, bool paused)
{
	assert(!c->writing);
	fake.paused = paused;
}

void channel_set_limit(struct channel *c, size_t limit)
{
	(void)c;
	assert(limit >= 1 << 20);
}

static inline void fake_on_ended(struct loop_timer *t)
{
	struct channel *c = CONTAINER_OF(t, struct channel, ended);

	c->ev->on_closed(c->ctx, &c->why);
}

void channel_close(struct channel *c, bool now)
{
	assert(!c->closing);
	c->closing = true;
	c->closing_now = now;
	snprintf(c->why.text, sizeof(c->why.text), "closed by this side");
	loop_timer_set(NULL, &c->ended, 0, fake_on_ended);
}

void channel_free(struct channel *c)
{
	assert(c == fake.channel && !c->ended.slot);
	fake.channel = NULL;
	free(c);
}

/* The other side, or the network, ends it. */
static inline void fake_break(int code, const char *text)
{
	struct channel *c = fake.channel;

	assert(c && !c->closing);
	c->closing = true;
	c->why.code = code;
	snprintf(c->why.text, sizeof(c->why.text), "%s", text);
	loop_timer_set(NULL, &c->ended, 0, fake_on_ended);
	fake_pass(0);
}

/* --- who uses it --- */

struct user {
	struct link *link;
	unsigned started, ended, lost, back, rooms, exited, eofs;
	long pid;
	char level[16], why_lost[240];
	struct buf out, err;
	struct link_end end;
	char *report;
	bool stop_on_lost, stop_on_bytes,
		keep; /* what the handlers do beside; keep: no link_free */
	int exit_code;
};

static inline void user_on_started(void *ctx, pid_t pid, const char *level)
{
	struct user *u = ctx;

	assert(!u->ended && !u->started);
	u->started++;
	u->pid = pid;
	snprintf(u->level, sizeof(u->level), "%s", level);
}

static inline void user_on_bytes(void *ctx, const char *bytes, size_t len)
{
	struct user *u = ctx;

	assert(u->started && !u->ended && len);
	u->out.max = BUF_ANY_SIZE;
	buf_add(&u->out, bytes, len);
	if (u->stop_on_bytes)
		link_stop(u->link, LINK_STOP_EOF);
}

static inline void user_on_stderr(void *ctx, const char *bytes, size_t len)
{
	struct user *u = ctx;

	assert(u->started && !u->ended && len);
	u->err.max = BUF_ANY_SIZE;
	buf_add(&u->err, bytes, len);
}

static inline void user_on_eof(void *ctx)
{
	((struct user *)ctx)->eofs++;
}

static inline void user_on_ended(void *ctx, const struct link_end *end)
{
	struct user *u = ctx;

	assert(!u->ended);
	u->ended++;
	u->end = *end;
	u->report = strdup(end->report);
	u->end.report = u->report;
	if (!u->keep)
		link_free(u->link);
}

static inline void user_on_exited(void *ctx, int code, int sig)
{
	struct user *u = ctx;

	(void)sig;
	u->exited++;
	u->exit_code = code;
}

static inline void user_on_room(void *ctx)
{
	((struct user *)ctx)->rooms++;
}

static inline void user_on_lost(void *ctx, const char *why)
{
	struct user *u = ctx;

	assert(!u->ended);
	u->lost++;
	snprintf(u->why_lost, sizeof(u->why_lost), "%s", why);
	if (u->stop_on_lost)
		link_stop(u->link, LINK_STOP_EOF);
}

static inline void user_on_back(void *ctx)
{
	struct user *u = ctx;

	assert(!u->ended && u->back < u->lost);
	u->back++;
}

static const struct link_events user_events = {
	.on_started = user_on_started,
	.on_bytes = user_on_bytes,
	.on_stderr = user_on_stderr,
	.on_eof = user_on_eof,
	.on_ended = user_on_ended,
	.on_exited = user_on_exited,
	.on_room = user_on_room,
	.on_lost = user_on_lost,
	.on_back = user_on_back,
};

static inline void user_done(struct user *u)
{
	buf_done(&u->out);
	buf_done(&u->err);
	free(u->report);
	u->report = NULL;
}

static inline const char *user_out(const struct user *u)
{
	return u->out.data ? u->out.data : "";
}

/* --- the executor --- */

struct far {
	struct environment *env;
	struct err e;
	char *line;       /* what far_sent has returned */
	struct message m; /* the same */
	unsigned freed;
};

static inline void far_on_freed(void *ctx)
{
	((struct far *)ctx)->freed++;
}

#define FAR_URL "ws://10.0.0.1:9"

static inline void far_open_with(struct far *f, const struct environment_spec *spec)
{
	*f = (struct far){ .env = environment_new(NULL, spec) };
}

static inline void far_open(struct far *f)
{
	const struct environment_spec spec = {
		.name = "far", .url = FAR_URL, .token = "t", .label = "me"
	};

	far_open_with(f, &spec);
}

static inline void far_close(struct far *f)
{
	assert(environment_users(f->env) == 0);
	environment_free(f->env, far_on_freed, f);
	fake_pass(0);
	assert(f->freed == 1 && !fake.channel);
	assert(fake_timer_count() == 0);
	free(f->line);
	f->line = NULL;
	buf_done(&fake.out);
}

static inline int far_link_in(struct far *f, struct user *u, const char *cwd)
{
	static char *argv[] = { "srv", "--x y", "", NULL };
	static char *envp[] = { "A=1", "B=x=\"y\"", NULL };
	const struct recipe spec = { .name = "srv",
				     .session = "s",
				     .argv = argv,
				     .envp = envp,
				     .cwd = cwd,
				     .grace_ms = 1500,
				     .write_limit = 4u << 20 };

	return environment_open_link(f->env, &spec, &user_events, u, &u->link, &f->e);
}

static inline int far_link(struct far *f, struct user *u)
{
	return far_link_in(f, u, "/srv/a b");
}

/* The next message that was sent; "" if there is none. */
static inline const char *far_sent(struct far *f)
{
	const char *at = fake.out.data ? fake.out.data + fake.read : "";
	const char *end = strchr(at, '\n'), *reason;

	free(f->line);
	f->line = strndup(at, end ? (size_t)(end - at) : 0);
	f->m = (struct message){ .number = 0 };
	if (end) {
		fake.read += (size_t)(end - at) + 1;
		message_parse_bare(f->line, strlen(f->line), &f->m, &reason);
	}
	return f->line;
}

/* The next message is this request: its id. 0: it is not. */
static inline uint64_t far_asked(struct far *f, const char *method)
{
	int64_t id = 0;

	far_sent(f);
	if (!json_is(f->m.method, method)) {
		fprintf(stderr, "# wanted %s, sent %s\n", method, f->line);
		return 0;
	}
	json_int(f->m.id, &id);
	return (uint64_t)id;
}

/* Is this member of its params the string? */
static inline bool far_says(const struct far *f, const char *path, const char *text)
{
	return json_is(json_find(f->m.params, path), text);
}

static inline __attribute__((format(printf, 1, 2))) void far_say(const char *fmt, ...)
{
	struct channel *c = fake.channel;
	va_list ap;
	char *text;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	assert(n >= 0 && c && c->open);
	c->heard_us = fake_now_us;
	if (!c->closing)
		c->ev->on_message(c->ctx, text, (size_t)n);
	free(text);
}

static inline void far_answer(uint64_t id, const char *result)
{
	far_say("{\"id\":%llu,\"result\":%s}", (unsigned long long)id, result);
}

static inline void far_refuse(uint64_t id, int code, const char *text)
{
	far_say("{\"error\":{\"code\":%d,\"message\":\"%s\"},\"id\":%llu}", code, text,
		(unsigned long long)id);
}

static inline void far_connected(void)
{
	assert(fake.channel && !fake.channel->open);
	fake.channel->open = true;
	fake.channel->heard_us = fake_now_us;
	fake.channel->ev->on_open(fake.channel->ctx);
}

#define FAR_KILLICK                                                                                \
	"{\"sessionId\":\"S1\",\"killick\":{\"version\":\"1\",\"leaseMs\":30000,\"instance\":"     \
	"\"i\"}}"
#define FAR_CODEX "{\"sessionId\":\"S1\",\"environmentInfo\":{\"shell\":{\"name\":\"sh\"}}}"

/* The handshake, first or again. */
static inline bool far_attach(struct far *f, const char *greeting)
{
	uint64_t id;

	far_connected();
	id = far_asked(f, "initialize");
	if (!id)
		return false;
	far_answer(id, greeting);
	far_asked(f, "initialized");
	return json_is(f->m.method, "initialized");
}

/* A link that runs: "k1" is the first. */
static inline bool far_run(struct far *f, struct user *u, const char *greeting)
{
	uint64_t id;

	if (far_link(f, u) < 0 || (!fake.channel->open && !far_attach(f, greeting)))
		return false;
	id = far_asked(f, "process/start");
	far_answer(id, strcmp(greeting, FAR_KILLICK) == 0
			       ? "{\"processId\":\"k\",\"pid\":77,\"level\":\"cgroup\"}"
			       : "{\"processId\":\"k\"}");
	return u->started == 1;
}

static inline void far_output(const char *process, int seq, const char *stream, const char *text)
{
	struct buf b = BUF_INIT(BUF_ANY_SIZE);
	size_t len = strlen(text);

	buf_reserve(&b, base64_size(len) + 1);
	base64_encode(b.data, text, len);
	b.len = base64_size(len);
	far_say("{\"method\":\"process/output\",\"params\":{\"processId\":\"%s\",\"seq\":%d,"
		"\"stream\":\"%s\",\"chunk\":\"%.*s\"}}",
		process, seq, stream, (int)b.len, b.data);
	buf_done(&b);
}

static inline void far_exited(const char *process, int seq, int code)
{
	far_say("{\"method\":\"process/exited\",\"params\":{\"processId\":\"%s\",\"seq\":%d,"
		"\"exitCode\":%d,\"sandboxDenied\":false}}",
		process, seq, code);
}

#define FAR_REPORT                                                                                 \
	"{\"killick\":1,\"why\":\"stdin\",\"step\":\"eof\",\"exit\":{\"code\":0,\"signal\":null}," \
	"\"stop_ms\":3.5,\"proof\":[\"waitid\",\"cgroup\"],\"survivors\":[]}"

static inline void far_closed(const char *process, int seq, const char *report)
{
	far_say("{\"method\":\"process/closed\",\"params\":{\"processId\":\"%s\",\"seq\":%d%s%s}}",
		process, seq, report ? ",\"report\":" : "", report ? report : "");
}
