/* orders.h - requests of an owner to a process: process/write, process/signal, process/terminate.
 *
 * Each is answered at once, except a write that has to wait (input.h). A write that waits does not
 * delay a terminate. Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "executor/process.h"
#include "rpc/reply.h"

struct owner;

/* For rpc_method, as the others: `connection` is a struct connection. */
void orders_write(void *connection, const struct reply *r, struct json params);
/* The same in two steps, of which the first may be done by any thread. Read the params of a write
 * and append its bytes to `out`: 0, or e is set with a code of the wire. */
struct orders_write {
	char process[PROCESS_ID_MAX + 8]; /* a longer id is cut and matches no process */
	char *id;                         /* writeId */
};
int orders_read_write(struct json params, struct orders_write *w, struct buf *out, struct err *e);
/* The memory may be taken out of the buffer. */
void orders_do_write(struct owner *o, const struct reply *r, const struct orders_write *w,
		     struct buf *bytes);
void orders_write_done(struct orders_write *w);

void orders_signal(void *connection, const struct reply *r, struct json params);
void orders_terminate(void *connection, const struct reply *r, struct json params);
