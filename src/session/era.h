/* era.h - remembers the era of each server, so that the server need not be probed again.
 *
 * A verdict is stored per fingerprint, in memory and, if there is a cache directory, in a file that
 * several programs may share: the file is replaced as a whole, and verdicts that other programs
 * added meanwhile stay. A wrong verdict is forgotten, in the file as well, and the server is probed
 * again. When there are more than ERA_MAX verdicts, the oldest are dropped.
 *
 * Life: eras_init -> eras_get, eras_put, eras_forget, eras_save -> eras_done.
 * Threads: with the loop's lock, except eras_save, which takes the lock.
 * Blocking: eras_init and eras_save, which use a file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"
#include "mcp/client.h"
#include "config/config.h"

#define ERA_MAX 512

struct era_verdict {
	char fingerprint[FINGERPRINT_SIZE];
	enum client_era era; /* ERA_LEGACY or ERA_MODERN; ERA_AUTO: forgotten */
};
struct eras {
	struct era_verdict *list; /* newest last */
	size_t count, room;
	char *file;  /* NULL: in memory only */
	bool is_new; /* there is something to save; may be read without the lock */
	bool saving; /* a thread is saving */
};

void eras_init(struct eras *es, const char *cache_dir);
bool eras_get(const struct eras *es, const char *fingerprint, enum client_era *out);
void eras_put(struct eras *es, const char *fingerprint, enum client_era era);
void eras_forget(struct eras *es, const char *fingerprint);
/* Is there something to save? Without the lock. */
static inline bool eras_is_new(const struct eras *es)
{
	return __atomic_load_n(&es->is_new, __ATOMIC_ACQUIRE);
}
/* Write the file. Without the lock. A file that cannot be written is no error: the next program
 * probes again. */
void eras_save(struct eras *es, struct loop *loop);
void eras_done(struct eras *es);
