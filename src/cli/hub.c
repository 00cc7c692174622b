/* hub.c - `killick hub`: the hub as a program, and the verbs that ask it. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/emit.h"
#include "base/mem.h"
#include "base/path.h"
#include "cli.h"
#include "exec_log.h"
#include "hub/hub.h"
#include "hub_place.h"
#include "hub_talk.h"
#include "hub_view.h"
#include "os/dirs.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/given.h"
#include "os/interrupt.h"
#include "os/ownstdio.h"
#include "os/spawn.h"
#include "show.h"

#define VERB "hub"

const char hub_help[] =
	"usage: killick hub [options]\n"
	"       killick hub status|stop|reload|sessions|servers [--json]\n"
	"       killick hub restart SERVER [--json]\n"
	"\n"
	"Holds the MCP servers of all sessions of this user, shares them where this is\n"
	"safe, and ends a session's servers when the session ends. 'killick connect' is\n"
	"a session for an MCP client and starts the hub; programs use the control API on\n"
	"the same socket (killick-hub(7)).\n"
	"\n"
	"  --listen unix|stdio  unix: the socket hub.sock in $KILLICK_RUNTIME_DIR, else\n"
	"                       in /run/user/UID/killick (root: /run/killick); stdio: a\n"
	"                       hub for the parent process alone (unix)\n"
	"  --config FILE        servers of sessions that name no config\n"
	"  --idle-exit TIME     end after TIME with no session and no connection; 0:\n"
	"                       never (60s)\n"
	"  --max-servers N, --max-memory SIZE   limits of all sessions together; idle\n"
	"                       servers rest first, then a start waits\n"
	"  --max-connections N  limit of open connections (4096)\n"
	"  --stall TIME         end a session whose client reads nothing for TIME while\n"
	"                       more than 16 MiB of answers wait for it (30s)\n"
	"  --quiet              do not log sessions on stderr\n"
	"\n"
	"  status    processes, memory and calls of the hub\n"
	"  sessions  list the sessions\n"
	"  servers   list the servers, and why they are shared or not\n"
	"  reload    read the configs of sessions again; unchanged servers stay\n"
	"  restart   end the processes of SERVER (a name or an id of 'servers') and\n"
	"            start it again, also one that failed too often\n"
	"  stop      end all sessions and the hub\n"
	"  --json    print the answer of the hub\n"
	"\n"
	"A hub that systemd starts with a socket uses that socket. SIGTERM ends the hub.\n"
	"\n"
	"Exit status: 0 done, also 'stop' without a hub; 64 usage; 65 'reload' could not\n"
	"read a config; 69 no hub, or the hub cannot run; 75 a process survived.\n";

/* --- the hub --- */

struct hub_options {
	const char *listen, *config;
	unsigned idle_exit_ms, stall_ms;
	unsigned long long connections, servers, memory;
	bool quiet, detached;
	bool stdio;
};

static struct exec_log *hub_log_to; /* NULL: quiet */

static void hub_on_log(const char *line)
{
	exec_log_line(hub_log_to, line);
}

/* The place of the socket: 0, or an exit status. */
static int hub_find_place(const struct hub_options *o, struct hub_place *place, int *out_fd)
{
	struct given g;
	struct err e = ERR_INIT;
	int r = given_take(&g);

	*out_fd = -1;
	if (r < 0 || (r == 1 && g.at.kind != ADDRESS_NONE))
		return cli_usage(VERB, "the service manager must pass one listening unix socket");
	r = hub_place_take(place, &e);
	if (r == -EALREADY && o->detached)
		return EXIT_UNAVAILABLE; /* another hub was faster */
	if (r < 0) {
		cli_say(VERB, "%s", e.text);
		return EXIT_UNAVAILABLE;
	}
	if (g.fd >= 0) {
		*out_fd = g.fd;
		snprintf(place->path, sizeof(place->path), "%.*s", (int)sizeof(place->path) - 1,
			 g.path);
	}
	return 0;
}

static int hub_begin(struct hub *h, const struct hub_options *o, const struct hub_place *place,
		     int fd, struct err *e)
{
	int in = -1, out = -1, r;

	if (!o->stdio)
		return hub_listen(h, place->path, fd, e);
	r = ownstdio_take(&in, &out);
	if (r < 0)
		return err_set(e, r, "cannot use stdin and stdout: %s", strerror(-r));
	return hub_serve(h, in, out, e);
}

