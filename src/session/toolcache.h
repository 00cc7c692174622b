/* toolcache.h - the list of tools of a running server, while it may be used again.
 *
 * A list is kept when the server says for how long it is good, or that it tells of changes:
 *  - modern era: for the `ttlMs` of the result (of several pages the shortest); 0 is not at all.
 *  - legacy era: as long as the server runs, if it declared tools.listChanged; else not at all.
 * It is dropped when the server tells of a change, when the connection to it was lost, and when its
 * process ends. A list that was asked for before a change and comes after it is not kept.
 *
 * Life: zero -> toolcache_put, toolcache_get, toolcache_drop ... -> toolcache_drop.
 * Threads: with the loop's lock.
 */
#pragma once

#include <stdint.h>

#include "base/json.h"

struct toolcache {
	char *list; /* NULL: none */
	size_t len;
	int64_t until_us; /* on the clock of loop_now_us */
	uint64_t drops;   /* how often it was dropped: of a list that is asked for now */
};

#define TOOLCACHE_UNTIL_CHANGED INT64_MAX /* for_ms */

/* Keep a copy of a list that is good for for_ms. drops: as it was when the list was asked for. */
void toolcache_put(struct toolcache *tc, struct json list, int64_t for_ms, uint64_t drops);
/* The list; JSON_NONE without. Borrowed until the next put or drop. */
struct json toolcache_get(const struct toolcache *tc);
void toolcache_drop(struct toolcache *tc);
