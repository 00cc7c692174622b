/* bench-executor - what running processes through an executor costs: ours next to codex's.
 *
 *	bench-executor --killick PATH --echo PATH [--codex PATH] [--percent N] [--only MEASURE]
 *	               [--versions TEXT]
 *
 * Prints a Markdown page on stdout. Exit status as of bench.
 */
#include "executor.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bench.h"

#define WHOLE_RUN_S 900

static struct executor_bench bench;

size_t executor_rounds(const struct executor_bench *b, size_t rounds)
{
	size_t n = rounds * b->percent / 100;

	return n < 3 ? 3 : n;
}

struct executor *executor_turn(struct executor_bench *b, size_t round, size_t k)
{
	struct executor *e = &b->at[bench_turn(EXECUTORS, round, k)];

	return e->missing ? NULL : e;
}

void executor_table(struct executor_bench *b, const char *unit, struct samples *s)
{
	double base = samples_median(&s[CODEX]);

	report_text(&b->report, "| | median %s | p99 %s | n | x codex |\n|---|--:|--:|--:|--:|\n",
		    unit, unit);
	for (size_t i = 0; i < EXECUTORS; i++) {
		double m = samples_median(&s[i]);
		int digits = m < 10 ? 2 : m < 1000 ? 1 : 0;

		if (!s[i].count)
			continue;
		report_text(&b->report, "| %s | %.*f | %.*f | %zu |", b->at[i].name, digits, m,
			    digits, samples_rank(&s[i], 0.99), s[i].count);
		if (base > 0)
			report_text(&b->report, " %.*f |\n", m / base < 0.1 ? 4 : 2, m / base);
		else
			report_text(&b->report, " |\n");
	}
	report_text(&b->report, "\n");
}

void executor_judge(struct executor_bench *b, const char *what, double bound, bool speed,
		    struct samples *s)
{
	double ours = samples_median(&s[OURS]), codex = samples_median(&s[CODEX]);

	if (!s[CODEX].count)
		report_unjudged(&b->report, what, "no codex here");
	else if (!s[OURS].count)
		report_unjudged(&b->report, what, "no exec-server here");
	else if (speed)
		report_floor(&b->report, what, "%.2f", bound, codex / ours);
	else
		report_target(&b->report, what, "%.2f", bound, ours / codex);
}

static const struct {
	const char *name;
	void (*run)(struct executor_bench *b);
} measures[] = { { "calls", executor_talk },
		 { "stream", executor_stream },
		 { "starts", executor_rate },
		 { "memory", executor_memory } };

/* Nothing that we have started outlives us, however we end. Only kill is called in a handler. */
static void end_executors(void)
{
	for (size_t i = 0; i < EXECUTORS; i++)
		if (bench.at[i].server.pid > 0)
			kill(bench.at[i].server.pid, SIGTERM);
}

static void on_signal(int signo)
{
	end_executors();
	_exit(128 + signo);
}

static void prepare(struct executor_bench *b)
{
	static const int ends[] = { SIGALRM, SIGINT, SIGTERM, SIGHUP };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaction(ends[i], &(struct sigaction){ .sa_handler = on_signal }, NULL);
	sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
	atexit(end_executors);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	alarm(WHOLE_RUN_S);
	getloadavg(&b->load, 1);
	report_open(&b->report);
	for (size_t i = 0; i < EXECUTORS; i++) {
		b->at[i].missing = !b->at[i].program || !executor_up(&b->at[i]);
		if (b->at[i].missing)
			fprintf(stderr, "bench: %s: not here, left out\n", b->at[i].name);
	}
	executors_down(b);
}

static void print(struct executor_bench *b, const char *versions)
{
	char header[1024];

	snprintf(header, sizeof(header),
		 "# Benchmarks of the executor\n\nLoad %.1f before; %s. `killick exec-server` and "
		 "`codex exec-server` with no options but `--listen`, the same client for both "
		 "over a WebSocket on loopback, interleaved.%s%s\n",
		 b->load, versions,
		 b->at[OURS].missing ? " **killick exec-server does not start here.**" : "",
		 b->at[CODEX].missing
			 ? " **There is no codex here: killick's numbers stand alone.**"
			 : "");
	report_print(&b->report, stdout, header);
}

int main(int argc, char **argv)
{
	struct bench_common common;
	static char self[PATH_MAX];
	struct executor_bench *b = &bench;

	if (argc == 3 && !strcmp(argv[1], "pour"))
		return executor_pour_main(argv[2]);
	if (!bench_common_options(argc, argv, "codex", &common) ||
	    readlink("/proc/self/exe", self, sizeof(self) - 1) < 0) {
		fprintf(stderr, "usage: bench-executor --killick PATH --echo PATH [--codex PATH] "
				"[--percent N] [--only calls|stream|starts|memory] "
				"[--versions TEXT]\n");
		return 64;
	}
	b->self = self;
	b->at[OURS] = (struct executor){ .name = "killick", .program = common.killick };
	b->at[CODEX] = (struct executor){ .name = "codex", .program = common.peer };
	b->echo = common.echo;
	b->percent = common.percent;
	prepare(b);
	for (size_t i = 0; i < sizeof(measures) / sizeof(measures[0]); i++) {
		double t0 = now_us();

		if (common.only && strcmp(common.only, measures[i].name) != 0)
			continue;
		measures[i].run(b);
		fprintf(stderr, "bench: %s took %.1f s\n", measures[i].name, (now_us() - t0) / 1e6);
	}
	print(b, common.versions);
	return 0;
}
