/* process.h - one process of an owner: a local link, its output, its input.
 *
 *	starting --> running --> exited --> closed --> forgotten
 *	    |                                              ^
 *	    +---- terminated, or its owner ended ----------+
 *
 * `closed` comes when the keeper has proved the tree gone. If leftovers of the process may linger
 * (no piped stdin, unless the request says otherwise), `closed` comes earlier: when the main
 * process has exited and both its pipes are at their end. A closed process is kept for the
 * retention time, so that its output can be read; then its id is free. A forgotten process exists
 * only until its link has ended.
 *
 * Life: process_start; frees itself when it is forgotten and its link has ended.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/loop.h"
#include "base/ring.h"
#include "executor/input.h"
#include "executor/output.h"
#include "rpc/reply.h"
#include "executor/retention.h"
#include "link/link.h"

#define PROCESS_ID_MAX 1024 /* bytes */

struct owner;
struct connection;
struct spec;

enum process_state {
	PROCESS_STARTING,
	PROCESS_RUNNING,
	PROCESS_EXITED,
	PROCESS_CLOSED,
	PROCESS_FORGOTTEN,
};
extern const char *const process_state_names[]; /* also for environment lists */

struct process {
	struct owner *owner;
	struct hash_node in_roster;
	enum process_state state;
	struct ring in_owner, due, closed;
	struct link *link; /* NULL: it has ended */
	enum stdio stdio;
	bool sandboxed;
	bool full;   /* too much waits to be pushed */
	bool paused; /* its link is: `full`, or memory is short (retention.h) */
	bool out_eof, err_eof;
	unsigned linger_ms; /* time for processes that the main process leaves behind; 0: none */
	/* Its owner came back and may have missed the last pushes. Nothing is pushed, and so no
	 * output is dropped, until the owner has read it. */
	bool missed;
	struct answer *start; /* to be answered when it runs */
	struct output output;
	struct retained retained;
	struct input input;
	struct ring readers;
	struct loop_timer retain;
	int pid;
	int exit_code;
	size_t closed_bytes; /* as counted in owner */
	int64_t started_us;
	long long started_ms; /* since 1970 */
	char level[16];
	char tree[LINK_TREE_SIZE]; /* the id of its tree; "": not known yet */
	char *report;              /* the keeper's; NULL: not yet */
	char *argv;                /* JSON */
	char *name, *session;      /* session may be NULL */
	char id[];
};

/* process/start: answered when the process runs, or cannot run. `connection` is a struct
 * connection. */
void process_start(void *connection, const struct reply *r, struct json params);
/* The same with params that were read. */
void process_start_as(struct owner *o, const struct reply *r, struct spec *s);

/* The process that params name. NULL: there is none. out_id: the id that params have, to be
 * shown. */
struct process *process_find(struct owner *o, struct json id, char out_id[PROCESS_ID_MAX + 8]);
struct process *process_find_id(struct owner *o, const char *id);
/* Begin to end the process, unless it has ended. */
void process_stop(struct process *p, enum link_stop how, unsigned grace_ms);
/* Its owner ended. p may be freed when this returns. */
void process_abandon(struct process *p, unsigned grace_ms);
void process_forget(struct process *p);
/* Its owner has come back. */
void process_resume(struct process *p);
/* The owner has the output that was pushed before, or does not ask for it: the rest is due. */
void process_caught_up(struct process *p);
/* There is memory for its output again: resume reading. */
void process_read_on(struct process *p);
/* Push the next event to c, which has room; true: there is another. p may not be forgotten by it.
 */
bool process_push(struct process *p, struct connection *c);
