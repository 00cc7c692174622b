/* outpost.c - see outpost.h */
#include "outpost.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAIRS 16

/* --- the executor --- */

void outpost_open(struct outpost *o, const char *lease)
{
	const char *killick = t_program("KILLICK", "build/killick");
	char url[120], line[256];
	char *argv[] = { (char *)killick,
			 "exec-server",
			 "--listen",
			 url,
			 "--lease",
			 (char *)(lease ? lease : "30s"),
			 NULL };
	int out[2], log, stdio[3] = { -1, -1, -1 };

	snprintf(o->socket, sizeof(o->socket), "%s/executor", t_audit.dir);
	snprintf(o->gate_socket, sizeof(o->gate_socket), "%s/gate", t_audit.dir);
	snprintf(o->log, sizeof(o->log), "%s/log", t_audit.dir);
	snprintf(url, sizeof(url), "unix:%s", o->socket);
	OK(pipe2(out, O_CLOEXEC) == 0);
	log = open(o->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	OK(log >= 0);
	stdio[1] = out[1];
	stdio[2] = log;
	o->pid = t_spawn(argv, stdio);
	close(out[1]);
	close(log);
	OK(t_wait_fd(out[0], POLLIN, LAB_MS)); /* its address: it can be used */
	if (read(out[0], line, sizeof(line)) <= 0)
		FAIL("the executor did not start");
	close(out[0]);
}

void outpost_close(struct outpost *o)
{
	int status;

	OK(kill(o->pid, SIGTERM) == 0);
	status = t_wait_child(o->pid, LAB_MS);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		FAIL("the executor ended with status 0x%x", status);
	o->pid = 0;
	lab_reap();
}

void outpost_kill(struct outpost *o)
{
	OK(kill(o->pid, SIGKILL) == 0);
	OK(t_wait_child(o->pid, LAB_MS) != -1);
	o->pid = 0;
}

int outpost_logged(const struct outpost *o, const char *text)
{
	FILE *f = fopen(o->log, "r");
	char line[4096];
	int count = 0;

	OK(f);
	while (fgets(line, sizeof(line), f))
		count += strstr(line, text) != NULL;
	fclose(f);
	return count;
}

/* The log is written by a thread of its own. */
void outpost_await_log(const struct outpost *o, const char *text, int times)
{
	double until = t_now_ms() + LAB_MS;
	int count;

	while ((count = outpost_logged(o, text)) < times) {
		if (t_now_ms() > until)
			FAIL("'%s' is in the log %d times, not %d", text, count, times);
		poll(NULL, 0, 5);
	}
	EQ(count, times);
}

/* --- configs --- */

char *outpost_config_of(const char *environments, const struct lab_server *list)
{
	char *servers = lab_config(list), *text = NULL;

	OK(asprintf(&text, "{\"environments\":%s,%s", environments, servers + 1) > 0);
	free(servers);
	return text;
}

char *outpost_config(const struct outpost *o, bool gate, const struct lab_server *list)
{
	char environments[200];

	snprintf(environments, sizeof(environments), "{\"far\":{\"url\":\"unix:%s\"}}",
		 gate ? o->gate_socket : o->socket);
	return outpost_config_of(environments, list);
}

int outpost_try(struct killick *k, const char *config, struct killick_session **out,
		struct killick_error *e)
{
	return killick_session_open(k, &KILLICK_SESSION_OPTIONS(.config = config), out, e);
}

struct killick_session *outpost_session(struct killick *k, const struct outpost *o, bool gate,
					const struct lab_server *list)
{
	char *config = outpost_config(o, gate, list);
	struct killick_session *s = NULL;
	struct killick_error e = { 0 };

	if (outpost_try(k, config, &s, &e))
		FAIL("killick_session_open: %s", e.text);
	free(config);
	return s;
}

size_t outpost_started(void)
{
	pid_t pids[4096];

	return lab_pids(pids, 4096);
}

void outpost_await_nobody(void)
{
	double until = t_now_ms() + LAB_MS;

	while (lab_living() > 0) {
		if (t_now_ms() > until)
			FAIL("%zu servers live on", lab_living());
		poll(NULL, 0, 5);
	}
}

/* --- the gate --- */

struct pairs {
	int fd[PAIRS][2]; /* client, executor; -1: none */
};

static void pair_end(int fd[2])
{
	close(fd[0]);
	close(fd[1]);
	fd[0] = fd[1] = -1;
}

static int dial(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Pass on what is there. False: one side has left. */
static bool pass(int from, int to)
{
	char bytes[65536];
	ssize_t n = recv(from, bytes, sizeof(bytes), MSG_DONTWAIT), at = 0;

	if (n < 0 && errno == EAGAIN)
		return true;
	while (n > 0 && at < n) {
		ssize_t m = send(to, bytes + at, (size_t)(n - at), MSG_NOSIGNAL);

		if (m <= 0)
			return false;
		at += m;
	}
	return n > 0;
}

static void take_in(const struct gate *g, int listener, enum gate_state state, struct pairs *p)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	for (int i = 0; fd >= 0 && i < PAIRS; i++) {
		if (p->fd[i][0] >= 0 || state == GATE_SHUT)
			continue;
		p->fd[i][1] = dial(g->to->socket);
		if (p->fd[i][1] < 0)
			break;
		p->fd[i][0] = fd;
		return;
	}
	if (fd >= 0)
		close(fd);
}

/* One turn. False: it is over. */
static bool gate_turn(struct gate *g, int listener, struct pairs *p)
{
	enum gate_state state;
	struct pollfd fds[2 * PAIRS + 2];
	char drop[64];

	fds[0] = (struct pollfd){ .fd = g->wake[0], .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = listener, .events = POLLIN };
	state = __atomic_load_n(&g->state, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 2 * PAIRS; i++)
		fds[i + 2] = (struct pollfd){ .fd = state == GATE_STUCK ? -1 : p->fd[i / 2][i % 2],
					      .events = POLLIN };
	poll(fds, 2 * PAIRS + 2, -1);
	if (fds[0].revents && read(g->wake[0], drop, sizeof(drop)) < 0)
		return false;
	state = __atomic_load_n(&g->state, __ATOMIC_SEQ_CST);
	for (int i = 0; i < PAIRS; i++) {
		int *fd = p->fd[i];

		if (fd[0] < 0 || state == GATE_STUCK)
			continue;
		if (state != GATE_OPEN || (fds[2 * i + 2].revents && !pass(fd[0], fd[1])) ||
		    (fds[2 * i + 3].revents && !pass(fd[1], fd[0])))
			pair_end(fd);
	}
	if (fds[1].revents && state != GATE_STUCK)
		take_in(g, listener, state, p);
	return state != GATE_OVER;
}

static void *gate_run(void *arg)
{
	struct gate *g = arg;
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct pairs p;

	memset(&p, -1, sizeof(p));
	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", g->to->gate_socket);
	OK(bind(listener, (struct sockaddr *)&sa, sizeof(sa)) == 0 && listen(listener, 8) == 0);
	while (gate_turn(g, listener, &p))
		;
	for (int i = 0; i < PAIRS; i++)
		if (p.fd[i][0] >= 0)
			pair_end(p.fd[i]);
	close(listener);
	return NULL;
}

void gate_open(struct gate *g, const struct outpost *o)
{
	*g = (struct gate){ .to = o };
	OK(pipe2(g->wake, O_CLOEXEC) == 0);
	g->thread = lab_thread(gate_run, g);
	for (double until = t_now_ms() + LAB_MS; access(o->gate_socket, F_OK) < 0;) {
		OK(t_now_ms() < until);
		poll(NULL, 0, 1);
	}
}

void gate_set(struct gate *g, enum gate_state state)
{
	__atomic_store_n(&g->state, state, __ATOMIC_SEQ_CST);
	OK(write(g->wake[1], "x", 1) == 1);
}

void gate_close(struct gate *g)
{
	gate_set(g, GATE_OVER);
	pthread_join(g->thread, NULL);
	close(g->wake[0]);
	close(g->wake[1]);
}
