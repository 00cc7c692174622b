/* gate.h - limits how many forwards are in flight, per session and per server, and queues the rest.
 *
 * Each lease has at most GATE_LEASE_MAX forwards in flight, each server at most GATE_SERVER_MAX.
 * Further forwards wait in a queue per lease; the leases take turns, so that a greedy session does
 * not delay the others. A queue has at most GATE_QUEUE_MAX entries.
 *
 * Turns. A request of a legacy server (sampling, elicitation) names no call. After the first such
 * request, a server that several sessions share gets one forward at a time, so that the next
 * request belongs to a known session. A session whose client is of the modern era has one forward
 * at a time there, because the client gets a question in the answer to the call that caused it. The
 * runtime remembers such servers by their fingerprint. A forward that waits behind one other
 * forward for GATE_WAIT_MS fails, so that a call that hangs does not block the other sessions.
 *
 * As long as nothing waits, a forward costs two counters and no memory.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"
#include "base/ring.h"
#include "session/tally.h"

#define GATE_LEASE_MAX  32
#define GATE_SERVER_MAX 256
#define GATE_QUEUE_MAX  1024
#define GATE_WAIT_MS    10000 /* behind one forward, in a server that gets one at a time */

struct killick;
struct lease;
struct server;

struct server_pauses {  /* the times in which output is not read: see server_look_full */
	unsigned count; /* servers that are paused now */
	int64_t since_us, sum_us;
};

struct gate { /* of a server */
	unsigned in_flight, queued;
	bool asks;             /* the server has made requests of its own */
	char tool[TALLY_NAME]; /* of the forward that was sent last, */
	int64_t sent_us;       /* and when */
	struct ring turns;     /* struct gate_lease: leases that have a queue, the next one first */
	struct loop_timer run; /* see gate_leave_later */
};
struct gate_lease {
	unsigned in_flight, queued;
	int64_t held_us; /* server_held_us when the wait for the next answer began */
	struct ring queue, in_turns;
};

struct gate_entry { /* embedded in its owner */
	struct ring node;
	struct lease *lease; /* NULL: gate_fail has taken the entry out of the queue */
	/* The entry's turn has come: it is out of the queue and is counted. Must not call host
	 * code. */
	void (*go)(struct gate_entry *e);
	/* The entry is out of the queue and not counted. May call gate_forget for other entries. */
	void (*fail)(struct gate_entry *e, int code, const char *text);
};

struct gate_memory { /* of a runtime: fingerprints of servers that ask */
	char **list;
	size_t count, room;
};

void gate_init(struct gate *g, const struct killick *k, const char *fingerprint);
void gate_init_lease(struct gate_lease *g);
void gate_done(struct gate *g, const struct killick *k);
void gate_memory_done(struct gate_memory *m);

/* Count one more forward, if no limit is reached. False: it must wait (gate_wait). */
bool gate_enter(struct lease *l);
/* Put the entry into the queue: `go` is called later. False: the queue is full. */
bool gate_wait(struct gate_entry *e);
/* A counted forward is over: the next ones may go. */
void gate_leave(struct lease *l);
/* The same for a forward that was cancelled. The next ones go from the loop, because an owner that
 * leaves cancels one forward after the other: those that wait must not be sent meanwhile. */
void gate_leave_later(struct lease *l);
/* The entry does not want to wait any more. Does nothing if the entry is not in the queue. */
void gate_forget(struct gate_entry *e);
/* Fail all entries of the lease; l NULL: of the server. */
void gate_fail(struct server *sv, struct lease *l, int code, const char *text);
/* Entries may go that could not go before. */
void gate_run(struct server *sv);
/* The server has made a request of its own. */
void gate_asked(struct server *sv);
