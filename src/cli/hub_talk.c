/* hub_talk.c - see hub_talk.h */
#include "hub_talk.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/emit.h"
#include "cli.h"
#include "hub_place.h"
#include "os/dirs.h"
#include "os/env.h"
#include "os/fd.h"
#include "os/interrupt.h"
#include "os/pipe.h"
#include "os/poller.h"
#include "os/process.h"
#include "os/spawn.h"
#include "os/time.h"

#define START_MS  10000  /* for a hub to listen */
#define STEP_MS   20     /* the longest pause between two attempts */
#define AGAIN_MS  2000   /* between two attempts to start a hub */
#define ALIVE_MS  5000   /* for hub.status, which the hub answers at once */
#define ANSWER_MS 120000 /* the end of many servers takes time */
#define SEND_MS   30000  /* for a hub to read a request */
#define PIECE     4096

/* --- starting a hub --- */

/* Start a hub that is not a child of this process. The hub exits when it is not used, and at once
 * when another hub was faster. */
static int hub_talk_start(struct err *e)
{
	char program[PATH_MAX];
	char *argv[] = { "killick", "hub", "--detached", NULL };
	struct spawn s = { .path = program, .argv = argv, .envp = cli_environment() };
	struct spawned hub;
	const char *failed;
	int null = -1, r;

	if (env_get("KILLICK_TREE"))
		cli_say("connect",
			"the hub is started inside a tree of 'killick run' and ends with "
			"it; start 'killick hub' first, or use connect without run");
	if (!dirs_program(program, sizeof(program)))
		return err_set(e, -ENOENT, "cannot find the program of this process");
	r = pipe_null(&null);
	if (r < 0)
		return err_set(e, r, "cannot open the null device: %s", strerror(-r));
	for (int i = 0; i < SPAWN_FDS; i++)
		s.fds[i] = null;
	r = spawn_detached(&s, &hub, &failed);
	fd_close(null);
	if (r < 0)
		return err_set(e, r, "cannot start the hub: %s: %s%s", failed ? failed : program,
			       strerror(-r), err_next(r));
	spawn_reap(hub.process, hub.pid);
	fd_drop(&hub.process);
	return 0;
}

int hub_talk_open(struct hub_talk *t, bool start, struct err *e)
{
	int64_t began_us = time_now_us(), started_us = 0;
	int step_ms = 1, r;

	hub_talk_close(t);
	for (;;) {
		int64_t now_us = time_now_us();

		t->fd = hub_place_connect(t->path, e);
		if (t->fd >= 0)
			return 0;
		r = t->fd;
		t->fd = -1;
		if (!start || (r != -ENOENT && r != -EAGAIN))
			return r;
		if (now_us - began_us > START_MS * 1000)
			return err_set(e, -ETIMEDOUT,
				       "the hub that was started does not listen on %s after %d s; "
				       "start it by hand to see why: killick hub",
				       t->path, START_MS / 1000);
		if (r == -ENOENT && (!started_us || now_us - started_us > AGAIN_MS * 1000)) {
			r = hub_talk_start(e);
			if (r < 0)
				return r;
			started_us = now_us;
		}
		time_sleep_ms(step_ms);
		step_ms = step_ms < STEP_MS ? step_ms * 2 : STEP_MS;
	}
}

void hub_talk_follow_parent(struct hub_talk *t)
{
	process_wake_with_parent(); /* before the parent is read, which may end now */
	t->parent = process_parent();
	t->parent_fd = t->parent ? process_open(t->parent) : -1;
	if (t->parent_fd < 0)
		t->parent_fd = -1;
}

static bool hub_talk_is_orphan(const struct hub_talk *t)
{
	return t->parent && process_parent() != t->parent;
}

/* --- messages --- */

/* Wait until the hub has read something, the parent has ended, or the time is over. */
static void hub_talk_await_room(const struct hub_talk *t, int wait_ms)
{
	AUTO(fd_drop) int poller = poller_open();
	struct poller_event event;

	if (poller < 0 || poller_add(poller, t->fd, POLLER_OUT, 0) < 0) {
		time_sleep_ms(STEP_MS);
		return;
	}
	if (t->parent_fd >= 0)
		poller_add(poller, t->parent_fd, POLLER_IN, 0);
	poller_wait(poller, &event, 1, wait_ms);
}

int hub_talk_send(struct hub_talk *t, const char *text, size_t len, const struct net_fds *fds,
		  struct err *e)
{
	AUTO(buf_done) struct buf line = BUF_INIT(BUF_ANY_SIZE);
	struct net_fds left = { .count = 0 };
	int64_t until_us = time_now_us() + SEND_MS * 1000;
	size_t at = 0;

