/* bench-hub - what the hub costs, next to a raw client and next to two gateways from npm.
 *
 *	bench-hub --killick PATH --echo PATH [--peers NODE_MODULES] [--percent N] [--only MEASURE]
 *	          [--versions TEXT]
 *
 * Prints a Markdown page on stdout. Exit status as of bench.
 */
#include "hub.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "bench.h"

static const struct lib_measure measures[] = {
	{ "calls", hub_talk }, { "open", hub_open }, { "memory", hub_memory }, { NULL, NULL }
};

/* A config of `count` echo servers in the runtime directory; its path. */
static const char *write_config(const char *name, const char *echo, size_t count, bool shared)
{
	const char *dir = getenv("KILLICK_RUNTIME_DIR");
	char *path = NULL;
	FILE *f;

	if (!dir || asprintf(&path, "%s/%s", dir, name) < 0)
		lib_die("bench-hub", "KILLICK_RUNTIME_DIR is not set; use bench/run");
	f = fopen(path, "we");
	if (!f)
		lib_die(path, "cannot be written");
	fprintf(f, "{\"mcpServers\":{");
	for (size_t i = 0; i < count; i++)
		fprintf(f, "%s\"s%zu\":{\"command\":\"%s\",\"args\":[\"mcp\"],\"share\":\"%s\"}",
			i > 0 ? "," : "", i, echo, shared ? "identical" : "never");
	fprintf(f, "}}\n");
	fclose(f);
	return path;
}

/* A thousand sessions need some thousand descriptors, here and in the hub. */
static void raise_descriptors(void)
{
	struct rlimit l;

	getrlimit(RLIMIT_NOFILE, &l);
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
}

int main(int argc, char **argv)
{
	struct bench_common common;
	static char header[1024];
	static struct lib b;

	if (!bench_common_options(argc, argv, "peers", &common)) {
		fprintf(stderr,
			"usage: bench-hub --killick PATH --echo PATH [--peers NODE_MODULES] "
			"[--percent N] [--only calls|open|memory] [--versions TEXT]\n");
		return 64;
	}
	b.killick = common.killick;
	b.echo = common.echo;
	b.peers = common.peer;
	b.percent = common.percent;
	raise_descriptors();
	b.config = write_config("one.json", b.echo, 1, true);
	b.three = write_config("three.json", b.echo, 3, true);
	b.many = write_config("many.json", b.echo, 100, false);
	lib_measure(&b, measures, common.only);
	snprintf(header, sizeof(header),
		 "# Benchmarks of the hub\n\nLoad %.1f before; %s. The raw client is two pipes to "
		 "the "
		 "server; the hub is between the same client, through `killick connect`, and the "
		 "same "
		 "server. The gateways from npm get the same calls by HTTP from a client in C with "
		 "one "
		 "connection for each call in flight. All run interleaved.\n",
		 b.load, common.versions);
	report_print(&b.report, stdout, header);
	return 0;
}
