/* demo.c - `killick demo`: runs the same hostile servers under a plain client and under `killick
 * run`, kills both clients with SIGKILL, and counts the remaining processes with an auditor that
 * shares no code with killick. demo.h shows the processes.
 */
#include "demo.h"

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
#include "demo_view.h"
#include "keeper/linux/clock.h"
#include "os/random.h"

enum {
	START_MS = 5000, /* for both servers to answer */
	SHOW_MS = 600,   /* to show the trees before the kill */
	LOOK_MS = 800,   /* to show the remaining processes after the kill */
	GONE_MS = 7000,  /* longer than the budgets of killick */
	FRAME_MS = 80,
	HASTE_MS = 8500, /* after this time show less, to end within 15 s on a slow machine */
	HASTY_MS = 250,
	PATH_LEN = 4096,
};

const char demo_help[] =
	"usage: killick demo\n"
	"\n"
	"Start five hostile MCP servers, each under a plain client and under\n"
	"`killick run`. Kill both clients with SIGKILL. Show side by side which\n"
	"processes are left. Takes about eight seconds; needs no network, npm or root.\n"
	"The plain clients run inside another `killick run`, which ends the processes\n"
	"that they leave. The last line counts the survivors on killick's side.\n"
	"\n"
	"Exit status: 0 no process survived; 75 a process survived; 69 the demo could\n"
	"not run, for example because killick was not found; 64 usage.\n";

struct demo {
	char self[PATH_LEN], killick[PATH_LEN], run[24]; /* run: prefix of the tags */
	int stage_in, stage_out;                         /* to and from the stage */
	pid_t stage, client; /* children of the demo; 0: none, or reaped already */
	long long begin_us;
	struct side sides[SIDES];
	struct view view;
};

static volatile sig_atomic_t stop_signal;

static void demo_on_signal(int sig)
{
	stop_signal = sig;
}

/* Ctrl-C, a closed terminal or a closed pipe: end all processes, then raise the same signal. */
static bool should_stop(void)
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
static int find_programs(struct demo *d)
{
	ssize_t len = readlink("/proc/self/exe", d->self, sizeof(d->self) - 1);
	const char *path = getenv("PATH");
	char *slash;

	if (len <= 0)
		return -ENOENT;
	d->self[len] = '\0';
	slash = strrchr(d->self, '/');
	for (int i = 0; i < 2; i++) {
		int dir = (int)(slash - d->self);

		if (snprintf(d->killick, sizeof(d->killick),
			     i ? "%.*s/../../bin/killick" : "%.*s/killick", dir,
			     d->self) < PATH_LEN &&
		    access(d->killick, X_OK) == 0)
			return 0;
	}
	for (; path && *path; path += strcspn(path, ":"), path += *path == ':') {
		if (*path == '/' &&
		    snprintf(d->killick, sizeof(d->killick), "%.*s/killick",
			     (int)strcspn(path, ":"), path) < PATH_LEN &&
		    access(d->killick, X_OK) == 0)
			return 0;
	}
	return -ENOENT;
}

/* Reap ended children and, because the demo is a subreaper, orphans. Forget a reaped pid, because
 * the kernel may reuse it. */
static void demo_reap(struct demo *d)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG | __WALL)) > 0) {
		if (pid == d->stage)
			d->stage = 0;
		if (pid == d->client)
			d->client = 0;
	}
}

static void nap_ms(int ms)
{
	struct timespec t = { .tv_nsec = ms * 1000000L };

	nanosleep(&t, NULL);
}

/* Start argv with a pipe to its stdin and a pipe from its stdout. */
static pid_t demo_start(char *const *argv, const char *tag, int *out_to, int *out_from)
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

static int start_stage(struct demo *d)
{
	char tag[64];
	char *argv[] = { d->killick,
			 (char *)"run",
			 (char *)"--name",
			 (char *)"demo-plain",
			 (char *)"--grace",
			 (char *)"500ms",
			 (char *)"--",
			 d->self,
			 (char *)"demo-part",
			 (char *)"stage",
			 NULL };

	snprintf(tag, sizeof(tag), "%s.stage", d->run);
	d->stage = demo_start(argv, tag, &d->stage_in, &d->stage_out);
	return d->stage < 0 ? d->stage : 0;
}

static int start_client(struct demo *d, size_t number, int *out_to, int *out_from)
{
	const struct scene *s = &d->view.scenes[number];
	char tag[64];
	char *argv[] = { d->self,       (char *)"demo-part", (char *)"client", d->killick,
			 (char *)"run", (char *)"--name",    (char *)"demo",   (char *)"--",
			 d->self,       (char *)"zoo",       (char *)s->mode,  (char *)s->inner,
			 NULL };

	snprintf(tag, sizeof(tag), "%s.killick.%zu", d->run, number);
	d->client = demo_start(argv, tag, out_to, out_from);
	return d->client < 0 ? d->client : 0;
}

