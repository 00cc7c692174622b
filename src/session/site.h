/* site.h - the environments that the servers of a runtime are placed in.
 *
 * Servers whose configs define the same environment share one site, also over several sessions, and
 * with the site one connection. The first server that needs the site makes it; the site is freed
 * after the last server has left.
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
#include "session/gate.h"

struct environment;
struct killick;

struct site {
	struct killick *k;
	struct ring in_runtime;
	unsigned users;
	bool leaving;  /* its connection, or program, is being ended */
	bool given_up; /* the end timed out: a close does not wait for this site any more */
	/* without users: the deferred free; while leaving: the give-up timeout */
	struct loop_timer timer;
	struct environment *env;
	struct server_pauses pauses; /* of all servers of the site */
	char fingerprint[FINGERPRINT_SIZE];
};

/* The site of the environment that p defines; one more user. */
struct site *site_use(struct killick *k, const struct config_place *p);
void site_use_again(struct site *s); /* one more user */
void site_leave(struct site *s);
/* Is a site without users being ended? False after the give-up timeout, because a keeper may never
 * answer. */
bool sites_are_leaving(const struct killick *k);
/* All sites are freed or given up. */
bool sites_are_left(const struct killick *k);
