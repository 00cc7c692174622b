/* lib_common.c - shared by bench-lib and bench-hub: rounds, errors, and a run of all measures. */
#include "lib.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define WHOLE_RUN_S 900

size_t lib_rounds(const struct lib *b, size_t rounds)
{
	size_t n = rounds * b->percent / 100;

	return n < 3 ? 3 : n;
}

void lib_die(const char *who, const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", who, what);
	exit(1);
}

void lib_measure(struct lib *b, const struct lib_measure *measures, const char *only)
{
	alarm(WHOLE_RUN_S);
	sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
	getloadavg(&b->load, 1);
	report_open(&b->report);
	for (const struct lib_measure *m = measures; m->name; m++) {
		double t0 = now_us();

		if (only && strcmp(only, m->name) != 0)
			continue;
		m->run(b);
		fprintf(stderr, "bench: %s took %.1f s\n", m->name, (now_us() - t0) / 1e6);
	}
}
