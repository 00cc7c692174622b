/* files.h - fs/getMetadata and fs/readFile, by threads: a file system that hangs delays nobody but
 * who asked.
 *
 * A connection has a line of requests, of which one is looked at at a time; its answer is sent when
 * there is room. Whoever is not answered by the file system within FILES_TIMEOUT_MS hears that.
 * Threads end when there is nothing to do; one that hangs is left behind.
 *
 * Life: files_new -> files_line_init, files_request, files_line_done ... -> files_free, which does
 * not wait.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include "base/json.h"
#include "base/loop.h"
#include "base/ring.h"
#include "base/err.h"
#include "executor/reply.h"

#define FILES_TIMEOUT_MS 10000
#define FILES_SIZE_MAX   (8u << 20) /* of a file that is read */

struct files;
struct file_job;

struct files_line { /* of one connection; zero before files_line_init */
	struct files *files;
	struct ring waiting;
	struct file_job *active;
};

enum files_op { FILES_METADATA, FILES_READ };

int files_new(struct loop *loop, struct files **out, struct err *e);
void files_free(struct files *f); /* no line may be left */

void files_line_init(struct files_line *l, struct files *f);
void files_line_done(struct files_line *l);
void files_request(struct files_line *l, enum files_op op, const struct reply *r,
		   struct json params);
/* The channel has room again. */
void files_room(struct files_line *l);
