/* report.h - collects how servers ended, and makes the report.
 *
 * Life: zero -> endings_add ... -> report_new, which empties the list, or endings_done.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "killick/killick.h"
#include "link/link.h"

enum ending_why {                 /* why a server ended */
		  ENDING_NOT_YET, /* the server has not ended, and is not being ended */
		  ENDING_CLOSE,   /* the session was closed */
		  ENDING_REFRESH, /* a refresh removed or replaced the server */
		  ENDING_START,   /* the server could not be started */
		  ENDING_HANDSHAKE,
		  ENDING_TIMEOUT, /* the start timed out */
		  ENDING_EXIT,
		  ENDING_CRASH,
		  ENDING_KEEPER,  /* the keeper was killed, or does not answer */
		  ENDING_LOST,    /* the connection to the executor is lost */
		  ENDING_REST,    /* the server was not used; its next use starts it again */
		  ENDING_STOP,    /* an order of the hub; the next use starts the server again */
		  ENDING_RESTART, /* an order of the hub */
};
const char *ending_why_name(enum ending_why why); /* static; not for ENDING_NOT_YET */

struct ending { /* of one tree */
	int pid, exit_code, exit_signal, survivors;
	enum ending_why why;
	enum link_step step;
	unsigned proof; /* enum link_proof */
	double stop_ms;
	char *json;        /* NULL: none */
	char *text;        /* a sentence, when the proof is LINK_PROOF_LEASE; NULL: none */
	char *environment; /* NULL: this machine */
};
/* Fill in *out from the report of the link. environment: where the server ran; NULL: this machine.
 */
void ending_read(struct ending *out, const struct link_end *end, enum ending_why why,
		 const char *environment);
void ending_done(struct ending *e);

struct endings {
	struct ending_note *list;
	size_t count, room;
};
/* Append a copy of the ending. */
void endings_add(struct endings *es, const char *session, const char *server,
		 const struct ending *e);
void endings_done(struct endings *es);
/* Append the endings of `from` to `to`. */
void endings_move(struct endings *to, struct endings *from);
/* Make the report, in one block; the caller frees it with killick_report_free. */
struct killick_report *report_new(struct endings *es, int64_t began_us);
