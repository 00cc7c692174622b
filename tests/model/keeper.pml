/* keeper.pml - owner, watch, hold and a tree, with SIGKILL of anybody at any moment.
 *
 * What is modelled: parents and reparenting to the nearest living subreaper, PDEATHSIG and the re-check after it, the
 * stop sequence (its waits may end at any time), killing children one after the other while they fork, `waitid` ECHILD
 * as the only proof, the shared lock of the record, and the janitor. SIGKILL from a keeper is asynchronous: the victim
 * may still fork until the kernel gets to it. Not modelled: unkillable processes, work handed to another manager, and
 * the cgroup, which only makes faster what the rounds of killing do without it.
 *
 * Who may be killed: the owner always; of the keepers one (default) or both (-DBOTH); the tree's processes may exit at
 * any time. One kill may be a group kill, which takes the hold along unless it has its own session. A client that hangs
 * up or sends SIGTERM starts the same steps as one that dies, so the owner's end stands for all three.
 *
 * Variants  BOTH       both keepers may be killed
 *           NAMESPACE  the hold is the init of a pid namespace
 *           JANITOR    once both keepers are dead, somebody starts killick again
 *           FREEZE     instead of killing a keeper the server freezes one: it takes no step, but can be killed
 * Mutants   NO_SUBREAPER NO_WATCH_SUBREAPER NO_RECHECK NO_ADOPT NO_SETSID NO_FIXPOINT NO_WATCH_LOOK LATE_RECORD
 *           NO_CLOEXEC NO_SUPERVISION: each is a keeper with one line missing, and each must break a claim (tests/model/run).
 */

#define INIT  0
#define OWNER 1 /* the client */
#define WATCH 2
#define HOLD  3
#define MAIN  4 /* the server */
#define CHILD 5 /* of the server; may leave the server's group, may fork once */
#define GRAND 6 /* its child; orphaned when CHILD exits: the double fork of a daemon */
#define COUNT 7

bool alive[COUNT];  /* has not exited; a dead process is reaped at once, by whoever is its parent */
byte parent[COUNT]; /* INIT for those that nobody of ours will ever reap */
bool sub[COUNT];    /* PR_SET_CHILD_SUBREAPER, or init of a namespace */
bool fatal[COUNT];  /* SIGKILL is pending */
bool left[COUNT];   /* has a session of its own: not hit by a kill of the group it was born in */
bool pdeath;        /* MAIN has PDEATHSIG; nobody else ever does, fork clears it */
bool execed;        /* MAIN is the server's program now: CLOEXEC descriptors are closed */
bool frozen[COUNT]; /* takes no step until it is killed */
bool started, born_hold, born_main, born_child, born_grand;

bool done;   /* the hold told the watch that it is over */
bool record; /* the record of the tree is in the runtime directory */
bool reported; /* "no process of this tree exists", said to the outside */

#define empty      (!alive[MAIN] && !alive[CHILD] && !alive[GRAND])
#define owner_dead (started && !alive[OWNER])
#define no_birth   (born_main || (!alive[HOLD] && (born_hold || watch_dead)))
#define over       (empty && no_birth) /* once so, for ever so: only the living fork */
#define main_over  (!alive[MAIN] && no_birth)
#define hold_dead  (born_hold && !alive[HOLD])
#define watch_dead (started && !alive[WATCH])
#define both_dead  (watch_dead && !alive[HOLD])

#ifdef NO_CLOEXEC
#define lock_held (alive[WATCH] || alive[HOLD] || !empty)
#else
#define lock_held (alive[WATCH] || alive[HOLD] || (alive[MAIN] && !execed))
#endif

/* ---- the kernel ---- */

/* Up from a dying process p to the nearest subreaper. A living process never has a dead parent, so all are alive. */
inline find_reaper(p, r)
{
	r = parent[p];
	do
	:: r == INIT || sub[r] -> break
	:: else -> r = parent[r]
	od
}

inline die(p)
{
	d_step {
		alive[p] = false;
		fatal[p] = false;
		frozen[p] = false;
		find_reaper(p, to);
		for (i : HOLD .. GRAND) {
			if
			:: alive[i] && parent[i] == p ->
				parent[i] = to;
				if
				:: i == MAIN && pdeath -> fatal[i] = true
				:: else
				fi
			:: else
			fi
		}
#ifdef NAMESPACE
		if /* the end of a namespace's init ends every member, not only its children */
		:: p == HOLD ->
			for (i : MAIN .. GRAND) {
				fatal[i] = alive[i]
			}
		:: else
		fi;
#endif
		i = 0;
		to = 0
	}
}

