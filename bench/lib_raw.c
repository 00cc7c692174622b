/* lib_raw.c - the limit: a client that writes lines and waits for newlines. */
#include "lib.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "server.h"

#define CROWD_MAX 256

static const char initialized[] =
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";

struct raw {
	bool hub;   /* the server is behind the hub */
	bool relay; /* a process between copies bytes */
	struct server one, crowd[CROWD_MAX];
	size_t crowd_count;
};

static bool write_all(int fd, const char *p, size_t len)
{
	while (len) {
		ssize_t n = write(fd, p, len);

		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

/* Wait for `count` lines. */
static bool read_lines(int fd, size_t count)
{
	static char buf[1 << 20];

	while (count) {
		ssize_t n = read(fd, buf, sizeof(buf));

		if (n <= 0)
			return false;
		for (const char *p = buf; (p = memchr(p, '\n', (size_t)(buf + n - p))); p++)
			count--;
	}
	return true;
}

static bool greet(struct server *s)
{
	return write_all(s->in, bench_initialize, strlen(bench_initialize));
}

static bool greeted(struct server *s)
{
	return read_lines(s->out, 1) && write_all(s->in, initialized, strlen(initialized));
}

static bool raw_start(void *state, const struct lib *b)
{
	struct raw *raw = state;
	struct server *s = &raw->one;
	const char *direct[] = { b->echo, raw->relay ? "relay" : "mcp", NULL };
	const char *hub[] = { b->killick, "connect", "--config", b->config, NULL };

	return server_start(s, raw->hub ? hub : direct, NULL) == 0 && greet(s) && greeted(s);
}

static void raw_stop(void *state)
{
	server_finish(&((struct raw *)state)->one);
}

/* Twice `window` requests, one behind the other; `window` consecutive ones have different ids. */
static char *requests(size_t text_len, size_t window, size_t *out_len)
{
	static const char format[] = "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"tools/call\","
				     "\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"";
	static const char tail[] = "\"}}}\n";
	char head[sizeof(format) + 16];
	size_t head_len = (size_t)snprintf(head, sizeof(head), format, (size_t)1000);
	size_t len = head_len + text_len + strlen(tail), count = 2 * window;
	char *all = malloc(len * count);

	if (!all)
		exit(70);
	memset(all, 'x', len * count);
	for (size_t i = 0; i < count; i++) {
		snprintf(head, sizeof(head), format, 1000 + i % window);
		memcpy(all + i * len, head, head_len);
		memcpy(all + (i + 1) * len - strlen(tail), tail, strlen(tail));
	}
	*out_len = len;
	return all;
}

static bool one_by_one(struct server *s, const struct burst *u, const char *line, size_t len)
{
	for (size_t i = 0; i < u->count; i++)
		if (!write_all(s->in, line, len) || !read_lines(s->out, 1))
			return false;
	return true;
}

/* The requests that fit into the window go out in one write, as a pipelining client's would. */
static bool pipelined(struct server *s, const struct burst *u, const char *lines, size_t len)
{
	static char buf[1 << 20];
	size_t sent = 0, got = 0; /* bytes, answers */

	while (got < u->count) {
		size_t room = (got + u->window < u->count ? got + u->window : u->count) * len;
		struct pollfd p[2] = { { .fd = s->out, .events = POLLIN },
				       { .fd = sent < room ? s->in : -1, .events = POLLOUT } };
		ssize_t n;

		if (poll(p, 2, SERVER_DEADLINE_MS) <= 0)
			return false;
		if (p[1].revents) {
			n = write(s->in, lines + sent % (u->window * len), room - sent);
			if (n < 0 && errno != EAGAIN)
				return false;
			sent += n > 0 ? (size_t)n : 0;
		}
		if (p[0].revents) {
			n = read(s->out, buf, sizeof(buf));
			if (n <= 0)
				return false;
			for (const char *at = buf; (at = memchr(at, '\n', (size_t)(buf + n - at)));
			     at++)
				got++;
		}
	}
	return true;
}

static double raw_burst(void *state, const struct burst *u)
{
	struct server *s = &((struct raw *)state)->one;
	int flags = fcntl(s->in, F_GETFL);
	size_t len;
	char *lines = requests(u->len, u->window, &len);
	double t0 = now_us();
	bool ok;

	if (u->window > 1)
		fcntl(s->in, F_SETFL, flags | O_NONBLOCK);
	ok = u->window > 1 ? pipelined(s, u, lines, len) : one_by_one(s, u, lines, len);
	t0 = now_us() - t0;
	fcntl(s->in, F_SETFL, flags);
	free(lines);
	return ok ? t0 : -1;
}

static double raw_launch(void *state, const struct lib *b, size_t count)
{
	const char *argv[] = { b->echo, "mcp", NULL };
	struct raw *raw = state;
	double t0 = now_us();
	bool ok = count <= CROWD_MAX;

	for (size_t i = 0; ok && i < count; i++)
		ok = server_start(&raw->crowd[i], argv, NULL) == 0 && greet(&raw->crowd[i]);
	for (size_t i = 0; ok && i < count; i++)
		ok = greeted(&raw->crowd[i]);
	raw->crowd_count = count;
	return ok ? (now_us() - t0) / 1e3 : -1;
}

static double raw_end(void *state)
{
	struct raw *raw = state;
	double t0 = now_us();
	int status = 0;

	for (size_t i = 0; i < raw->crowd_count; i++)
		server_hang_up(&raw->crowd[i]);
	for (size_t i = 0; i < raw->crowd_count; i++) {
		waitpid(raw->crowd[i].pid, &status, 0);
		close(raw->crowd[i].out);
	}
	return (now_us() - t0) / 1e3;
}

static struct raw first, second, behind = { .hub = true }, relayed = { .relay = true };

#define RAW(name_, state_, ...)                                                                    \
	{                                                                                          \
		.name = name_, .state = state_, .start = raw_start, .burst = raw_burst,            \
		.stop = raw_stop, .launch = raw_launch, .end = raw_end, ##__VA_ARGS__              \
	}
const struct talker talker_raw = RAW("raw C", &first);
const struct talker talker_raw_again = RAW("raw C again", &second); /* its ratio is the noise */
const struct talker talker_hub = RAW("killick hub", &behind);
/* the least that a hub can cost; its writes block, so a full pipe would stop it */
const struct talker talker_relay = RAW("C relay", &relayed, .one_only = true);