static void hub_announce(const struct hub_options *o, const struct hub_place *place)
{
	if (o->stdio || o->detached)
		return;
	if (printf("unix:%s\n", place->path) < 0 || fflush(stdout) != 0)
		cli_say(VERB, "cannot print the address: %s", strerror(errno));
}

/* Run the hub until it ends; the exit status. */
static int hub_work(const struct hub_options *o, const struct hub_place *place, int fd)
{
	char keeper[PATH_MAX + 32], cache[PATH_MAX], config[PATH_MAX];
	struct hub_spec spec = { .environ_ = cli_environment(),
				 .idle_exit_ms = o->stdio ? 0 : o->idle_exit_ms,
				 .stall_ms = o->stall_ms,
				 .max_connections = (unsigned)o->connections,
				 .max_servers = (unsigned)o->servers,
				 .max_memory = o->memory,
				 .find_tree = hub_place_find_tree,
				 .quiet = !hub_log_to,
				 .on_log = hub_on_log };
	int requests = interrupt_open(), orphans = spawn_adopt_orphans();
	struct err e = ERR_INIT;
	struct hub *h;

	if (cli_find_keeper(keeper, sizeof(keeper)))
		spec.keeper = keeper;
	if (cli_find_cache(cache, sizeof(cache)))
		spec.cache_dir = cache;
	if (o->config && file_real_path(o->config, config, sizeof(config)) < 0) {
		cli_say(VERB, "cannot find config '%s'", o->config);
		return EXIT_UNAVAILABLE;
	}
	spec.config = o->config ? config : NULL;
	if (hub_open(&spec, &h, &e) < 0) {
		cli_say(VERB, "%s", e.text);
		return EXIT_UNAVAILABLE;
	}
	if (hub_begin(h, o, place, fd, &e) < 0) {
		cli_say(VERB, "%s", e.text);
		hub_free(h);
		return EXIT_UNAVAILABLE;
	}
	hub_announce(o, place);
	hub_run(h, requests, orphans);
	hub_free(h);
	return EXIT_SUCCESS;
}

static int hub_serve_all(struct hub_options *o)
{
	struct hub_place place = { .lock = -1 };
	int fd = -1, status;

	o->stdio = o->listen && strcmp(o->listen, "stdio") == 0;
	if (o->listen && !o->stdio && strcmp(o->listen, "unix") != 0)
		return cli_usage(VERB, "--listen '%s' is neither unix nor stdio", o->listen);
	if (o->detached)
		hub_place_leave();
	status = o->stdio ? 0 : hub_find_place(o, &place, &fd);
	if (status)
		return status;
	spawn_raise_limit();
	hub_log_to = o->quiet || o->detached ? NULL : exec_log_open(FILE_STDERR);
	status = hub_work(o, &place, fd);
	if (hub_log_to)
		exec_log_close(hub_log_to);
	fd_drop(&place.lock);
	return status;
}

/* --- questions --- */

struct hub_question {
	const char *name, *method;
	void (*view)(struct json result);
};

static const struct hub_question hub_questions[] = {
	{ "status", "hub.status", hub_view_status },
	{ "sessions", "session.list", hub_view_sessions },
	{ "servers", "server.list", hub_view_servers },
	{ "reload", "hub.reload", hub_view_reloaded },
	{ "restart", "server.restart", hub_view_restarted },
	{ "stop", "hub.shutdown", NULL },
};

/* Sessions that hub.reload could not refresh: their configs have errors. */
static bool hub_has_refused(struct json result)
{
	struct json_iter it = json_iter(json_get(result, "sessions"));

	while (json_each(&it))
		if (json_type(json_get(it.value, "error")) == JSON_STRING)
			return true;
	return false;
}

static int hub_show(const struct hub_question *q, struct json result, bool json)
{
	bool good = true;
	int64_t survivors = 0;

	if (json && !q->view) {
		json_bool(json_get(result, "proved"), &good);
		json_int(json_get(result, "survivors"), &survivors);
		good = good && survivors == 0;
	}
	if (json)
		show_json(stdout, result);
	else if (q->view)
		q->view(result);
	else
		good = hub_view_stopped(result);
	if (q->view == hub_view_reloaded && hub_has_refused(result))
		return cli_finish(VERB, EXIT_CONFIG);
	return cli_finish(VERB, good ? EXIT_SUCCESS : EXIT_TRY_AGAIN);
}

