/* sweep.h - finds and kills processes that a server left behind on an executor that is not
 * killick's.
 *
 * Codex's executor ends a process group; processes that have left the group live on, and the whole
 * group lives on when the server exits by itself. Every process that we start there has
 * KILLICK_TREE=<128 random bits> in its environment, which its children inherit, so that a script
 * on the same machine can find and kill the rest. A sweep proves less than a keeper: a process that
 * cleared its environment, or belongs to another user, is not found. On Windows, which has neither
 * sh nor process groups, nothing is looked for and nothing is proved: the job of Codex's executor
 * lets processes break away.
 *
 * Life: sweep_begin -> done, once, and the sweep is freed; or sweep_cancel.
 * Threads: with the loop's lock.  Blocking: never.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "remote/environment_internal.h"

struct sweep;

#define SWEEP_FOUND_MAX 64
struct sweep_result {
	bool ran;     /* the script ran to its end; else nothing is known */
	bool windows; /* there was no sweep: Windows has neither sh nor process groups */
	size_t found; /* processes that were found; `list` has the first `kept` */
	size_t kept;
	size_t left; /* processes that could not be killed */
	struct sweep_process {
		long pid;
		char name[32];
		bool left;
	} list[SWEEP_FOUND_MAX];
};
typedef void (*sweep_fn)(void *ctx, const struct sweep_result *result);

/* Look for the processes with this tag and kill them. Within 3 s, unless the connection is lost. */
struct sweep *sweep_begin(struct environment *env, const char *tag, sweep_fn done, void *ctx);
/* The result is not needed any more. */
void sweep_cancel(struct sweep *s);

/* {"executor":"codex","exit":{...},"proof":[...],"swept":[{"pid":1,"name":"x"}],"survivors":[...]};
 * proof: of enum link_proof, GROUP and SWEEP. */
void sweep_report(struct buf *out, const struct sweep_result *result, int exit_code,
		  unsigned proof);
/* "2 processes had left its group and were killed: x (12), y (13)"; "... and 1 could not be killed:
 * x (12), y (13, alive)"; "" when there were none. */
void sweep_text(const struct sweep_result *result, char *out, size_t size);
