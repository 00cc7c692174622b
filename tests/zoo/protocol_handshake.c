/* protocol_handshake.c - ways that are wrong from the start. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "protocol_ways.h"
#include "fixtures.h"

bool before_mute(const struct request *rq)
{
	return request_is(rq, "initialize");
}

bool before_refuses(const struct request *rq)
{
	if (!request_is(rq, "initialize"))
		return false;
	protocol_error(rq, -32603, "the database is not there");
	return true;
}

static bool answer_initialize(const struct request *rq, const char *result)
{
	if (!request_is(rq, "initialize"))
		return false;
	protocol_say("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":%s}", (int)rq->id.len, rq->id.at,
		     result);
	return true;
}

bool before_badinit(const struct request *rq)
{
	return answer_initialize(rq, "42");
}

bool before_noversion(const struct request *rq)
{
	return answer_initialize(rq, "{\"capabilities\":{},\"serverInfo\":{}}");
}

bool before_early(const struct request *rq)
{
	if (request_is(rq, "initialize")) {
		protocol_say("{\"jsonrpc\":\"2.0\",\"id\":\"early\",\"method\":\"ping\"}");
		protocol_say(
			"{\"jsonrpc\":\"2.0\",\"id\":\"early-roots\",\"method\":\"roots/list\"}");
		protocol_say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\","
			     "\"params\":{\"level\":\"info\",\"data\":\"early\"}}");
	}
	return false;
}

bool before_slowstart(const struct request *rq)
{
	if (request_is(rq, "initialize"))
		zoo_nap_us(atol(way_argument) * 1000);
	return false;
}

static void burn(long ms)
{
	double end = protocol_now_ms() + (double)ms;

	while (protocol_now_ms() < end)
		;
}

bool before_busystart(const struct request *rq)
{
	if (request_is(rq, "initialize"))
		burn(atol(way_argument));
	return false;
}

bool before_writestart(const struct request *rq)
{
	double end = protocol_now_ms() + (double)atol(way_argument);
	FILE *f = request_is(rq, "initialize") ? fopen("/dev/null", "we") : NULL;

	while (f && protocol_now_ms() < end) {
		fputc('x', f);
		fflush(f);
		zoo_nap_us(100000);
	}
	if (f)
		fclose(f);
	return false;
}

bool before_childstart(const struct request *rq)
{
	if (request_is(rq, "initialize")) {
		zoo_child(burn, atol(way_argument));
		zoo_nap_us(atol(way_argument) * 1000);
	}
	return false;
}

static _Noreturn void die(int code, const char *why)
{
	fprintf(stderr, "zoo: %s\n", why);
	_exit(code);
}

void begin_diesnow(void)
{
	die(5, "cannot open the database");
}

bool before_dies(const struct request *rq)
{
	if (request_is(rq, "initialize"))
		die(3, "no licence");
	return false;
}

void after_diesready(const struct request *rq)
{
	if (request_is(rq, "notifications/initialized"))
		die(4, "that was enough");
}

bool before_probedeath(const struct request *rq)
{
	static bool begun;

	if (!begun && !request_is(rq, "initialize"))
		die(6, "expected initialize");
	begun = true;
	return false;
}

bool before_probesilent(const struct request *rq)
{
	static bool begun;

	begun = begun || request_is(rq, "initialize");
	return !begun;
}

void begin_old(void)
{
	protocol_version = *way_argument ? way_argument : "2024-11-05";
}

void begin_unannounced(void)
{
	protocol_tools = "{}";
}

/* What decides whether two sessions may share the server. */

void begin_says(void)
{
	static char more[128];

	snprintf(more, sizeof(more), ",\"experimental\":{\"x-mux\":{\"sharing\":\"%s\"}}",
		 way_argument);
	protocol_more = more;
}

void begin_reads(void)
{
	protocol_tool_more = ",\"annotations\":{\"readOnlyHint\":true}";
}

static void tool_browser_open(const struct request *rq)
{
	protocol_tool_answer(rq, (struct span){ "\"open\"", 6 }, SPAN_NONE);
}

void begin_browses(void)
{
	static const struct zoo_tool more[] = { { "browser_open", tool_browser_open },
						{ NULL, NULL } };

	protocol_more_tools = more;
}

void begin_bare(void)
{
	static char more[512];

	protocol_bare = true;
	if (*way_argument)
		snprintf(more, sizeof(more), ",%s", way_argument);
	protocol_more = more;
}

void after_asksroots(const struct request *rq)
{
	if (request_is(rq, "notifications/initialized"))
		protocol_say("{\"jsonrpc\":\"2.0\",\"id\":\"zoo-0\",\"method\":\"roots/list\"}");
}

void begin_flagged(void)
{
	const char *flag = getenv("ZOO_FLAG");

	if (!flag || access(flag, F_OK) != 0)
		die(5, "the flag is not there");
}

void begin_uris(void)
{
	protocol_scheme = way_argument;
}

void begin_ttl(void)
{
	protocol_ttl_ms = atol(way_argument);
}

void begin_future(void)
{
	protocol_version = "2099-01-01";
}

void begin_batch(void)
{
	protocol_version = "2025-03-26";
}

void begin_slowread(void)
{
	protocol_read_pause_us = 1000;
}
