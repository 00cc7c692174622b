/* connect.c - `killick connect`: a stdio MCP server whose servers are held by the hub.
 *
 * The hub gets the descriptors of stdin and stdout and uses them itself. This process only waits
 * for the end of the session or of the client. The end of the client is watched, because other
 * processes may hold its pipes open. When this process ends, the hub ends the session. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/emit.h"
#include "base/path.h"
#include "cli.h"
#include "hub_talk.h"
#include "os/console.h"
#include "os/dirs.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/ownstdio.h"
#include "os/process.h"
#include "os/time.h"
#include "trust.h"

#define VERB      "connect"
#define NAMES_MAX 64
#define ATTACH_MS 30000
#define WAKE_MS   2000  /* for a hub to answer; then it is continued, in case it is stopped */
#define RETRY_MS  10000 /* an unused hub may exit just when a client connects */
#define PAUSE_MS  20    /* between two attempts */

enum { BAD_PARAMS = -32602 };

const char connect_help[] =
	"usage: killick connect [--config FILE] [--server NAME]... [--session TAG]\n"
	"       killick connect [--server NAME] [--share WORD] [--idle TIME]\n"
	"                       [--session TAG] -- CMD [ARG]...\n"
	"\n"
	"A stdio MCP server for any client: its tools are those of the servers in a\n"
	"config. The hub of this user holds these servers, shares them between sessions\n"
	"where this is safe, and ends them when the client is gone. The first connect\n"
	"starts the hub.\n"
	"\n"
	"  --config FILE    the servers; else $KILLICK_CONFIG, .mcp.json, mcp.json or\n"
	"                   .vscode/mcp.json in this directory, after 'killick trust'\n"
	"  --server NAME    use only this server of the config; may be repeated\n"
	"  --session TAG    a name for the session, shown by 'killick hub sessions'\n"
	"\n"
	"  --share WORD     of a command: never, identical or auto, as in a config\n"
	"  --idle TIME      of a command: the server rests after TIME without a\n"
	"                   request; the next call starts the server again\n"
	"\n"
	"With a command after '--', the session has this one server, which gets all\n"
	"variables and the directory of connect; --server is its name. 'killick wrap\n"
	"--hub' writes this form into the configs of MCP clients.\n"
	"\n"
	"With one server the names of its tools are unchanged; with several servers they\n"
	"are SERVER__TOOL. See killick-hub(7).\n"
	"\n"
	"Exit status: 0 the client has ended the session; 64 usage; 65 config refused;\n"
	"69 no hub, or the hub refused or ended the session; 130 interrupted.\n";

static const char *const connect_share_words[] = { "", "never", "identical", "auto", NULL };

struct connect {
	const char *config, *tag;
	unsigned share, idle_ms; /* of a command */
	const char *names[NAMES_MAX + 1];
	unsigned count;
	char **command; /* of the only server; NULL: a config */
	char path[2 * PATH_MAX], cwd[PATH_MAX];
	char digest[SHA256_HEX_SIZE]; /* of the file of a project; "": any bytes */
};

static int connect_read_name(const char *text, void *to)
{
	struct connect *c = to;

	if (!*text || c->count == NAMES_MAX)
		return -EINVAL;
	c->names[c->count++] = text;
	return 0;
}

/* May the file of a project be used? stdin belongs to the client, so nobody can be asked. The hub
 * reads the file and refuses bytes with another digest. */
static bool connect_allows(struct connect *c, const char *file)
{
	struct client_file f = { .client = clients_of_path(file), .path = (char *)file };
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_ANY_SIZE);
	AUTO(configfile_done) struct configfile cf;

	configfile_open(&cf, &f);
	if (*cf.fault) {
		cli_say(VERB, "%s", cf.fault);
		return false;
	}
	trust_text(&cf, &text);
	trust_digest(&cf, c->digest);
	return trust_allows(VERB, &cf, &text, false);
}

/* Find the config, as an absolute path: the hub has another directory. 0 or an exit status. */
static int connect_find_config(struct connect *c)
{
	bool project = false;
	const char *file = c->command ? NULL : cli_find_config(c->config, &project);
	int r;

	if ((c->share || c->idle_ms) && !c->command)
		return cli_usage(VERB,
				 "'--%s' is for a command after '--'; a config has the key %s",
				 c->share ? "share" : "idle", c->share ? "share" : "idle");
	if (c->command && c->config)
		return cli_usage(VERB, "give '--config' or a command after '--', not both");
	if (c->command && !*c->command)
		return cli_usage(VERB, "there is no command after '--'");
	if (c->command && c->count > 1)
		return cli_usage(VERB, "a command is one server: give one '--server'");
	if (!dirs_current(c->cwd, sizeof(c->cwd))) {
		cli_say(VERB, "cannot find the current directory; it may have been removed");
		return EXIT_UNAVAILABLE;
	}
	if (c->command)
		return 0;
	if (!file)
		return cli_usage(VERB,
				 "no config: there is no .mcp.json, mcp.json or "
				 ".vscode/mcp.json in this directory; give --config FILE, or a "
				 "command after '--'");
	r = file_may_read(file);
	if (r < 0) {
		cli_say(VERB, "cannot read config '%s': %s", file, strerror(-r));
		return EXIT_CONFIG;
	}
	if (project && !connect_allows(c, file))
		return EXIT_CONFIG;
	if (path_kind(file) == PATH_RELATIVE)
		snprintf(c->path, sizeof(c->path), "%s%c%s", c->cwd, PATH_SEPARATOR, file);
	else
		snprintf(c->path, sizeof(c->path), "%s", file);
	return 0;
}