static int hub_ask(const struct hub_question *q, const char *params, bool json)
{
	AUTO(hub_talk_close) struct hub_talk t = HUB_TALK_INIT;
	struct err e = ERR_INIT;
	struct json result;
	int r = hub_talk_open(&t, false, &e);

	if (r == -ENOENT && !q->view) {
		cli_say(VERB, "%s; there is nothing to stop", e.text);
		if (json)
			printf("{\"ended\":[],\"survivors\":0,\"proved\":true,\"running\":false}"
			       "\n");
		return cli_finish(VERB, EXIT_SUCCESS);
	}
	if (r == -ENOENT) {
		cli_say(VERB, "%s; 'killick hub' starts a hub, and so does 'killick connect'",
			e.text);
		return EXIT_UNAVAILABLE;
	}
	if (r == 0) /* is the hub alive? its answers to other requests may take minutes */
		r = hub_talk_ask(&t, "hub.status", "{}", &result, &e);
	if (r == 0 && strcmp(q->method, "hub.status") != 0)
		r = hub_talk_ask(&t, q->method, params, &result, &e);
	if (r == 0)
		return hub_show(q, result, json);
	cli_say(VERB, "%s", e.text);
	return EXIT_UNAVAILABLE;
}

/* name: the server of `restart`; NULL: none. */
static int hub_ask_word(const char *word, const char *name, bool json)
{
	AUTO(buf_done) struct buf params = BUF_INIT(4096);
	bool wants_name = strcmp(word, "restart") == 0;
	struct emit j = EMIT_INIT(&params);

	if (wants_name && !name)
		return cli_usage(VERB, "name the server: killick hub restart SERVER; 'killick hub "
				       "servers' lists names and ids");
	if (name && !wants_name)
		return cli_usage(VERB, "unexpected argument '%s'", name);
	emit_open(&j, NULL, '{');
	if (name)
		emit_str(&j, "server", name);
	emit_close(&j);
	if (emit_end(&j) < 0)
		return cli_usage(VERB, "the name of the server is too long");
	for (size_t i = 0; i < sizeof(hub_questions) / sizeof(hub_questions[0]); i++)
		if (strcmp(word, hub_questions[i].name) == 0)
			return hub_ask(&hub_questions[i], params.data, json);
	return cli_usage(
		VERB,
		"unknown word '%.60s'; use status, stop, reload, sessions, servers or restart",
		word);
}

int verb_hub(int argc, char **argv)
{
	struct hub_options o = { .idle_exit_ms = 60000 };
	bool json = false;
	const struct option options[] = {
		{ "listen", OPTION_WORD, .text = &o.listen },
		{ "config", OPTION_TEXT, "a file", .text = &o.config },
		{ "idle-exit", OPTION_TIME, "a time such as 60s, at most 1h, or 0",
		  .ms = &o.idle_exit_ms },
		{ "stall", OPTION_TIME, "a time such as 30s, at most 1h", .ms = &o.stall_ms,
		  .least = 1 },
		{ "max-connections", OPTION_COUNT, "a number from 1 to 1000000",
		  .number = &o.connections },
		{ "max-servers", OPTION_COUNT, "a number from 1 to 1000000", .number = &o.servers },
		{ "max-memory", OPTION_SIZE, "a size such as 4G", .number = &o.memory },
		{ "quiet", .flag = &o.quiet },
		{ "detached", .flag = &o.detached }, /* started by a client */
		{ "json", .flag = &json },
		{ .name = NULL },
	};
	struct cli_words words;
	int status;

	if (!cli_words(argc, argv, hub_help, options, &words, &status))
		return status;
	if (words.count > 2)
		return cli_usage(VERB, "unexpected argument '%s'", words.list[2]);
	if (words.command)
		return cli_usage(VERB, "the hub runs no command; use 'killick connect -- CMD'");
	if (words.count)
		return hub_ask_word(words.list[0], words.count > 1 ? words.list[1] : NULL, json);
	if (json)
		return cli_usage(VERB, "--json is for status, stop, reload, sessions, servers and "
				       "restart");
	return hub_serve_all(&o);
}
