/* era.h - which era a server was found to speak, so that it need not be asked again.
 *
 * Kept per fingerprint, in memory and, where there is a directory for it, in a file that several
 * programs may share: it is replaced as a whole, and what others added meanwhile is kept. A verdict
 * that proves wrong is forgotten, in the file as well, and the server asked again. The oldest go
 * first when there are more than ERA_MAX.
 *
 * Life: eras_init -> eras_get, eras_put, eras_forget, eras_save -> eras_done.
 * Threads: with the loop's lock, but for eras_save, which takes it.
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
	bool is_new; /* there is something to save; may be looked at without the lock */
	bool saving; /* a thread does it */
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
/* Write the file. Without the lock. A file that cannot be written is no error: we ask again. */
void eras_save(struct eras *es, struct loop *loop);
void eras_done(struct eras *es);
