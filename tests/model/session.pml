/* session.pml - two sessions, leases, and one server of the pool that both may share.
 *
 * What is modelled: the life of a server (src/session/server.c) with its process, which may exit, answer or stay silent
 * at any moment; the start time and the drain time, which may run out at any moment; leases of two sessions that open, call and
 * close in any order, also while the server starts; calls that are answered, cancelled, or ended by a close; a restart on
 * the next use; a rest of the server while no call is with it, and a call that comes during the rest. The keeper is taken at
 * its word (keeper.pml): once asked to stop, the tree ends, and then the proof comes.
 *
 * Mutants  REFCOUNT    the end waits until no call holds the server any more (what the issue trackers are full of)
 *          ANY_LEAVES  the first lease to go ends it, not the last
 *          EARLY       a close is reported when the stop was asked for, not when the proof is there
 *          LOST_CALL   a close forgets the calls of its session
 *          TWICE       an answer that comes after the cancellation is handed on, too
 *          LEAK_START  a close during the start forgets the process that is just being made
 *          CUT         the server rests while it has a call
 *          FORGETS     a call that comes during the rest ends with the old process
 */
#define SESSIONS 2

mtype = { IDLE, STARTING, HANDSHAKING, READY, STOPPING, GONE };
mtype state = IDLE;
bool process;      /* of the server: it or something it started is alive */
bool stop_asked;   /* of the keeper */
byte starts;

bool lease[SESSIONS];   /* holds one */
bool opened[SESSIONS];
bool closing[SESSIONS];
bool closed[SESSIONS];  /* and its report has been given */
bool open_call[SESSIONS];
byte done_calls[SESSIONS]; /* times the call's result was given */
bool mute;              /* it never answers */
bool wire[SESSIONS];    /* the server has the request and may answer it */
bool resting;           /* the server is ended because it is not used */
bool cut;               /* a rest has ended a call */
bool disturbed;         /* a session that did not close lost its server to another's close */

#define no_leases (!lease[0] && !lease[1])
#ifdef REFCOUNT
#define may_stop (no_leases && !wire[0] && !wire[1])
#else
#define may_stop no_leases
#endif
#ifdef CUT
#define may_rest true
#else
#define may_rest (!wire[0] && !wire[1])
#endif

inline finish_call(s)
{
	if
	:: open_call[s] -> open_call[s] = false; done_calls[s]++
	:: else
	fi
}

inline fail_calls()
{
	finish_call(0);
	finish_call(1);
	wire[0] = false;
	wire[1] = false
}

inline ask_to_stop()
{
	state = STOPPING;
	stop_asked = true
}

/* The one who steps the server: every event under the lock, so one atomic step each. */
active proctype server()
{
end:
	do
	/* used: somebody holds a lease */
	:: atomic { (state == IDLE || state == GONE) && !no_leases && starts < 2 ->
		state = STARTING; starts++; process = true; stop_asked = false }
	:: atomic { state == STARTING && process -> state = HANDSHAKING }
	:: atomic { state == HANDSHAKING && process -> state = READY }
	/* the start time runs out, or the handshake is refused */
	:: atomic { (state == STARTING || state == HANDSHAKING) -> fail_calls(); ask_to_stop() }
	/* nobody needs it any more */
	:: atomic { (state == STARTING || state == HANDSHAKING || state == READY) && may_stop ->
#ifdef LEAK_START
		if
		:: state == STARTING -> state = GONE
		:: else -> fail_calls(); ask_to_stop()
		fi
#else
		fail_calls(); ask_to_stop()
#endif
	   }
	/* nobody uses it: a rest */
	:: atomic { state == READY && !no_leases && starts < 2 && may_rest ->
		cut = cut || (wire[0] && open_call[0]) || (wire[1] && open_call[1]);
		resting = true; ask_to_stop() }
	/* a call that came meanwhile waits for the new process */
	:: atomic { state == STOPPING && !process && resting && !no_leases ->
		resting = false; state = IDLE;
#ifdef FORGETS
		cut = cut || open_call[0] || open_call[1];
		fail_calls()
#endif
	   }
	/* proved gone: asked for, or by itself */
	:: atomic { state == STOPPING && !process && (!resting || no_leases) ->
		resting = false; state = GONE; fail_calls() }
	:: atomic { (state == STARTING || state == HANDSHAKING || state == READY) && !process ->
		state = GONE; fail_calls() }
	od
}

/* The tree: ends when it is asked to (the keeper sees to that), or by itself. */
active proctype tree()
{
	if
	:: mute = true
	:: skip
	fi;
end:
	do
	:: atomic { process && stop_asked -> process = false; stop_asked = false }
	:: atomic { process && state == READY && starts < 2 -> process = false } /* a crash */
	:: atomic { process && state == READY && wire[0] && !mute -> wire[0] = false; finish_call(0) }
	:: atomic { process && state == READY && wire[1] && !mute -> wire[1] = false; finish_call(1) }
#ifdef TWICE
	:: atomic { process && wire[0] && !open_call[0] && done_calls[0] == 1 -> done_calls[0]++ }
#endif
	od
}

inline others_live(s)
{
	if
	:: lease[1 - s] && state == STOPPING -> disturbed = true
	:: else
	fi
}

active [SESSIONS] proctype session()
{
	byte s = _pid - 2;

	atomic { opened[s] = true; lease[s] = true };
	if
	:: atomic { open_call[s] = true; wire[s] = true } /* waits for READY on the server's side */
	:: skip
	fi;
	if
	:: atomic { open_call[s] -> finish_call(s) } /* cancelled, or timed out; the answer may come late */
	:: skip
	fi;
	/* close, whatever has happened so far */
	atomic {
		closing[s] = true;
		lease[s] = false;
#ifndef LOST_CALL
		finish_call(s);
#endif
#ifndef REFCOUNT
		wire[s] = false;
#endif
#ifdef ANY_LEAVES
		if
		:: state == READY -> fail_calls(); ask_to_stop(); others_live(s)
		:: else
		fi
#endif
	};
#ifdef EARLY
	closed[s] = true
#else
	/* the report: the server is gone, or is the other's business */
	atomic { (state == GONE || state == IDLE || lease[1 - s]) -> closed[s] = true }
#endif
}

#define all_closed (closed[0] && closed[1])
#define someone_holds (lease[0] || lease[1])

/* Both sessions' closes come to an end, and then there is no process, for good. */
ltl closes_end { <> all_closed }
ltl closed_is_gone { [] ((all_closed && !someone_holds) -> !process) }
/* Each call ends once: never twice, and not later than its session. */
ltl once { [] (done_calls[0] <= 1 && done_calls[1] <= 1) }
ltl no_call_lost { [] ((closed[0] -> !open_call[0]) && (closed[1] -> !open_call[1])) }
ltl undisturbed { [] !disturbed }
/* A rest ends no call. */
ltl uncut { [] !cut }
