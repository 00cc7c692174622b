/* executor_rate.c - /bin/true started, and waited for until it is closed: one after the other, and
 * many in flight. */
#include "executor.h"

#define BURST  160
#define WINDOW 16

static const struct executor_spec spec = { .argv = { "/bin/true" } };

/* Read on until one more process is closed. */
static void until_closed(struct executor *e)
{
	for (;;) {
		struct executor_event ev = executor_next(e);

		if (ev.said == SAID_EXITED && ev.exit_code != 0)
			executor_die(e, "/bin/true has failed");
		if (ev.said == SAID_CLOSED)
			return;
	}
}

static void burst(struct executor *e, size_t window, struct samples *s)
{
	double t0 = now_us();
	size_t started = 0, closed = 0;

	while (closed < BURST) {
		for (; started < BURST && started < closed + window; started++)
			executor_start(e, &spec);
		until_closed(e);
		closed++;
	}
	samples_add(s, (now_us() - t0) / BURST);
}

static void rate(struct executor_bench *b, const char *title, size_t window)
{
	struct samples s[EXECUTORS] = { 0 };

	executors_up(b);
	for (size_t round = 0; round < executor_rounds(b, 15); round++)
		for (size_t turn = 0; turn < EXECUTORS; turn++) {
			struct executor *e = executor_turn(b, round, turn);

			if (e)
				burst(e, window, &s[e - b->at]);
		}
	executors_down(b);
	report_text(&b->report, "### %s\n\n", title);
	executor_table(b, "µs per process", s);
	for (size_t i = 0; i < EXECUTORS; i++) {
		if (s[i].count)
			report_text(&b->report, "%s: %.0f processes a second. ", b->at[i].name,
				    1e6 / samples_median(&s[i]));
		samples_done(&s[i]);
	}
	report_text(&b->report, "\n\n");
}

void executor_rate(struct executor_bench *b)
{
	report_text(&b->report,
		    "## Processes started\n\n`/bin/true`, from the `process/start` "
		    "until it is closed; bursts of %d. killick gives each a keeper "
		    "pair of its own. All CPUs.\n\n",
		    BURST);
	rate(b, "One at a time", 1);
	rate(b, "16 in flight", WINDOW);
}
