/* retention.h - a limit on the memory for the output of all processes together.
 *
 * The output of each process is retained (output.h), so that its owner can ask for it again. When
 * the output of all processes takes more memory than the limit, the output that was pushed longest
 * ago is freed first, whichever process it is from. Two kinds are never freed: output that was not
 * pushed yet, and output that may still be on its way. The latter is the last WIRE_PUSHED_BYTES
 * that were pushed to an owner; not if the owner is attached and the push was long ago. When
 * nothing can be freed, the pipes of processes with new output are not read: the processes block,
 * and no output is lost. Reading resumes when an owner reads, when the lease of an absent owner is
 * over, or when pushed output has become old enough.
 *
 * The limit may be exceeded by one read of each process, and by the contents of its pipes when a
 * process ends.
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
	struct loop_timer again; /* runs while there are any */
	int64_t vain_us;         /* when nothing could be freed the last time */
	int64_t said_us;         /* when the log was told that memory is short */
};

#define RETENTION_MARKS 3

struct retained {     /* of a process */
	size_t bytes; /* as counted */
	/* Some pushes of the process, the oldest first, and its last push. at: bytes that had been
	 * pushed to the owner in all; seq: the last event of the process that had been pushed. */
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
/* p has new output: stop reading p if there is no memory. */
void retention_check(struct process *p);
/* p retains no output any more. */
void retention_forget(struct process *p);
