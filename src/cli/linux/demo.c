/* demo.c - see cli/demo.h: the demo on Linux. demo_part.h shows the processes. */
#include "cli/demo.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "cli/cli.h"
#include "demo_audit.h"
#include "demo_part.h"
#include "keeper/linux/clock.h"
#include "os/random.h"

enum {
	START_MS = 5000, /* for both servers to answer */
	GONE_MS = 7000,  /* longer than the budgets of killick */
	PATH_LEN = 4096,
};

const char demo_help[] = DEMO_HELP("SIGKILL", "another `killick run`");
const char demo_kill_name[] = "SIGKILL";
const char demo_net[] = "another `killick run`";

struct scene demo_scenes[] = {
	{ .mode = "npx",
	  .inner = "bg",
	  .about = "behind npx, with a child",
	  .story = "behind a launcher like npx; leaves a child" },
	{ .mode = "sh",
	  .inner = "ignore",
	  .about = "behind sh -c, never exits",
	  .story = "behind sh -c; ignores EOF and SIGTERM" },
	{ .mode = "stopped",
	  .about = "with a stopped child",
	  .story = "leaves a stopped child in its own session" },
	{ .mode = "daemon",
	  .about = "starts a daemon",
	  .story = "leaves a daemon: double fork, own session" },
	{ .mode = "nestsub",
	  .about = "collects its own orphans",
	  .story = "has a subreaper with orphans in new sessions" },
};
const size_t demo_scene_count = sizeof(demo_scenes) / sizeof(demo_scenes[0]);

static struct {
	char self[PATH_LEN], killick[PATH_LEN], run[24]; /* run: prefix of the tags */
	int stage_in, stage_out;                         /* to and from the stage */
	int client_in, client_out;                       /* to and from the client of killick */
	pid_t stage, client; /* children of the demo; 0: none, or reaped already */
} demo = { .stage_in = -1, .stage_out = -1, .client_in = -1, .client_out = -1 };

static volatile sig_atomic_t stop_signal;

static void demo_on_signal(int sig)
{
	stop_signal = sig;
}

/* Ctrl-C, a closed terminal or a closed pipe: end all processes, then raise the same signal. */
bool demo_should_stop(void)
{
	return stop_signal || ferror(stdout);
}

static void demo_catch_signals(void)
{
	struct sigaction act = { .sa_handler = demo_on_signal };
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &act, NULL);
	act.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &act, NULL);
}

/* Find `killick`: in the same directory of a build tree, in ../../bin when installed, else in PATH.
 */
static int find_programs(void)
{
	ssize_t len = readlink("/proc/self/exe", demo.self, sizeof(demo.self) - 1);
	const char *path = getenv("PATH");
	char *slash;

	if (len <= 0)
		return -ENOENT;
	demo.self[len] = '\0';
	slash = strrchr(demo.self, '/');
	for (int i = 0; i < 2; i++) {
		int dir = (int)(slash - demo.self);

		if (snprintf(demo.killick, sizeof(demo.killick),
			     i ? "%.*s/../../bin/killick" : "%.*s/killick", dir,
			     demo.self) < PATH_LEN &&
		    access(demo.killick, X_OK) == 0)
			return 0;
	}
	for (; path && *path; path += strcspn(path, ":"), path += *path == ':') {
		if (*path == '/' &&
		    snprintf(demo.killick, sizeof(demo.killick), "%.*s/killick",
			     (int)strcspn(path, ":"), path) < PATH_LEN &&
		    access(demo.killick, X_OK) == 0)
			return 0;
	}
	return -ENOENT;
}

/* Reap ended children and, because the demo is a subreaper, orphans. Forget a reaped pid, because
 * the kernel may reuse it. */
static void demo_reap(void)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG | __WALL)) > 0) {
		if (pid == demo.stage)
			demo.stage = 0;
		if (pid == demo.client)
			demo.client = 0;
	}
}