static void connect_emit_environment(struct emit *j)
{
	emit_open(j, "environ", '{');
	for (char **v = cli_environment(); *v; v++) {
		const char *equals = strchr(*v, '=');
		AUTO(buf_done) struct buf name = BUF_INIT(BUF_ANY_SIZE);

		if (!equals || equals == *v)
			continue;
		buf_add(&name, *v, (size_t)(equals - *v));
		emit_text(j, name.data, equals + 1, strlen(equals + 1));
	}
	emit_close(j);
}

static void connect_emit_command(const struct connect *c, struct emit *j)
{
	emit_open(j, "command", '[');
	for (char **word = c->command; *word; word++)
		emit_text(j, NULL, *word, strlen(*word));
	emit_close(j);
	if (c->count)
		emit_str(j, "name", c->names[0]);
	if (c->share)
		emit_str(j, "share", connect_share_words[c->share]);
	if (c->idle_ms)
		emit_int(j, "idleMs", c->idle_ms);
}

static void connect_request(const struct connect *c, struct buf *out)
{
	struct emit j = EMIT_INIT(out);

	emit_open(&j, NULL, '{');
	emit_str(&j, "jsonrpc", "2.0");
	emit_int(&j, "id", 1);
	emit_str(&j, "method", "session.attach");
	emit_open(&j, "params", '{');
	if (c->command)
		connect_emit_command(c, &j);
	else
		emit_str(&j, "config", c->path);
	if (*c->digest)
		emit_str(&j, "configDigest", c->digest);
	emit_str(&j, "cwd", c->cwd);
	emit_int(&j, "pid", process_parent());
	if (c->tag)
		emit_str(&j, "tag", c->tag);
	if (c->count && !c->command) {
		emit_open(&j, "only", '[');
		for (unsigned i = 0; i < c->count; i++)
			emit_str(&j, NULL, c->names[i]);
		emit_close(&j);
	}
	connect_emit_environment(&j);
	emit_close(&j);
	emit_close(&j);
	emit_end(&j);
}

/* The hub has refused the session. Returns -EBADMSG: the config; -EINVAL: an option; -EIO: other
 * reasons. */
static int connect_refused(struct json error, struct err *e)
{
	struct json reason = json_find(error, "data.reason");
	char text[sizeof(e->text)] = "";
	int64_t code = 0;

	json_string_into(json_get(error, "message"), text, sizeof(text));
	json_int(json_get(error, "code"), &code);
	if (json_is(reason, "config"))
		return err_set(e, -EBADMSG, "%s", text);
	return err_set(e, json_is(reason, "no-server") || code == BAD_PARAMS ? -EINVAL : -EIO, "%s",
		       text);
}

static int connect_status(int error)
{
	return error == -EBADMSG ? EXIT_CONFIG : error == -EINVAL ? EXIT_USAGE : EXIT_UNAVAILABLE;
}

/* Send the request to a hub and wait for the answer. 1; -ECONNRESET: the hub has closed the
 * connection; -errno. Each error has a sentence. */
static int connect_try(struct hub_talk *t, const struct buf *request, const struct net_fds *fds,
		       struct json *out, struct err *e)
{
	static const char ping[] = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"hub.ping\"}";
	int r = hub_talk_open(t, true, e);

	/* The descriptors are sent to a hub that answers: those that a hub does not read stay open
	 * in the queue of its socket, and the client would see no end of file. An older hub answers
	 * with an error. */
	if (r == 0)
		r = hub_talk_send(t, ping, sizeof(ping) - 1, NULL, e);
	if (r == 0)
		r = hub_talk_line(t, WAKE_MS, out, e);
	if (r == -ETIMEDOUT) {
		hub_talk_wake(t); /* a server may have stopped the hub */
		r = hub_talk_line(t, ATTACH_MS - WAKE_MS, out, e);
	}
	if (r == 1)
		r = hub_talk_send(t, request->data, request->len, fds, e);
	else if (r == 0)
		return err_set(e, -ECONNRESET, "the hub has closed the connection");
	if (r == -EPIPE)
		return -ECONNRESET;
	if (r == 0)
		r = hub_talk_line(t, ATTACH_MS, out, e);
	return r == 0 ? err_set(e, -ECONNRESET, "the hub has closed the connection") : r;
}

