/* protocol_modern.c - what only the era without a handshake has: discovery and listening. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol.h"

#define VERSION    "2026-07-28"
#define MAX_LISTEN 16

static struct listener {
	char id[64];  /* of the request, as written; "": free */
	char *filter; /* its `notifications`, as written */
} listeners[MAX_LISTEN];

static bool version_is_ours(const struct request *rq)
{
	struct span asked = scan_member(rq->meta, "io.modelcontextprotocol/protocolVersion");

	if (scan_is(asked, VERSION))
		return true;
	protocol_say("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":-32022,"
		     "\"message\":\"unsupported protocol version\",\"data\":{\"supported\":"
		     "[\"" VERSION "\"],\"requested\":%.*s}}}",
		     (int)rq->id.len, rq->id.at, (int)asked.len, asked.at);
	return false;
}

static void discover(const struct request *rq)
{
	static const char members[] =
		"\"supportedVersions\":[\"" VERSION "\"],"
		"\"capabilities\":{\"tools\":{\"listChanged\":true},"
		"\"resources\":{\"subscribe\":true,\"listChanged\":true},"
		"\"prompts\":{\"listChanged\":true},\"completions\":{},\"logging\":{}},"
		"\"instructions\":\"Behave.\",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":"
		"{\"name\":\"killick-zoo\",\"version\":\"1\"}}";

	protocol_answer(rq, members, sizeof(members) - 1, true);
}

static void listen_to(const struct request *rq)
{
	struct span filter = scan_member(rq->params, "notifications");

	for (int i = 0; i < MAX_LISTEN; i++) {
		struct listener *l = &listeners[i];

		if (l->id[0])
			continue;
		snprintf(l->id, sizeof(l->id), "%.*s", (int)rq->id.len, rq->id.at);
		l->filter = strndup(filter.at ? filter.at : "{}", filter.at ? filter.len : 2);
		protocol_say("{\"jsonrpc\":\"2.0\",\"method\":"
			     "\"notifications/subscriptions/acknowledged\",\"params\":{"
			     "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":%s},"
			     "\"notifications\":%s}}",
			     l->id, l->filter);
		return;
	}
	protocol_error(rq, -32603, "too many listeners");
}

bool modern_answer(const struct request *rq)
{
	if (scan_member(rq->meta, "io.modelcontextprotocol/clientCapabilities").len == 0) {
		protocol_error(rq, -32602, "_meta lacks clientCapabilities");
		return true;
	}
	if (!version_is_ours(rq))
		return true;
	if (request_is(rq, "server/discover"))
		discover(rq);
	else if (request_is(rq, "subscriptions/listen"))
		listen_to(rq);
	else
		return false;
	return true;
}

void modern_notify(const char *filter, const char *method, struct span uri)
{
	for (int i = 0; i < MAX_LISTEN; i++) {
		struct listener *l = &listeners[i];
		struct span all = { l->filter, l->id[0] ? strlen(l->filter) : 0 };
		struct span asked = scan_member(all, filter);
		struct grow t = { 0 };

		if (asked.len == 0 || !memcmp(asked.at, "false", asked.len < 5 ? asked.len : 5))
			continue;
		if (uri.len > 0 && !memmem(asked.at, asked.len, uri.at, uri.len))
			continue;
		grow_addf(&t,
			  "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":{\"_meta\":{"
			  "\"io.modelcontextprotocol/subscriptionId\":%s}",
			  method, l->id);
		if (uri.len > 0)
			grow_addf(&t, ",\"uri\":%.*s", (int)uri.len, uri.at);
		grow_adds(&t, "}}");
		protocol_say_text(&t);
	}
}

bool modern_cancelled(struct span id)
{
	for (int i = 0; i < MAX_LISTEN; i++) {
		struct listener *l = &listeners[i];

		if (!l->id[0] || strlen(l->id) != id.len || memcmp(l->id, id.at, id.len) != 0)
			continue;
		l->id[0] = '\0';
		free(l->filter);
		return true;
	}
	return false;
}
