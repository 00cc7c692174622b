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

static int weight_of(const struct pool *pool, int width, int index)
{
	int weight = pool->weight ? pool->weight(index) : 1;

	return weight > width ? width : weight;
}

/* Start every job that has not begun and fits. Returns how many places are taken then. */
static int start_some(const struct pool *pool, struct job *jobs, int width, int used, bool *begun)
{
	for (int index = 0; index < pool->count && used < width; index++) {
		int weight = begun[index] ? width + 1 : weight_of(pool, width, index);

		if (used + weight > width)
			continue;
		for (int i = 0; i < width; i++) {
			if (!jobs[i].pid) {
				start(pool, &jobs[i], index, weight);
				break;
			}
		}
		begun[index] = true;
		used += weight;
	}
	return used;
}

void pool_run(const struct pool *pool)
{
	bool *begun = calloc((size_t)pool->count, sizeof(*begun));
	struct job jobs[POOL_MAX_WIDTH] = { 0 };
	int width = pool->width < POOL_MAX_WIDTH ? pool->width : POOL_MAX_WIDTH, used;

	if (!begun)
		abort();
	for (used = start_some(pool, jobs, width, 0, begun); used > 0;
	     used = start_some(pool, jobs, width, used, begun)) {
		struct pollfd p[POOL_MAX_WIDTH];

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
	free(begun);
}
