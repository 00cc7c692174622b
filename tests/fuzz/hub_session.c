/* hub_session.c - whole sessions of the hub: MCP clients, a program of the control API and servers,
 * which all write what the input says, in the order of the input.
 *
 * The hub, its desks, the sessions, the MCP clients of the servers and the server sides are those
 *of the product; the loop, its clock and the links to the servers are fakes. Each line of the input
 *is one step:
 *
 *	0TEXT..3TEXT  MCP client 0 to 3 writes TEXT; its first line connects the client. Clients 0
 *and 1 share a server, client 2 has two servers, client 3 has a modern one kTEXT         the
 *program of the control API writes TEXT aTEXT..dTEXT  the server that was started as number 0 to 3
 *writes TEXT; "@N" in it becomes the id of the open request N of this server !tN           N * 500
 *ms go by; !TN: N * 100 s !aN           server N answers its oldest open request with a plain
 *result !mN           server N stops or starts to answer handshakes and lists by itself !oN server
 *N closes its stdout !xN           server N exits !eN TEXT      server N writes TEXT to its stderr
 *	!bN           client N stops or starts to read
 *	!lN           client N leaves
 *	!cN           the session of client N is closed by the hub
 *	!k            the program of the control API leaves
 *
 * The oracle: each line that the hub writes is one message without a batch; a client gets at most
 * one answer for each of its requests, and no answer that it did not ask for; in the end every link
 * has ended and no timer is left. No byte of a peer reaches an assert of the product.
 */
#include "fuzz.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../unit/fake_loop.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/json.h"
#include "config/config.h"
#include "hub/hub_internal.h"
#include "link/link.h"
#include "rpc/message.h"
#include "session/runtime.h"

enum { CLIENTS = 4, SERVERS = 24, OPEN_MAX = 256, ID_MAX = 200, QUIET_TURNS = 4000 };

/* --- the rest of the loop --- */

int loop_open(struct loop **out, void (*on_turn)(void *ctx), void *ctx, struct err *e)
{
	(void)on_turn, (void)ctx, (void)e;
	*out = (struct loop *)&fake_tasks;
	return 0;
}

void loop_close(struct loop *l)
{
	(void)l;
}

void loop_lock(struct loop *l)
{
	(void)l;
}

void loop_unlock(struct loop *l)
{
	(void)l;
}

void loop_wake(struct loop *l)
{
	(void)l;
}

void loop_own_process(struct loop *l)
{
	(void)l;
}

void loop_notify(struct loop *l)
{
	(void)l;
}

void loop_attend(struct loop *l)
{
	(void)l;
}

void loop_call_back(struct loop *l)
{
	(void)l;
}

void loop_visit(struct loop *l)
{
	(void)l;
}

void loop_batch_begin(struct loop *l)
{
	(void)l;
}

void loop_batch_end(struct loop *l)
{
	(void)l;
}

unsigned loop_strays(const struct loop *l)
{
	(void)l;
	return 0;
}

int loop_host_open(struct loop *l, const struct bell *bell)
{
	(void)l, (void)bell;
	return -ENOSYS;
}

int loop_host_fd(const struct loop *l)
{
	(void)l;
	return -1;
}

bool loop_lend(struct loop *l, const struct loop_lender *lender)
{
	(void)l, (void)lender;
	return false;
}

/* Time goes by from timer to timer, until there is nothing left to wait for. */
bool loop_wait(struct loop *l, bool (*done)(void *ctx), void *ctx, int64_t until_us)
{
	(void)l;
	world_turn();
	for (int i = 0; !done(ctx) && fake_fire(until_us); i++) {
		assert(i < 100000);
		world_turn();
	}
	return done(ctx);
}

/* --- servers: links that keep what is written --- */

struct fake_server {
	struct link link;
	struct loop_timer next; /* a step that the loop takes: started, said, ended */
	bool started, manual, modern, stopping, ended, eof;
	char open[OPEN_MAX][ID_MAX]; /* ids of open requests, oldest first */
	unsigned open_count;
	struct buf says; /* answers that it gives by itself */
};

