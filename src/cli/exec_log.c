/* exec_log.c - see exec_log.h */
#include "exec_log.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/quiet.h"

#define LOG_ROOM (256 << 10)

struct exec_log {
	int fd;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t news, idle;
	struct buf waiting;
	unsigned long dropped;
	bool busy, ending;
};

static void exec_log_write_all(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = quiet_write(fd, text, len);

		if (n < 0 && errno != EINTR)
			return;
		text += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
}

/* Called with the lock held; releases the lock during the write. */
static void write_waiting(struct exec_log *l)
{
	struct buf out = l->waiting;

	l->waiting = (struct buf)BUF_INIT(LOG_ROOM);
	if (l->dropped)
		buf_addf(&l->waiting, "killick: event=dropped lines=%lu\n", l->dropped);
	l->dropped = 0;
	l->busy = true;
	pthread_mutex_unlock(&l->lock);
	exec_log_write_all(l->fd, out.data, out.len);
	buf_done(&out);
	pthread_mutex_lock(&l->lock);
	l->busy = false;
	pthread_cond_signal(&l->idle);
}

static void *exec_log_run(void *arg)
{
	struct exec_log *l = arg;

	pthread_mutex_lock(&l->lock);
	while (!l->ending || l->waiting.len) {
		if (l->waiting.len)
			write_waiting(l);
		else
			pthread_cond_wait(&l->news, &l->lock);
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

struct exec_log *exec_log_open(int fd)
{
	struct exec_log *l = mem_grow(NULL, 1, sizeof(*l));
	pthread_condattr_t monotonic;
	pthread_attr_t small;

	*l = (struct exec_log){ .fd = fd, .waiting = BUF_INIT(LOG_ROOM) };
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->news, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&l->idle, &monotonic);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	if (pthread_create(&l->thread, &small, exec_log_run, l) != 0)
		abort(); /* no process was started yet */
	pthread_attr_destroy(&small);
	pthread_condattr_destroy(&monotonic);
	return l;
}

void exec_log_line(struct exec_log *l, const char *line)
{
	pthread_mutex_lock(&l->lock);
	if (buf_addf(&l->waiting, "killick: %s\n", line) < 0)
		l->dropped++;
	pthread_cond_signal(&l->news);
	pthread_mutex_unlock(&l->lock);
}

void exec_log_close(struct exec_log *l)
{
	struct timespec until;
	bool stuck = false;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec++;
	pthread_mutex_lock(&l->lock);
	l->ending = true;
	pthread_cond_signal(&l->news);
	while ((l->busy || l->waiting.len) && !stuck)
		stuck = pthread_cond_timedwait(&l->idle, &l->lock, &until) == ETIMEDOUT;
	pthread_mutex_unlock(&l->lock);
	if (stuck) /* stderr is not read: the thread ends with the program */
		return;
	pthread_join(l->thread, NULL);
	buf_done(&l->waiting);
	free(l);
}
