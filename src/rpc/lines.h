/* lines.h - a link as a transport of JSON-RPC messages: one message per line.
 *
 * A line that is no message, or too long to be read, may still be meant as an answer. If its
 * beginning or its end shows the id of a request, that request ends at once instead of at its
 * deadline.
 *
 * Life: lines_init -> lines_feed ... -> lines_done. Threads: with the loop's lock.  Blocking:
 * never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/frame.h"
#include "base/json.h"
#include "link/link.h"
#include "rpc/rpc.h"

#define LINES_EDGE 64 /* bytes that are kept of each end of a line that is too long */
struct lines_edges {
	bool open; /* the newline of this line has not come */
	size_t head_len, tail_len;
	char head[LINES_EDGE], tail[LINES_EDGE];
};

struct lines {
	struct rpc *rpc;   /* borrowed */
	struct link *link; /* borrowed */
	struct frame frame;
	struct lines_edges edges;
	const char *chunk, *scan, *chunk_end; /* what is being fed, and how far it was searched for
						 lines that are too long */
	size_t chunk_before;                  /* bytes of its first line that came earlier */
};

/* The transport of the rpc, with the lines as its context. */
extern const struct rpc_transport lines_transport;

/* limit: the longest line that the other side may write, in bytes. */
void lines_init(struct lines *l, struct rpc *rpc, struct link *link, size_t limit);
/* Read bytes that came from the link. Does nothing after rpc_stop. */
void lines_feed(struct lines *l, const char *bytes, size_t len);
void lines_done(struct lines *l);
/* The id of the request that a broken line was meant to answer; false: the line does not show
 * it. */
bool lines_guess(struct json line, uint64_t *out);
