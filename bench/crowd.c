/* Many servers at once: start all, first answer from each, hang up on all, wait for all exits. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"

#define CROWD 100

static void crowd_once(const struct peer *p, const char *const *args, struct samples *out)
{
	static struct server s[CROWD];
	const char *argv[2 * PEER_ARGS];
	double t0 = now_us();

	peer_argv(p, args, argv);
	for (int i = 0; i < CROWD; i++)
		if (server_start(&s[i], argv, NULL) < 0) {
			perror("bench: crowd");
			exit(1);
		}
	for (int i = 0; i < CROWD; i++)
		if (server_call(&s[i], "{}\n", 3) < 0) {
			fprintf(stderr, "bench: one of %d servers under %s does not answer\n",
				CROWD, p->name);
			exit(1);
		}
	for (int i = 0; i < CROWD; i++)
		server_hang_up(&s[i]);
	for (int i = 0; i < CROWD; i++)
		server_finish(&s[i]);
	samples_add(out, (now_us() - t0) / 1000);
	/* bwrap leaves us its first process as a zombie. Hundreds of zombies would make /proc larger
	 * for those who look through it. */
	server_kill_all(SERVER_DEADLINE_MS);
}

void bench_crowd(struct bench *b)
{
	const char *args[] = { b->echo, NULL };
	struct samples s[PEER_MAX] = { 0 };
	int killick = peer_named(&b->peers, "killick"), bare = peer_named(&b->peers, "bare");

	for (size_t round = 0; round < bench_rounds(b, 15); round++)
		for (size_t k = 0; k < b->peers.count; k++) {
			size_t i = bench_turn(b->peers.count, round, k);

			if (strcmp(b->peers.at[i].name, "bare, own session") != 0)
				crowd_once(&b->peers.at[i], args, &s[i]);
		}
	report_text(&b->report,
		    "## 100 servers started at once, one answer from each, all ended\n\n");
	report_table(&b->report, "ms", &b->peers, s);
	report_target(&b->report, "100 servers started and ended, killick / bare", "%.2f", 2.5,
		      samples_median(&s[killick]) / samples_median(&s[bare]));
	for (size_t i = 0; i < PEER_MAX; i++)
		samples_done(&s[i]);
}
