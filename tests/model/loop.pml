/* loop.pml - which thread drives a loop: guests, the loop's own thread, the callback thread, a host's loop.
 *
 * What is modelled: the seat of src/base/loop_internal.h and everything that changes it. Each atomic block is one stretch
 * of code between taking the lock and letting go of it; between two blocks any thread may run. epoll_wait is two steps:
 * it collects what is ready (without the lock), and later its thread takes the lock. Condition variables wake those that
 * wait on them at that moment, and nobody else. A TICK may be over at any moment, and so may a timer, if the thread that
 * keeps it knows of it. Descriptors 0 and 1 have the answers for the guests, descriptor 2 an answer that a callback is told.
 *
 * A guest's call is answered by its server, ended by another thread (loop_notify), ended by a timer, or never ended. A
 * callback may block for ever, and so may the host's loop.
 *
 * Variants  TWO        two guests and the loop's own thread; without it, one guest and one of these:
 *           CALLBACKS  the callback thread (loop_lend)
 *           HOST       a host's own loop, which dispatches (loop_visit)
 *           STRAY      also, the host closes the loop's descriptors, once
 * Mutants   LATE_SEAT ANY_SEAT NO_NEWS NO_CALL NO_KICK_GUEST NO_TIMER_WAKE NO_CALL_BACK NO_REPLACE: each is a loop with one
 *           line missing or changed, and each must break a claim (tests/model/run).
 */

#define FREE  0
#define OWN   1
#define LENT  2
#define GUEST 3

#define G    2 /* guests; as a waiter, the lent thread is number G */

byte seat;
byte sitter;         /* the guest in the seat */
byte in_epoll;       /* threads in epoll_wait of the current epoll */
bool ready[3];       /* the descriptor can be read */
bool batch[3];       /* what epoll_wait has collected; the driver's */
bool bell, bell_batch;
byte waiters;
bool waits[3], told[3]; /* on `news` */

bool own_aside, own_ticks, own_called; /* `called`: its condition variable was signalled */
bool own_knows;                        /* it sleeps until the timer is due at the latest */
bool lent_aside, lent_ticks, lent_called;
bool own_moved, lent_moved; /* others have done something since it last looked */

bool timer;         /* is set */
bool inside[G];     /* the guest is in loop_wait */
bool done[G];       /* what it waits for is true */
bool wanted;        /* a callback waits */
bool blocked;       /* a callback, or the host's loop, does not return */
bool closed;        /* the host has closed the descriptors of the loop, */
bool generation;    /* and the loop has made others */
bool lost[G];       /* the guest waits for the old ones, and for ever */
bool hang_up;       /* the watches are to be told */
bool joined, rung;  /* the host's loop waits for our descriptors; for its own bell */

#define readable (bell || ready[0] || ready[1] || ready[2])

/* ---- with the lock ---- */

inline tell_waiters()
{
#ifndef NO_NEWS
	told[0] = told[0] || waits[0];
	told[1] = told[1] || waits[1];
	told[2] = told[2] || waits[2];
#endif
	skip
}

inline call_own()
{
	own_called = own_called || own_aside
}

/* The thread in the seat cannot be woken: another one takes its place. */
inline repair()
{
	closed = false;
	generation = true;
	joined = false;
	bell = false;
	in_epoll = 0;
	hang_up = true;
	if
	:: seat == OWN ->
#ifndef NO_REPLACE
		run own()
#endif
#ifdef CALLBACKS
	:: seat == LENT -> run lent()
#endif
	:: seat == GUEST -> lost[sitter] = true
	:: else
	fi;
	seat = FREE;
	call_own(); /* a timer of zero milliseconds */
	told[0] = told[0] || waits[0];
	told[1] = told[1] || waits[1];
	told[2] = told[2] || waits[2]
}

inline kick()
{
	if
	:: closed -> repair()
	:: else -> bell = true
	fi
}

inline notify()
{
	tell_waiters();
#ifndef NO_KICK_GUEST
	if
	:: seat == GUEST -> kick()
	:: else
	fi
#endif
}

inline leave()
{
	tell_waiters();
#ifndef NO_CALL
	if
	:: waiters == 0 && seat == FREE && own_aside && !own_ticks -> own_called = true
	:: else
	fi
#endif
}