static struct state {
	struct hub *hub;
	struct fake_server *servers[SERVERS];
	unsigned server_count;
	struct fuzz_client {
		struct desk *desk;
		int fd; /* -1: not connected, or left */
		bool used, closed, blind;
		struct buf got;
		char open[OPEN_MAX][ID_MAX]; /* ids that it may get an answer for */
		unsigned open_count;
	} clients[CLIENTS];
	int control; /* -1: left */
} s;

static void fuzz_keep_id(char list[OPEN_MAX][ID_MAX], unsigned *count, struct json id)
{
	if (*count < OPEN_MAX && id.len < ID_MAX)
		snprintf(list[(*count)++], ID_MAX, "%.*s", (int)id.len, id.at);
}

static bool fuzz_take_id(char list[OPEN_MAX][ID_MAX], unsigned *count, struct json id)
{
	for (unsigned i = 0; i < *count; i++) {
		if (strlen(list[i]) != id.len || memcmp(list[i], id.at, id.len) != 0)
			continue;
		memmove(list[i], list[i + 1], (--*count - i) * (size_t)ID_MAX);
		return true;
	}
	return false;
}

/* What the server answers by itself; NULL: the input answers. */
static const char *fake_result(const struct fake_server *v, const struct message *m)
{
	static const struct {
		const char *method, *result;
	} rows[] = {
		{ "initialize",
		  "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{"
		  "\"listChanged\":"
		  "true},\"resources\":{\"subscribe\":true},\"prompts\":{},\"logging\":{},"
		  "\"tasks\":{"
		  "\"list\":{},\"cancel\":{},\"requests\":{\"tools\":{\"call\":{}}}}},"
		  "\"serverInfo\":{\"name\":\"f\",\"version\":\"1\"}}" },
		{ "server/discover",
		  "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],"
		  "\"capabilities\":{\"tools\":{\"listChanged\":true},\"resources\":{\"subscribe\":"
		  "true},\"prompts\":{}},\"serverInfo\":{\"name\":\"f\",\"version\":\"1\"},"
		  "\"ttlMs\":0,\"cacheScope\":\"private\"}" },
		{ "tools/list",
		  "{\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":"
		  "\"u\",\"inputSchema\":{\"type\":\"object\"}}],\"resultType\":\"complete\","
		  "\"ttlMs\":0,\"cacheScope\":\"private\"}" },
		{ "resources/list",
		  "{\"resources\":[{\"uri\":\"f:r\",\"name\":\"r\"}],\"resultType\":\"complete\","
		  "\"ttlMs\":0,\"cacheScope\":\"private\"}" },
		{ "resources/templates/list",
		  "{\"resourceTemplates\":[],\"resultType\":\"complete\",\"ttlMs\":0,"
		  "\"cacheScope\":\"private\"}" },
		{ "prompts/list", "{\"prompts\":[{\"name\":\"p\"}],\"resultType\":\"complete\","
				  "\"ttlMs\":0,\"cacheScope\":\"private\"}" },
		{ "ping", "{}" },
	};

	for (size_t i = 0; !v->manual && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (json_is(m->method, rows[i].method) && (i != 1 || v->modern))
			return rows[i].result;
	return NULL;
}

static void fake_step(struct loop_timer *t);

static int fake_write(struct link *l, const char *bytes, size_t len)
{
	struct fake_server *v = (struct fake_server *)l;
	const char *reason = "", *result;
	struct message m;

	assert(len > 0 && bytes[len - 1] == '\n' && !memchr(bytes, '\n', len - 1));
	assert(message_parse(bytes, len - 1, &m, &reason) == 0 && m.kind != MESSAGE_BATCH);
	if (v->stopping || v->ended)
		return -EPIPE;
	if (m.kind != MESSAGE_REQUEST)
		return 0;
	result = fake_result(v, &m);
	if (!result) {
		fuzz_keep_id(v->open, &v->open_count, m.id);
		return 0;
	}
	buf_addf(&v->says, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":%s}\n", (int)m.id.len,
		 m.id.at, result);
	loop_timer_set(NULL, &v->next, 0, fake_step);
	return 0;
}

static size_t fake_unwritten(const struct link *l)
{
	(void)l;
	return 0;
}

static void fake_stop(struct link *l, enum link_stop how, long grace_ms)
{
	struct fake_server *v = (struct fake_server *)l;

	(void)how, (void)grace_ms;
	v->stopping = true;
	loop_timer_set(NULL, &v->next, 0, fake_step);
}

static void fake_free(struct link *l)
{
	struct fake_server *v = (struct fake_server *)l;

	assert(v->ended);
	loop_timer_stop(NULL, &v->next);
	for (unsigned i = 0; i < s.server_count; i++)
		if (s.servers[i] == v)
			s.servers[i] = NULL;
	buf_done(&v->says);
	free(v);
}

static void fake_ignore(struct link *l)
{
	(void)l;
}

static void fake_pause(struct link *l, bool paused)
{
	(void)l, (void)paused;
}

static void fake_end(struct fake_server *v)
{
	struct link_end end = { .pid = 4711,
				.exit_code = v->stopping ? 0 : 3,
				.why = v->stopping ? LINK_WHY_STDIN : LINK_WHY_EXIT,
				.proof = LINK_PROOF_WAITID,
				.report = "" };

	v->ended = true;
	loop_timer_stop(NULL, &v->next);
	v->link.ev->on_ended(v->link.ctx, &end);
}

/* The next thing that the server does by itself. */
static void fake_step(struct loop_timer *t)
{
	struct fake_server *v = CONTAINER_OF(t, struct fake_server, next);
	AUTO(buf_done) struct buf says = BUF_INIT(BUF_ANY_SIZE);

	if (v->ended)
		return;
	if (v->stopping) {
		fake_end(v);
		return;
	}
	if (!v->started) {
		v->started = true;
		v->link.ev->on_started(v->link.ctx, 4711, "keeper");
		loop_timer_set(NULL, &v->next, 0, fake_step); /* the handshake is written already */
		return;
	}
	if (!v->says.len || v->eof)
		return;
	buf_add(&says, v->says.data, v->says.len);
	v->says.len = 0;
	v->link.ev->on_bytes(v->link.ctx, says.data, says.len);
}

int link_open(struct loop *loop, const struct recipe *recipe, const struct link_events *ev,
	      void *ctx, struct link **out, struct err *e)
{
	static const struct link_ops ops = { .write = fake_write,
					     .unwritten = fake_unwritten,
					     .stop = fake_stop,
					     .free = fake_free,
					     .interrupt = fake_ignore,
					     .pause = fake_pause };
	struct fake_server *v;

	(void)loop;
	if (s.server_count == SERVERS)
		return err_set(e, -EAGAIN, "no more servers");
	v = calloc(1, sizeof(*v));
	if (!v)
		abort();
	v->link = (struct link){ .ops = &ops, .ev = ev, .ctx = ctx };
	v->says = (struct buf)BUF_INIT(BUF_ANY_SIZE);
	v->modern = recipe->name && strcmp(recipe->name, "modern") == 0;
	s.servers[s.server_count++] = v;
	loop_timer_set(NULL, &v->next, 0, fake_step);
	*out = &v->link;
	return 0;
}

int link_keeper_path(const char *given, char **out, struct err *e)
{
	(void)given, (void)e;
	*out = strdup("/nowhere/killick");
	return 0;
}

/* --- clients --- */

static void fuzz_on_open(void *ctx, const struct killick_error *e)
{
	(void)ctx, (void)e;
}

static void fuzz_on_closed(void *ctx, struct killick_report *report, const char *kept,
			   const char *why)
{
	struct fuzz_client *c = ctx;

	(void)kept, (void)why;
	assert(!c->closed);
	c->closed = true;
	if (report)
		killick_report_free(report);
}

static void fuzz_on_change(void *ctx)
{
	(void)ctx;
}

static const struct desk_events desk_events = { .on_open = fuzz_on_open,
						.on_closed = fuzz_on_closed,
						.on_change = fuzz_on_change };

static int fuzz_pair(int *theirs)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
		abort();
	*theirs = fds[1];
	return fds[0];
}

