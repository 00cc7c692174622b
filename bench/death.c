/* Owner SIGKILL to empty tree.
 *
 * An owner (this program again) starts the server through the peer, hears its first answer and
 * reports. Then it is SIGKILLed, and the clock stops when the FIFO that every process of the tree
 * holds open hangs up: the kernel's own word that the last holder is gone, and nothing a wrapper
 * could claim. After DEATH_LIMIT_MS the cell is an escape. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server.h"

#define ESCAPES_ENOUGH 2 /* each costs DEATH_LIMIT_MS, and one is already the answer */

int owner_main(char **argv)
{
	struct server s;
	int r;

	setsid(); /* so that what escapes can be told from the benchmark itself, see death_once */
	r = server_start(&s, (const char *const *)argv, NULL);
	if (r == 0)
		r = server_call(&s, bench_initialize, strlen(bench_initialize));
	if (r < 0) {
		fprintf(stderr, "bench: the owner's server does not answer: %s\n", strerror(-r));
		return 1;
	}
	puts("{}");
	fflush(stdout);
	for (;;)
		pause();
}

double death_once(struct bench *b, const struct peer *p, const char *const *args)
{
	const char *argv[2 * PEER_ARGS + 4] = { b->self, "owner" };
	int fifo = open(b->fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC), r;
	struct pollfd hup = { .fd = fifo };
	struct server owner;
	double t0, t1;

	if (fifo < 0) {
		perror(b->fifo);
		exit(1);
	}
	peer_argv(p, args, argv + 2);
	if (server_start(&owner, argv, NULL) < 0) {
		perror("bench: owner");
		exit(1);
	}
	if (server_call(&owner, "\n", 1) < 0) {
		server_finish(&owner);
		close(fifo);
		server_kill_all(0);
		return (double)NAN;
	}
	t0 = now_us();
	kill(owner.pid, SIGKILL);
	do
		r = poll(&hup, 1, DEATH_LIMIT_MS);
	while (r < 0 && errno == EINTR);
	t1 = now_us();
	if (r <= 0)
		kill(-owner.pid,
		     SIGKILL); /* bombs die at once or not at all; the rest is found one by one */
	server_finish(&owner);
	close(fifo);
	server_kill_all(r > 0 ? 2000 : 0);
	return r > 0 ? (t1 - t0) / 1000 : (double)INFINITY;
}

struct tree {
	const char *name;
	const char *args[6];
};

static void tree_row(struct bench *b, const struct tree *t, double *worst)
{
	struct samples s[PEER_MAX] = { 0 };
	size_t escapes[PEER_MAX] = { 0 };

	for (size_t round = 0; round < bench_rounds(b, 31); round++)
		for (size_t k = 0; k < b->peers.count; k++) {
			size_t i = bench_turn(b->peers.count, round, k);
			double ms;

			if (escapes[i] >= ESCAPES_ENOUGH || b->peers.at[i].kind == PEER_CONTROL)
				continue;
			ms = death_once(b, &b->peers.at[i], t->args);
			if (isnan(ms)) {
				fprintf(stderr, "bench: no tree '%s' under %s\n", t->name,
					b->peers.at[i].name);
				exit(1);
			}
			if (isinf(ms))
				escapes[i]++;
			else
				samples_add(&s[i], ms);
		}
	report_text(&b->report, "| %s |", t->name);
	for (size_t i = 0; i < b->peers.count; i++) {
		const struct peer *p = &b->peers.at[i];
		double m = samples_median(&s[i]);

		if (p->kind == PEER_CONTROL)
			continue;
		if (escapes[i])
			report_text(&b->report, " escapes %zu/%zu |", escapes[i],
				    escapes[i] + s[i].count);
		else
			report_text(&b->report, " %.2f (%.2f) |", m, samples_p95(&s[i]));
		if (p->kind == PEER_KILLICK || p->kind == PEER_LEVEL)
			worst[i] = escapes[i] ? (double)INFINITY : m > worst[i] ? m : worst[i];
		samples_done(&s[i]);
	}
	report_text(&b->report, "\n");
}

void bench_death(struct bench *b)
{
	const struct tree trees[] = {
		{ "server", { b->echo, "plain" } },
		{ "server busy in a call", { b->echo, "busy" } },
		{ "server and 2 children", { b->echo, "children" } },
		{ "`sh -c` launcher", { "sh", "-c", "\"$0\" plain; exit $?", b->echo } },
		{ "`sh -c` launcher, busy server",
		  { "sh", "-c", "\"$0\" busy; exit $?", b->echo } },
		{ "server and a daemonised child", { b->echo, "daemon" } },
	};
	double worst[PEER_MAX] = { 0 };

	setenv("ZOO_FIFO", b->fifo, 1);
	report_text(
		&b->report,
		"## Owner SIGKILL to empty tree\n\nMilliseconds, median (p95), n = %zu; `escapes`: "
		"something of the tree still lives after %d ms.\n\n| |",
		bench_rounds(b, 31), DEATH_LIMIT_MS);
	for (size_t i = 0; i < b->peers.count; i++)
		if (b->peers.at[i].kind != PEER_CONTROL)
			report_text(&b->report, " %s |", b->peers.at[i].name);
	report_text(&b->report, "\n|---|");
	for (size_t i = 0; i < b->peers.count; i++)
		if (b->peers.at[i].kind != PEER_CONTROL)
			report_text(&b->report, "--:|");
	report_text(&b->report, "\n");
	for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++)
		tree_row(b, &trees[i], worst);
	report_text(&b->report, "\n");
	for (size_t i = 0; i < b->peers.count; i++) {
		const struct peer *p = &b->peers.at[i];
		char what[128];

		if (p->kind != PEER_KILLICK && p->kind != PEER_LEVEL)
			continue;
		snprintf(what, sizeof(what),
			 "owner SIGKILL to empty, slowest ordinary tree, %s, ms", p->name);
		report_target(&b->report, what, "%.2f", 10, worst[i]);
	}
	unsetenv("ZOO_FIFO");
}
