/* loop_internal.h - the loop as its own files see it: loop.c (threads), loop_host.c (a
 * host's own loop), loop_timer.c (timers, tasks), loop_watch.c (descriptors).
 */
#pragma once

#include "base/loop.h"

#define NEVER   INT64_MAX
#define BATCH   64
#define SCRATCH (256 << 10)

/* The poller returns the registered value, perhaps after another thread has stopped and freed the
 * watch. So the registered value is not a pointer, but the index of a slot and the number of its
 * uses. */
struct slot {
	struct loop_watch *watch; /* NULL: free */
	uint32_t uses;
};

/* Who drives: one seat in front of poller_wait, and the threads that may sit in it.
 *
 *	                             SEAT_FREE
 *	                 nobody waits for events; or handlers run
 *	                |  ^            |  ^            |  ^
 *	      sits down |  | event,     |  | event,     |  | event, kick,
 *	                |  | kick,      |  | kick       |  | its deadline
 *	                v  | a timer    v  |            v  |
 *	             SEAT_OWN        SEAT_LENT       SEAT_GUEST
 *	           our own thread    the thread      a thread
 *	                            in loop_lend    in loop_wait
 *
 *	       rank:     last   -->    kicks OWN  -->  kicks both
 *
 * Only the thread that waits in poller_wait has the seat; it waits without the lock. That thread
 * gets up (SEAT_FREE) as soon as it has the lock again, and then runs the handlers. So a thread
 * that holds the lock and sees SEAT_FREE knows that no other thread reads events, and any other
 * value names a thread that must be kicked (loop_kick writes to the bell, which is in the poller)
 *if that thread is to notice something.
 *
 * Rank. A guest wants its answer itself, so it comes before the lent thread, which wants to run a
 * callback; our own thread comes last. A thread that finds a lower one in the seat kicks it, waits
 * on `news`, and sits down when the kicked thread has got up. A thread that finds its equal or
 * better in the seat waits: guests on `news`, the lent thread and our own aside.
 *
 * Standing aside. Guests come and go: one blocking call ends and the next begins some microseconds
 * later. If our own thread sat down in between, each call would begin with a kick and two switches.
 * So our own thread and the lent one look at what the others did (`visits`, `lends`):
 *
 *	others have done something since the last look  ->  look again after a TICK
 *	others have done nothing, the seat is free      ->  sit down
 *	others have done nothing, a guest sits          ->  sleep until called; the guest that gets
 *	                                                    up and leaves calls our own thread
 *
 * Time. A guest and a lent thread wait without a clock (a guest with its own deadline), because
 * setting one costs them more than the rest of their wait. While our own thread stands aside, it
 * sleeps until the first timer is due at the latest, runs the timers and notifies the waiters. So
 * timers are kept by our own thread, whether it sits or stands, and loop_timer_set wakes it when a
 * timer becomes the first.
 *
 * What always holds while no thread has the lock:
 *
 *	1. At most one thread is in poller_wait of the current poller: the one that `seat` names.
 *	2. SEAT_FREE: our own thread will look within a TICK, or was called and has not run yet, or
 *	   a waiter was told and has not run yet. So a ready descriptor is read within a TICK.
 *	3. Our own thread wakes when the first timer is due.
 *	4. A condition that became true outside of a handler was followed by loop_notify; then the
 *	   waiters were told, and the guest in the seat was kicked. A condition that became true in
 *	   a handler is seen by the thread that ran it, which also tells the waiters.
 *	5. If a callback is wanted, the lent thread runs, was kicked, or was called.
 *
 * A host's own loop (loop_visit) needs no seat: it reads what is ready with the lock, without
 * waiting, when nobody sits. Its visits count as `lends`, so our own thread looks every TICK while
 * they come. If our own thread sits, the visit kicks it out.
 *
 * Strays. A host may close our poller and our bell. The thread in the seat then sleeps for ever,
 *and the bell cannot wake it. loop_repair frees the seat, counts the thread as a stray, makes new
 * descriptors (`generation`) and starts another thread in the place of our own or the lent one. A
 * guest cannot be replaced: its loop_wait does not return. A stray that wakes after all sees that
 * the generation has changed and touches nothing.
 *
 * tests/model/loop.pml is this protocol for spin, with these five rules as claims and with mutants
 * that lack one line each.
 */
enum loop_seat {
	SEAT_FREE,  /* no thread waits for events */
	SEAT_OWN,   /* our own thread waits for events */
	SEAT_LENT,  /* the thread in loop_lend */
	SEAT_GUEST, /* a thread in loop_wait */
};

