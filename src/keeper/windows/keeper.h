/* keeper.h - the state of the one process that holds a tree on Windows.
 *
 *   owner ---- killick ---- [ job: the ear, the server ---- processes that the server starts ]
 *                      \---- the host of the server's terminal, with --terminal yes
 *
 * Life: keeper_init -> keeper_prepare -> keeper_start -> hold_run -> keeper_end. There is nothing
 * to free: killick exits, and the kernel closes its handles.
 * Threads: one; the handler of console events sets an event.  Allocates: never.
 */
#pragma once

#include <stdbool.h>

#include "ear.h"
#include "job.h"
#include "keeper/notes.h"
#include "keeper/options.h"
#include "keeper/report_text.h"
#include "record.h"
#include "terminal.h"
#include "win.h"

#define KILL_BUDGET_MS  5000 /* for ending and proving; after that survivors are named */
#define ORPHAN_GRACE_MS 500  /* the most, once the owner is dead or the console is closed */

#define COMMAND_SHOWN 500 /* bytes of the command in a record */

struct keeper {
	struct options opt;
	char id[TREE_ID_LEN + 1];
	struct job job;
	struct ear ear;
	struct terminal terminal; /* has no console: the server gets no terminal */
	struct record_file record;
	HANDLE report, log; /* NULL: none */
	HANDLE owner;       /* NULL: only stdin tells of the owner's end */
	DWORD owner_pid;    /* 0: none */
	HANDLE server;      /* NULL before it runs */
	DWORD server_pid;   /* 0 before it runs */
	DWORD exit_code;    /* of the server */
	bool exited;        /* exit_code is known */
	unsigned killed;    /* processes other than the server and the ear */
	bool has_console;   /* the server has the console of this process */
	long long begun_us; /* clock_us when keeper_init ran */
	long long stop_us;  /* when the end began; 0: running */
	enum why why;
	enum need need;
	struct notes notes;
};

/* Take over the options. 0, or an exit code after one line on stderr. */
int keeper_init(struct keeper *k, const struct options *opt);

/* Find the owner, make the job and the record. 0, or an exit code after one line on stderr. */
int keeper_prepare(struct keeper *k);

/* Start the ear and the server. From then on killick has no handle of stdin, stdout and stderr: a
 * reader sees the end of the server, not that of killick. 0, or an exit code after one line on
 * stderr. */
int keeper_start(struct keeper *k);

/* The polite request: Ctrl-Break for the process group of the server, or for its terminal. */
void keeper_ask_to_end(struct keeper *k);

/* Ctrl-C for the terminal of the server. Without one Ctrl-Break: Windows cannot send Ctrl-C to one
 * process group. */
void keeper_interrupt(struct keeper *k);

/* The end begins: store the reason and the time, also in the record. Only the first reason is kept.
 */
void keeper_stopping(struct keeper *k, enum why why, unsigned budget_ms);

/* The server could not be started: end the ear, and report that with the exit code. Returns `code`.
 */
int keeper_fail(struct keeper *k, int code);

/* End the tree, prove it and report it. Returns the exit code of killick. */
int keeper_end(struct keeper *k);

/* One `key=value ...` line in the log, if there is one. */
void keeper_log(const struct keeper *k, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* One line on stderr, with "killick: " in front. */
void keeper_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
