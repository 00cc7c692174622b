/* cell.h - one trial: an owner, killick, a zoo server, an ending, and the auditor's verdict.
 *
 * cell (this process: subreaper, auditor) -> owner -> watch -> hold -> server -> what it starts
 *
 * The owner is a process of its own that speaks MCP over pipes, so its death is a real client's
 * death: initialize, initialized, and a tool call that never returns is in flight when the end
 * comes.
 *
 * Life, in a process forked for it: cell_start -> cell_await -> cell_find -> cell_end ->
 * cell_judge -> cell_done.
 * Threads: one.  Blocking: with deadlines. What went wrong with the trial is told in cell->text.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "../audit.h"

enum cell_ending {
	END_TERM,  /* SIGTERM to the watch */
	END_EOF,   /* the owner closes the server's stdin */
	END_OTERM, /* the owner gets SIGTERM */
	END_OKILL, /* ... SIGKILL */
	END_WKILL, /* the watch gets SIGKILL */
	END_HKILL, /* the hold gets SIGKILL */
	END_BOTH,  /* watch and hold get SIGKILL at the same instant */
	END_COUNT
};
extern const char *const cell_ending_names[END_COUNT];

enum cell_verdict {
	CELL_EMPTY = '.',  /* everything gone by itself */
	CELL_LATER = 'M',  /* main process gone at once, the rest by `killick reap` */
	CELL_REAPED = 'J', /* main process and the rest live until `killick reap` ends them */
	CELL_ESCAPE = 'E', /* something lives on */
	CELL_NONE = '-',   /* cannot be tried here; text says why */
	CELL_LITTER = 'L', /* everything gone, but a record or a cgroup was left */
	CELL_ERROR = '!',  /* the trial did not work; text says why */
};

struct cell_spec {
	const char *killick, *zoo;
	const char *reaper; /* the killick whose `reap` is called, NULL: the same */
	const char *level;  /* a level of killick; or bare, tini, bwrap: no killick at all */
	const char *mode;
	const char *die_at; /* KILLICK_DIE_AT, or NULL */
	const char *report; /* file for --report, or NULL */
	int grace_ms;
	bool own_group; /* the watch leads a process group of its own */
};

struct cell {
	struct cell_spec spec;
	struct audit audit;
	pid_t owner, watch, hold, server; /* 0: not known */
	pid_t foreign; /* keeps a pid namespace that is not of the trial (ZOO_PIDNS); 0: none */
	int owner_fd, watch_fd, hold_fd, server_fd; /* pidfds, -1: none */
	int say, hear;                              /* to and from the owner */
	bool ready;                                 /* initialize was answered */
	int status; /* wait status of the watch, once the owner has it; else -1 */
	char text[400];
	char reap[160]; /* the end of what `killick reap` printed */
	double ms;       /* from the ending to empty */
	double ended_at; /* when the ending was done */
};

/* Start owner and program; returns when the program was executed. False: text says why. */
bool cell_start(struct cell *c, const struct cell_spec *spec);
/* Wait until initialize was answered (c->ready) or the program ended (c->status). False: neither in
 * time. */
bool cell_await(struct cell *c, int deadline_ms);
/* Find hold and server, as far as they exist now. */
void cell_find(struct cell *c);
/* Wait (1 s at most) until `pid` is stopped. */
void cell_await_stopped(pid_t pid);
void cell_end(struct cell *c, enum cell_ending ending);
/* What became of it. `janitor`: when something is left, `killick reap` must end it. */
enum cell_verdict cell_judge(struct cell *c, int deadline_ms, bool janitor);
/* After CELL_LITTER: is it gone after `killick reap`? */
bool cell_sweep(struct cell *c);
/* Kill what is left, end the owner, forget. */
void cell_done(struct cell *c);

/* The first child of `pid`, 0 if it has none. */
pid_t cell_first_child(pid_t pid);
/* The same with a pidfd that is sure to be its; -1 and pid 0 if there is none. */
int cell_child(pid_t parent, pid_t *out_pid);
int cell_pidfd(pid_t pid);
/* A pid namespace that is there before the trial begins, and a process that keeps it: the end of
 * that process (0: there is none) ends the namespace. ZOO_PIDNS is set to its init. Call it before
 * audit_open: what keeps the namespace is no part of the trial. */
pid_t cell_foreign_pidns(void);
bool cell_is_dead(int pidfd);
void cell_signal(int pidfd, int sig);
