/* isolation.c - clients that share one server never see each other's messages: a randomised test
 * with tagged payloads.
 *
 * Each client has a tag, which is in all arguments that it sends, and the server (zoo way `tagged`)
 * puts the tag of a call into all messages that belong to the call. The rule: a line that reaches a
 * client has no tag but the client's own; and each message is one that this client can expect.
 * Clients are killed with SIGKILL and replaced by others with new tags.
 *
 * Environment: TEST_SEED replaces the fixed seed; ISOLATION_MESSAGES is the number of messages per
 * test that clients receive (10,000).
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolation.h"

#define SEED 20261117u

static struct client clients[CLIENTS];
static unsigned generation, kills;

static unsigned dice(unsigned sides)
{
	return (unsigned)(t_random() % sides);
}

static void client_begin(struct client *c)
{
	unsigned slot = (unsigned)(c - clients);
	bool modern = isolation_plan.modern && slot % 2;
	struct mate_spec spec = {
		.config = isolation_plan.config,
		.way = isolation_plan.way,
		.word = isolation_plan.word,
		.version = modern ? "2026-07-28" : "2025-11-25",
		.capabilities = isolation_plan.asks ? "{\"elicitation\":{\"form\":{},\"url\":{}},"
						      "\"sampling\":{}}"
						    : "{}",
	};

	*c = (struct client){ .level = 0 };
	snprintf(c->tag, sizeof(c->tag), "tag-%u-%u", slot, ++generation);
	mate_open(&c->m, &spec);
	mate_hello(&c->m, &spec);
}

static struct pending *client_slot(struct client *c)
{
	for (int i = 0; i < WINDOW; i++)
		if (!c->pending[i].used)
			return &c->pending[i];
	return NULL;
}

static void client_sent(struct client *c, struct pending *p, enum kind kind, long id)
{
	(void)c;
	p->used = true;
	p->kind = kind;
	p->id = id;
	p->since_ms = t_now_ms();
}

static void op_simple(struct client *c, struct pending *p, enum kind kind)
{
	char text[160], meta[64];
	unsigned n = dice(5) + 1;

	*p = (struct pending){ 0 };
	snprintf(meta, sizeof(meta), "\"progressToken\":%ld", c->m.next_id);
	switch ((int)kind) {
	case ECHO:
		snprintf(text, sizeof(text), "\"text\":\"%s. %u\"", c->tag, dice(1000));
		client_sent(c, p, kind, mate_call(&c->m, "echo", text, NULL));
		break;
	case STEPS:
		p->expected = (int)n;
		snprintf(text, sizeof(text), "\"text\":\"%s.\",\"n\":%u,\"ms\":%u", c->tag, n,
			 dice(3));
		client_sent(c, p, kind, mate_call(&c->m, "steps", text, meta));
		break;
	case LOG:
		if (c->m.modern)
			snprintf(meta, sizeof(meta),
				 "\"io.modelcontextprotocol/logLevel\":\"info\"");
		/* with a token the session is known even if other calls are in flight */
		snprintf(text, sizeof(text), "\"text\":\"%s.\",\"n\":%u,\"level\":\"%s\"%s", c->tag,
			 n, isolation_levels[dice(8)], dice(2) ? ",\"token\":true" : "");
		client_sent(c, p, kind, mate_call(&c->m, "log", text, meta));
		break;
	case SLEEP:
		snprintf(text, sizeof(text), "\"text\":\"%s.\",\"ms\":%u", c->tag, dice(20));
		client_sent(c, p, kind, mate_call(&c->m, "sleep", text, NULL));
		break;
	case READ:
		snprintf(text, sizeof(text), "\"uri\":\"zoo://%s./x\"", c->tag);
		client_sent(c, p, kind, mate_ask(&c->m, "resources/read", text, NULL));
		break;
	case PROMPT:
		snprintf(text, sizeof(text), "\"name\":\"greet\",\"arguments\":{\"who\":\"%s.\"}",
			 c->tag);
		client_sent(c, p, kind, mate_ask(&c->m, "prompts/get", text, NULL));
		break;
	case ASK:
		snprintf(text, sizeof(text),
			 "\"method\":\"%s\",\"params\":{\"message\":\"%s.\",\"maxTokens\":1,"
			 "\"messages\":[],\"requestedSchema\":{\"type\":\"object\"}}",
			 dice(2) ? "elicitation/create" : "sampling/createMessage", c->tag);
		client_sent(c, p, kind, mate_call(&c->m, "ask", text, NULL));
		break;
	case LINK:
		snprintf(text, sizeof(text), "\"text\":\"%s.%u\",\"ms\":%u", c->tag, dice(1u << 30),
			 dice(3));
		client_sent(c, p, kind, mate_call(&c->m, "link", text, NULL));
		break;
	default:
		client_sent(c, p, LIST, mate_ask(&c->m, "tools/list", NULL, NULL));
	}
}

