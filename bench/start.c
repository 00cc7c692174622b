/* Start to first answer: from before the spawn to the newline of the answer to the first request.
 */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"

static void start_once(const struct peer *p, const char *const *args, struct samples *out)
{
	const char *argv[2 * PEER_ARGS];
	struct server s;
	double t0, t1;
	int r;

	peer_argv(p, args, argv);
	t0 = now_us();
	r = server_start(&s, argv, NULL);
	if (r == 0)
		r = server_call(&s, bench_initialize, strlen(bench_initialize));
	t1 = now_us();
	if (r < 0 || server_finish(&s)) {
		fprintf(stderr, "bench: %s did not start and end as it should: %s\n", p->name,
			strerror(-r));
		exit(1);
	}
	samples_add(out, t1 - t0);
}

static void start_all(struct bench *b, const char *const *args, size_t rounds, struct samples *out)
{
	for (size_t round = 0; round < rounds; round++)
		for (size_t k = 0; k < b->peers.count; k++) {
			size_t i = bench_turn(b->peers.count, round, k);

			if (strcmp(b->peers.at[i].name, "bare, own session") != 0)
				start_once(&b->peers.at[i], args, &out[i]);
		}
}

void bench_start(struct bench *b)
{
	const char *echo[] = { b->echo, NULL }, *node[] = { "node", b->node_server, NULL };
	struct samples s[PEER_MAX] = { 0 };
	int killick = peer_named(&b->peers, "killick"), tini = peer_named(&b->peers, "tini");

	start_all(b, echo, bench_rounds(b, 400), s);
	report_text(&b->report,
		    "## Start to first answer\n\nSpawn, one `initialize` line, until its answer; a "
		    "small dynamic C server.\n\n");
	report_table(&b->report, "µs", &b->peers, s);
	if (killick >= 0 && tini >= 0)
		report_target(&b->report, "start to first answer, killick / tini", "%.2f", 0.9,
			      samples_median(&s[killick]) / samples_median(&s[tini]));
	else
		report_unjudged(&b->report, "start to first answer, killick / tini",
				"no tini here");
	for (size_t i = 0; i < PEER_MAX; i++)
		samples_done(&s[i]);
	if (!b->node_server)
		return;
	start_all(b, node, bench_rounds(b, 25), s);
	report_text(&b->report, "The same with a node server:\n\n");
	report_table(&b->report, "µs", &b->peers, s);
	for (size_t i = 0; i < PEER_MAX; i++)
		samples_done(&s[i]);
}
