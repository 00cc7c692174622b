/* bench-hub - what the hub costs, next to a raw client and next to two gateways from npm.
 *
 *	bench-hub --killick PATH --echo PATH [--peers NODE_MODULES] [--percent N] [--only MEASURE]
 *	          [--versions TEXT]
 *
 * Prints a Markdown page on stdout. Exit status as of bench.
 */
#include "hub.h"

#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
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

static const struct {
	const char *name;
	void (*run)(struct lib *b);
} measures[] = { { "calls", hub_talk }, { "open", hub_open }, { "memory", hub_memory } };

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

static bool parse(int argc, char **argv, struct lib *b, const char *text[])
{
	static const struct option options[] = {
		{ "killick", required_argument, NULL, 'k' },
		{ "echo", required_argument, NULL, 'e' },
		{ "peers", required_argument, NULL, 'p' },
		{ "percent", required_argument, NULL, 'c' },
		{ "only", required_argument, NULL, 'o' },
		{ "versions", required_argument, NULL, 'v' },
		{ NULL, 0, NULL, 0 },
	};

	if (!bench_options(argc, argv, options, text))
		return false;
	b->killick = text['k'];
	b->echo = text['e'];
	b->peers = text['p'];
	b->percent = text['c'] ? strtoul(text['c'], NULL, 10) : 100;
	return b->killick && b->echo && b->percent;
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
	const char *text[128] = { NULL };
	static char header[1024];
	static struct lib b;

	if (!parse(argc, argv, &b, text)) {
		fprintf(stderr,
			"usage: bench-hub --killick PATH --echo PATH [--peers NODE_MODULES] "
			"[--percent N] [--only calls|open|memory] [--versions TEXT]\n");
		return 64;
	}
	raise_descriptors();
	b.config = write_config("one.json", b.echo, 1, true);
	b.three = write_config("three.json", b.echo, 3, true);
	b.many = write_config("many.json", b.echo, 100, false);
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
		 "# Benchmarks of the hub\n\nLoad %.1f before; %s. The raw client is two pipes to "
		 "the "
		 "server; the hub is between the same client, through `killick connect`, and the "
		 "same "
		 "server. The gateways from npm get the same calls by HTTP from a client in C with "
		 "one "
		 "connection for each call in flight. All run interleaved.\n",
		 b.load, text['v'] ? text['v'] : "");
	report_print(&b.report, stdout, header);
	return 0;
}