static void op_watch(struct client *c, struct pending *p, enum kind kind)
{
	int place = (int)dice(SHARED + 1);
	char uri[96], text[192];

	*p = (struct pending){ .place = place };
	isolation_uri(c, place, uri, sizeof(uri));
	if (kind == TOUCH) {
		snprintf(text, sizeof(text), "\"what\":\"updated\",\"uri\":\"%s\",\"text\":\"%s.\"",
			 uri, c->tag);
		client_sent(c, p, kind, mate_call(&c->m, "notify", text, NULL));
		return;
	}
	if (c->watch[place] == WATCHING || c->watch[place] == UNWATCHING)
		return;
	kind = c->watch[place] == WATCHED ? UNWATCH : WATCH;
	c->watch[place] = kind == WATCH ? WATCHING : UNWATCHING;
	snprintf(text, sizeof(text), "\"uri\":\"%s\"", uri);
	client_sent(c, p, kind,
		    mate_ask(&c->m, kind == WATCH ? "resources/subscribe" : "resources/unsubscribe",
			     text, NULL));
}

static void op_level(struct client *c, struct pending *p)
{
	char text[48];

	for (int i = 0; i < WINDOW; i++)
		if (c->pending[i].used && c->pending[i].kind == LEVEL)
			return;
	c->level_asked = (int)dice(8);
	*p = (struct pending){ .place = c->level_asked };
	snprintf(text, sizeof(text), "\"level\":\"%s\"", isolation_levels[c->level_asked]);
	client_sent(c, p, LEVEL, mate_ask(&c->m, "logging/setLevel", text, NULL));
}

static void op_foreign(struct client *c, struct pending *p)
{
	static const char *const methods[] = { "tasks/get", "tasks/result", "tasks/cancel" };
	struct client *other = &clients[dice(CLIENTS)];
	struct task *t = &other->tasks[dice(TASKS)];
	char text[96];

	if (other == c || !t->id[0] || mate_is_direct())
		return;
	*p = (struct pending){ 0 };
	snprintf(text, sizeof(text), "\"taskId\":\"%s\"", t->id);
	client_sent(c, p, TASK_FOREIGN, mate_ask(&c->m, methods[dice(3)], text, NULL));
}

static void op_task(struct client *c, struct pending *p)
{
	static const struct {
		enum kind kind;
		const char *method;
	} ways[] = { { TASK_GET, "tasks/get" },
		     { TASK_RESULT, "tasks/result" },
		     { TASK_CANCEL, "tasks/cancel" } };
	int place = (int)dice(TASKS);
	struct task *t = &c->tasks[place];
	unsigned w = dice(3);
	char text[160];

	if (t->busy)
		return;
	*p = (struct pending){ .place = place };
	t->busy = true;
	if (!t->id[0]) {
		t->asks = isolation_plan.asks && dice(2);
		snprintf(text, sizeof(text),
			 "\"name\":\"work\",\"arguments\":{\"text\":\"%s.\",\"ms\":%u%s},\"task\":{"
			 "}",
			 c->tag, dice(5), t->asks ? ",\"ask\":true" : "");
		client_sent(c, p, WORK, mate_ask(&c->m, "tools/call", text, NULL));
		return;
	}
	snprintf(text, sizeof(text), "\"taskId\":\"%s\"", t->id);
	client_sent(c, p, ways[w].kind, mate_ask(&c->m, ways[w].method, text, NULL));
}

static void op_cancel(struct client *c)
{
	struct pending *p = &c->pending[dice(WINDOW)];

	if (isolation_calm || !p->used || (p->kind != SLEEP && p->kind != STEPS && p->kind != ECHO))
		return;
	mate_say(&c->m,
		 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
		 "\"params\":{\"requestId\":%ld}}",
		 p->id);
	c->cancelled[c->cancels++ % CANCELLED] = p->id;
	p->used = false;
}