static void fuzz_connect(unsigned n)
{
	static const char *const configs[CLIENTS] = {
		"{\"mcpServers\":{\"a\":{\"command\":\"x\",\"share\":\"identical\"}}}",
		"{\"mcpServers\":{\"a\":{\"command\":\"x\",\"share\":\"identical\"}}}",
		"{\"mcpServers\":{\"a\":{\"command\":\"x\",\"share\":\"identical\",\"idle\":5000},"
		"\"b\":{\"command\":\"y\"}}}",
		"{\"mcpServers\":{\"modern\":{\"command\":\"z\",\"era\":\"modern\"}}}",
	};
	static char *const nothing[] = { NULL };
	struct config_source source = { .environ_ = nothing };
	struct fuzz_client *c = &s.clients[n];
	struct desk_spec spec = { .k = s.hub->k, .tag = "fuzz" };
	struct err e = ERR_INIT;
	struct config config;

	assert(config_parse(configs[n], strlen(configs[n]), &source, &config, &e) == 0);
	c->used = true;
	c->fd = fuzz_pair(&spec.in);
	spec.out = spec.in;
	spec.config = &config;
	assert(desk_open(&spec, &desk_events, c, &c->desk, &e) == 0);
	config_done(&config);
}

/* Check a line that the hub wrote to a client. */
static void fuzz_check_line(struct fuzz_client *c, const char *line, size_t len)
{
	const char *reason = "";
	struct message m;

	assert(message_parse(line, len, &m, &reason) == 0 && m.kind != MESSAGE_BATCH);
	if (m.kind != MESSAGE_RESULT && m.kind != MESSAGE_ERROR)
		return;
	if (json_type(m.id) == JSON_NULL || !m.id.at || c->open_count == OPEN_MAX)
		return; /* an error about a line that is no request */
	assert(m.id.len >= ID_MAX || fuzz_take_id(c->open, &c->open_count, m.id));
}

