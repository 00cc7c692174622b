/* look.h - what the file system says about the program of a server: which file it is, and whether
 * the file was changed.
 *
 * The file system may hang. So a thread looks (base/workers.h), each server for itself, and a look
 * that takes too long is given up.
 * Life: look_begin -> done, once -> the look is freed; or look_cancel. Threads: with the loop's
 * lock, except look_now.  Blocking: look_now, as long as the file system takes.
 */
#pragma once

#include "config/config.h"
#include "os/metadata.h"

struct killick;
struct look;

struct look_result {
	struct metadata program;      /* zero: not found, or the server runs elsewhere */
	char stamp[FINGERPRINT_SIZE]; /* catalogue.h; "": not known */
};

/* Look at the files of the recipe: the program, and the first argument that is a file. The stamp
 * changes when one of the files is replaced or written. "": the server runs elsewhere. */
void look_now(const struct recipe *r, struct look_result *out);

/* late: a sentence without a subject such as "'FILE' did not answer ..." when the program could not
 * be looked at; NULL: it could. An argument that hangs is left out of the stamp. */
typedef void (*look_fn)(void *ctx, const struct look_result *result, const char *late);
/* done is called from the loop, not inside of look_begin. Nothing of r is used later. owner: as in
 * struct work. */
struct look *look_begin(struct killick *k, const struct recipe *r, long owner, look_fn done,
			void *ctx);
void look_cancel(struct look *l); /* done is not called */
