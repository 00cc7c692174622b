/* site.h - the environments that the servers of a runtime are placed in.
 *
 * An environment is known by its definition: servers and sessions whose configs define the same one
 * share it, and with it one connection. It is made when the first server needs it and let go of
 * with the last.
 *
 *	site_use -> [site_use, site_leave ...] -> site_leave, the last -> leaving -> freed
 *
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>

#include "base/loop.h"
#include "base/ring.h"
#include "config/config.h"

struct environment;
struct killick;

struct site {
	struct killick *k;
	struct ring in_runtime;
	unsigned users;
	bool leaving;  /* its connection, or program, is being ended */
	bool given_up; /* and takes longer than it can: nobody waits for it any more */
	struct loop_timer
		timer; /* nobody uses it: it is freed from a clean stack; then, patience */
	struct environment *env;
	char fingerprint[FINGERPRINT_SIZE];
};

/* The environment that p defines. */
struct site *site_use(struct killick *k, const struct config_place *p);
void site_use_again(struct site *s); /* one more */
void site_leave(struct site *s);
/* Is one about to go? Not for ever: its keeper may not answer. */
bool sites_are_leaving(const struct killick *k);
/* None is left but those that were given up. */
bool sites_are_left(const struct killick *k);
