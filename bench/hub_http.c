/* hub_http.c - the gateways from npm: mcp-proxy (Streamable HTTP) and mcp-hub (its HTTP API). The
 * client is the smallest that works: one connection for each call in flight, and of an answer it
 * looks for the end only. */
#include "hub.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define MAX_WINDOW 64
#define START_MS   20000

struct wire { /* one connection */
	int fd;
	char *in;
	size_t len, room;
	char *post; /* a request */
	size_t post_len;
};

struct gateway {
	const char *program; /* in node_modules/.bin */
	int port;
	bool proxy; /* mcp-proxy, else mcp-hub */
	struct server process;
	char session[128];
	struct wire wires[MAX_WINDOW];
};

static int wire_connect(int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
		close(fd);
		return -1;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	return fd;
}

static bool wire_renew(struct wire *w, int port)
{
	close(w->fd);
	w->fd = wire_connect(port);
	return w->fd >= 0;
}

/* A free port of the loopback. */
static int free_port(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port = 0;

	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0 &&
	    getsockname(fd, (struct sockaddr *)&a, &len) == 0)
		port = ntohs(a.sin_port);
	close(fd);
	return port;
}

/* Is the answer complete? Then the connection is free for the next. */
static bool wire_is_complete(const struct wire *w)
{
	const char *body, *length;

	if (w->len < 4 || !(body = memmem(w->in, w->len, "\r\n\r\n", 4)))
		return false;
	body += 4;
	length = strcasestr(w->in, "content-length:");
	if (length && length < body)
		return (size_t)(w->in + w->len - body) >= strtoul(length + 15, NULL, 10);
	return w->len >= 7 && !memcmp(w->in + w->len - 7, "\r\n0\r\n\r\n", 7);
}

static bool wire_read(struct wire *w)
{
	ssize_t n;

	if (w->room - w->len < 65536) {
		w->room = w->room * 2 + 131072;
		w->in = realloc(w->in, w->room);
		if (!w->in)
			exit(70);
	}
	n = read(w->fd, w->in + w->len, w->room - w->len - 1);
	if (n <= 0)
		return false;
	w->len += (size_t)n;
	w->in[w->len] = '\0';
	return true;
}

