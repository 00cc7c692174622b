/* stream.c - see stream.h */
#include "net/stream.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "os/fd.h"
#include "os/net.h"
#include "os/pipe.h"
#include "os/poller.h"
#include "os/unblock.h"

struct stream {
	struct loop *loop;
	struct loop_watch in, out; /* a socket uses only `in` */
	int in_fd, out_fd;         /* the same for a socket */
	bool in_is_socket, out_is_socket;
	bool in_undo, out_undo; /* see unblock_undo */
	bool in_wide, out_wide; /* see pipe_widen */
	bool keeps_fds;         /* descriptors that come with the bytes */
	bool eager;             /* acknowledge received bytes at once */
	bool in_is_file;        /* always ready: the task `again` replaces the watch */
	bool reading, writing;  /* events to report */
	bool handshaking;
	bool hung_up; /* hung up while no event was wanted */
	struct tls *tls;
	struct tls_context *tls_context; /* NULL: owned by the listener */
	/* The event that TLS needs before it can read, write or continue the handshake. */
	enum tls_want read_wants, write_wants, greeting_wants;
	struct loop_timer again; /* TLS has decrypted bytes, which the poller does not report */
	struct net_fds fds;      /* that came, with keeps_fds */
	stream_fn on_ready;
	void *ctx;
	void (*on_freed)(void *ctx);
	void *freed_ctx;
};

struct stream *stream_new(struct loop *loop, int in, int out)
{
	struct stream *s = mem_grow(NULL, 1, sizeof(*s));

	assert(in >= 0 && out >= 0);
	*s = (struct stream){ .loop = loop,
			      .in.fd = -1,
			      .out.fd = -1,
			      .in_fd = in,
			      .out_fd = out,
			      .in_is_socket = net_is_socket(in),
			      .reading = true };
	s->out_is_socket = in == out ? s->in_is_socket : net_is_socket(out);
	if (!s->in_is_socket)
		s->in_undo = unblock(in, in == out ? UNBLOCK_BOTH : UNBLOCK_READING);
	if (!s->out_is_socket && in != out)
		s->out_undo = unblock(out, UNBLOCK_WRITING);
	return s;
}

void stream_free(struct stream *s)
{
	if (!s)
		return;
	loop_watch_stop(s->loop, &s->in);
	loop_watch_stop(s->loop, &s->out);
	loop_timer_stop(s->loop, &s->again);
	if (s->tls) {
		tls_bye(s->tls);
		tls_free(s->tls);
	}
	tls_context_free(s->tls_context);
	net_drop_fds(&s->fds);
	if (s->in_undo)
		unblock_undo(s->in_fd);
	if (s->out_undo)
		unblock_undo(s->out_fd);
	fd_close(s->in_fd);
	if (s->out_fd != s->in_fd)
		fd_close(s->out_fd);
	if (s->on_freed)
		s->on_freed(s->freed_ctx);
	free(s);
}

int stream_fd(const struct stream *s)
{
	return s->in_fd;
}

void stream_on_freed(struct stream *s, void (*fn)(void *ctx), void *ctx)
{
	s->on_freed = fn;
	s->freed_ctx = ctx;
}

/* --- readiness --- */

static void stream_on_again(struct loop_timer *t)
{
	struct stream *s = CONTAINER_OF(t, struct stream, again);

	if (!s->reading && !s->handshaking)
		return;
	if (s->in_is_file)
		loop_timer_set(s->loop, t, 0, stream_on_again);
	s->on_ready(s->ctx, true, false);
}

static uint32_t stream_events_of(enum tls_want want, uint32_t otherwise)
{
	return want == TLS_READ ? POLLER_IN : want == TLS_WRITE ? POLLER_OUT : otherwise;
}

/* The poller reports a hang-up with any mask; POLLER_ERR asks for nothing else. */
static uint32_t wanted(const struct stream *s)
{
	uint32_t events = POLLER_ERR;

	if (s->handshaking)
		return events | stream_events_of(s->greeting_wants, POLLER_IN | POLLER_OUT);
	if (s->reading)
		events |= stream_events_of(s->read_wants, POLLER_IN);
	if (s->writing && s->in_fd == s->out_fd)
		events |= stream_events_of(s->write_wants, POLLER_OUT);
	return events;
}

static void watch_again(struct stream *s);

static void stream_on_in(struct loop_watch *w, uint32_t events)
{
	struct stream *s = CONTAINER_OF(w, struct stream, in);
	bool broken = events & (POLLER_ERR | POLLER_HUP);

	if (broken && !s->handshaking && !s->reading && !s->writing) {
		s->hung_up = true; /* not wanted now, and would be reported again and again */
		watch_again(s);
		return;
	}
	s->on_ready(s->ctx, broken || (events & stream_events_of(s->read_wants, POLLER_IN)),
		    s->writing &&
			    (broken || (events & stream_events_of(s->write_wants, POLLER_OUT))));
}

static void stream_on_out(struct loop_watch *w, uint32_t events)
{
	struct stream *s = CONTAINER_OF(w, struct stream, out);

	if (s->writing ||
	    (events & (POLLER_ERR | POLLER_HUP))) /* the next write reports the error */
		s->on_ready(s->ctx, false, true);
}

