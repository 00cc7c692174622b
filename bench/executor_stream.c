/* executor_stream.c - a process writes 1 GiB: from its start until it is closed and every byte has
 * come. The client looks at all of them, which costs it little: zeros are a run of one letter in
 * base64. */
#include "executor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STREAM_MIB  1024
#define POUR        65536
#define CHUNK_LIMIT (1 << 20)

int executor_pour_main(const char *bytes)
{
	static const char zeros[POUR];
	unsigned long long left = strtoull(bytes, NULL, 10);

	while (left) {
		ssize_t n = write(1, zeros, left < POUR ? (size_t)left : POUR);

		if (n < 0)
			return 1;
		left -= (unsigned long long)n;
	}
	return 0;
}

/* How many zero bytes a chunk is; ends the program when it is anything else. */
static size_t zeros_in(const struct executor *e, const char *data, size_t len)
{
	static char letters[CHUNK_LIMIT];
	size_t bytes = executor_decode(data, len, NULL);

	if (!letters[0])
		memset(letters, 'A', sizeof(letters));
	while (len && data[len - 1] == '=')
		len--;
	if (len > sizeof(letters) || memcmp(data, letters, len) != 0)
		executor_die(e, "the stream is not what was written");
	return bytes;
}

/* Seconds of CPU that it has used itself. */
static double cpu_of(const struct executor *e)
{
	struct executor_stat stat;

	if (!executor_stat(e->server.pid, &stat))
		executor_die(e, "no /proc entry");
	return (double)stat.ticks / (double)sysconf(_SC_CLK_TCK);
}

static double stream_once(struct executor *e, const struct executor_spec *spec)
{
	double t0 = now_us();
	long process = executor_start(e, spec), events = 0, last = 0;
	size_t got = 0;

	while (!last || events < last) { /* the end may overtake output */
		struct executor_event ev = executor_next(e);

		if (ev.said == SAID_ANSWER)
			continue;
		if (ev.process != process)
			executor_die(e, "somebody else's event");
		events++;
		if (ev.said == SAID_OUTPUT)
			got += zeros_in(e, ev.data, ev.len);
		if (ev.said == SAID_CLOSED)
			last = ev.seq;
	}
	if (got != (size_t)STREAM_MIB << 20)
		executor_die(e, "bytes are lost or doubled");
	return now_us() - t0;
}

static void stream(struct executor_bench *b, const char *title, const struct executor_spec *spec,
		   bool judged)
{
	struct samples time[EXECUTORS] = { 0 }, cpu[EXECUTORS] = { 0 };

	executors_up(b);
	for (size_t round = 0; round < executor_rounds(b, 5); round++)
		for (size_t turn = 0; turn < EXECUTORS; turn++) {
			struct executor *e = executor_turn(b, round, turn);
			double used;

			if (!e)
				continue;
			used = cpu_of(e);
			samples_add(&time[e - b->at], stream_once(e, spec) / 1e6);
			samples_add(&cpu[e - b->at], cpu_of(e) - used);
		}
	executors_down(b);
	report_text(&b->report, "### %s\n\n", title);
	executor_table(b, "s", time);
	for (size_t i = 0; i < EXECUTORS; i++)
		if (time[i].count)
			report_text(&b->report, "%s: %.0f MiB/s, with %.2f s of its CPU. ",
				    b->at[i].name, STREAM_MIB / samples_median(&time[i]),
				    samples_median(&cpu[i]));
	report_text(&b->report, "\n\n");
	if (judged)
		executor_judge(b, "throughput of a 1 GiB stream, killick / codex", 2, true, time);
	for (size_t i = 0; i < EXECUTORS; i++) {
		samples_done(&time[i]);
		samples_done(&cpu[i]);
	}
}

void executor_stream(struct executor_bench *b)
{
	char bytes[32];
	struct executor_spec fast = { .argv = { b->self, "pour", bytes } },
			     head = { .argv = { "head", "-c", bytes, "/dev/zero" } };

	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)STREAM_MIB << 20);
	report_text(&b->report,
		    "## A stream of 1 GiB\n\nFrom the `process/start` until the process is closed "
		    "and every byte has come and been checked. All CPUs.\n\n");
	stream(b, "Written 64 KiB at a time", &fast, true);
	stream(b, "`head -c 1G /dev/zero`, 8 KiB at a time", &head, false);
}
