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
	unsigned strays;     /* threads that wait in an epoll that is no more */
	bool repairing;
	bool unmanned;          /* our own thread was one, and could not be replaced yet */
	struct loop_timer lost; /* watches are to be told of it */
	bool stop;
	bool driven;         /* a thread is in turn() */
	bool guest;          /* with driven: it is not our own, */
	bool lent;           /* but one that makes room for others: see loop_lend */
	bool turn_due;       /* our thread is to call on_turn */
	unsigned waiters;    /* threads in loop_wait that do not drive */
	uint64_t visits;     /* turns by guests in loop_wait */
	uint64_t lends;      /* and by the one in loop_lend */
	pthread_cond_t news; /* for waiters: somebody turned, or left the seat */
	pthread_cond_t seat; /* for our thread while it stands aside */
	pthread_cond_t lend; /* for the one in loop_lend while it does */
	bool lend_asleep;    /* it waits there */
	const struct loop_lender *lender;
	int64_t sleep_until; /* while the driver waits: when it wakes by itself; else 0 */
	int64_t seat_until;  /* while our thread stands aside: the same; else 0 */
	bool away;           /* and it comes back only when it is told to */
	bool attend;         /* somebody expects it back */
	struct slot *slots;
	uint32_t slot_count;
	uint32_t free_hint;              /* no free slot below it */
	struct epoll_event batch[BATCH]; /* the driver's */
	struct ring tasks;
	bool batching; /* the tasks of this thread wait for the end of its batch, */
	pthread_t batcher;
	int64_t batch_us;         /* which began then, */
	struct loop_timer late;   /* or for this */
	bool eager;               /* see loop_eager */
	bool soon;                /* what it last waited for came soon */
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
