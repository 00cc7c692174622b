/* roster.h - the processes of all owners, found by owner and id.
 *
 * A process is in the roster until it is forgotten. Life: roster_init -> ... -> roster_done, when
 * the roster is empty. Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include "base/hash.h"

struct owner;
struct process;

struct roster {
	struct hash table;
	uint64_t seed; /* secret: a client cannot choose ids that collide */
};

void roster_init(struct roster *r, uint64_t seed);
void roster_done(struct roster *r);
void roster_add(struct roster *r, struct process *p);
void roster_remove(struct roster *r, struct process *p);
struct process *roster_find(const struct roster *r, const struct owner *o, const char *id);
