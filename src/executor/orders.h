/* orders.h - what an owner tells a process: process/write, process/signal, process/terminate.
 *
 * Each is answered at once, but for a write that has to wait (input.h). Nothing that waits is in
 * the way of a terminate. Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include "base/json.h"
#include "executor/reply.h"

struct owner;

void orders_write(struct owner *o, const struct reply *r, struct json params);
void orders_signal(struct owner *o, const struct reply *r, struct json params);
void orders_terminate(struct owner *o, const struct reply *r, struct json params);
