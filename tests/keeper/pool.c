/* pool.c - see pool.h. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../t.h"
#include "pool.h"

struct job {
	pid_t pid; /* 0: free place */
	int fd, index, weight;
	double end;
};

static void start(const struct pool *pool, struct job *job, int index, int weight)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		abort();
	fflush(stdout);
	*job = (struct job){ .fd = ends[0],
			     .index = index,
			     .weight = weight,
			     .end = t_now_ms() + pool->timeout_ms };
	job->pid = fork();
	if (job->pid < 0)
		abort();
	if (job->pid == 0) {
		static char out[POOL_MAX_RESULT];

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ends[0]);
		pool->run(index, out);
		_exit(write(ends[1], out, pool->size) != (ssize_t)pool->size);
	}
	close(ends[1]);
}

static void finish(const struct pool *pool, struct job *job, bool hung)
{
	char out[POOL_MAX_RESULT];
	bool whole = !hung && read(job->fd, out, pool->size) == (ssize_t)pool->size;

	if (hung)
		kill(job->pid, SIGKILL);
	waitpid(job->pid, NULL, 0);
	close(job->fd);
	job->pid = 0;
	pool->done(job->index, whole ? out : NULL);
}

void pool_run(const struct pool *pool)
{
	struct job jobs[POOL_MAX_WIDTH] = { 0 };
	int width = pool->width < POOL_MAX_WIDTH ? pool->width : POOL_MAX_WIDTH, used = 0, next = 0;

	while (next < pool->count || used > 0) {
		struct pollfd p[POOL_MAX_WIDTH];
		int weight = next < pool->count && pool->weight ? pool->weight(next) : 1;

		weight = weight > width ? width : weight;
		if (next < pool->count && used + weight <= width) {
			for (int i = 0; i < width; i++) {
				if (!jobs[i].pid) {
					start(pool, &jobs[i], next++, weight);
					break;
				}
			}
			used += weight;
			continue;
		}
		for (int i = 0; i < width; i++)
			p[i] = (struct pollfd){ .fd = jobs[i].pid ? jobs[i].fd : -1,
						.events = POLLIN };
		poll(p, (nfds_t)width, 200);
		for (int i = 0; i < width; i++) {
			if (jobs[i].pid && (p[i].revents || t_now_ms() > jobs[i].end)) {
				finish(pool, &jobs[i], !p[i].revents);
				used -= jobs[i].weight;
			}
		}
	}
}
