/* hub_view.c - see hub_view.h */
#include "hub_view.h"

#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/table.h"
#include "base/text.h"
#include "cli.h"
#include "hub_talk.h"
#include "top_model.h"

enum { CELL = 512 };

/* The text of a member, cleaned; "" for null. */
static const char *hub_view_text(struct json object, const char *name, char out[CELL])
{
	char raw[CELL] = "";

	json_string_into(json_get(object, name), raw, sizeof(raw));
	text_clean(raw, strlen(raw), out, CELL);
	return out;
}

static long long hub_view_number(struct json object, const char *name)
{
	int64_t n = 0;

	json_int(json_get(object, name), &n);
	return n;
}

static const char *hub_view_span(struct json object, const char *name, char out[24])
{
	int64_t ms;

	if (!json_int(json_get(object, name), &ms))
		return "-";
	return text_span(ms, out);
}

static const char *hub_view_size(struct json object, const char *name, char out[16])
{
	int64_t bytes;

	if (!json_int(json_get(object, name), &bytes) || bytes == 0)
		return "-";
	return text_size((unsigned long long)bytes, out);
}

/* The id of a server, or its name: a server with an error in its config has no id. */
static const char *hub_view_id(struct json s, char out[CELL])
{
	return *hub_view_text(s, "server", out) ? out : hub_view_text(s, "name", out);
}

/* A sum: 0 is a number here. */
static const char *hub_view_sum(struct json object, const char *name, char out[16])
{
	return *hub_view_size(object, name, out) == '-' ? "0" : out;
}

/* The strings of an array, with spaces between them. */
static void hub_view_add_list(struct table *t, struct json list)
{
	AUTO(buf_done) struct buf all = BUF_INIT(CELL);
	struct json_iter it = json_iter(list);
	char word[64];

	while (list.at && json_each(&it)) {
		json_string_into(it.value, word, sizeof(word));
		buf_addf(&all, "%s%s", all.len ? " " : "", word);
	}
	table_add(t, all.len ? all.data : "-");
}

/* The servers of the hub by state, as `killick hub servers` lists them: hub.status leaves out those
 * with an error in their config. False: the hub does not answer any more. */
static bool hub_view_states(struct buf *out)
{
	static const char *const states[] = { "idle", "resting", "failed", "gone" };
	enum { STATES = sizeof(states) / sizeof(states[0]), GONE = STATES - 1 };
	AUTO(hub_talk_close) struct hub_talk t = HUB_TALK_INIT;
	size_t counts[STATES] = { 0 }, others = 0, all = 0;
	struct err e = ERR_INIT;
	struct json_iter it;
	struct json result;

	if (hub_talk_open(&t, false, &e) < 0 ||
	    hub_talk_ask(&t, "server.list", "{}", &result, &e) < 0)
		return false;
	it = json_iter(json_get(result, "servers"));
	for (; json_each(&it); all++) {
		size_t i = 0;

		while (i < STATES && !json_is(json_get(it.value, "state"), states[i]))
			i++;
		if (i < STATES)
			counts[i]++;
		else
			others++;
	}
	buf_addf(out, "%zu: %zu running", all, others);
	for (size_t i = 0; i < STATES; i++)
		if (i != GONE || counts[i])
			buf_addf(out, ", %zu %s", counts[i], states[i]);
	return true;
}

void hub_view_status(struct json s)
{
	AUTO(buf_done) struct buf states = BUF_INIT(CELL);
	long long processes = hub_view_number(s, "processes");
	char text[CELL], span[24], size[16];

	printf("hub      pid %lld, version %s, up %s\n", hub_view_number(s, "pid"),
	       hub_view_text(s, "version", text), hub_view_span(s, "uptimeMs", span));
	printf("socket   %s\n", hub_view_text(s, "socket", text));
	printf("sessions %lld\n", hub_view_number(s, "sessions"));
	if (!hub_view_states(&states))
		buf_addf(&states, "%lld: %lld running, %lld resting", hub_view_number(s, "servers"),
			 hub_view_number(s, "running"), hub_view_number(s, "resting"));
	printf("servers  %s\n", states.data);
	printf("memory   %s held by %lld process%s\n", hub_view_sum(s, "memory", size), processes,
	       processes == 1 ? "" : "es");
	printf("saved    %s by sharing and rest\n", hub_view_sum(s, "savedMemory", size));
	printf("calls    %lld\n", hub_view_number(s, "calls"));
}