/* Wait for "ready" from both clients. */
static int await_ready(int plain_fd, int killick_fd, struct err *e)
{
	struct pollfd polls[SIDES] = { { .fd = plain_fd, .events = POLLIN },
				       { .fd = killick_fd, .events = POLLIN } };
	long long end_us = clock_us() + START_MS * 1000LL;
	int waiting = SIDES;

	while (waiting && !should_stop()) {
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
	return should_stop() ? -EINTR : 0;
}

/* Is this process the server? The first process of the zoo that is not a launcher is the server. */
static bool is_server(const char *args)
{
	return strstr(args, " zoo ") && !strstr(args, " demo-part ") && !strstr(args, " run ") &&
	       !strstr(args, " zoo npx") && strncmp(args, "sh ", 3) != 0;
}

/* Scan both sides again. */
static void demo_look(struct demo *d)
{
	static const char *const names[SIDES] = { "plain", "killick" };
	static struct audit_proc all[SIDES * SIDE_MAX];
	char tag[64], part[SIDES][32];
	size_t found;

	for (int i = 0; i < SIDES; i++) {
		d->sides[i].count = 0;
		snprintf(part[i], sizeof(part[i]), "%s.%zu", names[i], d->view.current);
	}
	snprintf(tag, sizeof(tag), DEMO_TAG "=%s", d->run);
	found = audit_scan(tag, all, SIDES * SIDE_MAX);
	for (size_t k = 0; k < found && k < SIDES * SIDE_MAX; k++) {
		for (int i = 0; i < SIDES; i++) {
			struct side *s = &d->sides[i];

			if (strcmp(all[k].tag, part[i]) != 0)
				continue;
			if (s->count < SIDE_MAX)
				s->list[s->count] = all[k];
			s->count++;
			if (!s->server && is_server(all[k].args))
				s->server = all[k].pid;
		}
	}
	demo_reap(d);
}

/* Redraw for `ms`. After the kill, store the largest number of processes that was seen in the
 * second half: a single scan misses a process that forks and exits all the time. */
static void demo_show(struct demo *d, struct scene *s, long long ms, long long killed_us)
{
	long long begin_us = clock_us();

	do {
		demo_look(d);
		for (int i = 0; killed_us && i < SIDES; i++)
			if (d->sides[i].count > s->left[i] && clock_us() - begin_us > ms * 500)
				s->left[i] = d->sides[i].count;
		if (killed_us)
			d->view.since_ms = (double)(clock_us() - killed_us) / 1000;
		view_frame(&d->view);
		nap_ms(FRAME_MS);
	} while (clock_us() - begin_us < ms * 1000 && !should_stop());
}

/* Kill both clients. Then wait until no process of killick's side is left, including the processes
 * of killick. The demo is the subreaper of all these processes, so they are gone when the stage is
 * the only child of the demo. */
static long long kill_clients(struct demo *d, struct scene *s)
{
	long long killed_us, now_us;
	int left;

	if (write(d->stage_in, "kill\n", 5) != 5)
		return 0;
	killed_us = clock_us();
	if (d->client > 0)
		kill(d->client, SIGKILL);
	d->view.killed = true;
	do {
		demo_reap(d);
		left = audit_children(d->stage);
		if (left < 0) {
			demo_look(d);
			left = (int)d->sides[SIDE_KILLICK].count;
		}
		now_us = clock_us();
		nap_ms(left ? 1 : 0);
	} while (left && now_us - killed_us < GONE_MS * 1000LL && !should_stop());
	s->gone_ms = left ? -1 : (double)(now_us - killed_us) / 1000;
	s->left[SIDE_KILLICK] = (size_t)left;
	return killed_us;
}

static int pace(const struct demo *d, int ms)
{
	return clock_us() - d->begin_us > HASTE_MS * 1000LL ? HASTY_MS : ms;
}

static int play(struct demo *d, struct scene *s, struct err *e)
{
	AUTO(fd_drop) int to_client = -1;
	AUTO(fd_drop) int from_client = -1;
	char order[64];
	long long killed_us;
	int n, r;

	memset(d->sides, 0, sizeof(d->sides));
	d->view.killed = false;
	n = snprintf(order, sizeof(order), "start %zu %s %s\n", d->view.current, s->mode,
		     s->inner ? s->inner : "");
	if (write(d->stage_in, order, (size_t)n) != n)
		return err_set(e, -EPIPE, "the plain side is gone");
	r = start_client(d, d->view.current, &to_client, &from_client);
	if (r < 0)
		return err_set(e, r, "cannot start a client");
	r = await_ready(d->stage_out, from_client, e);
	if (r == 0) {
		demo_show(d, s, d->view.live ? pace(d, SHOW_MS) : 0, 0);
		view_step(&d->view, "both servers have answered initialize");
	}
	killed_us = kill_clients(d, s);
	if (r < 0 || should_stop())
		return r < 0 ? r : -EINTR;
	demo_show(d, s, pace(d, LOOK_MS), killed_us);
	s->done = true;
	view_frame(&d->view);
	view_step(&d->view, "both clients were killed");
	return 0;
}

/* End the stage, and with it every stray process; then kill processes that remain. Returns how many
 * are left. */
static size_t clean_up(struct demo *d)
{
	long long end_us = clock_us() + GONE_MS * 1000LL;
	char tag[64];
	size_t left;

	fd_drop(&d->stage_in);
	if (d->stage > 0)
		kill(d->stage, SIGTERM);
	snprintf(tag, sizeof(tag), DEMO_TAG "=%s", d->run);
	do {
		struct audit_proc one;

		demo_reap(d);
		left = audit_scan(tag, &one, 1);
	} while (left && clock_us() < end_us);
	if (left)
		left = audit_kill(tag, 2000);
	/* Also wait for dead processes: an unreaped keeper would become a child of another
	 * process. */
	while (waitpid(-1, NULL, WNOHANG | __WALL) >= 0 && clock_us() < end_us)
		nap_ms(1);
	fd_drop(&d->stage_out);
	return left;
}

static int demo_finish(struct demo *d, const struct scene *scenes, size_t count, size_t strays_left)
{
	size_t strays = 0, survivors = 0;

	for (size_t i = 0; i < count; i++) {
		strays += scenes[i].left[SIDE_PLAIN];
		survivors += scenes[i].left[SIDE_KILLICK];
	}
	if (!d->view.live)
		putchar('\n');
	view_table(&d->view);
	printf("\nThe plain clients left %zu processes running.\n", strays);
	if (strays_left)
		printf("%zu of them could not be ended.\n", strays_left);
	else
		puts("They ran inside another `killick run`, which has ended them:\n"
		     "no process of this demo is left on this machine.");
	printf("survivors: %zu\n", survivors);
	return cli_finish("demo", survivors || strays_left ? EXIT_TRY_AGAIN : EXIT_SUCCESS);
}

static int play_all(struct demo *d, struct scene *scenes, size_t count)
{
	struct err e = ERR_INIT;
	size_t left;
	int r = start_stage(d);

	if (r < 0)
		err_set(&e, r, "cannot start '%s'", d->killick);
	for (d->view.current = 0; r == 0 && d->view.current < count; d->view.current += r == 0)
		r = play(d, &scenes[d->view.current], &e);
	view_clear(&d->view);
	left = clean_up(d);
	if (r == 0)
		return demo_finish(d, scenes, count, left);
	if (!should_stop())
		cli_say("demo", "%s (%s)", e.text, strerror(-r));
	if (left)
		cli_say("demo", "%zu processes could not be ended", left);
	if (stop_signal && !left) {
		sigaction(stop_signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
		raise(stop_signal);
	}
	return left || stop_signal ? EXIT_TRY_AGAIN : EXIT_UNAVAILABLE;
}

int verb_demo(int argc, char **argv)
{
	static struct scene scenes[] = {
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
	enum { SCENES = sizeof(scenes) / sizeof(scenes[0]) };
	static struct demo d = { .stage_in = -1, .stage_out = -1 };
	const struct option options[] = { { .name = NULL } };
	unsigned long long id;
	int status;

	if (!cli_options(argc, argv, demo_help, options, &status))
		return status;
	if (find_programs(&d) < 0) {
		cli_say("demo", "cannot find the program 'killick' beside this one or in PATH");
		return EXIT_UNAVAILABLE;
	}
	if (random_try(&id, sizeof(id)) < 0)
		id = (unsigned long long)clock_us();
	snprintf(d.run, sizeof(d.run), "%016llx", id);
	d.begin_us = clock_us();
	demo_catch_signals();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	view_init(&d.view, scenes, SCENES, d.sides);
	puts("A client starts an MCP server and is killed. What is left?");
	if (d.view.live)
		putchar('\n');
	fflush(stdout);
	return play_all(&d, scenes, SCENES);
}
