/* bench.h - shared by the measures of killick and the other wrappers.
 *
 * Each measure runs all peers interleaved, in a new order every round, so that other work of the
 * machine, and the kernel's cleanup after a peer, affects all peers alike; then the measure writes
 * its table and its verdicts into the report.
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

/* Which of `count` peers (at most BENCH_TURNS) has the k-th turn of a round. The same in every run.
 */
#define BENCH_TURNS 16
size_t bench_turn(size_t count, size_t round, size_t k);
/* Read the command line: text[letter] is the value of the option. False: unknown option. */
bool bench_options(int argc, char **argv, const struct option *options, const char *text[]);

/* The options of the programs that compare killick with one other program. */
struct bench_common {
	const char *killick, *echo;
	const char *peer;     /* the other program; NULL: not here */
	const char *only;     /* one measure; NULL: all */
	const char *versions; /* "": none given */
	size_t percent;       /* of the usual number of rounds */
};
/* Read the command line; --`peer` names the other program. False: unknown option, or --killick or
 * --echo is missing, or --percent is 0. */
bool bench_common_options(int argc, char **argv, const char *peer, struct bench_common *out);

/* Run this process and its children on one CPU from now on; sched_setaffinity(*out_before) undoes
 * this. */
void bench_pin(cpu_set_t *out_before);

void bench_start(struct bench *b);  /* start to first answer */
void bench_talk(struct bench *b);   /* round trip and throughput */
void bench_memory(struct bench *b); /* memory of the wrapper itself */
void bench_death(struct bench *b);  /* owner SIGKILL to empty tree */
void bench_bomb(struct bench *b);   /* the same with a fork bomb */
void bench_crowd(struct bench *b);  /* many servers at once */

/* Kill an owner whose server was started through `p`: milliseconds until the tree is empty,
 * INFINITY when it is not empty after DEATH_LIMIT_MS, NAN when the tree did not start. Remaining
 * processes are killed before this returns. */
#define DEATH_LIMIT_MS 1000
double death_once(struct bench *b, const struct peer *p, const char *const *args);

/* main of the owner: starts argv as a server, prints a line on stdout, waits to be killed. */
int owner_main(char **argv);
