/* killloop.c - kill -9 at a random moment, of a random process, and nothing may live on.
 *
 * killloop [--rounds N] [--seed N] [--round I] [--jobs N]
 *
 * Each round has its own random numbers from seed and round, so `--seed S --round I` runs a failed
 * round again.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "../t.h"
#include "cell.h"
#include "pool.h"

#define DEADLINE_MS 8000

enum victim { OWNER, WATCH, HOLD, SERVER, GRANDCHILD, WATCH_GROUP, VICTIMS };
static const char *const victim_names[VICTIMS] = { "owner",  "watch",      "hold",
						   "server", "grandchild", "group of the watch" };
static const char *const levels[] = { "namespace", "cgroup", "keeper" };
/* The ones that differ when killed at random; bombs are rare because they are slow. */
static const char *const modes[] = { "plain",    "ignore",   "bg",       "daemon",   "stopped",
				     "chain",    "chainsid", "nestsub",  "unshare",  "cgmove",
				     "ptrace",   "deadlead", "deadmain", "execloop", "holdout",
				     "exitleft", "sh",       "npx",      "npxterm",  "core",
				     "chainsid8" };

struct round {
	enum victim victim;
	const char *level, *mode;
	int delay_ms;
};

struct result {
	char verdict;
	double ms;
	char text[300];
};

static const char *killick, *zoo;
static uint64_t seed;
static int rounds = 200, first_round;
static struct {
	int count, bad;
	double *ms;
} tally[VICTIMS];

static struct round draw(int index)
{
	struct round r;

	t_seed = seed + (uint64_t)(first_round + index) * 0x2545f4914f6cdd1dULL;
	r.victim = (enum victim)(t_random() % VICTIMS);
	r.level = levels[t_random() % (sizeof(levels) / sizeof(*levels))];
	r.mode = modes[t_random() % (sizeof(modes) / sizeof(*modes))];
	r.delay_ms = (int)(t_random() % 51);
	if (t_random() % 64 == 0)
		r.mode = t_random() % 2 ? "bomb" : "bombsid";
	return r;
}

/* Whoever is not there (yet, or any more) is replaced by the next one up. */
static void strike(struct cell *c, enum victim victim)
{
	pid_t pid;
	int fd = victim == GRANDCHILD ? cell_child(c->server, &pid) : -1;

	cell_signal(fd, SIGKILL);
	if (fd >= 0)
		close(fd);
	if (victim == WATCH_GROUP && !cell_is_dead(c->watch_fd) && !kill(-c->watch, SIGKILL))
		; /* done, unless it had no group of its own yet */
	else if (victim == SERVER && c->server_fd >= 0)
		cell_signal(c->server_fd, SIGKILL);
	else if ((victim == HOLD || victim == SERVER) && c->hold_fd >= 0)
		cell_signal(c->hold_fd, SIGKILL);
	else if (victim != OWNER && victim != GRANDCHILD)
		cell_signal(c->watch_fd, SIGKILL);
	else /* after a grandchild too: the tree lives on without it */
		cell_signal(c->owner_fd, SIGKILL);
	c->ended_at = t_now_ms();
}

static void run_round(int index, void *out)
{
	struct round r = draw(index);
	struct cell_spec spec = { .killick = killick,
				  .zoo = zoo,
				  .level = r.level,
				  .mode = r.mode,
				  .grace_ms = 100,
				  .own_group = true };
	struct result *res = out;
	struct cell c;

	res->verdict = CELL_ERROR;
	if (cell_start(&c, &spec)) {
		poll(NULL, 0, r.delay_ms); /* the random moment, not a wait for anything */
		cell_find(&c);
		strike(&c, r.victim);
		res->verdict = (char)cell_judge(&c, DEADLINE_MS, false);
		if (res->verdict == CELL_LITTER && cell_sweep(&c))
			res->verdict = CELL_EMPTY;
	}
	res->ms = c.ms;
	snprintf(res->text, sizeof(res->text), "%.290s", c.text);
	cell_done(&c);
}

static void round_came(int index, const void *out)
{
	struct round r = draw(index);
	const struct result *res = out;

	if (!res || res->verdict != CELL_EMPTY) {
		t_note("--seed %llu --round %d: %s, %s of %s after %d ms: '%c' %s",
		       (unsigned long long)seed, first_round + index, r.level,
		       victim_names[r.victim], r.mode, r.delay_ms, res ? res->verdict : '!',
		       res ? res->text : "the trial died or hung");
		tally[r.victim].bad++;
	}
	tally[r.victim].ms[tally[r.victim].count++] = res ? res->ms : DEADLINE_MS;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void report(enum victim v)
{
	int n = tally[v].count;
	char name[160];

	if (n == 0)
		return;
	qsort(tally[v].ms, (size_t)n, sizeof(double), by_size);
	snprintf(name, sizeof(name),
		 "kill -9 of the %s: %d rounds, empty after %.1f ms median, %.1f ms worst",
		 victim_names[v], n, tally[v].ms[n / 2], tally[v].ms[n - 1]);
	t_result(tally[v].bad == 0, name, NULL);
}

int main(int argc, char **argv)
{
	struct pool pool = { .width = 4,
			     .timeout_ms = 40000,
			     .size = sizeof(struct result),
			     .run = run_round,
			     .done = round_came };
	bool one = false;

	seed = (uint64_t)time(NULL) * 1000 + (uint64_t)getpid() % 1000;
	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--rounds"))
			rounds = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--jobs"))
			pool.width = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--round"))
			first_round = atoi(argv[i + 1]), one = true;
	}
	killick = t_program("KILLICK", "build/killick");
	zoo = t_program("ZOO", "build/tests/zoo/killick-zoo");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pool.count = one ? 1 : rounds;
	t_note("seed %llu, %d rounds", (unsigned long long)seed, pool.count);
	for (int v = 0; v < VICTIMS; v++)
		if (!(tally[v].ms = calloc((size_t)pool.count, sizeof(double))))
			return 70;
	pool_run(&pool);
	for (int v = 0; v < VICTIMS; v++)
		report((enum victim)v);
	return t_finish();
}