/* Send the request to a hub, which may be just ending: then the next hub gets it. 0, or -errno with
 * a sentence. */
static int connect_attach(const struct connect *c, struct hub_talk *t, const struct net_fds *fds,
			  struct err *e)
{
	AUTO(buf_done) struct buf request = BUF_INIT(BUF_ANY_SIZE);
	int64_t until_us = time_now_us() + RETRY_MS * 1000;
	struct json_fault fault;
	struct json line = JSON_NONE, all, error;
	int r;

	connect_request(c, &request);
	while ((r = connect_try(t, &request, fds, &line, e)) == -ECONNRESET &&
	       time_now_us() < until_us)
		time_sleep_ms(PAUSE_MS);
	if (r < 0)
		return r;
	if (json_check(line.at, line.len, 0, &all, &fault) < 0)
		return err_set(e, -EPROTO, "the answer of the hub is not JSON: %s", fault.reason);
	error = json_get(all, "error");
	return error.at ? connect_refused(error, e) : 0;
}

/* Wait for the end of the session, or of the client; returns the exit status. */
static int connect_wait(struct hub_talk *t)
{
	struct json_fault fault;
	struct json line, all, params;
	struct err e = ERR_INIT;
	char why[200] = "";
	bool asked = false;
	int r;

	while ((r = hub_talk_line(t, -1, &line, &e)) > 0) {
		if (json_check(line.at, line.len, 0, &all, &fault) < 0 ||
		    !json_is(json_get(all, "method"), "session.over"))
			continue;
		params = json_get(all, "params");
		json_bool(json_get(params, "asked"), &asked);
		if (!asked)
			return EXIT_SUCCESS;
		json_string_into(json_get(params, "why"), why, sizeof(why));
		cli_say(VERB, "the session was ended: %s", why);
		return json_is(json_get(params, "reason"), "config") ? EXIT_CONFIG
								     : EXIT_UNAVAILABLE;
	}
	if (r == -ESRCH) {
		hub_talk_wake(t); /* to handle the end; the hub wakes the keepers of its servers */
		return EXIT_SUCCESS;
	}
	cli_say(VERB, "the hub has ended, and the session with it; start the client again");
	return EXIT_UNAVAILABLE;
}

int verb_connect(int argc, char **argv)
{
	struct connect c = { .config = NULL };
	const struct option options[] = {
		{ "config", OPTION_TEXT, "a file", .text = &c.config },
		{ "server", OPTION_OTHER, "the name of a server, 64 times at most", .other = &c,
		  .read = connect_read_name },
		{ "share", OPTION_CHOICE, "never, identical or auto", .choice = &c.share,
		  .words = connect_share_words },
		{ "idle", OPTION_TIME, "a time such as 5m, at most 1h", .ms = &c.idle_ms,
		  .least = 1 },
		{ "session", OPTION_LABEL, "one line of at most 63 bytes", .text = &c.tag },
		{ .name = NULL },
	};
	AUTO(hub_talk_close) struct hub_talk t = HUB_TALK_INIT;
	struct cli_words words;
	struct net_fds fds = { .count = 2 };
	struct err e = ERR_INIT;
	int status, r;

	if (!cli_words(argc, argv, connect_help, options, &words, &status))
		return status;
	if (words.count)
		return cli_usage(VERB, "unexpected argument '%s'; a command goes after '--'",
				 words.list[0]);
	c.command = words.command;
	status = connect_find_config(&c);
	if (status)
		return status;
	if (console_is_terminal(FILE_STDIN))
		cli_say(VERB,
			"this is an MCP server: a client writes JSON-RPC messages to its stdin; "
			"put the command into the config of the client; Ctrl-D ends the "
			"session");
	for (int fd = FILE_STDIN; fd <= FILE_STDOUT; fd++) {
		if (!file_may_hang(fd))
			continue;
		cli_say(VERB,
			"%s is a file on a file system that may hang, and the hub with it; use a "
			"pipe, e.g. with cat",
			fd == FILE_STDIN ? "stdin" : "stdout");
		return EXIT_UNAVAILABLE;
	}
	r = ownstdio_take(&fds.list[0], &fds.list[1]);
	if (r < 0) {
		cli_say(VERB, "cannot use stdin and stdout: %s", strerror(-r));
		return EXIT_UNAVAILABLE;
	}
	hub_talk_follow_parent(&t);
	r = connect_attach(&c, &t, &fds, &e);
	net_drop_fds(&fds);
	if (r < 0) {
		cli_say(VERB, "%s", e.text);
		return connect_status(r);
	}
	return connect_wait(&t);
}
