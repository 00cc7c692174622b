/* files.h - requests of the methods fs/... (fsop.h), by threads: a file system that hangs delays
 * only the client that asked.
 *
 * A connection has a queue of requests, which are handled one at a time; an answer is sent when the
 * channel has room. A request that the file system does not answer within FILES_TIMEOUT_MS fails,
 * and its thread is left behind until the file system answers. Threads may work on FILES_PER_OWNER
 * requests of one owner and on FILES_THREADS requests in all: a further request waits for
 * FILES_WAIT_MS and is then refused. So a dead mount of one owner does not block other owners.
 * Bytes that wait to be written are limited to FILES_HELD_MAX for each connection.
 *
 * Life: files_new -> files_line_init, files_add, files_line_done ... -> files_free, which does
 * not wait. A share belongs to an owner: files_share_new -> files_share_leave.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include "base/loop.h"
#include "base/ring.h"
#include "base/err.h"
#include "executor/fsop.h"
#include "rpc/reply.h"

#define FILES_TIMEOUT_MS 10000
#define FILES_WAIT_MS    2000 /* for a thread */
#define FILES_PER_OWNER  4u
#define FILES_THREADS    256u
#define FILES_HELD_MAX   (16u << 20)

struct files;
struct files_share; /* counts requests of one owner that threads work on, also when it is gone */
struct file_job;

struct files_line { /* of one connection; zero before files_line_init */
	struct files *files;
	struct ring waiting;
	struct file_job *active;
	size_t held;          /* bytes that wait to be written */
	struct ring starving; /* the active request waits for a thread */
};

int files_new(struct loop *loop, struct files **out, struct err *e);
void files_free(struct files *f); /* no line may be left */

struct files_share *files_share_new(void);
void files_share_leave(struct files_share *s); /* when the owner is gone */

void files_line_init(struct files_line *l, struct files *f);
void files_line_done(struct files_line *l);
/* Do the request and answer it. Takes what op has; op is empty then, or as it was when the request
 * was refused at once. */
void files_add(struct files_line *l, struct files_share *share, const struct reply *r,
	       struct fsop *op);
/* The channel has room again. */
void files_room(struct files_line *l);
