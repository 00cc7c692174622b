/* reading.h - process/read: what was kept after a number, now or when there is something.
 *
 * A read that may wait (waitMs) is answered by the next event, at its deadline, or when the process
 * is forgotten; meanwhile it is one of the process's readers and delays nothing. One whose answer
 * the channel has no room for waits for it.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include "base/json.h"
#include "rpc/reply.h"

struct connection;
struct process;

/* For rpc_method: `connection` is a struct connection. */
void reading_request(void *connection, const struct reply *r, struct json params);
/* Something happened to p: answer whoever waited for it. */
void reading_wake(struct process *p);
/* p is forgotten: answer all. */
void reading_forget(struct process *p);
/* The channel has room again. */
void reading_room(struct connection *c);
