/* demo.c - `killick demo`: runs the same hostile servers under a plain client and under `killick
 * run`, kills both clients, and counts the remaining processes with code that is not killick's.
 */
#include "demo.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "os/time.h"

enum {
	SHOW_MS = 600,  /* to show the trees before the kill */
	LOOK_MS = 800,  /* to show the remaining processes after the kill */
	GONE_MS = 7000, /* longer than the budgets of killick */
	FRAME_MS = 80,
	HASTE_MS = 8500, /* after this time show less, to end within 15 s on a slow machine */
	HASTY_MS = 250,
};

struct demo {
	int64_t begin_us;
	struct side sides[SIDES];
	struct view view;
};

bool demo_is_server(const char *args)
{
	return strstr(args, " zoo ") && !strstr(args, " demo-part ") && !strstr(args, " run ") &&
	       !strstr(args, " zoo npx") && strncmp(args, "sh ", 3) != 0 &&
	       strncmp(args, "cmd ", 4) != 0;
}

/* Redraw for `ms`. After the kill, store the largest number of processes that was seen in the
 * second half: a single scan misses a process that forks and exits all the time. */
static void demo_show(struct demo *d, struct scene *s, int64_t ms, int64_t killed_us)
{
	int64_t begin_us = time_now_us();

	do {
		demo_look(d->view.current, d->sides);
		for (int i = 0; killed_us && i < SIDES; i++)
			if (d->sides[i].count > s->left[i] && time_now_us() - begin_us > ms * 500)
				s->left[i] = d->sides[i].count;
		if (killed_us)
			d->view.since_ms = (double)(time_now_us() - killed_us) / 1000;
		view_frame(&d->view);
		time_sleep_ms(FRAME_MS);
	} while (time_now_us() - begin_us < ms * 1000 && !demo_should_stop());
}

/* Kill both clients. Then wait until no process of killick's side is left, including the processes
 * of killick. Returns the time of the kill. */
static int64_t kill_clients(struct demo *d, struct scene *s)
{
	int64_t killed_us = time_now_us(), now_us;
	size_t left;

	if (!demo_kill())
		return 0;
	d->view.killed = true;
	do {
		left = demo_count(d->view.current, d->sides);
		now_us = time_now_us();
		time_sleep_ms(left ? 1 : 0);
	} while (left && now_us - killed_us < GONE_MS * 1000LL && !demo_should_stop());
	s->gone_ms = left ? -1 : (double)(now_us - killed_us) / 1000;
	s->left[SIDE_KILLICK] = left;
	return killed_us;
}

static int pace(const struct demo *d, int ms)
{
	return time_now_us() - d->begin_us > HASTE_MS * 1000LL ? HASTY_MS : ms;
}

static int play(struct demo *d, struct scene *s, struct err *e)
{
	int64_t killed_us;
	int r;

	memset(d->sides, 0, sizeof(d->sides));
	d->view.killed = false;
	r = demo_start(d->view.current, s, e);
	if (r == 0) {
		demo_show(d, s, d->view.live ? pace(d, SHOW_MS) : 0, 0);
		view_step(&d->view, "both servers have answered initialize");
	}
	killed_us = kill_clients(d, s);
	if (r < 0 || demo_should_stop())
		return r < 0 ? r : -EINTR;
	demo_show(d, s, pace(d, LOOK_MS), killed_us);
	s->done = true;
	view_frame(&d->view);
	view_step(&d->view, "both clients were killed");
	return 0;
}

static int demo_finish(struct demo *d, size_t strays_left)
{
	size_t strays = 0, survivors = 0;

	for (size_t i = 0; i < d->view.count; i++) {
		strays += d->view.scenes[i].left[SIDE_PLAIN];
		survivors += d->view.scenes[i].left[SIDE_KILLICK];
	}
	if (!d->view.live)
		putchar('\n');
	view_table(&d->view);
	printf("\nThe plain clients left %zu processes running.\n", strays);
	if (strays_left)
		printf("%zu of them could not be ended.\n", strays_left);
	else
		printf("They ran inside %s, which has ended them:\n"
		       "no process of this demo is left on this machine.\n",
		       demo_net);
	printf("survivors: %zu\n", survivors);
	return cli_finish("demo", survivors || strays_left ? EXIT_TRY_AGAIN : EXIT_SUCCESS);
}

static int play_all(struct demo *d)
{
	struct err e = ERR_INIT;
	bool stopped;
	size_t left;
	int r = demo_open(&e), status;

	for (d->view.current = 0; r == 0 && d->view.current < d->view.count;
	     d->view.current += r == 0)
		r = play(d, &demo_scenes[d->view.current], &e);
	view_clear(&d->view);
	stopped = demo_should_stop();
	left = demo_close();
	if (r == 0)
		return demo_finish(d, left);
	if (!stopped)
		cli_say("demo", "%s (%s)", e.text, strerror(-r));
	if (left)
		cli_say("demo", "%zu processes could not be ended", left);
	status = left ? EXIT_TRY_AGAIN : demo_end_as_asked();
	return status ? status : EXIT_UNAVAILABLE;
}

int verb_demo(int argc, char **argv)
{
	static struct demo d;
	const struct option options[] = { { .name = NULL } };
	int status;

	if (!cli_options(argc, argv, demo_help, options, &status))
		return status;
	d.begin_us = time_now_us();
	d.view = (struct view){ .scenes = demo_scenes,
				.count = demo_scene_count,
				.sides = d.sides,
				.kill_name = demo_kill_name };
	view_init(&d.view);
	puts("A client starts an MCP server and is killed. What is left?");
	if (d.view.live)
		putchar('\n');
	fflush(stdout);
	return play_all(&d);
}
