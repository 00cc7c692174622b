/* desk_chaos.c - sessions in one process that do everything at once, at random: requests of all
 * kinds, cancellations, refreshes, crashes, clients that leave in the middle. Each session must end
 * with a proof, and nothing may be left. --seed repeats a run. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/loop.h"
#include "guest.h"
#include "session/runtime.h"

#define GUESTS 6
#define STEPS  1500

static const struct lab_server one[] = { { "a" }, { 0 } };
static const struct lab_server modern[] = { { "a", "modern", .more = "\"era\":\"modern\"" },
					    { 0 } };
static const struct lab_server shared[] = { { "a", .more = "\"share\":\"identical\"" }, { 0 } };
static const struct lab_server several[] = {
	{ "a", .more = "\"share\":\"identical\"" },      { "b", "tasks" },   { "c", "tasks" },
	{ "d", "modern", .more = "\"era\":\"modern\"" }, { "e", "diesnow" }, { 0 }
};
static const struct lab_server others[] = { { "a", "uris", "odd://" },
					    { "b", "tasks" },
					    { "f", .more = "\"share\":\"identical\"" },
					    { 0 } };
static const struct lab_server *const configs[] = { one, modern, shared, several, others };
#define CONFIGS (sizeof(configs) / sizeof(configs[0]))

static unsigned pick(unsigned n)
{
	return (unsigned)(t_random() % n);
}

/* Read what the desk wrote, and answer its questions now and then. */
static void drain(struct guest *g)
{
	static char bytes[1 << 16];
	ssize_t n;

	while (g->fd >= 0 && (n = recv(g->fd, bytes, sizeof(bytes) - 1, MSG_DONTWAIT)) > 0) {
		char *ask;

		bytes[n] = '\0';
		ask = strstr(bytes, "\"method\":\"elicitation/create\"");
		if (ask && pick(2)) {
			char id[32] = "1";
			const char *at = strstr(bytes, "\"id\":");

			if (at)
				sscanf(at + 5, "%31[0-9]", id);
			guest_send(g,
				   "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"action\":"
				   "\"decline\"}}",
				   id);
		}
	}
}

static void call_something(struct guest *g)
{
	static const char *const tools[] = {
		"\"echo\",\"arguments\":{\"text\":\"x\"}",
		"\"block\"",
		"\"sleep\",\"arguments\":{\"ms\":5}",
		"\"progress\",\"arguments\":{\"n\":3}",
		"\"log\",\"arguments\":{\"n\":3}",
		"\"notify\",\"arguments\":{\"what\":\"tools\"}",
		"\"notify\",\"arguments\":{\"what\":\"resources\"}",
		"\"ask\",\"arguments\":{\"method\":\"elicitation/"
		"create\",\"params\":{\"message\":\"m\","
		"\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}}",
		"\"a__echo\",\"arguments\":{\"text\":\"x\"}",
		"\"a__block\"",
		"\"b__work\",\"arguments\":{\"text\":\"x\"},\"task\":{}",
		"\"c__work\",\"arguments\":{\"text\":\"x\"},\"task\":{}",
		"\"d__log\"",
		"\"f__sleep\",\"arguments\":{\"ms\":5}",
		"\"nothing\"",
		"\"crash\"",
		"\"a__crash\"",
	};
	unsigned rare = pick(20) ? 2 : 0; /* crashes */
	char params[512];

	snprintf(params, sizeof(params), "\"name\":%s",
		 tools[pick((unsigned)(sizeof(tools) / sizeof(tools[0])) - rare)]);
	guest_ask(g, "tools/call", params);
}

