/* flood.c - connections that say nothing, or hardly anything, and never stop coming: owners come in
 * all the same, and those that are cut come back in time.
 *
 * The flood is a process of its own. It holds so many connections at once and replaces each of them
 * as soon as it is dropped.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"
#include "t.h"

#define HELD     96 /* connections of the flood: more than there are places */
#define ATTEMPTS 40
#define LIMITS   "--max-connections", "32", "--max-startups", "16:30:64"
#define RETRY_MS 100   /* as our client does, */
#define COME_MS  20000 /* which gives up after 25 s */

struct flood {
	pid_t pid;
	const char *says; /* on each connection, when it is made */
	bool drips;       /* and a byte now and then */
};

static int flood_connect(const struct host *h, const struct flood *f)
{
	int fd = guest_port(h);

	(void)!send(fd, f->says, strlen(f->says), MSG_NOSIGNAL);
	return fd;
}

/* Ends by a signal, or after a minute, or with its parent. */
static _Noreturn void flood_run(const struct host *h, const struct flood *f, int ready)
{
	struct pollfd all[HELD];
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(60);
	ready = dup2(ready, 3); /* and no connection of the test's own */
	close_range(4, ~0u, 0);
	for (int i = 0; i < HELD; i++)
		all[i] = (struct pollfd){ flood_connect(h, f), POLLIN, 0 };
	(void)!write(ready, "x", 1);
	for (;;) {
		poll(all, HELD, f->drips ? 200 : -1);
		for (int i = 0; i < HELD; i++) {
			if (f->drips)
				(void)!send(all[i].fd, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
			if (!all[i].revents || recv(all[i].fd, &byte, 1, MSG_DONTWAIT) > 0)
				continue;
			close(all[i].fd);
			all[i].fd = flood_connect(h, f);
		}
	}
}

/* Returns when all of it is there. */
static void flood_begin(struct flood *f, const struct host *h)
{
	int ready[2];
	char c;

	EQ(pipe2(ready, O_CLOEXEC), 0);
	f->pid = fork();
	OK(f->pid >= 0);
	if (f->pid == 0)
		flood_run(h, f, ready[1]);
	close(ready[1]);
	OK(t_wait_fd(ready[0], POLLIN, GUEST_MS));
	EQ(read(ready[0], &c, 1), 1);
	close(ready[0]);
}

static void flood_end(struct flood *f)
{
	kill(f->pid, SIGKILL);
	waitpid(f->pid, NULL, 0);
}

/* Come, or come back, as often as it takes; how long that was. */
static double come(struct guest *g, const struct host *h, const char *session)
{
	double began = t_now_ms();

	while (!guest_try(g, h, session)) {
		OK(t_now_ms() - began < COME_MS);
		t_wait_fd(-1, 0, RETRY_MS);
	}
	return t_now_ms() - began;
}

/* Of the owners that try once some are let in (most are, on a machine with nothing else to do);
 * those from before the flood notice nothing; and one that is cut has its server when it is back.
 */
static void withstand(struct flood f)
{
	struct guest g, other;
	char session[64];
	struct host h;
	int came = 0;
	double ms;

	HOST(&h, "ws://127.0.0.1:0", "--quiet", "--insecure", "--lease", "25s", LIMITS);
	guest_open(&g, &h);
	guest_start(&g, "p", PIPED, "echo \"<$$>\"; exec cat");
	guest_await_output(&g, "p", ">");
	flood_begin(&f, &h);
	for (int i = 0; i < ATTEMPTS; i++) {
		if (!guest_try(&other, &h, NULL))
			continue;
		came++;
		free(guest_ask(&other, "environment/status", "null"));
		guest_close(&other);
	}
	free(guest_ask(&g, "environment/status", "null"));
	snprintf(session, sizeof(session), "%s", g.session);
	guest_close(&g);
	ms = come(&g, &h, session);
	t_note("%d of %d were let in at once; the one that was cut was back in %.0f ms", came,
	       ATTEMPTS, ms);
	OK(came >= ATTEMPTS / 10);
	STREQ(g.session, session);
	free(guest_ask(&g, "process/write",
		       "{\"processId\":\"p\",\"chunk\":\"aGkK\",\"writeId\":\"1\"}"));
	guest_await_output(&g, "p", "hi"); /* the same cat */
	flood_end(&f);
	guest_close(&g);
	host_stop(&h);
}

TEST(silent_connections_do_not_keep_owners_out, .timeout_ms = 30000)
{
	withstand((struct flood){ .says = "" });
}

TEST(slow_connections_do_not_keep_owners_out, .timeout_ms = 30000)
{
	withstand((struct flood){ .says = "GET / HTTP/1.1\r\nX: ", .drips = true });
}

TEST(silent_websockets_do_not_keep_owners_out, .timeout_ms = 30000)
{
	char head[600];

	snprintf(head, sizeof(head), "%s\r\n", guest_upgrade);
	withstand((struct flood){ .says = head });
}

/* Every place is taken by an owner: one that was cut has its own all the same, a new one has not.
 */
TEST(an_owner_that_reconnects_is_accepted_beyond_the_limit)
{
	struct guest g[3];
	struct host h;
	char session[64];

	HOST(&h, "ws://127.0.0.1:0", "--quiet", "--insecure", "--max-connections", "2");
	guest_open(&g[0], &h);
	guest_open(&g[1], &h);
	OK(!guest_try(&g[2], &h, NULL));
	snprintf(session, sizeof(session), "%s", g[0].session);
	guest_close(&g[0]);
	come(&g[2], &h, NULL); /* takes its place */
	guest_resume(&g[0], &h, session);
	free(guest_ask(&g[0], "environment/status", "null"));
	for (int i = 0; i < 3; i++)
		guest_close(&g[i]);
	host_stop(&h);
}

/* Who says nothing after the upgrade is cut, and sends no long message before it has a name. */
TEST(initialize_is_limited_in_size_and_time, .timeout_ms = 30000)
{
	char *text = malloc(70001);
	double began = t_now_ms();
	struct guest g, late;
	struct host h;

	HOST(&h, "ws://127.0.0.1:0", "--quiet", "--insecure");
	guest_connect(&late, &h);
	guest_connect(&g, &h);
	memset(text, ' ', 70000);
	text[70000] = '\0';
	guest_say(&g, text);
	OK(!guest_hear(&g));
	guest_close(&g);
	free(text);
	OK(t_wait_fd(late.in, POLLIN, 20000));
	OK(!guest_hear(&late));
	t_note("cut after %.0f ms", t_now_ms() - began);
	OK(t_now_ms() - began > 9000);
	guest_close(&late);
	host_stop(&h);
}
