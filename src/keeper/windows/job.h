/* job.h - the job object that holds a tree, and the processes that are started in it.
 *
 * The kernel puts every process that a process of the job starts into the job, and ends all of them
 * when the last handle of the job is closed. This keeper has the only handle: the job has no name,
 * and its handle is never inherited nor duplicated (seal.h). So the tree ends when killick ends,
 * however killick ends. Any further handle of the job, even one that can only ask, would break this
 * promise.
 *
 * Life: job_open -> job_spawn ... -> job_kill returns 0: no process of the job exists. The job is
 * never closed: the end of killick closes it.
 * Threads: one.  Blocking: job_kill, for its budget.  Allocates: never.
 */
#pragma once

#include <stdbool.h>

#include "keeper/recipe.h"
#include "seal.h"
#include "win.h"

#define JOB_KILLED 137 /* exit code of processes that job_kill ends: 128 + 9, as on Linux */

struct job {
	HANDLE handle;
	HANDLE port; /* tells when the job is empty */
};

struct job_start { /* borrowed */
	const wchar_t *program;
	wchar_t *line;           /* CreateProcess may write to it */
	HANDLE *inherit;         /* the handles that the process gets, and no other */
	unsigned inherit_count;  /* at most 3 */
	void *console;           /* a pseudo console (terminal.h); NULL: that of this process */
	HANDLE in, out, err;     /* which of them are its stdin, stdout and stderr; NULL: none */
	DWORD flags;             /* of CreateProcess */
	struct seal_child guard; /* of the new process; zero: the usual access */
};

/* Make a job with these limits. `own` processes of killick in the job do not count. 0, or an error
 * of Windows. */
DWORD job_open(struct job *j, const unsigned long long limits[LIMIT_COUNT], unsigned own);

/* Start a process, in the job from its first instruction on; j is NULL: in the jobs of this process
 * only. 0, or an error of Windows; then nothing was started. */
DWORD job_spawn(const struct job *j, const struct job_start *start, HANDLE *out_process,
		DWORD *out_pid);

/* How many processes the job has now. */
unsigned job_count(const struct job *j);

/* End every process, and prove it. Returns the number of processes that are left after budget_ms.
 */
unsigned job_kill(const struct job *j, unsigned budget_ms);

/* From now on the processes of the job live on when the job is closed. */
void job_spare(const struct job *j);

/* The pids of the processes in the job, at most `max`. */
unsigned job_pids(const struct job *j, DWORD *pids, unsigned max);
