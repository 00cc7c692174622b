/* reading.h - process/read: the output after a sequence number, now or when there is some.
 *
 * A read that may wait (waitMs) is answered by the next event, at its deadline, or when the process
 * is forgotten; meanwhile it is one of the process's readers and delays nothing. A read waits as
 * well while the channel has no room for its answer.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include "base/json.h"
#include "rpc/reply.h"

struct connection;
struct process;

/* For rpc_method: `connection` is a struct connection. */
void reading_request(void *connection, const struct reply *r, struct json params);
/* Something happened to p: answer the reads that wait for it. */
void reading_wake(struct process *p);
/* p is forgotten: answer all its reads. */
void reading_forget(struct process *p);
/* The channel has room again. */
void reading_room(struct connection *c);
