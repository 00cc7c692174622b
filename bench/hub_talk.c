/* hub_talk.c - calls through the hub: one in flight, and many, next to the raw client and to
 * gateways. On one CPU, where a switch costs the same for everybody, and on all CPUs (see
 * lib_talk.c). */
#include "hub.h"

#include <sched.h>

#include "bench.h"

static const struct talk_case cases[] = {
	{ "One call of 100 B in flight",
	  { 100, 200, 1 },
	  60,
	  { { "hub, one call in flight, 100 B, time, hub / raw", &talker_hub, &talker_raw,
	      .ceiling = 2.2 },
	    { "hub, one call in flight, 100 B, time, hub / C relay", &talker_hub, &talker_relay,
	      .ceiling = 1.25 } } },
	{ "64 calls of 100 B in flight",
	  { 100, 6400, 64 },
	  30,
	  { { "hub, 64 in flight, 100 B, calls/s, hub / raw", &talker_hub, &talker_raw,
	      .floor = 0.15 },
	    { "hub, 64 in flight, 100 B, calls/s", &talker_hub, NULL, .floor = 200000 },
	    { "hub, 64 in flight, 100 B, calls/s, hub / mcp-proxy", &talker_hub, &talker_proxy,
	      .floor = 50 } } },
	{ "64 calls of 64 KiB in flight",
	  { 65536, 256, 64 },
	  20,
	  { { "hub, 64 in flight, 64 KiB, calls/s, hub / raw", &talker_hub, &talker_raw,
	      .floor = 0.4 } } },
};

static void run(struct lib *b, const char *where, bool judged)
{
	struct talk t = { .cases = cases,
			  .case_count = sizeof(cases) / sizeof(cases[0]),
			  .talkers = { &talker_raw, &talker_raw_again, &talker_relay, &talker_hub },
			  .count = 4,
			  .second = &talker_proxy,
			  .second_name = "mcp-proxy" };
	struct hub h;

	if (b->peers) {
		t.talkers[t.count++] = &talker_proxy;
		t.talkers[t.count++] = &talker_mcp_hub;
	}
	hub_start(&h, b);
	lib_talk_run(b, &t, where, judged);
	hub_stop(&h);
}

void hub_talk(struct lib *b)
{
	cpu_set_t before;

	bench_pin(&before);
	run(b, "on one CPU", true);
	sched_setaffinity(0, sizeof(before), &before);
	run(b, "on all CPUs", false);
}
