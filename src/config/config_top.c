/* config_top.c - reads the top level of a config: its servers, its environments, its defaults and
 * limits. */
#include <string.h>

#include "base/mem.h"
#include "config/config_internal.h"

/* If the server that was read last has the name of an earlier server, it is not known which of the
 * two is meant. So neither is started: the first one fails and the second one is dropped. */
static void config_drop_double(struct config_job *j, struct json key)
{
	struct config *c = j->out;
	struct config_server *s = &c->servers[c->count - 1], *first = c->servers;
	struct err why = ERR_INIT, *e = j->e;

	while (strcmp(first->name, s->name) != 0)
		first++;
	if (first == s)
		return;
	j->e = &why;
	config_refuse(j, key.at, "the name '%s' is already used in line %u", s->name, first->line);
	j->e = e;
	first->required |= s->required;
	config_server_fail(first, why.text);
	config_server_done(s);
	c->count--;
}

static int read_servers(struct config_job *j, struct json servers)
{
	struct json_iter it = json_iter(servers);
	size_t count = json_count(servers);
	struct config *c = j->out;

	if (count > CONFIG_SERVERS_MAX)
		return config_refuse(j, servers.at, "%zu servers; at most %u are possible", count,
				     CONFIG_SERVERS_MAX);
	c->servers = mem_grow(NULL, count, sizeof(*c->servers));
	while (json_each(&it)) {
		struct config_server *s = &c->servers[c->count++];

		memset(s, 0, sizeof(*s));
		config_server_read(j, it.key, it.value, s);
		config_drop_double(j, it.key);
	}
	for (size_t i = 0; i < c->count; i++)
		config_fingerprint(&c->servers[i]);
	return 0;
}

struct config_top { /* the members of the top level */
	struct config_value servers, places, idle, max_servers, max_memory;
	struct config_unknown unknown;
};

static int config_top_servers(struct config_job *j, const struct json_iter *it,
			      struct config_top *t)
{
	const char *key = json_is(it->key, "servers") ? "servers" : "mcpServers";

	if (t->servers.key)
		return config_refuse(j, it->key.at, "the config has '%s' after '%s'; keep one", key,
				     t->servers.key);
	t->servers = (struct config_value){ .key = key, .v = it->value };
	return 0;
}

static int config_top_add(struct config_job *j, const struct json_iter *it, struct config_top *t)
{
	const struct {
		const char *key;
		struct config_value *value;
	} known[] = { { "environments", &t->places },
		      { "idle", &t->idle },
		      { "maxServers", &t->max_servers },
		      { "maxMemory", &t->max_memory } };

	if (json_is(it->key, "mcpServers") || json_is(it->key, "servers"))
		return config_top_servers(j, it, t);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (!json_is(it->key, known[i].key))
			continue;
		if (known[i].value->key)
			return config_refuse(j, it->key.at, "'%s' occurs twice", known[i].key);
		known[i].value->key = known[i].key;
		if (json_type(it->value) != JSON_NULL || known[i].value == &t->places)
			known[i].value->v = it->value;
		return 0;
	}
	if (!json_is(it->key, "inputs") && !json_is(it->key, "$schema"))
		config_unknown_add(&t->unknown, it->key);
	return 0;
}

int config_top_read(struct config_job *j, struct json top)
{
	struct config_top t = { .unknown.count = 0 };
	struct json_iter it = json_iter(top);
	int r = 0;

	if (json_type(top) != JSON_OBJECT)
		return config_refuse(j, top.at,
				     "a config must be an object with 'mcpServers', found %s",
				     config_type(top));
	while (r == 0 && json_each(&it))
		r = config_top_add(j, &it, &t);
	if (r < 0)
		return r;
	if (!t.servers.key)
		return config_refuse(j, top.at, "there is no 'mcpServers' and no 'servers'%s%s",
				     t.unknown.count ? ", but " : "", t.unknown.text);
	if (json_type(t.servers.v) != JSON_OBJECT)
		return config_refuse(j, t.servers.v.at,
				     "'%s' must be an object of servers, found %s", t.servers.key,
				     config_type(t.servers.v));
	config_unknown_warn(j, &t.unknown);
	if ((r = config_value_idle(j, &t.idle, &j->rest_ms)) < 0 ||
	    (r = config_value_count(j, &t.max_servers, &j->out->max_servers)) < 0 ||
	    (r = config_value_size(j, &t.max_memory, &j->out->max_memory)) < 0 ||
	    (r = config_places_read(j, t.places.v)) < 0)
		return r;
	return read_servers(j, t.servers.v);
}
