/* protocol_calls.c - ways that are about one call: its answer is wrong, or something else comes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol_ways.h"
#include "fixtures.h"

#define RESULT "{\"content\":[{\"type\":\"text\",\"text\":\"stray\"}]}"

static void answer_id(const char *id)
{
	protocol_say("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":" RESULT "}", id);
}

bool before_wrongid(const struct request *rq)
{
	if (!request_calls(rq, "echo"))
		return false;
	answer_id("987654321");
	return true;
}

bool before_strangeids(const struct request *rq)
{
	static const char *const ids[] = {
		"\"a\"",
		"null",
		"9007199254740993",
		"18446744073709551617",
		"1.5",
		"-1",
		"1e400",
		"true",
		"[]",
		"{}",
		"\"\"",
	};

	for (size_t i = 0; request_calls(rq, "echo") && i < sizeof(ids) / sizeof(*ids); i++)
		answer_id(ids[i]);
	return false;
}

bool before_stringid(const struct request *rq)
{
	char id[64];

	if (!request_calls(rq, "echo"))
		return false;
	snprintf(id, sizeof(id), "\"%.*s\"", (int)rq->id.len, rq->id.at);
	answer_id(id);
	return true;
}

bool before_nullid(const struct request *rq)
{
	if (!request_calls(rq, "echo"))
		return false;
	protocol_say("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,"
		     "\"message\":\"cannot read this\"}}");
	return true;
}

bool before_noresult(const struct request *rq)
{
	if (!request_calls(rq, "echo"))
		return false;
	protocol_say("{\"jsonrpc\":\"2.0\",\"id\":%.*s}", (int)rq->id.len, rq->id.at);
	return true;
}

bool before_both(const struct request *rq)
{
	if (!request_calls(rq, "echo"))
		return false;
	protocol_say("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":" RESULT
		     ",\"error\":{\"code\":1,\"message\":\"or not\"}}",
		     (int)rq->id.len, rq->id.at);
	return true;
}

bool before_badshape(const struct request *rq)
{
	const char *result = request_calls(rq, "echo")               ? "\"a string\""
			     : request_is(rq, "tools/list")          ? "{\"tools\":7}"
			     : request_is(rq, "resources/list")      ? "[]"
			     : request_is(rq, "prompts/list")        ? "{\"prompts\":[1,null]}"
			     : request_is(rq, "completion/complete") ? "null"
								     : NULL;

	if (!result)
		return false;
	protocol_say("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":%s}", (int)rq->id.len, rq->id.at,
		     result);
	return true;
}

bool before_notjson(const struct request *rq)
{
	if (!request_calls(rq, "echo"))
		return false;
	protocol_say("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{'content':[]}}", (int)rq->id.len,
		     rq->id.at);
	return true;
}

static bool answer_page(const struct request *rq, const char *cursor)
{
	if (!request_is(rq, "tools/list"))
		return false;
	protocol_say("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"tools\":[{\"name\":\"pid\","
		     "\"inputSchema\":{\"type\":\"object\"}}],\"nextCursor\":\"%s\"}}",
		     (int)rq->id.len, rq->id.at, cursor);
	return true;
}

bool before_samecursor(const struct request *rq)
{
	return answer_page(rq, "again");
}

bool before_pages(const struct request *rq)
{
	static unsigned page;
	char cursor[16];

	snprintf(cursor, sizeof(cursor), "%u", ++page);
	return answer_page(rq, cursor);
}

bool before_shifting(const struct request *rq)
{
	if (request_calls(rq, "echo")) {
		protocol_say("{\"jsonrpc\":\"2.0\","
			     "\"method\":\"notifications/tools/list_changed\"}");
		return false;
	}
	if (!request_is(rq, "tools/list"))
		return false;
	protocol_lists++;
	protocol_say("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"tools\":["
		     "{\"name\":\"tool_%u\",\"inputSchema\":{\"type\":\"object\"}}]}}",
		     (int)rq->id.len, rq->id.at, protocol_lists);
	return true;
}

bool before_cancels(const struct request *rq)
{
	static const char *const ids[] = { "123456", "\"abc\"", "null", "1", "{}" };

	if (!request_calls(rq, "echo"))
		return false;
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		protocol_say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
			     "\"params\":{\"requestId\":%s}}",
			     ids[i]);
	protocol_say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
		     "\"params\":{\"requestId\":%.*s}}",
		     (int)rq->id.len, rq->id.at);
	return false;
}

void after_lateprogress(const struct request *rq)
{
	struct span token = scan_member(rq->meta, "progressToken");

	if (token.len > 0)
		protocol_say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
			     "\"params\":{\"progressToken\":%.*s,\"progress\":1}}",
			     (int)token.len, token.at);
}

static int samples_left = 1000;

static void ask_sample(const struct request *rq)
{
	static const char params[] = "{\"messages\":[],\"maxTokens\":1}";

	samples_left--;
	tools_ask(rq, "sampling/createMessage", (struct span){ params, sizeof(params) - 1 });
}

static bool sample_again(struct open *o)
{
	if (samples_left <= 0)
		return false;
	ask_sample(&o->rq);
	protocol_close(o);
	return true;
}

bool before_samples(const struct request *rq)
{
	if (!request_calls(rq, "echo"))
		return false;
	tools_on_answer = sample_again;
	ask_sample(rq);
	return true;
}

bool before_askflood(const struct request *rq)
{
	static char text[1 << 20];

	memset(text, 'x', sizeof(text) - 1);
	for (int i = 0; request_calls(rq, "echo") && i < 400; i++) {
		protocol_say("{\"jsonrpc\":\"2.0\",\"id\":\"q%d\",\"method\":"
			     "\"sampling/createMessage\",\"params\":{\"messages\":[],"
			     "\"maxTokens\":1,\"systemPrompt\":\"%s\"}}",
			     i, text);
		protocol_say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
			     "\"params\":{\"requestId\":\"q%d\"}}",
			     i);
	}
	return false;
}

bool before_asksall(const struct request *rq)
{
	static const char *const methods[] = { "tools/list", "tasks/get", "x", "", "initialize" };

	for (size_t i = 0; request_calls(rq, "echo") && i < sizeof(methods) / sizeof(*methods); i++)
		protocol_say("{\"jsonrpc\":\"2.0\",\"id\":{\"a\":[%zu]},\"method\":\"%s\"}", i,
			     methods[i]);
	return false;
}

bool before_closeout(const struct request *rq)
{
	if (!request_calls(rq, "echo"))
		return false;
	close(1);
	zoo_linger();
}

void after_closein(const struct request *rq)
{
	if (!request_calls(rq, "echo"))
		return;
	close(0);
	zoo_linger();
}

bool before_stopread(const struct request *rq)
{
	if (!request_calls(rq, "echo"))
		return false;
	zoo_linger();
}

static void answer_late(struct open *o)
{
	protocol_tool_answer(&o->rq, (struct span){ "\"too late\"", 10 }, SPAN_NONE);
}

void eof_posthumous(void)
{
	open_each(answer_late);
	protocol_say("{\"jsonrpc\":\"2.0\",\"id\":\"late\",\"method\":\"ping\"}");
}
