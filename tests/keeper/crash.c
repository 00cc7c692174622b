/* crash.c - SIGKILL at every numbered step of a keeper's life, and nothing may live on.
 *
 * The steps come from the test build of killick itself (`killick-steps steps`), so a new step is
 * tested as soon as it exists. Every step is tried with several servers, levels and endings;
 * whether it lies on the way up or on the way down, or is not reached at all, the auditor's
 * question is the same. What is left on disk must go with the next reap. Steps of `both` kill the
 * two keepers together.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../t.h"
#include "cell.h"
#include "pool.h"

#define DEADLINE_MS 8000
#define MAX_STEPS   64

static const char *const levels[] = { "keeper", "cgroup", "namespace" };
static const char *const modes[] = { "plain", "daemon", "bg" };
static const enum cell_ending endings[] = { END_TERM, END_EOF, END_OKILL };
enum { PER_STEP = 3 * 3 * 3 };

static char steps[MAX_STEPS][40];
static int step_count;
static const char *killick, *killick_steps, *zoo;

struct result {
	char verdict;
	bool reached; /* somebody died at the step */
	double ms;
	char text[300];
};

static struct {
	int left, bad, reached;
	double worst;
} tally[MAX_STEPS];

static bool read_steps(void)
{
	int out[2], stdio[3] = { -1, -1, -1 };
	char *const argv[] = { (char *)killick_steps, (char *)"steps", NULL };
	char line[80];
	pid_t pid;
	FILE *f;

	if (pipe2(out, O_CLOEXEC))
		return false;
	stdio[1] = out[1];
	pid = t_spawn(argv, stdio);
	close(out[1]);
	f = fdopen(out[0], "r");
	while (f && step_count < MAX_STEPS && fgets(line, sizeof(line), f))
		if (sscanf(line, "%39s", steps[step_count]) == 1 && strchr(steps[step_count], ':'))
			step_count++;
	if (f)
		fclose(f);
	return t_wait_child(pid, 5000) == 0 && step_count > 0;
}

static void spec_of(int index, struct cell_spec *spec, enum cell_ending *out_ending)
{
	int n = index % PER_STEP;

	*spec = (struct cell_spec){ .killick = killick_steps,
				    .reaper = killick,
				    .zoo = zoo,
				    .level = levels[n % 3],
				    .mode = modes[n / 3 % 3],
				    .die_at = steps[index / PER_STEP],
				    .grace_ms = 100 };
	*out_ending = endings[n / 9];
}

static void run_trial(int index, void *out)
{
	enum cell_ending ending;
	struct result *res = out;
	struct cell_spec spec;
	char mark[64];
	struct cell c;
	bool both;

	spec_of(index, &spec, &ending);
	both = !strncmp(spec.die_at, "both:", 5);
	snprintf(mark, sizeof(mark), "/tmp/killick-crash-%d", (int)getpid());
	setenv("KILLICK_DIE_MARK", mark, 1);
	if (both && !strcmp(spec.level, "namespace")) {
		res->verdict = CELL_EMPTY; /* from inside nobody can kill the first process of a
					      namespace */
		return;
	}
	res->verdict = CELL_ERROR;
	if (cell_start(&c, &spec) && cell_await(&c, DEADLINE_MS)) {
		cell_find(&c);
		if (c.ready)
			cell_end(&c, ending);
		/* where both die the server has not begun: not even the janitor has anything to do
		 */
		res->verdict = (char)cell_judge(&c, DEADLINE_MS, false);
		if (res->verdict == CELL_LITTER && cell_sweep(&c))
			res->verdict = CELL_EMPTY;
	}
	res->reached = unlink(mark) == 0;
	res->ms = c.ms;
	snprintf(res->text, sizeof(res->text), "%.290s", c.text);
	cell_done(&c);
}

static void trial_came(int index, const void *out)
{
	int step = index / PER_STEP;
	const struct result *res = out;
	enum cell_ending ending;
	struct cell_spec spec;
	char name[120];

	spec_of(index, &spec, &ending);
	if (!res || (res->verdict != CELL_EMPTY && res->verdict != CELL_LATER)) {
		t_note("%s: %s %s %s: '%c' %s", spec.die_at, spec.mode, spec.level,
		       cell_ending_names[ending], res ? res->verdict : '!',
		       res ? res->text : "the trial died or hung");
		tally[step].bad++;
	}
	if (res && res->ms > tally[step].worst)
		tally[step].worst = res->ms;
	tally[step].reached += res && res->reached;
	if (--tally[step].left > 0)
		return;
	if (tally[step].reached == 0) {
		t_note("%s: no trial came there", steps[step]);
		tally[step].bad++;
	}
	snprintf(name, sizeof(name), "death at %s: %d of %d trials, empty after %.1f ms worst",
		 steps[step], tally[step].reached, PER_STEP, tally[step].worst);
	t_result(tally[step].bad == 0, name, NULL);
}

int main(int argc, char **argv)
{
	struct pool pool = { .width = 4,
			     .timeout_ms = 40000,
			     .size = sizeof(struct result),
			     .run = run_trial,
			     .done = trial_came };

	killick = t_program("KILLICK", "build/killick");
	killick_steps = t_program("KILLICK_STEPS", "build/tests/killick-steps");
	zoo = t_program("ZOO", "build/tests/zoo/killick-zoo");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (!read_steps())
		return fprintf(stderr, "crash: '%s steps' lists nothing\n", killick_steps), 70;
	if (argc > 1) { /* one step only */
		snprintf(steps[0], sizeof(steps[0]), "%s", argv[1]);
		step_count = 1;
	}
	for (int i = 0; i < step_count; i++)
		tally[i].left = PER_STEP;
	pool.count = step_count * PER_STEP;
	pool_run(&pool);
	return t_finish();
}