	buf_add(&line, text, len);
	buf_add(&line, "\n", 1);
	if (fds)
		left = *fds;
	while (at < line.len) {
		ssize_t n = net_send_fds(t->fd, line.data + at, line.len - at, &left);

		if (n > 0) {
			at += (size_t)n;
			left.count = 0;
		} else if (n == -EAGAIN) {
			int64_t left_us = until_us - time_now_us();

			if (hub_talk_is_orphan(t))
				return err_set(e, -ESRCH, "the client has ended");
			if (left_us <= 0)
				return err_set(e, -ETIMEDOUT, "the hub does not read the request");
			hub_talk_await_room(t, (int)(left_us / 1000) + 1);
		} else if (n != -EINTR) {
			return err_set(e, (int)n, "cannot write to the hub: %s", strerror((int)-n));
		}
	}
	return 0;
}

int hub_talk_line(struct hub_talk *t, int64_t timeout_ms, struct json *out, struct err *e)
{
	int64_t until_us = time_now_us() + timeout_ms * 1000;
	size_t scanned = 0;

	buf_drop(&t->in, t->line_len);
	t->line_len = 0;
	if (!t->in.len)
		buf_done(&t->in); /* the wait may be long */
	for (;;) {
		const char *end = memchr(t->in.data + scanned, '\n', t->in.len - scanned);
		int wait_ms = -1;
		char *room;
		ssize_t n;

		if (end) {
			t->line_len = (size_t)(end - t->in.data) + 1;
			*out = (struct json){ t->in.data, t->line_len - 1 };
			return 1;
		}
		scanned = t->in.len;
		if (buf_reserve(&t->in, PIECE) < 0)
			return err_set(e, -EMSGSIZE, "the answer of the hub is too long");
		room = t->in.data + t->in.len;
		n = net_receive(t->fd, room, PIECE);
		if (n > 0) {
			t->in.len += (size_t)n;
			t->in.data[t->in.len] = '\0';
			continue;
		}
		if (n == 0)
			return 0;
		if (n != -EAGAIN && n != -EINTR)
			return n == -ECONNRESET ? 0
						: err_set(e, (int)n, "cannot read from the hub: %s",
							  strerror((int)-n));
		if (hub_talk_is_orphan(t))
			return err_set(e, -ESRCH, "the client has ended");
		if (timeout_ms >= 0) {
			int64_t left_us = until_us - time_now_us();

			if (left_us <= 0)
				return err_set(e, -ETIMEDOUT, "the hub does not answer");
			wait_ms = (int)(left_us / 1000) + 1;
		}
		interrupt_wait(t->parent_fd, t->fd, wait_ms);
	}
}

/* Send the request and wait for the line of its answer. */
static int hub_talk_exchange(struct hub_talk *t, const char *method, const char *params,
			     struct json *out, struct err *e)
{
	AUTO(buf_done) struct buf b = BUF_INIT(BUF_ANY_SIZE);
	bool quick = strcmp(method, "hub.status") == 0;
	int r;

	buf_addf(&b, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%s}", method,
		 params);
	r = hub_talk_send(t, b.data, b.len, NULL, e);
	if (r == 0)
		r = hub_talk_line(t, quick ? ALIVE_MS : ANSWER_MS, out, e);
	else if (r < 0)
		return r;
	if (r == 0)
		return err_set(e, -ECONNRESET, "the hub has ended before it answered");
	/* no pid: with a socket of a service manager the peer of the socket is that manager */
	return r == -ETIMEDOUT && quick
		       ? err_set(e, r,
				 "the hub does not answer within %d s; end the process 'killick "
				 "hub' with SIGKILL, and its servers end with it",
				 ALIVE_MS / 1000)
		       : r;
}

int hub_talk_ask(struct hub_talk *t, const char *method, const char *params, struct json *out,
		 struct err *e)
{
	struct json_fault fault;
	struct json line = JSON_NONE, all, error;
	char text[sizeof(e->text)] = "";
	int r = hub_talk_exchange(t, method, params, &line, e);

	if (r < 0)
		return r;
	if (json_check(line.at, line.len, 0, &all, &fault) < 0)
		return err_set(e, -EBADMSG, "the answer of the hub is not JSON: %s", fault.reason);
	error = json_get(all, "error");
	if (error.at) {
		json_string_into(json_get(error, "message"), text, sizeof(text));
		return err_set(e, -EIO, "%s", text);
	}
	*out = json_get(all, "result");
	return 0;
}

void hub_talk_wake(const struct hub_talk *t)
{
	struct net_peer who;
	AUTO(fd_drop) int process = net_peer(t->fd, &who) ? net_peer_process(t->fd, who.pid) : -1;

	if (process >= 0)
		process_continue(process);
}

void hub_talk_close(struct hub_talk *t)
{
	fd_drop(&t->fd);
	buf_done(&t->in);
	t->line_len = 0;
}
