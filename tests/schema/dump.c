/* dump.c - every kind of line that the client writes, in every revision: REVISION TAB KIND TAB
 * LINE.
 *
 * KIND is "-", or the definition of the schema that a result must match. check.mjs validates.
 */
#include "unit/fake.h"

#define ANSWERS_ALL 7
#define NS          "io.modelcontextprotocol/"

static const char *revision;
static unsigned next_id; /* of the request that will be written next */

static void dump(struct world *w, const char *kind)
{
	while (world_sent(w)[0]) {
		const char *id = strstr(w->line, "\"id\":");

		printf("%s\t%s\t%s\n", revision, kind, w->line);
		if (id && strstr(w->line, "\"method\":"))
			next_id = (unsigned)strtoul(id + 5, NULL, 10) + 1;
	}
}

static unsigned last_id(void)
{
	return next_id - 1;
}

#define MESSAGE                                                                                    \
	"{\"role\":\"assistant\",\"model\":\"m\",\"stopReason\":\"endTurn\","                      \
	"\"content\":{\"type\":\"text\",\"text\":\"hello\"}}"
#define ROOTS     "{\"roots\":[{\"uri\":\"file:///tmp\",\"name\":\"tmp\"}]}"
#define ELICITED  "{\"action\":\"accept\",\n\"content\":{\"name\":\"x\",\"age\":7}}"
#define ARGUMENTS "{\"path\":\"/tmp\",\n\t\"deep\":[1,2.5e3,null,{\"a\":\"\\u00e4\"}]}"

static void call(struct world *w, enum killick_op op, const char *name, const char *args,
		 bool progress)
{
	static struct done done;
	struct client_call like = {
		.op = op,
		.name = name,
		.args = { args, args ? strlen(args) : 0 },
		.timeout_ms = 1000,
		.on_progress = progress ? world_progress : NULL,
	};

	world_begin(w, &done, &like);
	fake_pass(0);
	dump(w, "-");
	done_drop(&done);
}

static void answer(struct world *w)
{
	world_say(w, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":{\"resultType\":\"complete\"}}",
		  last_id());
	dump(w, "-");
}

static void every_request(struct world *w)
{
	static const char complete[] = "{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"},"
				       "\"argument\":{\"name\":\"a\",\"value\":\"v\"}}";

	call(w, KILLICK_CALL, "t\"\x01", ARGUMENTS, true);
	answer(w);
	call(w, KILLICK_CALL, "t", NULL, false);
	answer(w);
	call(w, KILLICK_READ, "file:///tmp/a", NULL, true);
	answer(w);
	call(w, KILLICK_PROMPT, "p", "{\"a\":\"b\"}", true);
	answer(w);
	call(w, KILLICK_PROMPT, "p", NULL, false);
	answer(w);
	call(w, KILLICK_COMPLETE, NULL, complete, true);
	answer(w);
	call(w, KILLICK_PING, NULL, NULL, false);
	answer(w);
	call(w, KILLICK_LOG_LEVEL, "debug", NULL, false);
	answer(w);
	call(w, KILLICK_CALL, "with-a-level", NULL, true);
	fake_pass(2000); /* cancelled */
	dump(w, "-");
	for (enum killick_op op = KILLICK_TOOLS; op <= KILLICK_PROMPTS; op++) {
		static const char *const keys[] = { "tools", "resources", "resourceTemplates",
						    "prompts" };

		call(w, op, NULL, NULL, op & 1);
		world_say(w,
			  "{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":{\"%s\":[],\"nextCursor\":"
			  "\"n\\u0041\"}}",
			  last_id(), keys[op]);
		dump(w, "-");
		world_say(w, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":{\"%s\":[]}}", last_id(),
			  keys[op]);
	}
}

static void ask(struct world *w, const char *method, const char *result, const char *kind)
{
	world_say(w, "{\"jsonrpc\":\"2.0\",\"id\":\"s%u\",\"method\":\"%s\",\"params\":{}}",
		  w->ask_count, method);
	if (result)
		client_answer(w->client, w->ask_count, result, strlen(result));
	else
		client_decline(w->client, w->ask_count, "the user \"declined\"");
	dump(w, kind);
}

static void legacy(const char *version)
{
	bool elicits = strcmp(version, "2025-06-18") >= 0;
	struct world w;

	revision = version;
	world_open(&w, &(struct client_spec){
			       .era = ERA_LEGACY, .answers = ANSWERS_ALL, .name = "killick" });
	dump(&w, "-");
	world_greet(&w, version);
	dump(&w, "-");
	every_request(&w);
	call(&w, KILLICK_SUBSCRIBE, "file:///tmp/a", NULL, true);
	answer(&w);
	call(&w, KILLICK_UNSUBSCRIBE, "file:///tmp/a", NULL, false);
	answer(&w);
	ask(&w, "sampling/createMessage", MESSAGE, "CreateMessageResult");
	ask(&w, "sampling/createMessage", NULL, "-");
	ask(&w, "roots/list", ROOTS, "ListRootsResult");
	ask(&w, "roots/list", NULL, "-");
	if (elicits) {
		ask(&w, "elicitation/create", ELICITED, "ElicitResult");
		ask(&w, "elicitation/create", NULL, "ElicitResult");
	}
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}");
	dump(&w, "EmptyResult");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\"}");
	dump(&w, "-");
	world_close(&w);
}

static void modern(void)
{
	struct world w;

	revision = "2026-07-28";
	world_open(&w, &(struct client_spec){
			       .era = ERA_MODERN, .answers = ANSWERS_ALL, .name = "killick" });
	dump(&w, "-");
	world_discover(&w, 1);
	fake_pass(0);
	dump(&w, "-");
	every_request(&w);
	call(&w, KILLICK_SUBSCRIBE, "file:///tmp/a", NULL, true);
	world_say(&w,
		  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/"
		  "acknowledged\",\"params\":{"
		  "\"_meta\":{\"" NS
		  "subscriptionId\":%u},\"notifications\":{\"resourceSubscriptions\":"
		  "[\"file:///tmp/a\"]}}}",
		  last_id());
	dump(&w, "-");
	call(&w, KILLICK_UNSUBSCRIBE, "file:///tmp/a", NULL, false);
	call(&w, KILLICK_CALL, "asks", ARGUMENTS, true);
	world_say(&w,
		  "{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":{\"resultType\":\"input_required\","
		  "\"requestState\":\"x\","
		  "\"inputRequests\":{\"a\":{\"method\":\"sampling/"
		  "createMessage\"},\"b\":{\"method\":\"roots/list\"},"
		  "\"c\":{\"method\":\"elicitation/create\"},\"d\":{\"method\":\"elicitation/"
		  "create\"}}}}",
		  last_id());
	client_answer(w.client, w.asks[0].number, MESSAGE, strlen(MESSAGE));
	client_answer(w.client, w.asks[1].number, ROOTS, strlen(ROOTS));
	client_answer(w.client, w.asks[2].number, ELICITED, strlen(ELICITED));
	client_decline(w.client, w.asks[3].number, "no");
	dump(&w, "-");
	world_close(&w);
}

int main(void)
{
	legacy("2024-11-05");
	legacy("2025-03-26");
	legacy("2025-06-18");
	legacy("2025-11-25");
	modern();
	return 0;
}
