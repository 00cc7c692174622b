/* report.h - how servers ended, collected and told.
 *
 * Life: zero -> endings_add ... -> report_new, which empties the list, or endings_done.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "killick/killick.h"
#include "link/link.h"

enum ending_why {                 /* why a server ended */
		  ENDING_NOT_YET, /* it has not, and nobody wants it to */
		  ENDING_CLOSE,   /* the session was closed */
		  ENDING_REFRESH, /* a refresh removed or replaced it */
		  ENDING_START,   /* it could not be started */
		  ENDING_HANDSHAKE,
		  ENDING_TIMEOUT, /* of its start */
		  ENDING_EXIT,
		  ENDING_CRASH,
		  ENDING_KEEPER, /* its keeper was killed, or does not answer */
		  ENDING_LOST,   /* the way to its executor */
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
/* As the link told it. environment: where it ran; NULL: here. */
void ending_read(struct ending *out, const struct link_end *end, enum ending_why why,
		 const char *environment);
void ending_done(struct ending *e);

struct endings {
	struct ending_note *list;
	size_t count, room;
};
/* All of it is copied. */
void endings_add(struct endings *es, const char *session, const char *server,
		 const struct ending *e);
void endings_done(struct endings *es);
/* Those of `from` come behind those of `to`. */
void endings_move(struct endings *to, struct endings *from);
/* One block, for killick_report_free. */
struct killick_report *report_new(struct endings *es, int64_t began_us);
