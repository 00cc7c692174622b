/* seats.h - limits a listener's connections: greetings, and connections that were let in.
 *
 * A connection is a greeting until its receiver lets it in: TLS, HTTP, the token, and the first
 * message come before that. Greetings are counted separately, so that silent connections do not
 * keep owners out. From `start` greetings on, each new connection causes one greeting to be
 * dropped with a probability of `rate` percent, which rises to 100 at `full` (MaxStartups of sshd).
 *
 * sshd drops the new connection. Here a greeting is chosen at random and dropped: so a client that
 * holds all seats and reconnects at once cannot keep them. A client that needs T seconds to greet,
 * among A new connections a second, is let in with a probability of exp(-A T / full) at each
 * attempt. Dropping the oldest greeting would be worse: no client is let in as soon as A T is more
 * than full. Known connections (with a valid token, or from a process of the executor's user) are
 * dropped last.
 *
 * Life: seats_init -> seats_make_room, seat_take -> [seat_know] -> [seat_let_in] -> seat_leave ...
 * -> seats_done. Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct seats_limits {
	unsigned start, rate, full; /* of greetings; rate in percent */
	unsigned max;               /* connections that were let in */
};

struct seat { /* embedded in its owner */
	struct seats *in;
	unsigned place; /* among the greetings of its kind */
	bool known, was_let_in;
	void (*drop)(void *ctx); /* end the connection, now; calls seat_leave */
	void *ctx;
};

struct seats {
	struct seats_limits limits;
	struct seats_list { /* of greetings */
		struct seat **all;
		unsigned count, room;
	} unknown, known;
	unsigned let_in;
	uint64_t random;
};

void seats_init(struct seats *s, const struct seats_limits *limits);
void seats_done(struct seats *s); /* every seat must have been left */
/* Call for each new connection: drops a greeting, with the probability above. True: dropped one. */
bool seats_make_room(struct seats *s);
/* A new greeting, not known yet. drop and ctx must be set before the next seats_make_room. */
void seat_take(struct seats *s, struct seat *t);
void seat_know(struct seat *t);
/* The connection is no longer a greeting. False, and nothing has changed: the limit `max` is
 * reached. always: let it in beyond the limit. */
bool seat_let_in(struct seat *t, bool always);
void seat_leave(struct seat *t);
