/* loop_internal.h - the loop as its own files see it: loop.c (threads), loop_timer.c (timers,
 * tasks), loop_watch.c (descriptors).
 */
#pragma once

#include <sys/epoll.h>

#include "base/bell.h"
#include "base/loop.h"

#define NEVER   INT64_MAX
#define BATCH   64
#define SCRATCH (256 << 10)

/* epoll gives back what was registered, perhaps after another thread has stopped and freed the
 * watch. So what is registered is no pointer but a place in a table and how often the place was
 * used. */
struct slot {
	struct loop_watch *watch; /* NULL: free */
	uint32_t uses;
};

struct loop {
	pthread_mutex_t lock;
	pthread_t thread;
	int epoll_fd; /* -1: it was closed by the host, and there are no descriptors for another */
	struct bell bell; /* gets the driver out of epoll_wait */
	struct loop_watch wake;
	uint64_t generation; /* of these descriptors */
	uint32_t cookie;     /* in the events of our epoll, not in those of the host's */
	unsigned strays;     /* threads that wait in an epoll which the host has closed */
	bool repairing;
	bool unmanned;          /* our own thread became a stray; no new one could be started yet */
	struct loop_timer lost; /* runs on_ready of watches whose descriptor was closed */
	bool stop;
	bool driven;         /* a thread is in turn() */
	bool guest;          /* the driver is not our own thread */
	bool lent;           /* the driver is the thread in loop_lend */
	bool turn_due;       /* our thread is to call on_turn */
	unsigned waiters;    /* threads in loop_wait that do not drive */
	uint64_t visits;     /* turns by guests in loop_wait */
	uint64_t lends;      /* turns by the thread in loop_lend */
	pthread_cond_t news; /* wakes waiters: a turn is over, or nobody drives */
	pthread_cond_t seat; /* wakes our thread while it stands aside */
	pthread_cond_t lend; /* wakes the thread in loop_lend while it stands aside */
	bool lend_asleep;    /* the thread in loop_lend waits on `lend` */
	const struct loop_lender *lender;
	int64_t sleep_until; /* while the driver waits: when it wakes by itself; else 0 */
	int64_t seat_until;  /* while our thread stands aside: when it wakes by itself; else 0 */
	bool away;           /* our thread stands aside until it is signalled or a timer is due */
	bool attend;         /* our thread is to drive now: see loop_attend */
	struct slot *slots;
	uint32_t slot_count;
	uint32_t free_hint;              /* no free slot below it */
	struct epoll_event batch[BATCH]; /* the driver's */
	struct ring tasks;
	bool batching; /* tasks of the thread `batcher` run when its batch ends */
	pthread_t batcher;
	int64_t batch_us;         /* when the batch began */
	struct loop_timer late;   /* ends a batch that takes too long */
	bool eager;               /* see loop_eager */
	bool soon;                /* the last wait was short */
	int64_t reading_us;       /* see loop_read_clock */
	struct loop_timer **heap; /* [1] is due first */
	size_t heap_count, heap_room;
	void (*on_turn)(void *ctx);
	void *ctx;
	char scratch[SCRATCH];
};

/* All of these: with the lock. */

/* Get the driver out of epoll_wait. */
void loop_kick(struct loop *l);
int64_t loop_first_timer(const struct loop *l);
/* True: one was due. */
bool loop_run_timers(struct loop *l);
void loop_run_tasks(struct loop *l);
/* False: it is of a watch that was stopped, or not from our epoll. */
bool loop_run_watch(struct loop *l, const struct epoll_event *ev);
/* Make the loop's own descriptors. 0 or -errno. */
int loop_make_descriptors(struct loop *l);
/* The host has closed descriptors of the loop: make new ones, tell the watches that lost theirs,
 * and replace the thread that waits for the old ones. */
void loop_repair(struct loop *l);
/* What the loop's own thread runs. */
void *loop_thread(void *arg);
