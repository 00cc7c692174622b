/* hub_memory.c - memory of the hub, and the time to open a session. */
#include "hub.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"

#define SESSIONS 1000

static void session_params(char *out, size_t size, const char *config)
{
	snprintf(out, size, "{\"config\":\"%s\"}", config);
}

/* The member "session" of the answer. */
static void session_name(const char *answer, char out[32])
{
	const char *at = strstr(answer, "\"session\":\"");

	snprintf(out, 32, "%.*s", at ? (int)strcspn(at + 11, "\"") : 0, at ? at + 11 : "");
}

struct client { /* a session that was handed to the hub by descriptor, as `killick connect` does */
	int control, talk;
};

static bool client_open(struct client *c, const char *config)
{
	char line[1024], control[CMSG_SPACE(2 * sizeof(int))] = { 0 }, in[4096];
	struct iovec iov = { line, 0 };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *cm = CMSG_FIRSTHDR(&m);
	int pair[2];
	size_t len = 0;

	c->control = hub_connect();
	if (c->control < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return false;
	c->talk = pair[0];
	cm->cmsg_level = SOL_SOCKET;
	cm->cmsg_type = SCM_RIGHTS;
	cm->cmsg_len = CMSG_LEN(2 * sizeof(int));
	memcpy(CMSG_DATA(cm), (int[]){ pair[1], pair[1] }, 2 * sizeof(int));
	iov.iov_len = (size_t)snprintf(line, sizeof(line),
				       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session."
				       "attach\",\"params\":{\"config\":"
				       "\"%s\",\"pid\":%d,\"cwd\":\"/\",\"environ\":{}}}\n",
				       config, (int)getpid());
	if (sendmsg(c->control, &m, 0) < 0)
		return false;
	close(pair[1]);
	if (write(c->talk, bench_initialize, strlen(bench_initialize)) < 0)
		return false;
	while (len == 0 || in[len - 1] != '\n') { /* the answer to initialize */
		ssize_t n = read(c->talk, in + len, sizeof(in) - len);

		if (n <= 0)
			return false;
		len += (size_t)n;
	}
	return memmem(in, len, "\"result\"", 8) != NULL;
}

static void client_close(struct client *c)
{
	close(c->talk);
	close(c->control);
}

void hub_open(struct lib *b)
{
	struct samples api = { 0 }, client = { 0 };
	char params[600], name[32], session[64];
	struct hub h;

	hub_start(&h, b);
	session_params(params, sizeof(params), b->three);
	hub_do(&h, "session.create", params); /* keeps the servers running */
	for (size_t i = 0; i < lib_rounds(b, 300); i++) {
		struct client c;
		double t0 = now_us();

		session_name(hub_do(&h, "session.create", params), name);
		samples_add(&api, now_us() - t0);
		snprintf(session, sizeof(session), "{\"session\":\"%s\"}", name);
		hub_do(&h, "session.destroy", session);
		t0 = now_us();
		if (!client_open(&c, b->three))
			lib_die("session.attach", "failed");
		samples_add(&client, now_us() - t0);
		client_close(&c);
	}
	hub_stop(&h);
	report_text(
		&b->report,
		"## A session on running shared servers\n\nThree servers, which another session "
		"keeps running. `session.create` on an open connection: %.0f µs. A new "
		"connection that hands over its descriptors, until `initialize` is answered: "
		"%.0f µs.\n\n",
		samples_median(&api), samples_median(&client));
	report_target(&b->report, "hub, session opened on running shared servers, ms", "%.2f", 1,
		      samples_median(&api) / 1e3);
	report_target(&b->report, "hub, client attached to running shared servers, ms", "%.2f", 1,
		      samples_median(&client) / 1e3);
	samples_done(&api);
	samples_done(&client);
}

void hub_memory(struct lib *b)
{
	static struct client clients[SESSIONS];
	char params[600];
	double empty, servers, sessions;
	struct hub h;

	hub_start(&h, b);
	hub_do(&h, "hub.status", "{}");
	empty = hub_pss_kib(&h);
	session_params(params, sizeof(params), b->many);
	hub_do(&h, "session.create", params);
	servers = hub_pss_kib(&h);
	hub_stop(&h);
	hub_start(&h, b);
	for (size_t i = 0; i < SESSIONS; i++)
		if (!client_open(&clients[i], b->three))
			lib_die("session.attach", "failed");
	sessions = hub_pss_kib(&h);
	for (size_t i = 0; i < SESSIONS; i++)
		client_close(&clients[i]);
	hub_stop(&h);
	report_text(
		&b->report,
		"## Memory of the hub\n\nPSS of the hub's process, keepers and servers not "
		"counted. Empty: %.1f MiB; with 100 idle servers: %.1f MiB; with %d clients on 3 "
		"shared servers: %.1f MiB.\n\n",
		empty / 1024, servers / 1024, SESSIONS, sessions / 1024);
	report_target(&b->report, "hub with 100 idle servers, PSS in MiB", "%.1f", 8,
		      servers / 1024);
	report_target(&b->report, "hub with 1,000 sessions on 3 shared servers, PSS in MiB", "%.1f",
		      32, sessions / 1024);
}
