/* looks.h - links whose servers end together, and the one look through /proc that their keepers
 * share.
 *
 * A keeper whose tree is empty looks at every process of the machine: one may have left the tree
 * into another pid namespace (keeper/linux/mark.h). When 100 servers end together, 100 such looks
 * take most of the time. So their keepers are told to ask first (keeper/linux/control.h). When all
 * of them have asked, or after LOOKS_WAIT_MS, one keeper is told to look. If this keeper finds no
 * process of any tree, the keepers that asked before it was told need no look of their own;
 * otherwise, or when it ends without an answer, each of them looks.
 *
 * Life: looks_join -> looks_promise -> looks_ask -> perhaps looks_answer -> looks_leave, which may
 * come at any time. Links of one loop share. Threads: with the lock of that loop.  Blocking: never.
 */
#pragma once

#include <stdbool.h>

#include "base/loop.h"
#include "base/ring.h"

#define LOOKS_WAIT_MS 20 /* how long to wait for the other keepers to ask */

enum looks_state {
	LOOKS_NONE,     /* its keeper does not ask, or has its answer */
	LOOKS_PROMISED, /* its keeper was told to ask */
	LOOKS_ASKED,    /* its keeper has asked and waits */
	LOOKS_LEADS,    /* its keeper was told to look, for itself and for those that follow */
	LOOKS_FOLLOWS,  /* its keeper had asked before that, and waits for the result */
};

struct looks {             /* embedded in a link; zero: has not joined */
	struct loop *loop; /* NULL: not in the ring of all links */
	enum looks_state state;
	struct ring in_all; /* other threads change it: under the lock of the ring */
	struct loop_timer late;
	/* Send a word to the keeper. May call looks_leave. */
	void (*say)(struct looks *l, const char *word);
};

void looks_join(struct looks *l, struct loop *loop, void (*say)(struct looks *l, const char *word));

/* The server is about to be ended. True: its keeper is to ask, because there are other links. */
bool looks_promise(struct looks *l);

/* The keeper has asked. */
void looks_ask(struct looks *l);

/* The keeper has looked, and found nothing for any tree of keepers like `who`. */
void looks_answer(struct looks *l, const char *who);

/* The keeper ends or cannot be heard any more. May be called again, and before looks_join. */
void looks_leave(struct looks *l);
