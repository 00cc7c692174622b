/* common.c - shared by all measures: a request, the command line, turns, and one CPU for all. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "bench.h"

const char bench_initialize[] =
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
	"\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}"
	"\n";

static uint64_t splitmix(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

bool bench_options(int argc, char **argv, const struct option *options, const char *text[])
{
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == '?')
			return false;
		text[c] = optarg;
	}
	return optind == argc;
}

bool bench_common_options(int argc, char **argv, const char *peer, struct bench_common *out)
{
	const struct option options[] = {
		{ "killick", required_argument, NULL, 'k' },
		{ "echo", required_argument, NULL, 'e' },
		{ peer, required_argument, NULL, 'p' },
		{ "percent", required_argument, NULL, 'c' },
		{ "only", required_argument, NULL, 'o' },
		{ "versions", required_argument, NULL, 'v' },
		{ NULL, 0, NULL, 0 },
	};
	const char *text[128] = { NULL };
	size_t percent;

	if (!bench_options(argc, argv, options, text))
		return false;
	percent = text['c'] ? strtoul(text['c'], NULL, 10) : 100;
	if (!text['k'] || !text['e'] || !percent)
		return false;
	*out = (struct bench_common){
		.killick = text['k'],
		.echo = text['e'],
		.peer = text['p'],
		.only = text['o'],
		.versions = text['v'] ? text['v'] : "",
		.percent = percent,
	};
	return true;
}

void bench_pin(cpu_set_t *out_before)
{
	cpu_set_t one;

	sched_getaffinity(0, sizeof(*out_before), out_before);
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
		if (CPU_ISSET(cpu, out_before))
			CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

size_t bench_turn(size_t count, size_t round, size_t k)
{
	uint64_t seed = round;
	size_t order[BENCH_TURNS] = { 0 };

	assert(count <= BENCH_TURNS);
	for (size_t i = 0; i < count; i++) {
		size_t j = (size_t)(splitmix(&seed) % (i + 1));

		order[i] = order[j];
		order[j] = i;
	}
	return order[k];
}