/* A callback waits now. */
inline call_back()
{
	wanted = true;
#ifdef HOST
	rung = true
#endif
#ifdef CALLBACKS
#ifndef NO_CALL_BACK
	if
	:: seat == LENT -> kick()
	:: seat != LENT && lent_aside -> lent_called = true
	:: else
	fi
#endif
#endif
}

inline run_events()
{
	if :: batch[0] && ready[0] -> ready[0] = false; done[0] = inside[0] :: else fi;
#ifdef TWO
	if :: batch[1] && ready[1] -> ready[1] = false; done[1] = inside[1] :: else fi;
#else
	if :: batch[2] && ready[2] -> ready[2] = false; call_back() :: else fi;
#endif
	if :: bell_batch -> bell = false :: else fi;
	batch[0] = false; batch[1] = false; batch[2] = false; bell_batch = false
}

/* The first timer ends the calls of both guests. */
inline run_timers()
{
	if
	:: timer || hang_up ->
		timer = false;
		hang_up = false;
		done[0] = inside[0];
		done[1] = inside[1];
		notify()
	:: else
	fi;
	own_knows = false
}

/* ---- epoll_wait ---- */

#ifdef LATE_SEAT /* it says that it sits when it has let go of the lock */
#define TAKE(who) skip
#define SAY(who)  seat = who
#else
#define TAKE(who) seat = who
#define SAY(who)  skip
#endif

#ifdef ANY_SEAT /* a guest does not look whether somebody drives */
#define guest_must_wait false
#else
#define guest_must_wait (seat != FREE)
#endif

#define can_wake(gen) (generation == gen && !closed)

/* Without the lock: what is ready. */
inline collect()
{
	d_step {
		batch[0] = ready[0]; batch[1] = ready[1]; batch[2] = ready[2]; bell_batch = bell;
		in_epoll--
	}
}

/* With the lock again. */
inline get_up()
{
	seat = FREE;
	sitter = 0;
	run_events();
	tell_waiters()
}

/* ---- the threads ---- */

proctype guest(byte me)
{
	bool gen;

idle:
	atomic {
		inside[me] = true;
		ready[me] = false;
		if /* what a call writes finds out that the pipe is not ours any more */
		:: closed -> repair()
		:: else
		fi
	};
look:
	atomic {
		if
		:: done[me] ->
			inside[me] = false;
			done[me] = false;
			leave();
			goto idle
		:: else
		fi;
		own_moved = true;
#ifdef CALLBACKS
		lent_moved = true;
#endif
		if
		:: guest_must_wait ->
			if
			:: seat == OWN || seat == LENT -> kick()
			:: else
			fi;
			if
			:: seat == FREE -> goto look
			:: else
			fi;
			waits[me] = true;
			waiters++;
			goto wait
		:: else
		fi;
		TAKE(GUEST);
		sitter = me;
		gen = generation;
		in_epoll++
	};
	SAY(GUEST);
end_sit:
	atomic { can_wake(gen) && readable -> collect() };
	atomic {
		if
		:: generation == gen -> get_up()
		:: else -> lost[me] = false /* it woke before the descriptors were closed */
		fi;
		goto look
	};
end_wait:
wait:
	atomic {
		told[me] ->
		told[me] = false;
		waits[me] = false;
		waiters--;
		goto look
	}
}

proctype own()
{
	bool gen;

look:
	atomic {
		if
		:: seat != FREE || own_moved ->
			own_ticks = (seat == FREE || own_moved);
			own_moved = false;
			own_aside = true;
			own_called = false;
			own_knows = timer || hang_up;
			joined = joined && own_ticks;
			goto aside
		:: else
		fi;
		TAKE(OWN);
		joined = false;
		own_knows = timer || hang_up;
		gen = generation;
		in_epoll++
	};
	SAY(OWN);
end_sit:
	if
	:: atomic { can_wake(gen) && readable -> collect() }
	:: atomic { can_wake(gen) && !readable && own_knows && (timer || hang_up) -> in_epoll-- } /* its timeout */
	fi;
	atomic {
		if
		:: generation == gen -> get_up(); run_timers(); goto look
		:: else -> goto replaced
		fi
	};
end_aside:
aside:
	atomic {
		own_called || own_ticks || (own_knows && (timer || hang_up)) ->
		own_aside = false;
		own_ticks = false;
		own_called = false;
		run_timers();
		goto look
	};
replaced:
	skip
}

