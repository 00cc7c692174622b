/* Round trip of one call in flight, and throughput, of servers that run side by side.
 *
 * All of it on one CPU: left alone, the scheduler puts some pairs on one CPU (9 us per round trip
 * on the machine this was written on) and others on two (90 us, most of it waking an idle CPU),
 * which is ten times what is looked for here. A wrapper that takes part in the conversation costs
 * more on one CPU, not less. Within a start the peers take turns in short bursts; everything is
 * started anew a few times. */
#include "bench.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"

struct burst {
	const char *title, *target, *note;
	size_t len, count, window; /* window 0: one call in flight, each call a sample */
	double divide;             /* count per unit in the table */
	const char *unit;
};

static void burst_once(struct server *s, const struct burst *u, const char *line,
		       struct samples *out)
{
	double t0 = now_us();
	int r = 0;

	if (u->window) {
		r = server_pump(s, line, u->len, u->count, u->window);
		samples_add(out, (now_us() - t0) / u->divide);
	}
	for (size_t i = 0; !u->window && !r && i < u->count; i++) {
		double t1;

		r = server_call(s, line, u->len);
		t1 = now_us();
		samples_add(out, t1 - t0);
		t0 = t1;
	}
	if (r < 0) {
		fprintf(stderr, "bench: a server went silent: %s\n", strerror(-r));
		exit(1);
	}
}

static bool talks(const struct peer *p)
{
	return p->kind != PEER_LEVEL; /* no level has a part in the data path */
}

/* One start of every server, then `rounds` bursts of each. */
static void talk_side_by_side(struct bench *b, const struct burst *u, const char *line,
			      size_t rounds, struct samples *out)
{
	struct server s[PEER_MAX];
	const char *echo[] = { b->echo, NULL }, *argv[2 * PEER_ARGS];

	for (size_t i = 0; i < b->peers.count; i++) {
		if (!talks(&b->peers.at[i]))
			continue;
		peer_argv(&b->peers.at[i], echo, argv);
		if (server_start(&s[i], argv, NULL) < 0 || server_call(&s[i], "{}\n", 3) < 0) {
			fprintf(stderr, "bench: %s does not answer\n", b->peers.at[i].name);
			exit(1);
		}
	}
	for (size_t round = 0; round < rounds; round++)
		for (size_t k = 0; k < b->peers.count; k++) {
			size_t i = bench_turn(b->peers.count, round, k);

			if (talks(&b->peers.at[i]))
				burst_once(&s[i], u, line, &out[i]);
		}
	for (size_t i = 0; i < b->peers.count; i++)
		if (talks(&b->peers.at[i]))
			server_finish(&s[i]);
}

static void talk(struct bench *b, const struct burst *u)
{
	struct samples s[PEER_MAX] = { 0 };
	int killick = peer_named(&b->peers, "killick"), bare = peer_named(&b->peers, "bare");
	char *line = malloc(u->len);

	if (!line)
		exit(70);
	memset(line, 'x', u->len);
	line[u->len - 1] = '\n';
	for (size_t start = 0; start < bench_rounds(b, 8); start++)
		talk_side_by_side(b, u, line, 10, s);
	report_text(&b->report, "## %s\n\n%s", u->title, u->note);
	report_table(&b->report, u->unit, &b->peers, s);
	/* 1.00 is the aim; 2 % is what two bare servers differ by between themselves */
	report_target(&b->report, u->target, "%.2f", 1.02,
		      samples_median(&s[killick]) / samples_median(&s[bare]));
	for (size_t i = 0; i < PEER_MAX; i++)
		samples_done(&s[i]);
	free(line);
}

void bench_talk(struct bench *b)
{
	static const struct burst all[] = {
		{ "Round trip, one call of 100 B in flight", "round trip, killick / bare",
		  "Client and server on one CPU. `bare, own session` is the bare server after "
		  "`setsid`: with the "
		  "kernel's autogroup scheduling (`kernel.sched_autogroup_enabled`) a switch "
		  "between sessions costs "
		  "more than one within a session, whoever made the session.\n\n",
		  100, 200, 0, 1, "µs" },
		{ "Throughput, 64 KiB messages, 8 in flight (time per MiB, one way)",
		  "time per MiB in 64 KiB messages, killick / bare", "", 65536, 128, 8, 8, "µs" },
		{ "Throughput, 100 B messages, 64 in flight (time per 1000 messages)",
		  "time per 1000 pipelined messages, killick / bare", "", 100, 5000, 64, 5, "µs" },
	};

	cpu_set_t before;

	bench_pin(&before);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		talk(b, &all[i]);
	sched_setaffinity(0, sizeof(before), &before);
}