void hub_view_sessions(struct json result)
{
	static const struct table_col cols[] = {
		{ .title = "ID" },
		{ .title = "TAG", .min = 8, .drop = true },
		{ .title = "CLIENT", .min = 8 },
		{ .title = "PID", .right = true },
		{ .title = "ERA", .drop = true },
		{ .title = "AGE", .right = true },
		{ .title = "IDLE", .right = true },
		{ .title = "CALLS", .right = true },
		{ .title = "BUSY", .right = true, .drop = true },
		{ .title = "SERVERS", .min = 8 },
	};
	AUTO(table_done) struct table table = TABLE_INIT(cols);
	struct json_iter it = json_iter(json_get(result, "sessions"));

	while (json_each(&it)) {
		struct json s = it.value, client = json_get(s, "client");
		char text[CELL], version[CELL], span[24];

		table_add(&table, hub_view_text(s, "session", text));
		table_add(&table, hub_view_text(s, "tag", text));
		if (json_type(client) == JSON_OBJECT)
			table_addf(&table, "%.200s %.60s", hub_view_text(client, "name", text),
				   hub_view_text(client, "version", version));
		else
			table_add(&table, "-");
		table_addf(&table, "%lld", hub_view_number(s, "pid"));
		table_add(&table, hub_view_text(s, "era", text));
		table_add(&table, hub_view_span(s, "ageMs", span));
		table_add(&table, hub_view_span(s, "idleMs", span));
		table_addf(&table, "%lld", hub_view_number(s, "calls"));
		table_addf(&table, "%lld", hub_view_number(s, "inFlight"));
		hub_view_add_list(&table, json_get(s, "servers"));
	}
	if (json_count(json_get(result, "sessions")))
		table_print(&table, stdout, 0, cli_width());
	else
		printf("no sessions\n");
}

static const char *hub_view_colour(const char *state)
{
	if (!cli_has_colour())
		return NULL;
	if (strcmp(state, "ready") == 0)
		return "32";
	if (strcmp(state, "resting") == 0)
		return "2";
	return strcmp(state, "failed") == 0 ? "31" : "33";
}

static void hub_view_add_server(struct table *t, struct json s)
{
	char text[CELL], span[24], size[16];
	bool shared = false;

	table_add(t, *hub_view_text(s, "server", text) ? text : "-");
	table_add(t, hub_view_text(s, "name", text));
	table_add(t, hub_view_text(s, "state", text));
	hub_view_add_list(t, json_get(s, "sessions"));
	if (hub_view_number(s, "pid"))
		table_addf(t, "%lld", hub_view_number(s, "pid"));
	else
		table_add(t, "-");
	table_addf(t, "%lld", hub_view_number(s, "calls"));
	table_addf(t, "%lld", hub_view_number(s, "inFlight"));
	table_add(t, hub_view_size(s, "memory", size));
	table_addf(t, "%lld", hub_view_number(s, "restarts"));
	table_add(t, hub_view_span(s, "ageMs", span));
	table_add(t, hub_view_text(s, "level", text));
	json_bool(json_get(s, "shared"), &shared);
	table_add(t, shared ? "yes" : "no");
}

static void hub_view_reason(const char *ids, const char *title, const char *text)
{
	AUTO(buf_done) struct buf line = BUF_INIT(BUF_ANY_SIZE);

	buf_addf(&line, "%s: %s: %s", ids, title, text);
	cli_wrap(stdout, line.data, cli_width());
	putchar('\n');
}

enum hub_view_topic { HUB_VIEW_ERROR, HUB_VIEW_FAILURE, HUB_VIEW_SHARING, HUB_VIEW_TOPICS };

/* What is to be said about a server; "": nothing. Whether a failed server is shared says nothing
 * new: a server is not known before it has started. */
static const char *hub_view_about(struct json s, enum hub_view_topic topic, char out[CELL])
{
	bool failed = json_is(json_get(s, "state"), "failed");
	char reason[CELL], name[CELL], place[CELL];
	const char *cause;

	*out = '\0';
	if (topic == HUB_VIEW_SHARING)
		return failed ? out : hub_view_text(s, "why", out);
	if (failed != (topic == HUB_VIEW_ERROR))
		return out;
	hub_view_text(s, "reason", reason);
	cause = top_model_cause(reason, hub_view_text(s, "name", name), place, sizeof(place));
	if (*place)
		snprintf(out, CELL, "%.300s: ", place);
	snprintf(out + strlen(out), CELL - strlen(out), "%s", cause);
	return out;
}

/* Print one line for all servers about which the same is to be said. */
static void hub_view_topic(struct json servers, size_t at, enum hub_view_topic topic,
			   const char *said)
{
	static const char *const titles[] = { [HUB_VIEW_ERROR] = "error",
					      [HUB_VIEW_FAILURE] = "last failure",
					      [HUB_VIEW_SHARING] = "sharing" };
	AUTO(buf_done) struct buf ids = BUF_INIT(BUF_ANY_SIZE);
	struct json_iter it = json_iter(servers);
	char id[CELL], text[CELL];

	for (size_t i = 0; json_each(&it); i++) {
		if (strcmp(hub_view_about(it.value, topic, text), said) != 0)
			continue;
		if (i < at)
			return; /* printed already */
		hub_view_id(it.value, id);
		if (!ids.len || !top_model_has_word(ids.data, id))
			buf_addf(&ids, "%s%s", ids.len ? " " : "", id);
	}
	hub_view_reason(ids.data, titles[topic], said);
}

