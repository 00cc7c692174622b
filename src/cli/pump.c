/* pump.c - see pump.h */
#include "pump.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "os/await.h"
#include "os/fd.h"
#include "os/thread.h"

/* Write all bytes. Returns 0 or errno. */
static int pump_write_all(int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = fd_write(fd, bytes, len);

		if (n >= 0) {
			bytes += n;
			len -= (size_t)n;
		} else if (n == -EAGAIN) { /* another process set O_NONBLOCK */
			await_writable(fd);
		} else if (n != -EINTR) {
			return (int)-n;
		}
	}
	return 0;
}

static bool has_work(void *ctx)
{
	const struct pump *p = ctx;

	return p->waiting.len > 0 || p->finished;
}

static void *pump_run(void *arg)
{
	struct pump *p = arg;

	loop_lock(p->loop);
	for (;;) {
		struct buf out;
		int error;

		loop_wait(p->loop, has_work, p, INT64_MAX);
		if (p->waiting.len == 0)
			break;
		out = p->waiting;
		p->waiting = (struct buf)BUF_INIT(BUF_ANY_SIZE);
		p->writing = out.len;
		loop_unlock(p->loop);
		error = p->broken ? 0 : pump_write_all(p->fd, out.data, out.len);
		buf_done(&out);
		loop_lock(p->loop);
		p->writing = 0;
		if (error || (p->full && p->waiting.len <= PUMP_LOW)) {
			p->broken = error ? error : p->broken;
			p->full = false;
			p->on_change(p->ctx);
		}
	}
	p->done = true;
	loop_notify(p->loop);
	loop_unlock(p->loop);
	return NULL;
}

int pump_start(struct pump *p, struct err *e)
{
	struct thread thread;
	int r;

	p->waiting = (struct buf)BUF_INIT(BUF_ANY_SIZE);
	r = thread_start(&thread, THREAD_OURS, "killick-pump", pump_run, p);
	if (r < 0)
		return err_set(e, r, "cannot start a thread: %s", strerror(-r));
	thread_detach(&thread);
	return 0;
}

void pump_add(struct pump *p, const char *bytes, size_t len)
{
	if (p->broken || p->finished)
		return;
	buf_add(&p->waiting, bytes, len);
	if (p->waiting.len + p->writing >= PUMP_HIGH)
		p->full = true;
	loop_notify(p->loop);
}

bool pump_is_full(const struct pump *p)
{
	return p->full;
}

void pump_finish(struct pump *p)
{
	p->finished = true;
	loop_notify(p->loop);
}

bool pump_is_done(const struct pump *p)
{
	return p->done;
}