static bool wire_write(const struct wire *w, const char *p, size_t len)
{
	while (len > 0) {
		ssize_t n = write(w->fd, p, len);

		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

/* A whole POST with this body; the caller frees it. */
static char *gateway_post(const struct gateway *g, const char *body, size_t *out_len)
{
	char *text = NULL;
	int n = asprintf(
		&text,
		"POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
		"Accept: application/json, text/event-stream\r\n%s%s%sContent-Length: "
		"%zu\r\n\r\n%s",
		g->proxy ? "/mcp" : "/api/servers/tools", g->port,
		g->session[0] ? "Mcp-Session-Id: " : "", g->session, g->session[0] ? "\r\n" : "",
		strlen(body), body);

	if (n < 0)
		exit(70);
	*out_len = (size_t)n;
	return text;
}

static bool gateway_exchange(struct gateway *g, const char *body)
{
	struct wire *w = &g->wires[0];
	size_t len;
	char *text = gateway_post(g, body, &len);
	bool ok = wire_write(w, text, len);

	w->len = 0;
	while (ok && !wire_is_complete(w))
		ok = wire_read(w);
	free(text);
	return ok;
}

static char *gateway_call(const struct gateway *g, size_t id, size_t text_len)
{
	char *text = malloc(text_len + 1), *body = NULL;

	if (!text)
		exit(70);
	memset(text, 'x', text_len);
	text[text_len] = '\0';
	if ((g->proxy ? asprintf(&body,
				 "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"tools/call\","
				 "\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"%s\"}}}",
				 100 + id, text)
		      : asprintf(&body,
				 "{\"server_name\":\"s0\",\"tool\":\"echo\",\"arguments\":{"
				 "\"text\":\"%s\"}}",
				 text)) < 0)
		exit(70);
	free(text);
	return body;
}

/* The first call works. mcp-hub listens before its servers are up. */
static bool gateway_greet(struct gateway *g, double end)
{
	struct wire *w = &g->wires[0];
	char *call = gateway_call(g, 0, 1), *at;
	bool ok = false;

	if (g->proxy) {
		ok = gateway_exchange(g, bench_initialize);
		at = ok ? strcasestr(w->in, "mcp-session-id: ") : NULL;
		if (at)
			snprintf(g->session, sizeof(g->session), "%.*s",
				 (int)strcspn(at + 16, "\r\n"), at + 16);
		ok = ok && at &&
		     gateway_exchange(g, "{\"jsonrpc\":\"2.0\",\"method\":"
					 "\"notifications/initialized\"}") &&
		     gateway_exchange(g, call) && strstr(w->in, "\"text\":\"x\"");
	}
	while (!g->proxy && !ok && now_us() < end) {
		ok = gateway_exchange(g, call) && strstr(w->in, "\"text\":\"x\"");
		if (!ok)
			nanosleep(&(struct timespec){ 0, 100000000 }, NULL);
	}
	free(call);
	return ok;
}

static pid_t gateways[2]; /* that run */

static void gateways_kill(void)
{
	for (int i = 0; i < 2; i++)
		if (gateways[i] > 0)
			kill(gateways[i], SIGKILL);
}

static bool gateway_start(void *state, const struct lib *b)
{
	struct gateway *g = state;
	double end = now_us() + 1e3 * START_MS;
	char program[512], port[16];
	const char *proxy[] = { "node",     program,  "--port", port,    "--host", "127.0.0.1",
				"--server", "stream", "--",     b->echo, "mcp",    NULL };
	const char *hub[] = { "node", program, "--port", port, "--config", b->config, NULL };

	g->port = free_port();
	g->session[0] = '\0';
	snprintf(port, sizeof(port), "%d", g->port);
	snprintf(program, sizeof(program), "%s/.bin/%s", b->peers, g->program);
	if (server_start(&g->process, g->proxy ? proxy : hub, NULL) < 0)
		return false;
	if (gateways[g->proxy] == 0)
		atexit(gateways_kill);
	gateways[g->proxy] = g->process.pid;
	for (int i = 0; i < MAX_WINDOW; i++) {
		while ((g->wires[i].fd = wire_connect(g->port)) < 0) {
			if (now_us() > end)
				return false;
			nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
		}
	}
	return gateway_greet(g, end);
}

/* The POST of a call on each connection; ids must differ while they are in flight. */
static void gateway_prepare(struct gateway *g, const struct burst *u)
{
	for (size_t i = 0; i < u->window; i++) {
		char *body = gateway_call(g, i, u->len);

		free(g->wires[i].post);
		g->wires[i].post = gateway_post(g, body, &g->wires[i].post_len);
		free(body);
	}
}

static bool gateway_send(struct gateway *g, size_t i)
{
	g->wires[i].len = 0;
	return wire_write(&g->wires[i], g->wires[i].post, g->wires[i].post_len);
}

static double gateway_burst(void *state, const struct burst *u)
{
	struct gateway *g = state;
	size_t sent = 0, got = 0;
	struct pollfd p[MAX_WINDOW];
	bool ok = u->window <= MAX_WINDOW;
	double t0;

	gateway_prepare(g, u);
	for (size_t i = 0; ok && i < u->window; i++) /* idle connections may have been closed */
		ok = wire_renew(&g->wires[i], g->port);
	t0 = now_us();
	for (size_t i = 0; ok && i < u->window; i++) {
		p[i] = (struct pollfd){ .fd = g->wires[i].fd, .events = POLLIN };
		ok = gateway_send(g, i);
		sent++;
	}
	while (ok && got < u->count) {
		ok = poll(p, u->window, SERVER_DEADLINE_MS) > 0;
		for (size_t i = 0; ok && i < u->window; i++) {
			if (!p[i].revents)
				continue;
			ok = wire_read(&g->wires[i]);
			if (!ok || !wire_is_complete(&g->wires[i]))
				continue;
			got++;
			if (sent < u->count)
				ok = gateway_send(g, i);
			sent += sent < u->count;
		}
	}
	return ok ? now_us() - t0 : -1;
}

static void gateway_stop(void *state)
{
	struct gateway *g = state;

	for (int i = 0; i < MAX_WINDOW; i++)
		close(g->wires[i].fd);
	kill(g->process.pid, SIGTERM);
	server_finish(&g->process);
	gateways[g->proxy] = -1;
}

static struct gateway proxy = { .program = "mcp-proxy", .proxy = true };
static struct gateway mcp_hub = { .program = "mcp-hub" };

const struct talker talker_proxy = { .name = "mcp-proxy",
				     .state = &proxy,
				     .start = gateway_start,
				     .burst = gateway_burst,
				     .stop = gateway_stop,
				     .slower = 20 };
const struct talker talker_mcp_hub = { .name = "mcp-hub",
				       .state = &mcp_hub,
				       .start = gateway_start,
				       .burst = gateway_burst,
				       .stop = gateway_stop,
				       .slower = 20 };
