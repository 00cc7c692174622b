/* tally.h - counts the requests to a server, their latency, and remembers the last ones.
 *
 * The latency is counted in buckets, four per power of two, so the error of a quantile is at most
 * 19 %. Memory is constant. Life: zero -> tally_add ... Threads: with the loop's lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TALLY_BUCKETS 144 /* up to 2^36 us, which is 19 hours */
#define TALLY_RECENT  20
#define TALLY_NAME    48
#define TALLY_LABEL   24

struct tally_call {
	int64_t at_us;           /* when it ended, on the clock of loop_now_us */
	unsigned session;        /* its number, */
	char label[TALLY_LABEL]; /* and its label, cut; "": none */
	char name[TALLY_NAME];   /* the tool, or the method, cut */
	double ms;
	bool ok; /* the server answered with a result */
};

struct tally {
	uint64_t calls, errors; /* errors: no result */
	int64_t last_us;        /* when the last call ended; 0: never */
	uint32_t buckets[TALLY_BUCKETS];
	struct tally_call recent[TALLY_RECENT]; /* see tally_recent */
};

struct tally_lease {
	uint64_t calls, errors;
};

struct tally_note { /* about one call; borrowed */
	unsigned session;
	const char *label; /* NULL: none */
	const char *name;
	int64_t began_us, ended_us; /* on the clock of loop_now_us */
	bool ok;
};

void tally_add(struct tally *t, struct tally_lease *tl, const struct tally_note *note);
/* The latency in milliseconds that the part q (0.5, 0.99) of the calls did not exceed; 0: no
 * calls. */
double tally_quantile(const struct tally *t, double q);
/* The i-th last call, the newest first; NULL: there are fewer. */
const struct tally_call *tally_recent(const struct tally *t, size_t i);