/* The reasons, which are sentences. */
static void hub_view_reasons(struct json servers)
{
	struct json_iter it = json_iter(servers);

	for (size_t i = 0; json_each(&it); i++) {
		char id[CELL], text[CELL], other[CELL], title[CELL + 32];

		for (enum hub_view_topic t = 0; t < HUB_VIEW_TOPICS; t++)
			if (*hub_view_about(it.value, t, text))
				hub_view_topic(servers, i, t, text);
		snprintf(title, sizeof(title), "first difference from %s",
			 hub_view_text(it.value, "differsFrom", other));
		if (*hub_view_text(it.value, "difference", text))
			hub_view_reason(hub_view_id(it.value, id), title, text);
	}
}

void hub_view_servers(struct json result)
{
	static const struct table_col cols[] = {
		{ .title = "ID" },
		{ .title = "NAME", .min = 8 },
		{ .title = "STATE", .colour = hub_view_colour },
		{ .title = "SESSIONS", .min = 8 },
		{ .title = "PID", .right = true },
		{ .title = "CALLS", .right = true },
		{ .title = "BUSY", .right = true, .drop = true },
		{ .title = "MEMORY", .right = true },
		{ .title = "RESTARTS", .right = true, .drop = true },
		{ .title = "AGE", .right = true, .drop = true },
		{ .title = "LEVEL", .drop = true },
		{ .title = "SHARED", .drop = true },
	};
	AUTO(table_done) struct table table = TABLE_INIT(cols);
	struct json servers = json_get(result, "servers");
	struct json_iter it = json_iter(servers);
	char size[16], saved[16];

	while (json_each(&it))
		hub_view_add_server(&table, it.value);
	if (json_count(servers))
		table_print(&table, stdout, 0, cli_width());
	else
		printf("no servers\n");
	hub_view_reasons(servers);
	printf("memory: %s held, %s saved by sharing and rest\n",
	       hub_view_sum(result, "memory", size), hub_view_sum(result, "savedMemory", saved));
}

/* The servers that ended, one line each. */
static size_t hub_view_endings(struct json ended)
{
	struct json_iter it = json_iter(ended);
	size_t count = 0;

	while (ended.at && json_each(&it)) {
		AUTO(buf_done) struct buf proof = BUF_INIT(CELL);
		struct json words = json_get(it.value, "proof");
		struct json_iter w = json_iter(words);
		char server[CELL], step[CELL], word[64];

		while (words.at && json_each(&w)) {
			json_string_into(w.value, word, sizeof(word));
			buf_addf(&proof, "%s%s", proof.len ? "," : "", word);
		}
		hub_view_text(it.value, "server", server);
		hub_view_text(it.value, "step", step);
		if (!hub_view_number(it.value, "pid")) {
			printf("%s  was not running\n", server);
			continue;
		}
		count++;
		printf("%s  pid %lld  ended by %s  proof %s\n", server,
		       hub_view_number(it.value, "pid"),
		       strcmp(step, "none") == 0 ? "itself" : step, proof.data);
	}
	return count;
}

bool hub_view_stopped(struct json report)
{
	size_t count = hub_view_endings(json_get(report, "ended"));
	long long survivors = hub_view_number(report, "survivors");
	bool proved = false;

	json_bool(json_get(report, "proved"), &proved);
	printf("the hub has ended; %zu server%s ended, %lld process%s left%s\n", count,
	       count == 1 ? "" : "s", survivors, survivors == 1 ? "" : "es",
	       proved ? "" : "; not every end is proved");
	return proved && survivors == 0;
}

void hub_view_restarted(struct json result)
{
	long long pid = hub_view_number(json_get(result, "ending"), "pid");
	char id[CELL];

	hub_view_text(result, "server", id);
	if (pid)
		printf("%s: pid %lld has ended, and the server is ready again\n", id, pid);
	else
		printf("%s: the server is ready\n", id);
}

void hub_view_reloaded(struct json report)
{
	struct json_iter it = json_iter(json_get(report, "sessions"));
	size_t count = 0;

	for (; json_each(&it); count++) {
		char id[CELL], text[CELL];

		if (*hub_view_text(it.value, "error", text))
			printf("%s  not refreshed: %s\n", hub_view_text(it.value, "session", id),
			       text);
		else
			printf("%s  refreshed, %zu server%s ended\n",
			       hub_view_text(it.value, "session", id),
			       json_count(json_get(it.value, "ended")),
			       json_count(json_get(it.value, "ended")) == 1 ? "" : "s");
	}
	if (!count)
		printf("no session comes from a file\n");
}
