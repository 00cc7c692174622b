/* top_model.c - see top_model.h */
#include "top_model.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"

void top_model_text(struct json v, const char *key, char *out, size_t size)
{
	AUTO(mem_drop) char *text = NULL;

	*out = '\0';
	if (json_string(json_get(v, key), &text))
		text_clean(text, strlen(text), out, size);
}

bool top_model_has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at += len)
		if ((at == text || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
			return true;
	return false;
}

long long top_model_words(struct json v, char *out, size_t size)
{
	struct json_iter it = json_iter(v);
	long long count = 0;
	size_t len = 0;

	*out = '\0';
	while (json_type(v) == JSON_ARRAY && json_each(&it)) {
		char word[256], clean[256];

		if (!json_string_into(it.value, word, sizeof(word)))
			continue;
		text_clean(word, strlen(word), clean, sizeof(clean));
		if (!*clean || top_model_has_word(out, clean))
			continue;
		count++;
		if (len + strlen(clean) + 2 < size)
			len += (size_t)snprintf(out + len, size - len, "%s%s", len ? " " : "",
						clean);
	}
	return count;
}

double top_model_time(struct json v, const char *key)
{
	double value;

	return json_double(json_get(v, key), &value) && value >= 0 ? value : -1;
}

long long top_model_number(struct json v, const char *key)
{
	double value = top_model_time(v, key);

	return value > 9e18 ? -1 : (long long)value;
}

const char *top_model_cause(const char *reason, const char *name, char *out_place, size_t size)
{
	char prefix[160];
	const char *at;
	size_t len;

	*out_place = '\0';
	snprintf(prefix, sizeof(prefix), "server '%.120s'", name);
	at = strstr(reason, prefix);
	len = strlen(prefix);
	if (!at || (at[len] != ' ' && strncmp(at + len, ": ", 2) != 0))
		return reason;
	if (at > reason) {
		if (at - reason < 3 || strncmp(at - 2, ": ", 2) != 0)
			return reason;
		snprintf(out_place, size, "%.*s", (int)(at - 2 - reason), reason);
	}
	return at + len + (at[len] == ':' ? 2 : 1);
}

static enum top_health top_model_health(const char *state)
{
	static const struct {
		const char *state;
		enum top_health health;
	} states[] = {
		{ "ready", TOP_WORKS },        { "running", TOP_WORKS },
		{ "elsewhere", TOP_WORKS },    { "starting", TOP_MOVING },
		{ "handshaking", TOP_MOVING }, { "draining", TOP_MOVING },
		{ "stopping", TOP_MOVING },    { "orphaned", TOP_MOVING },
		{ "resting", TOP_RESTING },    { "idle", TOP_RESTING },
		{ "disabled", TOP_RESTING },   { "remote", TOP_RESTING },
	};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (strcmp(state, states[i].state) == 0)
			return states[i].health;
	return TOP_FAILED;
}

static struct top_server *top_model_add_server(struct top_model *m)
{
	struct top_server *s;

	m->servers = mem_grow(m->servers, m->server_count + 1, sizeof(*m->servers));
	s = &m->servers[m->server_count++];
	*s = (struct top_server){ .raw = JSON_NONE };
	return s;
}

/* Name a server with an error in its config, for which the hub has no id. The name stays the same
 * while sessions come and go. */
static void top_model_name_refused(struct top_server *s)
{
	const char *texts[] = { s->name, s->place, s->reason };
	unsigned long long hash = 14695981039346656037ull; /* FNV-1a */

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		for (const char *c = texts[i]; *c; c++)
			hash = (hash ^ (unsigned char)*c) * 1099511628211ull;
	snprintf(s->id, sizeof(s->id), "config-%016llx", hash);
	snprintf(s->mark, sizeof(s->mark), "%.*s", (int)strcspn(s->users, " "), s->users);
	s->refused = true;
}

/* Fold the last server into an earlier one with the same name and error. */
static void top_model_fold_refused(struct top_model *m)
{
	const struct top_server *last = &m->servers[m->server_count - 1];

	for (size_t i = 0; i + 1 < m->server_count; i++) {
		struct top_server *s = &m->servers[i];
		size_t len = strlen(s->users);

		if (strcmp(s->id, last->id) != 0)
			continue;
		s->leases += last->leases;
		if (!top_model_has_word(s->users, last->users)) {
			s->sessions += last->sessions;
			snprintf(s->users + len, sizeof(s->users) - len, " %s", last->users);
		}
		m->server_count--;
		return;
	}
}

static void top_model_take_server(struct top_model *m, struct json v)
{
	struct top_server *s = top_model_add_server(m);
	char reason[sizeof(s->reason) + sizeof(s->place)];

	s->raw = v;
	top_model_text(v, "server", s->id, sizeof(s->id));
	top_model_text(v, "name", s->name, sizeof(s->name));
	top_model_text(v, "state", s->state, sizeof(s->state));
	top_model_text(v, "reason", reason, sizeof(reason));
	snprintf(s->reason, sizeof(s->reason), "%s",
		 top_model_cause(reason, s->name, s->place, sizeof(s->place)));
	top_model_text(v, "level", s->level, sizeof(s->level));
	s->health = top_model_health(s->state);
	s->leases = (long long)json_count(json_get(v, "sessions"));
	s->sessions = top_model_words(json_get(v, "sessions"), s->users, sizeof(s->users));
	s->in_flight = top_model_number(v, "inFlight");
	s->queued = top_model_number(v, "queued");
	s->calls = top_model_number(v, "calls");
	s->errors = top_model_number(v, "errors");
	s->restarts = top_model_number(v, "restarts");
	s->processes = top_model_number(v, "processes");
	s->memory = top_model_number(v, "memory");
	s->age_ms = top_model_number(v, "ageMs");
	s->p50_ms = s->calls > 0 ? top_model_time(v, "p50Ms") : -1;
	s->p99_ms = s->calls > 0 ? top_model_time(v, "p99Ms") : -1;
	snprintf(s->mark, sizeof(s->mark), "%.8s", s->id);
	if (!*s->id) {
		top_model_name_refused(s);
		top_model_fold_refused(m);
	}
}

static void top_model_take_session(struct top_model *m, struct json v)
{
	struct json client = json_get(v, "client");
	char name[64], version[32];
	struct top_session *s;

	m->sessions = mem_grow(m->sessions, m->session_count + 1, sizeof(*m->sessions));
	s = &m->sessions[m->session_count++];
	*s = (struct top_session){ .age_ms = top_model_number(v, "ageMs") };
	top_model_text(v, "session", s->id, sizeof(s->id));
	top_model_text(client, "name", name, sizeof(name));
	top_model_text(client, "version", version, sizeof(version));
	snprintf(s->client, sizeof(s->client), "%s%s%s", name, *version ? " " : "", version);
	top_model_text(v, "tag", s->tag, sizeof(s->tag));
	m->has_tags |= *s->tag != '\0';
	top_model_text(v, "era", s->era, sizeof(s->era));
	s->idle_ms = top_model_number(v, "idleMs");
	s->servers = (long long)json_count(json_get(v, "servers"));
	s->in_flight = top_model_number(v, "inFlight");
	s->calls = top_model_number(v, "calls");
}

/* Why the tree has its state, or the program that uses the server. */
static void top_model_tree_reason(const struct ps_tree *t, char *out, size_t size)
{
	char why[64];

	text_clean(t->rec.why, strlen(t->rec.why), why, sizeof(why));
	if (strcmp(t->state, "abandoned") == 0)
		snprintf(out, size, "its keepers are gone; `killick reap` ends the tree");
	else if (strcmp(t->state, "ended") == 0)
		snprintf(out, size, "no process was found; `killick reap` removes the record");
	else if (t->is_ending && *why)
		snprintf(out, size, "%s", why);
	else if (t->has_owner)
		snprintf(out, size, "owner %.200s", t->owner);
}

static void top_model_take_tree(struct top_model *m, const struct ps_tree *t)
{
	struct top_server *s = top_model_add_server(m);

	s->tree = t;
	snprintf(s->id, sizeof(s->id), "%s", t->rec.tree);
	snprintf(s->mark, sizeof(s->mark), "%.8s", t->rec.tree);
	text_clean(t->title, strlen(t->title), s->name, sizeof(s->name));
	snprintf(s->state, sizeof(s->state), "%s", t->state);
	top_model_tree_reason(t, s->reason, sizeof(s->reason));
	text_clean(t->rec.level, strlen(t->rec.level), s->level, sizeof(s->level));
	s->health = top_model_health(s->state);
	s->sessions = s->in_flight = s->queued = s->calls = s->errors = s->restarts = -1;
	s->p50_ms = s->p99_ms = -1;
	s->processes = (long long)t->count;
	s->memory = (long long)t->rss;
	s->age_ms = t->age_ms;
}

/* The server of the hub whose tree this is, or NULL. */
static struct top_server *top_model_find_tree(const struct top_model *m, const struct ps_tree *t)
{
	for (size_t i = 0; i < m->server_count; i++) {
		long long pid =
			m->servers[i].tree ? -1 : top_model_number(m->servers[i].raw, "pid");

		if (pid > 0 &&
		    (pid == t->rec.server.pid || pid == t->rec.watch.pid || pid == t->rec.hold.pid))
			return &m->servers[i];
	}
	return NULL;
}

/* Count the tree. A tree of the hub completes its server; any other tree gets a row. */
static void top_model_join(struct top_model *m, const struct ps_tree *t)
{
	struct top_totals *all = &m->totals;
	struct top_server *s = top_model_find_tree(m, t);

	all->trees++;
	if (strcmp(t->state, "abandoned") == 0 || strcmp(t->state, "overdue") == 0) {
		all->lost_trees++;
		all->leaks += (long long)t->count;
	}
	if (s) {
		if (s->processes < 0)
			s->processes = (long long)t->count;
		if (s->memory < 0)
			s->memory = (long long)t->rss;
		if (!*s->level)
			text_clean(t->rec.level, strlen(t->rec.level), s->level, sizeof(s->level));
	} else if (!all->has_hub || t->rec.owner.pid != all->hub_pid) {
		top_model_take_tree(m, t);
	}
}

/* A hub that does not measure memory saves at least the copies of shared servers. */
static void top_model_total(struct top_model *m)
{
	struct top_totals *all = &m->totals;
	long long shared = 0;

	for (size_t i = 0; i < m->server_count; i++) {
		struct top_server *s = &m->servers[i];

		for (size_t k = 0; k < m->server_count; k++)
			s->twin |= k != i && strcmp(m->servers[k].name, s->name) == 0;
		shared += s->leases > 1 && s->memory > 0 ? (s->leases - 1) * s->memory : 0;
		all->servers += s->health == TOP_WORKS || s->health == TOP_MOVING;
		all->resting += strcmp(s->state, "resting") == 0;
		all->processes += s->processes > 0 ? s->processes : 0;
		all->memory += s->memory > 0 ? s->memory : 0;
	}
	if (all->has_hub && all->saved <= 0)
		all->saved = shared;
}

static int top_model_more(double a, double b)
{
	return (a < b) - (a > b);
}

static int top_model_by_name(const void *a, const void *b)
{
	const struct top_server *x = a, *y = b;
	size_t x_len = strlen(x->id), y_len = strlen(y->id);
	int r = strcmp(x->name, y->name);

	if (!r && x_len != y_len) /* v9 before v10 */
		return x_len < y_len ? -1 : 1;
	return r ? r : strcmp(x->id, y->id);
}

/* Whole MiB, rounded up. */
static long long top_model_mib(long long bytes)
{
	return bytes > 0 ? (bytes + (1 << 20) - 1) >> 20 : 0;
}

/* By whole MiB, so that equal servers do not change places all the time. */
static int top_model_by_memory(const void *a, const void *b)
{
	const struct top_server *x = a, *y = b;
	int r = top_model_more((double)top_model_mib(x->memory), (double)top_model_mib(y->memory));

	return r ? r : top_model_by_name(a, b);
}

static int top_model_by_calls(const void *a, const void *b)
{
	const struct top_server *x = a, *y = b;
	int r = top_model_more((double)x->calls, (double)y->calls);

	return r ? r : top_model_by_name(a, b);
}

static int top_model_by_state(const void *a, const void *b)
{
	const struct top_server *x = a, *y = b;
	int r = (int)x->health - (int)y->health;

	return r ? r : top_model_by_name(a, b);
}

static int top_model_oldest(const void *a, const void *b)
{
	const struct top_session *x = a, *y = b;
	int r = top_model_more((double)x->age_ms, (double)y->age_ms);

	return r ? r : strcmp(x->id, y->id);
}

static void top_model_sort(struct top_model *m, enum top_sort sort)
{
	static int (*const orders[])(const void *, const void *) = {
		[TOP_BY_MEMORY] = top_model_by_memory,
		[TOP_BY_CALLS] = top_model_by_calls,
		[TOP_BY_NAME] = top_model_by_name,
		[TOP_BY_STATE] = top_model_by_state,
	};

	assert(sort < TOP_SORTS);
	if (m->server_count)
		qsort(m->servers, m->server_count, sizeof(*m->servers), orders[sort]);
	if (m->session_count)
		qsort(m->sessions, m->session_count, sizeof(*m->sessions), top_model_oldest);
}

void top_model_build(const struct top_answers *a, const struct ps_trees *trees, enum top_sort sort,
		     struct top_model *out)
{
	struct json_iter servers = json_iter(json_get(a->servers, "servers")),
			 sessions = json_iter(json_get(a->sessions, "sessions"));

	*out = (struct top_model)TOP_MODEL_INIT;
	out->totals.has_hub = json_type(a->status) == JSON_OBJECT;
	out->totals.hub_pid = top_model_number(a->status, "pid");
	out->totals.hub_age_ms = top_model_number(a->status, "uptimeMs");
	out->totals.saved = top_model_number(a->status, "savedMemory");
	while (json_each(&servers))
		top_model_take_server(out, servers.value);
	while (json_each(&sessions))
		top_model_take_session(out, sessions.value);
	for (size_t i = 0; i < trees->count; i++)
		top_model_join(out, &trees->list[i]);
	top_model_total(out);
	top_model_sort(out, sort);
}

void top_model_done(struct top_model *m)
{
	mem_drop(&m->servers);
	mem_drop(&m->sessions);
	*m = (struct top_model)TOP_MODEL_INIT;
}