static void ask_something(struct guest *g)
{
	static const struct {
		const char *method, *params;
	} all[] = {
		{ "tools/list", "" },
		{ "prompts/list", "" },
		{ "resources/list", "" },
		{ "resources/templates/list", "" },
		{ "resources/read", "\"uri\":\"zoo://a\"" },
		{ "resources/read", "\"uri\":\"odd://q/1\"" },
		{ "resources/read", "\"uri\":\"none://\"" },
		{ "resources/subscribe", "\"uri\":\"zoo://a\"" },
		{ "resources/unsubscribe", "\"uri\":\"zoo://a\"" },
		{ "prompts/get", "\"name\":\"a__greet\"" },
		{ "prompts/get", "\"name\":\"greet\"" },
		{ "completion/complete",
		  "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"a__greet\"}" },
		{ "completion/complete",
		  "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"zoo://b\"}" },
		{ "logging/setLevel", "\"level\":\"debug\"" },
		{ "logging/setLevel", "\"level\":\"error\"" },
		{ "tasks/list", "" },
		{ "tasks/get", "\"taskId\":\"k2.t11\"" },
		{ "tasks/result", "\"taskId\":\"t11\"" },
		{ "subscriptions/listen",
		  "\"notifications\":{\"toolsListChanged\":true,\"resourceSubscriptions\":[\"zoo://"
		  "a\"]}" },
		{ "x/y", "" },
	};
	unsigned i = pick(sizeof(all) / sizeof(all[0]));

	guest_ask(g, all[i].method, all[i].params);
}

/* --- the control API of the same desk --- */

static void on_answered(void *ctx, struct json result, struct json error)
{
	OK(!result.at != !error.at);
	lab_add(ctx);
}

static void on_refreshed(void *ctx, struct killick_report *report, const struct killick_error *e)
{
	OK(!report || !e->code);
	OK(!report || report->proved);
	killick_report_free(report);
	lab_add(ctx);
}

struct counted {
	int asked; /* requests and refreshes of the control API */
	struct lab_count answered;
};

static void control_something(struct guest *g, struct counted *c)
{
	static const char params[] = "{\"name\":\"a__echo\",\"arguments\":{\"text\":1}}";
	struct config config;

	if (pick(3)) {
		loop_lock(g->k->loop);
		desk_request(g->desk, pick(2) ? "a" : NULL, pick(2) ? "tools/call" : "tools/list",
			     (struct json){ params, sizeof(params) - 1 }, 0, on_answered,
			     &c->answered);
	} else {
		guest_config(configs[pick(CONFIGS)], &config);
		loop_lock(g->k->loop);
		desk_refresh(g->desk, &config, on_refreshed, &c->answered);
		config_done(&config);
	}
	c->asked++;
	loop_attend(g->k->loop);
	loop_unlock(g->k->loop);
}

/* --- */

static void enter(struct guest *g, struct killick *k)
{
	guest_open(g, k, configs[pick(CONFIGS)]);
	g->careless = true;
	g->modern = pick(2);
	if (!g->modern)
		guest_ask(g, "initialize",
			  "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"elicitation\":{},"
			  "\"roots\":{}},\"clientInfo\":{\"name\":\"x\",\"version\":\"1\"}");
	else
		g->meta = pick(2) ? "\"io.modelcontextprotocol/logLevel\":\"debug\"" : NULL;
}

/* Leave: close the socket, or let the desk close. */
static void leave(struct guest *g, struct counted *c)
{
	if (pick(2)) {
		loop_lock(g->k->loop);
		desk_close(g->desk, "at random");
		loop_attend(g->k->loop);
		loop_unlock(g->k->loop);
	} else {
		close(g->fd);
		g->fd = -1;
	}
	lab_await(&g->closed, 1);
	guest_bury(g);
	lab_await(&c->answered, c->asked);
}

static void step(struct guest *g, struct counted *c, struct killick *k)
{
	unsigned what = pick(100);

	drain(g);
	if (lab_value(&g->closed) || what < 2) {
		leave(g, c);
		enter(g, k);
	} else if (what < 45) {
		call_something(g);
	} else if (what < 85) {
		ask_something(g);
	} else if (what < 93) {
		guest_send(g,
			   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
			   "{\"requestId\":%ld}}",
			   g->last_id - (long)pick(8));
	} else if (what < 96) {
		guest_send(g, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/"
			      "list_changed\"}");
	} else {
		control_something(g, c);
	}
}

TEST(sessions_that_do_everything_at_random_end_with_a_proof, .timeout_ms = 90000 * T_PATIENCE)
{
	struct killick *k = LAB();
	struct guest g[GUESTS];
	struct counted c[GUESTS];

	for (int i = 0; i < GUESTS; i++) {
		c[i] = (struct counted){ .answered = LAB_COUNT_INIT };
		enter(&g[i], k);
	}
	for (int n = 0; n < STEPS; n++) {
		unsigned i = pick(GUESTS);

		step(&g[i], &c[i], k);
		if (!pick(4))
			poll(NULL, 0, (int)pick(4)); /* let some of it happen */
	}
	for (int i = 0; i < GUESTS; i++)
		leave(&g[i], &c[i]);
	EQ(lab_living(), 0);
	lab_close(k);
}