/* How our own thread, and the lent one, stand aside. */
struct loop_aside {
	struct cond woken;
	int64_t until_us; /* when it wakes by itself; 0: it does not stand aside */
	bool ticks;       /* until_us is within a TICK */
	uint64_t seen;    /* steps of others when it last looked */
};

struct loop {
	struct mutex lock;
	struct thread thread;
	int poller; /* -1: it was closed by the host, and there are no descriptors for another */
	struct bell bell; /* gets the driver out of poller_wait */
	struct loop_watch wake;
	uint64_t generation; /* of these descriptors */
	uint32_t cookie;     /* in the events of our poller, not in those of the host's */
	unsigned strays;     /* threads that wait in a poller which the host has closed */
	bool repairing;
	bool unmanned;          /* our own thread became a stray; no new one could be started yet */
	struct loop_timer lost; /* runs on_ready of watches whose descriptor was closed */
	bool stop;
	bool turn_due; /* our own thread is to call on_turn */

	enum loop_seat seat;
	int64_t seat_until_us; /* when the thread in the seat wakes by itself */
	unsigned waiters;      /* threads that wait for the seat, or for what its thread reads */
	struct cond news;      /* wakes waiters: a turn is over, or the seat is free */
	uint64_t visits;       /* steps of threads in loop_wait */
	uint64_t lends;        /* steps of the thread in loop_lend, and calls of loop_visit */
	struct loop_aside own, lent; /* seen: visits + lends; visits */
	const struct loop_lender *lender;
	int host_fd;                  /* see loop_host.c; -1: none */
	const struct bell *host_bell; /* in host_fd; borrowed */
	bool host_joined;             /* poller is in host_fd */

	struct loop_watch *hot; /* read last; NULL: none that can be guessed */
	unsigned guesses;       /* left until the next poller_wait */
	unsigned shy, mistrust; /* turns without a guess: left now, and after the next wrong one */

	struct slot *slots;
	uint32_t slot_count;
	uint32_t free_hint;               /* no free slot below it */
	struct poller_event batch[BATCH]; /* the driver's */
	struct ring tasks;
	bool turning;  /* handlers run; tasks run at the end of the turn */
	bool batching; /* tasks of the thread `batcher` run when its batch ends */
	struct thread batcher;
	int64_t batch_us;         /* when the batch began */
	struct loop_timer late;   /* ends a batch that takes too long */
	bool eager;               /* see loop_eager */
	bool alone;               /* see loop_own_process */
	bool soon;                /* the last wait was short */
	int64_t reading_us;       /* see loop_read_clock */
	struct loop_timer **heap; /* [1] is due first */
	size_t heap_count, heap_room;
	void (*on_turn)(void *ctx);
	void *ctx;
	char scratch[SCRATCH];
};

/* All of these: with the lock. */

/* Get the thread in the seat out of poller_wait. */
void loop_kick(struct loop *l);
/* A turn is over, or the seat is free: threads in loop_wait look whether they have what they want,
 * and one of them sits down. */
void loop_tell_waiters(struct loop *l);
/* When the seat is free: read the descriptor that was read last, without asking the poller. True:
 * the descriptor was ready. A request that is written wakes a server on the same CPU, which often
 * runs at once, in place of the thread that wrote; then the answer is there before that thread
 * could wait for it, and a call is one write and one read, as without any loop. A wrong guess costs
 * a read that fails, so guesses become rare when they are wrong. At most GUESSES in a row, then the
 * poller is asked: the other descriptors must not wait for long. */
bool loop_guess(struct loop *l);
/* The poller was asked: guesses are allowed again. */
void loop_guess_anew(struct loop *l);
/* Change the seat: nothing else writes it. */
void loop_seat_go(struct loop *l, enum loop_seat to);
/* Run the handlers of batch[0..count). False: poller_wait failed (count is negative), or some event
 * is of no watch of ours. */
bool loop_run_events(struct loop *l, int count);
/* The host does not drive any more; its poll is not woken by descriptors of ours. */
void loop_host_part(struct loop *l);
void loop_host_close(struct loop *l);
int64_t loop_first_timer(const struct loop *l);
/* True: a timer was due. */
bool loop_run_timers(struct loop *l);
void loop_run_tasks(struct loop *l);
/* False: the event is for a stopped watch, or not from our poller. */
bool loop_run_watch(struct loop *l, const struct poller_event *ev);
/* Make the loop's own descriptors. 0 or -errno. */
int loop_make_descriptors(struct loop *l);
/* The host has closed descriptors of the loop: make new ones, tell the watches that lost theirs,
 * and replace the thread that waits for the old ones. */
void loop_repair(struct loop *l);
/* The main function of the loop's own thread. */
void *loop_thread(void *arg);