static void client_act(struct client *c)
{
	struct pending *p = client_slot(c);
	unsigned n = dice(100);

	if (!p)
		return;
	if (n < 25)
		op_simple(c, p, ECHO);
	else if (n < 40)
		op_simple(c, p, STEPS);
	else if (n < 50)
		op_simple(c, p, LOG);
	else if (n < 55)
		op_simple(c, p, SLEEP);
	else if (n < 58)
		op_simple(c, p, READ);
	else if (n < 61)
		op_simple(c, p, PROMPT);
	else if (n < 62)
		op_simple(c, p, LIST);
	else if (n < 65)
		op_cancel(c);
	else if (n < 73 && isolation_plan.asks && !c->m.modern)
		op_simple(c, p, dice(4) ? ASK : LINK);
	else if (c->m.modern)
		op_simple(c, p, dice(2) ? STEPS : LOG);
	else if (n < 80)
		op_watch(c, p, TOUCH);
	else if (n < 85)
		op_watch(c, p, WATCH);
	else if (n < 87)
		op_level(c, p);
	else if (n < 90)
		op_foreign(c, p);
	else if (n < 91) {
		*p = (struct pending){ 0 };
		client_sent(c, p, TASK_LIST, mate_ask(&c->m, "tasks/list", NULL, NULL));
	} else {
		op_task(c, p);
	}
}

static void note_pending(const struct client *c)
{
	for (int i = 0; i < WINDOW; i++)
		if (c->pending[i].used)
			t_note("%s waits for '%s', request %ld", c->tag,
			       isolation_kinds[c->pending[i].kind], c->pending[i].id);
}

static void check_deadlines(void)
{
	double old = t_now_ms() - MATE_MS;

	for (struct client *c = clients; c < clients + CLIENTS; c++)
		for (int i = 0; i < WINDOW; i++)
			if (c->pending[i].used && c->pending[i].since_ms < old) {
				for (int k = 0; k < CLIENTS; k++)
					note_pending(&clients[k]);
				FAIL("%s: '%s' (request %ld) was not answered in %d ms", c->tag,
				     isolation_kinds[c->pending[i].kind], c->pending[i].id,
				     MATE_MS);
			}
}

static void clients_read(void)
{
	struct pollfd fds[CLIENTS];
	struct span line;

	for (int i = 0; i < CLIENTS; i++)
		fds[i] = (struct pollfd){ .fd = clients[i].m.out, .events = POLLIN };
	if (poll(fds, CLIENTS, 1000) == 0)
		check_deadlines();
	for (int i = 0; i < CLIENTS; i++) {
		if (fds[i].revents && !mate_read(&clients[i].m))
			FAIL("%s: the connection has ended", clients[i].tag);
		while (mate_line(&clients[i].m, &line))
			isolation_check(&clients[i], line);
	}
}

static bool clients_wait(void)
{
	for (struct client *c = clients; c < clients + CLIENTS; c++)
		for (int i = 0; i < WINDOW; i++)
			if (c->pending[i].used)
				return true;
	return false;
}

static void client_replace(struct client *c)
{
	if (dice(4))
		mate_kill(&c->m);
	else
		mate_close(&c->m);
	kills++;
	client_begin(c);
}

/* One question while no other call is in flight: the hub learns that the server asks, and gives the
 * server one call at a time from then on. Otherwise the first question would be cancelled. */
static void ask_alone(struct client *c)
{
	op_simple(c, &c->pending[0], ASK);
	while (c->pending[0].used)
		clients_read();
}

/* A round: every client has something to do; some are replaced. */
static void soak(size_t kill_every)
{
	size_t next_kill = kill_every;

	for (struct client *c = clients; c < clients + CLIENTS; c++)
		client_begin(c);
	isolation_calm = isolation_plan.asks;
	if (isolation_plan.asks)
		ask_alone(&clients[0]);
	while (isolation_seen.received < isolation_plan.messages) {
		for (struct client *c = clients; c < clients + CLIENTS; c++)
			for (unsigned n = dice(WINDOW + 1); n > 0; n--)
				client_act(c);
		clients_read();
		isolation_calm = isolation_plan.asks &&
				 isolation_seen.received < isolation_plan.messages / 2;
		if (!isolation_calm && isolation_seen.received >= next_kill) {
			next_kill += kill_every / 2 + dice((unsigned)kill_every);
			client_replace(&clients[dice(CLIENTS)]);
		}
	}
	while (clients_wait())
		clients_read();
	t_note("%zu messages, %u clients replaced: %zu progress, %zu logs, %zu asks, %zu updates, "
	       "%zu task states",
	       isolation_seen.received, kills, isolation_seen.progress, isolation_seen.logs,
	       isolation_seen.asks, isolation_seen.updates, isolation_seen.status);
	for (int i = 0; i < KINDS; i++)
		t_note("  %s: %zu", isolation_kinds[i], isolation_seen.answers[i]);
}

