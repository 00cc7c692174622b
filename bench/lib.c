/* bench-lib - what the library costs, next to a raw client and next to the npm SDK.
 *
 *	bench-lib --killick PATH --echo PATH [--sdk SDK.mjs] [--percent N] [--only MEASURE]
 *	          [--versions TEXT]
 *
 * Prints a Markdown page on stdout. Exit status as of bench.
 */
#include "lib.h"

#include "bench.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static const struct lib_measure measures[] = {
	{ "calls", lib_talk }, { "crowd", lib_crowd }, { "idle", lib_idle }, { NULL, NULL }
};

int main(int argc, char **argv)
{
	struct bench_common common;
	static char self[PATH_MAX], header[1024];
	static struct lib b;

	if (argc == 5 && !strcmp(argv[1], "idle"))
		return lib_idle_main(argv[2], argv[3], strtoul(argv[4], NULL, 10));
	if (!bench_common_options(argc, argv, "sdk", &common) ||
	    readlink("/proc/self/exe", self, sizeof(self) - 1) < 0) {
		fprintf(stderr, "usage: bench-lib --killick PATH --echo PATH [--sdk SDK.mjs] "
				"[--percent N] [--only calls|crowd|idle] [--versions TEXT]\n");
		return 64;
	}
	b.self = self;
	b.killick = common.killick;
	b.echo = common.echo;
	b.sdk = common.peer;
	b.percent = common.percent;
	lib_measure(&b, measures, common.only);
	snprintf(header, sizeof(header),
		 "# Benchmarks of libkillick\n\nLoad %.1f before; %s. The raw client is two pipes "
		 "and "
		 "nothing else; all clients use the same server and run interleaved.\n",
		 b.load, common.versions);
	report_print(&b.report, stdout, header);
	return 0;
}