#ifdef NAMESPACE /* a namespace without its init hands out no pids: fork fails */
#define may_fork alive[HOLD]
#else
#define may_fork true
#endif

inline born(p, by)
{
	alive[p] = true;
	parent[p] = by;
	left[p] = false
}

init
{
	byte i, to;

	atomic {
		alive[OWNER] = true;
		born(WATCH, OWNER);
		started = true;
		run world();
		run server();
		run child();
		run hold();
		run watch();
#ifdef JANITOR
		run janitor();
#endif
		skip
	};
end_idle: /* from here on, SIGKILL that was sent takes effect some time */
	do
	:: atomic { fatal[MAIN] && alive[MAIN] -> die(MAIN) }
	:: atomic { fatal[CHILD] && alive[CHILD] -> die(CHILD) }
	:: atomic { fatal[GRAND] && alive[GRAND] -> die(GRAND) }
	od
}

/* ---- the world: a client that may do anything, and a system administrator who may kill anything ---- */

proctype world()
{
	byte i, to;
	byte keepers_killed;

#ifdef FREEZE
	keepers_killed = 1;
	if /* by the server, so there is one */
	:: skip
	:: atomic { execed && alive[WATCH] -> frozen[WATCH] = true }
	:: atomic { execed && alive[HOLD] -> frozen[HOLD] = true }
	fi;
#endif
	do
#ifndef JANITOR /* it comes when both keepers are dead; the owner's end adds states and no case */
	:: atomic { alive[OWNER] -> die(OWNER) }
#endif
	:: atomic { alive[WATCH] && keepers_killed == 0 -> die(WATCH); keepers_killed++ }
	:: atomic { alive[HOLD] && keepers_killed == 0 -> die(HOLD); keepers_killed++ }
	:: atomic { /* kill -9 of the group the client knows */
		alive[WATCH] && keepers_killed == 0 ->
		die(WATCH);
		if
		:: alive[HOLD] && !left[HOLD] -> die(HOLD)
		:: else
		fi;
		keepers_killed++ }
#ifdef BOTH
	:: atomic { alive[WATCH] && keepers_killed == 1 -> die(WATCH); keepers_killed++ }
	:: atomic { alive[HOLD] && keepers_killed == 1 -> die(HOLD); keepers_killed++ }
#endif
	:: break
	od
}

/* ---- the tree ---- */

proctype server()
{
	byte i, to;

end_unborn:
	alive[MAIN];
	{
		left[MAIN] = true; /* setsid */
		pdeath = true;
#ifndef NO_RECHECK
		/* the hold may have died before the prctl: then no signal will ever come */
		if
		:: atomic { parent[MAIN] != HOLD -> die(MAIN) }
		:: else
		fi;
#endif
		execed = true;
		do
		:: atomic { !born_child && may_fork -> born(CHILD, MAIN); born_child = true }
		:: atomic { die(MAIN) }
		:: break /* lives until somebody ends it */
		od;
end_live:
		false
	} unless { !alive[MAIN] }
}

proctype child()
{
	byte i, to;

end_unborn:
	alive[CHILD];
	{
		do
#ifdef NO_FIXPOINT /* nobody else cares for groups */
		:: !left[CHILD] -> left[CHILD] = true
#endif
		:: atomic { !born_grand && may_fork ->
			born(GRAND, CHILD); born_grand = true; left[GRAND] = left[CHILD] }
		:: atomic { die(CHILD) }
		:: break
		od;
end_live:
		false
	} unless { !alive[CHILD] }
}

/* ---- the keepers ---- */

#define is_child(q, p) (alive[q] && parent[q] == p)
#define has_child(p)   (is_child(MAIN, p) || is_child(CHILD, p) || is_child(GRAND, p))

inline kill_child(q, p)
{
	atomic {
		if
		:: is_child(q, p) -> fatal[q] = true
		:: else
		fi
	}
}

