/* bench-lib - what the library costs, next to a raw client and next to the npm SDK.
 *
 *	bench-lib --killick PATH --echo PATH [--sdk SDK.mjs] [--percent N] [--only MEASURE]
 *	          [--versions TEXT]
 *
 * Prints a Markdown page on stdout. Exit status as of bench.
 */
#include "lib.h"

#include "bench.h"

#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WHOLE_RUN_S 900

size_t lib_rounds(const struct lib *b, size_t rounds)
{
	size_t n = rounds * b->percent / 100;

	return n < 3 ? 3 : n;
}

size_t lib_talkers(const struct lib *b, const struct talker **out)
{
	size_t n = 0;

	out[n++] = &talker_raw; /* first: the others are compared with it */
	out[n++] = &talker_raw_again;
	out[n++] = &talker_blocking;
	out[n++] = &talker_callback;
	out[n++] = &talker_host_loop;
	if (b->sdk)
		out[n++] = &talker_sdk;
	return n;
}

void lib_die(const char *who, const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", who, what);
	exit(1);
}

static const struct {
	const char *name;
	void (*run)(struct lib *b);
} measures[] = { { "calls", lib_talk }, { "crowd", lib_crowd }, { "idle", lib_idle } };

static bool parse(int argc, char **argv, struct lib *b, const char *text[])
{
	static const struct option options[] = {
		{ "killick", required_argument, NULL, 'k' },
		{ "echo", required_argument, NULL, 'e' },
		{ "sdk", required_argument, NULL, 's' },
		{ "percent", required_argument, NULL, 'c' },
		{ "only", required_argument, NULL, 'o' },
		{ "versions", required_argument, NULL, 'v' },
		{ NULL, 0, NULL, 0 },
	};

	if (!bench_options(argc, argv, options, text))
		return false;
	b->killick = text['k'];
	b->echo = text['e'];
	b->sdk = text['s'];
	b->percent = text['c'] ? strtoul(text['c'], NULL, 10) : 100;
	return b->killick && b->echo && b->percent;
}

int main(int argc, char **argv)
{
	const char *text[128] = { NULL };
	static char self[PATH_MAX], header[1024];
	static struct lib b;

	if (argc == 5 && !strcmp(argv[1], "idle"))
		return lib_idle_main(argv[2], argv[3], strtoul(argv[4], NULL, 10));
	if (!parse(argc, argv, &b, text) ||
	    readlink("/proc/self/exe", self, sizeof(self) - 1) < 0) {
		fprintf(stderr, "usage: bench-lib --killick PATH --echo PATH [--sdk SDK.mjs] "
				"[--percent N] [--only calls|crowd|idle] [--versions TEXT]\n");
		return 64;
	}
	b.self = self;
	alarm(WHOLE_RUN_S);
	sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
	getloadavg(&b.load, 1);
	report_open(&b.report);
	for (size_t i = 0; i < sizeof(measures) / sizeof(measures[0]); i++) {
		double t0 = now_us();

		if (text['o'] && strcmp(text['o'], measures[i].name) != 0)
			continue;
		measures[i].run(&b);
		fprintf(stderr, "bench: %s took %.1f s\n", measures[i].name, (now_us() - t0) / 1e6);
	}
	snprintf(header, sizeof(header),
		 "# Benchmarks of libkillick\n\nLoad %.1f before; %s. The raw client is two pipes "
		 "and "
		 "nothing else; all clients use the same server and run interleaved.\n",
		 b.load, text['v'] ? text['v'] : "");
	report_print(&b.report, stdout, header);
	return 0;
}