/* Start argv with a pipe to its stdin and a pipe from its stdout. */
static pid_t demo_start_part(char *const *argv, const char *tag, int *out_to, int *out_from)
{
	int in[2], out[2];
	pid_t pid;

	if (pipe2(in, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(out, O_CLOEXEC) < 0) {
		pid = -errno;
		close(in[0]);
		close(in[1]);
		return pid;
	}
	pid = demo_spawn(argv, tag, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	if (pid < 0) {
		close(in[1]);
		close(out[0]);
		return pid;
	}
	*out_to = in[1];
	*out_from = out[0];
	return pid;
}

static int start_stage(void)
{
	char tag[64];
	char *argv[] = { demo.killick,
			 (char *)"run",
			 (char *)"--name",
			 (char *)"demo-plain",
			 (char *)"--grace",
			 (char *)"500ms",
			 (char *)"--",
			 demo.self,
			 (char *)"demo-part",
			 (char *)"stage",
			 NULL };

	snprintf(tag, sizeof(tag), "%s.stage", demo.run);
	demo.stage = demo_start_part(argv, tag, &demo.stage_in, &demo.stage_out);
	return demo.stage < 0 ? demo.stage : 0;
}

static int start_client(size_t number, const struct scene *s)
{
	char tag[64];
	char *argv[] = { demo.self,     (char *)"demo-part", (char *)"client", demo.killick,
			 (char *)"run", (char *)"--name",    (char *)"demo",   (char *)"--",
			 demo.self,     (char *)"zoo",       (char *)s->mode,  (char *)s->inner,
			 NULL };

	snprintf(tag, sizeof(tag), "%s.killick.%zu", demo.run, number);
	demo.client = demo_start_part(argv, tag, &demo.client_in, &demo.client_out);
	return demo.client < 0 ? demo.client : 0;
}

/* Wait for "ready" from both clients. */
static int await_ready(int plain_fd, int killick_fd, struct err *e)
{
	struct pollfd polls[SIDES] = { { .fd = plain_fd, .events = POLLIN },
				       { .fd = killick_fd, .events = POLLIN } };
	long long end_us = clock_us() + START_MS * 1000LL;
	int waiting = SIDES;

	while (waiting && !demo_should_stop()) {
		long long left_us = end_us - clock_us();
		char word[64];

		if (left_us <= 0)
			return err_set(e, -ETIMEDOUT, "a server did not answer initialize");
		if (poll(polls, SIDES, (int)(left_us / 1000) + 1) <= 0)
			continue;
		for (int i = 0; i < SIDES; i++) {
			if (!polls[i].revents)
				continue;
			if (read(polls[i].fd, word, sizeof(word)) <= 0)
				return err_set(
					e, -EPIPE, "the %s did not get an answer to initialize",
					i == SIDE_PLAIN ? "plain client" : "client of killick run");
			polls[i].fd = -1;
			waiting--;
		}
	}
	return demo_should_stop() ? -EINTR : 0;
}

void demo_look(size_t number, struct side sides[SIDES])
{
	static const char *const names[SIDES] = { "plain", "killick" };
	static struct audit_proc all[SIDES * SIDE_MAX];
	char tag[64], part[SIDES][32];
	size_t found;

	for (int i = 0; i < SIDES; i++) {
		sides[i].count = 0;
		snprintf(part[i], sizeof(part[i]), "%s.%zu", names[i], number);
	}
	snprintf(tag, sizeof(tag), DEMO_TAG "=%s", demo.run);
	found = audit_scan(tag, all, SIDES * SIDE_MAX);
	for (size_t k = 0; k < found && k < SIDES * SIDE_MAX; k++) {
		for (int i = 0; i < SIDES; i++) {
			struct side *s = &sides[i];

			if (strcmp(all[k].tag, part[i]) != 0)
				continue;
			if (s->count < SIDE_MAX)
				s->list[s->count] = all[k].process;
			s->count++;
			if (!s->server && demo_is_server(all[k].process.args))
				s->server = all[k].process.pid;
		}
	}
	demo_reap();
}

bool demo_kill(void)
{
	if (write(demo.stage_in, "kill\n", 5) != 5)
		return false;
	if (demo.client > 0)
		kill(demo.client, SIGKILL);
	return true;
}

/* The demo is the subreaper of all processes of killick's side, so they are gone when the stage is
 * the only child of the demo. */
size_t demo_count(size_t number, struct side sides[SIDES])
{
	int left;

	demo_reap();
	left = audit_children(demo.stage);
	if (left >= 0)
		return (size_t)left;
	demo_look(number, sides);
	return sides[SIDE_KILLICK].count;
}

int demo_open(struct err *e)
{
	unsigned long long id;
	int r;

	if (find_programs() < 0)
		return err_set(e, -ENOENT,
			       "cannot find the program 'killick' beside this one or in PATH");
	if (random_try(&id, sizeof(id)) < 0)
		id = (unsigned long long)clock_us();
	snprintf(demo.run, sizeof(demo.run), "%016llx", id);
	demo_catch_signals();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	r = start_stage();
	return r < 0 ? err_set(e, r, "cannot start '%s'", demo.killick) : 0;
}

int demo_start(size_t number, const struct scene *s, struct err *e)
{
	char order[64];
	int n, r;

	fd_drop(&demo.client_in);
	fd_drop(&demo.client_out);
	n = snprintf(order, sizeof(order), "start %zu %s %s\n", number, s->mode,
		     s->inner ? s->inner : "");
	if (write(demo.stage_in, order, (size_t)n) != n)
		return err_set(e, -EPIPE, "the plain side is gone");
	r = start_client(number, s);
	if (r < 0)
		return err_set(e, r, "cannot start a client");
	return await_ready(demo.stage_out, demo.client_out, e);
}

/* End the stage, and with it every stray process; then kill processes that remain. */
size_t demo_close(void)
{
	long long end_us = clock_us() + GONE_MS * 1000LL;
	struct timespec nap = { .tv_nsec = 1000000L };
	char tag[64];
	size_t left;

	if (!demo.run[0])
		return 0; /* nothing was started */
	fd_drop(&demo.client_in);
	fd_drop(&demo.stage_in);
	if (demo.stage > 0)
		kill(demo.stage, SIGTERM);
	snprintf(tag, sizeof(tag), DEMO_TAG "=%s", demo.run);
	do {
		struct audit_proc one;

		demo_reap();
		left = audit_scan(tag, &one, 1);
	} while (left && clock_us() < end_us);
	if (left)
		left = audit_kill(tag, 2000);
	/* Also wait for dead processes: an unreaped keeper would become a child of another
	 * process. */
	while (waitpid(-1, NULL, WNOHANG | __WALL) >= 0 && clock_us() < end_us)
		nanosleep(&nap, NULL);
	fd_drop(&demo.client_out);
	fd_drop(&demo.stage_out);
	return left;
}

int demo_end_as_asked(void)
{
	if (!stop_signal)
		return 0;
	sigaction(stop_signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
	raise(stop_signal);
	return EXIT_TRY_AGAIN;
}