static void fuzz_read(struct fuzz_client *c)
{
	char bytes[65536], *newline;
	ssize_t n;

	while (c->fd >= 0 && !c->blind && (n = read(c->fd, bytes, sizeof(bytes))) > 0)
		buf_add(&c->got, bytes, (size_t)n);
	while (c->got.len && (newline = memchr(c->got.data, '\n', c->got.len)) != NULL) {
		size_t len = (size_t)(newline - c->got.data);

		fuzz_check_line(c, c->got.data, len);
		buf_drop(&c->got, len + 1);
	}
}

static void fuzz_settle(void)
{
	char bytes[65536];

	world_turn();
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct fuzz_client *c = &s.clients[i];

		fuzz_read(c);
		if (!c->desk || !c->closed)
			continue;
		desk_free(c->desk);
		c->desk = NULL;
	}
	while (s.control >= 0 && read(s.control, bytes, sizeof(bytes)) > 0)
		;
}

static void fuzz_write(int fd, const char *text, size_t len)
{
	for (size_t done = 0; fd >= 0 && done < len;) {
		ssize_t n = send(fd, text + done, len - done, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN)
			return;
		done += n > 0 ? (size_t)n : 0;
		fuzz_settle();
	}
}

static void fuzz_leave(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* A client writes a line. The ids of its requests are those that may be answered. */
static void fuzz_client_line(unsigned n, char *line, size_t len)
{
	struct fuzz_client *c = &s.clients[n];
	const char *reason = "";
	struct message m;

	if (!c->used)
		fuzz_connect(n);
	if (c->fd < 0)
		return;
	if (message_parse(line, len, &m, &reason) == 0 && m.id.at)
		fuzz_keep_id(c->open, &c->open_count, m.id);
	else
		c->open_count = OPEN_MAX; /* the hub may read an id where this reader does not */
	line[len] = '\n';
	fuzz_write(c->fd, line, len + 1);
	line[len] = '\0';
}

/* --- steps --- */

static struct fake_server *fuzz_server(unsigned n)
{
	struct fake_server *v = n < s.server_count ? s.servers[n] : NULL;

	return v && v->started && !v->ended && !v->stopping ? v : NULL;
}

static void fuzz_server_line(unsigned n, const char *line, size_t len)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	struct fake_server *v = fuzz_server(n);

	if (!v || v->eof)
		return;
	for (size_t i = 0; i < len; i++) {
		unsigned id = i + 1 < len ? (unsigned)(line[i + 1] - '0') : 10;

		if (line[i] == '@' && id < 10 && id < v->open_count) {
			buf_adds(&text, v->open[id]);
			i++;
		} else {
			buf_add(&text, line + i, 1);
		}
	}
	buf_adds(&text, "\n");
	v->link.ev->on_bytes(v->link.ctx, text.data, text.len);
}

