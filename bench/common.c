/* common.c - what the wrappers' measures and the library's have in common: a request, turns, and
 * one CPU for all. */
#include <assert.h>
#include <stdint.h>

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