/* Kill the children, one after the other, until waitid says ECHILD. Deeper ones become children as theirs die. */
inline kill_all(p)
{
#ifdef NO_FIXPOINT /* level group: one kill(-pgid), and hope */
	atomic {
		fatal[MAIN] = alive[MAIN];
		fatal[CHILD] = alive[CHILD] && !left[CHILD];
		fatal[GRAND] = alive[GRAND] && !left[GRAND]
	};
	!alive[MAIN]
#else
	do
	:: has_child(p) ->
		kill_child(MAIN, p);
		kill_child(CHILD, p);
		kill_child(GRAND, p)
	:: else -> break
	od
#endif
}

#ifdef NO_WATCH_LOOK /* a hold that does not watch the watch */
#define hold_must_end owner_dead
#else
#define hold_must_end (owner_dead || !alive[WATCH])
#endif

proctype hold() provided (!frozen[HOLD])
{
	byte i, to;

end_unborn:
	alive[HOLD];
	{
#ifndef NO_SETSID
		left[HOLD] = true;
#endif
#ifndef NO_SUBREAPER
		sub[HOLD] = true;
#endif
		if
		:: hold_must_end -> goto leave /* nothing was started */
		:: else
		fi;
		atomic { born(MAIN, HOLD); born_main = true };
#ifdef LATE_RECORD
		record = true;
#endif
end_wait:
		if
		:: !alive[MAIN] /* a server's own end is the end of its tree */
		:: hold_must_end ->
			/* EOF wait, SIGTERM, TERM wait: each ends with the server or with its timer, so at any time */
			skip
		fi;
		kill_all(HOLD);
		reported = true;
leave:
		done = true;
		atomic { die(HOLD) }
	} unless { !alive[HOLD] }
}

proctype watch() provided (!frozen[WATCH])
{
	byte i, to;

end_unborn:
	alive[WATCH];
	{
#ifndef NO_WATCH_SUBREAPER
		sub[WATCH] = true;
#endif
#ifndef LATE_RECORD
		record = true;
#endif
		if
		:: owner_dead -> goto leave
		:: else
		fi;
		atomic {
			born(HOLD, WATCH);
#ifdef NAMESPACE
			sub[HOLD] = true;
#endif
			born_hold = true
		};
end_wait:
		do
		:: !alive[HOLD] -> break
#if defined(FREEZE) && !defined(NO_SUPERVISION)
		:: atomic { owner_dead && frozen[HOLD] -> die(HOLD) } /* it does not answer */
#endif
		od;
		if
		:: done && !has_child(WATCH)
		:: else -> /* killed: its orphans are ours now */
#ifndef NO_ADOPT
			kill_all(WATCH);
			reported = true
#else
			skip
#endif
		fi;
leave:
		record = record && !reported; /* an orderly end removes the record */
		atomic { die(WATCH) }
	} unless { !alive[WATCH] }
}

#ifdef JANITOR
/* The next start of killick: takes a free record and kills what carries the tree's mark, until a whole pass over
 * /proc finds nothing. A pass runs in the order of pids, and a child's pid comes after its parent's. */
proctype janitor()
{
	bool seen;

end_idle:
	both_dead && record && !lock_held;
	do
	:: 	seen = false;
		atomic { if :: alive[MAIN] -> fatal[MAIN] = true; seen = true :: else fi };
		atomic { if :: alive[CHILD] -> fatal[CHILD] = true; seen = true :: else fi };
		atomic { if :: alive[GRAND] -> fatal[GRAND] = true; seen = true :: else fi };
		if
		:: !seen -> break
		:: else
		fi
	od;
	record = false;
	reported = true
}
#endif

/* ---- claims (the negation of each has one accepting state that loops on itself; spin's fairness with stuttering
 * misses violations of `<> []`, whose negation needs two: found by the variant that must break) ---- */

/* the promise: whoever of them ends first, and however, the tree ends */
ltl tree_ends { [] ((owner_dead || watch_dead || hold_dead) -> <> over) }
/* a server that exits does not leave its children behind */
ltl leftovers_end { [] ((born_main && !alive[MAIN]) -> <> over) }
/* never say "gone" of a tree that is not */
ltl report_is_true { [] (reported -> over) }
/* and what is gone stays gone: the definition of `over` is worth something */
ltl over_is_final { [] (over -> [] empty) }
/* both keepers dead: the server dies at once by PDEATHSIG */
ltl main_ends { [] (both_dead -> <> main_over) }