static void fuzz_answer(struct fake_server *v)
{
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);

	if (!v || !v->open_count || v->eof)
		return;
	buf_addf(&text,
		 "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[],\"resultType\":"
		 "\"complete\"}}\n",
		 v->open[0]);
	memmove(v->open[0], v->open[1], --v->open_count * (size_t)ID_MAX);
	v->link.ev->on_bytes(v->link.ctx, text.data, text.len);
}

static void fuzz_event(const char *e, size_t len)
{
	unsigned n = len > 1 && e[1] >= '0' && e[1] <= '9' ? (unsigned)(e[1] - '0') : 0;
	struct fake_server *v = fuzz_server(n);
	struct fuzz_client *c = &s.clients[n % CLIENTS];

	switch (e[0]) {
	case 't':
		fake_pass(n * 500);
		break;
	case 'T':
		fake_pass(n * 100000);
		break;
	case 'a':
		fuzz_answer(v);
		break;
	case 'm':
		if (v)
			v->manual = !v->manual;
		break;
	case 'o':
		if (v && !v->eof) {
			v->eof = true;
			v->link.ev->on_eof(v->link.ctx);
		}
		break;
	case 'x':
		if (v)
			fake_end(v);
		break;
	case 'e':
		if (v)
			v->link.ev->on_stderr(v->link.ctx, e + (len < 2 ? len : 2),
					      len < 2 ? 0 : len - 2);
		break;
	case 'b':
		c->blind = !c->blind;
		break;
	case 'l':
		fuzz_leave(&c->fd);
		break;
	case 'c':
		if (c->desk)
			desk_close(c->desk, "fuzz");
		break;
	case 'k':
		fuzz_leave(&s.control);
		break;
	default:
		break;
	}
}

static void fuzz_step(char *line, size_t len)
{
	char what = len ? line[0] : '\0';

	if (what >= '0' && what < '0' + CLIENTS)
		fuzz_client_line((unsigned)(what - '0'), line + 1, len - 1);
	else if (what >= 'a' && what <= 'd')
		fuzz_server_line((unsigned)(what - 'a'), line + 1, len - 1);
	else if (what == '!' && len > 1)
		fuzz_event(line + 1, len - 1);
	else if (what == 'k') {
		line[len] = '\n';
		fuzz_write(s.control, line + 1, len);
		line[len] = '\0';
	}
	fuzz_settle();
}

static void fuzz_on_log(const char *line)
{
	(void)line;
}

static void fuzz_begin(void)
{
	static char *const nothing[] = { NULL };
	static const struct hub_spec spec = { .environ_ = nothing,
					      .quiet = true,
					      .on_log = fuzz_on_log };
	struct err e = ERR_INIT;
	int theirs;

	memset(&s, 0, sizeof(s));
	for (unsigned i = 0; i < CLIENTS; i++) {
		s.clients[i].fd = -1;
		s.clients[i].got = (struct buf)BUF_INIT(BUF_ANY_SIZE);
	}
	assert(hub_open(&spec, &s.hub, &e) == 0);
	s.control = fuzz_pair(&theirs);
	assert(hub_serve(s.hub, theirs, dup(theirs), &e) == 0);
}

static void fuzz_end(void)
{
	for (unsigned i = 0; i < CLIENTS; i++) {
		fuzz_leave(&s.clients[i].fd);
		if (s.clients[i].desk)
			desk_close(s.clients[i].desk, "the end");
	}
	fuzz_leave(&s.control);
	hub_end(s.hub, "the end");
	for (int i = 0; i < QUIET_TURNS; i++) {
		fuzz_settle();
		if (!fake_fire(INT64_MAX))
			break;
	}
	for (unsigned i = 0; i < CLIENTS; i++) {
		assert(!s.clients[i].desk);
		buf_done(&s.clients[i].got);
	}
	for (unsigned i = 0; i < s.server_count; i++)
		assert(!s.servers[i] || s.servers[i]->ended);
	hub_free(s.hub);
	for (unsigned i = 0; i < s.server_count; i++)
		assert(!s.servers[i]);
	assert(fake_timer_count() == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), *at = text, *end = text + size;

	fuzz_begin();
	while (at < end) {
		size_t len;
		char *line = fuzz_next_line(&at, end, &len);

		fuzz_step(line, len);
	}
	fuzz_end();
	free(text);
	return 0;
}
