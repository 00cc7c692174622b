/* bench.h - what the measures share.
 *
 * Each measure runs all peers interleaved, shuffled anew every round, so that whatever else the
 * machine does, and whatever a peer leaves for the kernel to clean up, falls on all of them alike;
 * then it writes its table and its verdicts into the report.
 */
#pragma once

#include <getopt.h>
#include <sched.h>
#include <stdbool.h>

#include "peer.h"
#include "report.h"

struct bench {
	const char *self; /* this program: it is also the owner that gets killed */
	const char *killick, *echo, *zoo;
	const char *node_server; /* NULL: no node here */
	char fifo[256];          /* held open by trees, see echo.c */
	struct peers peers;
	struct report report;
	double load;    /* of the machine, before */
	size_t percent; /* of the usual number of rounds */
};

extern const char bench_initialize[]; /* one line, the request every server answers */

/* Rounds scaled by `percent`, at least 3. */
size_t bench_rounds(const struct bench *b, size_t rounds);

/* Which of `count` (at most BENCH_TURNS) has the k-th turn of a round. The same in every run. */
#define BENCH_TURNS 16
size_t bench_turn(size_t count, size_t round, size_t k);
/* Read the command line: text[letter] is what the option has. False on anything unknown. */
bool bench_options(int argc, char **argv, const struct option *options, const char *text[]);
/* Run on one CPU from now on, with all that is started; sched_setaffinity(*out_before) undoes it.
 */
void bench_pin(cpu_set_t *out_before);

void bench_start(struct bench *b);  /* start to first answer */
void bench_talk(struct bench *b);   /* round trip and throughput */
void bench_memory(struct bench *b); /* what the wrapper itself occupies */
void bench_death(struct bench *b);  /* owner SIGKILL to empty tree */
void bench_bomb(struct bench *b);   /* the same with a fork bomb */
void bench_crowd(struct bench *b);  /* many servers at once */

/* Kill an owner whose server was started through `p`: milliseconds until the tree is empty,
 * INFINITY when it still is not after DEATH_LIMIT_MS, NAN when no tree grew. Whatever is left is
 * killed before this returns. */
#define DEATH_LIMIT_MS 1000
double death_once(struct bench *b, const struct peer *p, const char *const *args);

/* The owner's own main: starts argv as a server, says so on stdout, waits to be killed. */
int owner_main(char **argv);
