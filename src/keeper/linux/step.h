/* step.h - the numbered steps of spawn and stop, as places where a test can make a keeper die.
 *
 * In the test build (KILLICK_STEPS) the environment variable KILLICK_DIE_AT=NAME makes the process
 * that reaches the step NAME end there as by SIGKILL, after it made the file KILLICK_DIE_MARK. In
 * the real program STEP() is empty. The list is in the order of a tree's life.
 */
#pragma once

#define STEP_LIST(X)                                                                               \
	X(WATCH_BEGIN, "watch:begin")       /* signals blocked, nothing made yet */                \
	X(WATCH_OWNER, "watch:owner")       /* owner's pidfd open */                               \
	X(WATCH_RECORD, "watch:record")     /* record written and locked */                        \
	X(WATCH_CGROUP, "watch:cgroup")     /* cgroup made, empty */                               \
	X(WATCH_FORKED, "watch:forked")     /* the hold lives */                                   \
	X(WATCH_STARTED, "watch:started")   /* the server runs and the hold said so */             \
	X(WATCH_SIGNAL, "watch:signal")     /* a signal came, not yet passed on */                 \
	X(WATCH_DONE, "watch:done")         /* the hold said the tree is empty */                  \
	X(WATCH_MIRROR, "watch:mirror")     /* about to end as the server did */                   \
	X(HOLD_BEGIN, "hold:begin")         /* first instruction after fork */                     \
	X(HOLD_READY, "hold:ready")         /* own group, subreaper */                             \
	X(HOLD_CLONED, "hold:cloned")       /* the server's process exists, not yet the server */  \
	X(HOLD_STARTED, "hold:started")     /* the server runs */                                  \
	X(HOLD_STOPPING, "hold:stopping")   /* the end has begun */                                \
	X(HOLD_TERMED, "hold:termed")       /* SIGTERM sent */                                     \
	X(HOLD_EXITED, "hold:exited")       /* the main process is gone, others may live */        \
	X(HOLD_KILLED, "hold:killed")       /* first round of killing over */                      \
	X(HOLD_PROVED, "hold:proved")       /* no child left */                                    \
	X(HOLD_REPORTING, "hold:reporting") /* the watch told, the report not written */           \
	X(HOLD_REPORTED, "hold:reported")   /* the report written, the watch not told */           \
	X(HOLD_CLEAN, "hold:clean")         /* record and cgroup removed, the watch not told */    \
	X(HOLD_DONE, "hold:done")           /* the watch told */                                   \
	X(CHILD_BOTH, "both:child")         /* in the server's process before PDEATHSIG is set:    \
					       both keepers die here, the child goes on */         \
	X(JANITOR_BEGIN, "janitor") /* first instruction of the janitor's process: it stops        \
				       itself here; no place to die, so without a colon */

enum step {
#define X(id, name) id,
	STEP_LIST(X)
#undef X
};

#ifdef KILLICK_STEPS
void step_reach(enum step s);
void step_list(void);
#define STEP(id) step_reach(id)
#else
#define STEP(id) ((void)0)
#endif
