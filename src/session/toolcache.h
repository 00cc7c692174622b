/* toolcache.h - the cached list of tools of a running server.
 *
 * How long a list is cached:
 *  - modern era: for the `ttlMs` of the result (of several pages the shortest); 0: not at all.
 *  - legacy era: as long as the server runs, if it declared tools.listChanged; else not at all.
 * The list is dropped when the server reports a change, when the connection to the server is lost,
 * and when its process ends. A list that was requested before a change and arrives after the change
 * is not cached.
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
	uint64_t drops;   /* number of drops; to notice a drop between a request and its list */
};

#define TOOLCACHE_UNTIL_CHANGED INT64_MAX /* for_ms */

/* Cache a copy of a list for for_ms. drops: the value of tc->drops when the list was requested. */
void toolcache_put(struct toolcache *tc, struct json list, int64_t for_ms, uint64_t drops);
/* The list; JSON_NONE: no valid list. Borrowed until the next put or drop. */
struct json toolcache_get(const struct toolcache *tc);
void toolcache_drop(struct toolcache *tc);
