/* wire.c - everything that the library can say to a server, in every revision of the protocol,
 * written down: one file per revision in the folder that WIRE names, for a judge
 * (tests/interop/schema.mjs). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"

static const struct {
	const char *revision, *way, *argument, *era;
} revisions[] = {
	{ "2024-11-05", "old", "2024-11-05", "legacy" },
	{ "2025-03-26", "old", "2025-03-26", "legacy" },
	{ "2025-06-18", "old", "2025-06-18", "legacy" },
	{ "2025-11-25", "good", "", "legacy" },
	{ "2026-07-28", "dual", "", "auto" },
};

#define ELICIT                                                                                     \
	"{\"method\":\"elicitation/create\",\"params\":{\"message\":\"?\",\"requestedSchema\":"    \
	"{\"type\":\"object\",\"properties\":{}}}}"
#define COMPLETE                                                                                   \
	"{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"greet\"},"                                   \
	"\"argument\":{\"name\":\"who\",\"value\":\"\"}}"

static const struct killick_request requests[] = {
	{ .op = KILLICK_TOOLS },
	{ .op = KILLICK_RESOURCES },
	{ .op = KILLICK_TEMPLATES },
	{ .op = KILLICK_PROMPTS },
	{ .op = KILLICK_CALL, .name = "echo", .args = "{\"text\":\"x\"}" },
	{ .op = KILLICK_CALL, .name = "pid" },
	{ .op = KILLICK_READ, .name = "zoo://a" },
	{ .op = KILLICK_PROMPT, .name = "greet", .args = "{\"who\":\"x\"}" },
	{ .op = KILLICK_COMPLETE, .args = COMPLETE },
	{ .op = KILLICK_PING },
	{ .op = KILLICK_LOG_LEVEL, .name = "debug" },
	{ .op = KILLICK_SUBSCRIBE, .name = "zoo://a" },
	{ .op = KILLICK_UNSUBSCRIBE, .name = "zoo://a" },
	{ .op = KILLICK_CALL, .name = "ask", .args = ELICIT },
	{ .op = KILLICK_CALL, .name = "block", .timeout_ms = 50 }, /* it is cancelled */
	{ .op = KILLICK_CALL,
	  .name = "ask",
	  .args = "{\"method\":\"no/such\"}",
	  .timeout_ms = 500 },
};

static void ignore_progress(void *ctx, const struct killick_progress *p)
{
	(void)ctx, (void)p;
}

static void say_all(struct killick *k, size_t i)
{
	char config[2048];
	struct lab_events ev;
	struct killick_session_options options = { .config = config };
	struct killick_session *s = NULL;
	struct killick_error e = { 0 };

	lab_events_init(&ev);
	ev.answer = "{\"action\":\"accept\",\"content\":{\"name\":\"me\"}}";
	options.handlers =
		lab_handlers(&ev, KILLICK_SAMPLING | KILLICK_ELICITATION | KILLICK_ROOTS);
	snprintf(config, sizeof(config),
		 "{\"mcpServers\":{\"zoo\":{\"command\":\"sh\",\"args\":[\"-c\","
		 "\"tee '%s/%s' | '%s' mcp %s %s\"],\"era\":\"%s\",\"required\":true,"
		 "\"envVars\":[\"ZOO_AUDIT\",\"ZOO_FIFO\",\"ZOO_LIFE_MS\"]}}}",
		 getenv("WIRE"), revisions[i].revision,
		 t_program("ZOO", "build/src/zoo/killick-zoo"), revisions[i].way,
		 revisions[i].argument, revisions[i].era);
	if (killick_session_open(k, &options, &s, &e))
		FAIL("%s: %s", revisions[i].revision, e.text);
	for (size_t n = 0; n < sizeof(requests) / sizeof(*requests); n++) {
		struct killick_request rq = requests[n];
		struct killick_result *r = NULL;

		rq.server = "zoo";
		rq.on_progress = ignore_progress; /* with a token */
		killick_do(s, &rq, &r);
		OK(r);
		killick_result_free(r);
	}
	lab_end(s);
}

TEST(everything_is_said, .timeout_ms = 60000)
{
	struct killick *k;

	if (!getenv("WIRE"))
		SKIP("WIRE names no folder");
	k = LAB();
	for (size_t i = 0; i < sizeof(revisions) / sizeof(*revisions); i++)
		say_all(k, i);
	lab_close(k);
}
