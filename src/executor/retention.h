/* retention.h - what the output of all processes together may cost.
 *
 * Each process keeps what it said (output.h), to be asked for again. When all of it together takes
 * more memory than the limit, what was pushed longest ago gives way, of any process; but nothing
 * that was not pushed, and nothing that may still be on its way: of an owner the last
 * WIRE_PUSHED_BYTES that were pushed, unless it is attached and that was long ago. When nothing can
 * give way, processes that say something are not read until there is room: they wait, and nothing
 * is lost. Room comes when an owner reads, when the lease of one that is away is over, and with
 * time.
 *
 * Beyond the limit there may be one read of each process, and what the pipes of a process held when
 * it ended.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "base/ring.h"

struct process;

struct retention { /* of an executor */
	struct loop *loop;
	size_t limit, bytes;
	struct ring pushed;      /* processes by their last push, the oldest first */
	struct ring starved;     /* processes that are not read for want of memory */
	struct loop_timer again; /* while there are any */
	int64_t vain_us;         /* when nothing gave way the last time */
	int64_t said_us;         /* when the log was told that memory is short */
};

#define RETENTION_MARKS 3

struct retained {     /* of a process */
	size_t bytes; /* as counted */
	/* How far it was pushed when its owner had been pushed so many bytes in all: some of its
	 * pushes, the oldest first, and the last one. */
	struct retention_mark {
		uint64_t at, seq;
	} marks[RETENTION_MARKS], last;
	int64_t last_us;
	struct ring in_pushed, in_starved;
};

void retention_init(struct retention *t, struct loop *loop, size_t limit);
void retention_done(struct retention *t); /* nothing may be left */
/* The output of p has changed. */
void retention_count(struct process *p);
/* So many bytes of p were pushed. */
void retention_pushed(struct process *p, size_t len);
/* p has said something: stop reading it if there is no room. */
void retention_check(struct process *p);
/* p keeps nothing any more. */
void retention_forget(struct process *p);