static void watch_again(struct stream *s)
{
	bool one = s->in_fd == s->out_fd;
	bool wants = s->handshaking || s->reading || (s->writing && one);

	if (s->in.fd >= 0 && !wants &&
	    (!one || s->hung_up)) /* the end of a pipe is reported again and again */
		loop_watch_stop(s->loop, &s->in);
	else if (s->in.fd >= 0)
		loop_watch_change(s->loop, &s->in, wanted(s));
	else if (wants && s->on_ready && !s->in_is_file &&
		 loop_watch(s->loop, &s->in, s->in_fd, wanted(s), stream_on_in) < 0)
		loop_timer_set(s->loop, &s->again, 0, stream_on_again); /* to read the rest */
	if (s->out.fd >= 0)
		loop_watch_change(s->loop, &s->out, s->writing ? POLLER_OUT : POLLER_ERR);
}

int stream_listen(struct stream *s, stream_fn on_ready, void *ctx)
{
	int r = 0;

	s->on_ready = on_ready;
	s->ctx = ctx;
	if (s->in.fd < 0 && !s->in_is_file)
		r = loop_watch(s->loop, &s->in, s->in_fd, wanted(s), stream_on_in);
	if (r == -EPERM) { /* the answer for a regular file */
		s->in_is_file = true;
		loop_timer_set(s->loop, &s->again, 0, stream_on_again);
		r = 0;
	}
	if (r == 0 && s->out_fd != s->in_fd && s->out.fd < 0) {
		r = loop_watch(s->loop, &s->out, s->out_fd, POLLER_ERR, stream_on_out);
		if (r == -EPERM)
			r = 0; /* a write never blocks */
	}
	return r;
}

void stream_want(struct stream *s, bool reading, bool writing)
{
	if (s->reading == reading && s->writing == writing)
		return;
	s->reading = reading;
	s->writing = writing;
	watch_again(s);
	if (reading && (s->in_is_file || (s->tls && tls_pending(s->tls))))
		loop_timer_set(s->loop, &s->again, 0, stream_on_again);
}

/* --- moving bytes --- */

void stream_use_tls(struct stream *s, struct tls *t, struct tls_context *own)
{
	assert(!s->tls && s->in_fd == s->out_fd);
	s->tls = t;
	s->tls_context = own;
	s->handshaking = true;
}

int stream_handshake(struct stream *s, struct err *e)
{
	int r = s->handshaking ? tls_handshake(s->tls, &s->greeting_wants, e) : 1;

	if (r == 1)
		s->handshaking = false;
	watch_again(s);
	return r;
}

/* Read until the buffer is full, because each call returns one record of 16 KiB at most. */
static ssize_t read_tls(struct stream *s, char *out, size_t size)
{
	enum tls_want before = s->read_wants;
	size_t got = 0;
	ssize_t n;

	do {
		n = tls_read(s->tls, out + got, size - got, &s->read_wants);
		if (n > 0)
			got += (size_t)n;
	} while (n > 0 && got < size);
	if (s->read_wants == TLS_READ) /* the normal case, which needs no extra wait */
		s->read_wants = TLS_NOTHING;
	if (before != s->read_wants)
		watch_again(s);
	if ((got && n != -EAGAIN) || tls_pending(s->tls)) /* there is more to report */
		loop_timer_set(s->loop, &s->again, 0, stream_on_again);
	return got ? (ssize_t)got : n;
}

void stream_be_eager(struct stream *s)
{
	s->eager = true;
}

void stream_keep_fds(struct stream *s)
{
	assert(s->in_is_socket && !s->tls);
	s->keeps_fds = true;
}

void stream_take_fds(struct stream *s, struct net_fds *out)
{
	*out = s->fds;
	s->fds.count = 0;
}

ssize_t stream_read(struct stream *s, char *out, size_t size)
{
	ssize_t n;

	if (s->tls)
		return read_tls(s, out, size);
	if (s->keeps_fds)
		n = net_receive_fds(s->in_fd, out, size, &s->fds);
	else
		n = s->in_is_socket ? net_receive(s->in_fd, out, size)
				    : fd_read(s->in_fd, out, size);
	if (s->eager && n > 0)
		net_acknowledge(s->in_fd);
	if (n >= PIPE_NARROW && !s->in_is_socket)
		pipe_widen(s->in_fd, &s->in_wide);
	if (n == -EIO && !s->in_is_socket)
		return 0; /* EIO: the terminal hung up */
	return n == -EINTR ? -EAGAIN : n;
}

static ssize_t write_tls(struct stream *s, const char *bytes, size_t len)
{
	enum tls_want before = s->write_wants;
	ssize_t n = tls_write(s->tls, bytes, len, &s->write_wants);

	if (s->write_wants == TLS_WRITE)
		s->write_wants = TLS_NOTHING;
	if (before != s->write_wants)
		watch_again(s);
	return n;
}

ssize_t stream_write(struct stream *s, const char *bytes, size_t len)
{
	ssize_t n;

	if (s->tls)
		return write_tls(s, bytes, len);
	if (s->out_is_socket)
		n = net_send(s->out_fd, bytes, len);
	else if (loop_is_mine(s->loop)) /* the loop's thread has every signal blocked */
		n = fd_write_ours(s->out_fd, bytes, len);
	else
		n = fd_write(s->out_fd, bytes, len);
	if (n < (ssize_t)len && !s->out_is_socket)
		pipe_widen(s->out_fd, &s->out_wide);
	return n == -EINTR ? -EAGAIN : n;
}
