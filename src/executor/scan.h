/* scan.h - a long message of a client, read by a thread.
 *
 * To parse and decode 16 MiB takes 22 to 118 ms, during which the loop would serve nobody. So a
 * message longer than SCAN_BYTES is given to a thread, and its connection is not read until the
 * thread is done; messages that came with it wait. Only process/write, process/start and
 * fs/writeFile may be that long: other long requests are refused, and only their id and method are
 * read.
 *
 * Life: scan_begin -> the connection's connection_scanned, once -> scan_free.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "executor/fsop.h"
#include "executor/orders.h"
#include "rpc/reply.h"
#include "executor/spec.h"
#include "base/workers.h"

#define SCAN_BYTES  (128u << 10)
#define SCAN_ID_MAX 512 /* bytes of a request's id, quotes included */

struct connection;

enum scan_result {
	SCAN_BROKEN,     /* no JSON, or no message; reason says why */
	SCAN_NO_REQUEST, /* a notification, or an answer */
	SCAN_WRITE,
	SCAN_START,
	SCAN_FILE,
	SCAN_OTHER,
};

struct scan {
	struct work work;
	struct connection *connection;
	const struct executor_options *options;
	char *text; /* NULL: the text was read */
	size_t len;
	/* the result */
	enum scan_result result;
	const char *reason;
	char id[SCAN_ID_MAX];
	size_t id_len; /* 0: the id is too long */
	char method[64];
	struct err e; /* of the params; its code is 0 when they are right */
	struct orders_write write;
	struct buf bytes; /* of the write */
	struct spec spec;
	struct fsop file;
};

/* The scan owns the text from now on and gives it to free(). */
struct scan *scan_begin(struct connection *c, char *text, size_t len);
struct json scan_id(const struct scan *s);
void scan_free(struct scan *s);
