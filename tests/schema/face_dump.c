/* face_dump.c - every kind of line that the face writes, in every revision: REVISION TAB KIND TAB
 * LINE.
 *
 * KIND is "-", or the definition of the schema that a result must match. check.mjs validates.
 */
#include "unit/face_world.h"

static struct world w;
static const char *revision;
static bool modern;
static unsigned next_id = 100;

#define LEGACY_META "\"_meta\":{\"progressToken\":\"p\"}"
#define MODERN_META                                                                                \
	"\"_meta\":{\"" NS "protocolVersion\":\"2026-07-28\",\"progressToken\":\"p\",\"" NS        \
	"logLevel\":\"debug\",\"" NS                                                               \
	"clientCapabilities\":{\"elicitation\":{\"url\":{}},\"sampling\":{},\"roots\":{}}}"
#define ARGUMENTS "\"name\":\"t\",\"arguments\":{\"a\":1}"

static void dump(const char *kind)
{
	while (world_got(&w)[0])
		printf("%s\t%s\t%s\n", revision, kind, w.line);
}

/* The client writes a request. Its number as the owner counts. */
static unsigned request(const char *method, const char *params)
{
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"%s\",\"params\":{%s%s%s}}",
		  next_id++, method, params, *params ? "," : "",
		  modern ? MODERN_META : LEGACY_META);
	return w.count - 1;
}

static void answer(unsigned n, const char *kind, const char *result)
{
	char line[600];

	snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":5,%s}", result);
	world_answer_line(&w, n, line, ERA_LEGACY);
	dump(kind);
}

/* What both eras have. */
static void dump_requests(void)
{
	unsigned n;

	answer(request("tools/list", ""), "ListToolsResult",
	       "\"result\":{\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}}]}");
	answer(request("resources/list", ""), "ListResourcesResult",
	       "\"result\":{\"resources\":[{\"name\":\"r\",\"uri\":\"a:b\"}],\"_meta\":{\"k\":1}}");
	answer(request("resources/templates/list", ""), "ListResourceTemplatesResult",
	       "\"result\":{\"resourceTemplates\":[],\"_meta\":{}}");
	answer(request("prompts/list", ""), "ListPromptsResult", "\"result\":{\"prompts\":[]}");
	answer(request("prompts/get", "\"name\":\"p\""), "GetPromptResult",
	       "\"result\":{\"messages\":[]}");
	answer(request("resources/read", "\"uri\":\"a:b\""), "ReadResourceResult",
	       "\"result\":{\"contents\":[]}");
	answer(request("resources/read", "\"uri\":\"a:b\""), "-",
	       "\"error\":{\"code\":-32002,\"message\":\"not found\"}");
	answer(request("resources/read", "\"uri\":\"a:b\""), "-", "\"error\":\"odd\"");
	answer(request("completion/complete", "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"},"
					      "\"argument\":{\"name\":\"a\",\"value\":\"b\"}"),
	       "CompleteResult", "\"result\":{\"completion\":{\"values\":[]}}");
	n = request("tools/call", ARGUMENTS);
	face_progress(world_request(&w, n), world_json("{\"progress\":1,\"progressToken\":5}"));
	face_note(w.face, world_request(&w, n), KILLICK_EVENT_LOG,
		  world_json("{\"level\":\"info\",\"data\":1}"));
	dump("-");
	answer(n, "CallToolResult",
	       "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}");
	request("tools/call", "");
	face_answer_fail(world_take(&w, request("tools/call", ARGUMENTS)), -32603, "x");
	dump("-");
}

static void dump_changes(void)
{
	face_note(w.face, NULL, KILLICK_EVENT_TOOLS, JSON_NONE);
	face_note(w.face, NULL, KILLICK_EVENT_RESOURCES, JSON_NONE);
	face_note(w.face, NULL, KILLICK_EVENT_PROMPTS, JSON_NONE);
	face_note(w.face, NULL, KILLICK_EVENT_UPDATED, world_json("{\"uri\":\"a:b\"}"));
	dump("-");
}

static uint64_t dump_ask(struct face_request *rq, const char *method, const char *params)
{
	return face_ask(w.face, rq, method, world_json(params), world_on_answer, &w);
}

#define SAMPLING                                                                                   \
	"{\"maxTokens\":1,\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\","        \
	"\"text\":\"x\"}}]}"
#define FORM "{\"message\":\"m\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}"

static void dump_asks(struct face_request *rq)
{
	dump_ask(rq, "sampling/createMessage", SAMPLING);
	dump_ask(rq, "roots/list", "{}");
	if (strcmp(revision, "2025-06-18") >= 0)
		dump_ask(rq, "elicitation/create", FORM);
	dump(modern ? "InputRequiredResult" : "-");
}

static void dump_legacy(void)
{
	world_open(&w);
	world_initialize(&w, revision, "{\"elicitation\":{},\"sampling\":{},\"roots\":{}}");
	dump("InitializeResult");
	request("ping", "");
	dump("EmptyResult");
	dump_requests();
	answer(request("logging/setLevel", "\"level\":\"info\""), "EmptyResult", "\"result\":{}");
	answer(request("resources/subscribe", "\"uri\":\"a:b\""), "EmptyResult", "\"result\":null");
	dump_changes();
	dump_asks(NULL);
	face_ask_drop(w.face, 1);
	world_initialize(&w, revision, "{}");
	request("server/discover", "");
	dump("-");
	world_close(&w);
}

static void dump_modern(void)
{
	modern = true;
	world_open(&w);
	request("server/discover", "");
	dump("DiscoverResult");
	dump_requests();
	request("subscriptions/listen",
		"\"notifications\":{\"toolsListChanged\":true,\"promptsListChanged\":true,"
		"\"resourcesListChanged\":true,\"resourceSubscriptions\":[\"a:b\"]}");
	dump_changes();
	dump_asks(world_request(&w, request("tools/call", ARGUMENTS)));
	answer(request("tools/call", ARGUMENTS), "InputRequiredResult",
	       "\"error\":{\"code\":-32042,\"message\":\"m\",\"data\":{\"elicitations\":[{\"mode\":"
	       "\"url\",\"elicitationId\":\"e\",\"url\":\"https://x\",\"message\":\"m\"}]}}");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{" MODERN
		      "," ARGUMENTS "}}");
	answer(w.count - 1, "-", "\"error\":{\"code\":-32042,\"message\":\"m\"}");
	world_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
		      "call\",\"params\":{\"_meta\":{\"" NS "protocolVersion\":\"2030-01-01\"}}}");
	world_say(&w, "garbage");
	request("ping", "");
	dump("-");
	face_close(w.face);
	dump("SubscriptionsListenResult");
	world_close(&w);
}

int main(void)
{
	static const char *const revisions[] = { "2024-11-05", "2025-03-26", "2025-06-18",
						 "2025-11-25" };

	for (size_t i = 0; i < sizeof(revisions) / sizeof(revisions[0]); i++) {
		revision = revisions[i];
		dump_legacy();
	}
	revision = "2026-07-28";
	dump_modern();
	return 0;
}
