/* on.c - see on.h */
#include "on.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "cli.h"
#include "link/link.h"
#include "os/env.h"
#include "os/spawn.h"
#include "trust.h"

/* List the names in the config, for a user who mistyped a name. */
static void say_unknown(const char *verb, const struct config *c, const char *file,
			const char *name)
{
	char known[400] = "";
	size_t used = 0;

	for (size_t i = 0; i < c->place_count && used < sizeof(known); i++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s'%s'",
					 i ? ", " : "", c->places[i].name);
	cli_say(verb, "%s defines no environment '%.60s'; it defines %s", file, name,
		used ? known : "none; see 'environments' in killick-config(5)");
}

/* Read the config of a project, if the user allows it: an environment may name a program, or
 * options of ssh that do. 0; -EACCES: not allowed, the reason was printed; -errno with *e set. */
static int read_project(const char *verb, const char *file, struct config *out, struct err *e)
{
	struct client_file f = { .client = clients_of_path(file), .path = (char *)file };
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	AUTO(configfile_done) struct configfile c;

	configfile_open(&c, &f);
	if (*c.fault)
		return err_set(e, -EINVAL, "%s", c.fault);
	trust_text(&c, &text);
	if (!trust_allows(verb, &c, &text, true))
		return -EACCES;
	return config_parse(text.data, text.len,
			    &(struct config_source){ .file = file, .environ_ = cli_environment() },
			    out, e);
}

static bool find_named(const char *verb, const struct on *o, struct config_place *out,
		       int *out_status)
{
	AUTO(config_done) struct config c = { .count = 0 };
	struct err e = ERR_INIT;
	struct config_place *p;
	bool project;
	const char *file = cli_find_config(o->config, &project);
	int r;

	*out_status = EXIT_USAGE;
	if (!file) {
		cli_usage(verb,
			  "'--on %.60s' is the name of an environment, but no config was found; "
			  "give '--config FILE', or a URL or ssh:HOST instead of the name",
			  o->where);
		return false;
	}
	*out_status = EXIT_CONFIG;
	r = project ? read_project(verb, file, &c, &e)
		    : config_read(file, cli_environment(), &c, &e);
	if (r < 0) {
		if (r != -EACCES)
			cli_say(verb, "%s", e.text);
		return false;
	}
	p = (struct config_place *)config_place_find(&c, o->where);
	if (!p) {
		say_unknown(verb, &c, file, o->where);
		return false;
	}
	if (p->problem) {
		cli_say(verb, "%s: environment '%s' cannot be used: %s", file, p->name, p->problem);
		return false;
	}
	*out = *p;
	assert(c.places);               /* p is one of them */
	*p = c.places[--c.place_count]; /* the caller now owns the old *p */
	return true;
}

bool on_find(const char *verb, const struct on *o, struct config_place *out, int *out_status)
{
	struct err e = ERR_INIT;

	*out_status = EXIT_USAGE;
	if (strcmp(o->where, "local") == 0) {
		cli_usage(verb, "'local' is this machine; remove '--on'");
		return false;
	}
	if (!config_place_is_way(o->where) && o->token_env) {
		cli_usage(verb, "'--token-env' is for a URL; set 'tokenEnv' of the environment");
		return false;
	}
	if (!config_place_is_way(o->where))
		return find_named(verb, o, out, out_status);
	if (config_place_from(&(struct config_way){ o->where, o->token_env }, cli_environment(),
			      out, &e) == 0)
		return true;
	cli_say(verb, "--on %s", e.text);
	return false;
}

char *on_keeper(const char *verb)
{
	char found[PATH_MAX + 32], *keeper = NULL;
	struct err e = ERR_INIT;

	if (link_keeper_path(cli_find_keeper(found, sizeof(found)) ? found : NULL, &keeper, &e) < 0)
		cli_say(verb, "%s", e.text);
	return keeper;
}

struct environment *on_open(struct loop *loop, const struct config_place *p, const char *verb,
			    const char *keeper)
{
	char host[65], label[160];
	const struct environment_spec spec = {
		.name = p->name,
		.url = p->url,
		.program = p->program,
		.program_env = p->program_env,
		.token = p->token,
		.ca_file = p->ca_file,
		.keeper = keeper,
		.label = label,
	};

	env_host_name(host, sizeof(host));
	snprintf(label, sizeof(label), "%s, pid %d on %s", verb, spawn_own_pid(), host);
	return environment_new(loop, &spec);
}
