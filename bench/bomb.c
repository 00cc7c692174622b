/* Owner SIGKILL to empty tree when the tree is a fork bomb: up to 300 processes that fork whenever
 * they can. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>

#define ROUNDS 7 /* under a limit the bomb tries for 2 s to reach its 300, so a round is dear */

struct variant {
	struct peer peer;
	struct samples ms;
	int escapes;
	bool no_tree;
	double bound; /* 0: no target */
};

static void variant_row(struct bench *b, struct variant *v)
{
	if (v->no_tree)
		report_text(&b->report, "| %s | not possible here | | |\n", v->peer.name);
	else if (v->escapes)
		report_text(&b->report, "| %s | escapes %d/%zu | | |\n", v->peer.name, v->escapes,
			    (size_t)v->escapes + v->ms.count);
	else
		report_text(&b->report, "| %s | %.1f | %.1f | %zu |\n", v->peer.name,
			    samples_median(&v->ms), samples_p95(&v->ms), v->ms.count);
	if (v->bound > 0) {
		char what[128];

		snprintf(what, sizeof(what), "fork bomb, owner SIGKILL to empty, %s, ms",
			 v->peer.name);
		if (v->no_tree)
			report_unjudged(&b->report, what, "not possible here");
		else
			report_target(&b->report, what, "%.0f", v->bound,
				      v->escapes ? (double)INFINITY : samples_median(&v->ms));
	}
	samples_done(&v->ms);
}

static void variant_once(struct bench *b, struct variant *v, const char *const *args)
{
	double ms;

	if (v->no_tree || v->escapes >= 2)
		return;
	ms = death_once(b, &v->peer, args);
	if (isnan(ms))
		v->no_tree = true;
	else if (isinf(ms))
		v->escapes++;
	else
		samples_add(&v->ms, ms);
}

#define KILLICK(title, level, limit_, bound_)                                                      \
	{                                                                                          \
		{ title, PEER_LEVEL, { b->killick, "run", "--contain=" level, limit_ } }, { 0 },   \
			0, false, bound_                                                           \
	}

void bench_bomb(struct bench *b)
{
	static const char limit[] = "--max-procs=64";
	const char *args[] = { b->zoo, "bomb", NULL };
	struct variant all[] = {
		KILLICK("killick `--max-procs 64`", "auto", limit, 250),
		KILLICK("killick keeper `--max-procs 64`", "keeper", limit, 250),
		KILLICK("killick namespace `--max-procs 64`", "namespace", limit, 250),
		KILLICK("killick", "auto", NULL, 0),
		KILLICK("killick keeper", "keeper", NULL, 0),
		KILLICK("killick namespace", "namespace", NULL, 0),
		{ { "bare", PEER_BARE, { NULL } }, { 0 }, 0, false, 0 },
		{ { "tini", PEER_RIVAL, { "tini", "-s" } }, { 0 }, 0, false, 0 },
		{ { "dumb-init", PEER_RIVAL, { "dumb-init" } }, { 0 }, 0, false, 0 },
		{ { "bwrap",
		    PEER_RIVAL,
		    { "bwrap", "--die-with-parent", "--unshare-pid", "--dev-bind", "/", "/" } },
		  { 0 },
		  0,
		  false,
		  0 },
	};
	size_t count = sizeof(all) / sizeof(all[0]);

	if (!b->zoo) {
		report_unjudged(&b->report, "fork bomb, owner SIGKILL to empty, ms", "no zoo here");
		return;
	}
	for (size_t i = 0; i < count; i++) {
		size_t n = 0;

		while (all[i].peer.prefix[n])
			n++;
		if (n)
			all[i].peer.prefix[n] = "--";
	}
	setenv("ZOO_FIFO", b->fifo, 1);
	for (size_t round = 0; round < ROUNDS; round++)
		for (size_t k = 0; k < count; k++)
			variant_once(b, &all[bench_turn(count, round, k)], args);
	unsetenv("ZOO_FIFO");
	report_text(&b->report, "## Owner SIGKILL to empty tree, fork bomb of 300 processes\n\n"
				"| | median ms | p95 ms | n |\n|---|--:|--:|--:|\n");
	for (size_t i = 0; i < count; i++)
		variant_row(b, &all[i]);
	report_text(&b->report, "\n");
}
