/* lib.h - shared by the measures of the library: three clients of one server.
 *
 * The raw client is the limit: it only uses two pipes. The SDK's client runs in node and gets its
 * commands over stdin. Every measure runs the clients interleaved, in another order each round
 * (bench.h has the same rule for the wrappers).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "report.h"
#include "samples.h"

struct lib {
	const char *self, *killick, *echo;
	const char *sdk;    /* sdk.mjs; NULL: no node, or no SDK installed */
	const char *config; /* of the hub: one shared echo server */
	const char *many;   /* the same with 100 servers that are not shared */
	const char *three;  /* with three shared servers */
	const char *peers;  /* node_modules with mcp-proxy and mcp-hub; NULL: not installed */
	struct report report;
	double load;
	size_t percent; /* of the usual number of rounds */
};

#define LIB_TALKERS 8

struct burst {         /* calls of the tool `echo` */
	size_t len;    /* of its text */
	size_t count;  /* calls in all */
	size_t window; /* in flight at once */
};

struct talker { /* one client; all numbers are negative when it failed */
	const char *name;
	void *state;
	bool (*start)(void *state, const struct lib *b);     /* one server is up and initialized */
	double (*burst)(void *state, const struct burst *u); /* microseconds */
	void (*stop)(void *state);
	double (*launch)(void *state, const struct lib *b, size_t count); /* ms until all are up */
	double (*end)(void *state); /* ms until all of them are gone */
	bool one_only;              /* never more than one call in flight */
	bool no_crowd;              /* launch is the same as that of another talker */
	size_t slower;              /* bursts have so many times fewer calls; 0: no */
};
extern const struct talker talker_raw, talker_raw_again, talker_blocking, talker_callback,
	talker_host_loop, talker_sdk, talker_hub, talker_relay, talker_proxy, talker_mcp_hub;

size_t lib_rounds(const struct lib *b, size_t rounds);
/* The talkers that can run here: how many; indexes are the same in every measure. */
size_t lib_talkers(const struct lib *b, const struct talker **out);
_Noreturn void lib_die(const char *who, const char *what);

struct lib_measure {
	const char *name; /* NULL: the end of the list */
	void (*run)(struct lib *b);
};
/* Open the report and run the measures; only: the name of one measure, NULL: all. */
void lib_measure(struct lib *b, const struct lib_measure *measures, const char *only);

/* lib_cases.c: bursts of calls through each talker, with targets. */
#define TALK_TARGETS 3
struct talk_case {
	const char *title;
	struct burst burst;
	size_t rounds;
	struct {
		const char *what;
		const struct talker *own, *base; /* base NULL: calls per second of own */
		double floor;                    /* calls per second, own / base, at least */
		double ceiling;                  /* or time per call, own / base, at most */
	} target[TALK_TARGETS];
};
struct talk {
	const struct talk_case *cases;
	size_t case_count;
	const struct talker *talkers[LIB_TALKERS];
	size_t count;
	const struct talker *second; /* the tables have ratios to the first and to this one */
	const char *second_name;
};
void lib_talk_run(struct lib *b, const struct talk *t, const char *where, bool judged);

void lib_talk(struct lib *b);  /* calls */
void lib_crowd(struct lib *b); /* 100 servers up, 100 down */
void lib_idle(struct lib *b);  /* memory and wake-ups */
/* In a separate process: open `count` idle servers, print memory and wake-ups. */
int lib_idle_main(const char *killick, const char *echo, size_t count);

/* lib_own.c: a config of `count` echo servers; the caller frees it. */
char *own_config(const char *echo, size_t count);
