/* pool.h - numbered jobs, each in a process of its own, a few at a time.
 *
 * A job writes one result of fixed size. A job that dies or hangs is told as such (out == NULL),
 * after being killed. Threads: one.  Blocking: until all are done.
 */
#pragma once

#include <stddef.h>

struct pool {
	int count;                /* jobs 0 .. count - 1 */
	int width;                /* places; a job takes weight(index) of them, but at most all.
				   * A job that does not fit lets smaller ones go first. */
	int timeout_ms;           /* of one job */
	size_t size;              /* of a result, at most POOL_MAX_RESULT */
	int (*weight)(int index); /* NULL: 1 each */
	void (*run)(int index, void *out);        /* in the job's process */
	void (*done)(int index, const void *out); /* here, in the order of ending */
};
#define POOL_MAX_RESULT 1024
#define POOL_MAX_WIDTH  32

void pool_run(const struct pool *pool);
