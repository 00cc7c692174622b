/* lib_talk.c - calls through each client: one in flight, and many. On one CPU, where a switch costs
 * the same for everybody, and as they come on all CPUs, where it depends on where the scheduler has
 * put client and server, and may be ten times as much for either (see talk.c). */
#include "lib.h"

#include <sched.h>
#include <stdio.h>

#include "bench.h"

static const struct talk_case cases[] = {
	{ "One call of 100 B in flight",
	  { 100, 200, 1 },
	  60,
	  { { "one call in flight, 100 B, calls/s, libkillick / raw", &talker_blocking, &talker_raw,
	      .floor = 0.80 },
	    { "one call in flight, 100 B, calls/s, host's loop / raw", &talker_host_loop,
	      &talker_raw, .floor = 0.60 } } },
	{ "One call of 64 KiB in flight",
	  { 65536, 50, 1 },
	  30,
	  { { "one call in flight, 64 KiB, calls/s, libkillick / raw", &talker_blocking,
	      &talker_raw, .floor = 0.60 } } },
	{ "64 calls of 100 B in flight",
	  { 100, 6400, 64 },
	  30,
	  { { "64 in flight, 100 B, calls/s, libkillick / raw", &talker_callback, &talker_raw,
	      .floor = 0.45 },
	    { "64 in flight, 100 B, calls/s, host's loop / raw", &talker_host_loop, &talker_raw,
	      .floor = 0.40 },
	    { "64 in flight, 100 B, calls/s, libkillick / SDK", &talker_callback, &talker_sdk,
	      .floor = 10 } } },
	{ "64 calls of 64 KiB in flight",
	  { 65536, 256, 64 },
	  20,
	  { { "64 in flight, 64 KiB, calls/s, libkillick / raw", &talker_callback, &talker_raw,
	      .floor = 0.75 } } },
};

void lib_talk(struct lib *b)
{
	struct talk t = { .cases = cases,
			  .case_count = sizeof(cases) / sizeof(cases[0]),
			  .second = &talker_sdk,
			  .second_name = "SDK" };
	cpu_set_t before;

	t.count = lib_talkers(b, t.talkers);
	bench_pin(&before);
	lib_talk_run(b, &t, "on one CPU", true);
	sched_setaffinity(0, sizeof(before), &before);
	lib_talk_run(b, &t, "on all CPUs", false);
}
