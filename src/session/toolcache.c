/* toolcache.c - see toolcache.h */
#include "session/toolcache.h"

#include <stdlib.h>

#include "base/loop.h"
#include "base/mem.h"

void toolcache_put(struct toolcache *tc, struct json list, int64_t for_ms, uint64_t drops)
{
	int64_t now_us = loop_now_us();

	if (for_ms <= 0 || drops != tc->drops)
		return;
	free(tc->list);
	tc->list = mem_try_text(list.at, list.len); /* NULL: the list is requested again */
	tc->len = list.len;
	tc->until_us = for_ms < (INT64_MAX - now_us) / 1000 ? now_us + for_ms * 1000 : INT64_MAX;
}

struct json toolcache_get(const struct toolcache *tc)
{
	if (!tc->list || loop_now_us() >= tc->until_us)
		return JSON_NONE;
	return (struct json){ tc->list, tc->len };
}

void toolcache_drop(struct toolcache *tc)
{
	free(tc->list);
	tc->list = NULL;
	tc->drops++;
}
