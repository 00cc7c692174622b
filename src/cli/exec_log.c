/* exec_log.c - see exec_log.h */
#include "exec_log.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "os/fd.h"
#include "os/thread.h"
#include "os/time.h"

#define LOG_ROOM   (256 << 10)
#define LOG_END_US 1000000 /* how long exec_log_close waits for the reader */

struct exec_log {
	int fd;
	struct thread thread;
	struct mutex lock;
	struct cond news, idle;
	struct buf waiting;
	unsigned long dropped;
	bool busy, ending;
};

static void exec_log_write_all(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = fd_write(fd, text, len);

		if (n < 0 && n != -EINTR)
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
	mutex_unlock(&l->lock);
	exec_log_write_all(l->fd, out.data, out.len);
	buf_done(&out);
	mutex_lock(&l->lock);
	l->busy = false;
	cond_signal(&l->idle);
}

static void *exec_log_run(void *arg)
{
	struct exec_log *l = arg;

	mutex_lock(&l->lock);
	while (!l->ending || l->waiting.len) {
		if (l->waiting.len)
			write_waiting(l);
		else
			cond_wait(&l->news, &l->lock);
	}
	mutex_unlock(&l->lock);
	return NULL;
}

struct exec_log *exec_log_open(int fd)
{
	struct exec_log *l = mem_grow(NULL, 1, sizeof(*l));

	*l = (struct exec_log){ .fd = fd, .waiting = BUF_INIT(LOG_ROOM) };
	mutex_init(&l->lock);
	cond_init(&l->news);
	cond_init(&l->idle);
	if (thread_start(&l->thread, THREAD_SMALL, "killick-log", exec_log_run, l) < 0)
		abort(); /* no process was started yet */
	return l;
}

void exec_log_line(struct exec_log *l, const char *line)
{
	mutex_lock(&l->lock);
	if (buf_addf(&l->waiting, "killick: %s\n", line) < 0)
		l->dropped++;
	cond_signal(&l->news);
	mutex_unlock(&l->lock);
}

void exec_log_bytes(struct exec_log *l, const char *bytes, size_t len)
{
	mutex_lock(&l->lock);
	if (buf_add(&l->waiting, bytes, len) < 0)
		l->dropped++;
	cond_signal(&l->news);
	mutex_unlock(&l->lock);
}

void exec_log_close(struct exec_log *l)
{
	int64_t until_us = time_now_us() + LOG_END_US;
	bool stuck = false;

	mutex_lock(&l->lock);
	l->ending = true;
	cond_signal(&l->news);
	while ((l->busy || l->waiting.len) && !stuck)
		stuck = !cond_wait_until(&l->idle, &l->lock, until_us);
	mutex_unlock(&l->lock);
	if (stuck) /* stderr is not read: the thread ends with the program */
		return;
	thread_join(&l->thread);
	buf_done(&l->waiting);
	free(l);
}