#ifdef CALLBACKS
proctype lent()
{
	bool gen;

look:
	atomic {
		if
		:: wanted ->
			wanted = false;
			leave();
			goto callback
		:: else
		fi;
		own_moved = true;
		if
		:: seat == GUEST || lent_moved ->
			lent_ticks = (seat != GUEST || lent_moved);
			lent_moved = false;
			lent_aside = true;
			lent_called = false;
			goto aside
		:: seat == OWN && !lent_moved ->
			kick();
			if
			:: seat == FREE -> goto look
			:: else
			fi;
			waits[G] = true;
			waiters++;
			goto wait
		:: else
		fi;
		TAKE(LENT);
		gen = generation;
		in_epoll++
	};
	SAY(LENT);
end_sit:
	atomic { can_wake(gen) && readable -> collect() };
	atomic {
		if
		:: generation == gen -> get_up(); goto look
		:: else -> goto replaced
		fi
	};
end_wait:
wait:
	atomic {
		told[G] ->
		told[G] = false;
		waits[G] = false;
		waiters--;
		goto look
	};
end_aside:
aside:
	atomic {
		lent_called || lent_ticks ->
		lent_aside = false;
		lent_ticks = false;
		lent_called = false;
		goto look
	};
callback:
	if
	:: goto look
	:: blocked = true
	fi;
end_blocked:
	false;
replaced:
	skip
}
#endif

#ifdef HOST
/* Its loop waits for killick_fd and calls killick_dispatch. */
proctype host()
{
end_poll:
	do
	:: atomic {
		rung || (joined && !closed && readable) ->
		own_moved = true;
		if
		:: seat == FREE ->
			joined = true;
			batch[0] = ready[0]; batch[1] = ready[1]; batch[2] = ready[2]; bell_batch = bell;
			run_events();
			tell_waiters()
		:: seat == OWN ->
			kick();
			joined = !closed
		:: else
		fi;
		rung = false;
		wanted = false
	   }
	:: blocked = true -> break
	od;
end_blocked:
	false
}
#endif

/* ---- the world ---- */

proctype servers()
{
end_serve:
	do
	:: atomic { inside[0] && !ready[0] && !done[0] && !lost[0] && !closed && !generation -> ready[0] = true }
#ifdef TWO
	:: atomic { inside[1] && !ready[1] && !done[1] && !lost[1] && !closed && !generation -> ready[1] = true }
#else
	:: atomic { !ready[2] && !wanted && !closed && !generation -> ready[2] = true }
#endif
	:: break /* they do not answer any more */
	od
}

/* Another thread that ends the call of a guest, and one that sets a timer. */
proctype others()
{
end_other:
	do
	:: atomic { inside[0] && !done[0] -> done[0] = true; notify() }
	:: atomic {
		!timer ->
		timer = true;
#ifndef NO_TIMER_WAKE
		if
		:: seat == OWN && !own_knows -> kick()
		:: seat != OWN && own_aside && !own_knows -> own_called = true
		:: else
		fi
#endif
	   }
	:: break
	od
}

#ifdef STRAY
proctype closer()
{
	closed = true;
	ready[0] = false;
	ready[1] = false;
	ready[2] = false
}
#endif

init
{
	atomic {
		run own();
		run guest(0);
#ifdef TWO
		run guest(1);
#endif
#ifdef HOST
		run host();
#endif
#ifdef CALLBACKS
		run lent();
#endif
		run servers();
		run others();
#ifdef STRAY
		run closer();
#endif
		skip
	}
}

/* ---- claims ---- */

/* the guest sleeps in descriptors that the host has closed; whether the loop knows it or not, it cannot be woken */
#define left (lost[0] || (closed && seat == GUEST))

/* at most one thread is in epoll_wait */
ltl one_driver { [] (in_epoll <= 1) }
/* a guest has what it waits for: it returns */
ltl waits_end { [] ((inside[0] && done[0]) -> <> (!inside[0] || left)) }
/* an answer is read, whoever is to have it */
ltl answers_are_read { [] (ready[1] -> <> (!ready[1] || closed)) }
ltl news_is_read { [] (ready[2] -> <> (!ready[2] || closed)) }
/* a timer is kept, whoever drives */
ltl timers_are_kept { [] ((timer && !closed) -> <> (!timer || closed)) }
/* a callback is run, unless the one before it blocks */
ltl callbacks_run { [] (wanted -> <> (!wanted || blocked)) }
/* after the host has closed everything, each watch is told */
ltl hang_ups_are_told { [] (hang_up -> <> !hang_up) }
