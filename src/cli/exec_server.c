/* exec_server.c - `killick exec-server`: the executor as a program. The loop's thread does all the
 * work. The main thread waits for signals, and reaps orphans when it is pid 1 of a container. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/loop.h"
#include "base/mem.h"
#include "cli.h"
#include "exec_log.h"
#include "exec_options.h"
#include "executor/executor.h"
#include "link/link.h"
#include "net/channel.h"
#include "net/listen.h"
#include "os/ownstdio.h"
#include "os/spawn.h"
#include "os/stop.h"

#define VERB     "exec-server"
#define GRACE_MS 2000
#define SEND_MAX                                                                                   \
	(32u << 20) /* limit of unsent bytes for one client; reading output stops long before */

struct exec_server {
	struct exec_options options;
	struct exec_log *log; /* NULL: quiet */
	struct loop *loop;
	struct executor *executor;
	struct listener *listener; /* NULL: stdio, or the executor is ending */
	bool over;                 /* the executor is closed; protected by the loop's lock */
};

static void serve_on_log(void *ctx, const char *line)
{
	struct exec_server *s = ctx;

	if (s->log)
		exec_log_line(s->log, line);
}

static void serve_on_channel(void *ctx, struct channel *c)
{
	struct exec_server *s = ctx;

	executor_adopt(s->executor, c, false, NULL, NULL);
}

static void on_executor_closed(void *ctx)
{
	struct exec_server *s = ctx;

	s->over = true;
	stop_wake();
}

static void serve_on_turn(void *ctx)
{
	(void)ctx;
}

/* --- start --- */

/* Raise the soft limit of open files: each connection and each process needs descriptors, and 1024
 * is soon reached. Started programs get the original limit. Connections that have not called
 * initialize get a quarter of the descriptors at most. */
static void raise_files_limit(struct seats_limits *seats)
{
	unsigned long files = spawn_raise_limit();

	if (!files)
		return;
	if (files / 4 < seats->full)
		seats->full = files >= 8 ? (unsigned)(files / 4) : 2;
	if (seats->start > seats->full)
		seats->start = seats->full;
}

static void on_stdio_gone(void *ctx)
{
	struct exec_server *s = ctx;

	executor_close(s->executor, 0);
}

static int serve_stdio(struct exec_server *s, struct err *e)
{
	struct channel *c;
	int in = -1, out = -1, r = ownstdio_take(&in, &out);

	if (r < 0)
		return err_set(e, r, "cannot use stdin and stdout: %s", strerror(-r));
	r = channel_over_fds(s->loop, in, out, SEND_MAX, NULL, NULL, &c, e);
	if (r == 0)
		executor_adopt(s->executor, c, true, on_stdio_gone, s);
	return r;
}

static int serve_listener(struct exec_server *s, struct err *e)
{
	static const struct listen_events events = { .on_channel = serve_on_channel,
						     .on_note = serve_on_log };
	const struct listen_spec spec = {
		.url = &s->options.url,
		.fd = s->options.fd,
		.cert_file = s->options.cert_file,
		.key_file = s->options.key_file,
		.token_sha256 = s->options.has_token ? s->options.token_sha256 : NULL,
		.seats = s->options.seats,
		.send_limit = SEND_MAX,
	};

	return listener_open(s->loop, &spec, &events, s, &s->listener, e);
}

static int open_executor(struct exec_server *s, const char *keeper, struct err *e)
{
	const struct executor_options options = {
		.keeper = keeper,
		.envp = cli_environment(),
		.contain = s->options.contain,
		.sandbox = s->options.sandbox[0] ? s->options.sandbox : NULL,
		.lease_ms = s->options.lease_ms,
		.retain_ms = s->options.retain_ms,
		.max_processes = s->options.max_processes,
		.max_output = (size_t)s->options.max_output,
		.ctx = s,
		.on_log = serve_on_log,
		.on_closed = on_executor_closed,
	};

	return executor_open(s->loop, &options, &s->executor, e);
}

/* Print the address, and warn if there is no token: every user can connect to a port, and only a
 * token tells users apart. */
static void announce(const struct exec_server *s)
{
	const char *url = listener_url(s->listener);

	if (s->options.url.kind != URL_UNIX && !s->options.has_token && !s->options.insecure)
		cli_say(VERB,
			"every user of this machine can run programs as this user through %s; use "
			"--token-file FILE or --listen unix:PATH, or --insecure to allow this",
			url);
	if (printf("%s\n", url) < 0 || fflush(stdout) != 0)
		cli_say(VERB, "cannot print the address %s: %s", url, strerror(errno));
}

static int find_keeper(char **out, struct err *e)
{
	char beside[PATH_MAX + 32];
	bool found = cli_find_keeper(beside, sizeof(beside));

	return link_keeper_path(found ? beside : NULL, out, e);
}

static int serve_begin(struct exec_server *s, struct err *e)
{
	AUTO(mem_drop) char *keeper = NULL;
	int r = find_keeper(&keeper, e);

	if (r == 0)
		r = loop_open(&s->loop, serve_on_turn, s, e);
	if (r < 0)
		return r;
	loop_lock(s->loop);
	loop_eager(s->loop);
	r = open_executor(s, keeper, e);
	if (r == 0)
		r = s->options.url.kind == URL_STDIO ? serve_stdio(s, e) : serve_listener(s, e);
	loop_unlock(s->loop);
	return r;
}

/* --- end --- */

static void begin_end(struct exec_server *s, unsigned grace_ms)
{
	loop_lock(s->loop);
	if (s->listener)
		listener_close(s->listener);
	s->listener = NULL;
	executor_close(s->executor, grace_ms);
	loop_unlock(s->loop);
}

static bool serve_is_over(struct exec_server *s)
{
	bool over;

	loop_lock(s->loop);
	over = s->over;
	loop_unlock(s->loop);
	return over;
}

/* The first request ends every process with a grace, the second without. */
static void serve(struct exec_server *s)
{
	unsigned grace_ms = GRACE_MS;

	while (!serve_is_over(s)) {
		if (stop_wait()) {
			begin_end(s, grace_ms);
			grace_ms = 0;
		}
	}
}

int verb_exec_server(int argc, char **argv)
{
	struct exec_server s = { .log = NULL };
	struct err e = ERR_INIT;
	int status;

	if (!exec_options_read(argc, argv, &s.options, &status))
		return status;
	stop_init();
	raise_files_limit(&s.options.seats);
	s.log = s.options.quiet ? NULL : exec_log_open(2);
	if (serve_begin(&s, &e) < 0) {
		cli_say(VERB, "%s", e.text);
		return EXIT_UNAVAILABLE; /* no process was started yet */
	}
	if (s.listener)
		announce(&s);
	serve(&s);
	loop_lock(s.loop);
	executor_free(s.executor);
	loop_unlock(s.loop);
	loop_close(s.loop);
	if (s.log)
		exec_log_close(s.log);
	return EXIT_SUCCESS;
}
