/* fsop.h - one request of the methods fs/...: read from its params, done by a thread, and its
 * result as JSON.
 *
 * A request that changes files obeys the sandbox that the client asks for, by the same policy as a
 * process (sandbox.h): the path without symbolic links must be writable, and it is then used
 * without following any symbolic link, so that a process in the sandbox cannot replace a directory
 * by a link meanwhile.
 *
 * Life: fsop_read -> fsop_run -> fsop_done.
 * Threads: any.  Blocking: fsop_run as long as the file system takes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

#define FSOP_SIZE_MAX (8u << 20) /* bytes of a file that is read or written */

struct executor_options;
struct fsop;
struct policy;

struct fsop_method { /* a row of fsop_methods */
	const char *name;
	void (*run)(struct fsop *op);
	bool writes;
};
extern const struct fsop_method fsop_methods[]; /* a row without a name is the last one */

struct fsop {
	const struct fsop_method *method;
	char *path;
	bool recursive, force;
	bool no_links; /* the path may have no symbolic link */
	struct {
		uint64_t depth, directories, entries;
		bool links; /* to directories are followed */
		bool prune; /* do not look into directories whose name begins with a dot */
	} walk;
	struct policy *policy; /* NULL: the client wants no sandbox */
	struct buf bytes;      /* to be written; after fsop_run the result */
	int code;              /* of fsop_run: 0, or a code of RPC_ and the text */
	char text[200];
};

/* method: a name of fsop_methods. 0, or e is set with a code of the wire; then, too, fsop_done. */
int fsop_read(struct fsop *op, const char *method, struct json params,
	      const struct executor_options *o, struct err *e);
void fsop_run(struct fsop *op);
void fsop_done(struct fsop *op);