static void clients_end(void)
{
	for (struct client *c = clients; c < clients + CLIENTS; c++)
		mate_close(&c->m);
}

static void begin_random(struct isolation_plan p)
{
	const char *seed = getenv("TEST_SEED"), *messages = getenv("ISOLATION_MESSAGES");

	t_seed = seed && *seed ? strtoull(seed, NULL, 0) : SEED;
	t_note("TEST_SEED=%llu", (unsigned long long)t_seed);
	isolation_plan = p;
	isolation_plan.messages = messages && *messages ? strtoul(messages, NULL, 10) : 10000;
	mate_hub_start();
	isolation_plan.config = mate_config(
		"config.json", (const struct mate_server[]){ { "one", p.way, p.word,
							       "\"share\":\"identical\","
							       "\"maxInstances\":1" },
							     { NULL, NULL, NULL, NULL } });
}

#define LONG_MS (3600 * 1000)

static void must_have_seen(bool asks)
{
	for (int i = 0; i < ASK; i++)
		if (i != CHANGED && (i != TASK_FOREIGN || !mate_is_direct()))
			OK(isolation_seen.answers[i] > 0);
	OK(isolation_seen.progress > 0 && isolation_seen.logs > 0 && isolation_seen.updates > 0 &&
	   isolation_seen.status > 0);
	OK(!asks || isolation_seen.asks > 0);
	OK(kills > 0);
}

/* One process served all clients, and was initialised once. */
static void must_be_one_server(void)
{
	if (mate_is_direct())
		return;
	EQ(mate_servers(), 1);
	EQ(mate_count(&clients[0].m, "initialize"), 1);
	EQ(mate_count(&clients[0].m, "notifications/initialized"), 1);
}

TEST(clients_of_one_server_see_only_their_own_messages, .timeout_ms = LONG_MS)
{
	begin_random((struct isolation_plan){ 0 });
	soak(500);
	must_have_seen(false);
	must_be_one_server();
	clients_end();
	mate_hub_stop();
}

TEST(questions_of_one_server_reach_only_the_client_that_called, .timeout_ms = LONG_MS)
{
	begin_random((struct isolation_plan){ .asks = true });
	soak(500);
	must_have_seen(true);
	must_be_one_server();
	clients_end();
	mate_hub_stop();
}

TEST(clients_of_both_eras_see_only_their_own_messages, .timeout_ms = LONG_MS)
{
	if (mate_is_direct())
		SKIP("the server has one era");
	begin_random((struct isolation_plan){ .modern = true });
	soak(500);
	must_be_one_server();
	clients_end();
	mate_hub_stop();
}

/* Run the test against servers that put a wrong tag into messages with this word. True: the test
 * fails because of a wrong tag. */
static bool lies_are_noticed(const char *word)
{
	char text[4096] = "";
	int said[2], status;
	pid_t pid;

	OK(!pipe2(said, O_CLOEXEC));
	pid = fork();
	OK(pid >= 0);
	if (pid == 0) {
		dup2(said[1], 1);
		begin_random(
			(struct isolation_plan){ .way = "taggedlies", .word = word, .asks = true });
		isolation_plan.messages = 1000000;
		soak(1 << 20);
		_exit(0);
	}
	close(said[1]);
	status = t_wait_child(pid, MATE_MS);
	OK(read(said[0], text, sizeof(text) - 1) >= 0);
	close(said[0]);
	mate_reap();
	return WIFEXITED(status) && WEXITSTATUS(status) == 1 && strstr(text, "tug-");
}

TEST(a_wrong_tag_is_noticed, .timeout_ms = 30000)
{
	static const char *const words[] = {
		"\"content\"",        "notifications/progress", "notifications/message",
		"elicitation/create", "sampling/createMessage", "tasks/status",
		"\"tasks\":[",        "resources/updated",      "elicitation/complete"
	};

	setenv("MATE_DIRECT", "1", 1);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!lies_are_noticed(words[i]))
			FAIL("wrong tags in messages with '%s' were not noticed", words[i]);
}
