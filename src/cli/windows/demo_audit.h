/* demo_audit.h - counts the remaining processes, by a job object of the demo.
 *
 * Shares no code with killick, so that killick does not judge itself. The client of one side of a
 * scene starts inside the job. The kernel puts every process that a process of the job starts into
 * the job, also those that killick holds by a job of its own, which is then inside this one. The
 * job lets no process leave. Not counted: a process that another program starts, such as a child
 * that is given another parent.
 *
 * Life: audit_open -> audit_scan ..., audit_count ... -> audit_kill -> audit_close, which also ends
 * the processes.
 */
#pragma once

#include <stddef.h>
#include <windows.h>

#include "cli/demo_view.h"

/* A job whose processes end with its handle; NULL: GetLastError. */
HANDLE audit_open(void);
void audit_close(HANDLE job); /* NULL: nothing */

/* Store at most max processes of the job, in the order of their start, and return how many the job
 * has. Aborts where Windows does not tell: not known is not 0. */
size_t audit_scan(HANDLE job, struct demo_process *out_list, size_t max);
size_t audit_count(HANDLE job);

/* End all processes of the job. Returns how many are left after the budget. */
size_t audit_kill(HANDLE job, int budget_ms);
